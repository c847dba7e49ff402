// SPDX-License-Identifier: MIT
/*
 * Kernels of rows by hand: 128 rows at a time, one in each partition. The sync engine loads,
 * GpSimd stores. Each tile of rows has buffers of its own in turns. The vector engine goes on
 * with the next tile before it comes back for what the scalar engine has made of this one.
 */
#include "hand.h"

#define MAX_TURNS	8u

/**
 * struct buffers - tiles that are used in turns
 * @moved: of each: counts the queues of its transfers
 * @silent: its loads post nothing: those behind them on the same queues do
 */
struct buffers {
	struct hand_tile tile[MAX_TURNS];
	int moved[MAX_TURNS];
	unsigned int turns;
	bool silent;
};

/**
 * struct rows - a kernel under work
 * @in, @out: queues
 * @tiles: of 128 rows
 * @x, @z, @y: the operands and the result
 */
struct rows {
	struct hand *hand;
	const struct hand_rows *what;
	int in;
	int out;
	uint32_t tiles;
	struct buffers x;
	struct buffers z;
	struct buffers y;
};

static void buffers(struct rows *r, struct buffers *b, unsigned int turns)
{
	unsigned int i;

	b->turns = turns < r->tiles ? turns : r->tiles;
	b->turns = b->turns < MAX_TURNS ? b->turns : MAX_TURNS;
	for (i = 0; i < b->turns; i++) {
		b->tile[i] = hand_tile(r->hand, NEURON_DTYPE_FP32, r->what->cols);
		b->moved[i] = hand_sem(r->hand);
	}
}

static const struct hand_tile *buffer(const struct buffers *b, uint32_t t)
{
	return &b->tile[t % b->turns];
}

static struct neuron_ap full(const struct buffers *b, uint32_t t)
{
	return hand_ap(buffer(b, t));
}

/* What the semaphore of the buffer is when its transfer of tile @t is over. */
static uint32_t moved(const struct buffers *b, uint32_t t)
{
	return HAND_QUEUES * (t / b->turns + 1);
}

static void wait_moved(struct rows *r, const struct buffers *b, uint32_t t,
		       struct neuron_inst *inst)
{
	hand_wait(r->hand, inst, b->moved[t % b->turns], moved(b, t));
}

static struct nb_side block(const struct rows *r, int var, uint32_t t)
{
	uint32_t bytes = r->what->cols * 4;

	return nb_rows(var, (uint64_t)t * HAND_ROWS * bytes, bytes, HAND_ROWS, bytes);
}

/* Tile @t, when whoever has read the one before in that buffer has counted it. */
static void load(struct rows *r, struct buffers *b, int var, uint32_t t, int read)
{
	struct neuron_inst *inst;

	if (t >= r->tiles)
		return;
	inst = nb_dma(r->hand->nb, r->in, hand_side(r->hand, buffer(b, t)), block(r, var, t),
		      b->silent ? -1 : b->moved[t % b->turns]);
	if (t >= b->turns)
		hand_wait(r->hand, inst, read, t - b->turns + 1);
}

static void load_first(struct rows *r, struct buffers *b, int var)
{
	uint32_t t;

	for (t = 0; t < b->turns; t++)
		load(r, b, var, t, -1);
}

static void store(struct rows *r, uint32_t t, int made)
{
	bool again = t + r->y.turns < r->tiles;
	struct neuron_inst *inst;

	/* A post takes its time, too: it is left out where nobody needs the buffer again. */
	inst = nb_dma(r->hand->nb, r->out, block(r, r->what->y, t),
		      hand_side(r->hand, buffer(&r->y, t)),
		      again ? r->y.moved[t % r->y.turns] : -1);
	hand_wait(r->hand, inst, made, t + 1);
}

/* The engine that writes result @t has it stored before it writes over it. */
static void wait_stored(struct rows *r, enum neuron_engine e, uint32_t t)
{
	if (t >= r->y.turns)
		hand_wait_before(r->hand, e, r->y.moved[t % r->y.turns],
				 moved(&r->y, t - r->y.turns));
}

static void begin(struct rows *r)
{
	r->in = nb_queue(r->hand->nb, "load", "data", HAND_SYNC, HAND_QUEUES);
	r->out = nb_queue(r->hand->nb, "store", "data", HAND_GPSIMD, HAND_QUEUES);
	r->tiles = r->what->rows / HAND_ROWS;
}

