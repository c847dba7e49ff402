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
#define NEURON_MISC_ROUTING_ID		0x024
#define NEURON_MISC_SERIAL_LO		0x038
#define NEURON_MISC_SERIAL_HI		0x03c
#define NEURON_MISC_SRAM_ECC		0x040
#define NEURON_MISC_HBM_ECC(stack)	(0x044 + (stack) * 4)
#define NEURON_MISC_POWER(die)		(0x054 + (die) * 4)
#define NEURON_MISC_HBM_REPAIR		0x064
#define NEURON_MISC_POSITION		0x070	/* server 14:0, rack 30:16; 15, 31: valid */
#define NEURON_MISC_METRIC		0x100	/* 128 bytes of plain RAM */
#define NEURON_MISC_NEIGHBOUR		0x180
#define NEURON_MISC_ELECTION		0x190
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

/* --- Notification queues. Source: public driver. --- */
#define NEURON_NQ_SLOT(i)		(0x100 + (i) * 0x28)
#define NEURON_NQ_SLOTS			16
#define NEURON_NQ_BASE_LO		0x00
#define NEURON_NQ_BASE_HI		0x04
#define NEURON_NQ_SIZE			0x08
#define NEURON_NQ_HEAD			0x0c
#define NEURON_NQ_BLOCK_SIZE		0x1000

/*
 * --- Control block: project registers, in the same BAR0 hole as the MSI-X
 * table (struct neuron_gen, hole_bar0). ---
 */
#define NEURON_HOLE_MSIX_TABLE		0x00000
#define NEURON_HOLE_MSIX_PBA		0x08000
#define NEURON_HOLE_CTL			0x10000
#define NEURON_HOLE_SIZE		0x20000
#define NEURON_CTL_SIZE			0x10000

/* Chip-wide registers, offsets in the control block. */
#define NEURON_CTL_MAGIC		0x0000	/* R */
#define NEURON_CTL_MAGIC_VALUE		0x554d454e	/* "NEMU" */
#define NEURON_CTL_VERSION		0x0004	/* R: contract version */
#define NEURON_CTL_VERSION_VALUE	1
#define NEURON_CTL_FEATURES		0x0008	/* R */
#define NEURON_CTL_FEATURE_CLOCK	NEURON_BIT(0)	/* device time is on */
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
/* Links of the chip, R, in port order. */
#define NEURON_CTL_NR_LINKS		0x00a0
#define NEURON_CTL_LINK(l)		(0x0100 + (l) * 0x10)
#define NEURON_CTL_MAX_LINKS		16
#define NEURON_CTL_LINK_PEER		0x0	/* fabric id of the peer */
#define NEURON_CTL_LINK_STATE		0x4	/* 0 down, 1 up */
#define NEURON_CTL_LINK_WIDTH		0x8	/* lanes */
#define NEURON_CTL_LINK_MBPS		0xc	/* MB/s each way */

/* Registers of core n. */
#define NEURON_CTL_CORE(n)		(0x1000 + (n) * 0x100)
#define NEURON_CORE_DOORBELL_LO		0x00	/* W: job block address, low word */
#define NEURON_CORE_DOORBELL_HI		0x04	/* W: high word; starts the job */
#define NEURON_CORE_STATUS		0x08	/* R: enum neuron_core_status */
#define NEURON_CORE_RESET		0x0c	/* RW: write 1; reads 1 until done */
#define NEURON_CORE_CAUSE		0x10	/* W1C */
#define NEURON_CORE_MASK		0x14	/* RW, 1: masked; reset: all ones */
#define NEURON_CORE_VECTOR		0x18	/* RW; reset: n */
#define NEURON_CORE_GENERATION		0x1c	/* RW: claim generation */
#define NEURON_CORE_PROGRESS		0x20	/* R, 64 bit: retired instructions + descriptors */
#define NEURON_CORE_BUSY_NS		0x28	/* R, 64 bit: host time with a job running */
#define NEURON_CORE_STALE_POSTS		0x30	/* R: posts dropped for their generation */
#define NEURON_CORE_VIOLATIONS		0x34	/* R: window violations */
#define NEURON_CORE_JOBS		0x38	/* R: jobs completed */
#define NEURON_CORE_PC(engine)		(0x40 + (engine) * 4)	/* R */
#define NEURON_CORE_ENGINE(engine)	(0x60 + (engine) * 4)	/* R: enum neuron_engine_status */
#define NEURON_CORE_WAIT(engine)	(0x80 + (engine) * 4)	/* R: semaphore waited for */
#define NEURON_CORE_CAUSE_DONE		NEURON_BIT(0)	/* completion record written */
#define NEURON_CORE_CAUSE_RESET		NEURON_BIT(1)	/* core reset finished */
#define NEURON_CORE_CAUSE_REFUSED	NEURON_BIT(2)	/* no job, no record */

enum neuron_core_status {
	NEURON_CORE_IDLE	= 0,
	NEURON_CORE_RUNNING	= 1,
	NEURON_CORE_RESETTING	= 2,
};

enum neuron_engine_status {
	NEURON_ENGINE_HALTED	= 0,
	NEURON_ENGINE_RUNNING	= 1,
	NEURON_ENGINE_WAITING	= 2,	/* for a semaphore */
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

#endif /* NEURON_REGS_H */
