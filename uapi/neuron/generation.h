/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * One table per generation: everything in which Trainium1, 2 and 3 differ.
 *
 * Source: address maps, counts and ids from the public GPL Trainium driver;
 * sizes and clocks from the public architecture guides. hole_bar0 is this
 * project's choice of unused register space.
 */
#ifndef NEURON_GENERATION_H
#define NEURON_GENERATION_H

#include "job.h"
#include "regs.h"
#include "udma.h"

#define NEURON_PCI_VENDOR		0x1d0f
#define NEURON_PCI_DEVICE_TRN1		0x7164
#define NEURON_PCI_DEVICE_INF2		0x7264
#define NEURON_PCI_DEVICE_TRN2		0x7364
#define NEURON_PCI_DEVICE_TRN3		0x7564
#define NEURON_PCI_REVISION_PLATFORM	0xff	/* the value that marks a QEMU model */
#define NEURON_PCI_REVISION_SILICON	0x01

#define NEURON_MAX_CORES		8
#define NEURON_MAX_HBM			4
#define NEURON_MAX_SENG			4
#define NEURON_MAX_DMA_ENGINES		132
#define NEURON_MAX_COPY_ENGINES		4
#define NEURON_MAX_TOP_SP		20
#define NEURON_MAX_TOP_SP_IDS		16
#define NEURON_MAX_CC_CORES		NEURON_MAX_TOP_SP_IDS
/* Units, all that runs jobs: NeuronCores, from MAX_CORES on CC-cores. */
#define NEURON_MAX_UNITS		(NEURON_MAX_CORES + NEURON_MAX_CC_CORES)
#define NEURON_MAX_STORAGE		12
#define NEURON_ROUTING_GROUP		16

/**
 * struct neuron_storage - register blocks of BAR0 that only read back
 * @bar0: BAR0 offset of the first block
 * @stride: distance of the blocks
 * @size: bytes of a block
 * @count: blocks; 0: end of the list
 */
struct neuron_storage {
	__u32 bar0;
	__u32 stride;
	__u32 size;
	__u32 count;
};

/**
 * struct neuron_gen - facts of one generation
 * @name: QOM type and short name
 * @device_name: marketing name, as in sysfs
 * @core_arch: NeuronCore architecture name
 * @pci_device: PCI device id
 * @generation: 2, 3 or 4 (NeuronCore-v2, v3, v4)
 * @nr_cores: NeuronCores
 * @nr_hbm: HBM stacks
 * @nr_dma: DMA engines with queues: @nr_ring ring engines, then copy engines
 * @nr_ring: ring engines, 16 for each core
 * @nr_top_sp: TOP_SP cores
 * @nr_top_sp_ids: of which software has ids for, see neuron_top_sp_of_id(): the
 *	CC-cores, an equal number for each core
 * @host_base: address bit that selects host memory
 * @hbm_addr: device address of each stack
 * @hbm_active: populated bytes of a stack
 * @hbm_window: bytes of a stack's window in BAR4 in silicon mode
 * @bar0_size: bytes of BAR0
 * @bar4_platform: bytes of BAR4 in platform mode
 * @bar4_silicon: bytes of BAR4 in silicon mode
 * @tpb_addr: device address of each core's TPB window
 * @tpb_bar0: BAR0 offset of core 0's window; NEURON_TPB_WINDOW_SIZE apart
 * @apb_addr: device address of each window on register space
 * @apb_bar0: BAR0 offset of what each shows
 * @apb_size: bytes of a window
 * @seng_addr: the same for the DMA engines of each SENG
 * @seng_bar0: BAR0 offset of the first SENG's, @seng_size apart
 * @seng_size: bytes of a SENG's; 0: they lie in @apb_addr
 * @ring_bar0: BAR0 offset of the first ring engine of each group
 * @ring_group: ring engines of a group
 * @ring_stride: their distance in BAR0
 * @copy_bar0: BAR0 offset of each copy engine
 * @sdma_bar0_delta: from a v3 engine to its SDMA block; 0 on v2
 * @sdma_bar0: v2: SDMA block of the first ring engine of each group
 * @sdma_stride: v2: their distance
 * @top_sp_addr: device address of the first TOP_SP of each group
 * @top_sp_stride: distance of the TOP_SPs of a group
 * @top_sp_group: TOP_SPs of a group
 * @top_sp_bar0: BAR0 offset of TOP_SP 0's window; NEURON_TOP_SP_WINDOW_SIZE apart
 * @top_sp_nq_bar0: BAR0 offset of the first notification block of each group,
 *	NEURON_TOP_SP_NQ_STRIDE apart
 * @top_sp_nq_group: ids of a group
 * @misc_bar0: MISC RAM
 * @nq_bar0: notification block of each core
 * @nr_dice: dice that power is told of, equal parts of the cores
 * @pe_bar0: activity counters of each core's PE array
 * @pe_group: bytes of a group of counters
 * @pe_groups: groups of a row group
 * @reset_bar0: reset register of platform mode
 * @hole_bar0: MSI-X table, PBA and control block (NEURON_HOLE_*)
 * @nr_priorities: of a job's DMA queues; 1: all are equal
 * @sbuf_partition: usable SBUF bytes of a partition
 * @clock_khz: by enum neuron_engine
 * @dma_bytes_per_us: copy rate of one DMA engine
 * @routing_id: routing id of the chip that the public driver numbers n, in each
 *	group of 16 chips
 * @link_lanes: lanes of a link
 * @link_mbps: MB/s of a link each way, modelled
 * @storage: blocks without a function of their own: SDMA (v2), interrupt
 *	control of the ring engines
 */
