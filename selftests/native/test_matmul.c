// SPDX-License-Identifier: MIT
/*
 * The matrix product: every host path against libm's fmaf, bit for bit.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "num_util.h"
#include "num/trn_num.h"

#define RANDOM_SHAPES	150
#define GAP_BITS	0x12345678u	/* between the rows; must stay */

/* struct problem - one product; arrays end with their last element */
struct problem {
	unsigned int k, m, n;
	size_t stationary_stride, moving_stride, dst_stride;
	float *stationary, *moving, *old, *want, *got;
	bool accumulate;
};

typedef float (*fill_fn)(uint64_t *seed);

/* Floats from the first row's start to the last row's end. */
static size_t extent(unsigned int rows, unsigned int columns, size_t stride)
{
	return rows && columns ? (rows - 1) * stride + columns : 0;
}

static size_t dst_extent(const struct problem *p)
{
	return extent(p->m, p->n, p->dst_stride);
}

static float *new_floats(size_t n)
{
	float *a = malloc(n ? n * sizeof(float) : 1);

	assert_non_null(a);
	return a;
}

static void problem_init(struct problem *p, fill_fn fill, uint64_t *seed)
{
	size_t i, nr_stationary = extent(p->k, p->m, p->stationary_stride);
	size_t nr_moving = extent(p->k, p->n, p->moving_stride);

	p->stationary = new_floats(nr_stationary);
	p->moving = new_floats(nr_moving);
	p->old = new_floats(dst_extent(p));
	p->want = new_floats(dst_extent(p));
	p->got = new_floats(dst_extent(p));
	for (i = 0; i < nr_stationary; i++)
		p->stationary[i] = fill(seed);
	for (i = 0; i < nr_moving; i++)
		p->moving[i] = fill(seed);
	for (i = 0; i < dst_extent(p); i++)
		p->old[i] = i % p->dst_stride < p->n ? fill(seed) : num_float(GAP_BITS);
}

static void problem_free(struct problem *p)
{
	free(p->stationary);
	free(p->moving);
	free(p->old);
	free(p->want);
	free(p->got);
}

/* The definition, canonical at each step. */
static float oracle(const struct problem *p, unsigned int i, unsigned int j)
{
	float sum = 0.0f;
	unsigned int l;

	for (l = 0; l < p->k; l++) {
		sum = fmaf(p->stationary[l * p->stationary_stride + i],
			   p->moving[l * p->moving_stride + j], sum);
		sum = num_float(num_canon_bits(sum));
	}
	if (p->accumulate)
		sum = p->old[i * p->dst_stride + j] + sum;
	return num_float(num_canon_bits(sum));
}

static void compute_want(struct problem *p)
{
	unsigned int i, j;

	memcpy(p->want, p->old, dst_extent(p) * sizeof(float));
	for (i = 0; i < p->m; i++) {
		for (j = 0; j < p->n; j++)
			p->want[i * p->dst_stride + j] = oracle(p, i, j);
	}
}

static void compute_got(struct problem *p)
{
	memcpy(p->got, p->old, dst_extent(p) * sizeof(float));
	trn_matmul(p->got, p->dst_stride, p->stationary, p->stationary_stride,
		   p->moving, p->moving_stride, p->k, p->m, p->n, p->accumulate);
}

static void check(struct problem *p, fill_fn fill, uint64_t *seed)
{
	size_t i;

	problem_init(p, fill, seed);
	compute_want(p);
	compute_got(p);
	i = num_first_difference(p->got, p->want, dst_extent(p));
	if (i != NUM_SAME) {
		print_error("%s, k %u m %u n %u: row %zu column %zu is %#x, not %#x\n",
			    trn_num_path_name(), p->k, p->m, p->n, i / p->dst_stride,
			    i % p->dst_stride, num_bits(p->got[i]), num_bits(p->want[i]));
		fail();
	}
	problem_free(p);
}

static struct problem dense(unsigned int k, unsigned int m, unsigned int n)
{
	return (struct problem){
		.k = k, .m = m, .n = n,
		.stationary_stride = m, .moving_stride = n, .dst_stride = n,
	};
}

/* Every remainder of the register tiles' sides, and the ends of the panels. */
static void test_shapes(void **state)
{
	static const unsigned int k[] = { 0, 1, 2, 7, 128, 129 };
	static const unsigned int m[] = { 1, 3, 4, 5, 8, 9, 10, 127, 128, 129 };
	struct problem p;
	uint64_t seed = 21;
	unsigned int n;
	size_t i, j;

	(void)state;
	for (i = 0; i < NUM_COUNT(k); i++) {
		for (n = 0; n <= 50; n++) {
			p = dense(k[i], 1 + n % 9, n);
			p.accumulate = n & 1;
			check(&p, num_random_near_one, &seed);
		}
		for (j = 0; j < NUM_COUNT(m); j++) {
			p = dense(k[i], m[j], 97);
			p.accumulate = j & 1;
			check(&p, num_random_near_one, &seed);
		}
	}
}

