// SPDX-License-Identifier: MIT
/*
 * Programs of the builder on the chip library: transfers that compute, generated descriptors,
 * instances of queues, and instructions of each engine. Results are compared with double
 * precision, element by element.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "neff_rig.h"
#include "neuron_builder.h"
#include "num/trn_num.h"

#define N	64
#define ROWS	32
#define TOLERANCE	0.00001	/* of a chain of up to N steps in fp32, relative */
#define SYNC	NEURON_ENGINE_SYNC
#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16

/**
 * struct bench - a program, and the chip it runs on
 * @done: counts transfers; @count: how many there are
 */
struct bench {
	struct nb_program *nb;
	struct seq_rig rig;
	struct neff_rig loaded;
	int queue;
	int done;
	int a, b, c;
	int32_t count;
};

static void begin(struct bench *bench, unsigned int queues)
{
	memset(bench, 0, sizeof(*bench));
	bench->nb = nb_new("bench");
	bench->queue = nb_queue(bench->nb, "q", "data", SYNC, queues);
	bench->done = nb_sem(bench->nb, false);
	bench->a = nb_tmp(bench->nb, "a", 65536);
	bench->b = nb_tmp(bench->nb, "b", 65536);
	bench->c = nb_tmp(bench->nb, "c", 65536);
}

/* After a transfer: the stream goes on when it is there. */
static void landed(struct bench *bench, struct neuron_inst *inst)
{
	(void)inst;
	bench->count += (int32_t)nb_queue_count(bench->nb, bench->queue);
	nb_wait(nb_nop(bench->nb, SYNC), bench->done, bench->count);
}

static void load(struct bench *bench, const struct neuron_gen *gen)
{
	size_t size;
	void *neff;

	nb_halt(bench->nb, SYNC);
	if (nb_pack(bench->nb, &neff, &size))
		fail_msg("%s", nb_error(bench->nb));
	seq_rig_init(&bench->rig, gen, 2, 1, false);
	neff_rig_load(&bench->loaded, &bench->rig, neff, size);
	free(neff);
}

static void run_loaded(struct bench *bench)
{
	struct neuron_hw_completion record;

	neff_rig_submit(&bench->loaded);
	record = neff_rig_wait(&bench->loaded);
	if (record.status != NEURON_JOB_OK)
		fail_msg("status %u, cause %u, source %#x, pc %u", record.status, record.cause,
			 record.source, record.pc);
}

static void end(struct bench *bench)
{
	neff_rig_free(&bench->loaded);
	seq_rig_destroy(&bench->rig);
	nb_free(bench->nb);
}

/* Numbers that fp32 has exactly. */
static double value(size_t i)
{
	return (double)((int)(i * 37 % 255) - 127) / 8;
}

static float *fill(struct bench *bench, const char *name, size_t salt)
{
	float *memory = neff_rig_var(&bench->loaded, name);
	size_t i;

	for (i = 0; i < 65536 / 4; i++)
		memory[i] = (float)value(i + salt);
	return memory;
}

static void near(const char *what, size_t i, double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
		fail_msg("%s, element %zu: %g instead of %g", what, i, got, want);
}

static double from_bf16(const uint16_t *memory, size_t i)
{
	float wide;

	trn_to_fp32(&wide, memory + i, BF16, 1);
	return (double)wide;
}

/* --- transfers --- */

static void casts_and_transposes(void **state)
{
	struct nb_side square, turned;
	struct bench bench;
	uint16_t *half;
	float *a, *c;
	size_t i, j;

	(void)state;
	begin(&bench, 3);
	/* Every second run of 8 elements, to neighbours. */
	landed(&bench, nb_dma_copy(bench.nb, bench.queue, nb_linear(bench.b, 0, 2 * N * 8), BF16,
				   nb_rows(bench.a, 0, 32, N, 64), F32, bench.done));
	square = nb_rows(bench.a, 0, 4 * N, ROWS, 4 * N);
	turned = nb_rows(bench.c, 0, 4 * ROWS, N, 4 * ROWS);
	landed(&bench, nb_dma_transpose(bench.nb, bench.queue, turned, square, F32, bench.done));
	load(&bench, &neuron_gen_trn2);
	a = fill(&bench, "a", 0);
	run_loaded(&bench);
	half = neff_rig_var(&bench.loaded, "b");
	c = neff_rig_var(&bench.loaded, "c");
	for (i = 0; i < N; i++)
		for (j = 0; j < 8; j++)
			near("cast", i * 8 + j, from_bf16(half, i * 8 + j),
			     (double)a[i * 16 + j], 0);
	for (i = 0; i < N; i++)
		for (j = 0; j < ROWS; j++)
			near("transpose", i * ROWS + j, (double)c[i * ROWS + j],
			     (double)a[j * N + i], 0);
	end(&bench);
}