struct neuron_gen {
	const char *name;
	const char *device_name;
	const char *core_arch;
	__u16 pci_device;
	__u8 generation;
	__u8 nr_cores;
	__u8 nr_hbm;
	__u8 nr_dma;
	__u8 nr_ring;
	__u8 nr_top_sp;
	__u8 nr_top_sp_ids;
	__u8 nr_dice;
	__u64 host_base;
	__u64 hbm_addr[NEURON_MAX_HBM];
	__u64 hbm_active;
	__u64 hbm_window;
	__u64 bar0_size;
	__u64 bar4_platform;
	__u64 bar4_silicon;
	__u64 tpb_addr[NEURON_MAX_CORES];
	__u32 tpb_bar0;
	__u64 apb_addr[2];
	__u32 apb_bar0[2];
	__u32 apb_size;
	__u64 seng_addr[NEURON_MAX_SENG];
	__u32 seng_bar0;
	__u32 seng_size;
	__u32 ring_bar0[NEURON_MAX_SENG];
	__u32 ring_group;
	__u32 ring_stride;
	__u32 copy_bar0[NEURON_MAX_COPY_ENGINES];
	__u32 sdma_bar0_delta;
	__u32 sdma_bar0[2];
	__u32 sdma_stride;
	__u64 top_sp_addr[2];
	__u64 top_sp_stride;
	__u32 top_sp_group;
	__u32 top_sp_bar0;
	__u32 top_sp_nq_bar0[2];
	__u32 top_sp_nq_group;
	__u32 misc_bar0;
	__u32 nq_bar0[NEURON_MAX_CORES];
	__u32 pe_bar0[NEURON_MAX_CORES];
	__u32 pe_group;
	__u32 pe_groups;
	__u32 reset_bar0;
	__u32 hole_bar0;
	__u32 nr_priorities;
	__u32 sbuf_partition;
	__u32 clock_khz[5];
	__u32 dma_bytes_per_us;
	__u8 routing_id[NEURON_ROUTING_GROUP];
	__u32 link_lanes;
	__u32 link_mbps;
	struct neuron_storage storage[NEURON_MAX_STORAGE];
};

/* Trainium1 and Inferentia2 have the same chip but for its links. */
#define NEURON_STORAGE_V2 { \
	{ 0x30400000, 0x7000, 0x1000, 16 }, \
	{ 0x30b00000, 0x7000, 0x1000, 16 }, \
	{ 0x30640000, 0x700000, 0x1000, 2 }, \
}

