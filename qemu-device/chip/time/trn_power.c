// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "time/trn_power.h"

#include <stdlib.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "notify/trn_nq.h"

#define FULL		10000u	/* basis points */
#define MAX_DICE	2
#define WEIGHT_CORES	85	/* percent of a die's power */
#define WEIGHT_DMA	15
#define CLOCK_PERCENT	NEURON_MASK(7, 0)
#define CLOCK_REASON	NEURON_MASK(15, 8)

/* Of a core's power, by engine; the sync engine moves no data. */
static const uint8_t engine_weight[NEURON_NR_ENGINES] = { 60, 18, 11, 11, 0 };

/**
 * struct power_core - what a core did
 * @busy_ps: of each engine at full clock
 * @seen_ps, @seen_busy_ns: at the last sample
 * @device_ps: device time that samples have accounted for
 */
struct power_core {
	_Atomic uint64_t busy_ps[NEURON_NR_ENGINES];
	uint64_t seen_ps[NEURON_NR_ENGINES];
	uint64_t seen_busy_ns;
	uint64_t device_ps;
};

struct power_die {
	_Atomic uint64_t copied;	/* bytes */
	uint64_t seen_copied;
	uint16_t used;			/* the sample, basis points */
};

/**
 * struct trn_power
 * @clock: CLOCK_PERCENT, and in CLOCK_REASON enum neuron_throttle
 * @lock: all fields below it, and what samples remember of cores and dice
 * @start_ns, @first: when sample @first was, or would have been, taken
 * @sampled_ns, @sample: the newest sample
 * @stale: what samples remember is of before the chip's state was loaded
 */
struct trn_power {
	_Atomic uint32_t clock;
	pthread_mutex_t lock;
	uint64_t start_ns;
	uint64_t first;
	uint64_t sampled_ns;
	uint64_t sample;
	bool stale;
	struct power_core core[NEURON_MAX_CORES];
	struct power_die die[MAX_DICE];
};

int trn_power_init(struct trn_chip *chip)
{
	struct trn_power *power = calloc(1, sizeof(*power));

	if (!power)
		return -1;
	pthread_mutex_init(&power->lock, NULL);
	atomic_init(&power->clock, 100);
	power->start_ns = trn_host_ns(chip);
	power->sampled_ns = power->start_ns;
	chip->power = power;
	return 0;
}

void trn_power_destroy(struct trn_chip *chip)
{
	if (!chip->power)
		return;
	pthread_mutex_destroy(&chip->power->lock);
	free(chip->power);
	chip->power = NULL;
}

size_t trn_power_own_bytes(const struct trn_chip *chip)
{
	return sizeof(*chip->power);
}

void trn_power_busy(struct trn_core *core, enum neuron_engine engine,
		    uint64_t ps)
{
	struct power_core *pc = &core->chip->power->core[core->index];

	atomic_fetch_add_explicit(&pc->busy_ps[engine], ps,
				  memory_order_relaxed);
}

static unsigned int die_of_core(const struct trn_chip *chip, unsigned int core)
{
	return core * chip->gen->nr_dice / chip->gen->nr_cores;
}

static unsigned int die_of_engine(const struct trn_chip *chip,
				  unsigned int engine)
{
	const struct neuron_gen *gen = chip->gen;
	unsigned int first = engine < gen->nr_ring ? 0 : gen->nr_ring;
	unsigned int count = first ? gen->nr_dma - gen->nr_ring : gen->nr_ring;

	return (engine - first) * gen->nr_dice / count;
}

void trn_power_copied(struct trn_chip *chip, unsigned int dma_engine,
		      uint64_t bytes)
{
	struct power_die *die =
		&chip->power->die[die_of_engine(chip, dma_engine)];

	atomic_fetch_add_explicit(&die->copied, bytes, memory_order_relaxed);
}

/* At most all of it. */
static uint32_t basis_points(uint64_t part, uint64_t whole)
{
	if (part >= whole)
		return part ? FULL : 0;
	while (part > UINT64_MAX / FULL) {
		part >>= 1;
		whole >>= 1;
	}
	return (uint32_t)(part * FULL / whole);
}

static uint64_t host_busy_ns(struct trn_core *core, uint64_t now_ns)
{
	uint64_t since = atomic_load(&core->busy_since);
	uint64_t busy = atomic_load(&core->busy_ns);

	return since && now_ns > since ? busy + now_ns - since : busy;
}

