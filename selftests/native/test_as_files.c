// SPDX-License-Identifier: MIT
/*
 * Every NEFF that the build makes, and every program of the runtime's tests, comes back from its
 * text as the same bytes. AS_FILES has the paths, with a colon between two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#include "../libnrt/programs.h"
#include "as_rig.h"
#include "step.h"

/* Least number of NEFFs that the build makes: a list that is cut short would test nothing. */
#define MIN_FILES	20

static void complain(void *context, const struct as_diag *diag)
{
	const char *name = context;

	if (!diag->warning)
		print_error("%s:%u: %s\n", name, diag->line, diag->text);
}

static void comes_back(const char *name, const void *neff, size_t size)
{
	const struct as_options options = {
		.file = name, .report = complain, .context = (char *)name,
	};
	char error[AS_ERROR_MAX];
	char *text = as_disassemble(neff, size, NULL, error);
	struct nb_program *nb;
	size_t again_size = 0;
	void *again = NULL;

	if (!text)
		fail_msg("%s: %s", name, error);
	nb = as_assemble(text, strlen(text), &options);
	if (!nb || nb_pack(nb, &again, &again_size))
		fail_msg("%s: does not assemble again:\n%s", name, text);
	nb_free(nb);
	if (size != again_size || memcmp(neff, again, size))
		fail_msg("%s: other bytes come back from\n%s", name, text);
	free(again);
	free(text);
}

static void files_come_back(void **state)
{
	const char *files = getenv("AS_FILES");
	unsigned int count = 0;
	char *list, *path, *rest;
	size_t size;
	char *neff;

	(void)state;
	if (!files)
		fail_msg("set AS_FILES to the NEFFs, with a colon between two");
	list = strdup(files);
	assert_non_null(list);
	setenv("AS_FILE_ROOT", "/", 1);
	for (path = strtok_r(list, ":", &rest); path; path = strtok_r(NULL, ":", &rest)) {
		neff = as_read_file("AS_FILE_ROOT", path, &size);
		comes_back(path, neff, size);
		free(neff);
		count++;
	}
	free(list);
	assert_in_range(count, MIN_FILES, 1000);
}

static void program_comes_back(const char *name, struct program program)
{
	comes_back(name, program.data, program.size);
	free(program.data);
}

static void programs_come_back(void **state)
{
	(void)state;
	program_comes_back("scale", program_scale(1));
	program_comes_back("scale 16", program_scale(16));
	program_comes_back("priorities", program_priorities());
	program_comes_back("transpose", program_transpose());
	program_comes_back("constant", program_constant());
	program_comes_back("matmul", program_matmul());
	program_comes_back("bad opcode", program_bad_opcode());
	program_comes_back("out of bounds", program_out_of_bounds());
	program_comes_back("read only", program_read_only());
	program_comes_back("no halt", program_no_halt());
	program_comes_back("spin", program_spin());
	program_comes_back("stuck", program_stuck());
	program_comes_back("nan", program_nan());
	program_comes_back("print", program_print());
	program_comes_back("waits", program_waits());
	program_comes_back("push", program_push());
	program_comes_back("pull", program_pull());
	program_comes_back("rank", program_rank());
	program_comes_back("notices", program_notices(3));
	program_comes_back("print much", program_print_much());
	program_comes_back("collectives", program_collectives(2));
	program_comes_back("many collectives", program_many_collectives(2));
	program_comes_back("one collective", program_one_collective(4));
	program_comes_back("lists", program_lists(4));
	program_comes_back("pairs", program_pairs(4, false));
	program_comes_back("all pairs", program_pairs(4, true));
	program_comes_back("large collectives", program_large_collectives(2));
	program_comes_back("scratch", program_scratch());
	program_comes_back("scratch of", program_scratch_of(1 << 20));
	program_comes_back("scratch collectives", program_scratch_collectives(2));
	program_comes_back("exchange", program_exchange());
	program_comes_back("sendrecv", program_sendrecv());
	program_comes_back("pair", program_pair());
	program_comes_back("second faults", program_second(PROGRAM_FAULTS));
	program_comes_back("second hangs", program_second(PROGRAM_HANGS));
}

