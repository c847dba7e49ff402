// SPDX-License-Identifier: MIT
/*
 * Collectives in a NEFF: what the reader makes of entries, and what it refuses, in one line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nrt_neff_rig.h"

#define DEF(more) \
	"{ 'isa': 'neuron-emu-1', 'engines': { 'sync': { 'instructions': 'sync.bin' } }" more " }"
#define COLLECTIVES(list) DEF(", 'var': { " \
	"'x': { 'type': 'tmp-buf', 'var_id': 1, 'size': 64 }, " \
	"'y': { 'type': 'tmp-buf', 'var_id': 2, 'size': 128 }, " \
	"'b': { 'type': 'state-buffer', 'var_id': 3, 'size': 64 }, " \
	"'b2': { 'type': 'state-buffer', 'var_id': 7, 'size': 64 }, " \
	"'m': { 'type': 'tmp-buf', 'var_id': 5, 'size': 24 }, " \
	"'i': { 'type': 'input', 'var_id': 6, 'size': 24, 'dtype': 'uint32', " \
	"'shape': [ 3, 2 ] }, " \
	"'s': { 'type': 'collective-semaphore', 'var_id': 4, 'size': 4, 'first': 0, " \
	"'count': 1 } }, 'collectives': [ " list " ]")
#define TWO_STARTED(list) DEF(", 'var': { " \
	"'s': { 'type': 'collective-semaphore', 'var_id': 4, 'size': 8, 'first': 0, " \
	"'count': 2 } }, 'collectives': [ " list " ]")
#define ENDS(in, out) "'input': '" in "', 'output': '" out "', "
#define ENTRY(op, in, out, more) \
	"{ 'op': '" op "', 'dtype': 'float32', 'semaphore': 0, " ENDS(in, out) more " }"
#define TURN	"'pairs': [ [ 1, 0 ] ], 'replica_groups': [ [ 3, 1 ], [ 0, 2 ] ]"
#define PAIR	"'replica_groups': [ [ 0, 1 ] ]"
#define BARRIER(more)	"{ 'op': 'barrier', 'semaphore': 0, " PAIR more " }"

#define KNOWN	", 'metadata': 'i', 'recv_counts_known': 1"

#define LATE \
	"{ 'type': 'collective-semaphore', 'var_id': 1, 'size': 4, 'first': 1024, 'count': 1 }"

#define LISTS(in, out)	"'inputs': [ " in " ], 'outputs': [ " out " ], "
#define LIST_ENTRY(op, in, out, more) \
	"{ 'op': '" op "', 'dtype': 'float32', 'semaphore': 0, " LISTS(in, out) PAIR more " }"
#define FROM(name)	"{ 'from': '" name "' }"
#define TO(name)	"{ 'to': '" name "' }"
#define HALF(end, step)	"{ '" end "': 'y', '" end "_off': 32, '" end \
			"_steps': [ " step ", 64 ], '" end "_sizes': [ 16, 2 ] }"

#define END_OF_B	"{ 'to': 'b', 'to_off': 32, 'to_steps': [ 1 ], 'to_sizes': [ 32 ] }"
#define ROWS(step, sizes)	"{ 'to': 'y', 'to_off': 0, 'to_steps': [ 1, " step " ], " \
				"'to_sizes': [ " sizes " ] }"

/* Tensors of a list: their bytes add up, and each output is as large as its input makes it. */
static void lists(void **state)
{
	static const struct { const char *text, *word; } cases[] = {
		{ COLLECTIVES(LIST_ENTRY("all_gather", FROM("x"), "", "")),
		  "'outputs' has 0 elements, and 'inputs' has 1" },
		{ COLLECTIVES(LIST_ENTRY("all_gather", "", "", "")),
		  "'inputs' has 0 elements, not 1 to 64" },
		{ COLLECTIVES(LIST_ENTRY("all_gather", FROM("x"), TO("x"), "")),
		  "input 'x' has 64 bytes, so output 'x' must have 128, not 64" },
		{ COLLECTIVES(LIST_ENTRY("all_gather", FROM("x"), TO("i"), "")),
		  "element 0 of 'outputs': 'i' must be an output" },
		{ COLLECTIVES(LIST_ENTRY("all_gather", "'x'", TO("y"), "")),
		  "element 0 of 'inputs': must be of type object, not string" },
		{ COLLECTIVES(LIST_ENTRY("all_gather", TO("x"), TO("y"), "")),
		  "key 'to' is not supported" },
		{ COLLECTIVES(LIST_ENTRY("all_gather", FROM("s"), TO("y"), "")),
		  "must be an input, an output, a tmp-buf, a virtual variable or" },
		{ COLLECTIVES(LIST_ENTRY("all_gather", "{ 'from': 'x', 'from_off': 0 }", TO("y"),
					 "")), "'from_steps' is missing" },
		{ COLLECTIVES(LIST_ENTRY("alltoall", HALF("from", "2"), HALF("to", "1"), "")),
		  "the first step is 2, and must be 1" },
		{ COLLECTIVES(LIST_ENTRY("alltoall", FROM("x") ", " HALF("from", "1"),
					 TO("b") ", " END_OF_B, "")),
		  "elements 0 and 1 of 'outputs' have bytes in common" },
		{ COLLECTIVES(LIST_ENTRY("alltoall", FROM("x"), ROWS("0", "16, 4"), "")),
		  "elements 0 and 0 of 'outputs' have bytes in common" },
		{ COLLECTIVES(LIST_ENTRY("alltoall", FROM("x") ", " FROM("x"),
					 ROWS("32", "16, 4") ", " ROWS("16", "32, 2"), "")),
		  "elements 0 and 1 of 'outputs' have bytes in common" },
		{ COLLECTIVES(LIST_ENTRY("alltoall", FROM("x") ", " FROM("x"),
					 TO("b") ", " TO("b2"), "")),
		  "elements 0 and 1 of 'outputs' have bytes in common" },
		{ COLLECTIVES(LIST_ENTRY("all_gather", FROM("x"), TO("y"), ", 'input': 'x'")),
		  "or lists" },
		{ COLLECTIVES(LIST_ENTRY("all_gatherv", FROM("x"), TO("y"), ", 'metadata': 'm'")),
		  "an operation with metadata has no lists" },
	};
	const struct neff_collective *entry;
	struct nrt_error error;
	struct neff *neff;
	size_t i;

	(void)state;
	rig_refused(0, rig_read_text(COLLECTIVES(LIST_ENTRY("alltoall",
							    FROM("b") ", " HALF("from", "1"),
							    HALF("to", "1") ", " TO("b"), "")),
				     NULL, &neff, &error),
		    &error, "input 'b' has 64 bytes, so output 'y'");
	if (rig_read_text(COLLECTIVES(LIST_ENTRY("alltoall", FROM("b") ", " HALF("from", "1"),
						 TO("x") ", " HALF("to", "1"), "")), NULL, &neff,
			  &error))
		fail_msg("%s", error.text);
	entry = &neff->graphs[0].collectives[0];
	assert_int_equal(entry->nr_parts, 2);
	assert_int_equal(entry->count, (64 + 32) / 2 / 4);
	assert_false(entry->in_place);
	assert_int_equal(entry->parts[3].offset, 32);
	assert_int_equal(entry->parts[3].step[1], 64);
	assert_int_equal(entry->parts[0].size[0], 64);
	neff_free(neff);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		rig_refused(i, rig_read_text(cases[i].text, NULL, &neff, &error), &error,
			    cases[i].word);
}