#define NEURON_GEN_V2 \
	.core_arch = "NCv2", \
	.generation = 2, \
	.nr_cores = 2, \
	.nr_hbm = 2, \
	.nr_dma = 34, \
	.nr_ring = 32, \
	.nr_top_sp = 6, \
	.nr_dice = 1, \
	.nr_top_sp_ids = 6, \
	.host_base = 1ull << 44, \
	.hbm_addr = { 0x0, 0x1000000000 }, \
	.hbm_active = NEURON_GIB(16), \
	.hbm_window = NEURON_GIB(16), \
	.bar0_size = NEURON_GIB(1), \
	.bar4_platform = NEURON_GIB(32), \
	.bar4_silicon = NEURON_GIB(32), \
	.tpb_addr = { 0xfffc0000000, 0xfffc4000000 }, \
	.tpb_bar0 = 0x0, \
	.apb_addr = { 0xffff0000000 }, \
	.apb_bar0 = { 0x30000000 }, \
	.apb_size = 0x10000000, \
	.ring_bar0 = { 0x30000000, 0x30700000 }, \
	.ring_group = 16, \
	.ring_stride = 0x40000, \
	.copy_bar0 = { 0x30600000, 0x30d00000 }, \
	.sdma_bar0_delta = 0, \
	.sdma_bar0 = { 0x30400000, 0x30b00000 }, \
	.sdma_stride = 0x7000, \
	.top_sp_addr = { 0xfffd0000000 }, \
	.top_sp_stride = 0x400000, \
	.top_sp_group = 6, \
	.top_sp_bar0 = 0x10000000, \
	.top_sp_nq_bar0 = { 0x30e04000 }, \
	.top_sp_nq_group = 6, \
	.misc_bar0 = 0x30fa0000, \
	.nq_bar0 = { 0x30535000, 0x30c35000 }, \
	.pe_bar0 = { 0x305b1100, 0x30cb1100 }, \
	.pe_group = 0x40, \
	.pe_groups = 5, \
	.reset_bar0 = 0x30647010, \
	.hole_bar0 = 0x20000000, \
	.nr_priorities = 1, \
	.sbuf_partition = NEURON_KIB(192), \
	.clock_khz = { 2800000, 1120000, 1400000, 1400000, 1400000 }, \
	.dma_bytes_per_us = 17000, \
	.storage = NEURON_STORAGE_V2

static const struct neuron_gen neuron_gen_trn1 NEURON_UNUSED = {
	NEURON_GEN_V2,
	.name = "trn1",
	.device_name = "Trainium1",
	.pci_device = NEURON_PCI_DEVICE_TRN1,
	.routing_id = { 0, 2, 6, 4, 1, 3, 7, 5, 9, 11, 15, 13, 8, 10, 14, 12 },
	.link_lanes = 16,
	.link_mbps = 48000,
};

static const struct neuron_gen neuron_gen_inf2 NEURON_UNUSED = {
	NEURON_GEN_V2,
	.name = "inf2",
	.device_name = "Inferentia2",
	.pci_device = NEURON_PCI_DEVICE_INF2,
	.routing_id = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	.link_lanes = 16,
	.link_mbps = 48000,
};

#define NEURON_SENG_V3 { \
	0x1000000000, 0x5000000000, 0x801000000000, 0x805000000000 \
}
#define NEURON_STORAGE_V3 { \
	{ 0x8c000000, 0x20000, 0x1000, 32 }, \
	{ 0x9c400000, 0x20000, 0x1000, 32 }, \
	{ 0xac000000, 0x20000, 0x1000, 32 }, \
	{ 0xbc400000, 0x20000, 0x1000, 32 }, \
}

