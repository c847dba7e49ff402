// SPDX-License-Identifier: MIT
/*
 * neuron-profile: programs whose costs can be worked out by hand from the tables of
 * Documentation/hardware/device-time.rst run on a Trainium2, and the tool must say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nrt_neff_rig.h"
#include "profile_rig.h"

#define TENSOR	NEURON_ENGINE_TENSOR
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define SYNC	NEURON_ENGINE_SYNC

/* 1,300 ns from a trigger to the first byte, of which the trigger takes 16 cycles of 1.2 GHz. */
#define TRIGGER_NS	13
#define START_NS	1300

static const struct profile_event *event_of(const struct profile *profile, uint32_t actor,
					    uint32_t i)
{
	assert_true(i < profile->actor[actor].count);
	return &profile->event[profile->order[profile->actor[actor].first + i]];
}

static const struct sum_row *find_row(const struct sum_rows *rows, const char *name)
{
	size_t i;

	for (i = 0; i < rows->nr; i++)
		if (!strcmp(rows->row[i].name, name))
			return &rows->row[i];
	fail_msg("there is no row %s", name);
	return NULL;
}

static struct sum_rows rows_of(const struct profile *profile, enum sum_by by)
{
	struct nrt_error error;
	struct sum_rows rows;

	assert_int_equal(sum_rows(profile, by, &rows, &error), NRT_SUCCESS);
	return rows;
}

static struct sum_total total_of(const struct profile *profile)
{
	struct sum_total total;
	struct nrt_error error;

	assert_int_equal(sum_total(profile, &total, &error), NRT_SUCCESS);
	return total;
}

/* --- Numbers --- */

/* Sixteen rows of 2 KiB, each a descriptor of 2048 / 23 ns, and a semaphore of 52 ns. */
static void bytes_of_a_transfer(void **state)
{
	const uint32_t shape[] = { 16, 2048 }, queue = NEURON_NR_ENGINES;
	struct nb_program *nb = nb_new("bytes");
	int x = nb_input(nb, "x", NEURON_DTYPE_UINT8, 2, shape);
	int q = nb_queue(nb, "q_in", "in", SYNC, 1), sem = nb_sem(nb, false);
	const struct profile_event *first;
	struct sum_total total;
	struct profile *profile;
	struct sum_rows rows;

	(void)state;
	nb_dma(nb, q, nb_sbuf_tile(nb, 0, 16, 0, 2048), nb_linear(x, 0, 16 * 2048), sem);
	nb_halt(nb, SYNC);
	profile = profile_rig_profile(nb, "bytes");
	assert_int_equal(profile->actor[queue].count, 17);
	first = event_of(profile, queue, 0);
	assert_int_equal(first->begin_ns, START_NS);
	assert_int_equal(first->wait_ns, START_NS - TRIGGER_NS);
	assert_int_equal(first->why, PROFILE_WHY_TRIGGER);
	assert_int_equal(profile->event[first->cause].code, NEURON_OP_DMA_TRIGGER);
	total = total_of(profile);
	assert_int_equal(total.hbm_read, 32768);
	assert_int_equal(total.hbm_written, 0);
	assert_int_equal(total.moved[PROFILE_MEMORY_HBM][PROFILE_MEMORY_SBUF], 32768);
	assert_int_equal(total.moved[PROFILE_MEMORY_LOADER][PROFILE_MEMORY_SEM], 4);
	assert_int_equal(total.loaded, 32768);
	assert_int_equal(total.distinct, 32768);
	rows = rows_of(profile, SUM_BY_QUEUE);
	assert_int_equal(rows.nr, 1);
	assert_string_equal(rows.row[0].name, "q_in");
	assert_int_equal(rows.row[0].bytes, 32768);
	assert_int_equal(rows.row[0].busy_ns, 16 * 2048 * 1000ull / 23000 + 52);
	free(rows.row);
	profile_free(profile);
}