#define MATRICES \
	"{ 'isa': 'neuron-emu-1', 'engines': { 'sync': { 'instructions': 'sync.bin' } }, " \
	"'var': { 'x': { 'type': 'tmp-buf', 'var_id': 1, 'size': 16777216 }, " \
	"'y': { 'type': 'tmp-buf', 'var_id': 2, 'size': 67108864 } }, 'collectives': [ "
#define MATRIX_ENTRY	"{ 'op': 'alltoall', 'dtype': 'float32', 'semaphore': 0, " PAIR ", "
#define COLUMN \
	"%s{ 'to': 'y', 'to_off': %u, 'to_steps': [ 1, 1024 ], 'to_sizes': [ 16, 4096 ] }"
#define INTERLEAVED \
	MATRIX_ENTRY "'inputs': [ { 'from': 'x' }, { 'from': 'x' } ], 'outputs': [ " \
	"{ 'to': 'y', 'to_off': 0, 'to_steps': [ 1, 64 ], 'to_sizes': [ 16, 1048576 ] }, " \
	"{ 'to': 'y', 'to_off': 32, 'to_steps': [ 1, 128, 64 ], 'to_sizes': [ 16, 524288, 2 ] }" \
	" ] }"

/* A list of 64 columns of a matrix; the last begins @before bytes too early. */
static NRT_STATUS read_columns(unsigned int before, struct neff **neff, struct nrt_error *error)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	NRT_STATUS status;
	unsigned int i;

	assert_non_null(file);
	fputs(MATRICES MATRIX_ENTRY "'inputs': [ ", file);
	for (i = 0; i < 64; i++)
		fprintf(file,
			"%s{ 'from': 'x', 'from_off': %u, 'from_steps': [ 1 ], 'from_sizes': [ 65536 ] }",
			i ? ", " : "", i * 65536);
	fputs(" ], 'outputs': [ ", file);
	for (i = 0; i < 64; i++)
		fprintf(file, COLUMN, i ? ", " : "", i * 16 - (i == 63 ? before : 0));
	fputs(" ] } ] }", file);
	assert_int_equal(0, fclose(file));
	status = rig_read_text(text, NULL, neff, error);
	free(text);
	return status;
}

