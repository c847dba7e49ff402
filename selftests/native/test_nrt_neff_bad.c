// SPDX-License-Identifier: MIT
/*
 * What the NEFF reader refuses: each line says where, what is wrong, and what would be right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nrt_neff_rig.h"

#define ENGINES	"'engines': { 'sync': { 'instructions': 'sync.bin', " \
		"'descriptors': 'sync.json' } }"
#define PLAIN	"'engines': { 'sync': { 'instructions': 'sync.bin' } }"
#define DEF(more)	"{ 'isa': 'neuron-emu-1', " PLAIN more " }"

/*
 * A def.json, a sync.json, and a word of the line that refuses them; all with ' for ".
 */
struct refusal {
	const char *def;
	const char *descs;
	const char *word;
};

#define VAR(text)	DEF(", 'var': { 'v': { " text " } }")
#define TMP(text)	VAR("'type': 'tmp-buf', 'var_id': 1, 'size': 8" text)
#define TMPS(a, b)	DEF(", 'var': { 'v': { 'type': 'tmp-buf', 'size': 8, 'var_id': " a \
			    "}, 'w': { 'type': 'tmp-buf', 'size': 8, 'var_id': " b " } }")
#define PEER(text)	VAR("'type': 'peer', 'var_id': 1, 'size': 8, 'peer_offset': 1, " text)
#define PEER_VAR	"'v': { 'type': 'peer', 'var_id': 1, 'size': 8, 'peer_offset': 1, " \
			"'referenced_var_id': 2 }"
#define PEER_SEM(text) \
	VAR("'type': 'peer-semaphore', 'var_id': 1, 'size': 8, 'peer_offset': 1, " text)
#define SETS(a, b)	DEF(", 'dma_queue': { 'p': { 'type': 'in', 'queue_index': " a \
			    "}, 'q': { 'type': 'in', 'num_queues': 2, 'queue_index': " b " } }")
#define IO(text)	VAR("'type': 'input', 'var_id': 1, " text)
#define QUEUE(text)	DEF(", 'dma_queue': { 'q': { " text " } }")
#define FULL		"{ 'isa': 'neuron-emu-1', " ENGINES ", 'dma_queue': { " \
			"'q': { 'type': 'data', 'queue_index': 0 }, " \
			"'d': { 'type': 'dynamic', 'queue_index': 2 }, " \
			"'other': { 'type': 'in', 'owner': 'vector', " \
			"'queue_index': 1 } }, 'var': { " \
			"'a': { 'type': 'tmp-buf', 'var_id': 1, 'size': 64 }, " \
			"'b': { 'type': 'tmp-buf', 'var_id': 2, 'size': 64 }, " \
			"'s': { 'type': 'peer-semaphore', 'var_id': 3, 'size': 8, " \
			"'peer_offset': 1, 'first': 4, 'count': 2 } } }"
#define DESC(text)	"{ 'dma': [ { 'id': 0, 'queue': 'q', 'desc': { " text " } } ] }"
#define SIDE(name, var, off, step, size) \
	"'" name "': '" var "', '" name "_off': " off ", '" name "_steps': [ " step " ], '" \
	name "_sizes': [ " size " ]"