/* v3 and v4 have the same register map: all that Trainium2 and 3 share. */
#define NEURON_GEN_V3 \
	.nr_cores = 8, \
	.nr_hbm = 4, \
	.nr_dma = 132, \
	.nr_ring = 128, \
	.nr_top_sp = 20, \
	.nr_dice = 2, \
	.nr_top_sp_ids = 16, \
	.host_base = 1ull << 46, \
	.hbm_addr = { 0x0, 0x4000000000, 0x800000000000, 0x804000000000 }, \
	.hbm_window = NEURON_GIB(64), \
	.bar0_size = NEURON_GIB(4), \
	.bar4_silicon = NEURON_GIB(256), \
	.tpb_addr = { 0x2000000000, 0x3000000000, 0x6000000000, 0x7000000000, \
		      0x802000000000, 0x803000000000, 0x806000000000, \
		      0x807000000000 }, \
	.tpb_bar0 = 0xd0000000, \
	.apb_addr = { 0x8000000000, 0x808000000000 }, \
	.apb_bar0 = { 0x0, 0x40000000 }, \
	.apb_size = 0x20000000, \
	.seng_addr = NEURON_SENG_V3, \
	.seng_bar0 = 0x80000000, \
	.seng_size = 0x10000000, \
	.ring_bar0 = { 0x82000000, 0x94000000, 0xa2000000, 0xb4000000 }, \
	.ring_group = 32, \
	.ring_stride = 0x100000, \
	.copy_bar0 = { 0x06800000, 0x06900000, 0x46800000, 0x46900000 }, \
	.sdma_bar0_delta = 0x40000, \
	.top_sp_addr = { 0x8280000000, 0x808280000000 }, \
	.top_sp_stride = 0x40000000, \
	.top_sp_group = 10, \
	.top_sp_bar0 = 0xf0000000, \
	.top_sp_nq_bar0 = { 0x06a00000, 0x46a00000 }, \
	.top_sp_nq_group = 8, \
	.misc_bar0 = 0x06c84000, \
	.nq_bar0 = { 0x06001000, 0x06181000, 0x06401000, 0x06581000, \
		     0x46001000, 0x46181000, 0x46401000, 0x46581000 }, \
	.pe_bar0 = { 0x06141100, 0x062c1100, 0x06541100, 0x066c1100, \
		     0x46141100, 0x462c1100, 0x46541100, 0x466c1100 }, \
	.pe_group = 0x30, \
	.pe_groups = 9, \
	.reset_bar0 = 0x06300010, \
	.hole_bar0 = 0x60000000, \
	.routing_id = { 0, 8, 9, 1, 2, 10, 11, 3, 6, 14, 15, 7, 4, 12, 13, 5 }, \
	.storage = NEURON_STORAGE_V3

static const struct neuron_gen neuron_gen_trn2 NEURON_UNUSED = {
	NEURON_GEN_V3,
	.name = "trn2",
	.device_name = "Trainium2",
	.core_arch = "NCv3",
	.pci_device = NEURON_PCI_DEVICE_TRN2,
	.generation = 3,
	.hbm_active = NEURON_GIB(24),
	.bar4_platform = NEURON_GIB(128),
	.nr_priorities = 1,
	.sbuf_partition = NEURON_KIB(224),
	.clock_khz = { 2400000, 960000, 1200000, 1200000, 1200000 },
	.dma_bytes_per_us = 23000,
	.link_lanes = 32,
	.link_mbps = 128000,
};

static const struct neuron_gen neuron_gen_trn3 NEURON_UNUSED = {
	NEURON_GEN_V3,
	.name = "trn3",
	.device_name = "Trainium3",
	.core_arch = "NCv4",
	.pci_device = NEURON_PCI_DEVICE_TRN3,
	.generation = 4,
	.hbm_active = NEURON_GIB(36),
	.bar4_platform = NEURON_GIB(256),
	.nr_priorities = NEURON_NR_PRIORITIES,
	.sbuf_partition = NEURON_KIB(256),
	.clock_khz = { 2400000, 1200000, 1200000, 1200000, 1200000 },
	.dma_bytes_per_us = 33000,
	.link_lanes = 8,
	.link_mbps = 64000,
};

/* BAR0 offset of DMA engine @e: ring engines first, then copy engines. */
static inline __u32 neuron_dma_bar0(const struct neuron_gen *gen, __u32 e)
{
	if (e >= gen->nr_ring)
		return gen->copy_bar0[e - gen->nr_ring];
	return gen->ring_bar0[e / gen->ring_group] +
	       (e % gen->ring_group) * gen->ring_stride;
}

/* BAR0 offset of the SDMA block of DMA engine @e; a notification block follows. */
#define NEURON_SDMA_NQ			0x1000
#define NEURON_SDMA_COPY_DELTA		0x40000

static inline __u32 neuron_sdma_bar0(const struct neuron_gen *gen, __u32 e)
{
	if (e >= gen->nr_ring)
		return neuron_dma_bar0(gen, e) + NEURON_SDMA_COPY_DELTA;
	if (gen->sdma_bar0_delta)
		return neuron_dma_bar0(gen, e) + gen->sdma_bar0_delta;
	return gen->sdma_bar0[e / gen->ring_group] +
	       (e % gen->ring_group) * gen->sdma_stride;
}

/* Device address and BAR0 offset of the window of TOP_SP @t. */
static inline __u64 neuron_top_sp_addr(const struct neuron_gen *gen, __u32 t)
{
	return gen->top_sp_addr[t / gen->top_sp_group] +
	       (t % gen->top_sp_group) * gen->top_sp_stride;
}