/*
 * How hard the engines worked in the device time since the last sample. A job
 * shows its device time at its end only; until then it is at least what its
 * busiest engine took.
 */
static uint32_t core_intensity(struct trn_core *core, struct power_core *pc,
			       unsigned int clock)
{
	uint64_t virtual_ps = atomic_load(&core->virtual_ns) * 1000;
	uint64_t most = 0, device = 0;
	uint64_t delta[NEURON_NR_ENGINES];
	uint32_t intensity = 0;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		uint64_t now = atomic_load(&pc->busy_ps[e]);

		delta[e] = now - pc->seen_ps[e];
		pc->seen_ps[e] = now;
		if (most < delta[e])
			most = delta[e];
	}
	if (virtual_ps > pc->device_ps)
		device = virtual_ps - pc->device_ps;
	if (device < most / clock * 100)
		device = most / clock * 100;
	pc->device_ps += device;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		intensity += basis_points(delta[e], device) * engine_weight[e];
	return intensity / 100;
}

static uint32_t core_used(struct trn_core *core, struct power_core *pc,
			  unsigned int clock, uint64_t now_ns, uint64_t window)
{
	uint64_t busy = host_busy_ns(core, now_ns);
	uint64_t delta = busy > pc->seen_busy_ns ? busy - pc->seen_busy_ns : 0;

	pc->seen_busy_ns = busy;
	return core_intensity(core, pc, clock) * basis_points(delta, window) /
	       FULL;
}

static uint32_t dma_used(const struct trn_chip *chip, struct power_die *die,
			 uint64_t window)
{
	const struct neuron_gen *gen = chip->gen;
	uint64_t copied = atomic_load(&die->copied);
	uint64_t bytes = copied - die->seen_copied;
	uint64_t rate = (uint64_t)gen->dma_bytes_per_us * gen->nr_dma /
			gen->nr_dice;	/* a microsecond */

	die->seen_copied = copied;
	return basis_points(bytes / rate, window / 1000);
}

/* Under the lock. */
static void take_sample(struct trn_chip *chip, uint64_t now_ns)
{
	struct trn_power *power = chip->power;
	uint64_t window = now_ns - power->sampled_ns;
	unsigned int clock = trn_power_clock(chip);
	unsigned int per_die = chip->gen->nr_cores / chip->gen->nr_dice;
	uint32_t used[MAX_DICE] = { 0 };
	unsigned int i;

	for (i = 0; i < chip->gen->nr_cores; i++)
		used[die_of_core(chip, i)] +=
			core_used(&chip->core[i], &power->core[i], clock,
				  now_ns, window);
	for (i = 0; i < chip->gen->nr_dice; i++)
		power->die[i].used = (uint16_t)
			((used[i] / per_die * WEIGHT_CORES +
			  dma_used(chip, &power->die[i], window) * WEIGHT_DMA) /
			 100);
}

/* The next sample looks at what happens from now on. Under the lock. */
static void remember(struct trn_chip *chip, uint64_t now_ns)
{
	struct trn_power *power = chip->power;
	unsigned int i, e;

	power->stale = false;
	power->sampled_ns = now_ns;
	for (i = 0; i < chip->gen->nr_cores; i++) {
		struct power_core *pc = &power->core[i];

		for (e = 0; e < NEURON_NR_ENGINES; e++)
			pc->seen_ps[e] = atomic_load(&pc->busy_ps[e]);
		pc->seen_busy_ns = host_busy_ns(&chip->core[i], now_ns);
		pc->device_ps = atomic_load(&chip->core[i].virtual_ns) * 1000;
	}
	for (i = 0; i < chip->gen->nr_dice; i++)
		power->die[i].seen_copied = atomic_load(&power->die[i].copied);
}

uint32_t trn_power_read(struct trn_chip *chip, unsigned int die,
			uint64_t now_ns)
{
	struct trn_power *power = chip->power;
	uint64_t sample;
	uint32_t value;

	pthread_mutex_lock(&power->lock);
	if (power->stale)
		remember(chip, now_ns);
	sample = power->first;
	if (now_ns > power->start_ns)
		sample += (now_ns - power->start_ns) / TRN_POWER_PERIOD_NS;
	if (sample > power->sample) {
		take_sample(chip, now_ns);
		power->sample = sample;
		power->sampled_ns = now_ns;
	}
	value = NEURON_PUT(NEURON_MISC_POWER_SAMPLE,
			   (uint32_t)power->sample & 0xffff) |
		NEURON_PUT(NEURON_MISC_POWER_USED, power->die[die].used);
	pthread_mutex_unlock(&power->lock);
	return value;
}

