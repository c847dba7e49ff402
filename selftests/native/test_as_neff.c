// SPDX-License-Identifier: MIT
/*
 * Sources to NEFF files and back, and sources and files that are damaged. AS_SOURCES is the
 * folder of the examples.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_rig.h"
#include "neff/neff.h"
#include "nrt_neff_rig.h"

static const char *const examples[] = {
	"vector_add.s", "matmul.s", "softmax.s", "spin.s", "faults/access.s", "faults/address.s",
	"faults/branch.s", "faults/engine.s", "faults/opcode.s", "faults/operand.s",
	"faults/pc.s", "faults/queue.s", "faults/rights.s", "faults/ring.s",
	"faults/semaphore.s", "faults/wait.s", "faults/window.s",
};

#define NR_EXAMPLES	(sizeof(examples) / sizeof(examples[0]))

/* Everything that a NEFF can hold. */
static const char everything[] =
	".program \"all \\\"of\\\" it\"\n"
	".macro number what, times=2\n"
	".local here\n"
	".if \\times >= 2\n"
	"\\here: notify \\what\n"
	"branch \\here\n"
	".else\n"
	"number \\what\n"
	".endif\n"
	".endm\n"
	".input x bf16 2*3*4\n"
	".output \"w1\" fp8_e4 7\n"
	".tmp scratch 65536\n"
	".tmp scratch2 128\n"
	".input x2 fp32 16\n"
	".sem a\n"
	".sem b keep\n"
	".sem c\n"
	".file consts\n"
	".words 1, -1, 0x80000000\n"
	".floats 0.5, -1, 1e-3\n"
	".halves 0xffff, -2\n"
	".rept 5, i\n"
	".bytes i\n"
	".endr\n"
	".pointer where x\n"
	".sbuf\n"
	".dge_table places where sbuf consts x\n"
	".queue made dynamic sync\n"
	".dge.cast.fp32 rows, sbuf[0:4, 0 : 16 fp32], scratch[0 : 4@64*16 fp32] gather skip index consts 4 8 limit 100\n"
	".dge.add.bf16.fp32 sum, scratch[0x100 : 2*3@16*4@2*1 bf16], scratch[0 : 24 fp32] + scratch[96 : 24 fp32] acc random 7 0x100000000\n"
	".dge.fma.fp32 back, scratch[0x800 : 4@-64*16 fp32], sbuf[0x100 : 64 fp32] scale 0.1 scatter index sbuf 0x40000 0x40000 limit 9\n"
	".dge.transpose.int16 turn, scratch[0x100 : 5*4*3 int16], sbuf[0 : 5@100*3*4 int16]\n"
	".dge.max.fp8_e4fn late_types, scratch[1 : 7], scratch[100 : 7]\n"
	".file no_block\n"
	".rept 128\n"
	".words 5\n"
	".endr\n"
	".virtual passing 128 0x1000\n"
	".virtual \"w2\" 64 0x40000000\n"
	".collective reduced all_reduce max bf16 passing scratch2 b groups 3 1 2 / 0 4 (2 + 3) priority 2 stream 3\n"
	".collective \"moved \\\"on\\\"\" permute fp32 x2 \"w2\" s9 groups 0 1 pairs 0:1 1:0\n"
	".collective all barrier s9 groups 0 1 2 3 stream 1\n"
	".collective around permute_implicit fp32 x2 \"w2\" s9 groups 0 1 channels 2\n"
	".collective spread broadcast bf16 passing \"passing\" s9 groups 4 5 root 1\n"
	".peer next 1 scratch\n"
	".peer_sem next_sems 1 b 2\n"
	".queue \"sbuf\" in sync\n"
	".queue wide data scalar 4\n"
	".queue slow data scalar 2 priority 3\n"
	".queue swap data scalar 2 priority 1 instances even \"odd one\"\n"
	".tmp late 4\n"
	".print shown fp16 2*3 \"shown \\\"is\\\" \"\n"
	".notify_bytes 4096\n"
	".engine scalar\n"
	".dma wide, scratch[0 : 64@256*4@16*8], sbuf[0x40000 : 2048] wait a >= 1 post c = 3\n"
	"nop\n"
	".line 1000\n"
	".source \"off\"\n"
	".dma wide, next[64 : 16@-1*1], x[0 : 16], c\n"
	".dma even, scratch[0 : 16], x[0 : 16], a post b += 1\n"
	".dma.cast.fp32.bf16 \"odd one\", scratch[0 : 24 fp32], x, c\n"
	".dma.cast.int8 even, scratch[0 : 16], scratch[64 : 4@32*4]\n"
	".dma.transpose.bf16 wide, scratch[0 : 3*4*2 bf16], scratch[0x800 : 3@16*2*4 bf16] wait c == 2\n"
	".dma.add.fp32 even, scratch[0 : 24], scratch[64 : 24] + scratch[128 : 24] + next[0 : 24], a\n"
	".dma.fma.bf16.fp32 even, late, scratch[0 : 8] scale -0.3 + scratch[32 : 8], a\n"
	".dma.max.int16 even, sbuf[0:2, 0 : 6 int16], scratch[0 : 2*6 int16] const -2.5e-3\n"
	".dma.min.fp8_e5.uint8 even, scratch[0 : 6], x[0 : 6]\n"
	"halt\n"
	".engine sync\n"
	".source off\n"
	"nop\n"
	".source \"other \\\"file\\\".s\"\n"
	".line off\n"
	"reg_store late:0, r1\n"
	".dma \"sbuf\", next_sems[4 : 4], late\n"
	".dma \"sbuf\", sbuf[64:128, 0x100 : 2@512*8 fp32], scratch[0 : 64*2*8 fp32], s7\n"
	".inst 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	".inst 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0\n"
	"notify 1 wait s9 >= 1\n"
	"number 3, times=1\n"
	"branch 0\n";