/* 2 K M N FLOPs in N cycles of 2.4 GHz; the load of M / 4 cycles comes before it. */
static void flops_of_a_product(void **state)
{
	struct neuron_ap stationary = nb_tile(0, 128, 0, NEURON_DTYPE_BF16, 64);
	struct neuron_ap moving = nb_tile(0, 128, 4096, NEURON_DTYPE_BF16, 512);
	struct neuron_ap sums = nb_psum_tile(0, 64, 0, NEURON_DTYPE_FP32, 512);
	struct nb_program *nb = nb_new("product");
	struct sum_total total;
	struct profile *profile;
	struct sum_rows rows;

	(void)state;
	nb_load_stationary(nb, stationary);
	nb_matmul(nb, sums, moving, false);
	nb_halt(nb, TENSOR);
	profile = profile_rig_profile(nb, "product");
	total = total_of(profile);
	assert_int_equal(total.tensor_flops, 2 * 128 * 64 * 512);
	assert_int_equal(total.lane_flops, 0);
	assert_int_equal(total.engine, TENSOR);
	assert_int_equal(total.bound, SUM_BOUND_ENGINE);
	assert_true(total.peak == 2.0 * 128 * 128 * 2.4e9);
	assert_true(total.attained == 2 * 128 * 64 * 512 / (profile->length_ns * 1e-9));
	rows = rows_of(profile, SUM_BY_ENGINE);
	assert_int_equal(rows.nr, 1);
	/* 16, 512 and 16 cycles. */
	assert_int_equal(rows.row[0].busy_ns, (16 + 512 + 16) * 10 / 24);
	assert_int_equal(rows.row[0].critical_ns, rows.row[0].busy_ns);
	assert_int_equal(rows.row[0].flops, total.tensor_flops);
	free(rows.row);
	profile_free(profile);
}

/* One for each operator and element; 60 + 2 N cycles: neighbours in a tile are 4 bytes apart. */
static void flops_of_lanes(void **state)
{
	struct neuron_ap tile = nb_tile(0, 32, 0, NEURON_DTYPE_FP32, 100);
	struct nb_program *nb = nb_new("lanes");
	struct sum_total total;
	struct profile *profile;

	(void)state;
	nb_memset(nb, VECTOR, tile, 1.0f);
	nb_tensor_scalar(nb, VECTOR, tile, tile, NEURON_ALU_MULTIPLY, 2.0f, NEURON_ALU_ADD, 1.0f);
	nb_tensor_tensor(nb, VECTOR, NEURON_ALU_ADD, tile, tile, tile);
	nb_reduce(nb, VECTOR, NEURON_ALU_MAX, nb_tile(0, 32, 4096, NEURON_DTYPE_FP32, 1), tile);
	nb_halt(nb, VECTOR);
	profile = profile_rig_profile(nb, "lanes");
	total = total_of(profile);
	assert_int_equal(total.lane_flops, 32 * 100 * (2 + 1 + 1));
	assert_int_equal(total.tensor_flops, 0);
	assert_int_equal(total.engine, VECTOR);
	profile_free(profile);
}