void trn_power_rebase(struct trn_chip *chip)
{
	pthread_mutex_lock(&chip->power->lock);
	remember(chip, trn_host_ns(chip));
	pthread_mutex_unlock(&chip->power->lock);
}

static uint32_t clock_word(const struct trn_chip *chip)
{
	return atomic_load_explicit(&chip->power->clock, memory_order_relaxed);
}

unsigned int trn_power_clock(const struct trn_chip *chip)
{
	return NEURON_GET(CLOCK_PERCENT, clock_word(chip));
}

enum neuron_throttle trn_power_reason(const struct trn_chip *chip)
{
	return (enum neuron_throttle)NEURON_GET(CLOCK_REASON, clock_word(chip));
}

uint64_t trn_power_stretch(const struct trn_chip *chip, uint64_t ps)
{
	unsigned int clock = trn_power_clock(chip);

	return clock == 100 ? ps : ps * 100 / clock;
}

int trn_power_throttle(struct trn_chip *chip, unsigned int percent,
		       enum neuron_throttle why)
{
	static const char *const reasons[] = { "", ": too hot", ": too much power" };
	uint32_t word;
	unsigned int i;

	if (!percent || percent > 100)
		return -1;
	if (percent == 100)
		why = NEURON_THROTTLE_NONE;
	word = NEURON_PUT(CLOCK_PERCENT, percent) |
	       NEURON_PUT(CLOCK_REASON, (uint32_t)why);
	if (atomic_exchange(&chip->power->clock, word) == word)
		return 0;
	trn_log(chip, TRN_LOG_INFO, "engines run at %u %% of their clock%s",
		percent, reasons[why]);
	for (i = 0; i < chip->gen->nr_cores; i++) {
		const struct trn_nq_event event = {
			.unit = TRN_NQ_CORE,
			.index = i,
			.engine = NEURON_NQ_NO_ENGINE,
			.type = NEURON_NQ_TYPE_THROTTLE,
			.code = percent,
			.pc = why,
			.time_ns = atomic_load(&chip->core[i].virtual_ns),
		};

		trn_nq_post_later(chip, &event);
	}
	return 0;
}

/* Samples begin anew, the next with a number after @sample. */
static void begin_samples(struct trn_chip *chip, uint64_t sample)
{
	struct trn_power *power = chip->power;

	power->sample = sample;
	power->first = sample;
	power->start_ns = trn_host_ns(chip);
	power->stale = true;
}

void trn_power_forget(struct trn_chip *chip)
{
	struct trn_power *power = chip->power;
	unsigned int i;

	pthread_mutex_lock(&power->lock);
	atomic_store(&power->clock, 100);
	for (i = 0; i < chip->gen->nr_dice; i++)
		power->die[i].used = 0;
	begin_samples(chip, 0);
	pthread_mutex_unlock(&power->lock);
}

static bool clock_word_ok(uint32_t word)
{
	uint32_t percent = NEURON_GET(CLOCK_PERCENT, word);
	uint32_t why = NEURON_GET(CLOCK_REASON, word);

	return percent && percent <= 100 && why <= NEURON_THROTTLE_POWER &&
	       !(word & ~(CLOCK_PERCENT | CLOCK_REASON));
}

/*
 * What samples remember is not saved but taken anew: the clock of another host
 * has nothing to do with this one's.
 */
void trn_power_state(struct trn_chip *chip, struct trn_state *st)
{
	struct trn_power *power = chip->power;
	unsigned int i;

	trn_state_block(st, TRN_STATE_NAME('P', 'O', 'W', 'R'), 1);
	trn_state_atomic_u32(st, &power->clock);
	trn_state_u64(st, &power->sample);
	for (i = 0; i < chip->gen->nr_dice; i++)
		trn_state_u16(st, &power->die[i].used);
	if (!st->loading)
		return;
	if (!clock_word_ok(atomic_load(&power->clock))) {
		trn_state_fail(st, "the clock of the engines is no percentage");
		atomic_store(&power->clock, 100);
	}
	for (i = 0; i < chip->gen->nr_dice; i++)
		if (power->die[i].used > FULL)
			trn_state_fail(st, "a power sample is more than all");
	begin_samples(chip, power->sample);
}
