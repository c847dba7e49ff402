// SPDX-License-Identifier: MIT
/*
 * Descriptors that compute, from the text of a NEFF to the bytes in HBM: the chip's results are
 * compared with the elements worked out one by one.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff_rig.h"
#include "neuron/address.h"
#include "nrt_neff_rig.h"

#define VAR_BYTES	(2u << 20)
#define DONE		5
#define QUEUES		3

#define VAR(name, id, type) \
	"'" name "': { 'type': '" type "', 'var_id': " id ", 'size': 2097152 }"
#define DEF \
	"{ 'isa': 'neuron-emu-1', 'engines': { 'sync': { 'instructions': 'sync.bin', " \
	"'descriptors': 'sync.json' } }, 'dma_queue': { 'q': { 'type': 'data', " \
	"'num_queues': 3, 'queue_index': 0 } }, 'var': { " VAR("a", "1", "tmp-buf") ", " \
	VAR("b", "2", "tmp-buf") ", " VAR("c", "3", "tmp-buf") ", " \
	"'p': { 'type': 'pointer', 'var_id': 4, 'size': 8, 'referenced_var_id': 2 } } }"
#define DESC(text) \
	"{ 'dma': [ { 'id': 0, 'queue': 'q', 'semaphore': 5, 'desc': { " text " } } ] }"
#define SIDE(end, var, off, steps, sizes) \
	"'" end "': '" var "', '" end "_off': " off ", '" end "_steps': [ " steps " ], '" end \
	"_sizes': [ " sizes " ]"

/* A side as a test reads it: elements. */
struct side {
	size_t offset;
	size_t num[4];
	long step[4];
};

struct chip {
	struct seq_rig rig;
	struct neff_rig loaded;
	uint8_t *a;
	uint8_t *b;
	uint8_t *c;
};

static uint8_t *pack(const char *descs_text, size_t *size)
{
	char *def = rig_json(DEF), *descs = rig_json(descs_text);
	struct neuron_inst image[QUEUES + 2] = {
		{ .opcode = NEURON_OP_PSEUDO_DMA_TRIGGER },
		{ .opcode = NEURON_OP_NOP },
		{ .opcode = NEURON_OP_NOP },
		{ .opcode = NEURON_OP_NOP, .wait_sem = htole16(DONE),
		  .wait_value = htole32(QUEUES),
		  .sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE) },
		{ .opcode = NEURON_OP_HALT },
	};
	struct rig_file files[] = {
		{ "sg00/def.json", def, strlen(def) },
		{ "sg00/sync.json", descs, strlen(descs) },
		{ "sg00/sync.bin", image, sizeof(image) },
		{ NULL, NULL, 0 },
	};
	uint8_t *data = rig_pack(files, 0, size);

	free(def);
	free(descs);
	return data;
}

static void start(struct chip *chip, const char *descs)
{
	size_t size;
	uint8_t *data = pack(descs, &size);

	seq_rig_init(&chip->rig, &neuron_gen_trn2, 2, 1, false);
	neff_rig_load(&chip->loaded, &chip->rig, data, size);
	chip->a = neff_rig_var(&chip->loaded, "a");
	chip->b = neff_rig_var(&chip->loaded, "b");
	chip->c = neff_rig_var(&chip->loaded, "c");
	memset(chip->c, 0xa5, VAR_BYTES);
	free(data);
}

static void run(struct chip *chip)
{
	struct neuron_hw_completion record;

	neff_rig_submit(&chip->loaded);
	record = neff_rig_wait(&chip->loaded);
	if (record.status != NEURON_JOB_OK)
		fail_msg("status %u, cause %u, source %#x, pc %u", record.status, record.cause,
			 record.source, record.pc);
}

static void stop(struct chip *chip)
{
	neff_rig_free(&chip->loaded);
	seq_rig_destroy(&chip->rig);
}

/* Exact in all types that the tests use. */
static float some_value(size_t i)
{
	return (float)((int)(i * 37 % 255) - 127);
}

