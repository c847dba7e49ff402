/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Registers outside the UDMA engines: MISC RAM (firmware), the windows of a
 * NeuronCore, notification queues, activity counters, and the project's own
 * control block. Where a block lies in BAR0 is in generation.h.
 *
 * All registers are 32-bit little endian; 64-bit values are a low word
 * followed by a high word unless said.
 */
#ifndef NEURON_REGS_H
#define NEURON_REGS_H

#include "types.h"

/* --- MISC RAM. Source: public driver (firmware I/O register map). --- */
#define NEURON_MISC_API_VERSION		0x000
#define NEURON_MISC_HEALTH		0x004
#define NEURON_MISC_HEARTBEAT		0x00c
#define NEURON_MISC_ROUTING_ID		0x024
#define NEURON_MISC_PARTITION		0x030	/* instance 5:0, partition 30:16; 31: valid */
#define NEURON_MISC_SERIAL_LO		0x038
#define NEURON_MISC_SERIAL_HI		0x03c
/* ECC errors: corrected in 31:16, uncorrected in 15:0. */
#define NEURON_MISC_SRAM_ECC		0x040
#define NEURON_MISC_HBM_ECC(stack)	(0x044 + (stack) * 4)
#define NEURON_MISC_ECC_CORRECTED	NEURON_MASK(31, 16)
#define NEURON_MISC_ECC_UNCORRECTED	NEURON_MASK(15, 0)
#define NEURON_MISC_POWER(die)		(0x054 + (die) * 4)
#define NEURON_MISC_POWER_SAMPLE	NEURON_MASK(31, 16)	/* its number */
#define NEURON_MISC_POWER_USED		NEURON_MASK(15, 0)	/* basis points */
#define NEURON_MISC_HBM_REPAIR		0x064
#define NEURON_MISC_REPAIR_PENDING	1
#define NEURON_MISC_REPAIR_FAILED	2
#define NEURON_MISC_POSITION		0x070
#define NEURON_MISC_POSITION_SERVER	NEURON_MASK(14, 0)
#define NEURON_MISC_POSITION_SERVER_VALID NEURON_BIT(15)
#define NEURON_MISC_POSITION_RACK	NEURON_MASK(30, 16)
#define NEURON_MISC_POSITION_RACK_VALID	NEURON_BIT(31)
#define NEURON_MISC_BUILD		0x074
#define NEURON_MISC_RESERVATION_HI	0x080
#define NEURON_MISC_RESERVATION_LO	0x084
/* What lies below is the firmware's; the runtime and the driver own the rest. */
#define NEURON_MISC_FIRMWARE_END	0x0c0
#define NEURON_MISC_METRIC		0x100	/* 128 bytes of plain RAM */
/* Election of an UltraServer: what a chip shows its neighbours, high words first. */
#define NEURON_MISC_NEIGHBOUR		0x180
#define NEURON_MISC_LEFT_HI		0x180
#define NEURON_MISC_LEFT_LO		0x184
#define NEURON_MISC_RIGHT_HI		0x188
#define NEURON_MISC_RIGHT_LO		0x18c
#define NEURON_MISC_ELECTION		0x190
#define NEURON_MISC_ELECTION_STATUS	NEURON_MASK(7, 0)
#define NEURON_MISC_ELECTION_LINKS	NEURON_MASK(15, 8)	/* 1 left, 2 right */
#define NEURON_MISC_ELECTION_NODE	NEURON_MASK(23, 16)
#define NEURON_MISC_ELECTION_NODES	NEURON_MASK(31, 24)
#define NEURON_MISC_ELECTION_FAILURE	2
#define NEURON_MISC_ELECTION_SUCCESS	3
#define NEURON_MISC_LEADER_HI		0x194	/* serial number of node 0 */
#define NEURON_MISC_LEADER_LO		0x198
#define NEURON_MISC_RESET_MAP_HI	0x1d4
#define NEURON_MISC_RESET_MAP		0x1d8
#define NEURON_MISC_RESET_REQUEST	0x1ec
#define NEURON_MISC_REQUEST_HI		0x1f0
#define NEURON_MISC_REQUEST_LO		0x1f4
#define NEURON_MISC_RESPONSE_HI		0x1f8
#define NEURON_MISC_RESPONSE_LO		0x1fc
#define NEURON_MISC_TRIGGER		0x800
#define NEURON_MISC_STATUS		0x808
#define NEURON_MISC_STATUS_BUSY		NEURON_BIT(3)
#define NEURON_MISC_SIZE		0x1000
#define NEURON_MISC_RESET_DEVICE	1
#define NEURON_MISC_RESET_TPB		2
/* The value returned; up to 5 keeps the public driver on its host mailbox. */
#define NEURON_MISC_API_VERSION_VALUE	4
/* Of this project's firmware: a date. */
#define NEURON_MISC_BUILD_VALUE		0x20250701u
/* What the firmware publishes reads so while the device is in reset. */
#define NEURON_MISC_NOT_READY		0xdeadbeefu

