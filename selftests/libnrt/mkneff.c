// SPDX-License-Identifier: MIT
/*
 * Write the scale program as a file, for nrt-sample: nrt-test-neff FILE.
 */
#include <stdio.h>
#include <stdlib.h>

#include "programs.h"

int main(int argc, char **argv)
{
	struct program program;
	FILE *file;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	program = program_scale(1);
	file = fopen(argv[1], "wb");
	if (!file) {
		perror(argv[1]);
		return 1;
	}
	if (fwrite(program.data, 1, program.size, file) != program.size || fclose(file)) {
		perror(argv[1]);
		return 1;
	}
	free(program.data);
	return 0;
}