/* Two programs that share a tensor; names of the first mean nothing in the second. */
static const char both_cores[] =
	".program both\n"
	".set size, 64\n"
	".input x fp32 16\n"
	".tmp a size\n"
	".sibling_sbuf there\n"
	".sibling_sem theirs s200 2\n"
	".sem done keep\n"
	".queue q data sync\n"
	".engine sync\n"
	"loop:\n"
	".dma q, a, x, done, remote s7, remote s8\n"
	".dma q, a, x, remote done\n"
	".dma q, there[0x40000 : 64], x, remote done\n"
	".dma q, theirs[4 : 4], x[0 : 4]\n"
	"branch loop\n"
	".core 1\n"
	".input x fp32 16\n"
	".tmp a size * 2\n"
	".sem other\n"
	".sem done\n"
	".notify_bytes 4096\n"
	".engine gpsimd\n"
	"nop wait done >= 1\n"
	"loop:\n"
	"branch loop\n";

static void comes_back(const char *what, const char *source)
{
	char error[AS_ERROR_MAX];
	size_t size, again_size;
	void *neff = as_pack(source, &size);
	char *text = as_disassemble(neff, size, NULL, error);
	void *again;

	if (!text)
		fail_msg("%s: %s", what, error);
	again = as_pack(text, &again_size);
	if (size != again_size || memcmp(neff, again, size))
		fail_msg("%s: other bytes come back from\n%s", what, text);
	free(again);
	free(text);
	free(neff);
}

static void neffs_come_back(void **state)
{
	size_t i, size;

	(void)state;
	for (i = 0; i < NR_EXAMPLES; i++) {
		char *source = as_read_file("AS_SOURCES", examples[i], &size);

		comes_back(examples[i], source);
		free(source);
	}
	comes_back("everything", everything);
	comes_back("both cores", both_cores);
}

#define ALL_OF(size) \
	"{ 'isa': 'neuron-emu-1', 'engines': { 'sync': { 'instructions': 'sync.bin' } }, " \
	"'var': { 'x': { 'type': 'tmp-buf', 'var_id': 1, 'size': " size " }, " \
	"'s': { 'type': 'collective-semaphore', 'var_id': 2, 'size': 4, 'first': 0, " \
	"'count': 1 } }, 'collectives': [ { 'op': 'alltoall', 'dtype': 'float32', " \
	"'semaphore': 0, 'inputs': [ { 'from': 'x' } ], 'outputs': [ { 'to': 'x' } ], " \
	"'replica_groups': [ [ 0, 1 ] ] } ] }"