/* As many turns as there is room for, of @kinds kinds of buffers. */
static unsigned int turns(const struct rows *r, unsigned int kinds)
{
	return (HAND_SBUF - r->hand->next) / (kinds * r->what->cols * 4);
}

static struct hand_tile column(struct rows *r)
{
	return hand_tile(r->hand, NEURON_DTYPE_FP32, 1);
}

/* --- Element by element --- */

void hand_gelu(struct hand *hand, const struct hand_rows *what)
{
	struct rows r = { .hand = hand, .what = what };
	struct hand_tile bias;
	int ready = hand_sem(hand), made = hand_sem(hand);
	struct neuron_inst *inst;
	uint32_t t;

	begin(&r);
	bias = column(&r);
	buffers(&r, &r.x, turns(&r, 2));
	buffers(&r, &r.y, r.x.turns);
	hand_post(hand, nb_memset(hand->nb, HAND_VECTOR, hand_ap(&bias), 0.0), ready);
	load_first(&r, &r.x, what->x);
	hand_wait_before(hand, HAND_SCALAR, ready, 1);
	for (t = 0; t < r.tiles; t++) {
		wait_stored(&r, HAND_SCALAR, t);
		inst = nb_activate(hand->nb, NEURON_ACT_GELU, full(&r.y, t), full(&r.x, t), 1.0f,
				   hand_ap(&bias));
		wait_moved(&r, &r.x, t, inst);
		hand_post(hand, inst, made);
		store(&r, t, made);
		load(&r, &r.x, what->x, t + r.x.turns, made);
	}
	hand_end(hand);
}

void hand_add(struct hand *hand, const struct hand_rows *what)
{
	struct rows r = { .hand = hand, .what = what };
	struct neuron_inst *inst;
	int made = hand_sem(hand);
	uint32_t t;

	begin(&r);
	buffers(&r, &r.x, turns(&r, 3));
	r.x.silent = true;
	buffers(&r, &r.z, r.x.turns);
	buffers(&r, &r.y, r.x.turns);
	for (t = 0; t < r.x.turns; t++) {
		load(&r, &r.x, what->x, t, -1);
		load(&r, &r.z, what->z, t, -1);
	}
	for (t = 0; t < r.tiles; t++) {
		wait_stored(&r, HAND_VECTOR, t);
		inst = nb_tensor_tensor(hand->nb, HAND_VECTOR, NEURON_ALU_ADD, full(&r.y, t),
					full(&r.x, t), full(&r.z, t));
		wait_moved(&r, &r.z, t, inst);
		hand_post(hand, inst, made);
		store(&r, t, made);
		load(&r, &r.x, what->x, t + r.x.turns, made);
		load(&r, &r.z, what->z, t + r.z.turns, made);
	}
	hand_end(hand);
}

/* --- Softmax --- */

/**
 * struct softmax - under work
 * @most, @sum: columns: minus the greatest of a row, and 1 / the sum
 * @exp: only between the scalar and the vector engine
 * @shifted: counts tiles whose greatest the vector engine has found
 * @raised: counts those of @exp that the scalar engine has written
 * @made: counts results
 */
struct softmax {
	struct rows r;
	struct hand_tile most[2];
	struct hand_tile sum[2];
	struct buffers exp;
	int shifted;
	int raised;
	int made;
};

/* The greatest of each row, and what the scalar engine makes of the row. */
static void softmax_raise(struct softmax *s, uint32_t t)
{
	struct neuron_ap most = hand_ap(&s->most[t % 2]);
	struct hand *hand = s->r.hand;
	struct neuron_inst *inst;

	if (t >= s->r.tiles)
		return;
	inst = nb_reduce(hand->nb, HAND_VECTOR, NEURON_ALU_MAX, most, full(&s->r.x, t));
	wait_moved(&s->r, &s->r.x, t, inst);
	/* Behind what this engine has read of the buffers of two tiles before. */
	inst = nb_tensor_scalar(hand->nb, HAND_VECTOR, most, most, NEURON_ALU_MULTIPLY, -1.0f,
				NEURON_ALU_BYPASS, 0.0f);
	hand_post(hand, inst, s->shifted);
	inst = nb_activate(hand->nb, NEURON_ACT_EXP, full(&s->exp, t), full(&s->r.x, t), 1.0f,
			   most);
	hand_wait(hand, inst, s->shifted, t + 1);
	hand_post(hand, inst, s->raised);
	load(&s->r, &s->r.x, s->r.what->x, t + s->r.x.turns, s->raised);
}

