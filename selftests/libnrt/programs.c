// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/address.h"
#include "neuron/neff.h"
#include "neuron_kernels.h"
#include "programs.h"

#define ROW_BYTES	(PROGRAM_COLUMNS * 4)
/* In each SBUF partition. */
#define X_BYTE		0
#define C_BYTE		0x1000
#define Y_BYTE		0x2000

static const uint32_t shape[] = { PROGRAM_ROWS, PROGRAM_COLUMNS };

/* What most programs have: x, y, a queue set for each. */
struct base {
	struct nb_program *nb;
	int x;
	int y;
	int in;
	int out;
	int loaded;
	int computed;
};

static void fail(const char *why)
{
	fprintf(stderr, "programs.c: %s\n", why);
	exit(1);
}

/* @nb with x, y and their queue sets. */
static struct base begin_in(struct nb_program *nb, unsigned int queues)
{
	struct base b = { .nb = nb };

	b.x = nb_input(b.nb, "x", NEURON_DTYPE_FP32, 2, shape);
	b.y = nb_output(b.nb, "y", NEURON_DTYPE_FP32, 2, shape);
	b.in = nb_queue(b.nb, "q_in", "in", NEURON_ENGINE_SYNC, queues);
	b.out = nb_queue(b.nb, "q_out", "out", NEURON_ENGINE_SYNC, queues);
	b.loaded = nb_sem(b.nb, false);
	b.computed = nb_sem(b.nb, false);
	return b;
}

static struct base begin(const char *name, unsigned int queues)
{
	struct nb_program *nb = nb_new(name);

	if (!nb)
		fail("out of memory");
	return begin_in(nb, queues);
}

/* The second core of a pair has nothing to do, unless the program says what. */
static struct program finish(struct base *b)
{
	const char *lnc = getenv("NEURON_LOGICAL_NC_CONFIG");
	struct program program;

	if (lnc && !strcmp(lnc, "2"))
		nb_second(b->nb);
	if (nb_pack(b->nb, &program.data, &program.size))
		fail(nb_error(b->nb));
	nb_free(b->nb);
	return program;
}

static struct neuron_ap tile(uint32_t byte)
{
	return nb_tile(0, PROGRAM_ROWS, byte, NEURON_DTYPE_FP32, PROGRAM_COLUMNS);
}

static void load(struct base *b, int var, uint64_t byte)
{
	nb_dma(b->nb, b->in, nb_sbuf_tile(b->nb, 0, PROGRAM_ROWS, byte, ROW_BYTES),
	       nb_linear(var, 0, PROGRAM_BYTES), b->loaded);
}

static void store(struct base *b)
{
	nb_wait(nb_dma(b->nb, b->out, nb_linear(b->y, 0, PROGRAM_BYTES),
		       nb_sbuf_tile(b->nb, 0, PROGRAM_ROWS, Y_BYTE, ROW_BYTES), -1),
		b->computed, 1);
	nb_halt(b->nb, NEURON_ENGINE_SYNC);
}

static void scale(struct base *b, unsigned int queues)
{
	struct neuron_inst *inst;

	load(b, b->x, X_BYTE);
	inst = nb_tensor_scalar(b->nb, NEURON_ENGINE_VECTOR, tile(Y_BYTE), tile(X_BYTE),
				NEURON_ALU_MULTIPLY, 2.0f, NEURON_ALU_ADD, 1.0f);
	nb_post(nb_wait(inst, b->loaded, (int32_t)queues), b->computed, 1);
	nb_halt(b->nb, NEURON_ENGINE_VECTOR);
	store(b);
}

struct program program_scale(unsigned int queues)
{
	struct base b = begin("scale", queues);

	scale(&b, queues);
	return finish(&b);
}

struct program program_priorities(void)
{
	struct base b = begin("priorities", 2);

	nb_queue_priority(b.nb, b.in, 3);
	nb_queue_priority(b.nb, b.out, 1);
	scale(&b, 2);
	return finish(&b);
}

