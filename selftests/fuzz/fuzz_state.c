// SPDX-License-Identifier: MIT
/*
 * Fuzz target: saved chips whose streams say something else.
 *
 * At the start two chips at work are saved at several points, and where each field
 * begins is noted: they are the corpus. An input chooses a point and a chip and is a
 * list of edits of its stream. Whatever they are, loading must not crash and must bring the chip
 * either to its reset state or to one in which it can run, be saved, be loaded
 * once more and come to rest when it is stopped; and a reset must give all memory
 * back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sanitizer/allocator_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "fuzz_state.h"
#include "state_rig.h"
#include "hook/trn_inject.h"
#include "notify/trn_nq.h"
#include "time/trn_power.h"
#include "dma/trn_udma_queue.h"

#define POINTS		6
#define POINT_STEPS	90	/* more from each point to the next */
#define SEEK_STEPS	300	/* at most, in all, to what a point has to have */
#define MAX_EDITS	16
#define RUN_STEPS	256
#define REST_STEPS	65536	/* more than both chips have tasks */
/* Registers and tables for the first time: for all inputs together. */
#define KEPT_BYTES	NEURON_MIB(1)
/* What is longer is a page of memory, in which any value is right. */
#define FIELD_BYTES	1024
/* Memories of the cores, that is, and what can be in a chip beside them. */
#define MAX_AGAIN	NEURON_MIB(16)
/* A job in the stream can be larger than any that the work has. */
#define MOST_BYTES	NEURON_MIB(256)

/* Where a field lies in a stream. */
struct field {
	size_t at;
	size_t len;
};

/* A saved chip. */
struct saved {
	struct stream stream;
	struct field *field;
	size_t nr;
	size_t room;
};

/* Both chips at one point of the work, and the memory that they share with it. */
struct point {
	struct saved chip[SEQ_CHIPS];
	uint8_t *host[SEQ_CHIPS];
};

/**
 * struct target - the state of the process
 * @reset: the chips in their reset state
 * @edited: the stream of this input
 * @again: what came of it
 * @kept: heap bytes that all inputs so far have left behind
 */
struct target {
	struct seq_rig *rig;
	struct point point[POINTS];
	struct stream reset[SEQ_CHIPS];
	struct stream edited;
	struct stream again;
	int64_t kept;
	uint64_t loaded;
	uint64_t refused;
};

enum edit {
	EDIT_SET,
	EDIT_SET_LOW,
	EDIT_ADD,
	EDIT_FLIP,
	EDIT_ONES,
	EDIT_COPY,
	EDIT_CUT,
	NR_EDITS
};

/* The input, 12 bytes for each edit. */
struct order {
	uint32_t word;
	uint8_t value[8];
};

static struct target *target_get(void)
{
	static struct target target;

	return &target;
}

static void finding(const char *why)
{
	fprintf(stderr, "fuzz-state: %s\n", why);
	abort();
}

static void *need(void *memory)
{
	if (!memory)
		finding("out of memory");
	return memory;
}

static int64_t heap_bytes(void)
{
	return (int64_t)__sanitizer_get_current_allocated_bytes();
}

/* --- the points of the work --- */

static bool note_field(void *opaque, void *buf, size_t len)
{
	struct saved *saved = opaque;
	struct trn_state st = stream_save(&saved->stream);

	if (len && len <= FIELD_BYTES) {
		if (saved->nr == saved->room) {
			saved->room = saved->room ? 2 * saved->room : 4096;
			saved->field = need(realloc(saved->field, saved->room *
						    sizeof(*saved->field)));
		}
		saved->field[saved->nr++] = (struct field) {
			.at = saved->stream.len, .len = len,
		};
	}
	return st.transfer(st.opaque, buf, len);
}

static void save_noted(struct saved *saved, struct trn_chip *chip)
{
	struct trn_state st = { .transfer = note_field, .opaque = saved };

	if (!trn_chip_save(chip, &st) || !trn_chip_save_hbm(chip, &st))
		finding(st.why);
}

/* Packets that instructions made wait in some queue. */
static bool has_generated(struct trn_chip *chip)
{
	unsigned int q;

	for (q = 0; q < chip->gen->nr_dma * NEURON_UDMA_QUEUES; q++)
		if (trn_gen_first(&chip->queues[q]))
			return true;
	return false;
}

/* The first core's queue of notifications has been written to. */
static bool has_notified(struct trn_chip *chip)
{
	unsigned int slot = NEURON_NQ_TYPE_SLOT(NEURON_NQ_TYPE_NOTIFY,
						NEURON_ENGINE_SYNC);

	return trn_chip_mmio_read(chip, chip->gen->nq_bar0[0] +
				  NEURON_NQ_SLOT(slot) + NEURON_NQ_TAIL, 4);
}