/* A tile that is loaded four times: HBM binds, and the profile says why. */
static void loads_again_and_again(void **state)
{
	const uint32_t shape[] = { 128, 512 };
	struct nb_program *nb = nb_new("again");
	int x = nb_input(nb, "x", NEURON_DTYPE_BF16, 2, shape);
	int q = nb_queue(nb, "q_in", "in", SYNC, 1), sem = nb_sem(nb, false);
	struct neuron_ap tile = nb_tile(0, 128, 0, NEURON_DTYPE_BF16, 128);
	struct neuron_ap sums = nb_psum_tile(0, 128, 0, NEURON_DTYPE_FP32, 512);
	struct view_options options = { .by = SUM_NR_BYS };
	struct nrt_error error;
	struct sum_total total;
	struct profile *profile;
	char *text = NULL;
	size_t size;
	FILE *out;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		nb_dma(nb, q, nb_sbuf_tile(nb, 0, 128, 0, 1024), nb_linear(x, 0, 128 * 1024), sem);
		nb_wait(nb_load_stationary(nb, tile), sem, i + 1);
		nb_matmul(nb, sums, nb_tile(0, 128, 0, NEURON_DTYPE_BF16, 512), false);
	}
	nb_halt(nb, TENSOR);
	nb_halt(nb, SYNC);
	profile = profile_rig_profile(nb, "again");
	total = total_of(profile);
	assert_int_equal(total.loaded, 4 * 128 * 1024);
	assert_int_equal(total.distinct, 128 * 1024);
	assert_int_equal(total.bound, SUM_BOUND_HBM);
	/* 4 products of 2 * 128 * 128 * 512 for 4 * 128 KiB. */
	assert_true(total.intensity == 128);
	/* 16 DMA engines of 23 GB/s, and 78.6 TFLOP/s. */
	assert_true(total.rate == 368e9);
	assert_true(total.roof == 128 * 368e9);
	out = open_memstream(&text, &size);
	assert_int_equal(view_print(profile, &options, out, &error), NRT_SUCCESS);
	fclose(out);
	assert_non_null(strstr(text, "bound by HBM"));
	assert_non_null(strstr(text, "4.0 times each"));
	free(text);
	profile_free(profile);
}

#define CAST_DEF \
	"{ 'isa': 'neuron-emu-1', 'engines': { 'sync': { 'instructions': 'sync.bin', " \
	"'descriptors': 'sync.json' } }, 'dma_queue': { 'q': { 'type': 'data', " \
	"'owner': 'sync', 'num_queues': 1, 'queue_index': 0 } }, 'var': { " \
	"'a': { 'type': 'tmp-buf', 'var_id': 1, 'size': 4096 }, " \
	"'b': { 'type': 'tmp-buf', 'var_id': 2, 'size': 4096 } } }"
#define CAST_DESCS \
	"{ 'dma': [ { 'queue': 'q', 'id': 0, 'desc': { 'op': 'cast', " \
	"'from': 'a', 'from_off': 0, 'from_steps': [ 1 ], 'from_sizes': [ 1024 ], " \
	"'from_dtype': 'float32', 'to': 'b', 'to_off': 0, 'to_steps': [ 1 ], " \
	"'to_sizes': [ 512 ], 'to_dtype': 'bfloat16' } } ] }"

/* A transfer that computes reads and writes different numbers of bytes, in one packet. */
static void bytes_of_an_operation(void **state)
{
	char *def = rig_json(CAST_DEF), *descs = rig_json(CAST_DESCS);
	struct neuron_inst image[] = {
		{ .opcode = NEURON_OP_PSEUDO_DMA_TRIGGER },
		{ .opcode = NEURON_OP_HALT },
	};
	struct rig_file files[] = {
		{ "sg00/def.json", def, strlen(def) },
		{ "sg00/sync.json", descs, strlen(descs) },
		{ "sg00/sync.bin", image, sizeof(image) },
		{ NULL, NULL, 0 },
	};
	struct sum_total total;
	struct profile *profile;
	uint8_t *neff;
	size_t size;

	(void)state;
	neff = rig_pack(files, 0, &size);
	profile_rig_write("cast", ".neff", (char *)neff, size);
	profile = profile_rig_profile(NULL, "cast");
	total = total_of(profile);
	assert_int_equal(profile->actor[NEURON_NR_ENGINES].count, 1);
	assert_int_equal(total.hbm_read, 1024);
	assert_int_equal(total.hbm_written, 512);
	profile_free(profile);
	free(neff);
	free(descs);
	free(def);
}

