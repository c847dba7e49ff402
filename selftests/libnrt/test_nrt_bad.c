// SPDX-License-Identifier: MIT
/*
 * What goes wrong: each ends in one clear line and the right status, the next job runs, and
 * nothing leaks.
 */
#include <glob.h>
#include <math.h>
#include <stdarg.h>
#include <syslog.h>

#include "kselftest_harness.h"

#include <nrt/nrt_async.h>
#include <nrt/nrt_emu.h>
#include <nrt/nrt_sys_trace.h>

#include "neuron/neff.h"
#include "events.h"
#include "rig.h"

FIXTURE(bad)
{
	struct rig rig;
	size_t used;
	float x[RIG_VALUES];
	float y[RIG_VALUES];
};

FIXTURE_SETUP(bad)
{
	self->used = SIZE_MAX;
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_EXEC_TIMEOUT", "1", 1);
	setenv("NEURON_RT_VALIDATE_HASH", "true", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->used = rig_memory(0);
	rig_ramp(self->x, 1.0f);
}

FIXTURE_TEARDOWN(bad)
{
	rig_unload(&self->rig);
	if (self->used != SIZE_MAX) {
		EXPECT_TRUE(rig_memory_becomes(0, self->used))
			TH_LOG("device memory leaked");
	}
	nrt_close();
}

/* One line that has all of @words, separated by '|'. */
static bool one_line_with(const char *text, const char *words)
{
	const char *end = strchr(text, '\n');
	char copy[256], *word, *rest = copy;

	if (!end || end[1])
		return false;
	snprintf(copy, sizeof(copy), "%s", words);
	while ((word = strsep(&rest, "|")))
		if (!strstr(text, word))
			return false;
	return true;
}

#define expect_line(words) do { \
	const char *line = rig_caught(); \
	EXPECT_TRUE(one_line_with(line, words)) \
		TH_LOG("not one line with \"%s\": %s", words, line); \
} while (0)

/* After a failure the core must still compute. */
static bool still_works(const float *x)
{
	struct rig rig;
	float y[RIG_VALUES];
	unsigned int i;
	bool good;

	good = !rig_load(&rig, program_scale(1), 0, 0, 0) && !rig_run(&rig, x, y);
	for (i = 0; good && i < RIG_VALUES; i++)
		good = y[i] == 2 * x[i] + 1;
	rig_unload(&rig);
	return good;
}

FIXTURE(neff)
{
	struct program program;
	struct neff_header *header;
};

FIXTURE_VARIANT(neff)
{
	size_t keep;		/* bytes; 0: all */
	size_t offset;		/* of a byte to change */
	uint8_t value;		/* to exclusive-or into it; 0: none */
	NRT_STATUS status;
	const char *words;
};

#define AT(member)	offsetof(struct neff_header, member)

FIXTURE_VARIANT_ADD(neff, no_bytes) {
	.keep = 1,
	.status = NRT_INVALID,
	.words = "truncated",
};

FIXTURE_VARIANT_ADD(neff, truncated) {
	.keep = 2048,
	.status = NRT_INVALID,
	.words = "truncated",
};

FIXTURE_VARIANT_ADD(neff, wrong_magic) {
	.offset = AT(header_size),
	.value = 0x55,
	.status = NRT_INVALID,
	.words = "header size|not a NEFF file",
};

FIXTURE_VARIANT_ADD(neff, wrong_package) {
	.offset = AT(pkg_version),
	.value = 0x55,
	.status = NRT_INVALID,
	.words = "package version|not a NEFF file",
};

FIXTURE_VARIANT_ADD(neff, wrong_hash) {
	.offset = AT(hash),
	.value = 1,
	.status = NRT_INVALID,
	.words = "SHA-256|does not match",
};

FIXTURE_VARIANT_ADD(neff, changed_contents) {
	.offset = 1024 + 700,
	.value = 1,
	.status = NRT_INVALID,
	.words = "SHA-256|does not match",
};

