// SPDX-License-Identifier: MIT
/*
 * What an idle chip costs: the chip library's own memory, by its own account. What
 * QEMU needs beside it (bitmaps of a large BAR, its own objects) is measured on the
 * running machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "figure.h"
#include "trn/chip.h"
#include "base/trn_pool.h"

#define LIMIT_KIB	2048

static bool idle_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static bool idle_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static void idle_irq(void *opaque, unsigned int vector)
{
	(void)opaque;
	(void)vector;
}

static void idle_log(void *opaque, enum trn_log_level level, const char *line)
{
	(void)opaque;
	(void)level;
	fprintf(stderr, "%s\n", line);
}

static void *idle_hbm(void *opaque, unsigned int stack, uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)opaque;
	(void)stack;
	return p == MAP_FAILED ? NULL : p;
}

static void idle_discard(void *opaque, unsigned int stack, uint64_t offset,
			 uint64_t len)
{
	(void)opaque;
	(void)stack;
	(void)offset;
	(void)len;
}

static int measure(struct figures *figures, const struct neuron_gen *gen,
		   struct trn_pool *pool, const char *name)
{
	static const struct trn_port port = {
		.host_read = idle_read,
		.host_write = idle_write,
		.irq = idle_irq,
		.log = idle_log,
		.hbm_alloc = idle_hbm,
		.hbm_discard = idle_discard,
	};
	const struct trn_chip_config config = {
		.gen = gen,
		.port = &port,
		.pool = pool,
		.bar4_stride = gen->bar4_platform / gen->nr_hbm,
		.clock = true,
	};
	struct trn_chip *chip;
	const char *why = "";

	chip = trn_chip_new(&config, &why);
	if (!chip) {
		fprintf(stderr, "%s: %s\n", name, why);
		return -1;
	}
	figures_add_one(figures, (struct figure){
		.name = name, .unit = "KiB", .goal = LIMIT_KIB, .lower_is_better = true,
	}, trn_chip_own_bytes(chip) / 1024.0);
	trn_chip_stop(chip);
	while (!trn_chip_quiet(chip))
		;
	trn_chip_free(chip);
	return 0;
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct trn_pool *pool = trn_pool_new(1, NULL, NULL);
	struct figures figures = { .count = 0 };
	int status = EXIT_FAILURE;

	if (!pool)
		return EXIT_FAILURE;
	if (!measure(&figures, &neuron_gen_trn1, pool, "idle_chip_library_trn1") &&
	    !measure(&figures, &neuron_gen_trn2, pool, "idle_chip_library_trn2") &&
	    !measure(&figures, &neuron_gen_trn3, pool, "idle_chip_library_trn3") &&
	    !figures_report(&figures, options.json))
		status = EXIT_SUCCESS;
	trn_pool_free(pool);
	return status;
}