static const struct refusal refusals[] = {
	{ "", NULL, "JSON" },
	{ "[]", NULL, "sg00/def.json: must be of type object, not array" },
	{ "{ 'isa': 1", NULL, "ends too early" },
	{ "{ 'isa': 1, } x", NULL, "neuron-packager print shows the file" },
	{ "[[[[[[[[[[[[[[[[[[[[[[[[[[", NULL, "not JSON" },
	{ "{ 'isa': 1 }", NULL, "'isa' must be of type string, not int" },
	{ "{ 'isa': 'neuron-emu-1' }", NULL, "'engines' is missing; it must be of type object" },
	{ DEF(", 'extra': 1"), NULL,
	  "key 'extra' is not supported, only isa, engines, dma_queue, " },
	{ "{ 'isa': 'neuron-emu-1', 'engines': { 'warp': {} } }", NULL,
	  "key 'warp' is not supported, only tensor, vector, scalar, gpsimd, sync" },
	{ "{ 'isa': 'neuron-emu-1', 'engines': { 'sync': 1 } }", NULL,
	  "sg00/def.json: engine 'sync': must be of type object, not int" },
	{ "{ 'isa': 'neuron-emu-1', 'engines': { 'sync': { 'instructions': 'x' } } }", NULL,
	  "sg00/x is missing" },
	{ "{ 'isa': 'neuron-emu-1', 'engines': { 'sync': { 'instructions': 'c.bin' } } }", NULL,
	  "sg00/c.bin: 8 bytes are not one or more whole instructions of 128" },
	{ "{ 'isa': 'neuron-emu-1', " ENGINES " }", NULL, "sg00/sync.json is missing" },
	{ DEF(", 'sem_clear': [ 256 ]"), NULL, "element 0 of 'sem_clear' is 256" },
	{ DEF(", 'sem_clear': [ 1, 1.5 ]"), NULL,
	  "element 1 of 'sem_clear' must be of type int, not double" },
	{ DEF(", 'notify_bytes': 96"), NULL, "is 96, not 0 or a power of two from 64" },
	{ DEF(", 'notify_bytes': 32"), NULL, "is 32, not 0 or a power" },
	{ DEF(", 'debug': 'no.json'"), NULL, "sg00/no.json is missing" },

	{ VAR("'type': 'indirect', 'var_id': 1, 'size': 8"), NULL,
	  "type 'indirect' is not supported, only input, output, " },
	{ VAR("'type': 'a\\nb', 'var_id': 1, 'size': 8"), NULL, "type 'a.b' is not supported" },
	{ VAR("'type': 'a\\u0000b', 'var_id': 1, 'size': 8"), NULL, "must not contain \\u0000" },
	{ VAR("'type': 'pointer', 'var_id': 1, 'size': 8"), NULL,
	  "'referenced_var_id' is missing" },
	{ VAR("'type': 'pointer', 'var_id': 1, 'size': 4, 'referenced_var_id': 1"), NULL,
	  "size is 4, but 1 addresses have 8 bytes" },
	{ VAR("'type': 'pointer', 'var_id': 1, 'size': 8, 'referenced_var_id': 2"), NULL,
	  "address 0 would be that of var_id 2" },
	{ VAR("'type': 'pointer', 'var_id': 1, 'size': 8, 'referenced_var_id': 1, 'list': []"),
	  NULL, "key 'list'" },
	{ VAR("'type': 'dge-table', 'var_id': 1, 'size': 8"), NULL, "'list' is missing" },
	{ VAR("'type': 'dge-table', 'var_id': 1, 'size': 8, 'list': []"), NULL,
	  "'list' has 0 elements" },
	{ VAR("'type': 'dge-table', 'var_id': 1, 'size': 16, 'list': [ 1, 4294967297 ]"), NULL,
	  "element 1 of 'list' is 4294967297, outside of 1 to 65000" },
	{ VAR("'type': 'dge-table', 'var_id': 1, 'size': 16, 'list': [ 1, 'x' ]"), NULL,
	  "element 1 of 'list' must be of type int, not string" },
	{ VAR("'type': 'dge-table', 'var_id': 1, 'size': 16, 'list': [ 1, 7 ]"), NULL,
	  "address 1 would be that of var_id 7" },
	{ VAR("'type': 'tmp-buf', 'size': 8"), NULL, "'var_id' is missing" },
	{ VAR("'type': 'tmp-buf', 'var_id': 0, 'size': 8"), NULL, "'var_id' is 0" },
	{ VAR("'type': 'tmp-buf', 'var_id': 65001, 'size': 8"), NULL, "65001" },
	{ VAR("'type': 'tmp-buf', 'var_id': 1, 'size': 0"), NULL, "'size' is 0" },
	{ VAR("'type': 'tmp-buf', 'var_id': 1, 'size': -1"), NULL, "'size' is -1" },
	{ VAR("'type': 'tmp-buf', 'var_id': 1, 'size': 99999999999999999999"), NULL, "'size'" },
	{ TMP(", 'alignment': 3"), NULL, "alignment 3" },
	{ TMP(", 'fabric_path': 'alt'"), NULL, "fabric_path 'alt' is not supported, only main" },
	{ TMP(", 'ops': [ 1 ]"), NULL, "'ops' must be empty or absent" },
	{ TMP(", 'shape': [ 8 ]"), NULL,
	  "key 'shape' is not supported, only type, var_id, size, " },
	{ VAR("'type': 'state-buffer', 'var_id': 1, 'size': 33554433"), NULL,
	  "size is 33554433, but a state-buffer has at most 33554432" },
	{ VAR("'type': 'file', 'var_id': 1, 'size': 7, 'file_name': 'c.bin'"), NULL,
	  "holds 8 bytes instead of 7" },
	{ VAR("'type': 'file', 'var_id': 1, 'size': 7, 'file_name': 'no.bin'"), NULL,
	  "no.bin is missing" },
	{ PEER("'referenced_var_id': 1"), NULL, "referenced_var_id 1 is not the var_id of a tmp" },
	{ DEF(", 'var': { " PEER_VAR ", 'w': { 'type': 'tmp-buf', 'var_id': 2, 'size': 16 } }"),
	  NULL, "size is 8, but 'w' has 16 bytes" },
	{ PEER_SEM("'first': 255, 'count': 2"), NULL, "'count' is 2" },
	{ PEER_SEM("'first': 0, 'count': 1"), NULL,
	  "size is 8, but 1 semaphores have 4 bytes each" },
	{ VAR("'type': 'sibling-state-buffer', 'var_id': 1, 'size': 8"), NULL,
	  "lnc_size must be 2" },
	{ VAR("'type': 'virtual', 'var_id': 1, 'size': 8, 'backing_variable_off': 6"), NULL,
	  "backing_variable_off is 6, not a multiple of 4" },
	{ VAR("'type': 'file', 'var_id': 1, 'size': 8, 'file_name': 'bad.npy'"), NULL,
	  "sg00/bad.npy: not a NumPy file of version 1, 2 or 3; write it with numpy.save()" },
	{ DEF(", 'var': { 'v': 1 }"), NULL, "variable 'v': must be of type object, not int" },
	{ IO("'size': 8, 'dtype': 'float7', 'shape': [ 1 ]"), NULL,
	  "dtype 'float7' is not supported, only uint64, int8, " },
	{ IO("'size': 8, 'dtype': 'float32', 'shape': [ 3 ]"), NULL,
	  "size is 8, but dtype and shape make 12 bytes" },
	{ IO("'size': 8, 'dtype': 'float32', 'shape': [ 4294967295, 4294967295, 4294967295 ]"),
	  NULL, "dtype and shape make more than 70368744177664 bytes" },
	{ IO("'size': 8, 'dtype': 'float32', 'shape': [ ]"), NULL, "0 elements" },
	{ TMPS("1", "1"), NULL, "same var_id 1; give one of them another" },
	{ DEF(", 'var': { 'a\\nb': { } }"), NULL, "has a control character, 0x0a, at byte 1" },
	{ DEF(", 'var': { '': { } }"), NULL, "name '' has 0 bytes, not 1 to 255" },

	{ QUEUE("'type': 'embedding_update', 'queue_index': 0"), NULL,
	  "type 'embedding_update' is not supported, only dynamic, in, out, data" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'fabric_path': 'alt'"), NULL,
	  "queue 'q': fabric_path 'alt' is not supported, only main" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'owner': 'warp'"), NULL,
	  "owner 'warp' is not supported, only tensor, vector, scalar, gpsimd, sync" },
	{ DEF(", 'dma_queue': { 'q': [] }"), NULL, "queue 'q': must be of type object, not array" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'pinned': true"), NULL,
	  "only Inf1 has pinned queues; leave" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'queue_instances': [ 7 ]"), NULL,
	  "element 0 of 'queue_instances' must be of type string, not int" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'queue_instances': [ 'a', 'a' ]"), NULL,
	  "instance 'a' is there twice" },
	{ QUEUE("'type': 'in', 'queue_index': 253, 'queue_instances': [ 'a', 'b', 'c', 'd' ]"),
	  NULL, "'d' would take queue indexes 256 to 256, and 255 is the last" },
	{ QUEUE("'type': 'in'"), NULL, "'queue_index' is missing" },
	{ QUEUE("'type': 'in', 'queue_index': 256"), NULL, "'queue_index' is 256" },
	{ QUEUE("'type': 'in', 'queue_index': 255, 'num_queues': 2"), NULL,
	  "'queue_index' is 255" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'num_queues': 17"), NULL, "'num_queues' is 17" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'priority': 4"), NULL, "'priority' is 4" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'priority': -1"), NULL, "'priority' is -1" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'semaphore': 256"), NULL, "'semaphore' is 256" },
	{ QUEUE("'type': 'in', 'queue_index': 0, 'semaphore_set': [ 1 ]"), NULL,
	  "key 'semaphore_set'" },
	{ SETS("1", "0"), NULL, "share queue index 1; each takes 'num_queues' from" },

	{ FULL, "{ 'dma': 3 }", "sg00/sync.json: 'dma' must be of type array, not int" },
	{ FULL, "{ 'dma': [ 3 ] }", "sg00/sync.json: descriptor 0: must be of type object, not" },
	{ FULL, DESC(SIDE("from", "a", "0", "1", "4")), "'to' is missing" },
	{ FULL, DESC(SIDE("from", "a", "0", "1", "4") ", " SIDE("to", "z", "0", "1", "4")),
	  "to 'z' is not in 'var' of def.json" },
	{ FULL, DESC(SIDE("from", "a", "61", "1", "4") ", " SIDE("to", "b", "0", "1", "4")),
	  "'from' takes bytes 61 to 64 of 'a', which has bytes 0 to 63" },
	{ FULL, DESC(SIDE("from", "a", "0", "1, -4", "4, 2") ", " SIDE("to", "b", "0", "1", "8")),
	  "bytes -4 to 3 of 'a'" },
	{ FULL, DESC(SIDE("from", "a", "0", "1", "4") ", " SIDE("to", "b", "0", "1", "8")),
	  "'from' has 4 bytes and 'to' has 8; a copy needs as many" },
	{ FULL, DESC(SIDE("from", "a", "0", "1, 1", "4") ", " SIDE("to", "b", "0", "1", "4")),
	  "'from_steps' has 2 elements and 'from_sizes' has 1" },
	{ FULL, DESC(SIDE("from", "a", "0", "1, 0, 0, 0", "4, 70368744177664, 70368744177664, 64")
		     ", " SIDE("to", "b", "0", "1", "4")),
	  "'from_sizes' make more than 70368744177664 bytes" },
	{ FULL, DESC(SIDE("from", "a", "0", "1, 0, 0, 0, 0", "4, 1, 1, 1, 1") ", "
		     SIDE("to", "b", "0", "1", "4")), "5 elements" },
	{ FULL, DESC("'op': 'transpose', " SIDE("from", "a", "0", "1", "4") ", "
		     SIDE("to", "b", "0", "1", "4")), "elements of 1 bytes" },
	{ FULL, DESC("'from_dtype': 'float32', " SIDE("from", "a", "0", "1", "4") ", "
		     SIDE("to", "b", "0", "1", "4")), "from float32 to uint8: use 'cast'" },
	{ FULL, DESC("'scale': 1.0, " SIDE("from", "a", "0", "1", "4") ", "
		     SIDE("to", "b", "0", "1", "4")), "key 'scale' is not supported, only op, " },
	{ FULL, DESC("'from_dtype': 'x', " SIDE("from", "a", "0", "1", "4") ", "
		     SIDE("to", "b", "0", "1", "4")), "from_dtype 'x' is not supported, only" },
	{ FULL, DESC(SIDE("from", "s", "0", "1", "4") ", " SIDE("to", "b", "0", "1", "4")),
	  "'s' are semaphores of another core: they can be posted, but not read" },
	{ FULL, DESC(SIDE("from", "a", "0", "1", "4") ", " SIDE("to", "s", "2", "1", "4")),
	  "one aligned copy" },
	{ FULL, DESC(SIDE("from", "a", "0", "1", "8") ", " SIDE("to", "s", "0", "1", "8")),
	  "one aligned copy" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'queue': 'other', 'desc': { } } ] }",
	  "belongs to the vector engine; name one of the sync engine" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'queue': 'none', 'desc': { } } ] }",
	  "queue 'none' is not in 'dma_queue' of def.json" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'queue': 'q', 'event': 1 } ] }", "key 'event'" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'instance_name': 'q' } ] }",
	  "instance_name 'q' is in no 'queue_instances'" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'queue': 'd' } ] }", "queue 'd' is dynamic: it takes" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'queue': 'q', 'remote_semaphores': [ 1 ] } ] }",
	  "the model is made for LNC 1; leave them out" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'queue': 'q', 'section_start_desc': 1 } ] }",
	  "'section_start_desc' must be of type boolean, not int" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'queue': 'q', 'function_start': 'f' } ] }",
	  "function_start names 'f', but" },
	{ FULL, "{ 'dma': [ { 'id': 0, 'queue': 'q', 'semaphore': 256 } ] }",
	  "'semaphore' is 256" },
};