static bool work_has(const struct work *work, bool (*has)(struct trn_chip *chip))
{
	unsigned int c;

	for (c = 0; c < SEQ_CHIPS; c++)
		if (has(work->rig->chip[c]))
			return true;
	return false;
}

/* Packets wait for a few steps only: go on to where there are some. */
static bool seek_generated(struct work *work, unsigned int *steps)
{
	for (; *steps; (*steps)--) {
		if (work_has(work, has_generated))
			return true;
		if (!work_step(work, 1))
			finding("the work ends before the last point");
	}
	return false;
}

static void make_points(struct target *target)
{
	struct work *work = work_new(TRN_POOL_STEPPED);
	bool generated = false, notified = false;
	unsigned int p, c, steps = SEEK_STEPS;

	for (p = 0; p < POINTS; p++) {
		if (!work_step(work, POINT_STEPS))
			finding("the work ends before the last point");
		generated = generated || seek_generated(work, &steps);
		notified |= work_has(work, has_notified);
		work_stop(work);
		for (c = 0; c < SEQ_CHIPS; c++) {
			struct fake_port *port = &work->rig->port[c];
			uint8_t *host = need(malloc(port->host_size));

			save_noted(&target->point[p].chip[c], work->rig->chip[c]);
			memcpy(host, port->host, port->host_size);
			target->point[p].host[c] = host;
		}
		work_resume(work);
	}
	if (!generated || !notified)
		finding("no point has generated packets, or none notifications");
	work_stop(work);
	work_free(work);
}

/* --- loading --- */

static bool load(struct stream *stream, struct trn_chip *chip)
{
	struct trn_state st = stream_load(stream);

	stream->at = 0;
	return trn_chip_load(chip, &st) && trn_chip_load_hbm(chip, &st);
}

static void save_alone(struct stream *stream, struct trn_chip *chip)
{
	struct trn_state st = stream_save(stream);

	stream->len = 0;
	if (!trn_chip_save(chip, &st))
		finding("a chip in its reset state cannot be saved");
}

static size_t first_difference(const struct stream *a, const struct stream *b)
{
	size_t i;

	for (i = 0; i < a->len && i < b->len && a->data[i] == b->data[i]; i++)
		;
	return i;
}

/* Counts down to the byte of a stream that is looked for. */
static bool pass_byte(void *opaque, void *buf, size_t len)
{
	size_t *left = opaque;

	(void)buf;
	if (*left < len)
		__sanitizer_print_stack_trace();
	*left = *left < len ? SIZE_MAX : *left - len;
	return true;
}

static void show_writer(struct trn_chip *chip, size_t byte)
{
	struct trn_state st = { .transfer = pass_byte, .opaque = &byte };

	trn_chip_save(chip, &st);
}

static void check_reset(struct target *target, unsigned int c)
{
	const struct stream *want = &target->reset[c];
	struct stream *now = &target->again;

	save_alone(now, target->rig->chip[c]);
	if (now->len == want->len && !memcmp(want->data, now->data, now->len))
		return;
	fprintf(stderr, "fuzz-state: %zu bytes, not %zu, differ from byte %zu on, written by\n",
		now->len, want->len, first_difference(want, now));
	show_writer(target->rig->chip[c], first_difference(want, now));
	finding("a refused stream leaves something in the chip");
}

static void check_bytes(int64_t bytes, int64_t most, const char *why)
{
	if (bytes <= most)
		return;
	fprintf(stderr, "fuzz-state: %" PRId64 " bytes\n", bytes);
	finding(why);
}

/* --- an input --- */

static void edit(struct stream *stream, const struct saved *saved,
		 const struct order *order)
{
	const struct field *field = &saved->field[(order->word >> 8) % saved->nr];
	size_t skip = order->word >> 3 & 31, len;
	uint8_t *at;
	uint64_t value = 0, was = 0;

	skip = skip * 8 < field->len ? skip * 8 : 0;
	at = stream->data + field->at + skip;
	len = field->len - skip < 8 ? field->len - skip : 8;
	memcpy(&value, order->value, sizeof(value));
	memcpy(&was, at, len);
	switch ((enum edit)(order->word % 8 % NR_EDITS)) {
	case EDIT_SET:
		break;
	case EDIT_SET_LOW:
		value &= 0xff;
		break;
	case EDIT_ADD:
		value = was + (uint64_t)(int8_t)value;
		break;
	case EDIT_FLIP:
		value = was ^ 1ull << value % (8 * len);
		break;
	case EDIT_ONES:
		value = UINT64_MAX >> value % 64;
		break;
	case EDIT_COPY:
		field = &saved->field[value % saved->nr];
		value = 0;
		memcpy(&value, stream->data + field->at,
		       field->len < 8 ? field->len : 8);
		break;
	case EDIT_CUT:
	default:
		if (field->at < stream->len)
			stream->len = field->at;
		return;
	}
	memcpy(at, &value, len);
}

