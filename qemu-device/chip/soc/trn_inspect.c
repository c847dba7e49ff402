// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn/inspect.h"

#include <string.h>

#include "base/trn_chip.h"
#include "core/trn_park.h"
#include "dma/trn_udma.h"
#include "exec/trn_ap.h"
#include "exec/trn_seq.h"
#include "hook/trn_check.h"
#include "hook/trn_observe.h"
#include "isa/trn_pe_array.h"
#include "job/trn_job.h"
#include "mem/trn_bus.h"
#include "mem/trn_touched.h"
#include "mem/trn_window.h"
#include "num/trn_num.h"
#include "soc/trn_reset.h"
#include "sync/trn_sem.h"

/* --- Addresses --- */

enum neuron_cause trn_inspect_read(struct trn_chip *chip, uint64_t addr, void *buf, size_t len)
{
	return trn_bus_look(chip, addr, buf, len);
}

void trn_inspect_unwritten(struct trn_chip *chip, uint64_t addr, uint64_t len,
			   struct trn_unwritten *found)
{
	struct trn_loc loc;

	*found = (struct trn_unwritten){ .count = 0 };
	if (!trn_bus_locate(chip, addr, &loc) && len <= loc.len)
		trn_check_unwritten(&loc, len, found);
}

enum neuron_cause trn_inspect_write(struct trn_chip *chip, uint64_t addr, const void *buf,
				    size_t len)
{
	struct trn_loc loc;
	enum neuron_cause cause = trn_bus_locate(chip, addr, &loc);

	if (cause)
		return cause;
	if (len > loc.len)
		return NEURON_CAUSE_ADDRESS;
	if (loc.place != TRN_PLACE_HOST)
		return trn_bus_write(chip, addr, buf, len);
	return chip->port->host_write(chip->opaque, loc.offset, buf, len) ?
	       NEURON_CAUSE_NONE : NEURON_CAUSE_HOST;
}

/* --- Jobs --- */

/* Does nothing of the chip run until its host says so? */
static bool is_held(struct trn_chip *chip)
{
	bool stopped;

	pthread_mutex_lock(&chip->controller->lock);
	stopped = chip->controller->stopped;
	pthread_mutex_unlock(&chip->controller->lock);
	return stopped && trn_chip_quiet(chip);
}

static struct trn_job *job_of(struct trn_chip *chip, unsigned int unit)
{
	struct trn_core *core = trn_observe_unit(chip, unit);

	return core && is_held(chip) ? core->job : NULL;
}

enum neuron_cause trn_inspect_window(struct trn_chip *chip, unsigned int unit, uint64_t addr,
				     struct trn_inspect_place *place)
{
	struct trn_job *job = job_of(chip, unit);
	const struct trn_window *window;
	enum neuron_cause cause;
	uint64_t offset;

	if (!job)
		return NEURON_CAUSE_JOB;
	cause = trn_window_find(job->domain, addr, 1, 0, &window, &offset);
	if (cause)
		return cause;
	place->flags = window->flags;
	place->len = window->length - offset;
	place->addr = trn_window_piece(job->domain, window, offset, &place->len);
	return NEURON_CAUSE_NONE;
}

bool trn_inspect_job(struct trn_chip *chip, unsigned int unit, struct trn_inspect_job_state *state)
{
	struct trn_job *job = job_of(chip, unit);
	unsigned int e;

	if (!job)
		return false;
	*state = (struct trn_inspect_job_state){
		.id = job->block.job_id,
		.queues = job->nr_queues,
		.windows = job->domain->nr,
		.instructions = atomic_load(&job->instructions),
		.dma_bytes = atomic_load(&job->dma_bytes),
	};
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (atomic_load(&job->core->seq[e].job) == job)
			state->engines |= NEURON_BIT(e);
	state->fault.unit = unit;
	state->fault.job_id = state->id;
	if (!atomic_load(&job->faulted))
		return true;
	state->fault.cause = job->fault.cause;
	state->fault.source = job->fault.source;
	state->fault.queue = job->fault.queue;
	state->fault.pc = job->fault.pc;
	state->fault.addr = job->fault.addr;
	return true;
}

/* --- Engines --- */

static struct trn_seq *seq_of(struct trn_chip *chip, unsigned int unit,
			      enum neuron_engine engine)
{
	struct trn_core *core = trn_observe_unit(chip, unit);

