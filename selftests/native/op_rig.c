// SPDX-License-Identifier: MIT
#include "op_rig.h"

#include <stdlib.h>
#include <string.h>

static bool stop(void *arg)
{
	struct op_test *t = arg;

	t->asked++;
	return t->stops >= 0 && !t->stops--;
}

static bool pause(void *arg, uint64_t work)
{
	struct op_test *t = arg;

	(void)work;
	t->pauses++;
	return true;
}

int op_setup(void **state)
{
	struct op_test *t = calloc(1, sizeof(*t));
	void *rig;
	unsigned int w, r, i;

	assert_non_null(t);
	assert_int_equal(rig_setup(&rig), 0);
	t->rig = rig;
	t->stops = -1;
	t->oracle.seed = OP_SEED;
	table_make(t->rig, &t->table);
	t->domain = table_latch(t->rig, &t->table);
	t->access = rig_access(t->rig, t->domain);
	/* Neighbours are in different windows. */
	for (r = 0; r < OP_REGIONS; r++)
		for (w = 0; w < NR_MEMORY; w++)
			oracle_add(&t->oracle, at(w, r * OP_REGION), OP_REGION);
	for (i = 0; i < t->oracle.nr; i++)
		assert_int_equal(trn_access_write(&t->access, t->oracle.area[i].addr,
						  t->oracle.area[i].shadow, OP_REGION), 0);
	*state = t;
	return 0;
}

int op_teardown(void **state)
{
	struct op_test *t = *state;
	void *rig = t->rig;

	oracle_destroy(&t->oracle);
	trn_domain_free(t->domain);
	free(t);
	return rig_teardown(&rig);
}

enum neuron_cause op_do(struct op_test *t, const struct oracle_op *x)
{
	enum neuron_cause cause;
	const char *why;

	if (trn_udma_op_check(&x->op, &why))
		fail_msg("refused: %s", why);
	t->work = (struct trn_udma_op_work){
		.access = &t->access,
		.stop = stop,
		.stop_arg = t,
		.op = &x->op,
	};
	memcpy(t->work.src, x->src, sizeof(x->src));
	memcpy(t->work.dst, x->dst, sizeof(x->dst));
	if (t->ops++ & 1)
		t->work.pause = pause;
	do {
		cause = trn_udma_op_do(&t->work);
	} while (t->work.under_way);
	return cause;
}

void op_check_memory(struct op_test *t, const char *what, unsigned int n)
{
	uint8_t now[OP_REGION];
	unsigned int i, k;

	for (i = 0; i < t->oracle.nr; i++) {
		assert_int_equal(trn_access_read(&t->access, t->oracle.area[i].addr, now,
						 OP_REGION), 0);
		for (k = 0; k < OP_REGION; k++)
			if (now[k] != t->oracle.area[i].shadow[k])
				fail_msg("%s %u: byte %#llx is %#x, not %#x", what, n,
					 (unsigned long long)t->oracle.area[i].addr + k,
					 now[k], t->oracle.area[i].shadow[k]);
	}
}

void op_setup_big(struct op_test *t)
{
	static const unsigned int stack[] = { 0, 1, 2 };
	unsigned int i;

	oracle_destroy(&t->oracle);
	t->access.domain = NULL;
	for (i = 0; i < 3; i++)
		oracle_add(&t->oracle, rig_hbm_addr(t->rig, stack[i], 0x100001 * i), OP_BIG);
	for (i = 0; i < 3; i++)
		assert_int_equal(trn_access_write(&t->access, t->oracle.area[i].addr,
						  t->oracle.area[i].shadow, OP_BIG), 0);
}

struct oracle_op op_plain(unsigned int op, unsigned int src_dtype,
			  unsigned int dst_dtype)
{
	return (struct oracle_op){
		.op = {
			.op = (uint8_t)op,
			.nr_src = 1,
			.nr_dst = 1,
			.src_dtype = (uint8_t)src_dtype,
			.dst_dtype = (uint8_t)dst_dtype,
			.src = { .num = { 1, 1, 1, 1 } },
			.dst = { .num = { 1, 1, 1, 1 } },
		},
	};
}

void op_dim(struct neuron_udma_pattern *pattern, unsigned int d, uint32_t num,
	    int64_t step)
{
	pattern->num[d] = num;
	pattern->step[d] = (uint64_t)step;
}

struct oracle_op op_line(unsigned int op, unsigned int src_dtype,
			 unsigned int dst_dtype, uint32_t n)
{
	struct oracle_op x = op_plain(op, src_dtype, dst_dtype);

	op_dim(&x.op.src, 0, n, trn_dtype_size(src_dtype));
	op_dim(&x.op.dst, 0, n, trn_dtype_size(dst_dtype));
	return x;
}

uint64_t op_put(struct op_test *t, unsigned int w, const void *data, size_t len)
{
	assert_int_equal(trn_access_write(&t->access, at(w, 0), data, len), 0);
	return at(w, 0);
}
