// SPDX-License-Identifier: MIT
/*
 * What a core did when its job was ended for making no progress: text, in the lines that the
 * driver's core dumps have for the status of the core, engines, their waits and memories
 * (Documentation/driver.rst).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/embedded/emb.h"
#include "trn/inspect.h"

#define LINE_BYTES	32u
/* Lines of the memories, as in driver/neuron_core.c: 1 MiB with their places. */
#define MOST_LINES	((1u << 20) / (LINE_BYTES + 4))

static const char *const engines[NEURON_NR_ENGINES] = {
	[NEURON_ENGINE_TENSOR] = "tensor",
	[NEURON_ENGINE_VECTOR] = "vector",
	[NEURON_ENGINE_SCALAR] = "scalar",
	[NEURON_ENGINE_GPSIMD] = "gpsimd",
	[NEURON_ENGINE_SYNC] = "sync",
};

/* A CC-core has one engine. */
static bool has_engine(const struct emb_core *core, unsigned int engine)
{
	return !emb_is_cc(core) || engine == NEURON_ENGINE_SYNC;
}

static uint32_t engine_state(const struct emb_core *core, unsigned int engine)
{
	return emb_core_read(core, NEURON_CORE_ENGINE(engine));
}

static void print_engine(FILE *out, const struct emb_core *core, unsigned int engine)
{
	static const char *const states[] = { "halted", "running", "waiting" };
	uint32_t wait = emb_core_read(core, NEURON_CORE_WAIT(engine));
	uint32_t state = engine_state(core, engine);

	fprintf(out, "engine %s: pc %u state %s", engines[engine],
		emb_core_read(core, NEURON_CORE_PC(engine)),
		state <= NEURON_ENGINE_WAITING ? states[state] : "?");
	if (state == NEURON_ENGINE_WAITING)
		fprintf(out, " %s %u", wait & NEURON_CORE_WAIT_EVENT ? "event" : "semaphore",
			wait % NEURON_NR_SEMAPHORES);
	fprintf(out, "\n");
}

static void print_wait(FILE *out, const struct emb_core *core, unsigned int engine)
{
	uint32_t wait = emb_core_read(core, NEURON_CORE_WAIT(engine));
	uint32_t index = wait % NEURON_NR_SEMAPHORES;
	int32_t value = 0;

	if (engine_state(core, engine) != NEURON_ENGINE_WAITING)
		return;
	if (wait & NEURON_CORE_WAIT_EVENT) {
		fprintf(out, "wait %s: event %u\n", engines[engine], index);
		return;
	}
	trn_inspect_read(core->chip->chip, core->sems_addr + NEURON_SEM_READ(index), &value,
			 sizeof(value));
	fprintf(out, "wait %s: semaphore %u value %d\n", engines[engine], index, value);
}

/**
 * struct lines - the memories of a core, as they are printed
 * @out: where to
 * @nr: how many
 * @row: bytes of a partition, with room for those of SBUF
 */
struct lines {
	FILE *out;
	unsigned int nr;
	uint8_t *row;
};

/* A million calls of fprintf() would hold up the other cores of the chip. */
static void print_hex(const uint8_t bytes[LINE_BYTES], char text[2 * LINE_BYTES + 1])
{
	static const char digit[] = "0123456789abcdef";
	uint32_t i;

	for (i = 0; i < LINE_BYTES; i++) {
		text[2 * i] = digit[bytes[i] >> 4];
		text[2 * i + 1] = digit[bytes[i] & 15];
	}
	text[2 * LINE_BYTES] = 0;
}

/* What is not all zero of @size bytes of a partition. False: there is room for no more lines. */
static bool print_row(struct lines *lines, const char *memory, unsigned int partition,
		      uint32_t size)
{
	static const uint8_t zeros[LINE_BYTES];
	char text[2 * LINE_BYTES + 1];
	uint32_t at;

	for (at = 0; at < size; at += LINE_BYTES) {
		if (!memcmp(&lines->row[at], zeros, LINE_BYTES))
			continue;
		if (lines->nr++ == MOST_LINES) {
			fprintf(lines->out, "memory: cut here\n");
			return false;
		}
		print_hex(&lines->row[at], text);
		fprintf(lines->out, "%s %03u 0x%06x %s\n", memory, partition, at, text);
	}
	return true;
}