static void make_room(struct stream *stream, size_t room)
{
	if (stream->room >= room)
		return;
	stream->data = need(realloc(stream->data, room));
	stream->room = room;
}

static void make_edited(struct target *target, const struct saved *saved,
			const uint8_t *data, size_t size)
{
	struct stream *edited = &target->edited;
	unsigned int i;

	edited->len = 0;
	edited->at = 0;
	make_room(edited, saved->stream.len);
	memcpy(edited->data, saved->stream.data, saved->stream.len);
	edited->len = saved->stream.len;
	for (i = 0; i < MAX_EDITS && size >= sizeof(struct order); i++) {
		struct order order;

		memcpy(&order, data, sizeof(order));
		edit(edited, saved, &order);
		data += sizeof(order);
		size -= sizeof(order);
	}
}

/* Stopped, the chips run out of tasks. */
static void rest(struct seq_rig *rig)
{
	unsigned int c;

	for (c = 0; c < SEQ_CHIPS; c++)
		trn_chip_stop(rig->chip[c]);
	trn_pool_step(rig->pool, REST_STEPS);
	for (c = 0; c < SEQ_CHIPS; c++)
		if (!trn_chip_quiet(rig->chip[c]))
			finding("a stopped chip does not come to rest");
}

/* Without HBM: most of the time would go into it. */
static void check_again(struct target *target, unsigned int c)
{
	struct trn_chip *chip = target->rig->chip[c];
	struct stream *again = &target->again;
	struct trn_state st = stream_save(again);

	again->len = 0;
	again->at = 0;
	if (!trn_chip_save(chip, &st))
		finding("what has been loaded cannot be saved");
	st = stream_load(again);
	if (!trn_chip_load(chip, &st))
		finding("what has been loaded and saved cannot be loaded");
}

static void run_loaded(struct target *target, unsigned int c)
{
	struct seq_rig *rig = target->rig;
	unsigned int i;

	for (i = 0; i < SEQ_CHIPS; i++)
		trn_chip_resume(rig->chip[i]);
	trn_pool_step(rig->pool, RUN_STEPS);
	rest(rig);
	check_again(target, c);
}

static void reset_all(struct target *target)
{
	unsigned int c;

	for (c = 0; c < SEQ_CHIPS; c++) {
		trn_chip_reset(target->rig->chip[c]);
		trn_inject_clear(target->rig->chip[c], TRN_INJECT_POINTS);
		trn_power_throttle(target->rig->chip[c], 100,
				   NEURON_THROTTLE_NONE);
	}
}

static void run(struct target *target, unsigned int p, unsigned int c,
		const uint8_t *data, size_t size)
{
	struct point *point = &target->point[p];
	struct seq_rig *rig = target->rig;
	int64_t before;
	unsigned int i;

	make_edited(target, &point->chip[c], data, size);
	make_room(&target->again, MAX_AGAIN);
	before = heap_bytes();
	for (i = 0; i < SEQ_CHIPS; i++)
		memcpy(rig->port[i].host, point->host[i], rig->port[i].host_size);
	if (!load(&point->chip[1 - c].stream, rig->chip[1 - c]))
		finding("an unchanged stream is refused");
	if (load(&target->edited, rig->chip[c])) {
		target->loaded++;
		check_bytes(heap_bytes() - before, MOST_BYTES, "the chip grows");
		run_loaded(target, c);
	} else {
		target->refused++;
		check_reset(target, c);
	}
	rest(rig);
	reset_all(target);
	target->kept += heap_bytes() - before;
	check_bytes(target->kept, KEPT_BYTES,
		    "resets do not give all memory back");
}

static void print_loads(void)
{
	printf("streams: %" PRIu64 " loaded, %" PRIu64 " refused\n",
	       target_get()->loaded, target_get()->refused);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct target *target = target_get();
	unsigned int p, c;

	(void)argc;
	(void)argv;
	make_points(target);
	target->rig = work_rig_new(TRN_POOL_STEPPED);
	rest(target->rig);
	reset_all(target);
	for (c = 0; c < SEQ_CHIPS; c++)
		save_alone(&target->reset[c], target->rig->chip[c]);
	for (p = 0; p < POINTS; p++)
		for (c = 0; c < SEQ_CHIPS; c++)
			run(target, p, c, NULL, 0);
	if (target->refused)
		finding("an unchanged stream is refused");
	return atexit(print_loads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target *target = target_get();

	if (!size)
		return 0;
	run(target, data[0] / SEQ_CHIPS % POINTS, data[0] % SEQ_CHIPS, data + 1,
	    size - 1);
	return 0;
}
