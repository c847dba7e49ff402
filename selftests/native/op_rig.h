/* SPDX-License-Identifier: MIT */
/*
 * DMA operations without a queue, on windows of every kind, beside the oracle.
 */
#ifndef OP_RIG_H
#define OP_RIG_H

#include "dma_oracle.h"
#include "num/trn_num.h"
#include "dma/trn_udma_op.h"
#include "window_rig.h"

#define OP_SEED		0x6a09e667f3bcc909ull
#define OP_REGIONS	8		/* of each window */
#define OP_REGION	(WINDOW_BYTES / OP_REGIONS)
#define OP_LIST		0		/* region 0 holds index lists */
#define OP_BIG		0x200000	/* bytes of an area of op_setup_big() */

/**
 * struct op_test - windows, and what their memory has to be
 * @work: of the last operation
 * @stops: times that stop() says no before it says yes; -1: never
 * @ops: operations so far; every second one pauses wherever it may
 * @pauses: of all
 */
struct op_test {
	struct rig *rig;
	struct table table;
	struct trn_domain *domain;
	struct trn_access access;
	struct oracle oracle;
	struct trn_udma_op_work work;
	int stops;
	unsigned int asked;
	unsigned int ops;
	unsigned int pauses;
};

/* cmocka set-up and tear-down; *@state is the test. */
int op_setup(void **state);
int op_teardown(void **state);
/* Then: three areas in HBM instead of the regions, in domain 0. */
void op_setup_big(struct op_test *t);

/* Do it on the chip; t->work has what came of it. */
enum neuron_cause op_do(struct op_test *t, const struct oracle_op *x);
/* Fail, naming @what and @n, unless memory is what the oracle says. */
void op_check_memory(struct op_test *t, const char *what, unsigned int n);

/* One source, one destination, one element. */
struct oracle_op op_plain(unsigned int op, unsigned int src_dtype,
			  unsigned int dst_dtype);
/* Both sides without a step. */
struct oracle_op op_line(unsigned int op, unsigned int src_dtype,
			 unsigned int dst_dtype, uint32_t n);
void op_dim(struct neuron_udma_pattern *pattern, unsigned int d, uint32_t num,
	    int64_t step);
/* Write to the start of window @w, not to the shadow: its address. */
uint64_t op_put(struct op_test *t, unsigned int w, const void *data, size_t len);

#endif /* OP_RIG_H */
