// SPDX-License-Identifier: MIT
/* digits-neff: writes the two NEFFs of the digits job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static int write_neff(struct nb_program *nb, const char *path)
{
	int ret = 1;

	if (!nb) {
		fprintf(stderr, "digits-neff: out of memory\n");
		return 1;
	}
	if (nb_write(nb, path))
		fprintf(stderr, "digits-neff: %s: %s\n", path, nb_error(nb));
	else
		ret = 0;
	nb_free(nb);
	return ret;
}

int main(int argc, char **argv)
{
	struct digits_error err;
	struct mlp model;

	if (argc != 4) {
		fprintf(stderr, "usage: digits-neff WEIGHTS.BIN MLP.NEFF ALLREDUCE.NEFF\n");
		return 2;
	}
	if (mlp_load(&model, argv[1], &err)) {
		fprintf(stderr, "digits-neff: %s\n", err.text);
		return 1;
	}
	return write_neff(digits_program(&model), argv[2]) ||
	       write_neff(digits_allreduce(2), argv[3]);
}
