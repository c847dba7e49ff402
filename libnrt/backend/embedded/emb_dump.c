// SPDX-License-Identifier: MIT
/*
 * What a core did when its job was ended for making no progress: text, in the lines that the
 * driver's core dumps have for engines and their waits (Documentation/driver.rst).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/embedded/emb.h"
#include "trn/inspect.h"

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

void emb_dump_take(struct emb_core *core)
{
	unsigned int i;
	FILE *out;

	/* It was taken with the gang, before any core of that was reset. */
	if (core->dump && core->dump_job == core->first->id)
		return;
	emb_dump_forget(core);
	out = open_memstream(&core->dump, &core->dump_size);
	if (!out)
		return;
	fprintf(out, "neuron core dump 2\ndevice: %s %s\ncore: %u\njob: %llu\nreason: hang\n",
		core->chip->gen->name, core->chip->name, core->index,
		(unsigned long long)core->first->id);
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (has_engine(core, i))
			print_engine(out, core, i);
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (has_engine(core, i))
			print_wait(out, core, i);
	if (fclose(out)) {
		emb_dump_forget(core);
		return;
	}
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
	int ret;

	ret = emb_core_used(chip, args->claim, args->core, &core);
	if (ret)
		return ret;
	if (!core->dump)
		return -ENOENT;
	if (args->pointer)
		memcpy((void *)(uintptr_t)args->pointer, core->dump,
		       args->size < core->dump_size ? args->size : core->dump_size);
	args->size = (uint32_t)core->dump_size;
	args->job = core->dump_job;
	return 0;
}

/* DRM_NEURON_DUMP_MEMORY adds nothing: no claim of this back end keeps SBUF and PSUM. */
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