/*
 * Reset register of platform mode, v3 and v4. Not a map: two releases of the
 * public driver ask for a reset of the device in two ways.
 */
#define NEURON_PLATFORM_RESET_OLD	0u
#define NEURON_PLATFORM_RESET_DEVICE	0xffffffffu

/*
 * Reset maps: a bit for each core in 7:0. On v3 and v4 bit 8 + n is the sixteen
 * ring engines of core n and bit 16 + n its two CC-cores; on v2 bit 8 + t is
 * CC-core t. Source: public driver.
 */
#define NEURON_RESET_MAP_CORES		NEURON_MASK(7, 0)
#define NEURON_RESET_MAP_SDMA		NEURON_MASK(15, 8)
#define NEURON_RESET_MAP_TOP_SP		NEURON_MASK(23, 16)
#define NEURON_RESET_MAP_TOP_SP_V2	NEURON_MASK(13, 8)

/*
 * --- Mailbox of the firmware, in host memory. Source: public driver. ---
 *
 * The request's address and the response's are in MISC RAM. The CRC is CRC-32C
 * over the whole request with its own field zero. The response's seq is written
 * last.
 */
struct neuron_mailbox_request {
	__u8 seq;		/* 1 to 255 */
	__u8 command;		/* enum neuron_mailbox_command */
	__le16 size;		/* with this header */
	__le32 crc32c;
};

struct neuron_mailbox_response {
	__u8 seq;
	__u8 error;		/* enum neuron_mailbox_error */
	__le16 size;		/* with this header */
};

NEURON_ASSERT_SIZE(struct neuron_mailbox_request, 8);
NEURON_ASSERT_SIZE(struct neuron_mailbox_response, 4);

enum neuron_mailbox_command {
	NEURON_MAILBOX_READ	= 1,	/* __le64 device addresses; answer: __le32 each */
	NEURON_MAILBOX_POST	= 2,	/* bytes, for the cloud's metrics */
};

enum neuron_mailbox_error {
	NEURON_MAILBOX_OK	= 0,
	NEURON_MAILBOX_FAILED	= 1,
	NEURON_MAILBOX_UNKNOWN	= 2,	/* command */
};

/*
 * --- Activity counters of the PE array. Source: public driver. ---
 *
 * 64-bit counters of cycles in four row groups of 32 rows. The reader takes the
 * high word first. Where they lie is in generation.h.
 */
#define NEURON_PE_ROW_GROUPS		4
#define NEURON_PE_COLUMN_GROUPS		4
#define NEURON_PE_MATMUL		0x00	/* fields of a counter group */
#define NEURON_PE_WEIGHTS		0x08
#define NEURON_PE_IDLE			0x10
#define NEURON_PE_XBUS_FAST_WEIGHTS(c)	(c)	/* WEIGHTS by column group */
#define NEURON_PE_XBUS_ARRAY		4	/* MATMUL and IDLE */