	if (!core || (unsigned int)engine >= NEURON_NR_ENGINES ||
	    !(trn_core_engines(core) & NEURON_BIT(engine)))
		return NULL;
	return is_held(chip) ? &core->seq[engine] : NULL;
}

bool trn_inspect_engine(struct trn_chip *chip, unsigned int unit, enum neuron_engine engine,
			struct trn_inspect_engine_state *state)
{
	const struct trn_seq *seq = seq_of(chip, unit, engine);

	if (!seq)
		return false;
	*state = (struct trn_inspect_engine_state){
		.status = atomic_load(&seq->status),
		.parked = atomic_load(&seq->hold) == TRN_HOLD_PARKED,
		.fetched = seq->fetched,
		.count = seq->count,
		.base = seq->base,
		.pc = atomic_load(&seq->pc),
		.wait = atomic_load(&seq->wait_sem),
		.retired = seq->retired,
		.rounding = seq->mode.rounding,
	};
	memcpy(state->fp8_bias, seq->mode.fp8_bias, sizeof(state->fp8_bias));
	memcpy(state->reg, seq->regs, sizeof(state->reg));
	if (seq->fetched)
		state->inst = seq->inst;
	return true;
}

bool trn_inspect_set_register(struct trn_chip *chip, unsigned int unit,
			      enum neuron_engine engine, unsigned int reg, uint32_t value)
{
	struct trn_seq *seq = seq_of(chip, unit, engine);

	if (!seq || !reg || reg >= NEURON_NR_REGS)
		return false;
	seq->regs[reg] = value;
	return true;
}

/* It has carried out what is before its pc, and nothing of what is there. */
static bool is_between(const struct trn_seq *seq)
{
	return !seq->begun && !seq->resume.cut;
}

bool trn_inspect_set_pc(struct trn_chip *chip, unsigned int unit, enum neuron_engine engine,
			uint32_t pc)
{
	struct trn_seq *seq = seq_of(chip, unit, engine);

	if (!seq || atomic_load(&seq->hold) != TRN_HOLD_PARKED || pc >= seq->count)
		return false;
	seq->fetched = false;
	atomic_store(&seq->pc, pc);
	/* The observer has not been asked about what is there. */
	atomic_store(&seq->hold, TRN_HOLD_NONE);
	return true;
}

/* NULL: the engine has no accumulators. */
static float *accumulators_of(struct trn_seq *seq)
{
	struct trn_lanes *lanes = seq->core->lanes;

	if (!lanes)
		return NULL;
	switch (seq->engine) {
	case NEURON_ENGINE_VECTOR:
		return lanes->vector_acc;
	case NEURON_ENGINE_SCALAR:
		return lanes->scalar_acc;
	default:
		return NULL;
	}
}

bool trn_inspect_accumulators(struct trn_chip *chip, unsigned int unit,
			      enum neuron_engine engine, float value[128])
{
	struct trn_seq *seq = seq_of(chip, unit, engine);
	const float *acc = seq ? accumulators_of(seq) : NULL;

	if (!acc)
		return false;
	memcpy(value, acc, 128 * sizeof(*value));
	return true;
}

bool trn_inspect_set_accumulators(struct trn_chip *chip, unsigned int unit,
				  enum neuron_engine engine, const float value[128])
{
	struct trn_seq *seq = seq_of(chip, unit, engine);
	float *acc = seq && is_between(seq) ? accumulators_of(seq) : NULL;

	if (!acc)
		return false;
	memcpy(acc, value, 128 * sizeof(*value));
	return true;
}

bool trn_inspect_semaphore(struct trn_chip *chip, unsigned int unit, unsigned int sem,
			   int32_t *value, uint32_t *poster)
{
	struct trn_core *core = trn_observe_unit(chip, unit);

	if (!core || sem >= NEURON_NR_SEMAPHORES)
		return false;
	*value = trn_sem_value(core->sems, sem);
	if (poster)
		*poster = trn_sem_poster(core->sems, sem);
	return true;
}

bool trn_inspect_event(struct trn_chip *chip, unsigned int unit, unsigned int event,
		       bool *value)
{
	struct trn_core *core = trn_observe_unit(chip, unit);

	if (!core || event >= NEURON_NR_EVENTS)
		return false;
	*value = trn_event_value(core->sems, event);
	return true;
}

/* --- The array --- */

static const struct trn_part *part_at(struct trn_chip *chip, unsigned int unit,
				      unsigned int n, struct trn_seq **seq)
{
	const struct trn_pe_array *array;

	*seq = seq_of(chip, unit, NEURON_ENGINE_TENSOR);
	if (!*seq || !(*seq)->core->array || n >= TRN_PE_ARRAY_PARTS)
		return NULL;
	array = (*seq)->core->array;
	return array->part[n].kind == TRN_PART_EMPTY ? NULL : &array->part[n];
}

