// SPDX-License-Identifier: MIT
/*
 * The NEFF reader: what the builder writes is read as it was meant, and what has to do with
 * headers, archives and two subgraphs. test_nrt_neff_bad.c has what else is refused.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "neuron/address.h"
#include "neuron_builder.h"
#include "nrt_neff_rig.h"

#define ENGINES	"'engines': { 'sync': { 'instructions': 'sync.bin', " \
		"'descriptors': 'sync.json' } }"
#define PLAIN	"'engines': { 'sync': { 'instructions': 'sync.bin' } }"
#define DEF(more)	"{ 'isa': 'neuron-emu-1', " PLAIN more " }"
#define NPY_VAR	"'a': { 'type': 'file', 'var_id': 7, 'size': 4, 'file_name': 'a.npy' }"
#define VIRTUAL_VAR \
	"'b': { 'type': 'virtual', 'var_id': 3, 'size': 8, 'backing_variable_off': 64, 'ops': [] }"

static void builder_round_trip(void **state)
{
	const uint32_t shape[] = { 2, 8 };
	struct nb_program *nb = nb_new("round trip");
	int x = nb_input(nb, "x", NEURON_DTYPE_BF16, 2, shape);
	int y = nb_output(nb, "y", NEURON_DTYPE_BF16, 2, shape);
	int t = nb_tmp(nb, "t", 100);
	int c = nb_file(nb, "c.bin", "0123456789", 10);
	int queue = nb_queue(nb, "q", "data", NEURON_ENGINE_SYNC, 3);
	int sem = nb_sem(nb, false);
	struct nrt_error error;
	struct neff *neff;
	void *data;
	size_t size;

	(void)state;
	nb_notify_bytes(nb, 4096);
	nb_dma(nb, queue, nb_linear(t, 4, 32), nb_linear(x, 0, 32), sem);
	nb_dma(nb, queue, nb_linear(y, 0, 10), nb_linear(c, 0, 10), -1);
	nb_halt(nb, NEURON_ENGINE_SYNC);
	assert_int_equal(nb_pack(nb, &data, &size), 0);
	nb_free(nb);

	assert_int_equal(rig_read(data, size, &neff, &error), NRT_SUCCESS);
	assert_string_equal(neff->name, "round trip");
	assert_int_equal(neff->graphs[0].nr_vars, 4);
	assert_string_equal(neff->graphs[0].vars[0].name, "x");
	assert_int_equal(neff->graphs[0].vars[0].type, NEFF_VAR_INPUT);
	assert_int_equal(neff->graphs[0].vars[0].dtype, NEURON_DTYPE_BF16);
	assert_int_equal(neff->graphs[0].vars[0].ndim, 2);
	assert_int_equal(neff->graphs[0].vars[0].shape[1], 8);
	assert_int_equal(neff->graphs[0].vars[2].size, 100);
	assert_memory_equal(neff->graphs[0].vars[3].data, "0123456789", 10);
	assert_int_equal(neff->graphs[0].nr_sets, 1);
	assert_int_equal(neff->graphs[0].sets[0].num, 3);
	assert_int_equal(neff->graphs[0].nr_queues, 3);
	assert_int_equal(neff->graphs[0].nr_descs, 2);
	assert_int_equal(neff->graphs[0].descs[0].semaphore, sem);
	assert_int_equal(neff->graphs[0].descs[0].to.offset, 4);
	assert_int_equal(neff->graphs[0].descs[0].bytes, 32);
	assert_int_equal(neff->graphs[0].descs[1].semaphore, -1);
	assert_int_equal(neff->graphs[0].notify_bytes, 4096);
	assert_true(neff->graphs[0].has_sem_clear);
	/* Trigger and two more for the other queues, twice, then halt. */
	assert_int_equal(neff->graphs[0].image_count[NEURON_ENGINE_SYNC], 7);
	assert_null(neff->graphs[0].image[NEURON_ENGINE_TENSOR]);
	/* It is where the file has it. */
	assert_true(neff->graphs[0].vars[3].data > (uint8_t *)data);
	assert_true(neff->graphs[0].vars[3].data < (uint8_t *)data + size);
	neff_drop_files(neff);
	free(data);
	assert_null(neff->graphs[0].vars[3].data);
	neff_free(neff);
}

