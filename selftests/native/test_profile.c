// SPDX-License-Identifier: MIT
/*
 * neuron-profile: programs whose costs can be worked out by hand from the tables of
 * Documentation/hardware/device-time.rst run on a Trainium2, and the tool must say so.
 */
#include <json-c/json.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile_rig.h"

#define TENSOR	NEURON_ENGINE_TENSOR
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
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

/* --- What is written --- */

/* A program with a trigger, packets, a wait and a name that needs care. */
static struct nb_program *shown_program(void)
{
	const uint32_t shape[] = { 16, 2048 };
	struct nb_program *nb = nb_new("shown </script>");
	int x = nb_input(nb, "x", NEURON_DTYPE_UINT8, 2, shape);
	int q = nb_queue(nb, "q", "in", SYNC, 1), sem = nb_sem(nb, false);
	struct neuron_ap tile = nb_tile(0, 16, 0, NEURON_DTYPE_FP32, 64);

	nb_source(nb, "shown.c", 3);
	nb_dma(nb, q, nb_sbuf_tile(nb, 0, 16, 0, 2048), nb_linear(x, 0, 16 * 2048), sem);
	nb_halt(nb, SYNC);
	nb_source(nb, "shown.c", 5);
	nb_wait(nb_tensor_tensor(nb, VECTOR, NEURON_ALU_ADD, tile, tile, tile), sem, 1);
	nb_source(nb, NULL, 0);
	nb_halt(nb, VECTOR);
	return nb;
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("there is no \"%s\"", key);
	return value;
}

static int64_t int_of(struct json_object *object, const char *key)
{
	return json_object_get_int64(member(object, key));
}

/* Slices have the times of the events; each arrow has two ends. */
static void a_trace(void **state)
{
	struct profile *profile = profile_rig_profile(shown_program(), "shown");
	unsigned int slices = 0, begins = 0, ends = 0, causes = 0;
	struct json_object *root, *events;
	struct nrt_error error;
	char *text = NULL;
	size_t size, i;
	FILE *out;

	(void)state;
	out = open_memstream(&text, &size);
	assert_int_equal(view_trace(profile, out, &error), NRT_SUCCESS);
	fclose(out);
	root = json_tokener_parse(text);
	assert_non_null(root);
	events = member(root, "traceEvents");
	for (i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		const char *phase = json_object_get_string(member(event, "ph"));

		begins += *phase == 's';
		ends += *phase == 'f';
		if (*phase != 'X')
			continue;
		assert_true(json_object_get_double(member(event, "ts")) * 1000 ==
			    (double)profile->event[slices].begin_ns);
		slices++;
	}
	for (i = 0; i < profile->nr_events; i++)
		causes += profile->event[i].cause != PROFILE_NONE;
	assert_int_equal(slices, profile->nr_events);
	/* The queue's start, and the vector engine's wait. */
	assert_int_equal(causes, 2);
	assert_int_equal(begins, causes);
	assert_int_equal(ends, causes);
	json_object_put(root);
	free(text);
	profile_free(profile);
}

/* What is between the tag that begins with @tag and the end of the script. */
static char *script(const char *page, const char *tag)
{
	const char *at = strstr(page, tag);

	if (!at)
		fail_msg("the page has no %s", tag);
	at = strchr(at, '>') + 1;
	return strndup(at, (size_t)(strstr(at, "</script>") - at));
}

static uint32_t *read_column(const char *page, const char *id, uint32_t events)
{
	uint32_t *numbers;
	char tag[64], *text;
	int size;

	snprintf(tag, sizeof(tag), "id=\"column-%s\"", id);
	text = script(page, tag);
	numbers = malloc(strlen(text) + 4);
	assert_non_null(numbers);
	size = EVP_DecodeBlock((unsigned char *)numbers, (const unsigned char *)text,
			       (int)strlen(text));
	/* Without the bytes of the padding. */
	assert_true(size >= 4 * (int)events && size < 4 * (int)events + 3);
	free(text);
	return numbers;
}

static char *page_of(const struct profile *profile, const char *folder)
{
	struct nrt_error error;
	char *text = NULL;
	size_t size;
	FILE *out;

	out = open_memstream(&text, &size);
	assert_int_equal(view_html(profile, folder, out, &error), NRT_SUCCESS);
	fclose(out);
	return text;
}

