/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * UDMA engines: register block, queues, descriptors.
 *
 * An engine has 16 queues; a queue is a pair of rings: M2S (memory to stream,
 * "TX", the source) and S2M (stream to memory, "RX", the destination). Bytes of
 * an M2S packet (FIRST to LAST) flow in order into S2M descriptors.
 *
 * Source: public GPL Trainium driver (udma register map) and, for the error log,
 * interrupt moderation and summary bits, the public GPL/BSD drivers of the same
 * DMA controller in other chips; the layout names follow them. Fields marked
 * "project" are defined here.
 */
#ifndef NEURON_UDMA_H
#define NEURON_UDMA_H

#include "types.h"

#define NEURON_UDMA_QUEUES		16
#define NEURON_UDMA_BLOCK_SIZE		0x40000

/* --- M2S side of an engine, offsets in the engine block --- */

/* Bus tuning; only reads back. */
#define NEURON_UDMA_M2S_COMP_WR_CFG_1	0x00100
#define NEURON_UDMA_M2S_COMP_WR_CFG_2	0x00104
#define NEURON_UDMA_M2S_DATA_RD_CFG_1	0x00108
#define NEURON_UDMA_M2S_DATA_RD_CFG_2	0x0010c
#define NEURON_UDMA_M2S_DESC_RD_CFG_1	0x00110
#define NEURON_UDMA_M2S_DESC_RD_CFG_2	0x00114
#define NEURON_UDMA_M2S_DATA_RD_CFG	0x00118
#define NEURON_UDMA_M2S_DESC_RD_CFG_3	0x0011c
#define NEURON_UDMA_M2S_DESC_WR_CFG_1	0x00120
#define NEURON_UDMA_M2S_OSTAND_CFG	0x00124

#define NEURON_UDMA_M2S_STATE		0x00200	/* R */
#define NEURON_UDMA_M2S_CHANGE_STATE	0x00204	/* W */
#define NEURON_UDMA_M2S_ERR_LOG_MASK	0x0020c	/* 1: that cause of group A is not logged */
#define NEURON_UDMA_M2S_LOG(i)		(0x00214 + (i) * 4)	/* R, i 0 to 3 */
#define NEURON_UDMA_M2S_CLEAR_ERR_LOG	0x00224	/* W: any value */
#define NEURON_UDMA_M2S_CFG_LEN		0x00254
#define NEURON_UDMA_CFG_LEN_MAX		NEURON_MASK(19, 0)	/* bytes of a packet */
#define NEURON_UDMA_CFG_LEN_64K		NEURON_BIT(24)	/* length 0 is 64 KiB */
#define NEURON_UDMA_CFG_LEN_RESET	0x010fffff	/* project: what public software writes */
#define NEURON_UDMA_M2S_STREAM_CFG	0x00258
#define NEURON_UDMA_STREAM_DISABLE	NEURON_BIT(0)	/* stop after the packet under way */

/* Prefetch; PREF_CFG_1, _3 and DATA_CFG only read back. */
#define NEURON_UDMA_M2S_PREF_CFG_1	0x00300
#define NEURON_UDMA_M2S_PREF_CFG_2	0x00304
#define NEURON_UDMA_PREF_CFG_2_MAX_DESC	NEURON_MASK(7, 0)	/* descriptors of a packet */
#define NEURON_UDMA_PREF_CFG_2_RESET	0x00010041	/* project: 64 and one of metadata */
#define NEURON_UDMA_M2S_PREF_CFG_3	0x00308
#define NEURON_UDMA_M2S_DATA_CFG	0x00310
#define NEURON_UDMA_M2S_STREAM_RATE	0x003d4	/* reads back */
#define NEURON_UDMA_M2S_APP_ACK		0x00408	/* reads back */
#define NEURON_UDMA_M2S_VERSION		0x00604	/* R */
#define NEURON_UDMA_VERSION_VALUE	4
#define NEURON_UDMA_M2S_Q(q)		(0x01000 + (q) * 0x1000)