static inline __u32 neuron_top_sp_bar0(const struct neuron_gen *gen, __u32 t)
{
	return gen->top_sp_bar0 + t * NEURON_TOP_SP_WINDOW_SIZE;
}

/*
 * Software numbers the TOP_SPs that belong to cores: on v3 and v4 0 to 7 of
 * each group of 10. The notification blocks go by that id.
 */
#define NEURON_TOP_SP_NQ_STRIDE		0x40000

static inline __u32 neuron_top_sp_of_id(const struct neuron_gen *gen, __u32 id)
{
	return id / gen->top_sp_nq_group * gen->top_sp_group +
	       id % gen->top_sp_nq_group;
}

/* The id of TOP_SP @t, or -1. */
static inline int neuron_top_sp_id(const struct neuron_gen *gen, __u32 t)
{
	if (t % gen->top_sp_group >= gen->top_sp_nq_group)
		return -1;
	return (int)(t / gen->top_sp_group * gen->top_sp_nq_group +
		     t % gen->top_sp_group);
}

/* CC-cores of each core, and the core that CC-core @cc belongs to. */
static inline __u32 neuron_cc_per_core(const struct neuron_gen *gen)
{
	return gen->nr_top_sp_ids / gen->nr_cores;
}

static inline __u32 neuron_cc_core(const struct neuron_gen *gen, __u32 cc)
{
	return cc / neuron_cc_per_core(gen);
}

/* Units of a chip, and the number of the @i-th of them (below NEURON_MAX_UNITS). */
static inline __u32 neuron_nr_units(const struct neuron_gen *gen)
{
	return gen->nr_cores + gen->nr_top_sp_ids;
}

static inline __u32 neuron_unit_number(const struct neuron_gen *gen, __u32 i)
{
	return i < gen->nr_cores ? i : NEURON_MAX_CORES + i - gen->nr_cores;
}

static inline __u32 neuron_top_sp_nq_bar0(const struct neuron_gen *gen, __u32 id)
{
	return gen->top_sp_nq_bar0[id / gen->top_sp_nq_group] +
	       id % gen->top_sp_nq_group * NEURON_TOP_SP_NQ_STRIDE;
}

/* BAR0 offset of the TPB window of core @core. */
static inline __u32 neuron_tpb_bar0(const struct neuron_gen *gen, __u32 core)
{
	return gen->tpb_bar0 + core * NEURON_TPB_WINDOW_SIZE;
}

/*
 * BAR0 offset of the low word of the counter @field (NEURON_PE_*) in the counter
 * group @xbus of row group @row.
 */
static inline __u32 neuron_pe_counter(const struct neuron_gen *gen, __u32 core,
				      __u32 row, __u32 xbus, __u32 field)
{
	return gen->pe_bar0[core] +
	       (row * gen->pe_groups + xbus) * gen->pe_group + field;
}

/* The routing id of the chip that software is to number @index. */
static inline __u32 neuron_routing_id(const struct neuron_gen *gen, __u32 index)
{
	return index / NEURON_ROUTING_GROUP * NEURON_ROUTING_GROUP +
	       gen->routing_id[index % NEURON_ROUTING_GROUP];
}

/* The serial number of a chip for which nobody says another one. */
static inline __u64 neuron_serial(const struct neuron_gen *gen, __u32 fabric_id)
{
	return (0x4e450000ull | gen->generation) << 32 | (fabric_id + 1);
}

/* BAR0 offset of the project's control block. */
static inline __u32 neuron_ctl_bar0(const struct neuron_gen *gen)
{
	return gen->hole_bar0 + NEURON_HOLE_CTL;
}

/* First ring engine of core @core; it owns 16 of them. */
static inline __u32 neuron_core_dma(__u32 core)
{
	return core * 16;
}

/*
 * The engine and queue that software uses to copy for core @core: queue 0 of
 * a copy engine of its own on v2, queue core & 1 of its SENG's engine after.
 */
static inline __u32 neuron_copy_engine(const struct neuron_gen *gen, __u32 core)
{
	return gen->nr_ring + (gen->generation == 2 ? core : core / 2);
}

static inline __u32 neuron_copy_queue(const struct neuron_gen *gen, __u32 core)
{
	return gen->generation == 2 ? 0 : core & 1;
}

#endif /* NEURON_GENERATION_H */