FIXTURE_VARIANT_ADD(neff, wrong_version) {
	.offset = AT(version_major),
	.value = 1,
	.status = NRT_UNSUPPORTED_NEFF_VERSION,
	.words = "format version 3.0|only 2.x",
};

FIXTURE_VARIANT_ADD(neff, unknown_feature) {
	.offset = AT(feature_bits),
	.value = 4,
	.status = NRT_UNSUPPORTED_NEFF_VERSION,
	.words = "unknown features|0x4",
};

FIXTURE_VARIANT_ADD(neff, real_hardware) {
	.offset = AT(build_version),
	.value = 1,
	.status = NRT_UNSUPPORTED_NEFF_VERSION,
	.words = "made for real hardware|oeuron-emu builder|engines: vector, sync",
};

FIXTURE_VARIANT_ADD(neff, two_cores) {
	.offset = AT(num_tpb),
	.value = 3,
	.status = NRT_INVALID,
	.words = "num_tpb is 2|lnc_size 1",
};

FIXTURE_SETUP(neff)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_VALIDATE_HASH", "true", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->program = program_scale(1);
}

FIXTURE_TEARDOWN(neff)
{
	free(self->program.data);
	nrt_close();
}

TEST_F(neff, load)
{
	size_t size = variant->keep ?: self->program.size;
	uint8_t *data = self->program.data;
	nrt_model_t *model;

	data[variant->offset] ^= variant->value;
	rig_catch();
	EXPECT_EQ(variant->status, nrt_load(data, size, 0, -1, &model));
	expect_line(variant->words);
	data[variant->offset] ^= variant->value;
	ASSERT_EQ(NRT_SUCCESS, nrt_load(data, self->program.size, 0, -1, &model));
	EXPECT_EQ(NRT_SUCCESS, nrt_unload(model));
}

TEST_F(bad, garbage)
{
	uint8_t data[8192];
	nrt_model_t *model;
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 1103515245 >> 3);
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_load(data, sizeof(data), 0, -1, &model));
	expect_line("not a NEFF file");
}

TEST_F(bad, handles)
{
	nrt_model_t *model = (nrt_model_t *)self;
	struct program program = program_scale(1);

	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_unload(model));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_unload(NULL));
	EXPECT_EQ(NRT_INVALID, nrt_load(NULL, 5, 0, -1, &model));
	EXPECT_EQ(NRT_LOAD_NOT_ENOUGH_NC, nrt_load(program.data, program.size, 4096, -1, &model));
	EXPECT_EQ(NRT_INVALID, nrt_load(program.data, program.size, 0, 4, &model));
	EXPECT_EQ(NRT_INVALID, nrt_load_collectives(program.data, program.size, 0, -1, 2, 2,
						    &model));
	free(program.data);
	program = program_push();
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_load(program.data, program.size, 0, -1, &model));
	expect_line("nrt_load_collectives");
	free(program.data);
}

TEST_F(bad, unbound_tensor)
{
	nrt_tensor_set_t *empty;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&empty));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_execute(self->rig.model, empty, self->rig.outputs));
	expect_line("input tensor \"x\"|missing|1024 bytes");
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(empty, "Y", self->rig.y));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_execute(self->rig.model, self->rig.inputs, empty));
	expect_line("output tensor \"y\"|missing|\"Y\"");
	nrt_destroy_tensor_set(&empty);
	EXPECT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
}

TEST_F(bad, wrong_size)
{
	nrt_tensor_t *small, *none;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0,
						   PROGRAM_BYTES - 4, "small", &small));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.inputs, "x", small));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_execute(self->rig.model, self->rig.inputs, self->rig.outputs));
	expect_line("\"x\"|1024|1020");
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_empty(NULL, &none));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.inputs, "x", none));
	EXPECT_EQ(NRT_INVALID, nrt_execute(self->rig.model, self->rig.inputs, self->rig.outputs));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.inputs, "x", self->rig.x));
	EXPECT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	nrt_tensor_free(&small);
	nrt_tensor_free(&none);
}