static void fill_fp32(uint8_t *memory, size_t salt)
{
	float value;
	size_t i;

	for (i = 0; i < VAR_BYTES / 4; i++) {
		value = some_value(i + salt);
		memcpy(memory + 4 * i, &value, 4);
	}
}

static size_t at(const struct side *side, size_t n)
{
	long offset = (long)side->offset;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		offset += side->step[i] * (long)(n % side->num[i]);
		n /= side->num[i];
	}
	return (size_t)offset;
}

static float fp32_at(const uint8_t *memory, size_t offset)
{
	float value;

	memcpy(&value, memory + offset, 4);
	return value;
}

static float bf16_at(const uint8_t *memory, size_t offset)
{
	uint32_t bits = (uint32_t)(memory[offset] | memory[offset + 1] << 8) << 16;
	float value;

	memcpy(&value, &bits, 4);
	return value;
}

static void expect(size_t n, float got, float want)
{
	if (got != want)
		fail_msg("element %zu is %g, not %g", n, (double)got, (double)want);
}

/* Shapes that have nothing in common, and more elements than an operation takes. */
static void cast_between_shapes(void **state)
{
	const struct side from = { 8, { 50, 30, 20, 10 }, { 4, 208, 6272, 125600 } };
	const struct side to = { 640000, { 60, 500, 10, 1 }, { 2, -1240, 124, 0 } };
	struct chip chip;
	size_t i;

	(void)state;
	start(&chip, DESC("'op': 'cast', 'from_dtype': 'float32', 'to_dtype': 'bfloat16', "
			  SIDE("from", "a", "8", "1, 208, 6272, 125600", "200, 30, 20, 10") ", "
			  SIDE("to", "c", "640000", "1, -1240, 124", "120, 500, 10")));
	fill_fp32(chip.a, 0);
	run(&chip);
	for (i = 0; i < 300000; i++)
		expect(i, bf16_at(chip.c, at(&to, i)), fp32_at(chip.a, at(&from, i)));
	assert_int_equal(chip.c[640000 + 1116 + 120], 0xa5);
	stop(&chip);
}

#define SOURCE(var, off, more) \
	"{ " SIDE("from", var, off, "1, 1000", "400, 300") ", 'from_dtype': 'float32'" more " }"
#define TO_ROWS		SIDE("to", "c", "4", "1", "120000") ", 'to_dtype': 'float32'"

/* Element @i of a source of 300 rows of 100 floats. */
static float row_value(const uint8_t *memory, size_t offset, size_t i)
{
	return fp32_at(memory, offset + i / 100 * 1000 + i % 100 * 4);
}

static void sums(void **state)
{
	struct chip chip;
	float want;
	size_t i;

	(void)state;
	start(&chip, DESC("'op': 'add', 'from_arr': [ " SOURCE("a", "0", "") ", "
			  SOURCE("b", "16", "") ", " SOURCE("a", "4", "") " ], " TO_ROWS));
	fill_fp32(chip.a, 0);
	fill_fp32(chip.b, 11);
	run(&chip);
	for (i = 0; i < 30000; i++) {
		want = row_value(chip.a, 0, i) + row_value(chip.b, 16, i) +
		       row_value(chip.a, 4, i);
		expect(i, fp32_at(chip.c, 4 + 4 * i), want);
	}
	stop(&chip);
	start(&chip, DESC("'op': 'fma', 'scale': 3, 'scale_dtype': 'float32', 'from_arr': [ "
			  SOURCE("a", "0", "") ", " SOURCE("b", "16", ", 'scale': -0.5") " ], "
			  TO_ROWS));
	fill_fp32(chip.a, 3);
	fill_fp32(chip.b, 12);
	run(&chip);
	for (i = 0; i < 30000; i++) {
		want = 3 * row_value(chip.a, 0, i) - 0.5f * row_value(chip.b, 16, i);
		expect(i, fp32_at(chip.c, 4 + 4 * i), want);
	}
	stop(&chip);
}