static void check_refusal(size_t i)
{
	const struct refusal *refusal = &refusals[i];
	struct nrt_error error;
	struct neff *neff;

	rig_refused(i, rig_read_text(refusal->def, refusal->descs, &neff, &error), &error,
		    refusal->word);
}

static void bad_files(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		check_refusal(i);
}

/* One queue set for each index, and one more. */
static void too_many_queues(void **state)
{
	char *def, *list = NULL;
	struct nrt_error error;
	struct neff *neff;
	size_t size;
	FILE *out;
	int i;

	(void)state;
	out = open_memstream(&list, &size);
	assert_non_null(out);
	for (i = 0; i <= 256; i++)
		fprintf(out, "%s'%d': { 'type': 'in', 'queue_index': %d }", i ? ", " : "", i,
			i % 256);
	fclose(out);
	assert_true(asprintf(&def, DEF(", 'dma_queue': { %s }"), list) > 0);
	rig_refused(0, rig_read_text(def, NULL, &neff, &error), &error,
		    "queue '256': more than 256 queues and instances");
	free(def);
	free(list);
}

static void bad_archives(void **state)
{
	static const struct { const char *first, *second, *word; } cases[] = {
		{ "sg00/a", "./sg00/a", "archive: sg00/a is there twice; pack it once" },
		{ "sg00/a\nb", "sg00/a",
		  "archive: file: name 'a.b' has a control character, 0x0a" },
		{ "sg05/a", "sg00/a", "sg05/a belongs to subgraph 5, but a model for LNC 1 has 1" },
	};
	struct nrt_error error;
	struct neff *neff;
	uint8_t *data;
	size_t i, size;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rig_file files[] = {
			{ cases[i].first, "", 0 }, { cases[i].second, "", 0 }, { NULL, NULL, 0 },
		};

		data = rig_pack(files, 0, &size);
		rig_refused(i, rig_read(data, size, &neff, &error), &error, cases[i].word);
		free(data);
	}
}