/* All partitions of a memory at @addr, which are @stride bytes apart. */
static bool print_memory(struct lines *lines, const struct emb_core *core, const char *memory,
			 uint64_t addr, uint32_t stride, uint32_t size)
{
	unsigned int i;

	for (i = 0; i < NEURON_PARTITIONS; i++)
		if (!trn_inspect_read(core->chip->chip, addr + (uint64_t)i * stride, lines->row,
				      size) &&
		    !print_row(lines, memory, i, size))
			return false;
	return true;
}

/* If the claim wants them. A CC-core has none. */
static void print_memories(FILE *out, const struct emb_core *core)
{
	const struct neuron_gen *gen = core->chip->gen;
	const struct emb_claim *claim = emb_claim_find(core->chip, core->claim);
	struct lines lines = { .out = out };

	if (!claim || !(claim->flags & DRM_NEURON_CLAIM_DUMP_MEMORY) || emb_is_cc(core))
		return;
	lines.row = malloc(NEURON_TPB_SBUF_STRIDE);
	if (!lines.row)
		return;
	if (print_memory(&lines, core, "sbuf", gen->tpb_addr[core->tpb] + NEURON_TPB_SBUF,
			 NEURON_TPB_SBUF_STRIDE, gen->sbuf_partition))
		print_memory(&lines, core, "psum", gen->tpb_addr[core->tpb] + NEURON_TPB_PSUM,
			     NEURON_TPB_PSUM_STRIDE, NEURON_PSUM_BANKS * NEURON_PSUM_BANK_BYTES);
	free(lines.row);
}

void emb_dump_take(struct emb_core *core)
{
	unsigned int i;
	FILE *out;
	long text;

	/* It was taken with the gang, before any core of that was reset. */
	if (core->dump && core->dump_job == core->first->id)
		return;
	emb_dump_forget(core);
	out = open_memstream(&core->dump, &core->dump_size);
	if (!out)
		return;
	fprintf(out, "neuron core dump 2\ndevice: %s %s\ncore: %u\njob: %llu\nreason: hang\n"
		"core_status: %u\n",
		core->chip->gen->name, core->chip->name, core->index,
		(unsigned long long)core->first->id, emb_core_read(core, NEURON_CORE_STATUS));
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (has_engine(core, i))
			print_engine(out, core, i);
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (has_engine(core, i))
			print_wait(out, core, i);
	text = ftell(out);
	print_memories(out, core);
	if (fclose(out) || text < 0) {
		emb_dump_forget(core);
		return;
	}
	core->dump_text = (size_t)text;
	core->dump_job = core->first->id;
}

void emb_dump_forget(struct emb_core *core)
{
	free(core->dump);
	core->dump = NULL;
	core->dump_size = 0;
}

static int dump_locked(struct nrt_chip *chip, struct drm_neuron_dump *args)
{
	struct emb_core *core;
	size_t size;
	int ret;

	ret = emb_core_used(chip, args->claim, args->core, &core);
	if (ret)
		return ret;
	if (!core->dump)
		return -ENOENT;
	size = args->flags & DRM_NEURON_DUMP_MEMORY ? core->dump_size : core->dump_text;
	if (args->pointer)
		memcpy((void *)(uintptr_t)args->pointer, core->dump,
		       args->size < size ? args->size : size);
	args->size = (uint32_t)size;
	args->job = core->dump_job;
	return 0;
}

int emb_dump(struct nrt_chip *chip, struct drm_neuron_dump *args)
{
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (args->flags & ~DRM_NEURON_DUMP_MEMORY)
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	ret = dump_locked(chip, args);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}