static void limits_and_constants(void **state)
{
	struct chip chip;
	float a, b, want;
	size_t i;

	(void)state;
	start(&chip, DESC("'op': 'max', 'constant_dtype': 'int32', 'constant': 17, 'from_arr': [ "
			  SOURCE("a", "0", "") ", " SOURCE("b", "16", "") " ], " TO_ROWS));
	fill_fp32(chip.a, 0);
	fill_fp32(chip.b, 99);
	run(&chip);
	for (i = 0; i < 30000; i++) {
		a = row_value(chip.a, 0, i);
		b = row_value(chip.b, 16, i);
		want = a > b ? a : b;
		expect(i, fp32_at(chip.c, 4 + 4 * i), want > 17 ? want : 17);
	}
	stop(&chip);
	/* Without constant_dtype the constant is ignored. */
	start(&chip, DESC("'op': 'min', 'constant': -1000, 'from_arr': [ "
			  SOURCE("a", "0", "") ", " SOURCE("b", "16", "") " ], " TO_ROWS));
	fill_fp32(chip.a, 0);
	fill_fp32(chip.b, 99);
	run(&chip);
	for (i = 0; i < 30000; i++) {
		a = row_value(chip.a, 0, i);
		b = row_value(chip.b, 16, i);
		expect(i, fp32_at(chip.c, 4 + 4 * i), a < b ? a : b);
	}
	stop(&chip);
}

static void check_transpose(const char *desc, size_t rows, size_t columns, size_t planes)
{
	struct chip chip;
	size_t p, r, c;

	start(&chip, desc);
	fill_fp32(chip.a, 5);
	run(&chip);
	for (p = 0; p < planes; p++)
		for (r = 0; r < rows; r++)
			for (c = 0; c < columns; c++)
				assert_memory_equal(chip.c + 2 * ((p * columns + c) * rows + r),
						    chip.a + 2 * ((p * rows + r) * columns + c),
						    2);
	stop(&chip);
}

#define BY_SIZE		"'op': 'transpose', 'transpose_element_size': 2"
#define BY_DTYPE	"'op': 'transpose', 'from_dtype': 'bfloat16', 'to_dtype': 'bfloat16'"

static void transposes(void **state)
{
	(void)state;
	/* A plane is more than an operation takes. */
	check_transpose(DESC(BY_SIZE ", 'transpose_shape': [ 500, 700, 2, 1 ], "
			     SIDE("from", "a", "0", "1, 1400, 700000", "1400, 500, 2") ", "
			     SIDE("to", "c", "0", "1, 1000, 700000", "1000, 700, 2")),
			500, 700, 2);
	check_transpose(DESC(BY_DTYPE ", "
			     SIDE("from", "a", "0", "1, 20, 600", "20, 30, 900") ", "
			     SIDE("to", "c", "0", "1, 60, 600", "60, 10, 900")),
			30, 10, 900);
}

static void pointers_hold_addresses(void **state)
{
	struct chip chip;

	(void)state;
	/* The pointer is copied like any other bytes. */
	start(&chip, DESC(SIDE("from", "p", "0", "1", "8") ", " SIDE("to", "c", "8", "1", "8")));
	run(&chip);
	assert_int_equal(le64toh(*(uint64_t *)(chip.c + 8)), neuron_window_addr(2, 0));
	stop(&chip);
}

