// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench_chip.h"
#include "num/trn_num.h"
#include "base/trn_pool.h"

#define HBM_BYTES	((size_t)16 << 20)

static bool host_access(void *opaque, uint64_t addr, void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static bool host_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static void irq(void *opaque, unsigned int vector)
{
	(void)opaque;
	(void)vector;
}

static void show(void *opaque, enum trn_log_level level, const char *line)
{
	(void)opaque;
	(void)level;
	fprintf(stderr, "%s\n", line);
}

static void *hbm_alloc(void *opaque, unsigned int stack, uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)opaque;
	(void)stack;
	return p == MAP_FAILED ? NULL : p;
}

static void hbm_discard(void *opaque, unsigned int stack, uint64_t offset, uint64_t len)
{
	(void)opaque;
	(void)stack;
	(void)offset;
	(void)len;
}

static const struct trn_port port = {
	.host_read = host_access,
	.host_write = host_write,
	.irq = irq,
	.log = show,
	.hbm_alloc = hbm_alloc,
	.hbm_discard = hbm_discard,
};

struct trn_chip *bench_chip_new(const struct neuron_gen *gen)
{
	struct trn_chip_config config = {
		.gen = gen,
		.port = &port,
		.hbm_size = HBM_BYTES,
		.bar4_stride = HBM_BYTES,
		.pool = trn_pool_new(1, NULL, NULL),
	};
	const char *why = "no threads";
	struct trn_chip *chip = NULL;

	if (config.pool)
		chip = trn_chip_new(&config, &why);
	if (!chip) {
		fprintf(stderr, "no chip: %s\n", why);
		exit(EXIT_FAILURE);
	}
	trn_num_thread_init();
	fprintf(stderr, "chip library: path %s\n", trn_num_path_name());
	return chip;
}

void bench_chip_run(struct trn_core *core, enum neuron_engine engine,
		    const struct neuron_inst *inst)
{
	struct trn_exec exec = {
		.seq = &core->seq[engine],
		.core = core,
		.inst = inst,
		.isa = trn_isa_lookup(inst->opcode),
	};
	enum neuron_cause cause = trn_exec_dispatch(&exec);

	if (!cause)
		return;
	fprintf(stderr, "the instruction ends with cause %d\n", (int)cause);
	exit(EXIT_FAILURE);
}