static void check_random_shapes(fill_fn fill, uint64_t *seed)
{
	struct problem p;
	int round;

	for (round = 0; round < RANDOM_SHAPES; round++) {
		p = dense(num_random(seed) % 140, 1 + num_random(seed) % 140,
			  1 + num_random(seed) % 200);
		p.stationary_stride += num_random(seed) % 3;
		p.moving_stride += num_random(seed) % 5;
		p.dst_stride += num_random(seed) % 7;
		p.accumulate = num_random(seed) & 1;
		check(&p, fill, seed);
	}
}

static void test_random(void **state)
{
	uint64_t seed = 22;

	(void)state;
	check_random_shapes(num_random_near_one, &seed);
}

/* Infinities, NaN of every payload, denormals and zeros of both signs. */
static void test_edges(void **state)
{
	uint64_t seed = 23;

	(void)state;
	check_random_shapes(num_random_mixed, &seed);
	check_random_shapes(num_random_bits, &seed);
}

/* Rarely an edge: most chains stay finite and meet it somewhere inside. */
static float rare_edge(uint64_t *seed)
{
	if (num_random(seed) % 1024)
		return num_random_near_one(seed);
	return num_float(num_edges[num_random(seed) % num_nr_edges]);
}

/* Products and sums below the normal range. */
static float tiny(uint64_t *seed)
{
	return ldexpf(num_random_near_one(seed), -64 - (int)(num_random(seed) % 12));
}

static void test_rare_edges(void **state)
{
	uint64_t seed = 24;

	(void)state;
	check_random_shapes(rare_edge, &seed);
}

static void test_denormal_sums(void **state)
{
	uint64_t seed = 25;

	(void)state;
	check_random_shapes(tiny, &seed);
}

/* Sides of a block of the array, and of what no longer fits one. */
static void test_long_chains(void **state)
{
	static const unsigned int k[] = { 256, 257, 512, 513 };
	struct problem p;
	uint64_t seed = 28;
	size_t i;

	(void)state;
	for (i = 0; i < NUM_COUNT(k); i++) {
		p = dense(k[i], 9, 250);
		p.accumulate = i & 1;
		check(&p, num_random_near_one, &seed);
	}
}

static void test_full_tile(void **state)
{
	struct problem p = dense(128, 128, 512);
	uint64_t seed = 26;

	(void)state;
	check(&p, num_random_near_one, &seed);
	p.accumulate = true;
	check(&p, rare_edge, &seed);
}

enum { PICK_TERMS = 37, PICK_LINES = 90, PICK_ROWS = 11, PICK_COLUMNS = 61 };

/* struct picked - a product whose rows have lines of their own */
struct picked {
	float stationary[PICK_TERMS][PICK_ROWS];
	float moving[PICK_LINES][PICK_COLUMNS];
	uint16_t pick[PICK_TERMS][PICK_ROWS];
	float old[PICK_ROWS][PICK_COLUMNS], got[PICK_ROWS][PICK_COLUMNS];
};

static float picked_oracle(const struct picked *p, unsigned int i, unsigned int j,
			   bool accumulate)
{
	float sum = 0.0f;
	unsigned int l;

	for (l = 0; l < PICK_TERMS; l++)
		sum = fmaf(p->stationary[l][i], p->moving[p->pick[l][i]][j], sum);
	return num_float(num_canon_bits(accumulate ? p->old[i][j] + sum : sum));
}

static void picked_init(struct picked *p, uint64_t *seed)
{
	unsigned int i, j, l;

	for (l = 0; l < PICK_TERMS; l++) {
		for (i = 0; i < PICK_ROWS; i++) {
			p->stationary[l][i] = rare_edge(seed);
			p->pick[l][i] = (uint16_t)(1 + num_random(seed) % (PICK_LINES - 1));
		}
	}
	for (j = 0; j < PICK_COLUMNS; j++) {
		/* Nobody picks the first line. */
		p->moving[0][j] = NAN;
		for (l = 1; l < PICK_LINES; l++)
			p->moving[l][j] = num_random_near_one(seed);
		for (i = 0; i < PICK_ROWS; i++)
			p->old[i][j] = num_random_near_one(seed);
	}
}

