// SPDX-License-Identifier: MIT
/* The sum of the counts of all ranks, by a collective of the chips. */
#include "neuron_kernels.h"
#include "program.h"

#define FP32	NEURON_DTYPE_FP32
#define BYTES	(MLP_OUTPUTS * MLP_OUTPUTS * sizeof(float))

/* The oldest: what fits there runs on all. */
#define GENERATION	2

struct nb_program *digits_allreduce(unsigned int ranks)
{
	const uint32_t shape[] = { MLP_OUTPUTS, MLP_OUTPUTS };
	struct nb_program *nb = nb_new("digits-allreduce");
	struct nk_tensor counts, sum;
	int total;
	struct nk nk;

	if (!nb)
		return NULL;
	nb_generation(nb, GENERATION);
	nk_begin(&nk, nb);
	counts = nk_tensor(nb_input(nb, "counts", FP32, 2, shape), FP32, shape[0], shape[1]);
	sum = nk_tensor(nb_tmp(nb, "sum", BYTES), FP32, shape[0], shape[1]);
	total = nb_output(nb, "total", FP32, 2, shape);
	nk_collective(&nk, "all_reduce", NEURON_ALU_ADD, sum, counts, ranks);
	/* The program is over when it has the sum: its device time has the collective in it. */
	nb_dma(nb, nk.out, nb_linear(total, 0, BYTES), nb_linear(sum.var, 0, BYTES), -1);
	return nb;
}