static void programs_for_pairs_come_back(void **state)
{
	setenv("NEURON_LOGICAL_NC_CONFIG", "2", 1);
	programs_come_back(state);
	unsetenv("NEURON_LOGICAL_NC_CONFIG");
}

static void builder_comes_back(struct nb_program *nb, const char *name)
{
	void *neff = NULL;
	size_t size;

	if (nb_pack(nb, &neff, &size))
		fail_msg("%s: %s", name, nb_error(nb));
	comes_back(name, neff, size);
	nb_free(nb);
	free(neff);
}

/*
 * Instructions that the builder makes by itself have lines, too: behind the nops of a transfer, in
 * loops, and at the end.
 */
static void made_instructions_come_back(void **state)
{
	const struct neuron_ap tile = nb_tile(0, 128, 0, NEURON_DTYPE_FP32, 4);
	const uint32_t shape[] = { 128, 4 };
	struct nb_program *nb = nb_new("made");
	int queue, y;

	(void)state;
	nb_auto(nb);
	queue = nb_queue(nb, "q", "out", NEURON_ENGINE_GPSIMD, 4);
	y = nb_output(nb, "y", NEURON_DTYPE_FP32, 2, shape);
	nb_source(nb, "made.c", 3);
	nb_memset(nb, NEURON_ENGINE_GPSIMD, tile, 0);
	nb_source(nb, "made.c", 4);
	nb_dma(nb, queue, nb_rows(y, 0, 16, 128, 16), nb_sbuf_tile(nb, 0, 128, 0, 16), -1);
	nb_source(nb, "made.c", 5);
	nb_begin_loop(nb, 1, 3);
	nb_source(nb, "made.c", 6);
	nb_memset(nb, NEURON_ENGINE_VECTOR, tile, 0);
	nb_memset(nb, NEURON_ENGINE_GPSIMD, tile, 0);
	nb_source(nb, "made.c", 7);
	nb_end_loop(nb);
	builder_comes_back(nb, "made");
}

/* Sources are numbered as the streams use them, and one that is not used has no number. */
static void sources_come_back(void **state)
{
	const struct neuron_ap tile = nb_tile(0, 128, 0, NEURON_DTYPE_FP32, 4);
	struct nb_program *nb = nb_new("sources");

	(void)state;
	nb_source(nb, "unused.c", 1);
	nb_source(nb, "last.c", 1);
	nb_memset(nb, NEURON_ENGINE_GPSIMD, tile, 0);
	nb_source(nb, "first.c", 1);
	nb_memset(nb, NEURON_ENGINE_VECTOR, tile, 0);
	nb_source(nb, "last.c", 2);
	nb_halt(nb, NEURON_ENGINE_GPSIMD);
	nb_source(nb, NULL, 0);
	nb_halt(nb, NEURON_ENGINE_VECTOR);
	builder_comes_back(nb, "sources");
}