/* --- A core's TPB window. Source: public driver, but for PSUM (project). --- */
#define NEURON_TPB_WINDOW_SIZE		0x4000000
#define NEURON_TPB_SBUF			0x0000000
#define NEURON_TPB_SBUF_SIZE		0x2000000
#define NEURON_TPB_SBUF_STRIDE		0x40000	/* bytes per partition slot */
#define NEURON_TPB_PSUM			0x2000000
#define NEURON_TPB_PSUM_SIZE		0x200000
#define NEURON_TPB_PSUM_STRIDE		0x4000
#define NEURON_TPB_SEM			0x2700000
#define NEURON_TPB_SEM_SIZE		0x2000
#define NEURON_PARTITIONS		128
#define NEURON_PSUM_BANKS		8
#define NEURON_PSUM_BANK_BYTES		2048	/* in each partition */

/* Events and semaphores, relative to NEURON_TPB_SEM. */
#define NEURON_NR_SEMAPHORES		256
#define NEURON_NR_EVENTS		256
#define NEURON_SEM_EVENT(i)		(0x0000 + (i) * 4)
#define NEURON_SEM_READ(i)		(0x1000 + (i) * 4)
#define NEURON_SEM_SET(i)		(0x1400 + (i) * 4)
#define NEURON_SEM_INC(i)		(0x1800 + (i) * 4)
#define NEURON_SEM_DEC(i)		(0x1c00 + (i) * 4)

/* --- Window of a TOP_SP: the same events and semaphores, at its start. --- */
#define NEURON_TOP_SP_WINDOW_SIZE	0x400000
#define NEURON_TOP_SP_SEM		0x0

/*
 * --- Notification queues. Source: public driver (base, size, head); the rest is
 * this project's. Entries and types: notify.h. ---
 */
#define NEURON_NQ_NR_SLOTS		0x000	/* R: slots of this block */
#define NEURON_NQ_OVERFLOWED(i)		(0x010 + (i) * 4)	/* R: bit for each slot */
#define NEURON_NQ_SLOT(i)		(0x100 + (i) * 0x28)
#define NEURON_NQ_SLOT_SIZE		0x28
#define NEURON_NQ_SLOTS			96	/* of a core or TOP_SP; an SDMA block has 1 */
#define NEURON_NQ_BASE_LO		0x00	/* RW: plain address, taken at a write of SIZE */
#define NEURON_NQ_BASE_HI		0x04	/* RW */
#define NEURON_NQ_SIZE			0x08	/* RW: bytes; a write starts anew, 0: off */
#define NEURON_NQ_HEAD			0x0c	/* RW: consumer's byte offset */
#define NEURON_NQ_TAIL			0x10	/* R: producer's byte offset */
#define NEURON_NQ_STATUS		0x14	/* R */
#define NEURON_NQ_OVERFLOW		0x18	/* R: entries dropped; any write clears */
#define NEURON_NQ_CONTROL		0x1c	/* RW */
#define NEURON_NQ_BLOCK_SIZE		0x1000
#define NEURON_NQ_STATUS_ENABLED	NEURON_BIT(0)
#define NEURON_NQ_STATUS_FLOW		NEURON_BIT(1)	/* HEAD is heeded */
#define NEURON_NQ_STATUS_BUSY		NEURON_BIT(2)	/* an entry is on its way */
#define NEURON_NQ_STATUS_PHASE		NEURON_BIT(3)	/* of the next entry */
#define NEURON_NQ_STATUS_CAUSE		NEURON_MASK(15, 8)	/* enum neuron_cause: why off */
#define NEURON_NQ_CONTROL_TRACE		NEURON_BIT(0)	/* trace this slot's engine */

/*
 * --- Control block: project registers, in the same BAR0 hole as the MSI-X
 * table (struct neuron_gen, hole_bar0). ---
 */
#define NEURON_HOLE_MSIX_TABLE		0x00000
#define NEURON_HOLE_MSIX_PBA		0x08000
#define NEURON_HOLE_CTL			0x10000
#define NEURON_HOLE_SIZE		0x30000
#define NEURON_CTL_SIZE			0x20000

