// SPDX-License-Identifier: MIT
/*
 * Cores: claims, resets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/embedded/emb.h"
#include "base/clock.h"

#define RESET_NS	10000000000ull

static void core_init(struct nrt_chip *chip, unsigned int index)
{
	const struct neuron_gen *gen = chip->gen;
	struct emb_core *core = &chip->core[index];
	unsigned int cc = index - NEURON_MAX_CORES;

	core->chip = chip;
	core->index = index;
	if (emb_is_cc(core)) {
		core->tpb = neuron_cc_core(gen, cc);
		core->regs = NEURON_CTL_CC(cc);
		core->sems_addr = neuron_top_sp_addr(gen, neuron_top_sp_of_id(gen, cc)) +
				  NEURON_TOP_SP_SEM;
	} else {
		core->tpb = index;
		core->regs = NEURON_CTL_CORE(index);
		core->sems_addr = gen->tpb_addr[index] + NEURON_TPB_SEM;
	}
	emb_core_write(core, NEURON_CORE_MASK, 0);
}

void emb_cores_init(struct nrt_chip *chip)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		core_init(chip, neuron_unit_number(chip->gen, i));
}

/* --- reset --- */

void emb_core_reset_begin(struct emb_core *core)
{
	core->reset_until = nrt_clock_now() + RESET_NS;
	/* A cause that is set already would raise no interrupt. What it reads may be wrong. */
	emb_core_write(core, NEURON_CORE_CAUSE, UINT32_MAX);
	emb_core_write(core, NEURON_CORE_RESET, 1);
}

int emb_core_reset_end(struct emb_core *core)
{
	bool runs = emb_core_read(core, NEURON_CORE_RESET);

	if (runs && nrt_clock_now() <= core->reset_until)
		return -EAGAIN;
	core->wedged = runs;
	if (runs)
		return -EIO;
	/* What was announced until now is of a job that the reset ended, or of an earlier one. */
	emb_times_note(core, NEURON_CORE_CAUSE_SETTLED);
	emb_core_write(core, NEURON_CORE_CAUSE, UINT32_MAX);
	return 0;
}

int emb_core_reset_wait(struct emb_core *core)
{
	struct nrt_chip *chip = core->chip;
	uint64_t seen;
	int ret;

	for (;;) {
		seen = atomic_load(&chip->irqs);
		ret = emb_core_reset_end(core);
		if (ret != -EAGAIN)
			return ret;
		emb_wait_irq(chip, seen, nrt_clock_now() + EMB_RESET_POLL_NS);
	}
}

/* What others were granted is void, and nothing of the last owner is left. */
static void core_renew_begin(struct emb_core *core)
{
	struct emb_machine *machine = core->chip->machine;

	pthread_mutex_lock(&machine->lock);
	emb_names_forget(machine, core, NULL);
	core->generation++;
	pthread_mutex_unlock(&machine->lock);
	emb_core_write(core, NEURON_CORE_GENERATION, core->generation);
	emb_core_reset_begin(core);
}

static int core_renew(struct emb_core *core)
{
	core_renew_begin(core);
	return emb_core_reset_wait(core);
}

/* --- claims --- */

struct emb_claim *emb_claim_find(struct nrt_chip *chip, uint32_t id)
{
	unsigned int i;

	for (i = 0; id && i < EMB_CLAIMS; i++)
		if (chip->claim[i].id == id)
			return &chip->claim[i];
	return NULL;
}

static void core_leave(struct emb_core *core)
{
	core_renew(core);
	core->ending = false;
	emb_jobs_abort(core, -ESRCH);
	emb_times_leave(core);
	emb_table_put(core->chip, core->table);
	core->table = NULL;
	emb_shared_free(core->chip->machine, &core->memory);
	emb_results_forget(core);
	emb_dump_forget(core);
	/* Jobs of the next claim have the same numbers. */
	emb_reports_forget(core->chip, core->index);
	core->claim = 0;
}

/* After core_renew_begin(). */
static int core_enter(struct emb_core *core, uint32_t claim)
{
	int ret = emb_core_reset_wait(core);

	if (!ret)
		ret = emb_shared_alloc(core->chip->machine, EMB_CORE_BYTES, &core->memory);
	if (ret)
		return ret;
	core->results = calloc(EMB_RESULTS, sizeof(struct emb_result *));
	if (!core->results) {
		emb_shared_free(core->chip->machine, &core->memory);
		return -ENOMEM;
	}
	core->claim = claim;
	return 0;
}