static void archives(void **state)
{
	char *def = rig_json(DEF(", 'var': { " NPY_VAR ", " VIRTUAL_VAR " }"));
	static const char npy[] = "\x93NUMPY\x01\x00\x04\x00{  }WXYZ";
	struct neuron_inst halt = { .opcode = NEURON_OP_HALT };
	struct rig_file files[] = {
		{ "kelf-a.json", "{}", 2 },
		{ "./sg00/def.json", def, strlen(def) },
		{ "./sg00/sync.bin", &halt, sizeof(halt) },
		{ "./sg00/a.npy", npy, sizeof(npy) - 1 },
		{ NULL, NULL, 0 },
	};
	struct nrt_error error;
	struct neff *neff;
	uint8_t *data;
	size_t size;
	int gzip;

	(void)state;
	for (gzip = 0; gzip < 2; gzip++) {
		data = rig_pack(files, gzip, &size);
		assert_int_equal(rig_read(data, size, &neff, &error), NRT_SUCCESS);
		/* Ascending var_id. */
		assert_string_equal(neff->graphs[0].vars[0].name, "b");
		assert_int_equal(neff->graphs[0].scratch_bytes, 72);
		assert_memory_equal(neff->graphs[0].vars[1].data, "WXYZ", 4);
		neff_free(neff);
		assert_int_equal(rig_read(data, size - 1, &neff, &error), NRT_INVALID);
		assert_non_null(strstr(error.text, "truncated"));
		assert_int_equal(rig_read(data, 1023, &neff, &error), NRT_INVALID);
		assert_non_null(strstr(error.text, "truncated"));
		free(data);
	}
	files[1].path = "sg00/other.json";
	data = rig_pack(files, 0, &size);
	assert_int_equal(rig_read(data, size, &neff, &error), NRT_INVALID);
	assert_non_null(strstr(error.text, "sg00/def.json"));
	free(data);
	free(def);
}

static void unpacking_has_a_limit(void **state)
{
	struct neff_limits limits = { .unpacked_bytes = 1000 };
	uint8_t *zeros = calloc(1, 500000), *data;
	struct rig_file files[] = {
		{ "sg00/def.json", "{}", 2 },
		{ "sg00/big.bin", zeros, 500000 },
		{ NULL, NULL, 0 },
	};
	struct nrt_error error;
	struct neff *neff;
	size_t size;

	(void)state;
	data = rig_pack(files, 1, &size);
	assert_int_equal(neff_read(data, size, &limits, &neff, &error), NRT_RESOURCE);
	assert_non_null(strstr(error.text, "big.bin: with it the files have more than 1000 bytes"));
	/* Who has no reason for another limit says nothing: that of the runtime holds. */
	limits.unpacked_bytes = 0;
	assert_int_equal(neff_read(data, size, &limits, &neff, &error),
			 NRT_UNSUPPORTED_NEFF_VERSION);
	assert_null(strstr(error.text, "big.bin"));
	free(data);
	free(zeros);
}

#define POINTER_VAR \
	"'p': { 'type': 'pointer', 'var_id': 9, 'size': 8, 'referenced_var_id': 30 }"
#define TABLE_VAR	"'t': { 'type': 'dge-table', 'var_id': 4, 'size': 24, 'list': [ 30, 9, 30 ] }"
#define TMP_VAR		"'a': { 'type': 'tmp-buf', 'var_id': 30, 'size': 8 }"