/* All operations that a NEFF can have, one after the other, on what lies in the scratchpad. */
static void collectives_come_back(void **state)
{
	static const uint32_t ranks[] = { 0, 2, 1, 3 };
	static const uint32_t pairs[][2] = { { 0, 1 }, { 1, 0 } };
	static const struct {
		struct nb_collective what;
		bool in, out;	/* a block of each rank, not one */
	} all[] = {
		{ { .op = "all_reduce", .reduce = "add", .priority = 3 }, false, false },
		{ { .op = "all_reduce", .reduce = "min", .stream = 2 }, false, false },
		{ { .op = "reduce_scatter", .reduce = "max" }, true, false },
		{ { .op = "all_gather" }, false, true },
		{ { .op = "alltoall" }, true, true },
		{ { .op = "permute", .pairs = pairs, .nr_pairs = 2 }, false, false },
		{ { .op = "broadcast", .root = 1 }, false, false },
		{ { .op = "barrier" }, false, false },
		{ { .op = "reduce_scatterv", .reduce = "min", .metadata = 6 }, true, false },
		{ { .op = "all_gatherv", .metadata = 6, .recv_counts_known = true }, false, true },
		{ { .op = "alltoallv", .metadata = 7, .has_rdispls = true }, true, true },
	};
	struct nb_program *nb = nb_new("collectives");
	const int one = nb_file(nb, "one", &(uint32_t){ 1 }, 4);
	const int shared = nb_virtual(nb, "shared \"block\"", 64, 4096);
	const int sum = nb_virtual(nb, "sum", 64, 0), wide = nb_tmp(nb, "wide", 128);
	const int wider = nb_tmp(nb, "wider", 128);
	/* Variables 6 and 7, which the table names. */
	const int rows[] = { nb_tmp(nb, "three rows", 24), nb_tmp(nb, "four rows", 32) };
	const int queue = nb_queue(nb, "q", "data", NEURON_ENGINE_SYNC, 1);
	struct nb_collective what;
	char name[8];
	size_t i;

	(void)state;
	assert_int_equal(rows[0], 6);
	assert_int_equal(rows[1], 7);
	nb_sem(nb, true);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		what = all[i].what;
		what.dtype = NEURON_DTYPE_BF16;
		what.input = all[i].in ? wide : shared;
		what.output = all[i].out ? wider : sum;
		what.ranks = ranks;
		what.group_size = 2;
		what.nr_groups = 2;
		what.semaphore = nb_sem(nb, false);
		snprintf(name, sizeof(name), "go%zu", i);
		nb_dma(nb, queue, nb_linear(nb_collective(nb, name, &what), 0, 4),
		       nb_linear(one, 0, 4), -1);
		nb_wait(nb_nop(nb, NEURON_ENGINE_SYNC), what.semaphore, 1);
	}
	nb_second(nb);
	builder_comes_back(nb, "collectives");
}

/* Training: a program on several ranks, which begins with a kernel's collective. */
static void digits_come_back(void **state)
{
	(void)state;
	builder_comes_back(digits_step_program(4, 8), "a step of digits");
	builder_comes_back(digits_score_program(8), "a score of digits");
}

static void nothing_comes_back(void **state)
{
	struct nb_program *nb = nb_new("nothing");

	(void)state;
	builder_comes_back(nb, "nothing");
	nb = nb_new("nothing on both cores");
	nb_second(nb);
	builder_comes_back(nb, "nothing on both cores");
}

/* A part is a part of the whole, and comments change nothing. */
static void parts_and_comments(void **state)
{
	struct program program = program_scale(2);
	const struct as_dump notes = { .indexes = true, .bytes = true, .places = true };
	const struct as_dump part = {
		.cores = 1, .sections = NEURON_BIT(AS_SECTION_ENGINE + NEURON_ENGINE_VECTOR),
	};
	const struct as_dump none = { .cores = 2 };
	const struct as_options options = { .file = "notes", .report = complain };
	char error[AS_ERROR_MAX];
	struct nb_program *nb;
	char *whole, *text;
	size_t size;
	void *again;

	(void)state;
	whole = as_disassemble(program.data, program.size, NULL, error);
	assert_non_null(whole);
	text = as_disassemble(program.data, program.size, &part, error);
	assert_non_null(text);
	assert_int_equal(strncmp(text, "\n.engine vector\n", 16), 0);
	assert_null(strstr(text + 16, ".engine"));
	assert_non_null(strstr(whole, strchr(text + 16, '\t')));
	free(text);
	text = as_disassemble(program.data, program.size, &none, error);
	assert_non_null(text);
	assert_string_equal(text, "");
	free(text);
	text = as_disassemble(program.data, program.size, &notes, error);
	assert_non_null(text);
	assert_non_null(strstr(text, "# vector 0\n#  00: "));
	nb = as_assemble(text, strlen(text), &options);
	assert_non_null(nb);
	assert_int_equal(nb_pack(nb, &again, &size), 0);
	assert_int_equal(size, program.size);
	assert_memory_equal(again, program.data, size);
	nb_free(nb);
	free(again);
	free(text);
	free(whole);
	free(program.data);
}

