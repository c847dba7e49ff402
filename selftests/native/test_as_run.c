// SPDX-License-Identifier: MIT
/*
 * The examples of the assembler and of the builder library, executed by the chip library.
 * AS_NEFFS is the folder of the assembled ones, NB_EXAMPLE the NEFF of the builder's.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "as_rig.h"
#include "neff_rig.h"

/* Longer than any of the programs that end. */
#define STILL_RUNNING_US	50000

static void start(struct seq_rig *rig)
{
	seq_rig_init(rig, &neuron_gen_trn2, 2, 1, false);
}

static void load(struct neff_rig *loaded, struct seq_rig *rig, const char *name)
{
	size_t size;
	char *neff = as_read_file("AS_NEFFS", name, &size);

	neff_rig_load(loaded, rig, neff, size);
	free(neff);
}

static void run(struct neff_rig *loaded)
{
	struct neuron_hw_completion record;

	neff_rig_submit(loaded);
	record = neff_rig_wait(loaded);
	if (record.status != NEURON_JOB_OK)
		fail_msg("status %u, cause %u, source %#x, pc %u", record.status, record.cause,
			 record.source, record.pc);
}

/* Small integers and halves: sums and products are exact in any order. */
static float some_value(size_t i)
{
	return (float)((int)(i * 7 % 23) - 11) * 0.5f;
}

static void fill(float *values, size_t count, size_t salt)
{
	size_t i;

	for (i = 0; i < count; i++)
		values[i] = some_value(i + salt);
}

static void expect(const float *values, size_t i, float want)
{
	if (values[i] != want)
		fail_msg("[%zu] is %g, not %g", i, (double)values[i], (double)want);
}

static void vector_add_adds(void **state)
{
	const size_t count = 1024 * 256;
	struct neff_rig loaded;
	struct seq_rig rig;
	float *a, *b, *c;
	size_t i;

	(void)state;
	start(&rig);
	load(&loaded, &rig, "vector_add.neff");
	a = neff_rig_var(&loaded, "a");
	b = neff_rig_var(&loaded, "b");
	c = neff_rig_var(&loaded, "c");
	fill(a, count, 0);
	fill(b, count, 5);
	run(&loaded);
	for (i = 0; i < count; i++)
		expect(c, i, a[i] + b[i]);
	/* A program can be executed again. */
	fill(b, count, 9);
	run(&loaded);
	for (i = 0; i < count; i++)
		expect(c, i, a[i] + b[i]);
	neff_rig_free(&loaded);
	seq_rig_destroy(&rig);
}

static void gather_picks_rows(void **state)
{
	const uint32_t vocabulary = 1000, rows = 128, n = 96;
	struct neff_rig loaded;
	struct seq_rig rig;
	uint16_t *table, *y;
	uint32_t *ids, i;

	(void)state;
	start(&rig);
	load(&loaded, &rig, "gather.neff");
	table = neff_rig_var(&loaded, "table");
	ids = neff_rig_var(&loaded, "ids");
	y = neff_rig_var(&loaded, "y");
	for (i = 0; i < vocabulary * n; i++)
		table[i] = (uint16_t)(i * 40503);
	for (i = 0; i < rows; i++)
		ids[i] = i * 7919 % vocabulary;
	run(&loaded);
	for (i = 0; i < rows; i++)
		assert_memory_equal(y + i * n, table + ids[i] * n, n * sizeof(*y));
	neff_rig_free(&loaded);
	seq_rig_destroy(&rig);
}

/* Exact for the values that some_value() gives. */
static uint16_t bf16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	assert_int_equal(bits & 0xffff, 0);
	return (uint16_t)(bits >> 16);
}

static void matmul_multiplies(void **state)
{
	const size_t k_size = 512, m_size = 256, n_size = 512;
	uint16_t *at, *b;
	struct neff_rig loaded;
	struct seq_rig rig;
	size_t i, k, m, n;
	float *c;

	(void)state;
	start(&rig);
	load(&loaded, &rig, "matmul.neff");
	at = neff_rig_var(&loaded, "at");
	b = neff_rig_var(&loaded, "b");
	c = neff_rig_var(&loaded, "c");
	for (i = 0; i < k_size * m_size; i++)
		at[i] = bf16(some_value(i));
	for (i = 0; i < k_size * n_size; i++)
		b[i] = bf16(some_value(i + 3));
	run(&loaded);
	for (m = 0; m < m_size; m += 17) {
		for (n = 0; n < n_size; n += 13) {
			float sum = 0;

			for (k = 0; k < k_size; k++)
				sum += some_value(k * m_size + m) * some_value(k * n_size + n + 3);
			expect(c, m * n_size + n, sum);
		}
	}
	neff_rig_free(&loaded);
	seq_rig_destroy(&rig);
}