static void tables_of_addresses(void **state)
{
	const struct neff_graph *graph;
	struct nrt_error error;
	struct neff *neff;

	(void)state;
	if (rig_read_text(DEF(", 'var': { " POINTER_VAR ", " TABLE_VAR ", " TMP_VAR " }"), NULL,
			  &neff, &error))
		fail_msg("%s", error.text);
	graph = &neff->graphs[0];
	assert_int_equal(graph->vars[0].type, NEFF_VAR_DGE_TABLE);
	assert_int_equal(graph->vars[0].nr_refs, 3);
	assert_int_equal(graph->vars[0].refs[1], 1);
	assert_ptr_equal(graph->vars[0].data, graph->vars[0].table);
	assert_int_equal(le64toh(graph->vars[0].table[1]), neuron_window_addr(9, 0));
	assert_int_equal(le64toh(graph->vars[0].table[2]), neuron_window_addr(30, 0));
	assert_int_equal(le64toh(graph->vars[1].table[0]), neuron_window_addr(30, 0));
	neff_drop_files(neff);
	assert_null(graph->vars[1].data);
	assert_int_equal(graph->vars[1].refs[0], 2);
	neff_free(neff);
}

#define SIDE(name, var, off, step, size) \
	"'" name "': '" var "', '" name "_off': " off ", '" name "_steps': [ " step " ], '" \
	name "_sizes': [ " size " ]"
#define INSTANCES \
	"{ 'isa': 'neuron-emu-1', " ENGINES ", 'dma_queue': { " \
	"'s': { 'type': 'data', 'queue_index': 1, 'num_queues': 2, 'semaphore': 7, " \
	"'queue_instances': [ 's', 'other' ] } }, 'var': { " \
	"'a': { 'type': 'tmp-buf', 'var_id': 1, 'size': 256 } } }"
#define INSTANCE(name, more) \
	"{ 'id': 0, 'queue': 'none', 'instance_name': '" name "', " more " 'desc': { " \
	SIDE("from", "a", "0", "1", "128") ", " SIDE("to", "a", "128", "1", "128") \
	", 'num_tiling_dimensions': 2 } }"

static void queue_instances(void **state)
{
	const struct neff_graph *graph;
	struct nrt_error error;
	struct neff *neff;

	(void)state;
	if (rig_read_text(INSTANCES, "{ 'dma': [ " INSTANCE("other", "") ", "
			  INSTANCE("s", "'semaphore': 9, 'section_start_desc': true,") " ] }",
			  &neff, &error))
		fail_msg("%s", error.text);
	graph = &neff->graphs[0];
	assert_int_equal(graph->nr_sets, 2);
	assert_int_equal(graph->nr_queues, 5);
	assert_true(graph->sets[1].instance);
	assert_int_equal(graph->sets[1].index, 3);
	assert_int_equal(graph->descs[0].set, 1);
	assert_int_equal(graph->descs[0].semaphore, 7);
	assert_false(graph->descs[0].first_queue);
	assert_int_equal(graph->descs[1].set, 0);
	assert_int_equal(graph->descs[1].semaphore, 9);
	assert_true(graph->descs[1].first_queue);
	neff_free(neff);
}

#define ON_A_PAGE \
	"'a': { 'type': 'virtual', 'var_id': 1, 'size': 512, 'backing_variable_off': 512 }"
#define ON_TWO_PAGES \
	"'b': { 'type': 'virtual', 'var_id': 2, 'size': 1024, 'backing_variable_off': 1536 }"