/* Chip-wide registers, offsets in the control block. */
#define NEURON_CTL_MAGIC		0x0000	/* R */
#define NEURON_CTL_MAGIC_VALUE		0x554d454e	/* "NEMU" */
#define NEURON_CTL_VERSION		0x0004	/* R: contract version */
#define NEURON_CTL_VERSION_VALUE	2
#define NEURON_CTL_FEATURES		0x0008	/* R */
#define NEURON_CTL_FEATURE_CLOCK	NEURON_BIT(0)	/* device time is on */
#define NEURON_CTL_FEATURE_PIECES	NEURON_BIT(1)	/* NEURON_JOB_PIECES, links in lists */
#define NEURON_CTL_FEATURE_GROUPS	NEURON_BIT(2)	/* NEURON_JOB_GROUP */
#define NEURON_CTL_GENERATION		0x000c	/* R: 2, 3 or 4 */
#define NEURON_CTL_POSITION		0x0010	/* R: chip 7:0, server 15:8, rack 23:16 */
#define NEURON_CTL_FABRIC_ID		0x0014	/* R: id in routed addresses */
#define NEURON_CTL_FABRIC_CHIPS		0x0018	/* R: chips on the fabric, 1 alone */
/* R: names the fabric: chips reach each other if equal and not 0; 0: alone. */
#define NEURON_CTL_FABRIC_KEY		0x001c
#define NEURON_CTL_HBM_SIZE(stack)	(0x0020 + (stack) * 8)	/* R, 64 bit: populated bytes */
#define NEURON_CTL_HBM_BAR(stack)	(0x0040 + (stack) * 8)	/* R, 64 bit: offset in BAR4 */
#define NEURON_CTL_TIME			0x0060	/* R, 64 bit: device time, ns */
#define NEURON_CTL_HOST_USED		0x0068	/* R, 64 bit: host bytes behind device memory */
/*
 * Discard: write address and length (plain HBM address, both multiples of
 * 4096), then 1 to GO. GO reads 1 until done; then cause DISCARD is raised. The
 * memory reads as zero afterwards. A bad range raises DISCARD_ERROR and changes
 * nothing.
 */
#define NEURON_CTL_DISCARD_ADDR		0x0070	/* RW, 64 bit */
#define NEURON_CTL_DISCARD_LEN		0x0078	/* RW, 64 bit */
#define NEURON_CTL_DISCARD_GO		0x0080	/* RW */
/* Management interrupt. */
#define NEURON_CTL_CAUSE		0x0090	/* W1C */
#define NEURON_CTL_MASK			0x0094	/* RW, 1: masked; reset: all ones */
#define NEURON_CTL_VECTOR		0x0098	/* RW: MSI-X vector; reset: nr_cores */
#define NEURON_CTL_CAUSE_DISCARD	NEURON_BIT(0)
#define NEURON_CTL_CAUSE_DISCARD_ERROR	NEURON_BIT(1)
#define NEURON_CTL_CAUSE_LINK		NEURON_BIT(2)
#define NEURON_CTL_CAUSE_DMA		NEURON_BIT(3)	/* a DMA block below has a cause */
#define NEURON_CTL_CAUSE_NQ		NEURON_BIT(4)	/* an entry dropped, a queue stopped */
#define NEURON_CTL_CAUSE_ECC		NEURON_BIT(5)	/* a memory error, see ECC_INFO */
/*
 * Memory errors. ADDR and INFO are those of the first one since INFO was
 * cleared, but an uncorrectable one takes the place of a correctable one.
 */
#define NEURON_CTL_ECC_ADDR		0x00b0	/* R, 64 bit: plain address; SRAM: 0 */
#define NEURON_CTL_ECC_INFO		0x00b8	/* VALID: W1C, clears ADDR too */
#define NEURON_CTL_ECC_COUNT		0x00bc	/* R: errors since power-on */
#define NEURON_CTL_ECC_UNCORRECTABLE	NEURON_BIT(0)
#define NEURON_CTL_ECC_SRAM		NEURON_BIT(1)
#define NEURON_CTL_ECC_STACK		NEURON_MASK(15, 8)
#define NEURON_CTL_ECC_VALID		NEURON_BIT(31)
#define NEURON_CTL_THROTTLE		0x00c0	/* R: clock of the engines, percent of full */
#define NEURON_CTL_POSTS		0x00c4	/* R: mailbox posts taken */
/* R: why they are slower: enum neuron_throttle. */
#define NEURON_CTL_THROTTLE_REASON	0x00c8
/*
 * W: end a time group of the fabric by its number; the second write does it. Members that
 * have come settle as INEXACT, now or when they end. A number that no group has is ignored.
 */