/* The example gather: 128 rows of 96 bf16 in one generated packet, and then back to HBM. */
static void bytes_that_an_instruction_generates(void **state)
{
	const struct profile_event *packet;
	char path[400], *copy;
	struct profile *profile;
	struct sum_total total;
	struct nrt_error error;
	size_t size;

	(void)state;
	snprintf(path, sizeof(path), "%s/gather.neff", getenv("AS_NEFFS"));
	copy = profile_load(path, &size, &error);
	assert_non_null(copy);
	profile_rig_write("gather", ".neff", copy, size);
	free(copy);
	profile = profile_rig_profile(NULL, "gather");
	packet = event_of(profile, NEURON_NR_ENGINES, 0);
	assert_int_equal(packet->step, profile_generated(profile));
	assert_int_equal(profile->event[packet->owner].code, NEURON_OP_DMA_GENERATE);
	assert_int_equal(packet->why, PROFILE_WHY_TRIGGER);
	total = total_of(profile);
	assert_int_equal(total.moved[PROFILE_MEMORY_HBM][PROFILE_MEMORY_SBUF], 128 * 96 * 2);
	assert_int_equal(total.hbm_read, 128 * 96 * 2);
	assert_int_equal(total.hbm_written, 128 * 96 * 2);
	profile_free(profile);
}

/* --- Waits --- */

/*
 * The scalar engine waits for a memset of 60 + 256 cycles of 0.96 GHz, whose neighbours are 4 bytes
 * apart; then it copies. Both are the critical path.
 */
static void one_engine_waits(void **state)
{
	struct neuron_ap tile = nb_tile(0, 128, 0, NEURON_DTYPE_FP32, 256);
	struct nb_program *nb = nb_new("waits");
	const uint64_t memset_ns = (60 + 256) * 100 / 96;
	const struct profile_event *copy;
	struct sum_waits waits;
	struct profile *profile;
	struct nrt_error error;
	struct sum_rows rows;
	int sem;

	(void)state;
	nb_sem(nb, false);
	sem = nb_sem(nb, false);
	nb_source(nb, "waits.c", 7);
	nb_post(nb_memset(nb, VECTOR, tile, 1.0f), sem, 1);
	nb_source(nb, "waits.c", 9);
	nb_wait(nb_copy(nb, SCALAR, nb_tile(0, 128, 4096, NEURON_DTYPE_FP32, 256), tile), sem, 1);
	nb_source(nb, NULL, 0);
	nb_halt(nb, VECTOR);
	nb_halt(nb, SCALAR);
	profile = profile_rig_profile(nb, "waits");
	copy = event_of(profile, SCALAR, 0);
	assert_int_equal(copy->begin_ns, memset_ns);
	assert_int_equal(copy->wait_ns, memset_ns);
	assert_int_equal(copy->why, PROFILE_WHY_SEMAPHORE);
	assert_int_equal(copy->sem, sem);
	assert_int_equal(profile->event[copy->cause].actor, VECTOR);
	assert_int_equal(profile->event[copy->cause].code, NEURON_OP_MEMSET);
	assert_int_equal(sum_waits(profile, &waits, &error), NRT_SUCCESS);
	assert_int_equal(waits.nr, 1);
	assert_int_equal(waits.wait[0].ns, memset_ns);
	free(waits.wait);
	rows = rows_of(profile, SUM_BY_LINE);
	assert_int_equal(find_row(&rows, "waits.c:7")->critical_ns, memset_ns);
	assert_int_equal(find_row(&rows, "waits.c:9")->critical_ns, copy->end_ns - memset_ns);
	assert_int_equal(find_row(&rows, "waits.c:9")->wait_ns, memset_ns);
	assert_int_equal(find_row(&rows, "vector+1")->critical_ns, 0);
	/* 16 cycles of 1.2 GHz end what it is about. */
	assert_int_equal(find_row(&rows, "scalar+1")->critical_ns,
			 event_of(profile, SCALAR, 1)->end_ns - copy->end_ns);
	free(rows.row);
	profile_free(profile);
}

/*
 * Queue 16 has the DMA engine of queue 0, which moves 64 KiB in 65536 / 23 ns meanwhile. Its
 * trigger is the 17th of its engine.
 */