/* A dimension of the assembler has less than 4 GiB. All of a variable may have more. */
static void parts_that_have_no_text(void **state)
{
	const struct neuron_inst halt = { .opcode = NEURON_OP_HALT };
	static const char *const quoted[] = { ALL_OF("2147483648"), ALL_OF("4294967296") };
	char error[AS_ERROR_MAX], *def, *text;
	unsigned int i;
	uint8_t *neff;
	size_t size;

	(void)state;
	for (i = 0; i < 2; i++) {
		def = rig_json(quoted[i]);
		neff = rig_pack((const struct rig_file[]){
			{ "sg00/def.json", def, strlen(def) },
			{ "sg00/sync.bin", &halt, sizeof(halt) },
			{ NULL, NULL, 0 },
		}, 0, &size);
		text = as_disassemble(neff, size, NULL, error);
		if (i) {
			assert_null(text);
			if (!strstr(error, "a part of \"x\" in a list that is too large"))
				fail_msg("%s", error);
		} else if (!text) {
			fail_msg("%s", error);
		}
		free(text);
		free(neff);
		free(def);
	}
}

/* What the text says is said as it was, where there are words for it. */
static void words_come_back(void **state)
{
	static const char *const words[] = {
		".dge.cast.fp32 rows, ", ".dge.add.bf16.fp32 sum, ", ".dge.fma.fp32 back, ",
		".dge.transpose.int16 turn, ", ".dge.max.fp8_e4fn late_types, ",
		".file no_block\n", " instances even \"odd one\"\n",
		".dma.cast.fp32.bf16 \"odd one\", ",
		".dma.transpose.uint16 wide, ", " const 0x", " scale 0x",
	};
	char error[AS_ERROR_MAX];
	size_t size, i;
	void *neff = as_pack(everything, &size);
	char *text = as_disassemble(neff, size, NULL, error);

	(void)state;
	assert_non_null(text);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strstr(text, words[i]))
			fail_msg("\"%s\" is not in\n%s", words[i], text);
	free(text);
	free(neff);
}

static struct neff *read_source(const char *source, unsigned int lnc, void **bytes)
{
	const struct neff_limits limits = { .unpacked_bytes = 1 << 24, .validate_hash = true };
	const struct as_options options = { .file = "test.s", .lnc = lnc };
	struct nb_program *nb = as_assemble(source, strlen(source), &options);
	struct nrt_error error;
	struct neff *neff;
	size_t size;

	assert_non_null(nb);
	if (nb_pack(nb, bytes, &size))
		fail_msg("%s", nb_error(nb));
	nb_free(nb);
	if (neff_read(*bytes, size, &limits, &neff, &error))
		fail_msg("%s", error.text);
	return neff;
}

static void programs_for_two_cores(void **state)
{
	const struct neff_graph *graph;
	struct neff *neff;
	void *bytes;

	(void)state;
	neff = read_source(both_cores, 0, &bytes);
	assert_int_equal(neff->lnc, 2);
	graph = &neff->graphs[0];
	assert_int_equal(graph->image_count[NEURON_ENGINE_SYNC], 5);
	assert_int_equal(graph->descs[0].nr_remotes, 2);
	assert_int_equal(graph->descs[0].remote[1], 8);
	assert_int_equal(graph->descs[1].remote[0], 0);
	assert_int_equal(graph->descs[1].semaphore, -1);
	assert_int_equal(graph->vars[1].size, 64);
	assert_int_equal(graph->sem_clear[0], 0);
	assert_int_equal(graph->notify_bytes, 0);
	graph = &neff->graphs[1];
	assert_int_equal(graph->image_count[NEURON_ENGINE_SYNC], 0);
	assert_int_equal(graph->image_count[NEURON_ENGINE_GPSIMD], 2);
	assert_int_equal(le16toh(graph->image[NEURON_ENGINE_GPSIMD][0].wait_sem), 1);
	assert_int_equal(graph->vars[1].size, 128);
	assert_int_equal(graph->sem_clear[0], 3);
	assert_int_equal(graph->notify_bytes, 4096);
	neff_free(neff);
	free(bytes);
}

static void check_line(const struct neff_graph *graph, enum neuron_engine e, uint32_t pc,
		       const char *file, uint32_t line)
{
	uint32_t found = 0;
	const char *name = neff_debug_line(graph, e, pc, &found);

	if (!file) {
		assert_null(name);
		return;
	}
	assert_non_null(name);
	assert_string_equal(name, file);
	assert_int_equal(found, line);
}