#define NEURON_CTL_GROUP_END_LO		0x00d0	/* W: low word */
#define NEURON_CTL_GROUP_END_HI		0x00d4	/* W: high word; ends it */
/* Links of the chip, R, in port order. */
#define NEURON_CTL_NR_LINKS		0x00a0
#define NEURON_CTL_LINK(l)		(0x0100 + (l) * 0x10)
#define NEURON_CTL_MAX_LINKS		16
#define NEURON_CTL_LINK_PEER		0x0	/* fabric id of the peer, or: */
#define NEURON_LINK_PEER_NONE		0xffffffffu	/* nobody there */
#define NEURON_LINK_PEER_SWITCH		NEURON_BIT(31)	/* level 27:24, rack 15:8, server 7:0 */
#define NEURON_LINK_SWITCH_LEVEL	NEURON_MASK(27, 24)	/* 1: of a server, 2: of a rack */
#define NEURON_LINK_SWITCH_RACK		NEURON_MASK(15, 8)
#define NEURON_LINK_SWITCH_SERVER	NEURON_MASK(7, 0)
#define NEURON_CTL_LINK_STATE		0x4	/* 0 down, 1 up */
#define NEURON_CTL_LINK_WIDTH		0x8	/* lanes */
#define NEURON_CTL_LINK_MBPS		0xc	/* MB/s each way */

/* Counters of link l, R, since the last reset of the device. */
#define NEURON_CTL_LINK_COUNT(l)	(0x0200 + (l) * 0x20)
#define NEURON_LINK_COUNT_SENT		0x00	/* 64 bit: bytes to the other end */
#define NEURON_LINK_COUNT_RECEIVED	0x08	/* 64 bit: bytes from there */
#define NEURON_LINK_COUNT_ERRORS	0x10	/* accesses that found no way: it is down */

enum neuron_throttle {
	NEURON_THROTTLE_NONE	= 0,	/* full clock */
	NEURON_THROTTLE_THERMAL	= 1,	/* the chip is too hot */
	NEURON_THROTTLE_POWER	= 2,	/* it must draw less */
};

/*
 * Registers of core n, and of CC-core c, which has the same ones; of its engines
 * only SYNC is there.
 */
#define NEURON_CTL_CORE(n)		(0x1000 + (n) * 0x100)
#define NEURON_CTL_CC(c)		(0x2000 + (c) * 0x100)
#define NEURON_CORE_DOORBELL_LO		0x00	/* W: job block address, low word */
#define NEURON_CORE_DOORBELL_HI		0x04	/* W: high word; starts the job */
#define NEURON_CORE_STATUS		0x08	/* R: enum neuron_core_status */
#define NEURON_CORE_RESET		0x0c	/* RW: write 1; reads 1 until done */
#define NEURON_CORE_CAUSE		0x10	/* W1C */
#define NEURON_CORE_MASK		0x14	/* RW, 1: masked; reset: all ones */
#define NEURON_CORE_VECTOR		0x18	/* RW; reset: n, of a CC-core its core's */
#define NEURON_CORE_GENERATION		0x1c	/* RW: claim generation */
#define NEURON_CORE_PROGRESS		0x20	/* R, 64 bit: retired instructions + descriptors */
#define NEURON_CORE_BUSY_NS		0x28	/* R, 64 bit: host time with a job running */
#define NEURON_CORE_STALE_POSTS		0x30	/* R: posts dropped for their generation */
#define NEURON_CORE_VIOLATIONS		0x34	/* R: window violations */
#define NEURON_CORE_JOBS		0x38	/* R: jobs completed */
#define NEURON_CORE_PC(engine)		(0x40 + (engine) * 4)	/* R */
#define NEURON_CORE_ENGINE(engine)	(0x60 + (engine) * 4)	/* R: enum neuron_engine_status */
#define NEURON_CORE_WAIT(engine)	(0x80 + (engine) * 4)	/* R: semaphore waited for */
#define NEURON_CORE_WAIT_EVENT		NEURON_BIT(8)	/* it is an event */
#define NEURON_CORE_CAUSE_DONE		NEURON_BIT(0)	/* completion record written */
#define NEURON_CORE_CAUSE_RESET		NEURON_BIT(1)	/* core reset finished */
#define NEURON_CORE_CAUSE_REFUSED	NEURON_BIT(2)	/* no job, no record */
#define NEURON_CORE_CAUSE_SETTLED	NEURON_BIT(3)	/* settle record written */