static void check_picked(struct picked *p, unsigned int m, unsigned int n, bool accumulate)
{
	_Alignas(64) float room[TRN_MOVING_FLOATS(PICK_LINES, PICK_COLUMNS)];
	const struct trn_pick pick = { p->pick[0], PICK_ROWS, PICK_TERMS };
	struct trn_moving moving;
	unsigned int i, j, l;
	float want;

	trn_moving_init(&moving, room, PICK_LINES, n);
	for (l = PICK_LINES; l--;)
		trn_moving_line(&moving, l, p->moving[l]);
	memcpy(p->got, p->old, sizeof(p->old));
	trn_multiply_picked(p->got[0], PICK_COLUMNS, p->stationary[0], PICK_ROWS, &pick,
			    &moving, m, accumulate);
	for (i = 0; i < PICK_ROWS; i++) {
		for (j = 0; j < PICK_COLUMNS; j++) {
			want = i < m && j < n ? picked_oracle(p, i, j, accumulate) :
						p->old[i][j];
			assert_int_equal(num_bits(p->got[i][j]), num_bits(want));
		}
	}
}

static void test_picked(void **state)
{
	static struct picked p;
	uint64_t seed = 29;
	unsigned int n;

	(void)state;
	for (n = 1; n <= PICK_COLUMNS; n++) {
		picked_init(&p, &seed);
		check_picked(&p, 1 + n % PICK_ROWS, n, n & 1);
	}
}

/* -0 as the only product: the chain starts from +0. */
static void test_chain_starts_from_plus_zero(void **state)
{
	float stationary = -0.0f, moving = 1.0f, dst = -0.0f;

	(void)state;
	trn_matmul(&dst, 1, &stationary, 1, &moving, 1, 1, 1, 1, false);
	assert_int_equal(num_bits(dst), 0);
	dst = -0.0f;
	trn_matmul(&dst, 1, &stationary, 1, &moving, 1, 0, 1, 1, false);
	assert_int_equal(num_bits(dst), 0);
	dst = -0.0f;
	trn_matmul(&dst, 1, &stationary, 1, &moving, 1, 1, 1, 1, true);
	assert_int_equal(num_bits(dst), 0);
}

/* The checks above would see another order, or a product rounded by itself. */
static void test_oracle_is_sharp(void **state)
{
	struct problem p = dense(64, 16, 16);
	unsigned int i, j, l, reordered = 0, unfused = 0;
	volatile float product;
	float down, split;
	uint64_t seed = 27;

	(void)state;
	problem_init(&p, num_random_near_one, &seed);
	compute_want(&p);
	for (i = 0; i < p.m; i++) {
		for (j = 0; j < p.n; j++) {
			down = 0.0f;
			split = 0.0f;
			for (l = 0; l < p.k; l++) {
				down = fmaf(p.stationary[(p.k - 1 - l) * p.m + i],
					    p.moving[(p.k - 1 - l) * p.n + j], down);
				product = p.stationary[l * p.m + i] * p.moving[l * p.n + j];
				split += product;
			}
			reordered += num_bits(down) != num_bits(p.want[i * p.n + j]);
			unfused += num_bits(split) != num_bits(p.want[i * p.n + j]);
		}
	}
	assert_in_range(reordered, p.m * p.n / 2, p.m * p.n);
	assert_in_range(unfused, p.m * p.n / 2, p.m * p.n);
	problem_free(&p);
}

static int use_path(void **state)
{
	if (!trn_num_force_path(*state)) {
		print_message("no %s on this host\n", (char *)*state);
		*state = NULL;
	}
	return 0;
}

static int use_best_path(void **state)
{
	(void)state;
	return trn_num_force_path(NULL) ? 0 : -1;
}

#define DEFINE_ON_PATH(function)					\
static void function##_on_path(void **state)				\
{									\
	if (!*state)							\
		skip();							\
	function(state);						\
}

DEFINE_ON_PATH(test_shapes)
DEFINE_ON_PATH(test_random)
DEFINE_ON_PATH(test_edges)
DEFINE_ON_PATH(test_rare_edges)
DEFINE_ON_PATH(test_denormal_sums)
DEFINE_ON_PATH(test_long_chains)
DEFINE_ON_PATH(test_full_tile)
DEFINE_ON_PATH(test_picked)
DEFINE_ON_PATH(test_chain_starts_from_plus_zero)

#define ON_PATH(function, path)						\
	{ .name = #function " " path, .test_func = function##_on_path,	\
	  .setup_func = use_path, .teardown_func = use_best_path,	\
	  .initial_state = (void *)(path) }

#define ON_EACH_PATH(function)						\
	ON_PATH(function, "scalar"), ON_PATH(function, "avx2"),		\
	ON_PATH(function, "avx512")

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_EACH_PATH(test_shapes),
		ON_EACH_PATH(test_random),
		ON_EACH_PATH(test_edges),
		ON_EACH_PATH(test_rare_edges),
		ON_EACH_PATH(test_denormal_sums),
		ON_EACH_PATH(test_long_chains),
		ON_EACH_PATH(test_full_tile),
		ON_EACH_PATH(test_picked),
		ON_EACH_PATH(test_chain_starts_from_plus_zero),
		cmocka_unit_test(test_oracle_is_sharp),
	};

	return cmocka_run_group_tests_name("matmul", tests, NULL, NULL);
}