/* NULL: nothing is loaded there. */
static float *cell_of(struct trn_pe_array *array, const struct trn_part *part, unsigned int row,
		      unsigned int column, unsigned int term)
{
	unsigned int line;

	if (row >= part->k || column >= part->m || term >= trn_part_depth(part))
		return NULL;
	line = TRN_ARRAY_DEPTH * part->place.row + row * trn_part_depth(part) + term;
	return &array->weight[line][part->place.col + column];
}

bool trn_inspect_part(struct trn_chip *chip, unsigned int unit, unsigned int n,
		      struct trn_inspect_part_state *state)
{
	struct trn_seq *seq;
	const struct trn_part *part = part_at(chip, unit, n, &seq);

	if (!part)
		return false;
	*state = (struct trn_inspect_part_state){
		.place = part->place,
		.dtype = part->dtype,
		.k = part->k,
		.m = part->m,
		.terms = (uint8_t)trn_part_depth(part),
	};
	return true;
}

bool trn_inspect_weight(struct trn_chip *chip, unsigned int unit, unsigned int n,
			unsigned int row, unsigned int column, unsigned int term,
			float *weight)
{
	struct trn_seq *seq;
	const struct trn_part *part = part_at(chip, unit, n, &seq);
	const float *cell = part ? cell_of(seq->core->array, part, row, column, term) : NULL;

	if (!cell)
		return false;
	*weight = *cell;
	return true;
}

/* Has the operand's type this number? Bits of a transposition are no numbers. */
static bool is_weight(const struct trn_part *part, float weight)
{
	uint64_t element = 0;
	float back;

	if (part->kind == TRN_PART_BITS)
		return true;
	if (part->kind == TRN_PART_MX)
		return false;
	trn_from_fp32(&element, &weight, part->dtype, 1);
	trn_to_fp32(&back, &element, part->dtype, 1);
	return !memcmp(&back, &weight, sizeof(back));
}

bool trn_inspect_set_weight(struct trn_chip *chip, unsigned int unit, unsigned int n,
			    unsigned int row, unsigned int column, unsigned int term,
			    float weight)
{
	struct trn_seq *seq;
	const struct trn_part *part = part_at(chip, unit, n, &seq);
	float *cell = part ? cell_of(seq->core->array, part, row, column, term) : NULL;

	if (!cell || !is_between(seq) || !is_weight(part, weight))
		return false;
	*cell = weight;
	return true;
}

/* --- Tiles --- */

static enum neuron_cause find_tile(struct trn_chip *chip, unsigned int unit,
				   const struct neuron_ap *ap, size_t room,
				   struct trn_tile *tile)
{
	static const uint32_t regs[NEURON_NR_REGS];
	const struct trn_ap_user user = {
		.core = trn_observe_unit(chip, unit),
		.regs = regs,
		.group = TRN_INDEX_GROUP_LANES,
	};
	enum neuron_cause cause;

	if (!user.core || trn_core_is_cc(user.core))
		return NEURON_CAUSE_JOB;
	if (ap->offset_reg)
		return NEURON_CAUSE_OPERAND;
	cause = trn_ap_resolve_raw(&user, ap, tile);
	if (cause)
		return cause;
	return (size_t)tile->partitions * tile->n * tile->size > room ? NEURON_CAUSE_JOB :
									NEURON_CAUSE_NONE;
}