/* A variable that lies on two pages of the scratchpad gets memory of its own. */
static void scratchpad_pages(void **state)
{
	char *def = rig_json(DEF(", 'var': { " ON_A_PAGE ", " ON_TWO_PAGES " }"));
	struct neff_limits limits = { .unpacked_bytes = 1 << 20 };
	struct neuron_inst halt = { .opcode = NEURON_OP_HALT };
	struct rig_file files[] = {
		{ "sg00/def.json", def, strlen(def) },
		{ "sg00/sync.bin", &halt, sizeof(halt) },
		{ NULL, NULL, 0 },
	};
	struct nrt_error error;
	struct neff *neff;
	size_t size;
	uint8_t *data;

	(void)state;
	data = rig_pack(files, 0, &size);
	assert_int_equal(neff_read(data, size, &limits, &neff, &error), NRT_SUCCESS);
	assert_int_equal(neff->graphs[0].vars[1].type, NEFF_VAR_VIRTUAL);
	assert_int_equal(neff->graphs[0].scratch_bytes, 2560);
	neff_free(neff);
	limits.scratch_page = 1024;
	assert_int_equal(neff_read(data, size, &limits, &neff, &error), NRT_SUCCESS);
	assert_int_equal(neff->graphs[0].vars[0].type, NEFF_VAR_VIRTUAL);
	assert_int_equal(neff->graphs[0].vars[1].type, NEFF_VAR_TMP);
	assert_int_equal(neff->graphs[0].scratch_bytes, 1024);
	neff_free(neff);
	free(data);
	free(def);
}

/* Whatever is changed in a good file, the reader stays inside its memory. */
static void damaged(void **state)
{
	const uint32_t shape[] = { 64 };
	struct nb_program *nb = nb_new("damaged");
	struct neff_limits limits = { .unpacked_bytes = 1 << 20 };
	int x = nb_input(nb, "x", NEURON_DTYPE_FP32, 1, shape);
	int y = nb_output(nb, "y", NEURON_DTYPE_FP32, 1, shape);
	int queue = nb_queue(nb, "q", "data", NEURON_ENGINE_SYNC, 1);
	uint64_t random = 88172645463325252ull;
	struct nrt_error error;
	struct neff *neff;
	uint8_t *good, *bad;
	size_t size, i, part;
	void *data;

	(void)state;
	nb_dma(nb, queue, nb_linear(y, 0, 256), nb_linear(x, 0, 256), -1);
	nb_halt(nb, NEURON_ENGINE_SYNC);
	assert_int_equal(nb_pack(nb, &data, &size), 0);
	nb_free(nb);
	good = data;
	for (i = 0; i < 4000; i++) {
		/* Exactly as long as it says, so that a sanitizer sees a read behind it. */
		part = i < 2000 ? i * size / 2000 : size;
		bad = malloc(part ? part : 1);
		memcpy(bad, good, part);
		if (part == size) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bad[random % size] ^= (uint8_t)(random >> 32);
		}
		if (!neff_read(bad, part, &limits, &neff, &error))
			neff_free(neff);
		free(bad);
	}
	free(data);
}

#define SHARED(dtype, shape) \
	DEF(", 'var': { 'x': { 'type': 'input', 'var_id': 1, 'size': 8, 'dtype': '" dtype \
	    "', 'shape': [ " shape " ] } }")

/* Two subgraphs, the second one with @def, in a file for LNC @lnc. */
static uint8_t *pack_two(const char *def, uint32_t lnc, size_t *size)
{
	char *first = rig_json(SHARED("float32", "2")), *second = rig_json(def);
	struct neuron_inst halt[] = {
		{ .opcode = NEURON_OP_HALT }, { .opcode = NEURON_OP_HALT },
	};
	struct rig_file files[] = {
		{ "sg00/def.json", first, strlen(first) },
		{ "sg00/sync.bin", &halt, sizeof(halt[0]) },
		{ "./sg01/def.json", second, strlen(second) },
		{ "./sg01/sync.bin", &halt, sizeof(halt) },
		{ NULL, NULL, 0 },
	};
	struct neff_header *header = (void *)rig_pack(files, 0, size);

	header->lnc_size = htole32(lnc);
	header->num_tpb = htole32(lnc);
	free(first);
	free(second);
	return (uint8_t *)header;
}