static void sums_and_extremes(void **state)
{
	struct bench bench;
	struct nb_side from[3];
	struct nb_move move;
	float *a, *c;
	size_t i;

	(void)state;
	begin(&bench, 2);
	for (i = 0; i < 3; i++)
		from[i] = nb_linear(bench.a, i * 1024, 4 * N);
	landed(&bench, nb_dma_compute(bench.nb, bench.queue, NEURON_UDMA_OP_ADD,
				      nb_linear(bench.c, 0, 4 * N), F32, from, F32, 3,
				      bench.done));
	landed(&bench, nb_dma_compute(bench.nb, bench.queue, NEURON_UDMA_OP_MIN,
				      nb_linear(bench.c, 4 * N, 4 * N), F32, from, F32, 2,
				      bench.done));
	move = (struct nb_move){
		.op = NEURON_UDMA_OP_FMA, .to_dtype = F32, .from_dtype = F32, .nr_from = 2,
		.to = nb_linear(bench.c, 8 * N, 4 * N), .from = { from[0], from[1] },
		.scale = { 0.5f, -3.0f },
	};
	landed(&bench, nb_dma_move(bench.nb, bench.queue, &move, bench.done));
	move = (struct nb_move){
		.op = NEURON_UDMA_OP_MAX, .to_dtype = F32, .from_dtype = F32, .nr_from = 1,
		.to = nb_linear(bench.c, 12 * N, 4 * N), .from = { from[0] },
		.has_constant = true, .constant = 1.25f,
	};
	landed(&bench, nb_dma_move(bench.nb, bench.queue, &move, bench.done));
	load(&bench, &neuron_gen_trn2);
	a = fill(&bench, "a", 5);
	run_loaded(&bench);
	c = neff_rig_var(&bench.loaded, "c");
	for (i = 0; i < N; i++) {
		double x = (double)a[i], y = (double)a[256 + i], z = (double)a[512 + i];

		near("add", i, (double)c[i], x + y + z, 0);
		near("min", i, (double)c[N + i], fmin(x, y), 0);
		near("fma", i, (double)c[2 * N + i], 0.5 * x - 3 * y, 0);
		near("max", i, (double)c[3 * N + i], fmax(x, 1.25), 0);
	}
	end(&bench);
}

/* Rows by a list, with an index that is none; then back, added, to other places. */
static void gathers_and_scatters(void **state)
{
	static const uint32_t list[4] = { 7, 2, 100, 0 };
	struct nb_run_time run = { .landed = true };
	struct nb_move gather, scatter;
	struct bench bench;
	int places, rows, back;
	float *a, *b, *c;
	size_t i, j;

	(void)state;
	begin(&bench, 1);
	run.sem = bench.done;
	places = nb_file(bench.nb, "list", list, sizeof(list));
	gather = (struct nb_move){
		.op = NEURON_UDMA_OP_COPY, .to_dtype = F32, .from_dtype = F32, .nr_from = 1,
		.to = nb_linear(bench.b, 0, 4 * 4 * N),
		.from = { nb_rows(bench.a, 0, 4 * N, 4, 4 * N) },
		.gather = true, .skip = true, .index = places, .limit = 8,
	};
	scatter = (struct nb_move){
		.op = NEURON_UDMA_OP_ADD, .to_dtype = F32, .from_dtype = F32, .nr_from = 1,
		.to = nb_rows(bench.c, 0, 4 * N, 4, 4 * N),
		.from = { nb_linear(bench.b, 0, 4 * 4 * N) },
		.scatter = true, .skip = true, .accumulate = true, .index = places, .limit = 8,
	};
	rows = nb_dge(bench.nb, "rows", &gather);
	back = nb_dge(bench.nb, "back", &scatter);
	/* GpSimd makes descriptors of any kind. */
	bench.queue = nb_queue(bench.nb, "made", "dynamic", NEURON_ENGINE_GPSIMD, 1);
	nb_dma_generate(bench.nb, bench.queue, rows, 0, &run);
	nb_wait(nb_nop(bench.nb, NEURON_ENGINE_GPSIMD), bench.done, 1);
	nb_dma_generate(bench.nb, bench.queue, back, 0, &run);
	nb_wait(nb_nop(bench.nb, NEURON_ENGINE_GPSIMD), bench.done, 2);
	nb_halt(bench.nb, NEURON_ENGINE_GPSIMD);
	load(&bench, &neuron_gen_trn2);
	a = fill(&bench, "a", 9);
	b = fill(&bench, "b", 1);
	c = fill(&bench, "c", 3);
	run_loaded(&bench);
	for (i = 0; i < 4; i++)
		for (j = 0; j < N; j++)
			near("gather", i * N + j, (double)b[i * N + j],
			     list[i] < 8 ? (double)a[list[i] * N + j] : value(i * N + j + 1), 0);
	for (i = 0; i < 8; i++)
		for (j = 0; j < N; j++)
			near("scatter", i * N + j, (double)c[i * N + j],
			     value(i * N + j + 3) +
			     (i == 7 || i == 2 || i == 0 ? (double)a[i * N + j] : 0), 0);
	end(&bench);
}