static void a_queue_waits_for_its_engine(void **state)
{
	const uint32_t shape[] = { 1 << 20 }, queue = NEURON_NR_ENGINES;
	struct nb_program *nb = nb_new("turns");
	int x = nb_input(nb, "x", NEURON_DTYPE_UINT8, 1, shape);
	int t = nb_tmp(nb, "t", 1 << 20), u = nb_tmp(nb, "u", 4096);
	int wide = nb_queue(nb, "wide", "data", SYNC, 16), other = nb_queue(nb, "other", "data",
									    SYNC, 1);
	const struct profile_event *packet;
	struct profile *profile;
	struct sum_rows rows;

	(void)state;
	nb_dma(nb, wide, nb_linear(t, 0, 1 << 20), nb_linear(x, 0, 1 << 20), -1);
	nb_dma(nb, other, nb_linear(u, 0, 4096), nb_linear(x, 0, 4096), -1);
	nb_halt(nb, SYNC);
	profile = profile_rig_profile(nb, "turns");
	packet = event_of(profile, queue + 16, 0);
	assert_int_equal(packet->begin_ns, event_of(profile, queue, 0)->end_ns);
	assert_int_equal(packet->why, PROFILE_WHY_ENGINE);
	assert_int_equal(profile->event[packet->cause].actor, queue);
	assert_int_equal(packet->wait_ns, packet->begin_ns - 17 * 16 * 10 / 12);
	rows = rows_of(profile, SUM_BY_QUEUE);
	assert_int_equal(rows.nr, 17);
	assert_int_equal(find_row(&rows, "wide[3]")->bytes, 65536);
	assert_int_equal(find_row(&rows, "wide[3]")->hbm_written, 65536);
	assert_int_equal(find_row(&rows, "other")->bytes, 4096);
	free(rows.row);
	rows = rows_of(profile, SUM_BY_ENGINE);
	assert_int_equal(find_row(&rows, "DMA 0")->bytes, 65536 + 4096);
	free(rows.row);
	profile_free(profile);
}

/* An event is a semaphore behind the others. */
static void waits_for_an_event(void **state)
{
	struct neuron_inst set = { .opcode = NEURON_OP_EVENT_SET, .imm0 = 5 };
	struct neuron_inst wait = { .opcode = NEURON_OP_EVENT_WAIT, .imm0 = 5 };
	struct nb_program *nb = nb_new("event");
	const struct profile_event *event;
	struct profile *profile;

	(void)state;
	nb_memset(nb, VECTOR, nb_tile(0, 128, 0, NEURON_DTYPE_FP32, 64), 1.0f);
	nb_raw(nb, VECTOR, &set);
	nb_halt(nb, VECTOR);
	nb_raw(nb, SCALAR, &wait);
	nb_halt(nb, SCALAR);
	profile = profile_rig_profile(nb, "event");
	event = event_of(profile, SCALAR, 0);
	assert_int_equal(event->why, PROFILE_WHY_SEMAPHORE);
	assert_int_equal(event->sem, NEURON_NR_SEMAPHORES + 5);
	assert_int_equal(profile->event[event->cause].code, NEURON_OP_EVENT_SET);
	/* It is set when the instruction begins. */
	assert_int_equal(event->wait_ns, event_of(profile, VECTOR, 1)->begin_ns);
	assert_true(event->wait_ns);
	profile_free(profile);
}

/* With LANDED a queue makes the post, when its last bytes are there. */
static void waits_for_what_landed(void **state)
{
	const uint32_t shape[] = { 4096 }, queue = NEURON_NR_ENGINES;
	struct nb_program *nb = nb_new("landed");
	int x = nb_input(nb, "x", NEURON_DTYPE_UINT8, 1, shape);
	int q = nb_queue(nb, "q", "data", SYNC, 1), sem = nb_sem(nb, false);
	int t = nb_tmp(nb, "t", 4096);
	struct neuron_inst trigger = {
		.opcode = NEURON_OP_DMA_TRIGGER, .imm0 = 1, .imm1 = 1,
		.mode = NEURON_INST_LANDED >> 8,
	};
	const struct profile_event *event;
	struct profile *profile;
	struct neuron_inst *inst;

	(void)state;
	/* The descriptors are those of a transfer whose trigger is made by hand. */
	inst = nb_dma(nb, q, nb_linear(t, 0, 4096), nb_linear(x, 0, 4096), -1);
	*inst = trigger;
	nb_post(inst, sem, 1);
	nb_halt(nb, SYNC);
	nb_wait(nb_nop(nb, VECTOR), sem, 1);
	nb_halt(nb, VECTOR);
	profile = profile_rig_profile(nb, "landed");
	event = event_of(profile, VECTOR, 0);
	assert_int_equal(event->why, PROFILE_WHY_SEMAPHORE);
	assert_int_equal(profile->event[event->cause].actor, queue);
	assert_int_equal(event->begin_ns, event_of(profile, queue, 0)->end_ns);
	profile_free(profile);
}