static void softmax_write(struct softmax *s, uint32_t t)
{
	struct neuron_ap sum = hand_ap(&s->sum[t % 2]);
	struct hand *hand = s->r.hand;
	struct neuron_inst *inst;

	inst = nb_reduce(hand->nb, HAND_VECTOR, NEURON_ALU_ADD, sum, full(&s->exp, t));
	hand_wait(hand, inst, s->raised, t + 1);
	nb_reciprocal(hand->nb, sum, sum);
	wait_stored(&s->r, HAND_VECTOR, t);
	inst = nb_tensor_scalar_any(hand->nb, HAND_VECTOR, full(&s->r.y, t), full(&s->exp, t),
				    NEURON_ALU_MULTIPLY, nb_column(sum), NEURON_ALU_BYPASS,
				    nb_none(), NULL);
	hand_post(hand, inst, s->made);
	store(&s->r, t, s->made);
}

void hand_softmax(struct hand *hand, const struct hand_rows *what)
{
	struct softmax s = { .r = { .hand = hand, .what = what } };
	uint32_t t;

	begin(&s.r);
	for (t = 0; t < 2; t++) {
		s.most[t] = column(&s.r);
		s.sum[t] = column(&s.r);
	}
	buffers(&s.r, &s.exp, 2);
	buffers(&s.r, &s.r.x, turns(&s.r, 2));
	buffers(&s.r, &s.r.y, s.r.x.turns);
	s.shifted = hand_sem(hand);
	s.raised = hand_sem(hand);
	s.made = hand_sem(hand);
	load_first(&s.r, &s.r.x, what->x);
	softmax_raise(&s, 0);
	for (t = 0; t < s.r.tiles; t++) {
		softmax_raise(&s, t + 1);
		softmax_write(&s, t);
	}
	hand_end(hand);
}

/* --- Layernorm --- */

/**
 * struct norm - under work
 * @mean, @scale: columns: minus the mean of a row; the sum of its squares, its root, 1 / that
 * @diff, @square: tiles that only the vector engine uses
 * @work: what the scalar engine copies
 * @gamma, @beta: that row in each partition
 * @constants: counts the queues that have loaded them
 * @squared, @rooted: count the sums of squares, and their roots
 * @centred: counts tiles of X that nobody reads any more
 * @worked, @made: count tiles of @work, and results
 */
struct norm {
	struct rows r;
	float epsilon;
	struct hand_tile mean[2];
	struct hand_tile scale[2];
	struct hand_tile diff;
	struct hand_tile square;
	struct buffers work;
	struct hand_tile gamma;
	struct hand_tile beta;
	int constants;
	int squared;
	int rooted;
	int centred;
	int worked;
	int made;
};

static void norm_constant(struct norm *n, struct hand_tile *tile, int var, int sem)
{
	struct nb_side from = nb_rows(var, 0, n->r.what->cols * 4, HAND_ROWS, 0);

	*tile = hand_tile(n->r.hand, NEURON_DTYPE_FP32, n->r.what->cols);
	nb_dma(n->r.hand->nb, n->r.in, hand_side(n->r.hand, tile), from, sem);
}

/* The sum of the squares; the scalar engine takes its root. */
static void norm_squares(struct norm *n, uint32_t t)
{
	struct neuron_ap mean = hand_ap(&n->mean[t % 2]), scale = hand_ap(&n->scale[t % 2]);
	struct neuron_ap diff = hand_ap(&n->diff), square = hand_ap(&n->square);
	uint32_t cols = n->r.what->cols;
	struct hand *hand = n->r.hand;
	struct neuron_inst *inst;

	if (t >= n->r.tiles)
		return;
	inst = nb_reduce(hand->nb, HAND_VECTOR, NEURON_ALU_ADD, mean, full(&n->r.x, t));
	wait_moved(&n->r, &n->r.x, t, inst);
	nb_tensor_scalar(hand->nb, HAND_VECTOR, mean, mean, NEURON_ALU_MULTIPLY, -1.0f / cols,
			 NEURON_ALU_BYPASS, 0.0f);
	nb_tensor_scalar_any(hand->nb, HAND_VECTOR, diff, full(&n->r.x, t), NEURON_ALU_ADD,
			     nb_column(mean), NEURON_ALU_BYPASS, nb_none(), NULL);
	nb_tensor_tensor(hand->nb, HAND_VECTOR, NEURON_ALU_MULTIPLY, square, diff, diff);
	nb_reduce(hand->nb, HAND_VECTOR, NEURON_ALU_ADD, scale, square);
	inst = nb_tensor_scalar(hand->nb, HAND_VECTOR, scale, scale, NEURON_ALU_MULTIPLY,
				1.0f / cols, NEURON_ALU_ADD, n->epsilon);
	hand_post(hand, inst, n->squared);
	inst = nb_activation(hand->nb, NEURON_ACT_SQRT, scale, scale, nb_number(1.0f),
			     nb_number(0.0f), 0.0f, NULL);
	hand_wait(hand, inst, n->squared, t + 1);
	hand_post(hand, inst, n->rooted);
}