struct program program_transpose(void)
{
	struct base b = begin("transpose", 1);
	struct nb_side to = {
		.var = b.y,
		.ndim = 3,
		.size = { 4, PROGRAM_COLUMNS, PROGRAM_ROWS },
		.step = { 1, PROGRAM_ROWS * 4, 4 },
	};

	nb_dma(b.nb, b.in, to, nb_linear(b.x, 0, PROGRAM_BYTES), -1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_constant(void)
{
	struct base b = begin("constant", 1);
	float values[PROGRAM_ROWS * PROGRAM_COLUMNS];
	struct neuron_inst *inst;
	unsigned int i;
	int c;

	for (i = 0; i < PROGRAM_ROWS * PROGRAM_COLUMNS; i++)
		values[i] = (float)i;
	c = nb_file(b.nb, "c.bin", values, sizeof(values));
	load(&b, b.x, X_BYTE);
	load(&b, c, C_BYTE);
	inst = nb_tensor_tensor(b.nb, NEURON_ENGINE_VECTOR, NEURON_ALU_ADD, tile(Y_BYTE),
				tile(X_BYTE), tile(C_BYTE));
	nb_post(nb_wait(inst, b.loaded, 2), b.computed, 1);
	nb_halt(b.nb, NEURON_ENGINE_VECTOR);
	store(&b);
	return finish(&b);
}

struct program program_matmul(void)
{
	struct base b = { .nb = nb_new("matmul") };
	float ones[PROGRAM_ROWS][PROGRAM_ROWS] = { 0 };
	struct nk_tensor x, y, c;
	unsigned int i;
	struct nk nk;

	if (!b.nb)
		fail("out of memory");
	for (i = 0; i < PROGRAM_ROWS; i++)
		ones[i][i] = 1;
	nk_begin(&nk, b.nb);
	x = nk_tensor(nb_input(b.nb, "x", NEURON_DTYPE_FP32, 2, shape), NEURON_DTYPE_FP32,
		      PROGRAM_ROWS, PROGRAM_COLUMNS);
	y = nk_tensor(nb_output(b.nb, "y", NEURON_DTYPE_FP32, 2, shape), NEURON_DTYPE_FP32,
		      PROGRAM_ROWS, PROGRAM_COLUMNS);
	c = nk_tensor(nb_file(b.nb, "ones.bin", ones, sizeof(ones)), NEURON_DTYPE_FP32,
		      PROGRAM_ROWS, PROGRAM_ROWS);
	nk_gemm(&nk, y, c, x, NK_A_TRANSPOSED);
	return finish(&b);
}

struct program program_bad_opcode(void)
{
	struct neuron_inst bad = { .opcode = 0x7f, .debug = htole32(42) };
	struct base b = begin("bad opcode", 1);

	nb_nop(b.nb, NEURON_ENGINE_VECTOR);
	nb_raw(b.nb, NEURON_ENGINE_VECTOR, &bad);
	scale(&b, 1);
	return finish(&b);
}

static struct program access_program(const char *name, uint8_t opcode, uint64_t offset)
{
	struct base b = begin(name, 1);
	struct neuron_inst inst = {
		.opcode = opcode,
		.reg = { 1 },
		.addr = htole64(neuron_window_addr((uint32_t)b.x, offset)),
	};

	nb_raw(b.nb, NEURON_ENGINE_GPSIMD, &inst);
	nb_halt(b.nb, NEURON_ENGINE_GPSIMD);
	return finish(&b);
}

struct program program_out_of_bounds(void)
{
	return access_program("out of bounds", NEURON_OP_REG_LOAD, PROGRAM_BYTES);
}

struct program program_read_only(void)
{
	return access_program("read only", NEURON_OP_REG_STORE, 0);
}

struct program program_no_halt(void)
{
	struct base b = begin("no halt", 1);

	nb_nop(b.nb, NEURON_ENGINE_SCALAR);
	return finish(&b);
}

struct program program_spin(void)
{
	struct base b = begin("spin", 1);

	nb_branch(b.nb, NEURON_ENGINE_SYNC, 0);
	return finish(&b);
}

struct program program_stuck(void)
{
	struct base b = begin("stuck", 1);

	nb_wait(nb_nop(b.nb, NEURON_ENGINE_SYNC), b.loaded, 1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

/* A long name, of which an error shows the end. */
#define NAN_SOURCE	"a/folder/whose/name/is/too/long/for/a/line/of/the/log/sources/of/kernels/nan.c"

struct program program_nan(void)
{
	struct base b = begin("nan", 1);
	struct neuron_inst *inst;

	load(&b, b.x, X_BYTE);
	nb_wait(nb_nop(b.nb, NEURON_ENGINE_VECTOR), b.loaded, 1);
	nb_source(b.nb, NAN_SOURCE, 9);
	inst = nb_tensor_scalar(b.nb, NEURON_ENGINE_VECTOR, tile(Y_BYTE), tile(X_BYTE),
				NEURON_ALU_MULTIPLY, 0.0f, NEURON_ALU_ADD, 0.0f);
	nb_post(inst, b.computed, 1);
	nb_halt(b.nb, NEURON_ENGINE_VECTOR);
	store(&b);
	return finish(&b);
}

struct program program_print(void)
{
	struct base b = begin("print", 1);
	int printed = nb_print(b.nb, "printed", "x is ", NEURON_DTYPE_FP32, 2, shape);

	nb_dma(b.nb, b.in, nb_linear(printed, 0, PROGRAM_BYTES),
	       nb_linear(b.x, 0, PROGRAM_BYTES), -1);
	nb_dma(b.nb, b.out, nb_linear(b.y, 0, PROGRAM_BYTES), nb_linear(b.x, 0, PROGRAM_BYTES),
	       -1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_notices(unsigned int nr)
{
	struct base b = begin("notices", 1);
	unsigned int i;

	nb_notify_bytes(b.nb, 4 * sizeof(struct neuron_hw_notify));
	for (i = 0; i < nr; i++)
		nb_notify(b.nb, NEURON_ENGINE_VECTOR, PROGRAM_TAG + i);
	scale(&b, 1);
	return finish(&b);
}

struct program program_print_much(void)
{
	static const uint32_t much[] = { PROGRAM_MUCH / 4096, 1024 };
	struct base b = begin("print much", 1);

	nb_print(b.nb, "printed", "", NEURON_DTYPE_FP32, 2, much);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_waits(void)
{
	struct base b = begin("waits", 1);

	load(&b, b.x, X_BYTE);
	/* One load posts once. */
	nb_source(b.nb, "waits.c", 7);
	nb_wait(nb_nop(b.nb, NEURON_ENGINE_VECTOR), b.loaded, 2);
	nb_source(b.nb, "waits.c", 8);
	nb_post(nb_nop(b.nb, NEURON_ENGINE_VECTOR), b.computed, 1);
	nb_halt(b.nb, NEURON_ENGINE_VECTOR);
	store(&b);
	return finish(&b);
}

/* "box" of the next rank gets x, then its semaphore "arrived" one more. */
struct program program_push(void)
{
	struct base b = begin("push", 1);
	int box = nb_tmp(b.nb, "box", PROGRAM_BYTES);
	int next = nb_peer(b.nb, "next_box", 1, box);
	int arrived = nb_sem(b.nb, true);
	int next_arrived = nb_peer_sem(b.nb, "next_arrived", 1, (unsigned int)arrived, 1);
	int taken = nb_sem(b.nb, true);
	/* Of two or four ranks, the third one further on is the one before. */
	int before_taken = nb_peer_sem(b.nb, "before_taken", 3, (unsigned int)taken, 1);
	uint32_t one = htole32(1);
	int constant = nb_file(b.nb, "one.bin", &one, sizeof(one));
	struct neuron_inst *inst;

	nb_dma(b.nb, b.in, nb_linear(next, 0, PROGRAM_BYTES), nb_linear(b.x, 0, PROGRAM_BYTES),
	       -1);
	nb_dma(b.nb, b.in, nb_linear(next_arrived, 0, 4), nb_linear(constant, 0, 4), -1);
	inst = nb_dma(b.nb, b.out, nb_linear(b.y, 0, PROGRAM_BYTES),
		      nb_linear(box, 0, PROGRAM_BYTES), -1);
	nb_wait_take(inst, arrived, 1);
	nb_dma(b.nb, b.out, nb_linear(before_taken, 0, 4), nb_linear(constant, 0, 4), -1);
	/* The neighbour has what was pushed, so the next execution may push again. */
	nb_wait_take(nb_nop(b.nb, NEURON_ENGINE_SYNC), taken, 1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

/* y = the transpose of the sum of all x, by two collectives of @ranks ranks. */
static struct program sum_and_turn(struct base b, unsigned int ranks)
{
	int sum = nb_tmp(b.nb, "sum", PROGRAM_BYTES);
	uint32_t one = htole32(1), group[16];
	int constant = nb_file(b.nb, "one.bin", &one, sizeof(one)), start;
	struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = NEURON_DTYPE_FP32, .input = b.x,
		.output = sum, .ranks = group, .group_size = ranks, .nr_groups = 1,
		.semaphore = b.loaded,
	};
	unsigned int i;

	for (i = 0; i < ranks; i++)
		group[i] = i;
	start = nb_collective(b.nb, "start_sum", &what);
	nb_dma(b.nb, b.in, nb_linear(start, 0, 4), nb_linear(constant, 0, 4), -1);
	nb_wait_take(nb_nop(b.nb, NEURON_ENGINE_SYNC), b.loaded, 1);
	what.op = "alltoall";
	what.reduce = NULL;
	what.input = sum;
	what.output = b.y;
	what.semaphore = b.computed;
	start = nb_collective(b.nb, "start_transpose", &what);
	nb_dma(b.nb, b.in, nb_linear(start, 0, 4), nb_linear(constant, 0, 4), -1);
	nb_wait_take(nb_nop(b.nb, NEURON_ENGINE_SYNC), b.computed, 1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_collectives(unsigned int ranks)
{
	return sum_and_turn(begin("collectives", 1), ranks);
}

struct program program_large_collectives(unsigned int ranks)
{
	struct base b = begin("large", 1);

	nb_tmp(b.nb, "large", 1ull << 42);
	return sum_and_turn(b, ranks);
}

/* Start @what by the word @constant, and wait for its end. */
static void run_collective(struct base *b, const char *start_name, struct nb_collective *what,
			   int constant)
{
	int start = nb_collective(b->nb, start_name, what);

	nb_dma(b->nb, b->in, nb_linear(start, 0, 4), nb_linear(constant, 0, 4), -1);
	nb_wait_take(nb_nop(b->nb, NEURON_ENGINE_SYNC), b->loaded, 1);
}

/* @bytes in 8 partitions of SBUF. */
static struct nb_side in_sbuf(struct base *b, uint32_t bytes)
{
	struct nb_side side = nb_linear(nb_sbuf(b->nb), nb_sbuf_offset(0, Y_BYTE), bytes / 8);

	side.ndim = 2;
	side.size[1] = 8;
	side.step[1] = (int64_t)(nb_sbuf_offset(1, 0) - nb_sbuf_offset(0, 0));
	return side;
}

struct program program_lists(unsigned int ranks)
{
	const uint32_t half = PROGRAM_BYTES / 2, block = PROGRAM_BYTES / ranks;
	struct base b = begin("lists", 1);
	int sum = nb_tmp(b.nb, "sum", PROGRAM_BYTES);
	uint32_t one = htole32(1), group[16];
	int constant = nb_file(b.nb, "one.bin", &one, sizeof(one));
	struct nb_side inputs[2] = { nb_linear(b.x, 0, half), in_sbuf(&b, half) };
	struct nb_side outputs[2] = { in_sbuf(&b, half), nb_linear(sum, half, half) };
	struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = NEURON_DTYPE_FP32, .inputs = inputs,
		.outputs = outputs, .nr_parts = 2, .ranks = group, .group_size = ranks,
		.nr_groups = 1, .semaphore = b.loaded,
	};
	unsigned int i;

	for (i = 0; i < ranks; i++)
		group[i] = i;
	nb_dma(b.nb, b.in, inputs[1], nb_linear(b.x, half, half), -1);
	run_collective(&b, "start_sum", &what, constant);
	nb_dma(b.nb, b.in, nb_linear(sum, 0, half), outputs[0], -1);
	/* Of each block first the front, then the back. */
	for (i = 0; i < 2; i++) {
		inputs[i] = nb_linear(sum, i * block / 2, block / 2);
		inputs[i].ndim = 2;
		inputs[i].size[1] = ranks;
		inputs[i].step[1] = block;
		outputs[i] = inputs[i];
		outputs[i].var = b.y;
	}
	what.op = "alltoall";
	what.reduce = NULL;
	run_collective(&b, "start_transpose", &what, constant);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_many_lists(unsigned int nr, unsigned int missing)
{
	const uint32_t one = htole32(1), group[] = { 0, 1 };
	struct base b = begin("many_lists", 1);
	int constant = nb_file(b.nb, "one.bin", &one, sizeof(one));
	struct nb_side inputs[NEFF_MAX_PARTS], outputs[NEFF_MAX_PARTS];
	struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = NEURON_DTYPE_FP32, .inputs = inputs,
		.outputs = outputs, .ranks = group, .group_size = 2, .nr_groups = 1,
		.semaphore = b.loaded,
	};
	unsigned int i, k, less;
	char name[16];

	for (i = 0; i < nr; i++) {
		/* Each has one at least. */
		less = missing < NEFF_MAX_PARTS ? missing : NEFF_MAX_PARTS - 1;
		missing -= less;
		what.nr_parts = NEFF_MAX_PARTS - less;
		for (k = 0; k < what.nr_parts; k++) {
			/* Floats of the same quarter; the last lists have all of them. */
			const uint64_t at = PROGRAM_BYTES / 4 * (i % 4) + 4ull * k;

			inputs[k] = nb_linear(b.x, at, 4);
			outputs[k] = nb_linear(b.y, at, 4);
		}
		snprintf(name, sizeof(name), "start%u", i);
		run_collective(&b, name, &what, constant);
	}
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_pairs(unsigned int ranks, bool all)
{
	struct base b = begin("pairs", 1);
	uint32_t one = htole32(1), group[16];
	int sum = nb_tmp(b.nb, "sum", PROGRAM_BYTES);
	int constant = nb_file(b.nb, "one.bin", &one, sizeof(one));
	struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = NEURON_DTYPE_FP32, .input = b.x,
		.output = all ? sum : b.y, .ranks = group, .group_size = 2,
		.nr_groups = ranks / 2, .semaphore = b.loaded,
	};
	unsigned int i;

	for (i = 0; i < ranks; i++)
		group[i] = i;
	run_collective(&b, "start_pairs", &what, constant);
	if (all) {
		what.reduce = "max";
		what.input = sum;
		what.output = b.y;
		what.group_size = ranks;
		what.nr_groups = 1;
		run_collective(&b, "start_all", &what, constant);
	}
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_scratch_collectives(unsigned int ranks)
{
	struct base b = begin("scratch_collectives", 1);
	const struct nb_side x = nb_linear(b.x, 0, PROGRAM_BYTES);
	const struct nb_side y = nb_linear(b.y, 0, PROGRAM_BYTES);
	uint32_t one = htole32(1), group[16];
	int constant = nb_file(b.nb, "one.bin", &one, sizeof(one));
	struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = NEURON_DTYPE_FP32,
		.input = nb_virtual(b.nb, "mine", PROGRAM_BYTES, 0),
		.output = nb_virtual(b.nb, "sum", PROGRAM_BYTES, PROGRAM_BYTES),
		.ranks = group, .group_size = ranks, .nr_groups = 1, .semaphore = b.loaded,
	};
	unsigned int i;

	for (i = 0; i < ranks; i++)
		group[i] = i;
	nb_dma(b.nb, b.in, nb_linear(what.input, 0, PROGRAM_BYTES), x, -1);
	run_collective(&b, "start_sum", &what, constant);
	nb_dma(b.nb, b.in, y, nb_linear(what.output, 0, PROGRAM_BYTES), -1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_scratch_of(uint64_t bytes)
{
	struct base b = begin("scratch_of", 1);
	int last = nb_virtual(b.nb, "last", PROGRAM_BYTES, bytes - PROGRAM_BYTES);

	nb_dma(b.nb, b.in, nb_linear(last, 0, PROGRAM_BYTES), nb_linear(b.x, 0, PROGRAM_BYTES),
	       -1);
	nb_dma(b.nb, b.in, nb_linear(b.y, 0, PROGRAM_BYTES), nb_linear(last, 0, PROGRAM_BYTES),
	       -1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

/* Collective @k leaves the sum as it is: the largest of what all ranks have alike. */
static void keep_sum(struct base *b, int sum, int constant, struct nb_collective *what,
		     unsigned int k)
{
	const uint64_t bytes = PROGRAM_BYTES - 4ull * (k % 128);
	char part[16], start_name[16];
	int tmp, start;

	snprintf(part, sizeof(part), "part%u", k);
	snprintf(start_name, sizeof(start_name), "start%u", k);
	tmp = nb_tmp(b->nb, part, bytes);
	what->reduce = "max";
	what->input = tmp;
	what->output = tmp;
	start = nb_collective(b->nb, start_name, what);
	nb_dma(b->nb, b->in, nb_linear(tmp, 0, bytes), nb_linear(sum, 0, bytes), -1);
	nb_dma(b->nb, b->in, nb_linear(start, 0, 4), nb_linear(constant, 0, 4), -1);
	nb_wait_take(nb_dma(b->nb, b->in, nb_linear(sum, 0, bytes), nb_linear(tmp, 0, bytes), -1),
		     b->loaded, 1);
}

/* @nr collectives that touch memory of the model alone. */
static struct program sum_alone(const char *name, unsigned int ranks, unsigned int nr)
{
	struct base b = begin(name, 1);
	int sum = nb_tmp(b.nb, "sum", PROGRAM_BYTES), start;
	uint32_t one = htole32(1), group[16];
	int constant = nb_file(b.nb, "one.bin", &one, sizeof(one));
	struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = NEURON_DTYPE_FP32, .input = sum,
		.output = sum, .ranks = group, .group_size = ranks, .nr_groups = 1,
		.semaphore = b.loaded,
	};
	unsigned int i;

	for (i = 0; i < ranks; i++)
		group[i] = i;
	start = nb_collective(b.nb, "start_sum", &what);
	nb_dma(b.nb, b.in, nb_linear(sum, 0, PROGRAM_BYTES), nb_linear(b.x, 0, PROGRAM_BYTES), -1);
	nb_dma(b.nb, b.in, nb_linear(start, 0, 4), nb_linear(constant, 0, 4), -1);
	nb_wait_take(nb_nop(b.nb, NEURON_ENGINE_SYNC), b.loaded, 1);
	for (i = 1; i < nr; i++)
		keep_sum(&b, sum, constant, &what, i);
	nb_dma(b.nb, b.in, nb_linear(b.y, 0, PROGRAM_BYTES), nb_linear(sum, 0, PROGRAM_BYTES), -1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_many_collectives(unsigned int ranks)
{
	return sum_alone("many", ranks, 16);
}

struct program program_more_collectives(unsigned int ranks, unsigned int nr)
{
	return sum_alone("more", ranks, nr);
}

struct program program_one_collective(unsigned int ranks)
{
	return sum_alone("one", ranks, 1);
}

struct program program_pull(void)
{
	struct base b = begin("pull", 1);
	int theirs = nb_peer(b.nb, "their_x", 1, b.x);

	nb_dma(b.nb, b.out, nb_linear(b.y, 0, PROGRAM_BYTES), nb_linear(theirs, 0, PROGRAM_BYTES),
	       -1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_rank(void)
{
	struct base b = begin("rank", 1);

	nb_reg_rank(b.nb, NEURON_ENGINE_SYNC, 1);
	nb_reg_store(b.nb, NEURON_ENGINE_SYNC, b.y, 0, 0, 1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

struct program program_scratch(void)
{
	struct base b = begin("scratch", 1);
	struct nb_side x = nb_linear(b.x, 0, PROGRAM_BYTES), y = nb_linear(b.y, 0, PROGRAM_BYTES);
	const uint64_t offsets[] = {
		0, PROGRAM_PAGE - PROGRAM_BYTES / 2, PROGRAM_PAGE + PROGRAM_BYTES / 2,
	};
	char name[] = "scratch 0";
	struct nb_side to;
	unsigned int i;

	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		name[sizeof(name) - 2] = (char)('0' + i);
		to = nb_linear(nb_virtual(b.nb, name, PROGRAM_BYTES, offsets[i]), 0,
			       PROGRAM_BYTES);
		nb_dma(b.nb, b.in, to, x, -1);
		x = to;
	}
	nb_dma(b.nb, b.in, y, x, -1);
	nb_halt(b.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}

/* Core @k of a pair, which passes half @k on. */
static void pass_half(struct nb_program *nb, unsigned int k)
{
	const uint32_t bytes = PROGRAM_BYTES / 2;
	struct base b = begin_in(nb, 1);
	int mine = nb_virtual(nb, "mine", bytes, k * bytes);
	int other = nb_virtual(nb, "other", bytes, !k * bytes);
	/* Both programs number their semaphores alike. */
	int arrived = nb_sem(nb, false);

	nb_dma(nb, b.in, nb_linear(mine, 0, bytes), nb_linear(b.x, k * bytes, bytes), -1);
	nb_dma_remote(nb, b.in, arrived);
	nb_wait(nb_dma(nb, b.out, nb_linear(b.y, !k * bytes, bytes), nb_linear(other, 0, bytes),
		       -1), arrived, 1);
	nb_halt(nb, NEURON_ENGINE_SYNC);
}

struct program program_exchange(void)
{
	struct base b = { .nb = nb_new("exchange") };

	if (!b.nb)
		fail("out of memory");
	pass_half(b.nb, 0);
	pass_half(nb_second(b.nb), 1);
	return finish(&b);
}

/*
 * Core @k of a pair computes the half @k of 2 x + 1 and sends it to the SBUF of the other one,
 * which stores it.
 */
static void half(struct nb_program *nb, unsigned int k)
{
	const unsigned int rows = PROGRAM_ROWS / 2;
	const uint64_t bytes = (uint64_t)rows * ROW_BYTES;
	struct base b = begin_in(nb, 1);
	int sbuf = nb_sibling_sbuf(nb, "other_sbuf");
	int arrived = nb_sem(nb, false);
	/* Both programs number their semaphores alike. */
	int other = nb_sibling_sem(nb, "other_arrived", (unsigned int)arrived, 1);
	uint32_t one = htole32(1);
	int constant = nb_file(nb, "one.bin", &one, sizeof(one));
	struct nb_side there = nb_sbuf_tile(nb, 0, rows, C_BYTE, ROW_BYTES);
	struct neuron_inst *inst;

	there.var = sbuf;
	nb_dma(nb, b.in, nb_sbuf_tile(nb, 0, rows, X_BYTE, ROW_BYTES),
	       nb_linear(b.x, k * bytes, bytes), b.loaded);
	inst = nb_tensor_scalar(nb, NEURON_ENGINE_VECTOR,
				nb_tile(0, rows, Y_BYTE, NEURON_DTYPE_FP32, PROGRAM_COLUMNS),
				nb_tile(0, rows, X_BYTE, NEURON_DTYPE_FP32, PROGRAM_COLUMNS),
				NEURON_ALU_MULTIPLY, 2.0f, NEURON_ALU_ADD, 1.0f);
	nb_post(nb_wait(inst, b.loaded, 1), b.computed, 1);
	nb_halt(nb, NEURON_ENGINE_VECTOR);
	nb_wait(nb_dma(nb, b.out, there, nb_sbuf_tile(nb, 0, rows, Y_BYTE, ROW_BYTES), -1),
		b.computed, 1);
	nb_dma(nb, b.out, nb_linear(other, 0, 4), nb_linear(constant, 0, 4), -1);
	nb_wait(nb_dma(nb, b.out, nb_linear(b.y, !k * bytes, bytes),
		       nb_sbuf_tile(nb, 0, rows, C_BYTE, ROW_BYTES), -1),
		arrived, 1);
	nb_halt(nb, NEURON_ENGINE_SYNC);
}

struct program program_pair(void)
{
	struct base b = { .nb = nb_new("pair") };

	if (!b.nb)
		fail("out of memory");
	half(b.nb, 0);
	half(nb_second(b.nb), 1);
	return finish(&b);
}

/*
 * Core @k of a pair, which exchanges its tile with the other one three times. What has arrived is
 * the tile of the next exchange. The second core copies it so late that a first core that did not
 * wait would have sent the next one before.
 */
static void exchange_half(struct nb_program *nb, unsigned int k)
{
	const unsigned int rows = PROGRAM_ROWS / 2, turns = 3;
	const uint32_t bytes = rows * ROW_BYTES;
	struct base b = begin_in(nb, 1);
	struct nb_side mine = nb_sbuf_tile(nb, 0, rows, X_BYTE, ROW_BYTES);
	struct nb_side arrived = nb_sbuf_tile(nb, 0, rows, C_BYTE, ROW_BYTES), there = arrived;
	/* Both programs number their semaphores alike. */
	struct nb_pair pair = { .queue = b.in, .ready = nb_sem(nb, false),
				.arrived = nb_sem(nb, false), .reg = 1 };
	unsigned int turn;

	there.var = nb_sibling_sbuf(nb, "there");
	pair.other_ready = nb_sibling_sem(nb, "other_ready", (unsigned int)pair.ready, 1);
	nb_dma(nb, b.in, mine, nb_linear(b.x, k * bytes, bytes), -1);
	for (turn = 0; turn < turns; turn++) {
		nb_sendrecv(nb, &pair, there, mine);
		nb_reg_set(nb, NEURON_ENGINE_SYNC, 2, k ? 20000 : 1);
		nb_loop(nb, NEURON_ENGINE_SYNC, 2, nb_here(nb, NEURON_ENGINE_SYNC));
		nb_dma(nb, b.in, mine, arrived, b.loaded);
		nb_wait_take(nb_nop(nb, NEURON_ENGINE_SYNC), b.loaded, 1);
	}
	nb_dma(nb, b.in, nb_linear(b.y, k * bytes, bytes), mine, -1);
	nb_halt(nb, NEURON_ENGINE_SYNC);
}

struct program program_sendrecv(void)
{
	struct base b = { .nb = nb_new("sendrecv") };

	if (!b.nb)
		fail("out of memory");
	exchange_half(b.nb, 0);
	exchange_half(nb_second(b.nb), 1);
	return finish(&b);
}

struct program program_second(enum program_end end)
{
	struct base b = begin("second", 1);
	struct base second = begin_in(nb_second(b.nb), 1);

	nb_wait(nb_halt(b.nb, NEURON_ENGINE_SYNC), b.loaded, 1);
	if (end == PROGRAM_FAULTS)
		nb_dma(second.nb, second.in, nb_linear(second.x, 0, PROGRAM_BYTES),
		       nb_linear(second.y, 0, PROGRAM_BYTES), -1);
	else
		nb_wait(nb_halt(second.nb, NEURON_ENGINE_VECTOR), second.loaded, 1);
	nb_halt(second.nb, NEURON_ENGINE_SYNC);
	return finish(&b);
}