/* A pair of cores: the transfer of the first one posts to the second. */
static void a_core_waits_for_the_other(void **state)
{
	const uint32_t shape[] = { 4096 }, queue = NEURON_NR_ENGINES;
	struct nb_program *nb = nb_new("pair"), *second = nb_second(nb);
	int x = nb_input(nb, "x", NEURON_DTYPE_UINT8, 1, shape);
	int q = nb_queue(nb, "q", "data", SYNC, 1), t = nb_tmp(nb, "t", 4096);
	const struct profile_event *event;
	struct profile *profile;
	struct sum_rows rows;
	int sem;

	(void)state;
	nb_sem(second, false);
	sem = nb_sem(second, false);
	nb_dma(nb, q, nb_linear(t, 0, 4096), nb_linear(x, 0, 4096), -1);
	nb_dma_remote(nb, q, sem);
	nb_halt(nb, SYNC);
	nb_wait(nb_nop(second, GPSIMD), sem, 1);
	nb_halt(second, GPSIMD);
	profile = profile_rig_profile(nb, "pair");
	assert_int_equal(profile->nr_cores, 2);
	event = event_of(profile, PROFILE_ACTORS + GPSIMD, 0);
	assert_int_equal(event->why, PROFILE_WHY_SEMAPHORE);
	assert_int_equal(event->sem, sem);
	/* Behind the packet of the bytes. */
	assert_ptr_equal(&profile->event[event->cause], event_of(profile, queue, 1));
	assert_int_equal(event->begin_ns, profile->event[event->cause].end_ns);
	rows = rows_of(profile, SUM_BY_ENGINE);
	assert_int_equal(find_row(&rows, "0:DMA 0")->bytes, 4096);
	assert_int_equal(find_row(&rows, "1:gpsimd")->wait_ns, event->wait_ns);
	free(rows.row);
	profile_free(profile);
}

/* --- Bad input --- */

static void refuse(const char *profile, const char *neff, const char *why)
{
	char *path = profile_rig_path(profile, ".jsonl");
	char *image = profile_rig_path(neff, ".neff");
	struct nrt_error error = { .text = "" };
	struct profile *opened = profile_open(path, image, &error);

	if (opened)
		fail_msg("%s was opened, not refused with \"%s\"", profile, why);
	if (!strstr(error.text, why))
		fail_msg("\"%s\" is not in \"%s\"", why, error.text);
	assert_null(strchr(error.text, '\n'));
	free(image);
	free(path);
}

/* @from in the text of the profile "good" becomes @to. */
static void refuse_changed(const char *from, const char *to, const char *why)
{
	char *text = profile_rig_read("good", ".jsonl");
	char *at = strstr(text, from), *changed;
	int size;

	if (!at)
		fail_msg("\"%s\" is not in \"%s\"", from, text);
	size = asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	profile_rig_write("bad", ".jsonl", changed, (size_t)size);
	refuse("bad", "good", why);
	free(changed);
	free(text);
}

static struct nb_program *small_program(const char *name, float value)
{
	struct nb_program *nb = nb_new(name);

	nb_memset(nb, VECTOR, nb_tile(0, 128, 0, NEURON_DTYPE_FP32, 64), value);
	nb_halt(nb, VECTOR);
	return nb;
}

