// SPDX-License-Identifier: MIT
#include "nk_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook/trn_check.h"
#include "num/trn_num.h"

void nk_rigs_init(struct nk_rig rigs[NK_RIGS], bool clock)
{
	static const struct neuron_gen *const gens[NK_RIGS] = {
		&neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3,
	};
	unsigned int g;

	memset(rigs, 0, NK_RIGS * sizeof(*rigs));
	for (g = 0; g < NK_RIGS; g++)
		seq_rig_init_check(&rigs[g].rig, gens[g], 1, 1, clock);
}

static void end_program(struct nk_rig *rig)
{
	unsigned int i;

	for (i = 0; i < rig->nr; i++)
		free(rig->value[i]);
	rig->nr = 0;
	nb_free(rig->nb);
	rig->nb = NULL;
}

void nk_rigs_destroy(struct nk_rig rigs[NK_RIGS])
{
	unsigned int g;

	for (g = 0; g < NK_RIGS; g++) {
		end_program(&rigs[g]);
		seq_rig_destroy(&rigs[g].rig);
	}
}

void nk_rig_begin_by_hand(struct nk_rig *rig)
{
	end_program(rig);
	rig->nb = nb_new("kernels");
	assert_non_null(rig->nb);
	nb_generation(rig->nb, rig->rig.chip[0]->gen->generation);
}

void nk_rig_begin(struct nk_rig *rig)
{
	nk_rig_begin_by_hand(rig);
	assert_int_equal(nk_begin(&rig->nk, rig->nb), 0);
}

static void name_of(unsigned int i, char name[12])
{
	snprintf(name, 12, "t%u", i);
}

static unsigned int add(struct nk_rig *rig, enum neuron_dtype dtype, uint32_t rows,
			uint32_t cols, bool output)
{
	/* A NEFF has no names for fp8. */
	enum neuron_dtype named = trn_dtype_size(dtype) == 1 ? NEURON_DTYPE_UINT8 : dtype;
	const uint32_t shape[] = { rows, cols };
	unsigned int i = rig->nr++;
	char name[12];
	int var;

	assert_true(i < NK_RIG_TENSORS);
	name_of(i, name);
	var = output ? nb_output(rig->nb, name, named, 2, shape) :
		       nb_input(rig->nb, name, named, 2, shape);
	rig->tensor[i] = nk_tensor(var, dtype, rows, cols);
	rig->output[i] = output;
	rig->value[i] = calloc((size_t)rows * cols, sizeof(double));
	assert_non_null(rig->value[i]);
	return i;
}

static size_t elements(const struct nk_rig *rig, unsigned int i)
{
	return (size_t)rig->tensor[i].rows * rig->tensor[i].cols;
}

unsigned int nk_rig_input(struct nk_rig *rig, enum neuron_dtype dtype, uint32_t rows,
			  uint32_t cols, double most)
{
	unsigned int i = add(rig, dtype, rows, cols, false);
	uint64_t x = 88172645463325252 + rows * 7919 + cols + i;
	uint8_t bytes[4];
	float number;
	size_t at;

	for (at = 0; at < elements(rig, i); at++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		number = (float)((double)(int32_t)(x >> 32) * 0x1p-31 * most);
		trn_from_fp32(bytes, &number, dtype, 1);
		trn_to_fp32(&number, bytes, dtype, 1);
		rig->value[i][at] = number;
	}
	return i;
}

unsigned int nk_rig_output(struct nk_rig *rig, enum neuron_dtype dtype, uint32_t rows,
			   uint32_t cols)
{
	return add(rig, dtype, rows, cols, true);
}

static void put(struct nk_rig *rig, struct neff_rig *loaded, unsigned int i)
{
	unsigned int size = trn_dtype_size(rig->tensor[i].dtype);
	char name[12];
	uint8_t *bytes;
	float number;
	size_t at;

	name_of(i, name);
	bytes = neff_rig_var(loaded, name);
	if (rig->output[i]) {
		memset(bytes, 0xff, elements(rig, i) * size);
		return;
	}
	for (at = 0; at < elements(rig, i); at++) {
		number = (float)rig->value[i][at];
		trn_from_fp32(bytes + at * size, &number, rig->tensor[i].dtype, 1);
	}
}

static void get(struct nk_rig *rig, struct neff_rig *loaded, unsigned int i)
{
	unsigned int size = trn_dtype_size(rig->tensor[i].dtype);
	char name[12];
	uint8_t *bytes;
	float number;
	size_t at;

	name_of(i, name);
	bytes = neff_rig_var(loaded, name);
	for (at = 0; rig->output[i] && at < elements(rig, i); at++) {
		trn_to_fp32(&number, bytes + at * size, rig->tensor[i].dtype, 1);
		rig->value[i][at] = number;
	}
}

static void expect_ended(struct nk_rig *rig, struct neff_rig *loaded)
{
	struct neuron_hw_completion record = neff_rig_wait(loaded);

	if (record.status != NEURON_JOB_OK)
		fail_msg("status %u, cause %u, source %#x, pc %u", record.status, record.cause,
			 record.source, record.pc);
	rig->elapsed_ns = record.end_ns - record.start_ns;
	assert_int_equal(trn_check_count(rig->rig.chip[0], TRN_CHECK_RACE), 0);
}

void nk_rig_run(struct nk_rig *rig, const struct nb_schedule_options *options)
{
	struct neff_rig loaded;
	unsigned int i;
	size_t size = 0;
	void *neff = NULL;

	if ((options && nb_schedule(rig->nb, options)) || nb_pack(rig->nb, &neff, &size))
		fail_msg("%s", nb_error(rig->nb));
	neff_rig_load(&loaded, &rig->rig, neff, size);
	free(neff);
	for (i = 0; i < rig->nr; i++)
		put(rig, &loaded, i);
	neff_rig_submit(&loaded);
	expect_ended(rig, &loaded);
	for (i = 0; i < rig->nr; i++)
		get(rig, &loaded, i);
	neff_rig_free(&loaded);
}