static void lines_are_found(void **state)
{
	static const char source[] =
		".queue q data sync 3\n"
		".tmp a 64\n"
		".engine sync\n"
		"nop\n"
		".dma q, a[0 : 4], a[4 : 4]\n"
		".rept 2\n"
		"nop\n"
		".endr\n"
		".line off\n"
		"nop\n"
		".line 77\n"
		".source \"other.s\"\n"
		"halt\n"
		".core 1\n"
		".engine vector\n"
		"halt\n";
	struct neff *neff;
	void *bytes;

	(void)state;
	neff = read_source(source, 0, &bytes);
	/* Without the archive. */
	neff_drop_files(neff);
	free(bytes);
	check_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 0, "test.s", 4);
	check_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 1, "test.s", 5);
	/* The other triggers of the set. */
	check_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 3, "test.s", 5);
	check_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 4, "test.s", 7);
	check_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 5, "test.s", 7);
	check_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 6, NULL, 0);
	check_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 7, "other.s", 78);
	check_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 8, NULL, 0);
	check_line(&neff->graphs[0], NEURON_ENGINE_VECTOR, 0, NULL, 0);
	check_line(&neff->graphs[1], NEURON_ENGINE_VECTOR, 0, "other.s", 81);
	neff_free(neff);
}

/* Nothing to do for the second core: it halts. */
static void second_core_without_lines(void **state)
{
	static const char one[] = ".engine scalar\nhalt\n";
	struct neff *neff;
	void *bytes;

	(void)state;
	neff = read_source(one, 2, &bytes);
	assert_int_equal(neff->lnc, 2);
	assert_int_equal(neff->graphs[1].image_count[NEURON_ENGINE_SYNC], 1);
	assert_int_equal(neff->graphs[1].image[NEURON_ENGINE_SYNC]->opcode, NEURON_OP_HALT);
	neff_free(neff);
	free(bytes);
	neff = read_source(one, 1, &bytes);
	assert_int_equal(neff->lnc, 1);
	neff_free(neff);
	free(bytes);
}

static void check_complaint(const char *source, unsigned int line, const char *text)
{
	struct as_log log;

	assert_null(as_try(source, strlen(source), &log));
	assert_int_equal(log.line, line);
	if (!strstr(log.text, text))
		fail_msg("\"%s\" is not in: %s", text, log.text);
}

/* One line for each rule of a collective and of the scratchpad. */
static void collectives_that_are_refused(void **state)
{
	static const char head[] = ".tmp a 64\n.tmp b 64\n.sem s\n";
	static const struct {
		const char *line;
		const char *text;
	} bad[] = {
		{ ".virtual v 64 6", "the offset is not a multiple of 4" },
		{ ".virtual v 64", "expected a number" },
		{ ".collective c all_sum fp32 a b s groups 0 1",
		  "no collective operation \"all_sum\"" },
		{ ".collective c permute_ring fp32 a b s groups 0 1", "no collective operation" },
		{ ".collective c permute_implicit fp32 a b s groups 0 1 channels 5", "channels" },
		{ ".collective c permute fp32 a b s groups 0 1 pairs 0:1 channels 1", "channels" },
		{ ".collective c all_reduce fp32 a b s groups 0 1", "expected add, min or max" },
		{ ".collective c all_gather add fp32 a b s groups 0 1", "add" },
		{ ".collective c all_reduce add a b s groups 0 1", "type" },
		{ ".collective c broadcast fp32 a z s groups 0 1", "no variable \"z\"" },
		{ ".collective c broadcast fp32 a b t groups 0 1", "no semaphore \"t\"" },
		{ ".collective c barrier s", "expected \"groups\" and their ranks" },
		{ ".collective c barrier s groups", "expected a number" },
		{ ".collective c barrier s groups 0 256", "a rank" },
		{ ".collective c barrier s groups 0 1 / 2",
		  "this group has 1 ranks, and the first has 2" },
		{ ".collective c permute fp32 a b s groups 0 1 pairs 0 1",
		  "the place that receives" },
		{ ".collective c barrier s groups 0 1 priority 4", "priority" },
		{ ".collective c barrier s groups 0 1 stream 4", "stream" },
		{ ".collective c barrier s groups 0 1 stream", "expected a number" },
		{ ".collective c barrier s groups 0 1 stream 1 priority 1", "priority" },
		{ ".collective c alltoallv fp32 a b s groups 0 1",
		  "expected \"metadata\" and a variable" },
		{ ".collective c alltoallv fp32 a b s groups 0 1 metadata z", "no variable \"z\"" },
		{ ".collective c alltoall fp32 a b s groups 0 1 metadata a", "metadata" },
		{ ".collective c barrier s groups 0 1 more", "\"more\" has no value" },
		{ ".collective a barrier s groups 0 1", "\"a\"" },
	};
	char source[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(source, sizeof(source), "%s%s\n", head, bad[i].line);
		check_complaint(source, 4, bad[i].text);
	}
}