static void bad_profiles(void **state)
{
	char *text;
	size_t size, cut;

	(void)state;
	profile_rig_run(small_program("good", 1.0f), "good");
	text = profile_rig_read("good", ".jsonl");
	size = strlen(text);
	/* At each byte, but for the last newline. */
	for (cut = 0; cut + 1 < size; cut++) {
		profile_rig_write("bad", ".jsonl", text, cut);
		refuse("bad", "good", "bad.jsonl");
	}
	profile_rig_write("bad", ".jsonl", text, size - 1);
	free(text);
	profile_free(profile_rig_open("good"));
	refuse("nowhere", "good", "No such file");
	refuse("good", "nowhere", "No such file");
	profile_rig_write("junk", ".neff", "junk", 4);
	refuse("good", "junk", "junk.neff: truncated");
	refuse_changed("\"version\":1", "\"version\":2", "version 2; this neuron-profile knows up");
	refuse_changed("neuron-emu-profile", "neuron-emu-events", "not a device profile");
	refuse_changed("{\"format\"", "ELF", "bad.jsonl:1: not an object");
	refuse_changed("Trainium2", "Trainium9", "no chip that is known");
	refuse_changed("\"vector\"", "\"victor\"", "bad.jsonl:2: \"engine\"");
	refuse_changed("\"begin_ns\":0", "\"begin_ns\":99999999", "ends before it begins");
	refuse_changed("\"begin_ns\":0", "\"begin_ns\":-1", "no whole number");
	refuse_changed("\"begin_ns\":0", "\"begin_ns\":99999999999999999999", "too large");
	refuse_changed("\"pc\":0", "\"pc\":7", "no such instruction");
	refuse_changed("\"opcode\":36", "\"opcode\":35", "no such instruction");
	refuse_changed("\"pc\":0", "\"pc\":0,\"physical_core\":1", "no such physical core");
	refuse_changed("\"events\":2", "\"events\":3", "cut off: 2 of 3 events");
	refuse_changed("\"events\":2", "\"events\":1", "more events than");
	refuse_changed("\"events\":2", "\"events\":16777216", "cut off");
	refuse_changed("\"kind\":\"instruction\"", "\"kind\":\"surprise\"", "neither instruction");
	refuse_changed("{\"kind\":\"instruction\",\"engine\":\"vector\",\"opcode\":36,\"pc\":0",
		       "{\"kind\":\"transfer\",\"dma_engine\":0,\"queue\":0,\"descriptors\":1,\"first\":0,\"bytes\":4",
		       "no such queue");
}

/* A profile of another NEFF, with the same name and the same instructions. */
static void another_neff(void **state)
{
	(void)state;
	profile_rig_run(small_program("good", 1.0f), "good");
	profile_rig_run(small_program("good", 2.0f), "same");
	profile_rig_run(small_program("other", 1.0f), "other");
	refuse("good", "same", "the profile is of another NEFF");
	refuse("good", "other", "the profile is of model \"good\", the NEFF of \"other\"");
	refuse_changed("\"model_name\":\"good\"", "\"model_name\":\"evil\"", "of model \"evil\"");
}

/* The chip's clock begins at 0 for each of them. */
#define FRESH(test) \
	cmocka_unit_test_setup_teardown(test, profile_rig_begin, profile_rig_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(bytes_of_a_transfer),
		FRESH(flops_of_a_product),
		FRESH(flops_of_lanes),
		FRESH(bytes_of_an_operation),
		FRESH(bytes_that_an_instruction_generates),
		FRESH(loads_again_and_again),
		FRESH(one_engine_waits),
		FRESH(a_queue_waits_for_its_engine),
		FRESH(waits_for_an_event),
		FRESH(waits_for_what_landed),
		cmocka_unit_test_setup_teardown(a_core_waits_for_the_other,
						profile_rig_begin_pair, profile_rig_end),
		FRESH(bad_profiles),
		FRESH(another_neff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