/* --- S2M side --- */

#define NEURON_UDMA_S2M_DATA_WR_CFG_1	0x20100
#define NEURON_UDMA_S2M_DATA_WR_CFG_2	0x20104
#define NEURON_UDMA_S2M_DESC_RD_CFG_4	0x20108
#define NEURON_UDMA_S2M_DESC_RD_CFG_5	0x2010c
#define NEURON_UDMA_S2M_COMP_WR_CFG_1	0x20110
#define NEURON_UDMA_S2M_COMP_WR_CFG_2	0x20114
#define NEURON_UDMA_S2M_DATA_WR_CFG	0x20118
#define NEURON_UDMA_S2M_DESC_RD_CFG_3	0x2011c
#define NEURON_UDMA_S2M_DESC_WR_CFG_1	0x20120
#define NEURON_UDMA_S2M_OSTAND_RD	0x20124
#define NEURON_UDMA_S2M_OSTAND_WR	0x20128
#define NEURON_UDMA_S2M_OSTAND_WR_2	0x2012c

#define NEURON_UDMA_S2M_STATE		0x20200	/* R */
#define NEURON_UDMA_S2M_CHANGE_STATE	0x20204	/* W */
#define NEURON_UDMA_S2M_ERR_LOG_MASK	0x2020c	/* group B */
#define NEURON_UDMA_S2M_LOG(i)		(0x20214 + (i) * 4)
#define NEURON_UDMA_S2M_CLEAR_ERR_LOG	0x20224
#define NEURON_UDMA_S2M_STREAM_CFG	0x20250	/* DISABLE acts, the rest reads back */
#define NEURON_UDMA_S2M_PREF_CFG(i)	(0x20300 + (i) * 4)	/* 0 to 3; read back */
#define NEURON_UDMA_S2M_COMP_CFG_1C	0x20380
#define NEURON_UDMA_COMP_WORDS		NEURON_MASK(3, 0)	/* of a completion: 1, 2, 4, 8 */
#define NEURON_UDMA_COMP_PROMOTION	NEURON_BIT(12)	/* reads back */
#define NEURON_UDMA_COMP_CFG_1C_RESET	0x00001004	/* project: what public software writes */
#define NEURON_UDMA_S2M_APP_ACK		0x2038c	/* reads back */
#define NEURON_UDMA_S2M_Q(q)		(0x21000 + (q) * 0x1000)

/* state: 2-bit fields idle, normal or abort; zero is idle. */
#define NEURON_UDMA_STATE_COMP		NEURON_MASK(1, 0)
#define NEURON_UDMA_STATE_STREAM	NEURON_MASK(5, 4)
#define NEURON_UDMA_STATE_DATA		NEURON_MASK(9, 8)
#define NEURON_UDMA_STATE_PREFETCH	NEURON_MASK(13, 12)
#define NEURON_UDMA_STATE_IDLE		0
#define NEURON_UDMA_STATE_NORMAL	1
#define NEURON_UDMA_STATE_ABORT		2
#define NEURON_UDMA_CHANGE_NORMAL	NEURON_BIT(0)
#define NEURON_UDMA_CHANGE_DISABLE	NEURON_BIT(1)
#define NEURON_UDMA_CHANGE_ABORT	NEURON_BIT(2)

/* --- General block --- */

/*
 * Interrupt controllers. Primary groups: A summary, B completions of S2M queues, C
 * of M2S queues, D others. Secondary: A errors of M2S, B of S2M, C parity. One more
 * group for each bus port, with a bit for each queue (project).
 */
#define NEURON_UDMA_IOFIC_PRIMARY(g)	(0x38000 + (g) * 0x40)
#define NEURON_UDMA_IOFIC_PRIMARIES	4
#define NEURON_UDMA_IOFIC_SECONDARY(g)	(0x3a000 + (g) * 0x40)
#define NEURON_UDMA_IOFIC_SECONDARIES	3
#define NEURON_UDMA_IOFIC_A		0
#define NEURON_UDMA_IOFIC_B		1
#define NEURON_UDMA_IOFIC_C		2
#define NEURON_UDMA_IOFIC_D		3
#define NEURON_UDMA_IOFIC_SIZE		0x40