/* One line for each rule of a transfer that computes. */
static void moves_that_are_refused(void **state)
{
	static const char head[] =
		".tmp a 4096\n.tmp b 4096\n.queue q data sync\n.queue d dynamic sync\n"
		".sibling_sem s s1\n.engine sync\n";
	static const struct {
		const char *line;
		const char *text;
	} bad[] = {
		{ ".dma.sum.fp32 q, a, b", "expected cast, transpose, add, fma, max or min" },
		{ ".dma.cast q, a, b", "expected \".\" and the type" },
		{ ".dma.cast.fp32.int64 q, a[0 : 4], b[0 : 8]", "cast of int64" },
		{ ".dma.cast.tf32.fp32 q, a, b", "a NEFF has no name for fp32 or tf32" },
		{ ".dma.cast.bf16.fp32 q, a[0 : 8], b[0 : 8]", "the sides have 2 and 4 elements" },
		{ ".dma.cast.bf16.fp32 q, a[0 : 7], b[0 : 8]", "runs of 7 bytes of \"a\"" },
		{ ".dma.cast.bf16.fp32 q, a[0 : 2 bf16], b + a", "cast of 2 sources; 1 is" },
		{ ".dma.transpose.uint8 q, a, b", "transpose of uint8" },
		{ ".dma.transpose.bf16.fp16 q, a, b", "it does not cast" },
		{ ".dma.transpose.bf16 q, a[0 : 2*3 bf16], b[0 : 2*3 bf16]",
		  "with dimensions 0 and 1 exchanged" },
		{ ".dma.add.fp32 q, a[0 : 8], b[0 : 8] + b[0 : 2@4*4]",
		  "source 1 has other sizes" },
		{ ".dma.add.fp32 q, a[0 : 4], b[0 : 4] scale 2", "only fma has a scale" },
		{ ".dma.add.fp32 q, a[0 : 4], b[0 : 4] const 2", "goes with max and min" },
		{ ".dma.max.fp32 q, a[0 : 4], a[8 : 4] const 2",
		  "cannot be source and destination" },
		{ ".dma.max.fp32 q, a[0 : 4], b[8 : 4] const 0x7fc00000", "is a number" },
		{ ".dma.fma.fp32 q, a[0 : 4], b[8 : 4] scale 0x7f800000", "no number" },
		{ ".dma.add.uint32 q, s, b[0 : 4]", "are semaphores; only a copy can post them" },
		{ ".dma.add.fp32 q, a[0 : 4], b[4096 : 4]", "leaves \"b\"" },
		{ ".dma.add.fp32 d, a[0 : 4], b[0 : 4]", "generated descriptors only" },
		{ ".dge.cast.fp32 k, a[0 : 4], b[0 : 4] gather", "2 to 4 dimensions" },
		{ ".dge.cast.fp32 k, a[0 : 8], b[0 : 2*4] gather limit 2",
		  "the list of indices is no variable" },
		{ ".dge.cast.fp32 k, a[0 : 8], b[0 : 2*4] gather index a 4092 limit 2",
		  "2 indices are not aligned to 4 bytes or leave \"a\"" },
		{ ".dge.cast.fp32 k, a[0 : 8], b[0 : 2*4] gather index a 0 limit 1025",
		  "a transfer leaves \"b\"" },
		{ ".dge.cast.fp32 k, a[0 : 8], b[0 : 8] acc", "cast does not accumulate" },
		{ ".dge.cast.fp32 k, a[0 : 8], b[0 : 8] skip", "skip needs a list" },
		{ ".dge.cast.fp32 k, a[0 : 8], b[0 : 8] random 1 2", "rounded at random" },
		{ ".dge.add.fp32 k, a[0 : 8], b[0 : 8] twice", "expected acc, gather" },
		{ ".dge.max.fp32 k, a[0 : 8], b[0 : 8] const 1", "have no constant" },
		{ ".dge cast, a, b", "expected \".\" and an operation" },
		{ ".queue a2 data sync 2 instances", "expected an instance" },
		{ ".queue a2 data sync 2 instances q", "the name is taken" },
		{ ".queue a2 data sync 2 instances x y x", "the name is taken" },
	};
	char source[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(source, sizeof(source), "%s%s\nhalt\n", head, bad[i].line);
		check_complaint(source, 7, bad[i].text);
	}
}