static void softmax_normalises(void **state)
{
	const size_t n = 256;
	struct neff_rig loaded;
	struct seq_rig rig;
	size_t row, i;
	float *x, *y;

	(void)state;
	start(&rig);
	load(&loaded, &rig, "softmax.neff");
	x = neff_rig_var(&loaded, "x");
	y = neff_rig_var(&loaded, "y");
	fill(x, 128 * n, 0);
	run(&loaded);
	for (row = 0; row < 128; row++) {
		double max = -1e9, sum = 0;

		for (i = 0; i < n; i++)
			max = fmax(max, (double)x[row * n + i]);
		for (i = 0; i < n; i++)
			sum += exp((double)x[row * n + i] - max);
		for (i = 0; i < n; i++) {
			double want = exp((double)x[row * n + i] - max) / sum;
			double off = fabs((double)y[row * n + i] - want);

			assert_true(off < 0.00001 * (want + 0.0000001));
		}
	}
	neff_rig_free(&loaded);
	seq_rig_destroy(&rig);
}

static void builder_example_scales(void **state)
{
	struct neff_rig loaded;
	struct seq_rig rig;
	size_t i, size;
	char *neff;
	float *x, *y;

	(void)state;
	start(&rig);
	neff = as_read_file("NB_EXAMPLE", "scale.neff", &size);
	neff_rig_load(&loaded, &rig, neff, size);
	free(neff);
	x = neff_rig_var(&loaded, "x");
	y = neff_rig_var(&loaded, "y");
	fill(x, 128 * 512, 0);
	run(&loaded);
	for (i = 0; i < 128 * 512; i++)
		expect(y, i, x[i] * 2 + 1);
	neff_rig_free(&loaded);
	seq_rig_destroy(&rig);
}

/* As the first lines of the examples say. */
static const struct {
	const char *name;
	enum neuron_cause cause;
	uint16_t source;
	uint32_t pc;
} faults[] = {
	{ "opcode", NEURON_CAUSE_OPCODE, NEURON_ENGINE_SYNC, 1 },
	{ "engine", NEURON_CAUSE_OPCODE, NEURON_ENGINE_VECTOR, 0 },
	{ "operand", NEURON_CAUSE_OPERAND, NEURON_ENGINE_VECTOR, 0 },
	{ "access", NEURON_CAUSE_ACCESS, NEURON_ENGINE_VECTOR, 0 },
	{ "window", NEURON_CAUSE_WINDOW, NEURON_ENGINE_SYNC, 1 },
	{ "address", NEURON_CAUSE_WINDOW, NEURON_ENGINE_SYNC, 0 },
	{ "rights", NEURON_CAUSE_RIGHTS, NEURON_ENGINE_SYNC, 1 },
	{ "pc", NEURON_CAUSE_PC, NEURON_ENGINE_SYNC, 1 },
	{ "branch", NEURON_CAUSE_PC, NEURON_ENGINE_SYNC, 1000 },
	{ "queue", NEURON_CAUSE_QUEUE, NEURON_ENGINE_SYNC, 0 },
	{ "semaphore", NEURON_CAUSE_SEMAPHORE, NEURON_ENGINE_SYNC, 0 },
};

static struct neuron_hw_completion run_fault(struct seq_rig *rig, const char *name)
{
	struct neuron_hw_completion record;
	struct neff_rig loaded;
	char file[64];

	snprintf(file, sizeof(file), "fault-%s.neff", name);
	load(&loaded, rig, file);
	neff_rig_submit(&loaded);
	record = neff_rig_wait(&loaded);
	neff_rig_free(&loaded);
	assert_int_equal(record.status, NEURON_JOB_ERROR);
	return record;
}

static void faults_are_what_they_say(void **state)
{
	struct neuron_hw_completion record;
	struct seq_rig rig;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		start(&rig);
		record = run_fault(&rig, faults[i].name);
		if (record.cause != faults[i].cause || record.source != faults[i].source ||
		    record.pc != faults[i].pc)
			fail_msg("%s: cause %u, source %#x, pc %u", faults[i].name, record.cause,
				 record.source, record.pc);
		seq_rig_destroy(&rig);
	}
	start(&rig);
	record = run_fault(&rig, "ring");
	assert_int_equal(record.cause, NEURON_CAUSE_RING_ID);
	assert_int_equal(record.source, NEURON_SOURCE_DMA);
	seq_rig_destroy(&rig);
}

static void expect_no_end(const char *name)
{
	struct neff_rig loaded;
	struct seq_rig rig;

	start(&rig);
	load(&loaded, &rig, name);
	neff_rig_submit(&loaded);
	usleep(STILL_RUNNING_US);
	assert_int_equal(neff_rig_record(&loaded).status, NEURON_JOB_NONE);
	seq_rig_destroy(&rig);
	neff_rig_free(&loaded);
}

static void endless_programs_do_not_end(void **state)
{
	(void)state;
	expect_no_end("spin.neff");
	expect_no_end("fault-wait.neff");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_add_adds),
		cmocka_unit_test(gather_picks_rows),
		cmocka_unit_test(matmul_multiplies),
		cmocka_unit_test(softmax_normalises),
		cmocka_unit_test(builder_example_scales),
		cmocka_unit_test(faults_are_what_they_say),
		cmocka_unit_test(endless_programs_do_not_end),
	};

	return cmocka_run_group_tests_name("as_run", tests, NULL, NULL);
}