/* Registers of a group. */
#define NEURON_IOFIC_CAUSE		0x00	/* writing 0 to a bit clears it */
#define NEURON_IOFIC_CAUSE_SET		0x08	/* writing 1 to a bit sets its cause */
#define NEURON_IOFIC_MASK		0x10	/* 1: masked */
#define NEURON_IOFIC_MASK_CLEAR		0x18	/* W: writing 0 to a bit unmasks it */
#define NEURON_IOFIC_STATUS		0x20	/* R: the sources of the causes */
#define NEURON_IOFIC_CONTROL		0x28
#define NEURON_IOFIC_ABORT_MASK		0x30	/* 0: that cause aborts its side */
#define NEURON_IOFIC_LOG_MASK		0x38	/* reads back */
#define NEURON_IOFIC_CLEAR_ON_READ	NEURON_BIT(0)	/* control: of CAUSE */
#define NEURON_IOFIC_POSEDGE		NEURON_BIT(3)	/* a cause follows the rise of its source */
#define NEURON_IOFIC_MASK_MSIX		NEURON_BIT(5)	/* reads back: a group has no MSI-X */

/*
 * Moderation of bit @bit of primary group @g. Project: in groups B and C, bits 7:0
 * are how many packets with INT_EN one announcement stands for; 0 and 1: each has
 * its own.
 */
#define NEURON_UDMA_IOFIC_MODERATION(g, bit)	(0x38400 + (g) * 0x100 + (bit) * 8)
#define NEURON_IOFIC_MODERATION		NEURON_MASK(7, 0)

/* Primary group A, and D where it stands for the secondary groups. */
#define NEURON_IOFIC_A_SUM(g)		NEURON_BIT((g) - 1)	/* of group B, C, D */
#define NEURON_IOFIC_D_SECONDARY(g)	NEURON_BIT(8 + (g))

/* Secondary group A: what goes wrong on the M2S side. */
#define NEURON_IOFIC_M2S_RING_ID	NEURON_BIT(17)
#define NEURON_IOFIC_M2S_LAST		NEURON_BIT(16)
#define NEURON_IOFIC_M2S_FIRST		NEURON_BIT(15)
#define NEURON_IOFIC_M2S_MAX_DESC	NEURON_BIT(14)
#define NEURON_IOFIC_M2S_LENGTH		NEURON_BIT(13)	/* of a packet */
#define NEURON_IOFIC_M2S_PREFETCH	NEURON_BIT(11)	/* error response */
#define NEURON_IOFIC_M2S_DATA		NEURON_BIT(8)	/* error response */
#define NEURON_IOFIC_M2S_COMP		NEURON_BIT(5)	/* error response */
/* Secondary group B: the S2M side. */
#define NEURON_IOFIC_S2M_COMP		NEURON_BIT(14)	/* error response */
#define NEURON_IOFIC_S2M_RING_ID	NEURON_BIT(11)
#define NEURON_IOFIC_S2M_PREFETCH	NEURON_BIT(9)	/* error response */
#define NEURON_IOFIC_S2M_DATA		NEURON_BIT(1)	/* error response */

#define NEURON_UDMA_AXI_TIMEOUT		0x3a300	/* reads back */

/* Bus ports of an engine. */
enum neuron_udma_port {
	NEURON_UDMA_PORT_M2S_PREFETCH	= 0,
	NEURON_UDMA_PORT_M2S_DATA	= 1,
	NEURON_UDMA_PORT_M2S_COMP	= 2,
	NEURON_UDMA_PORT_S2M_PREFETCH	= 3,
	NEURON_UDMA_PORT_S2M_DATA	= 4,
	NEURON_UDMA_PORT_S2M_COMP	= 5,
	NEURON_UDMA_PORT_MSIX		= 6,	/* unused */
	NEURON_UDMA_PORTS		= 7,
};