enum neuron_cause trn_inspect_tile(struct trn_chip *chip, unsigned int unit,
				   const struct neuron_ap *ap, void *elements, size_t room)
{
	uint8_t *out = elements;
	struct trn_tile tile;
	enum neuron_cause cause = find_tile(chip, unit, ap, room, &tile);
	unsigned int p;

	if (cause)
		return cause;
	for (p = 0; p < tile.partitions; p++, out += (size_t)tile.n * tile.size)
		trn_tile_load_raw(&tile, p, 0, tile.n, out);
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_inspect_set_tile(struct trn_chip *chip, unsigned int unit,
				       const struct neuron_ap *ap, const void *elements,
				       size_t room)
{
	const uint8_t *in = elements;
	struct trn_tile tile;
	enum neuron_cause cause = find_tile(chip, unit, ap, room, &tile);
	unsigned int p;

	if (!cause)
		cause = trn_tile_touch(&tile);
	if (cause)
		return cause;
	for (p = 0; p < tile.partitions; p++, in += (size_t)tile.n * tile.size)
		trn_tile_store_raw(&tile, p, 0, tile.n, in);
	return NEURON_CAUSE_NONE;
}

size_t trn_inspect_size(enum neuron_dtype dtype)
{
	return trn_dtype_size(dtype);
}

_Static_assert(TRN_INSPECT_PACK == TRN_MX_PACK, "all numbers of an element");

unsigned int trn_inspect_per_element(enum neuron_dtype dtype)
{
	if (trn_dtype_is_packed(dtype))
		return TRN_INSPECT_PACK;
	return trn_dtype_is_number(dtype) || dtype == NEURON_DTYPE_E8M0;
}

static double integer_of(enum neuron_dtype dtype, const uint8_t *element)
{
	uint32_t bits;

	memcpy(&bits, element, sizeof(bits));
	return dtype == NEURON_DTYPE_INT32 ? (double)(int32_t)bits : (double)bits;
}

static void numbers_of(enum neuron_dtype dtype, const uint8_t *element, double *number)
{
	const uint8_t one = 127;	/* 2^0 */
	float value[TRN_INSPECT_PACK];
	unsigned int i;

	if (trn_dtype_is_int(dtype) && trn_dtype_size(dtype) == sizeof(uint32_t)) {
		*number = integer_of(dtype, element);
		return;
	}
	if (trn_dtype_is_packed(dtype))
		trn_mx_widen(value, 1, element, dtype, &one, 1);
	else if (dtype == NEURON_DTYPE_E8M0)
		*value = trn_mx_scale(*element);
	else
		trn_to_fp32(value, element, dtype, 1);
	for (i = 0; i < trn_inspect_per_element(dtype); i++)
		number[i] = (double)value[i];
}

bool trn_inspect_numbers(enum neuron_dtype dtype, const void *elements, size_t n,
			 double *number)
{
	const unsigned int per = trn_inspect_per_element(dtype);
	const size_t size = trn_dtype_size(dtype);
	const uint8_t *at = elements;
	size_t i;

	for (i = 0; i < n && per; i++)
		numbers_of(dtype, at + i * size, number + i * per);
	return per;
}

enum trn_inspect_kind trn_inspect_kind_of(enum neuron_dtype dtype)
{
	if (trn_dtype_is_float(dtype))
		return TRN_INSPECT_FLOAT;
	if (trn_dtype_is_packed(dtype) || dtype == NEURON_DTYPE_E8M0)
		return TRN_INSPECT_SCALED;
	return trn_dtype_size(dtype) ? TRN_INSPECT_INTEGER : TRN_INSPECT_NO_TYPE;
}

bool trn_inspect_round(enum neuron_dtype dtype, const float *number, size_t n, void *elements)
{
	if (!trn_dtype_is_float(dtype))
		return false;
	trn_from_fp32(elements, number, dtype, n);
	return true;
}

const char *trn_inspect_cause_name(enum neuron_cause cause)
{
	return trn_cause_name(cause);
}

/* --- DMA queues --- */

static struct trn_inspect_ring ring_of(const struct trn_ring *ring)
{
	return (struct trn_inspect_ring){
		.base = ring->base,
		.length = ring->length,
		.head = ring->head,
		.ready = ring->avail,
	};
}

bool trn_inspect_queue(struct trn_chip *chip, unsigned int dma_engine, unsigned int index,
		       struct trn_inspect_queue_state *state)
{
	struct trn_udma_queue *queue;

	if (dma_engine >= chip->gen->nr_dma || index >= NEURON_UDMA_QUEUES)
		return false;
	queue = trn_udma_queue_at(chip, dma_engine, index);
	*state = (struct trn_inspect_queue_state){ .unit = TRN_UNIT_NONE };
	pthread_mutex_lock(&queue->lock);
	state->m2s = ring_of(&queue->m2s);
	state->s2m = ring_of(&queue->s2m);
	state->busy = queue->busy;
	state->stopped = queue->stopped || queue->failed;
	state->cause = atomic_load(&queue->error);
	if (queue->job) {
		state->unit = queue->job->core->index;
		state->job_id = queue->job->block.job_id;
	}
	pthread_mutex_unlock(&queue->lock);
	state->bytes = atomic_load(&queue->moved_bytes);
	state->descriptors = atomic_load(&queue->moved_descriptors);
	return true;
}