/* A loop moves rows from one end to the other, each as long as a register says. */
static void lengths_and_places_at_run_time(void **state)
{
	struct nb_run_time run = { .from_reg = 1, .to_reg = 2, .length_reg = 3, .landed = true };
	struct nb_move move;
	struct bench bench;
	uint32_t loop;
	float *a, *c;
	size_t i, j;
	int block;

	(void)state;
	begin(&bench, 1);
	run.sem = bench.done;
	move = (struct nb_move){
		.op = NEURON_UDMA_OP_COPY, .to_dtype = F32, .from_dtype = F32, .nr_from = 1,
		.to = nb_linear(bench.c, 0, 4 * N), .from = { nb_linear(bench.a, 0, 4 * N) },
	};
	block = nb_dge(bench.nb, "row", &move);
	nb_reg_set(bench.nb, SYNC, 2, 7 * 4 * N);
	nb_reg_set(bench.nb, SYNC, 4, 8);
	loop = nb_here(bench.nb, SYNC);
	nb_register_move(bench.nb, SYNC, 3, 4);
	nb_dma_generate(bench.nb, bench.queue, block, 0, &run);
	nb_wait_take(nb_nop(bench.nb, SYNC), bench.done, 1);
	nb_reg_alu(bench.nb, SYNC, NEURON_ALU_ADD, 1, 1, 4 * N);
	nb_reg_alu(bench.nb, SYNC, NEURON_ALU_SUBTRACT, 2, 2, 4 * N);
	nb_loop(bench.nb, SYNC, 4, loop);
	load(&bench, &neuron_gen_trn2);
	a = fill(&bench, "a", 4);
	c = fill(&bench, "c", 6);
	run_loaded(&bench);
	for (i = 0; i < 8; i++)
		for (j = 0; j < N; j++)
			near("row", i * N + j, (double)c[(7 - i) * N + j],
			     j < 8 - i ? (double)a[i * N + j] : value((7 - i) * N + j + 6), 0);
	end(&bench);
}

static void instances_take_turns(void **state)
{
	static const char *const names[] = { "even", "odd" };
	struct bench bench;
	float *a, *c;
	size_t i;

	(void)state;
	begin(&bench, 1);
	bench.queue = nb_queue_instances(bench.nb, "swap", "data", SYNC, 2, 2, names);
	assert_int_equal(nb_find_queue(bench.nb, "odd"), bench.queue + 1);
	for (i = 0; i < 6; i++)
		landed(&bench, nb_dma(bench.nb, bench.queue + (int)(i % 2),
				      nb_linear(bench.c, (5 - i) * 4 * N, 4 * N),
				      nb_linear(bench.a, i * 4 * N, 4 * N), bench.done));
	load(&bench, &neuron_gen_trn2);
	a = fill(&bench, "a", 2);
	run_loaded(&bench);
	c = neff_rig_var(&bench.loaded, "c");
	for (i = 0; i < 6 * N; i++)
		near("turn", i, (double)c[(5 - i / N) * N + i % N], (double)a[i], 0);
	end(&bench);
}

/* --- instructions --- */

#define TILE(at)	nb_tile(0, ROWS, at, F32, N)
#define COLUMN(at)	nb_tile(0, ROWS, at, F32, 1)
#define LINE		(4u * N)	/* bytes of a result */
#define RESULTS		0x4000		/* in SBUF, line after line */

/* Results of @e lie in the order of the calls. */
struct results {
	struct nb_program *nb;
	uint32_t at;
};

static struct neuron_ap result(struct results *results)
{
	struct neuron_ap ap = TILE(results->at);

	results->at += LINE;
	return ap;
}