TEST_F(bad, tensor_of_another_chip)
{
	nrt_tensor_t *far;
	uint32_t cores;

	if (rig_chips() < 2)
		SKIP(return, "needs two chips");
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&cores));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, cores - 1,
						   PROGRAM_BYTES, "far", &far));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.inputs, "x", far));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_execute(self->rig.model, self->rig.inputs, self->rig.outputs));
	expect_line("\"x\"|another chip");
	nrt_tensor_free(&far);
}

static NRT_STATUS load_and_run(struct rig *rig, struct program program, const float *x, float *y)
{
	NRT_STATUS status = rig_load(rig, program, 0, 0, 0);

	return status ? status : rig_run(rig, x, y);
}

TEST_F(bad, opcode)
{
	rig_catch();
	EXPECT_EQ(NRT_INVALID, load_and_run(&self->rig, program_bad_opcode(), self->x, self->y));
	expect_line("\"bad opcode\"|core 0|vector engine|pc 1|source line 42|unknown instruction");
	EXPECT_TRUE(still_works(self->x));
}

TEST_F(bad, out_of_bounds)
{
	rig_catch();
	EXPECT_EQ(NRT_EXEC_OOB, load_and_run(&self->rig, program_out_of_bounds(), self->x,
					     self->y));
	expect_line("gpsimd engine|pc 0|outside of a variable|\"x\" + 0x400");
	EXPECT_TRUE(still_works(self->x));
}

TEST_F(bad, read_only)
{
	rig_catch();
	EXPECT_EQ(NRT_EXEC_OOB, load_and_run(&self->rig, program_read_only(), self->x, self->y));
	expect_line("gpsimd engine|pc 0|read-only|\"x\" + 0x0");
	EXPECT_TRUE(still_works(self->x));
}

TEST_F(bad, no_halt)
{
	rig_catch();
	EXPECT_EQ(NRT_INVALID, load_and_run(&self->rig, program_no_halt(), self->x, self->y));
	expect_line("scalar engine|pc 1|halt is missing");
	EXPECT_TRUE(still_works(self->x));
}

TEST_F_TIMEOUT(bad, stuck, 60)
{
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, load_and_run(&self->rig, program_stuck(), self->x, self->y));
	expect_line("\"stuck\"|sync engine, pc 0, waits for|it is 0, which nothing in the model");
	EXPECT_TRUE(still_works(self->x));
}

/* Who waits for what, what it is, and who should have posted it. */
TEST_F_TIMEOUT(bad, waits, 60)
{
	const char *line;

	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, load_and_run(&self->rig, program_waits(), self->x, self->y));
	line = rig_caught();
	EXPECT_TRUE(one_line_with(line, "vector engine, pc 0, waits.c:7, waits for semaphore"));
	EXPECT_TRUE(one_line_with(line, "to be 2 or more; it is 1, posted by queue \"q_in\""));
	EXPECT_TRUE(one_line_with(line, "triggered by the sync engine); sync engine, pc 1, waits"));
	EXPECT_TRUE(one_line_with(line, "it is 0, posted by the vector engine at pc 1 (waits.c:8)"))
		TH_LOG("%s", line);
	EXPECT_TRUE(still_works(self->x));
}

TEST_F_TIMEOUT(bad, spin, 60)
{
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, load_and_run(&self->rig, program_spin(), self->x, self->y));
	expect_line("\"spin\"|NEURON_RT_EXEC_TIMEOUT|sync engine, pc 0, runs");
	EXPECT_TRUE(still_works(self->x));
}

/* The row of a table in the log that begins with @name, without its end; NULL: there is none. */
static const char *row(const char *text, const char *name, char *line, size_t size)
{
	char begin[64];
	const char *at;
	size_t length;

	snprintf(begin, sizeof(begin), "NRT:memory %s", name);
	at = strstr(text, begin);
	length = at ? strcspn(at, "\n") : 0;
	if (!at || length >= size)
		return NULL;
	memcpy(line, at, length);
	line[length] = '\0';
	return line;
}