/* Error detection: 16 words for each port that read back. */
#define NEURON_UDMA_AXI_DETECT(port, i)	(0x3a900 + (port) * 0x40 + (i) * 4)
/* Error control: an indirect table of 128 words for each port; reads back. */
#define NEURON_UDMA_AXI_TABLE_ADDR(port)	(0x3ab00 + (port) * 8)
#define NEURON_UDMA_AXI_TABLE_DATA(port)	(0x3ab04 + (port) * 8)
#define NEURON_UDMA_AXI_TABLE_WORDS	128
/* Queue @q: what its accesses met. */
#define NEURON_UDMA_AXI_QUEUE(q)	(0x3ac00 + (q) * 0xc)
#define NEURON_UDMA_AXI_QUEUE_REQUEST	0x0	/* reads back */
#define NEURON_UDMA_AXI_QUEUE_ERROR	0x4	/* R, clears: bit enum neuron_udma_port (project) */
#define NEURON_UDMA_AXI_QUEUE_CFG	0x8	/* reads back */
/* The interrupt group of a bus port. */
#define NEURON_UDMA_IOFIC_PORT(port)	(0x3ad00 + (port) * 0x100)

#define NEURON_UDMA_GEN_ZEROES0		0x3b460	/* reset: all zeroes */
#define NEURON_UDMA_GEN_ZEROES1		0x3b464
#define NEURON_UDMA_GEN_ONES0		0x3b468
#define NEURON_UDMA_GEN_ONES1		0x3b46c
#define NEURON_UDMA_ZEROES0_NO_CRHP	NEURON_BIT(0)	/* no COMP_HEAD without completion ring */
/* Selectors of the high address; read back. */
#define NEURON_UDMA_VMPR_TX_SEL(q)	(0x3c400 + (q) * 0x40)
#define NEURON_UDMA_VMPR_RX_SEL(q, i)	(0x3c404 + (q) * 0x40 + (i) * 4)

/* --- Queues --- */

/* Offsets in a queue's 4 KiB block (M2S and S2M alike unless said). */
#define NEURON_UDMA_M2S_Q_PREF_CFG	0x00	/* reads back */
#define NEURON_UDMA_Q_CFG		0x20
#define NEURON_UDMA_Q_STATUS		0x24	/* R */
#define NEURON_UDMA_Q_BASE_LO		0x28
#define NEURON_UDMA_Q_BASE_HI		0x2c
#define NEURON_UDMA_Q_LENGTH		0x30
#define NEURON_UDMA_Q_HEAD		0x34	/* R */
#define NEURON_UDMA_Q_TAIL_INC		0x38	/* W: the doorbell */
#define NEURON_UDMA_Q_TAIL		0x3c	/* R */
#define NEURON_UDMA_Q_CURRENT		0x40	/* R */
#define NEURON_UDMA_Q_COMP_BASE_LO	0x44
#define NEURON_UDMA_Q_COMP_BASE_HI	0x48
#define NEURON_UDMA_Q_COMP_HEAD		0x4c	/* R */
#define NEURON_UDMA_S2M_Q_COMP_CFG	0x54
#define NEURON_UDMA_S2M_Q_SW_CTRL	0x64	/* W */
#define NEURON_UDMA_M2S_Q_RATE		0x74	/* reads back */
#define NEURON_UDMA_M2S_Q_COMP_CFG	0xa0
#define NEURON_UDMA_M2S_Q_SW_CTRL	0xb0	/* W */
#define NEURON_UDMA_Q_BLOCK_SIZE	0x1000

/*
 * Status, project: 23:0 descriptors not yet done; BUSY while one is being moved,
 * after a reset or a pause until the queue is quiet: memory it named may be reused
 * then.
 */