static const struct { const char *desc, *word; } refusals[] = {
	{ DESC("'op': 'warp'"), "op 'warp' is not supported, only cast, transpose, add, " },
	{ DESC("'op': 'cast', 'scale': 1"), "key 'scale' is not supported, only op, " },
	{ DESC("'op': 'cast', 'from_dtype': 'int64', 'to_dtype': 'float32', "
	       SIDE("from", "a", "0", "1", "8") ", " SIDE("to", "c", "0", "1", "4")),
	  "from int64 to float32: the DMA engines compute" },
	{ DESC("'op': 'cast', 'from_dtype': 'float32', 'to_dtype': 'float16', "
	       SIDE("from", "a", "0", "1", "6") ", " SIDE("to", "c", "0", "1", "4")),
	  "no multiple of the 4 bytes" },
	{ DESC("'op': 'cast', 'from_dtype': 'float32', 'to_dtype': 'float16', "
	       SIDE("from", "a", "0", "8", "8") ", " SIDE("to", "c", "0", "1", "4")),
	  "'from_steps' must be 1" },
	{ DESC("'op': 'cast', 'from_dtype': 'float32', 'to_dtype': 'float16', "
	       SIDE("from", "a", "0", "1", "8") ", " SIDE("to", "c", "0", "1", "6")),
	  "'from' has 2 elements and 'to' has 3; both need as many" },
	{ DESC("'op': 'add', " TO_ROWS), "'from_arr' is missing" },
	{ DESC("'op': 'add', 'from_arr': [], " TO_ROWS), "0 sources instead of 1 to 16" },
	{ DESC("'op': 'add', 'from_arr': [ " SOURCE("a", "0", ", 'scale': 2") " ], " TO_ROWS),
	  "source 0: only op 'fma' has a scale; leave it out" },
	{ DESC("'op': 'add', 'from_arr': [ 7 ], " TO_ROWS),
	  "sg00/sync.json: descriptor 0: source 0: must be of type object, not int" },
	{ DESC("'op': 'fma', 'scale': 'x', 'from_arr': [], " TO_ROWS),
	  "'scale' must be a number, not of type string" },
	{ DESC("'op': 'add', 'from_arr': [ " SOURCE("a", "0", "") ", { "
	       SIDE("from", "b", "0", "1", "120000") ", 'from_dtype': 'float32' } ], " TO_ROWS),
	  "source 1: all sources must have the same sizes, steps and dtype as source 0" },
	{ DESC("'op': 'fma', 'scale_dtype': 'float16', 'from_arr': [], " TO_ROWS),
	  "scale_dtype 'float16' instead of float32" },
	{ DESC("'op': 'min', 'constant_dtype': 'int8', 'from_arr': [], " TO_ROWS),
	  "constant_dtype 'int8'" },
	{ DESC("'op': 'min', 'constant_dtype': 'int32', 'from_arr': [], " TO_ROWS),
	  "key 'constant' is missing, because 'constant_dtype'" },
	{ DESC("'op': 'min', 'constant_dtype': 'int32', 'constant': 1, 'from_arr': [ "
	       SOURCE("c", "1048576", "") " ], " TO_ROWS),
	  "'c' cannot be a source and the destination; write" },
	{ DESC("'op': 'transpose', 'transpose_element_size': 8, "
	       SIDE("from", "a", "0", "1", "8") ", " SIDE("to", "c", "0", "1", "8")),
	  "elements of 8 bytes" },
	{ DESC("'op': 'transpose', 'transpose_element_size': 2, "
	       SIDE("from", "a", "0", "1, 8", "8, 2") ", " SIDE("to", "c", "0", "1, 8", "8, 2")),
	  "dimensions 0 and 1 exchanged" },
	{ DESC("'op': 'transpose', 'transpose_element_size': 2, 'transpose_shape': [ 2, 4 ], "
	       SIDE("from", "a", "0", "1, 8", "8, 2") ", " SIDE("to", "c", "0", "1, 4", "4, 4")),
	  "'transpose_shape' must be the 4" },
};

static void refused(void **state)
{
	size_t i, size;

	(void)state;
	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		uint8_t *data = pack(refusals[i].desc, &size);
		struct nrt_error error;
		struct neff *neff;

		rig_refused(i, rig_read(data, size, &neff, &error), &error, refusals[i].word);
		free(data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cast_between_shapes),
		cmocka_unit_test(sums),
		cmocka_unit_test(limits_and_constants),
		cmocka_unit_test(transposes),
		cmocka_unit_test(pointers_hold_addresses),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests_name("neff_op", tests, NULL, NULL);
}