/* Columns take few comparisons. What takes more is counted for all lists together. */
static void outputs_in_pieces(void **state)
{
	struct nrt_error error;
	struct neff *neff;

	(void)state;
	if (read_columns(0, &neff, &error))
		fail_msg("%s", error.text);
	neff_free(neff);
	rig_refused(0, read_columns(4, &neff, &error), &error,
		    "elements 62 and 63 of 'outputs' have bytes in common");
	if (rig_read_text(MATRICES INTERLEAVED ", " INTERLEAVED " ] }", NULL, &neff, &error))
		fail_msg("%s", error.text);
	neff_free(neff);
	rig_refused(1, rig_read_text(MATRICES INTERLEAVED ", " INTERLEAVED ", " INTERLEAVED " ] }",
				     NULL, &neff, &error), &error,
		    "collective 2: element 1 of 'outputs' is in too many pieces");
}

static void good_collectives(void **state)
{
	const struct neff_collective *second, *third;
	struct nrt_error error;
	struct neff *neff;

	(void)state;
	if (rig_read_text(COLLECTIVES(ENTRY("all_gather", "x", "y", PAIR) ", "
				      ENTRY("permute", "x", "x", TURN ", 'stream': 3") ", "
				      ENTRY("all_gatherv", "x", "y", PAIR KNOWN) ", "
				      ENTRY("permute_implicit", "y", "x",
					    PAIR ", 'reduce': 'max', 'channels': 2")),
			  NULL, &neff, &error))
		fail_msg("%s", error.text);
	assert_int_equal(neff->graphs[0].collectives[3].nr_channels, 2);
	assert_int_equal(neff->graphs[0].collectives[3].count, 8);
	third = &neff->graphs[0].collectives[2];
	second = &neff->graphs[0].collectives[1];
	assert_int_equal(neff->graphs[0].nr_collectives, 4);
	assert_int_equal(neff->graphs[0].collectives[0].count, 16);
	assert_int_equal(neff->graphs[0].collectives[0].stream, 0);
	assert_int_equal(second->stream, 3);
	assert_int_equal(second->op, NRT_PLAN_PERMUTE);
	assert_true(second->in_place);
	assert_int_equal(second->nr_groups, 2);
	assert_int_equal(second->ranks[1], 1);
	assert_int_equal(second->pairs[0].source, 1);
	assert_int_equal(third->op, NRT_PLAN_ALL_GATHER_V);
	assert_int_equal(third->count, 16);
	assert_string_equal(neff->graphs[0].vars[third->metadata].name, "i");
	assert_true(third->recv_counts_known);
	assert_false(third->has_rdispls);
	neff_free(neff);
}