/* A command of the shell in a folder of its own, and its exit status. */
static int run(const char *folder, const char *command)
{
	char line[1024];
	int status;

	snprintf(line, sizeof(line), "cd %s && %s", folder, command);
	status = system(line);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The programs; NEURON_AS and OBJDUMP are their paths. */
static void command_lines(void **state)
{
	char folder[] = "/tmp/as-files-XXXXXX";

	(void)state;
	assert_non_null(getenv("NEURON_AS"));
	assert_non_null(getenv("OBJDUMP"));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(run(folder, "printf '.engine sync\\nbranch end\\n' >a.s"), 0);
	assert_int_equal(run(folder, "printf 'nop\\nend: halt\\n' >b.s"), 0);
	assert_int_equal(run(folder, "$NEURON_AS a.s b.s 2>e"), 2);
	assert_int_equal(run(folder, "$NEURON_AS 2>e"), 2);
	assert_int_equal(run(folder, "$NEURON_AS a.s 2>e"), 1);
	assert_int_equal(run(folder, "grep -q '^a.s:2:8: error: no label \"end\"' e"), 0);
	assert_int_equal(run(folder, "grep -q '^1 error$' e"), 0);
	assert_int_equal(run(folder, "$NEURON_AS none.s 2>e"), 1);
	/* Of the assembler and of the builder; 20 of them, and how many that was. */
	assert_int_equal(run(folder, "yes '.input x fp32 4' | head -9 >f.s"), 0);
	assert_int_equal(run(folder, "yes nonsense | head -8 >>f.s"), 0);
	assert_int_equal(run(folder, "$NEURON_AS f.s 2>e; grep -c ': error: ' e | grep -qx 16"),
			 0);
	assert_int_equal(run(folder, "tail -n 1 e | grep -qx '16 errors'"), 0);
	assert_int_equal(run(folder, "seq 30 >f.s; $NEURON_AS f.s 2>e"), 1);
	assert_int_equal(run(folder, "grep -c error: e | grep -qx 20"), 0);
	assert_int_equal(run(folder, "tail -n 1 e | grep -q '^20 errors; what'"), 0);
	assert_int_equal(run(folder, "$NEURON_AS a.s b.s -o c.neff"), 0);
	assert_int_equal(run(folder, "$OBJDUMP c.neff -o c.s && $NEURON_AS c.s -o d.neff"), 0);
	assert_int_equal(run(folder, "cmp c.neff d.neff"), 0);
	assert_int_equal(run(folder, "$OBJDUMP -S <c.neff - -I . | grep -q '^# b.s:2: end: halt'"),
			 0);
	assert_int_equal(run(folder, "$OBJDUMP -h c.neff | grep -q 'sync  *3 instructions  *384'"),
			 0);
	assert_int_equal(run(folder, "$OBJDUMP a.s 2>e"), 1);
	assert_int_equal(run(folder, "$OBJDUMP -j none c.neff 2>e"), 2);
	assert_int_equal(run(folder, "$OBJDUMP -c 2 c.neff 2>e"), 2);
	assert_int_equal(run(folder, "rm *.s *.neff e"), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_come_back),
		cmocka_unit_test(programs_come_back),
		cmocka_unit_test(programs_for_pairs_come_back),
		cmocka_unit_test(made_instructions_come_back),
		cmocka_unit_test(sources_come_back),
		cmocka_unit_test(collectives_come_back),
		cmocka_unit_test(digits_come_back),
		cmocka_unit_test(nothing_comes_back),
		cmocka_unit_test(parts_and_comments),
		cmocka_unit_test(command_lines),
	};

	return cmocka_run_group_tests_name("as_files", tests, NULL, NULL);
}