/* What holds the memory, when there is too little of it. */
TEST_F(bad, no_memory)
{
	static const char *const names[] = {
		"holder ", "model \"constant\" ", "2 tensors and other buffers ", "total ",
	};
	char line[256], model[256] = "";
	nrt_tensor_t *tensor;
	const char *text;
	size_t i, width = 0;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_constant(), 0, 0, 0));
	rig_catch();
	EXPECT_EQ(NRT_RESOURCE, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1ull << 44,
						    "y", &tensor));
	text = rig_caught();
	EXPECT_TRUE(rig_has(text, "wanted:    16.0 TiB\n")) TH_LOG("%s", text);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_NE(NULL, row(text, names[i], line, sizeof(line))) TH_LOG("%s", text);
		width = width ?: strlen(line);
		EXPECT_EQ(width, strlen(line)) TH_LOG("not aligned: %s", line);
		if (i == 1)
			strcpy(model, line);
	}
	/* Code and rings are there; constants: c and a word; nothing else. */
	EXPECT_TRUE(rig_has(model, "1.0 KiB           -           -           -"))
		TH_LOG("%s", text);
}

/* More memory than a chip has. What it writes to standard error is caught. */
static NRT_STATUS init_and_ask_too_much(void)
{
	nrt_tensor_t *tensor;
	NRT_STATUS status;

	status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
	if (status)
		return status;
	rig_catch();
	return nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1ull << 44, "y", &tensor);
}

TEST(no_memory_without_a_table)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "0", 1);
	ASSERT_EQ(NRT_RESOURCE, init_and_ask_too_much());
	expect_line("cannot allocate 17592186044416 bytes in HBM stack 0");
	nrt_close();
}

/* What the library gives to syslog(): lines, and all their priorities. */
static struct {
	char text[8192];
	int priorities;
} logged;

__attribute__((format(printf, 2, 0)))
static void keep(int priority, const char *format, va_list args)
{
	size_t used = strlen(logged.text);

	vsnprintf(logged.text + used, sizeof(logged.text) - used, format, args);
	strncat(logged.text, "\n", sizeof(logged.text) - strlen(logged.text) - 1);
	logged.priorities |= priority;
}

/* These replace the ones of the C library. With _FORTIFY_SOURCE the second one is called. */
void syslog(int priority, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(priority, format, args);
	va_end(args);
}

__attribute__((format(printf, 3, 4)))
void __syslog_chk(int priority, int flag, const char *format, ...);

void __syslog_chk(int priority, int flag, const char *format, ...)
{
	va_list args;

	(void)flag;
	va_start(args, format);
	keep(priority, format, args);
	va_end(args);
}

TEST(log_goes_to_syslog)
{
	char line[256];
	const char *text;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_LOG_LOCATION", "syslog", 1);
	ASSERT_EQ(NRT_RESOURCE, init_and_ask_too_much());
	text = rig_caught();
	EXPECT_STREQ("", text);
	EXPECT_TRUE(rig_has(logged.text, "NRT:nrt_tensor_allocate ") &&
		    rig_has(logged.text, "cannot allocate 17592186044416 bytes in HBM stack 0"))
		TH_LOG("%s", logged.text);
	/* The table goes the same way. */
	EXPECT_NE(NULL, row(logged.text, "holder ", line, sizeof(line)));
	EXPECT_NE(NULL, row(logged.text, "total ", line, sizeof(line)));
	EXPECT_EQ(LOG_USER | LOG_ERR, logged.priorities);
	nrt_close();
}

