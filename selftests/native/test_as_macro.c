// SPDX-License-Identifier: MIT
/* The assembler's macros, included files, conditions and several sources. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "as_rig.h"
#include "neff/neff.h"

/* Both sources give the same bytes; lines are left out. */
static void same(const char *source, const char *plain)
{
	char text[2][4096];
	size_t size[2];
	void *neff[2];

	snprintf(text[0], sizeof(text[0]), ".line off\n.engine vector\n%s", source);
	snprintf(text[1], sizeof(text[1]), ".line off\n.engine vector\n%s", plain);
	neff[0] = as_pack(text[0], &size[0]);
	neff[1] = as_pack(text[1], &size[1]);
	if (size[0] != size[1] || memcmp(neff[0], neff[1], size[0]))
		fail_msg("these differ:\n%s\nand\n%s", source, plain);
	free(neff[0]);
	free(neff[1]);
}

static void wrong(const char *source, unsigned int line, const char *text, const char *notes)
{
	struct as_log log;

	assert_null(as_try(source, strlen(source), &log));
	if (log.line != line || !strstr(log.text, text))
		fail_msg("line %u, \"%s\" is not in line %u: %s", line, text, log.line, log.text);
	if (notes)
		assert_string_equal(log.notes, notes);
}

static void arguments_take_their_places(void **state)
{
	(void)state;
	same(".macro both a, b=7, c = \"x\"\n"
	     "notify \\a   # \\nothing here\n"
	     "notify \\b\n"
	     ".endm\n"
	     "both 1\nboth 1, 2\nboth b=3, a=1\nhalt\n",
	     "notify 1\nnotify 7\nnotify 1\nnotify 2\nnotify 1\nnotify 3\nhalt\n");
}

static void brackets_keep_an_argument_together(void **state)
{
	(void)state;
	same(".macro fill tile, value=1.5\n"
	     "memset \\tile, \\value\n"
	     ".endm\n"
	     "fill sbuf[0:128, 64 : 4*8 fp32], 2.0\n"
	     "fill value = 0.5, tile = sbuf[0:2, 0 : 1 fp32]  # last\n"
	     "fill sbuf[0:1, 0 : 1 fp32],\n"
	     "halt\n",
	     "memset sbuf[0:128, 64 : 4*8 fp32], 2.0\n"
	     "memset sbuf[0:2, 0 : 1 fp32], 0.5\n"
	     "memset sbuf[0:1, 0 : 1 fp32], 1.5\n"
	     "halt\n");
}

static void strings_and_names_are_joined(void **state)
{
	(void)state;
	same(".macro var name\n"
	     ".tmp \\name\\()_a 4\n"
	     ".tmp \"\\name \\\"b\\\" # \\\\\" 8\n"
	     ".endm\n"
	     "var one\nvar two\nhalt\n",
	     ".tmp one_a 4\n.tmp \"one \\\"b\\\" # \\\\\" 8\n"
	     ".tmp two_a 4\n.tmp \"two \\\"b\\\" # \\\\\" 8\nhalt\n");
}

static void labels_of_a_macro_are_its_own(void **state)
{
	(void)state;
	same(".macro repeat n\n"
	     ".local again, out\n"
	     "\treg_set r1, \\n\n"
	     "\\again:\n"
	     "\tbranch \\out\n"
	     "\tloop r1, \\again\n"
	     "\\out:\n"
	     "l\\@: nop\n"
	     ".endm\n"
	     "repeat 2\nrepeat 3\nhalt\n",
	     "reg_set r1, 2\na: branch b\nloop r1, a\nb: nop\n"
	     "reg_set r1, 3\nc: branch d\nloop r1, c\nd: nop\nhalt\n");
}

static void macros_make_macros_and_repetitions(void **state)
{
	(void)state;
	same(".macro maker name, value\n"
	     ".macro \\name\n"
	     "notify \\value\n"
	     ".endm\n"
	     ".endm\n"
	     "maker five, 5\n"
	     ".macro times n, what\n"
	     ".rept \\n, i\n"
	     "\\what\n"
	     ".endr\n"
	     ".endm\n"
	     "times 2, five\n"
	     "times 3, notify i\n"
	     "halt\n",
	     "notify 5\nnotify 5\nnotify 0\nnotify 1\nnotify 2\nhalt\n");
}

static void recursion_ends_with_a_condition(void **state)
{
	(void)state;
	same(".macro down n\n"
	     ".if \\n >= 1\n"
	     "notify \\n\n"
	     "down (\\n - 1)\n"
	     ".endif\n"
	     ".endm\n"
	     "down 4\nhalt\n",
	     "notify 4\nnotify 3\nnotify 2\nnotify 1\nhalt\n");
}