static void cores_that_do_not_exist(void **state)
{
	struct nb_program *nb;
	void *data;
	size_t size;

	(void)state;
	check_complaint(".engine sync\nhalt\n.core 2\n", 3, "the core");
	check_complaint(".engine sync\nhalt\n.core 1\n.engine sync\nhalt\n.core 0\n", 6,
			"the lines for core 1 come last");
	check_complaint(".engine sync\n.rept 2\nhalt\n.core 1\n.endr\n", 4, ".core in a .rept");
	check_complaint(".sem a\n.engine sync\nhalt\n.core 1\n.engine sync\nnop wait a >= 1\n", 6,
			"\"a\"");
	/* Not the same tensor. */
	nb = as_good(".input x fp32 2\n.engine sync\nhalt\n.core 1\n.input x fp32 3\n"
		     ".engine sync\nhalt\n");
	assert_int_equal(nb_pack(nb, &data, &size), -1);
	assert_non_null(strstr(nb_error(nb), "\"x\" of both cores is one tensor"));
	nb_free(nb);
}

static void core_of_another_lnc(void **state)
{
	static const char source[] = ".engine sync\nhalt\n.core 1\n";
	const struct as_options options = { .file = "test.s", .lnc = 1 };

	(void)state;
	assert_null(as_assemble(source, strlen(source), &options));
}

/* Whatever the bytes: a program or a complaint, and nothing for the sanitizers. */
static void survives(const char *text, size_t size)
{
	struct as_log log;
	struct nb_program *nb = as_try(text, size, &log);

	assert_true(!nb == !!log.errors);
	nb_free(nb);
}

static void truncated_sources_are_survived(void **state)
{
	size_t length = strlen(everything);
	size_t cut;

	(void)state;
	for (cut = 0; cut < length; cut++) {
		/* Exactly as long, so that a read beyond the end is seen. */
		char *copy = malloc(cut + 1);

		assert_non_null(copy);
		memcpy(copy + 1, everything, cut);
		survives(copy + 1, cut);
		free(copy);
	}
}

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void damaged_sources_are_survived(void **state)
{
	size_t length = strlen(everything);
	char *copy = malloc(length);
	uint32_t seed = 1;
	unsigned int round, i;

	(void)state;
	assert_non_null(copy);
	for (round = 0; round < 1000; round++) {
		memcpy(copy, everything, length);
		for (i = 0; i <= round % 8; i++)
			copy[random_next(&seed) % length] = everything[random_next(&seed) % length];
		copy[random_next(&seed) % length] = (char)random_next(&seed);
		survives(copy, length);
	}
	for (round = 0; round < 200; round++) {
		for (i = 0; i < length; i++)
			copy[i] = (char)random_next(&seed);
		survives(copy, length);
	}
	free(copy);
}

static void refused(const void *neff, size_t size)
{
	char error[AS_ERROR_MAX] = "";
	char *text = as_disassemble(neff, size, NULL, error);

	assert_null(text);
	assert_true(*error);
	assert_null(strchr(error, '\n'));
}

static void damaged_neffs_are_refused(void **state)
{
	uint32_t seed = 7;
	unsigned int round;
	uint8_t *neff;
	size_t size;

	(void)state;
	neff = as_pack(everything, &size);
	for (round = 0; round < 100; round++)
		refused(neff, random_next(&seed) % size);
	for (round = 0; round < 300; round++) {
		/* The archive is hashed; of the header only some fields are looked at. */
		size_t at = 1024 + random_next(&seed) % (size - 1024);

		neff[at] ^= 0x10;
		refused(neff, size);
		neff[at] ^= 0x10;
	}
	neff[0] = 77;
	refused(neff, size);
	refused("not a NEFF", 10);
	refused(everything, sizeof(everything));
	free(neff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neffs_come_back),
		cmocka_unit_test(parts_that_have_no_text),
		cmocka_unit_test(words_come_back),
		cmocka_unit_test(programs_for_two_cores),
		cmocka_unit_test(lines_are_found),
		cmocka_unit_test(second_core_without_lines),
		cmocka_unit_test(collectives_that_are_refused),
		cmocka_unit_test(moves_that_are_refused),
		cmocka_unit_test(cores_that_do_not_exist),
		cmocka_unit_test(core_of_another_lnc),
		cmocka_unit_test(truncated_sources_are_survived),
		cmocka_unit_test(damaged_sources_are_survived),
		cmocka_unit_test(damaged_neffs_are_refused),
	};

	return cmocka_run_group_tests_name("as_neff", tests, NULL, NULL);
}