/* The inputs of an execution that failed so, as files. */
TEST(inputs_as_files)
{
	char folder[] = "/tmp/nrt-inputs-XXXXXX", name[64] = "";
	float x[RIG_VALUES], y[RIG_VALUES];
	glob_t found = { 0 };
	struct rig rig;
	FILE *file;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_NE(NULL, mkdtemp(folder));
	ASSERT_EQ(0, chdir(folder));
	setenv("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR", "1006", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	rig_ramp(x, 1.0f);
	EXPECT_EQ(NRT_INVALID, load_and_run(&rig, program_no_halt(), x, y));
	rig_unload(&rig);
	EXPECT_EQ(GLOB_NOMATCH, glob("input_dump_*", 0, NULL, &found));
	EXPECT_EQ(NRT_EXEC_OOB, load_and_run(&rig, program_out_of_bounds(), x, y));
	rig_unload(&rig);
	nrt_close();
	ASSERT_EQ(0, glob("input_dump_*_h_nn_*", 0, NULL, &found));
	ASSERT_EQ(1, found.gl_pathc);
	ASSERT_EQ(0, chdir(found.gl_pathv[0]));
	file = fopen("model_name.txt", "r");
	ASSERT_NE(NULL, file);
	EXPECT_NE(NULL, fgets(name, sizeof(name), file));
	fclose(file);
	EXPECT_STREQ("out of bounds", name);
	file = fopen("x.bin", "r");
	ASSERT_NE(NULL, file);
	EXPECT_EQ(RIG_VALUES, fread(y, sizeof(y[0]), RIG_VALUES, file));
	EXPECT_EQ(EOF, fgetc(file));
	fclose(file);
	EXPECT_EQ(0, memcmp(x, y, sizeof(x)));
	EXPECT_EQ(0, unlink("x.bin") | unlink("model_name.txt"));
	EXPECT_EQ(0, chdir("..") | rmdir(found.gl_pathv[0]) | rmdir(folder));
	globfree(&found);
}

/* Groups that could only wait for ever are refused, and say why. */
TEST_F(bad, ranks_and_cores)
{
	struct program program = program_push();
	nrt_model_t *first, *second;
	uint32_t cores;

	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&cores));
	rig_catch();
	EXPECT_EQ(NRT_LOAD_NOT_ENOUGH_NC, nrt_load_collectives(program.data, program.size, 0, -1,
							       0, cores + 1, &first));
	expect_line("the ranks of a group are in one process, and each needs a core of its own");
	ASSERT_EQ(NRT_SUCCESS, nrt_load_collectives(program.data, program.size, 0, -1, 0, 2,
						    &first));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, nrt_load_collectives(program.data, program.size, 0, -1, 1, 2,
						    &second));
	expect_line("rank 1 of 2: rank 0 is on core 0, too; each rank needs a core of its own");
	/* The place is still free. */
	ASSERT_EQ(NRT_SUCCESS, nrt_load_collectives(program.data, program.size, 1, -1, 1, 2,
						    &second));
	EXPECT_EQ(NRT_SUCCESS, nrt_unload(first));
	EXPECT_EQ(NRT_SUCCESS, nrt_unload(second));
	free(program.data);
}

/* Also of an execution that failed before it got to the device. */
TEST(inputs_before_the_start)
{
	char folder[] = "/tmp/nrt-inputs-XXXXXX";
	float x[RIG_VALUES], y[RIG_VALUES];
	glob_t found = { 0 };
	struct rig rig;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_NE(NULL, mkdtemp(folder));
	ASSERT_EQ(0, chdir(folder));
	setenv("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR", "5", 1);
	setenv("NEURON_RT_EXEC_TIMEOUT", "1", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_push(), 0, 0, 2));
	rig_ramp(x, 1.0f);
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, rig_run(&rig, x, y));
	EXPECT_TRUE(rig_has(rig_caught(), "rank 1, which is not loaded"));
	rig_unload(&rig);
	nrt_close();
	ASSERT_EQ(0, glob("input_dump_*_h_nn_0", 0, NULL, &found));
	ASSERT_EQ(1, found.gl_pathc);
	ASSERT_EQ(0, chdir(found.gl_pathv[0]));
	EXPECT_EQ(0, unlink("x.bin") | unlink("model_name.txt"));
	EXPECT_EQ(0, chdir("..") | rmdir(found.gl_pathv[0]) | rmdir(folder));
	globfree(&found);
}

/* Numerical errors, when the environment asks for them. */
FIXTURE(numbers)
{
	struct rig rig;
	float x[RIG_VALUES];
	float y[RIG_VALUES];
};

FIXTURE_VARIANT(numbers)
{
	const char *name;
	const char *value;
};