static void two_subgraphs(void **state)
{
	struct nrt_error error;
	struct neff *neff;
	uint8_t *data;
	size_t size;

	(void)state;
	data = pack_two(SHARED("float32", "2"), 2, &size);
	if (rig_read(data, size, &neff, &error))
		fail_msg("%s", error.text);
	assert_int_equal(neff->lnc, 2);
	assert_int_equal(neff->nr_graphs, 2);
	assert_int_equal(neff->graphs[0].image_count[NEURON_ENGINE_SYNC], 1);
	assert_int_equal(neff->graphs[1].image_count[NEURON_ENGINE_SYNC], 2);
	assert_int_equal(neff->graphs[1].index, 1);
	assert_ptr_equal(neff_find_var(&neff->graphs[1], "x"), &neff->graphs[1].vars[0]);
	assert_null(neff_find_var(&neff->graphs[1], "y"));
	neff_drop_files(neff);
	assert_null(neff->graphs[1].image[NEURON_ENGINE_SYNC]);
	neff_free(neff);
	free(data);
}

static void check_two(const char *def, uint32_t lnc, const char *word)
{
	struct nrt_error error;
	struct neff *neff;
	size_t size;
	uint8_t *data = pack_two(def, lnc, &size);

	assert_int_equal(rig_read(data, size, &neff, &error), NRT_INVALID);
	if (!strstr(error.text, word))
		fail_msg("\"%s\" is not in: %s", word, error.text);
	free(data);
}

static void two_subgraphs_refused(void **state)
{
	(void)state;
	check_two(SHARED("float32", "2"), 1,
		  "sg01/def.json belongs to subgraph 1, but a model for LNC 1 has 1; remove it, or");
	check_two(SHARED("float32", "2"), 0, "lnc_size is 0");
	check_two(SHARED("float32", "2"), 3, "lnc_size is 3");
	check_two(SHARED("bfloat16", "4"), 2, "variable \"x\" of sg00 and of sg01 is one tensor");
	check_two("{ 'isa': 'neuron-emu-1' }", 2,
		  "NEFF: sg01/def.json: key \"engines\" is missing");
}

/* Everything of a public NEFF that the public description names. */
static void real_neff(void **state)
{
	struct rig_file files[] = {
		{ "kelf-a.json", "{}", 2 },
		{ "neff.json", "{}", 2 },
		{ "sg00/def.json", "{ \"dma_queue\": {}, \"var\": {} }", 30 },
		{ "sg00/Activation.json", "{ \"dma\": [] }", 13 },
		{ "sg00/Activation.bin", "x", 1 },
		{ "sg00/DVE.json", "{ \"dve_tables\": [] }", 20 },
		{ "sg00/default_opcode_table.bin", "x", 1 },
		{ "sg01/def.json", "{}", 2 },
		{ "sg01/Activation.json", "{}", 2 },
		{ "sg01/SP.json", "{}", 2 },
		{ NULL, NULL, 0 },
	};
	struct nrt_error error;
	struct neff *neff;
	int gzip;

	(void)state;
	for (gzip = 0; gzip < 2; gzip++) {
		size_t size;
		struct neff_header *header = (void *)rig_pack(files, gzip, &size);

		strcpy((char *)header->build_version, "2.21.33363.0+82129205");
		header->version_major = htole64(1);
		header->version_minor = htole64(4);
		header->lnc_size = htole32(2);
		header->num_tpb = htole32(2);
		header->feature_bits = htole64(1ull << 63 | 5);
		assert_int_equal(rig_read(header, size, &neff, &error),
				 NRT_UNSUPPORTED_NEFF_VERSION);
		assert_string_equal(error.text,
				    "NEFF: made for real hardware by compiler \"2.21.33363.0+82129205\" (format 1.4, LNC 2, feature bits: 0, 2, 63; subgraphs: 2; engines: Activation, DVE, SP), and the encoding of its instructions is not public; build the model with neuron-as or the builder library");
		/* An archive that is none is no reason to say less. */
		memset(header + 1, 0x55, size - sizeof(*header));
		memset(header->build_version, 0, sizeof(header->build_version));
		header->feature_bits = 0;
		assert_int_equal(rig_read(header, size, &neff, &error),
				 NRT_UNSUPPORTED_NEFF_VERSION);
		assert_non_null(strstr(error.text, "\"unknown\" (format 1.4, LNC 2, "));
		assert_non_null(strstr(error.text, "bits: none; subgraphs: 0; engines: none)"));
		free(header);
	}
}