/* The events of the page, lane by lane, are those of the profile. */
static void compare_page(const struct profile *profile, const char *page, struct json_object *root)
{
	uint32_t *begin = read_column(page, "begin", profile->nr_events);
	uint32_t *length = read_column(page, "length", profile->nr_events);
	uint32_t *cause = read_column(page, "cause", profile->nr_events);
	uint32_t *name = read_column(page, "name", profile->nr_events);
	struct json_object *names = member(root, "names"), *shown;
	char text[PROFILE_TEXT];
	uint32_t i;

	for (i = 0; i < profile->nr_events; i++) {
		const uint32_t index = profile->order[i];
		const struct profile_event *event = &profile->event[index];

		assert_int_equal(begin[i], event->begin_ns);
		assert_int_equal(length[i], event->end_ns - event->begin_ns);
		assert_int_equal(cause[i] == PROFILE_NONE, event->cause == PROFILE_NONE);
		if (event->cause != PROFILE_NONE)
			assert_int_equal(profile->order[cause[i]], event->cause);
		profile_event_name(profile, index, text);
		shown = json_object_array_get_idx(names, name[i]);
		assert_string_equal(json_object_get_string(shown), text);
	}
	free(begin);
	free(length);
	free(cause);
	free(name);
}

/* One file that needs nothing else; what a program is called does not end a script. */
static void a_page(void **state)
{
	struct profile *profile = profile_rig_profile(shown_program(), "shown");
	char *page = page_of(profile, NULL), *text;
	struct json_object *root;

	(void)state;
	assert_null(strstr(page, "http:"));
	assert_null(strstr(page, "https:"));
	assert_null(strstr(page, " src="));
	text = script(page, "id=\"profile\"");
	root = json_tokener_parse(text);
	assert_non_null(root);
	assert_string_equal(json_object_get_string(member(root, "model")), "shown </script>");
	assert_int_equal(int_of(root, "events"), profile->nr_events);
	assert_int_equal(int_of(root, "device_ns"), profile->length_ns);
	/* vector, sync, and the queue. */
	assert_int_equal(json_object_array_length(member(root, "lanes")), 3);
	assert_null(member(member(root, "files"), "shown.c"));
	compare_page(profile, page, root);
	json_object_put(root);
	free(text);
	free(page);
	profile_free(profile);
}

/* The source is beside it, if it is where the user says. */
static void a_page_with_source(void **state)
{
	const char *source = "one\n<two> \"\\\n";
	struct profile *profile = profile_rig_profile(shown_program(), "shown");
	struct json_object *root;
	char *page, *text;

	(void)state;
	profile_rig_write("shown", ".c", source, strlen(source));
	page = page_of(profile, profile_rig_folder());
	text = script(page, "id=\"profile\"");
	root = json_tokener_parse(text);
	assert_non_null(root);
	assert_string_equal(json_object_get_string(member(member(root, "files"), "shown.c")),
			    source);
	json_object_put(root);
	free(text);
	free(page);
	profile_free(profile);
}

/* JSON of a view, and the difference of two profiles. */
static void json_of_views(void **state)
{
	const struct view_options options = { .format = VIEW_JSON, .by = SUM_NR_BYS };
	struct profile *one = profile_rig_profile(shown_program(), "shown"), *two;
	struct json_object *root, *lines, *row;
	struct nrt_error error;
	char *text = NULL;
	size_t size;
	FILE *out;

	(void)state;
	out = open_memstream(&text, &size);
	assert_int_equal(view_print(one, &options, out, &error), NRT_SUCCESS);
	fclose(out);
	root = json_tokener_parse(text);
	assert_int_equal(int_of(root, "device_ns"), one->length_ns);
	assert_int_equal(int_of(root, "hbm_read"), 32768);
	assert_int_equal(int_of(root, "other_flops"), 16 * 64);
	assert_int_equal(json_object_array_length(member(root, "waits")), 2);
	json_object_put(root);
	free(text);

	profile_rig_run(NULL, "shown");
	two = profile_rig_open("shown");
	out = open_memstream(&text, &size);
	assert_int_equal(view_diff(one, two, &options, out, &error), NRT_SUCCESS);
	fclose(out);
	root = json_tokener_parse(text);
	lines = member(root, "line");
	assert_int_equal(json_object_array_length(lines), 3);
	row = member(json_object_array_get_idx(lines, 0), "flops");
	assert_int_equal(json_object_get_int64(json_object_array_get_idx(row, 0)),
			 json_object_get_int64(json_object_array_get_idx(row, 1)));
	json_object_put(root);
	free(text);
	profile_free(two);
	profile_free(one);
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
		FRESH(loads_again_and_again),
		FRESH(one_engine_waits),
		FRESH(a_queue_waits_for_its_engine),
		FRESH(waits_for_an_event),
		FRESH(waits_for_what_landed),
		FRESH(a_trace),
		FRESH(a_page),
		FRESH(a_page_with_source),
		FRESH(json_of_views),
		FRESH(bad_profiles),
		FRESH(another_neff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