static void vector_program(struct results *to, struct neuron_ap x, struct neuron_ap y)
{
	const struct nb_with running = {
		.reduce_op = NEURON_ALU_ADD,
		.reduce = NEURON_REDUCE_RESET_REDUCE,
	};
	const struct nb_with reversed = { .reverse0 = true };
	struct nb_program *nb = to->nb;
	enum neuron_engine e = NEURON_ENGINE_VECTOR;

	nb_tensor_tensor(nb, e, NEURON_ALU_SUBTRACT, result(to), x, y);
	nb_tensor_scalar_any(nb, e, result(to), x, NEURON_ALU_SUBTRACT, nb_number(3),
			     NEURON_ALU_MULTIPLY, nb_column(COLUMN(0x200)), &reversed);
	nb_scalar_tensor_tensor(nb, result(to), x, NEURON_ALU_MULTIPLY, nb_number(0.5f),
				NEURON_ALU_ADD, y, NULL);
	nb_tensor_tensor_scan(nb, result(to), y, x, nb_number(0), NEURON_ALU_MAX, NEURON_ALU_ADD,
			      NULL);
	nb_tensor_scalar_cumulative(nb, result(to), x, NEURON_ALU_MULTIPLY, nb_number(2), &running);
	nb_reciprocal(nb, result(to), y);
	nb_tensor_scalar_reduce(nb, result(to), x, NEURON_ALU_ADD, nb_number(1), NEURON_ALU_MAX,
				COLUMN(RESULTS + 7 * LINE), true);
}

static void near_line(const char *what, const float *got, size_t p, size_t line, size_t i,
		      double want)
{
	const float *at = got + p * RESULTS / 4 + line * N + i;

	near(what, p * N + i, (double)*at, want, TOLERANCE);
}

/* @x and @y of a partition, from double to what the engine stores. */
static void check_partition(const float *got, const float *x, const float *y, size_t p)
{
	double scan = 0, sum = 0, most = -INFINITY;
	size_t i;

	for (i = 0; i < N; i++) {
		double a = (double)x[i], b = (double)y[i];

		near_line("subtract", got, p, 0, i, a - b);
		near_line("reversed", got, p, 1, i, (3 - a) * (double)x[0]);
		near_line("scalar_tensor_tensor", got, p, 2, i, a * 0.5 + b);
		scan = fmax(b, scan) + a;
		near_line("scan", got, p, 3, i, scan);
		sum += a * 2;
		near_line("cumulative", got, p, 4, i, sum);
		near_line("reciprocal", got, p, 5, i, 1 / b);
		near_line("add", got, p, 6, i, a + 1);
		most = fmax(most, a + 1);
	}
	near_line("maximum", got, p, 7, 0, -most);
}

/* x at 0x0, y at 0x100, the first of x once more at 0x200. */
static void vector_engine_computes(void **state)
{
	struct bench bench;
	struct results to;
	float *a, *b, *c;
	size_t p, i;
	int ready;

	(void)state;
	begin(&bench, 1);
	ready = nb_sem(bench.nb, false);
	landed(&bench, nb_dma(bench.nb, bench.queue, nb_sbuf_tile(bench.nb, 0, ROWS, 0, LINE),
			      nb_rows(bench.a, 0, LINE, ROWS, LINE), bench.done));
	landed(&bench, nb_dma(bench.nb, bench.queue, nb_sbuf_tile(bench.nb, 0, ROWS, 0x100, LINE),
			      nb_rows(bench.b, 0, LINE, ROWS, LINE), bench.done));
	landed(&bench, nb_dma(bench.nb, bench.queue, nb_sbuf_tile(bench.nb, 0, ROWS, 0x200, 4),
			      nb_rows(bench.a, 0, 4, ROWS, LINE), bench.done));
	to = (struct results){ bench.nb, RESULTS };
	nb_wait(nb_nop(bench.nb, NEURON_ENGINE_VECTOR), bench.done, bench.count);
	vector_program(&to, TILE(0), TILE(0x100));
	nb_post(nb_halt(bench.nb, NEURON_ENGINE_VECTOR), ready, 1);
	bench.c = nb_tmp(bench.nb, "all", ROWS * RESULTS);
	nb_wait(nb_nop(bench.nb, SYNC), ready, 1);
	landed(&bench, nb_dma(bench.nb, bench.queue, nb_linear(bench.c, 0, ROWS * RESULTS),
			      nb_sbuf_tile(bench.nb, 0, ROWS, RESULTS, RESULTS), bench.done));
	load(&bench, &neuron_gen_trn2);
	a = fill(&bench, "a", 11);
	b = neff_rig_var(&bench.loaded, "b");
	for (i = 0; i < ROWS * N; i++)
		b[i] = (float)(value(i + 70) + 40);
	run_loaded(&bench);
	c = neff_rig_var(&bench.loaded, "all");
	for (p = 0; p < ROWS; p++)
		check_partition(c, a + p * N, b + p * N, p);
	end(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(casts_and_transposes),
		cmocka_unit_test(sums_and_extremes),
		cmocka_unit_test(gathers_and_scatters),
		cmocka_unit_test(lengths_and_places_at_run_time),
		cmocka_unit_test(instances_take_turns),
		cmocka_unit_test(vector_engine_computes),
	};

	return cmocka_run_group_tests_name("builder_run", tests, NULL, NULL);
}
