/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * UDMA engines: register block, queues, descriptors.
 *
 * An engine has 16 queues; a queue is a pair of rings: M2S (memory to stream,
 * "TX", the source) and S2M (stream to memory, "RX", the destination). Bytes of
 * an M2S packet (FIRST to LAST) flow in order into S2M descriptors.
 *
 * Source: public GPL Trainium driver (udma register map); the layout names
 * follow it. Fields marked "project" are defined here.
 */
#ifndef NEURON_UDMA_H
#define NEURON_UDMA_H

#include "types.h"

#define NEURON_UDMA_QUEUES		16

/* Offsets in the engine block. */
#define NEURON_UDMA_M2S_STATE		0x00200
#define NEURON_UDMA_M2S_CHANGE_STATE	0x00204
#define NEURON_UDMA_M2S_ERR_LOG_MASK	0x0020c
#define NEURON_UDMA_M2S_CFG_LEN		0x00254
#define NEURON_UDMA_M2S_STREAM_CFG	0x00258
#define NEURON_UDMA_M2S_VERSION		0x00604
#define NEURON_UDMA_M2S_Q(q)		(0x01000 + (q) * 0x1000)
#define NEURON_UDMA_S2M_STATE		0x20200
#define NEURON_UDMA_S2M_CHANGE_STATE	0x20204
#define NEURON_UDMA_S2M_ERR_LOG_MASK	0x2020c
#define NEURON_UDMA_S2M_STREAM_CFG	0x20250
#define NEURON_UDMA_S2M_Q(q)		(0x21000 + (q) * 0x1000)
#define NEURON_UDMA_IOFIC_PRIMARY(g)	(0x38000 + (g) * 0x40)
#define NEURON_UDMA_IOFIC_SECONDARY(g)	(0x3a000 + (g) * 0x40)
#define NEURON_UDMA_GEN_AXI_CFG_1	0x3a300
#define NEURON_UDMA_GEN_ZEROES0		0x3b460
#define NEURON_UDMA_BLOCK_SIZE		0x40000

/* state: each 2-bit field idle, normal or abort; zero is idle. */
#define NEURON_UDMA_STATE_IDLE		0
#define NEURON_UDMA_STATE_NORMAL	1
#define NEURON_UDMA_STATE_ABORT		2
#define NEURON_UDMA_CHANGE_NORMAL	NEURON_BIT(0)
#define NEURON_UDMA_CHANGE_DISABLE	NEURON_BIT(1)
#define NEURON_UDMA_CHANGE_ABORT	NEURON_BIT(2)

/* Offsets in a queue's 4 KiB block (M2S and S2M alike unless said). */
#define NEURON_UDMA_Q_CFG		0x20
#define NEURON_UDMA_Q_STATUS		0x24
#define NEURON_UDMA_Q_BASE_LO		0x28
#define NEURON_UDMA_Q_BASE_HI		0x2c
#define NEURON_UDMA_Q_LENGTH		0x30
#define NEURON_UDMA_Q_HEAD		0x34
#define NEURON_UDMA_Q_TAIL_INC		0x38	/* the doorbell */
#define NEURON_UDMA_Q_TAIL		0x3c
#define NEURON_UDMA_Q_CURRENT		0x40
#define NEURON_UDMA_Q_COMP_BASE_LO	0x44
#define NEURON_UDMA_Q_COMP_BASE_HI	0x48
#define NEURON_UDMA_Q_COMP_HEAD		0x4c
#define NEURON_UDMA_S2M_Q_COMP_CFG	0x54
#define NEURON_UDMA_S2M_Q_SW_CTRL	0x64
#define NEURON_UDMA_M2S_Q_RATE		0x74
#define NEURON_UDMA_M2S_Q_COMP_CFG	0xa0
#define NEURON_UDMA_M2S_Q_SW_CTRL	0xb0
#define NEURON_UDMA_Q_BLOCK_SIZE	0x1000

/*
 * Status, project: 23:0 descriptors not yet done; BUSY while one is being moved,
 * after a reset until the queue is quiet: memory it named may be reused then.
 */
#define NEURON_UDMA_Q_STATUS_BUSY	NEURON_BIT(31)
#define NEURON_UDMA_Q_CFG_RESET		0x03000000
#define NEURON_UDMA_Q_CFG_PREFETCH	NEURON_BIT(16)
#define NEURON_UDMA_Q_CFG_SCHEDULE	NEURON_BIT(17)
#define NEURON_UDMA_Q_SW_CTRL_RESET	NEURON_BIT(8)
#define NEURON_UDMA_Q_PTR		NEURON_MASK(23, 0)
#define NEURON_UDMA_Q_RING_ID		NEURON_MASK(31, 30)
#define NEURON_UDMA_RING_ID_FIRST	1
#define NEURON_UDMA_RING_MIN		32
#define NEURON_UDMA_RING_MAX		((1u << 24) - 16)
#define NEURON_UDMA_RING_MULTIPLE	16
#define NEURON_UDMA_RING_ALIGN		256

/**
 * struct neuron_udma_desc - M2S or S2M descriptor (16 bytes)
 * @len_ctrl: length and control bits below
 * @meta_ctrl: M2S: operation and barrier bits; S2M: second buffer, zero
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

#endif /* NEURON_UDMA_H */