static void conditions_choose(void **state)
{
	(void)state;
	same(".set N, 3\n"
	     ".if N == 3\nnotify 1\n.else\n not even words ~\n.endif\n"
	     ".if N - 3\n.if 1\n.else\n.endif\n.rept\n.else\nnotify 2\n.endif\n"
	     ".ifdef N\nnotify 3\n.endif\n"
	     ".ifndef N\n%%\n.else\nnotify 4\n.endif\n"
	     ".ifdef M\n%%\n.endif\n"
	     ".rept 3, i\n.if i >= 2\nnotify i\n.else\nnop\n.endif\n.endr\n"
	     ".rept 0\n.rept 2\n.endr\n%%\n.endr\n"
	     "halt\n",
	     "notify 1\nnotify 2\nnotify 3\nnotify 4\nnop\nnop\nnotify 2\nhalt\n");
}

static void a_constant_may_be_made_by_macros(void **state)
{
	(void)state;
	same(".macro pair a\n.words \\a, \\a\n.endm\n"
	     ".file c\n.if 1\npair 1\n.endif\npair 2\nhalt\n",
	     ".file c\n.words 1, 1, 2, 2\nhalt\n");
}

static void mistakes_say_where_they_come_from(void **state)
{
	(void)state;
	wrong(".macro m x\nnop\nnop wait \\x >= 1\n.endm\n.engine sync\nm far\n", 3,
	      "no semaphore \"far\"", "test.s:6: in macro \"m\", used here\n");
	wrong(".macro in\nnop 1\n.endm\n.macro out\nnop\nin\n.endm\n.engine sync\nout\n", 2,
	      "the end of the line",
	      "test.s:6: in macro \"in\", used here\ntest.s:9: in macro \"out\", used here\n");
	/* A label that comes too late to be found at once. */
	wrong(".macro go to\nbranch \\to\n.endm\n.engine sync\ngo there\nhalt\n", 2,
	      "no label \"there\"", "test.s:5: in macro \"go\", used here\n");
	wrong(".macro c\n.file x\n.endm\n.engine sync\nc\nhalt\n", 2, "the file has no contents",
	      "test.s:5: in macro \"c\", used here\n");
}

static void wrong_macros_are_refused(void **state)
{
	(void)state;
	wrong(".macro\n", 1, "expected a name", NULL);
	wrong(".macro halt\n.endm\n", 1, "is an instruction", NULL);
	wrong(".macro m\nnop\n", 1, ".macro without .endm", NULL);
	wrong(".engine sync\n.endm\n", 2, ".endm without .macro", NULL);
	wrong(".macro m\n.endm\n.macro m\n.endm\n", 3, "there already", NULL);
	wrong(".macro m a, a\n.endm\n", 1, "has \"a\" already", NULL);
	wrong(".macro m a\n.endm\n.engine sync\nm\n", 4, "needs a value for \"a\"", "");
	wrong(".macro m a\n.endm\n.engine sync\nm 1, 2\n", 4, "takes 1 arguments", "");
	wrong(".macro m\n.local x\n.endm\n.engine sync\nm 1\n", 5, "takes 0 arguments", "");
	wrong(".macro m\nnotify \\x\n.endm\n.engine sync\nm\n", 5, "uses \"\\x\"", "");
	wrong(".local x\n", 1, ".local stands", NULL);
	wrong(".macro m\n.rept 2\n.endm\n.engine sync\nm\n.endr\nhalt\n", 2,
	      ".rept without .endr", "test.s:5: in macro \"m\", used here\n");
	wrong(".macro m\n.if 1\n.endm\n.engine sync\nm\n.endif\nhalt\n", 2,
	      ".if without .endif", "test.s:5: in macro \"m\", used here\n");
}

static void wrong_conditions_are_refused(void **state)
{
	(void)state;
	wrong(".if 1\nnop\n", 2, "no engine yet", NULL);
	wrong(".engine sync\n.if 1\nhalt\n", 2, ".if without .endif", NULL);
	wrong(".engine sync\n.if 0\nhalt\n", 2, ".if without .endif", NULL);
	wrong(".engine sync\n.else\n", 2, ".else without .if", NULL);
	wrong(".engine sync\n.endif\n", 2, ".endif without .if", NULL);
	wrong(".engine sync\n.if 0\n.else\n.else\n.endif\n", 4, "a second .else", NULL);
	wrong(".engine sync\n.if 1\n.rept 2\n.endif\n.endr\n", 4, ".endif without .if", NULL);
	wrong(".engine sync\n.rept 2\n.if 1\n.endr\n.endif\n", 3, ".if without .endif", NULL);
	wrong(".if x\n.endif\n", 1, "\"x\" has no value", NULL);
	wrong(".if 1 2\n.endif\n", 1, "the end of the line", NULL);
	wrong(".ifdef 3\n.endif\n", 1, "expected a symbol", NULL);
}