#define NEURON_UDMA_Q_STATUS_BUSY	NEURON_BIT(31)
#define NEURON_UDMA_Q_CFG_RESET		0x03000000
#define NEURON_UDMA_Q_CFG_PREFETCH	NEURON_BIT(16)
#define NEURON_UDMA_Q_CFG_SCHEDULE	NEURON_BIT(17)
#define NEURON_UDMA_Q_RATE_RESET	7
#define NEURON_UDMA_Q_COMP_ENABLE	NEURON_BIT(0)	/* COMP_CFG: write a completion ring */
#define NEURON_UDMA_Q_COMP_AT_ONCE	NEURON_BIT(1)	/* no coalescing */
#define NEURON_UDMA_Q_SW_CTRL_RESET	NEURON_BIT(8)
#define NEURON_UDMA_Q_PTR		NEURON_MASK(23, 0)
#define NEURON_UDMA_Q_RING_ID		NEURON_MASK(31, 30)
#define NEURON_UDMA_RING_ID_FIRST	1
#define NEURON_UDMA_RING_IDS		4	/* 0 follows the last one */
#define NEURON_UDMA_RING_MIN		32
#define NEURON_UDMA_RING_MAX		((1u << 24) - 16)
#define NEURON_UDMA_RING_MULTIPLE	16
#define NEURON_UDMA_RING_ALIGN		256

/* --- Descriptors --- */

/**
 * struct neuron_udma_desc - M2S or S2M descriptor (16 bytes)
 * @len_ctrl: length and control bits below
 * @meta_ctrl: M2S: operation and barrier bits; S2M: low word of the address of a
 *	second buffer, which the chip does not use: zero, not looked at
 * @addr: source (M2S) or destination (S2M), any alignment; a window address
 *	when the queue belongs to a job
 */
struct neuron_udma_desc {
	__le32 len_ctrl;
	__le32 meta_ctrl;
	__le64 addr;
};

NEURON_ASSERT_SIZE(struct neuron_udma_desc, 16);

#define NEURON_UDMA_DESC_LEN		NEURON_MASK(15, 0)	/* 0: 64 KiB */
#define NEURON_UDMA_DESC_RING_ID	NEURON_MASK(25, 24)
#define NEURON_UDMA_DESC_FIRST		NEURON_BIT(26)	/* M2S */
#define NEURON_UDMA_DESC_LAST		NEURON_BIT(27)	/* M2S */
#define NEURON_UDMA_DESC_INT_EN		NEURON_BIT(28)
#define NEURON_UDMA_DESC_DMB		NEURON_BIT(30)	/* M2S */
#define NEURON_UDMA_DESC_MAX_BYTES	65536u
#define NEURON_UDMA_PACKET_MAX_DESC	64

/* meta_ctrl of an M2S descriptor; the value public software writes. */
#define NEURON_UDMA_META_DEFAULT	0x01080003u
#define NEURON_UDMA_META_WRITE_BARRIER	NEURON_BIT(26)

/*
 * First word of a completion, which has a descriptor's ring id (of the lap in the
 * completion ring), FIRST and LAST of its packet, and the bytes it gave or got (0:
 * 64 KiB, or the packet is an operation). The other words are zero (project).
 */
#define NEURON_UDMA_COMP_BYTES		NEURON_MASK(15, 0)	/* project */
#define NEURON_UDMA_COMP_RING_ID	NEURON_UDMA_DESC_RING_ID
#define NEURON_UDMA_COMP_FIRST		NEURON_UDMA_DESC_FIRST
#define NEURON_UDMA_COMP_LAST		NEURON_UDMA_DESC_LAST
#define NEURON_UDMA_M2S_COMP_BYTES	16u	/* size of an M2S completion */

/*
 * "Descriptor index" of a packet that an instruction generated, in the fault of a
 * job: this bit and how many the queue was given before it. Project.
 */
#define NEURON_UDMA_PC_GENERATED	NEURON_BIT(31)

#endif /* NEURON_UDMA_H */