/* Some other encoding behind a header of ours. */
static void other_encoding(void **state)
{
	struct nrt_error error;
	struct neff *neff;

	(void)state;
	assert_int_equal(rig_read_text("{ 'isa': 'neuron-emu-2' }", NULL, &neff, &error),
			 NRT_UNSUPPORTED_NEFF_VERSION);
	assert_non_null(strstr(error.text, "says neuron-emu-2 instead of neuron-emu-1"));
	assert_int_equal(rig_read_text("{}", NULL, &neff, &error), NRT_UNSUPPORTED_NEFF_VERSION);
	assert_non_null(strstr(error.text, "says nothing instead of neuron-emu-1"));
}

static void check_cores(uint32_t cores, uint32_t wanted, uint8_t node, const char *word)
{
	struct nrt_error error;
	struct neff *neff;
	size_t size;
	struct neff_header *header = (void *)pack_two(SHARED("float32", "2"), 2, &size);

	header->num_tpb = htole32(cores);
	header->requested_tpb = htole32(wanted);
	header->tpb_per_node[0] = node;
	assert_int_equal(rig_read(header, size, &neff, &error), NRT_INVALID);
	if (!strstr(error.text, word))
		fail_msg("\"%s\" is not in: %s", word, error.text);
	free(header);
}

static void numbers_of_cores(void **state)
{
	(void)state;
	check_cores(1, 0, 0, "num_tpb is 1, but lnc_size 2");
	check_cores(2, 1, 0, "requested_tpb_count is 1, but num_tpb 2: it must be the same, or 0");
	check_cores(2, 2, 1, "tpb_per_node adds up to 1 cores, but num_tpb is 2: both must");
}

/* What lies behind more bytes than the limit is not unpacked, only to find a name. */
static void real_neff_that_is_too_large(void **state)
{
	const size_t large = 8 << 20;
	uint8_t *zeros = calloc(1, large);
	const struct rig_file files[] = {
		{ "sg00/Activation.json", "{}", 2 },
		{ "sg00/weights.bin", zeros, large },
		{ "sg00/SP.json", "{}", 2 },
		{ NULL, NULL, 0 },
	};
	struct neff_limits limits = { .unpacked_bytes = large + (1 << 20) };
	struct neff_header *header;
	struct nrt_error error;
	struct neff *neff;
	size_t size;

	(void)state;
	assert_non_null(zeros);
	header = (void *)rig_pack(files, 1, &size);
	strcpy((char *)header->build_version, "2.21");
	assert_int_equal(neff_read(header, size, &limits, &neff, &error),
			 NRT_UNSUPPORTED_NEFF_VERSION);
	assert_non_null(strstr(error.text, "engines: Activation, SP)"));
	limits.unpacked_bytes = large - 1;
	assert_int_equal(neff_read(header, size, &limits, &neff, &error),
			 NRT_UNSUPPORTED_NEFF_VERSION);
	assert_non_null(strstr(error.text, "engines: Activation)"));
	free(header);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builder_round_trip),
		cmocka_unit_test(archives),
		cmocka_unit_test(unpacking_has_a_limit),
		cmocka_unit_test(tables_of_addresses),
		cmocka_unit_test(queue_instances),
		cmocka_unit_test(scratchpad_pages),
		cmocka_unit_test(damaged),
		cmocka_unit_test(two_subgraphs),
		cmocka_unit_test(two_subgraphs_refused),
		cmocka_unit_test(numbers_of_cores),
		cmocka_unit_test(real_neff),
		cmocka_unit_test(real_neff_that_is_too_large),
		cmocka_unit_test(other_encoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
