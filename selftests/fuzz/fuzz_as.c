// SPDX-License-Identifier: MIT
/*
 * libFuzzer entry: the assembler on any bytes, and what it accepts through the NEFF and
 * the disassembler and back. The same bytes must come back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "as.h"

#define MAX_STATEMENTS	2000
#define MAX_TEXT	(1 << 20)

static struct nb_program *assemble(const char *text, size_t size, unsigned long statements)
{
	const struct as_options options = { .file = "fuzz.s", .max_statements = statements };

	return as_assemble(text, size, &options);
}

static void come_back(const void *neff, size_t size)
{
	char error[AS_ERROR_MAX];
	char *text = as_disassemble(neff, size, NULL, error);
	struct nb_program *nb;
	size_t again_size;
	void *again;

	/* The assembler makes nothing that the reader refuses. */
	if (!text)
		abort();
	nb = assemble(text, strlen(text), 0);
	if (!nb || nb_pack(nb, &again, &again_size))
		abort();
	if (again_size != size || memcmp(again, neff, size))
		abort();
	free(again);
	free(text);
	nb_free(nb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_program *nb;
	size_t neff_size;
	void *neff;

	if (size > MAX_TEXT)
		return 0;
	nb = assemble((const char *)data, size, MAX_STATEMENTS);
	if (!nb)
		return 0;
	/* Only the archive may still refuse: names too long for it. */
	if (!nb_pack(nb, &neff, &neff_size)) {
		come_back(neff, neff_size);
		free(neff);
	}
	nb_free(nb);
	return 0;
}