static void nothing_goes_on_for_ever(void **state)
{
	struct as_log log;
	static const char doubling[] =
		".macro m x\nm \\x\\()\\x\n.endm\n.engine sync\nm aaaaaaaaaaaaaaaa\n";
	static const char tree[] =
		".macro m n\n.if \\n\nm (\\n-1)\nm (\\n-1)\n.endif\n.endm\n.engine sync\nm 60\n";

	(void)state;
	wrong(".macro m\nm\n.endm\n.engine sync\nm\n", 2, "more than 64 macros", NULL);
	assert_null(as_try(doubling, strlen(doubling), &log));
	assert_non_null(strstr(log.text, "more than"));
	assert_null(as_try(tree, strlen(tree), &log));
	assert_non_null(strstr(log.text, "more than"));
}

/* A folder with files, for .include. */
struct folder {
	char path[64];
	char source[96];
};

static void put_file(const struct folder *folder, const char *name, const char *text)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	assert_non_null(folder);
	strcpy(folder->path, "/tmp/as-macro-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	snprintf(folder->source, sizeof(folder->source), "%s/main.s", folder->path);
	put_file(folder, "a.inc", ".macro a\nnotify 1\n.endm\n.sem s\n");
	put_file(folder, "b.inc", ".include \"a.inc\"\n\na\nnop wait t >= 1\n");
	put_file(folder, "self.inc", ".include \"self.inc\"\n");
	put_file(folder, "open.inc", "nop\n.rept 2\n");
	*state = folder;
	return 0;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "a.inc", "b.inc", "self.inc", "open.inc" };
	struct folder *folder = *state;
	char path[160];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder->path, names[i]);
		unlink(path);
	}
	rmdir(folder->path);
	free(folder);
	return 0;
}

static struct nb_program *try_in(const struct folder *folder, const char *text, struct as_log *log)
{
	const struct as_options options = {
		.file = folder->source,
		.name = "main",
		.read_files = true,
		.report = as_keep,
		.context = log,
	};

	memset(log, 0, sizeof(*log));
	return as_assemble(text, strlen(text), &options);
}

static void wrong_in(const struct folder *folder, const char *source, const char *file,
		     unsigned int line, const char *text)
{
	struct as_log log;

	assert_null(try_in(folder, source, &log));
	if (log.line != line || !strstr(log.text, text) || !strstr(log.file, file))
		fail_msg("%s:%u: \"%s\" is not in %s:%u: %s", file, line, text, log.file, log.line,
			 log.text);
}

static void files_are_included(void **state)
{
	static const char source[] =
		".include \"a.inc\"\n.engine sync\nnop\n.sem t\n\n a\nnop wait s >= 1\nhalt\n";
	const struct neff_limits limits = { .unpacked_bytes = 1 << 24 };
	const struct neff_graph *graph;
	struct nrt_error error;
	struct nb_program *nb;
	struct neff *neff;
	struct as_log log;
	uint32_t line = 0;
	size_t size;
	void *bytes;

	nb = try_in(*state, source, &log);
	if (!nb)
		fail_msg("%s:%u: %s", log.file, log.line, log.text);
	assert_int_equal(nb_pack(nb, &bytes, &size), 0);
	nb_free(nb);
	assert_int_equal(neff_read(bytes, size, &limits, &neff, &error), 0);
	graph = &neff->graphs[0];
	assert_int_equal(graph->image_count[NEURON_ENGINE_SYNC], 4);
	/* What a macro becomes is from the line of its use. */
	assert_string_equal(neff_debug_line(graph, NEURON_ENGINE_SYNC, 1, &line), "main.s");
	assert_int_equal(line, 6);
	assert_int_equal(le32toh(graph->image[NEURON_ENGINE_SYNC][1].debug), 6);
	assert_string_equal(neff_debug_line(graph, NEURON_ENGINE_SYNC, 2, &line), "main.s");
	assert_int_equal(line, 7);
	neff_free(neff);
	free(bytes);
}