/* CC-cores first: their jobs may work with the memories of the cores. */
static void claim_end(struct nrt_chip *chip, struct emb_claim *claim)
{
	unsigned int i = NEURON_MAX_UNITS;

	while (i--)
		if (chip->core[i].claim == claim->id)
			core_leave(&chip->core[i]);
	claim->id = 0;
	emb_tell(chip);
}

static uint32_t choose_cores(const struct nrt_chip *chip, const struct drm_neuron_claim *args)
{
	uint32_t busy = 0, mask, align = args->align ? args->align : 1;
	unsigned int i, nr = chip->gen->nr_cores;

	for (i = 0; i < nr; i++)
		if (chip->core[i].claim)
			busy |= 1u << i;
	if (args->cores)
		return args->cores & busy ? 0 : (uint32_t)args->cores;
	for (i = 0; i + args->count <= nr; i += align) {
		mask = ((1u << args->count) - 1) << i;
		if (!(mask & busy))
			return mask;
	}
	return 0;
}

/* All resets run at the same time, and all of them are over when this returns. */
static int enter_cores(struct nrt_chip *chip, uint32_t mask, uint32_t claim)
{
	unsigned int i, nr = chip->gen->nr_cores;
	int ret = 0;

	for (i = 0; i < nr; i++)
		if (mask >> i & 1)
			core_renew_begin(&chip->core[i]);
	for (i = 0; i < nr; i++) {
		if (!(mask >> i & 1))
			continue;
		if (ret)
			emb_core_reset_wait(&chip->core[i]);
		else
			ret = core_enter(&chip->core[i], claim);
	}
	return ret;
}

static int claim_begin(struct nrt_chip *chip, struct drm_neuron_claim *args)
{
	uint32_t mask = choose_cores(chip, args);
	struct emb_claim *claim = NULL;
	unsigned int i;
	int ret;

	for (i = 0; i < EMB_CLAIMS && !claim; i++)
		if (!chip->claim[i].id)
			claim = &chip->claim[i];
	if (!mask || !claim)
		return -EBUSY;
	*claim = (struct emb_claim){ .id = ++chip->last_claim, .flags = args->flags };
	ret = enter_cores(chip, mask, claim->id);
	if (ret) {
		claim_end(chip, claim);
		return ret;
	}
	args->claim = claim->id;
	args->granted = mask;
	return 0;
}

int emb_claim(struct nrt_chip *chip, struct drm_neuron_claim *args)
{
	unsigned int nr = chip->gen->nr_cores;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (args->flags & ~DRM_NEURON_CLAIM_DUMP_MEMORY || !args->cores == !args->count ||
	    args->cores >> nr || args->count > nr)
		return -EINVAL;
	if (args->align && (args->cores || args->align > nr || args->align & (args->align - 1)))
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	ret = claim_begin(chip, args);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emb_release(struct nrt_chip *chip, struct drm_neuron_release *args)
{
	struct emb_claim *claim;

	if (emb_forked(chip))
		return -ENODEV;
	if (args->pad)
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	claim = emb_claim_find(chip, args->claim);
	if (claim)
		claim_end(chip, claim);
	pthread_mutex_unlock(&chip->lock);
	return claim ? 0 : -ENOENT;
}

void emb_cores_destroy(struct nrt_chip *chip)
{
	unsigned int i;

	for (i = 0; i < NEURON_MAX_UNITS; i++) {
		struct emb_core *core = &chip->core[i];

		emb_jobs_abort(core, -ESRCH);
		emb_times_forget(core);
		emb_table_put(chip, core->table);
		emb_shared_free(chip->machine, &core->memory);
		emb_results_forget(core);
		emb_dump_forget(core);
	}
}

/* A CC-core comes with its NeuronCore. */
static int core_of(struct nrt_chip *chip, uint32_t claim, uint32_t index, struct emb_core **core)
{
	const struct neuron_gen *gen = chip->gen;
	bool there = index < gen->nr_cores ||
		     (index >= NEURON_MAX_CORES && index - NEURON_MAX_CORES < gen->nr_top_sp_ids);

	if (!emb_claim_find(chip, claim))
		return -ENOENT;
	if (!there || chip->core[chip->core[index].tpb].claim != claim)
		return -EINVAL;
	*core = &chip->core[index];
	return 0;
}

int emb_core_use(struct nrt_chip *chip, uint32_t claim, uint32_t index, struct emb_core **core)
{
	int ret = core_of(chip, claim, index, core);

	if (!ret && (*core)->claim != claim)
		ret = core_enter(*core, claim);
	return ret;
}

int emb_core_used(struct nrt_chip *chip, uint32_t claim, uint32_t index, struct emb_core **core)
{
	int ret = core_of(chip, claim, index, core);

	if (!ret && (*core)->claim != claim)
		ret = -ENOENT;
	return ret;
}