static void norm_write(struct norm *n, uint32_t t)
{
	struct neuron_ap scale = hand_ap(&n->scale[t % 2]), work = full(&n->work, t);
	struct hand *hand = n->r.hand;
	struct neuron_inst *inst;

	inst = nb_reciprocal(hand->nb, scale, scale);
	hand_wait(hand, inst, n->rooted, t + 1);
	inst = nb_tensor_scalar_any(hand->nb, HAND_VECTOR, work, full(&n->r.x, t), NEURON_ALU_ADD,
				    nb_column(hand_ap(&n->mean[t % 2])), NEURON_ALU_BYPASS,
				    nb_none(), NULL);
	if (t >= n->work.turns)
		hand_wait(hand, inst, n->made, t - n->work.turns + 1);
	hand_post(hand, inst, n->centred);
	load(&n->r, &n->r.x, n->r.what->x, t + n->r.x.turns, n->centred);
	nb_tensor_scalar_any(hand->nb, HAND_VECTOR, work, work, NEURON_ALU_MULTIPLY,
			     nb_column(scale), NEURON_ALU_BYPASS, nb_none(), NULL);
	inst = nb_tensor_tensor(hand->nb, HAND_VECTOR, NEURON_ALU_MULTIPLY, work, work,
				hand_ap(&n->gamma));
	if (!t)
		hand_wait(hand, inst, n->constants, HAND_QUEUES);
	inst = nb_tensor_tensor(hand->nb, HAND_VECTOR, NEURON_ALU_ADD, work, work,
				hand_ap(&n->beta));
	hand_post(hand, inst, n->worked);
	wait_stored(&n->r, HAND_SCALAR, t);
	inst = nb_copy(hand->nb, HAND_SCALAR, full(&n->r.y, t), work);
	hand_wait(hand, inst, n->worked, t + 1);
	hand_post(hand, inst, n->made);
	store(&n->r, t, n->made);
}

void hand_layernorm(struct hand *hand, const struct hand_rows *what, float epsilon)
{
	struct norm n = { .r = { .hand = hand, .what = what }, .epsilon = epsilon };
	uint32_t t;

	begin(&n.r);
	for (t = 0; t < 2; t++) {
		n.mean[t] = column(&n.r);
		n.scale[t] = column(&n.r);
	}
	n.diff = hand_tile(hand, NEURON_DTYPE_FP32, what->cols);
	n.square = hand_tile(hand, NEURON_DTYPE_FP32, what->cols);
	buffers(&n.r, &n.work, 2);
	n.constants = hand_sem(hand);
	n.squared = hand_sem(hand);
	n.rooted = hand_sem(hand);
	n.centred = hand_sem(hand);
	n.worked = hand_sem(hand);
	n.made = hand_sem(hand);
	buffers(&n.r, &n.r.y, 2);
	buffers(&n.r, &n.r.x, turns(&n.r, 1) - 2);
	load(&n.r, &n.r.x, what->x, 0, -1);
	norm_constant(&n, &n.gamma, what->z, -1);
	norm_constant(&n, &n.beta, what->beta, n.constants);
	for (t = 1; t < n.r.x.turns; t++)
		load(&n.r, &n.r.x, what->x, t, -1);
	norm_squares(&n, 0);
	for (t = 0; t < n.r.tiles; t++) {
		norm_squares(&n, t + 1);
		norm_write(&n, t);
	}
	hand_end(hand);
}