static void lines_of_an_included_file_are_its_own(void **state)
{
	const struct neff_limits limits = { .unpacked_bytes = 1 << 24 };
	struct nrt_error error;
	struct nb_program *nb;
	struct neff *neff;
	struct as_log log;
	uint32_t line = 0;
	size_t size;
	void *bytes;

	nb = try_in(*state, ".sem t\n.engine sync\n.include \"b.inc\"\nhalt\n", &log);
	if (!nb)
		fail_msg("%s:%u: %s", log.file, log.line, log.text);
	assert_int_equal(nb_pack(nb, &bytes, &size), 0);
	nb_free(nb);
	assert_int_equal(neff_read(bytes, size, &limits, &neff, &error), 0);
	assert_string_equal(neff_debug_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 0, &line),
			    "b.inc");
	assert_int_equal(line, 3);
	assert_string_equal(neff_debug_line(&neff->graphs[0], NEURON_ENGINE_SYNC, 2, &line),
			    "main.s");
	assert_int_equal(line, 4);
	neff_free(neff);
	free(bytes);
}

static void wrong_includes_are_refused(void **state)
{
	const struct folder *folder = *state;
	struct as_log log;
	char notes[256];

	wrong_in(folder, ".engine sync\n.include \"none.inc\"\n", "main.s", 2, "none.inc");
	wrong_in(folder, ".include none\n", "main.s", 1, "a path in quotes");
	wrong_in(folder, ".include \"a.inc\" 1\n", "main.s", 1, "the end of the line");
	wrong_in(folder, ".include \"self.inc\"\n", "self.inc", 1, "more than 64");
	wrong_in(folder, ".engine sync\n.include \"open.inc\"\n.endr\n", "open.inc", 2,
		 ".rept without .endr");
	wrong_in(folder, ".include \".\"\n", "main.s", 1, "\".\"");
	/* The whole way to the line. */
	assert_null(try_in(folder, ".engine sync\n\n.include \"b.inc\"\n", &log));
	assert_non_null(strstr(log.file, "b.inc"));
	assert_int_equal(log.line, 4);
	snprintf(notes, sizeof(notes), "%s:3: included here\n", folder->source);
	assert_string_equal(log.notes, notes);
	wrong(".include \"/etc/passwd\"\n", 1, "files are not read here", NULL);
}

static void sources_are_one_program(void **state)
{
	static const char first[] = ".line off\n.set N, 4\n.engine sync\nnotify N\nbranch end\n";
	static const char second[] = ".line off\nnop\nend: halt";
	static const char bad[] = "nop\nnop 1\n";
	const struct as_source good[] = {
		{ "one.s", first, strlen(first) }, { "two.s", second, strlen(second) },
	};
	const struct as_source wrong_one[] = {
		{ "one.s", first, strlen(first) }, { "three.s", bad, strlen(bad) },
	};
	struct as_log log = { 0 };
	const struct as_options options = {
		.file = "one.s", .name = "test", .report = as_keep, .context = &log,
	};
	size_t size, plain_size;
	struct nb_program *nb;
	void *neff, *plain;

	(void)state;
	nb = as_assemble_sources(good, 2, &options);
	assert_non_null(nb);
	assert_int_equal(nb_pack(nb, &neff, &size), 0);
	nb_free(nb);
	plain = as_pack(".line off\n.engine sync\nnotify 4\nbranch 3\nnop\nhalt\n", &plain_size);
	assert_int_equal(size, plain_size);
	assert_memory_equal(neff, plain, size);
	free(neff);
	free(plain);
	assert_null(as_assemble_sources(wrong_one, 2, &options));
	assert_string_equal(log.file, "three.s");
	assert_int_equal(log.line, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_take_their_places),
		cmocka_unit_test(brackets_keep_an_argument_together),
		cmocka_unit_test(strings_and_names_are_joined),
		cmocka_unit_test(labels_of_a_macro_are_its_own),
		cmocka_unit_test(macros_make_macros_and_repetitions),
		cmocka_unit_test(recursion_ends_with_a_condition),
		cmocka_unit_test(conditions_choose),
		cmocka_unit_test(a_constant_may_be_made_by_macros),
		cmocka_unit_test(mistakes_say_where_they_come_from),
		cmocka_unit_test(wrong_macros_are_refused),
		cmocka_unit_test(wrong_conditions_are_refused),
		cmocka_unit_test(nothing_goes_on_for_ever),
		cmocka_unit_test_setup_teardown(files_are_included, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(lines_of_an_included_file_are_its_own, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(wrong_includes_are_refused, make_folder,
						remove_folder),
		cmocka_unit_test(sources_are_one_program),
	};

	return cmocka_run_group_tests_name("as_macro", tests, NULL, NULL);
}