enum neuron_core_status {
	NEURON_CORE_IDLE	= 0,
	NEURON_CORE_RUNNING	= 1,
	NEURON_CORE_RESETTING	= 2,
};

enum neuron_engine_status {
	NEURON_ENGINE_HALTED	= 0,
	NEURON_ENGINE_RUNNING	= 1,
	NEURON_ENGINE_WAITING	= 2,	/* for a semaphore or event */
};

/*
 * Interrupt of DMA engine e, for queues that belong to no job: bit q of CAUSE
 * is set when a descriptor with INT_EN of queue q has completed, bit 16 + q when
 * queue q stopped on an error (its code, enum neuron_cause, in ERROR(q)); such a
 * queue stays stopped until it is reset. A cause that is not masked also sets
 * CAUSE_DMA of the management interrupt, or raises VECTOR when that is not
 * NEURON_DMA_VECTOR_MGMT.
 */
#define NEURON_CTL_DMA(e)		(0x4000 + (e) * 0x40)
#define NEURON_DMA_CAUSE		0x00	/* W1C */
#define NEURON_DMA_MASK			0x04	/* RW, 1: masked; reset: all ones */
#define NEURON_DMA_VECTOR		0x08	/* RW; reset: NEURON_DMA_VECTOR_MGMT */
#define NEURON_DMA_VECTOR_MGMT		0xffffffffu
#define NEURON_DMA_ERROR(q)		(0x10 + (q))	/* R, one byte each */
#define NEURON_DMA_CAUSE_DONE(q)	NEURON_BIT(q)
#define NEURON_DMA_CAUSE_ERROR(q)	NEURON_BIT(16 + (q))

/*
 * Who changed semaphore s of core n, or of CC-core c, last, since the core was
 * reset: who should have posted a semaphore that is waited for is likely to be who
 * did it before.
 */
#define NEURON_CTL_SEM_POSTER(n, s)	(0x8000 + (n) * 0x400 + (s) * 4)	/* R */
#define NEURON_CTL_CC_SEM_POSTER(c, s)	(0xa000 + (c) * 0x400 + (s) * 4)	/* R */
#define NEURON_SEM_POSTER_KIND		NEURON_MASK(31, 28)
#define NEURON_SEM_POSTER_NOBODY	0
#define NEURON_SEM_POSTER_ENGINE	1	/* WHO: enum neuron_engine */
#define NEURON_SEM_POSTER_DMA		2	/* WHO: dma_engine << 4 | queue */
#define NEURON_SEM_POSTER_PEER		3	/* WHO: fabric id of another chip */
#define NEURON_SEM_POSTER_HOST		4	/* the CPU, through BAR0 */
#define NEURON_SEM_POSTER_CC		5	/* WHO: the CC-core */
#define NEURON_SEM_POSTER_WHO		NEURON_MASK(27, 0)

/* Counters of queue q of DMA engine e, R, since the last reset of the device. */
#define NEURON_CTL_QUEUE(e, q)		(0x10000 + (e) * 0x100 + (q) * 0x10)
#define NEURON_QUEUE_BYTES		0x0	/* 64 bit: moved */
#define NEURON_QUEUE_DESCRIPTORS	0x8	/* 64 bit: of M2S, and generated packets */

#endif /* NEURON_REGS_H */