/* A variable may start several, of one stream. */
static void started_together(void **state)
{
	struct nrt_error error;
	struct neff *neff;

	(void)state;
	if (rig_read_text(TWO_STARTED(BARRIER(", 'stream': 1") ", " BARRIER(", 'stream': 1")), NULL,
			  &neff, &error))
		fail_msg("%s", error.text);
	neff_free(neff);
	rig_refused(0, rig_read_text(TWO_STARTED(BARRIER("") ", " BARRIER(", 'stream': 1")), NULL,
				     &neff, &error),
		    &error,
		    "variable 's': starts collective 0 of stream 0 and collective 1 of stream 1; make a variable for each stream");
}

#define BARRIERS \
	"{ 'isa': 'neuron-emu-1', 'engines': { 'sync': { 'instructions': 'sync.bin' } }, " \
	"'var': { 's': { 'type': 'collective-semaphore', 'var_id': 1, 'size': %u, " \
	"'first': %u, 'count': %u } }, 'collectives': [ "
#define BARRIER_ON \
	"%s{ 'op': 'barrier', 'semaphore': 0, 'stream': %u, 'replica_groups': [ [ 0, 1 ] ] }"

/* So many barriers on streams 0 and 1 by turns, and a variable that starts some of stream 0. */
static NRT_STATUS read_many(unsigned int nr, unsigned int first, unsigned int count,
			    struct neff **neff, struct nrt_error *error)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	NRT_STATUS status;
	unsigned int i;

	assert_non_null(file);
	fprintf(file, BARRIERS, 4 * count, first, count);
	for (i = 0; i < nr; i++)
		fprintf(file, BARRIER_ON, i ? ", " : "", i / 20 % 2);
	fprintf(file, " ] }");
	assert_int_equal(0, fclose(file));
	status = rig_read_text(text, NULL, neff, error);
	free(text);
	return status;
}

/* Each of a stream has one of 16 semaphores, by its place there. */
static void many_collectives(void **state)
{
	const struct neff_collective *list;
	struct nrt_error error;
	struct neff *neff;

	(void)state;
	if (read_many(1024, 0, 16, &neff, &error))
		fail_msg("%s", error.text);
	list = neff->graphs[0].collectives;
	assert_int_equal(neff->graphs[0].nr_collectives, 1024);
	assert_int_equal(neff_start(&list[0]), 240);
	assert_int_equal(neff_start(&list[15]), 255);
	assert_int_equal(neff_start(&list[16]), 240);
	assert_int_equal(neff_start(&list[20]), 240);
	assert_int_equal(neff_start(&list[40]), 244);
	neff_free(neff);
	rig_refused(0, read_many(1025, 0, 1, &neff, &error), &error,
		    "'collectives' has 1025 elements, not 0 to 1024");
	rig_refused(0, read_many(20, 10, 7, &neff, &error), &error,
		    "'s': starts collectives 10 to 16, whose semaphores are not in a row");
	rig_refused(0, read_many(20, 0, 17, &neff, &error), &error,
		    "'s': starts collectives 0 to 16, whose semaphores are not in a row");
	if (read_many(44, 40, 4, &neff, &error))
		fail_msg("%s", error.text);
	neff_free(neff);
}