static void bad_debug_files(void **state)
{
	static const struct { const char *text, *word; } cases[] = {
		{ "{ 'files': [ 'a' ] }", "'lines' is missing" },
		{ "{ 'files': [ 7 ], 'lines': {} }",
		  "sg00/d.json: element 0 of 'files' must be of type string, not int" },
		{ "{ 'files': [ '' ], 'lines': {} }", "sg00/d.json: name '' has 0 bytes" },
		{ "{ 'files': [], 'lines': { 'warp': [] } }",
		  "d.json: 'lines': key 'warp' is not supported, only tensor, " },
		{ "{ 'files': [], 'lines': { 'sync': [ 0 ] } }",
		  "sync engine: entry 0: must be [instruction, file, line]" },
		{ "{ 'files': [], 'lines': { 'sync': [ [ 0, 1 ] ] } }", "must be [instruction" },
		{ "{ 'files': [], 'lines': { 'sync': [ [ 0, 0, 1 ] ] } }",
		  "entry 0: the file must be an integer from -1 to -1" },
		{ "{ 'files': [], 'lines': { 'sync': [ [ 1, -1, 1 ] ] } }",
		  "the instruction, above that of the entry before, must be an integer from 0" },
		{ "{ 'files': [], 'lines': { 'sync': [ [ 0, -1, 1.5 ] ] } }",
		  "the line must be an integer from 0 to 4294967295" },
		{ "{ 'files': [], 'lines': { 'sync': [ [ 0, -1, 1 ], [ 0, -1, 1 ] ] } }",
		  "2 entries for 1 instructions; each has one at most" },
		{ "{ 'files': [], 'lines': { 'vector': [ [ 0, -1, 1 ] ] } }",
		  "1 entries for 0 instructions" },
	};
	struct nrt_error error;
	struct neff *neff;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		rig_refused(i, rig_read_debug(DEF(", 'debug': 'd.json'"), NULL, cases[i].text,
					      &neff, &error), &error, cases[i].word);
	if (rig_read_debug(DEF(", 'debug': 'd.json'"), NULL,
			   "{ 'files': [ 'a' ], 'lines': { 'sync': [ [ 0, 0, 5 ] ] } }", &neff,
			   &error))
		fail_msg("%s", error.text);
	neff_free(neff);
}

#define FLOAT_COPY	"'op': 'copy', 'from_dtype': 'float32', 'to_dtype': 'float32'"

static void accepted(void **state)
{
	const struct neff_graph *graph;
	struct nrt_error error;
	struct neff *neff;

	(void)state;
	if (rig_read_text(FULL, DESC(FLOAT_COPY ", "
				     SIDE("from", "a", "60", "1, -4", "4, 16") ", "
				     SIDE("to", "b", "0", "1", "64")), &neff, &error))
		fail_msg("%s", error.text);
	graph = &neff->graphs[0];
	assert_int_equal(graph->descs[0].from.step[1], -4);
	/* A set without an owner belongs to whoever fills it. */
	assert_int_equal(graph->sets[graph->descs[0].set].owner, NEURON_ENGINE_SYNC);
	neff_free(neff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_files),
		cmocka_unit_test(too_many_queues),
		cmocka_unit_test(bad_archives),
		cmocka_unit_test(bad_debug_files),
		cmocka_unit_test(accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
