/* SPDX-License-Identifier: MIT */
/*
 * Single instructions: run them on a core, look at its memories.
 */
#ifndef EXEC_RIG_H
#define EXEC_RIG_H

#include "seq_rig.h"

#define TENSOR	NEURON_ENGINE_TENSOR
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16
#define I8	NEURON_DTYPE_INT8
#define U8	NEURON_DTYPE_UINT8
#define U16	NEURON_DTYPE_UINT16
#define I32	NEURON_DTYPE_INT32

#define PARTITION	NEURON_KIB(224)

/* A cmocka group: one chip, trn2, or what exec_setup_gen() is told; *state is its rig. */
int exec_setup(void **state);
int exec_setup_gen(void **state, const struct neuron_gen *gen);
int exec_setup_trn1(void **state);
int exec_setup_trn3(void **state);
int exec_teardown(void **state);

/*
 * A test with a chip of its own: one group may have tests of several generations. The second
 * form is for a test that runs on more than one.
 */
#define EXEC_TEST(setup, f)	{ #f, f, setup, exec_teardown, NULL }
#define EXEC_TEST_AS(name, setup, f)	{ name, f, setup, exec_teardown, NULL }

/* The property more-operators of the chips, which is off at first. */
void exec_more_operators(void **state, bool on);

/* Run instructions on one engine; the outcome of the job. */
struct neuron_hw_completion run(struct seq_rig *rig, enum neuron_engine engine,
				const struct neuron_inst *inst, size_t n);
/* Run one; fail unless it is carried out, or ends with @cause. */
void good(void **state, enum neuron_engine engine, struct neuron_inst inst);
void bad(void **state, enum neuron_engine engine, struct neuron_inst inst,
	 enum neuron_cause cause);
/* Run @n; fail unless all are carried out. */
void good_all(void **state, enum neuron_engine engine,
	      const struct neuron_inst *inst, size_t n);

/* Memory of core 0. */
float *sbuf_f(void **state, unsigned int p, size_t offset);
float *psum_f(void **state, unsigned int p, size_t offset);

/* A number below @below, the next of a fixed sequence. */
uint32_t rnd(uint32_t below);

#endif /* EXEC_RIG_H */