static void bad_collectives(void **state)
{
	static const struct { const char *text, *word; } cases[] = {
		{ COLLECTIVES("7"),
		  "sg00/def.json: collective 0: must be of type object, not int" },
		{ COLLECTIVES(""), "'s': starts collective 0, and 'collectives' has 0" },
		{ COLLECTIVES(ENTRY("all", "x", "x", PAIR)),
		  "op 'all' is not supported, only all_reduce, " },
		{ COLLECTIVES(ENTRY("permute_ring", "x", "x", PAIR)),
		  "op 'permute_ring' is not supported" },
		{ COLLECTIVES(ENTRY("permute", "x", "x", PAIR ", 'channels': 1")),
		  "only op 'permute_implicit' has 'channels'; leave it out" },
		{ COLLECTIVES(ENTRY("permute_implicit", "x", "x", PAIR ", 'channels': 0")),
		  "'channels' is 0, outside of 1 to 4" },
		{ COLLECTIVES(ENTRY("permute_implicit", "x", "x", PAIR ", 'channels': 5")),
		  "'channels' is 5, outside of 1 to 4" },
		{ COLLECTIVES(ENTRY("permute_implicit", "m", "m", PAIR ", 'channels': 4")),
		  "input 'm' has 24 bytes, not a multiple of 16" },
		{ COLLECTIVES(ENTRY("permute_implicit", "x", "x", PAIR ", 'reduce': 'add'")),
		  "input 'x' has 64 bytes, so output 'x' must have 32" },
		{ COLLECTIVES(ENTRY("permute_implicit", "x", "x", PAIR ", 'pairs': [ [ 0, 1 ] ]")),
		  "only op 'permute' has 'pairs'" },
		{ COLLECTIVES(ENTRY("all_gatherv", "x", "y", PAIR)), "'metadata' is missing" },
		{ COLLECTIVES(ENTRY("all_gatherv", "x", "y", PAIR ", 'metadata': 'x'")),
		  "3 rows of uint32, 24 bytes, and 'x' has 64" },
		{ COLLECTIVES(ENTRY("all_gatherv", "x", "y", PAIR
				    ", 'metadata': 'm', 'has_rdispls': 1")),
		  "4 rows of uint32, 32 bytes, and 'm' has 24" },
		{ COLLECTIVES(ENTRY("all_gatherv", "x", "y", PAIR
				    ", 'metadata': 'm', 'has_rdispls': 2")), "'has_rdispls'" },
		{ COLLECTIVES(ENTRY("all_gatherv", "x", "y", PAIR
				    ", 'metadata': 'i'")), "must be an output" },
		{ COLLECTIVES(ENTRY("alltoallv", "x", "y", PAIR ", 'metadata': 'm'")),
		  "input 'x' has 64 bytes, so output 'y' must have 64, not 128" },
		{ COLLECTIVES(ENTRY("alltoallv", "x", "x", PAIR ", 'metadata': 'm'")),
		  "must not be the same memory" },
		{ COLLECTIVES(ENTRY("reduce_scatterv", "y", "x", PAIR ", 'metadata': 'm'")),
		  "needs a reduction" },
		{ COLLECTIVES(ENTRY("all_gather", "x", "y", PAIR ", 'metadata': 'm'")),
		  "all_gather has no 'metadata'; leave it out" },
		{ COLLECTIVES(ENTRY("all_gather", "x", "y", PAIR ", 'recv_counts_known': 0")),
		  "all_gather has no 'recv_counts_known'" },
		{ COLLECTIVES(ENTRY("all_gather", "x", "y", PAIR ", 'streams': 1")),
		  "key 'streams' is not supported, only op, reduce, " },
		{ COLLECTIVES(ENTRY("all_gather", "x", "y", PAIR ", 'stream': 4")),
		  "'stream' is 4, outside of 0 to 3" },
		{ COLLECTIVES(ENTRY("all_gather", "x", "y", PAIR ", 'stream': -1")),
		  "'stream' is -1, outside of 0 to 3" },
		{ COLLECTIVES(ENTRY("all_gather", "x", "y", PAIR ", 'stream': '1'")),
		  "'stream' must be of type int, not string" },
		{ COLLECTIVES(ENTRY("all_gather", "x", "x", PAIR)),
		  "all_gather of 2 ranks: input 'x' has 64 bytes, so output 'x' must have 128" },
		{ COLLECTIVES("{ 'op': 'broadcast', 'dtype': 'float32r', 'semaphore': 0, "
			      ENDS("x", "x") PAIR " }"), "no elements of dtype float32r" },
		{ COLLECTIVES("{ 'op': 'broadcast', 'dtype': 'float', 'semaphore': 0, "
			      ENDS("x", "x") PAIR " }"), "dtype 'float' is not supported, only" },
		{ COLLECTIVES(ENTRY("alltoall", "m", "m", "'replica_groups': [ [ 0, 1, 2, 3 ] ]")),
		  "alltoall of 4 ranks: input 'm' has 24 bytes, not a multiple of 16" },
		{ COLLECTIVES(ENTRY("reduce_scatter", "x", "y", PAIR ", 'reduce': 'add'")),
		  "input 'x' has 64 bytes, so output 'y' must have 32" },
		{ COLLECTIVES(ENTRY("all_gather", "z", "y", PAIR)),
		  "input 'z' is not in 'var' of def.json" },
		{ COLLECTIVES(ENTRY("all_gather", "b", "y", PAIR)), "must be an output" },
		{ COLLECTIVES(ENTRY("all_gather", "x", "b", PAIR)), "must be an output" },
		{ COLLECTIVES(ENTRY("all_reduce", "x", "x", PAIR)),
		  "all_reduce needs a reduction: add, min or max" },
		{ COLLECTIVES(ENTRY("all_reduce", "x", "x", PAIR ", 'reduce': 'mul'")),
		  "reduce 'mul' is not supported, only none, add, min, max" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", PAIR ", 'reduce': 'add'")),
		  "broadcast has no reduction; leave it out" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", PAIR ", 'root': 2")), "root 2" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", PAIR ", 'priority': 4")),
		  "'priority'" },
		{ COLLECTIVES(ENTRY("permute", "x", "x", PAIR)), "'pairs' is missing" },
		{ COLLECTIVES(ENTRY("permute", "x", "x", PAIR ", 'pairs': []")), "no pairs" },
		{ COLLECTIVES(ENTRY("permute", "x", "x", PAIR ", 'pairs': [ [ 0 ] ]")),
		  "element 0 of 'pairs' has 1 ranks, and each must have 2" },
		{ COLLECTIVES(ENTRY("permute", "x", "x", PAIR ", 'pairs': [ [ 0, 2 ] ]")),
		  "0 to 2" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", PAIR ", 'pairs': [ [ 0, 1 ] ]")),
		  "only op 'permute' has 'pairs'; leave it out" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'root': 0")),
		  "'replica_groups' is missing" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': []")),
		  "'replica_groups' has 0 elements, not 1 to 16" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': [ 1 ]")),
		  "element 0 of 'replica_groups' must be of type array, not int" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': [ [] ]")),
		  "element 0 of 'replica_groups' has 0 elements, not 1 to 256" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': [ [ 0 ], 1 ]")),
		  "element 1 of 'replica_groups' must be of type array, not int" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': [ [ 0 ], [] ]")),
		  "element 1 of 'replica_groups' has 0 ranks, and each must have 1" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': [ [ 0, 0 ] ]")),
		  "rank 0 is twice in 'replica_groups'" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': [ [ -1 ] ]")),
		  "element 0 of 'replica_groups[0]' is -1, outside of 0 to 255" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': [ [ 256 ] ]")),
		  "element 0 of 'replica_groups[0]' is 256, outside of 0 to 255" },
		{ COLLECTIVES(ENTRY("broadcast", "x", "x", "'replica_groups': [ [ 0, 'a' ] ]")),
		  "element 1 of 'replica_groups[0]' must be of type int, not string" },
		{ DEF(", 'var': { 's': " LATE " }"),
		  "'first' is 1024, outside of 0 to 1023" },
		{ DEF(", 'collectives': 7"), "'collectives' must be" },
	};
	struct nrt_error error;
	struct neff *neff;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		rig_refused(i, rig_read_text(cases[i].text, NULL, &neff, &error), &error,
			    cases[i].word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_collectives),
		cmocka_unit_test(started_together),
		cmocka_unit_test(many_collectives),
		cmocka_unit_test(bad_collectives),
		cmocka_unit_test(lists),
		cmocka_unit_test(outputs_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