FIXTURE_VARIANT_ADD(numbers, fail_on_nan) {
	.name = "NEURON_FAIL_ON_NAN",
	.value = "1",
};

FIXTURE_VARIANT_ADD(numbers, critical) {
	.name = "NEURON_RT_NUMERICAL_ERRORS_VERBOSITY",
	.value = "critical",
};

FIXTURE_SETUP(numbers)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv(variant->name, variant->value, 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	rig_ramp(self->x, 1.0f);
}

FIXTURE_TEARDOWN(numbers)
{
	rig_unload(&self->rig);
	nrt_close();
}

/* The output is there all the same, and the next execution is as good as its numbers. */
TEST_F(numbers, who_made_it)
{
	char text[1000];

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_nan(), 0, 0, 0));
	EXPECT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	self->x[17] = INFINITY;
	rig_catch();
	EXPECT_EQ(NRT_EXEC_COMPLETED_WITH_NUM_ERR, rig_run(&self->rig, self->x, self->y));
	expect_line("pc 1, ...|kernels/nan.c:9, made the first NaN|\"y\" has one in element 17");
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_error(self->rig.model, text, sizeof(text)));
	EXPECT_TRUE(rig_has(text, "kernels/nan.c:9, made the first NaN"));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->rig.y, self->y, 0, PROGRAM_BYTES));
	EXPECT_TRUE(isnan(self->y[17]));
	EXPECT_EQ(0.0f, self->y[16]);
	self->x[17] = 0.0f;
	EXPECT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
}

/* In a system trace it is an event. */
TEST_F(numbers, event)
{
	struct json_object *root, *events;
	char *text;
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_nan(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(NULL));
	EXPECT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	self->x[17] = INFINITY;
	EXPECT_EQ(NRT_EXEC_COMPLETED_WITH_NUM_ERR, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	ASSERT_EQ(1, count_events(events, "numerical_err"));
	EXPECT_EQ(NRT_EXEC_COMPLETED_WITH_NUM_ERR,
		  int_of(find_event(events, "numerical_err"), "status"));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
}

TEST_F(numbers, in_the_input)
{
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_transpose(), 0, 0, 0));
	self->x[0] = NAN;
	rig_catch();
	EXPECT_EQ(NRT_EXEC_COMPLETED_WITH_NUM_ERR, rig_run(&self->rig, self->x, self->y));
	expect_line("\"transpose\"|transfers brought it|output \"y\" has one in element 0");
}

TEST_F(numbers, asynchronously)
{
	nrta_error_tracker_t *tracker;
	const nrta_error_t *list;
	nrta_seq_t seq[2];
	size_t count = 0;
	bool over = false;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_nan(), 0, 0, 0));
	self->x[3] = NAN;
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->rig.x, self->x, 0, PROGRAM_BYTES));
	ASSERT_EQ(NRT_SUCCESS, nrta_error_tracker_create(0, &tracker));
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(self->rig.model, self->rig.inputs,
						     self->rig.outputs, 0, tracker, &seq[0]));
	ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(self->rig.model, self->rig.inputs,
						     self->rig.outputs, 0, tracker, &seq[1]));
	while (!over)
		ASSERT_EQ(NRT_SUCCESS, nrta_is_completed(seq[1], &over));
	ASSERT_EQ(NRT_SUCCESS, nrta_error_tracker_get_list(tracker, &list, &count));
	ASSERT_EQ(2, count);
	EXPECT_EQ(seq[0], list[0].seq_id);
	EXPECT_EQ(NRT_EXEC_COMPLETED_WITH_NUM_ERR, list[0].error_code);
	nrta_error_tracker_destroy(tracker);
}

/* Nobody asked: nothing is looked at. */
TEST_F(bad, numbers_that_nobody_looks_at)
{
	self->x[5] = NAN;
	EXPECT_EQ(NRT_SUCCESS, load_and_run(&self->rig, program_nan(), self->x, self->y));
	EXPECT_TRUE(isnan(self->y[5]));
}

TEST_HARNESS_MAIN
