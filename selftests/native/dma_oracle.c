// SPDX-License-Identifier: MIT
#include "dma_oracle.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa.h"
#include "num_util.h"

struct oracle_area *oracle_add(struct oracle *o, uint64_t addr, size_t len)
{
	struct oracle_area *area = &o->area[o->nr++];

	assert(o->nr <= ORACLE_AREAS);
	*area = (struct oracle_area){ .addr = addr, .len = len };
	area->shadow = malloc(len);
	assert(area->shadow);
	oracle_fill(o, area->shadow, len);
	return area;
}

void oracle_destroy(struct oracle *o)
{
	while (o->nr)
		free(o->area[--o->nr].shadow);
}

uint8_t *oracle_at(struct oracle *o, uint64_t addr, size_t len)
{
	unsigned int i;

	for (i = 0; i < o->nr; i++) {
		const struct oracle_area *area = &o->area[i];

		if (addr >= area->addr && addr - area->addr < area->len &&
		    len <= area->len - (addr - area->addr))
			return area->shadow + (addr - area->addr);
	}
	fprintf(stderr, "the test made an address of its own mistake: %#llx\n",
		(unsigned long long)addr);
	abort();
}

uint32_t oracle_random(struct oracle *o, uint32_t below)
{
	return num_random(&o->seed) % below;
}

void oracle_fill(struct oracle *o, void *buf, size_t len)
{
	uint8_t *bytes = buf;
	size_t i, n;
	uint32_t word;

	for (i = 0; i < len; i += n) {
		word = num_random(&o->seed);
		if (word % 4 == 0)
			word = num_edges[num_random(&o->seed) % num_nr_edges];
		else if (word % 4 == 1)
			word = num_bits(num_random_near_one(&o->seed));
		else
			word = num_random(&o->seed);
		n = len - i < 4 ? len - i : 4;
		memcpy(bytes + i, &word, n);
	}
}

/* --- Numbers --- */

static unsigned int size_of(unsigned int dtype)
{
	switch (dtype) {
	case NEURON_DTYPE_INT8:
	case NEURON_DTYPE_UINT8:
	case NEURON_DTYPE_FP8_E3:
	case NEURON_DTYPE_FP8_E4:
	case NEURON_DTYPE_FP8_E4FN:
	case NEURON_DTYPE_FP8_E5:
	case NEURON_DTYPE_E8M0:
		return 1;
	case NEURON_DTYPE_FP32:
	case NEURON_DTYPE_TF32:
	case NEURON_DTYPE_INT32:
	case NEURON_DTYPE_UINT32:
	case NEURON_DTYPE_FP8_E5_X4:
	case NEURON_DTYPE_FP8_E4FN_X4:
		return 4;
	case NEURON_DTYPE_INT64:
	case NEURON_DTYPE_UINT64:
		return 8;
	default:
		return 2;
	}
}

static float canon(float f)
{
	return isnan(f) ? num_float(NUM_NAN_BITS) : f;
}

static float half_value(uint16_t h)
{
	unsigned int exponent = h >> 10 & 31, fraction = h & 1023;
	double size;

	if (exponent == 31 && fraction)
		return num_float(NUM_NAN_BITS);
	if (exponent == 31)
		size = INFINITY;
	else if (exponent == 0)
		size = ldexp(fraction, -24);
	else
		size = ldexp(1024 + fraction, (int)exponent - 25);
	return (float)(h & 0x8000 ? -size : size);
}

static float load(const uint8_t *p, unsigned int dtype)
{
	uint16_t u16 = 0;
	uint32_t u32;
	int16_t i16;
	int32_t i32;

	memcpy(&u16, p, size_of(dtype) < 2 ? 1 : 2);
	switch (dtype) {
	case NEURON_DTYPE_INT8:
		return (int8_t)p[0];
	case NEURON_DTYPE_UINT8:
		return p[0];
	case NEURON_DTYPE_INT16:
		memcpy(&i16, p, 2);
		return i16;
	case NEURON_DTYPE_UINT16:
		return u16;
	case NEURON_DTYPE_BF16:
		return canon(num_float((uint32_t)u16 << 16));
	case NEURON_DTYPE_FP16:
		return half_value(u16);
	case NEURON_DTYPE_INT32:
		memcpy(&i32, p, 4);
		return (float)i32;
	case NEURON_DTYPE_UINT32:
		memcpy(&u32, p, 4);
		return (float)u32;
	default:
		memcpy(&u32, p, 4);
		return canon(num_float(u32));
	}
}

/* Of the two neighbours of |f| the nearer one, of equals the even one. */
static uint16_t to_bf16(float f)
{
	uint16_t low = (uint16_t)(num_bits(f) >> 16);
	double size = fabs((double)f), below, above;

	if (isnan(f))
		return 0x7fc0;
	if (isinf(f))
		return low;
	below = size - num_float((uint32_t)(low & 0x7fff) << 16);
	above = num_float((uint32_t)((low & 0x7fff) + 1) << 16);
	above = (isinf(above) ? 0x1p128 : above) - size;
	if (below == above)
		return low + (low & 1);
	return below < above ? low : low + 1;
}

/* The same for fp16, whose neighbours are looked for. */
static uint16_t to_half(float f)
{
	uint16_t low = 0, high = 0x7c00, middle;
	double size = fabs((double)f), below, above;

	if (isnan(f))
		return 0x7e00;
	if (size < 65520) {
		while (high - low > 1) {
			middle = (uint16_t)((low + high) / 2);
			if ((double)half_value(middle) <= size)
				low = middle;
			else
				high = middle;
		}
		below = size - (double)half_value(low);
		above = (high == 0x7c00 ? 65536.0 : (double)half_value(high)) - size;
		high = below < above || (below == above && !(low & 1)) ? low : high;
	}
	return signbit(f) ? high | 0x8000 : high;
}

static double to_int(float f, double lowest, double highest)
{
	if (isnan(f))
		return 0;
	return fmin(fmax(nearbyint((double)f), lowest), highest);
}

static void store(uint8_t *p, unsigned int dtype, float f)
{
	uint16_t u16;
	uint32_t u32;

	switch (dtype) {
	case NEURON_DTYPE_INT8:
		p[0] = (uint8_t)(int8_t)to_int(f, -128, 127);
		return;
	case NEURON_DTYPE_UINT8:
		p[0] = (uint8_t)to_int(f, 0, 255);
		return;
	case NEURON_DTYPE_INT16:
		u16 = (uint16_t)(int16_t)to_int(f, -32768, 32767);
		break;
	case NEURON_DTYPE_UINT16:
		u16 = (uint16_t)to_int(f, 0, 65535);
		break;
	case NEURON_DTYPE_BF16:
		u16 = to_bf16(f);
		break;
	case NEURON_DTYPE_FP16:
		u16 = to_half(f);
		break;
	case NEURON_DTYPE_INT32:
		u32 = (uint32_t)(int32_t)to_int(f, -2147483648.0, 2147483647.0);
		memcpy(p, &u32, 4);
		return;
	case NEURON_DTYPE_UINT32:
		u32 = (uint32_t)to_int(f, 0, 4294967295.0);
		memcpy(p, &u32, 4);
		return;
	default:
		u32 = num_canon_bits(f);
		memcpy(p, &u32, 4);
		return;
	}
	memcpy(p, &u16, 2);
}

/* --- Stochastic rounding --- */

static uint64_t mix64(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint32_t mix32(uint32_t x)
{
	x = (x ^ x >> 16) * 0x85ebca6bu;
	x = (x ^ x >> 13) * 0xc2b2ae35u;
	return x ^ x >> 16;
}

/* The random word of element @n. */
static uint32_t random_word(const struct neuron_udma_op *op, uint32_t n)
{
	uint64_t key = mix64(op->round_seed + 0x9e3779b97f4a7c15ull);

	key = mix64(mix64(key ^ NEURON_UDMA_ROUND_STREAM) ^ op->round_move);
	return mix32(mix32((op->round_first + n) ^ (uint32_t)key) ^ (uint32_t)(key >> 32));
}

/* A number of the type, which is bf16 or fp16, or beyond its largest one. */
static float round_at_random(float f, unsigned int dtype, uint32_t word)
{
	const bool half = dtype == NEURON_DTYPE_FP16;
	const int lowest = half ? -14 : -126, digits = half ? 10 : 7;
	double size = fabs((double)f), step, whole, part;

	if (isnan(f) || isinf(f) || f == 0)
		return f;
	step = ldexp(1, (ilogb(size) < lowest ? lowest : ilogb(size)) - digits);
	whole = floor(size / step);
	part = floor((size / step - whole) * 0x1p32);
	if (part + word >= 0x1p32)
		whole++;
	return copysignf((float)(whole * step), f);
}

static float larger(float a, float b)
{
	if (isnan(a) || isnan(b))
		return num_float(NUM_NAN_BITS);
	if (a == b)
		return signbit(a) ? b : a;
	return a > b ? a : b;
}

static float combine(const struct neuron_udma_op *op, unsigned int i, float sum,
		     float x)
{
	switch (op->op) {
	case NEURON_UDMA_OP_ADD:
		return canon((float)((double)sum + (double)x));
	case NEURON_UDMA_OP_FMA:
		return canon(fmaf(num_float(op->scale[i]), x, sum));
	case NEURON_UDMA_OP_MAX:
		return larger(sum, x);
	default:
		return -larger(-sum, -x);
	}
}

/* --- Operations --- */

static void position(const struct neuron_udma_pattern *pattern, uint32_t n,
		     uint32_t at[4])
{
	unsigned int d;

	for (d = 0; d < 4; d++) {
		at[d] = n % pattern->num[d];
		n /= pattern->num[d];
	}
}

static uint64_t address(const struct neuron_udma_pattern *pattern,
			uint64_t base, const uint32_t at[4],
			const uint32_t *index)
{
	unsigned int d;

	for (d = 0; d < 4; d++)
		base += (d == 3 && index ? index[at[3]] : at[d]) *
			(uint64_t)pattern->step[d];
	return base;
}

static uint8_t *element(struct oracle *o, const struct oracle_op *x, bool dst,
			unsigned int i, uint32_t n)
{
	const struct neuron_udma_op *op = &x->op;
	bool indexed = op->flags & (dst ? NEURON_UDMA_OP_DST_INDEXED :
					  NEURON_UDMA_OP_SRC_INDEXED);
	const struct neuron_udma_pattern *pattern = dst ? &op->dst : &op->src;
	uint32_t at[4];

	position(pattern, n, at);
	if (dst && op->op == NEURON_UDMA_OP_TRANSPOSE) {
		/* The source's element n is the destination's, changed about. */
		uint32_t from[4];

		position(&op->src, n, from);
		at[0] = from[1];
		at[1] = from[0];
		at[2] = from[2];
		at[3] = from[3];
	}
	if (indexed && x->index[at[3]] >= op->index_limit)
		return NULL;
	return oracle_at(o, address(pattern, dst ? x->dst[i] : x->src[i], at,
				    indexed ? x->index : NULL),
			 size_of(dst ? op->dst_dtype : op->src_dtype));
}

static float result(struct oracle *o, const struct oracle_op *x, uint32_t n,
		    const uint8_t *old)
{
	const struct neuron_udma_op *op = &x->op;
	unsigned int i = 0;
	float sum;

	if (op->flags & NEURON_UDMA_OP_ACCUMULATE) {
		sum = load(old, op->dst_dtype);
	} else {
		sum = load(element(o, x, false, i++, n), op->src_dtype);
		if (op->op == NEURON_UDMA_OP_FMA)
			sum = canon((float)((double)sum *
					    (double)num_float(op->scale[0])));
	}
	for (; i < op->nr_src; i++)
		sum = combine(op, i, sum, load(element(o, x, false, i, n),
					       op->src_dtype));
	return sum;
}

static bool moves_bits(const struct neuron_udma_op *op)
{
	return op->op == NEURON_UDMA_OP_TRANSPOSE ||
	       (op->op == NEURON_UDMA_OP_COPY && op->src_dtype == op->dst_dtype);
}

void oracle_do(struct oracle *o, const struct oracle_op *x)
{
	const struct neuron_udma_op *op = &x->op;
	uint32_t n, total = op->src.num[0] * op->src.num[1] * op->src.num[2] *
			    op->src.num[3];
	uint8_t value[8];
	unsigned int i;

	for (n = 0; n < total; n++) {
		const uint8_t *src = element(o, x, false, 0, n);
		uint8_t *dst = element(o, x, true, 0, n);

		if (!src || !dst)
			continue;
		if (moves_bits(op))
			memcpy(value, src, size_of(op->src_dtype));
		else if (op->flags & NEURON_UDMA_OP_STOCHASTIC)
			store(value, op->dst_dtype,
			      round_at_random(result(o, x, n, dst), op->dst_dtype,
					      random_word(op, n)));
		else
			store(value, op->dst_dtype, result(o, x, n, dst));
		for (i = 0; i < op->nr_dst; i++)
			memcpy(element(o, x, true, i, n), value,
			       size_of(op->dst_dtype));
	}
}

void oracle_copy(struct oracle *o, uint64_t dst, uint64_t src, size_t len)
{
	memmove(oracle_at(o, dst, len), oracle_at(o, src, len), len);
}

/* --- Random operations --- */

static const uint8_t types[] = {
	NEURON_DTYPE_INT8, NEURON_DTYPE_UINT8, NEURON_DTYPE_INT16,
	NEURON_DTYPE_UINT16, NEURON_DTYPE_BF16, NEURON_DTYPE_FP16,
	NEURON_DTYPE_INT32, NEURON_DTYPE_UINT32, NEURON_DTYPE_FP32,
};

/* Factors of the number of elements, dealt to the dimensions. */
static uint32_t random_factors(struct oracle *o, uint32_t limit,
			       uint32_t factor[8])
{
	uint32_t total = 1;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		factor[i] = 1 + oracle_random(o, i ? 7 : 40);
		if (total * factor[i] > limit)
			factor[i] = 1;
		total *= factor[i];
	}
	return total;
}

static void deal(struct oracle *o, const uint32_t factor[8], uint32_t num[4])
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		num[i] = 1;
	for (i = 0; i < 8; i++)
		num[oracle_random(o, 4)] *= factor[i];
}

/*
 * Steps such that no two elements lie on each other: each dimension, in a random
 * order, steps over all of those before it. @wide: positions of dimension 3.
 */
static void spread(struct oracle *o, struct neuron_udma_pattern *pattern,
		   uint32_t size, uint32_t wide, size_t room)
{
	uint32_t order[4] = { 0, 1, 2, 3 }, i, j, d, n;
	size_t extent = size, all = (size_t)size * wide, gap;

	for (i = 0; i < 3; i++)
		all *= pattern->num[i];
	assert(all <= room);
	for (i = 3; i > 0 && oracle_random(o, 3); i--) {
		j = oracle_random(o, i + 1);
		d = order[i];
		order[i] = order[j];
		order[j] = d;
	}
	for (i = 0; i < 4; i++) {
		d = order[i];
		n = d == 3 ? wide : pattern->num[d];
		if (n == 1 && oracle_random(o, 2)) {
			/* Nobody looks at it, unless an index does. */
			pattern->step[d] = d == 3 ? 0 : num_random(&o->seed);
			continue;
		}
		gap = room / all - 1;
		gap = oracle_random(o, 3) ? 0 : oracle_random(o, (uint32_t)(gap * extent) + 1);
		pattern->step[d] = extent + gap;
		if (oracle_random(o, 5) == 0)
			pattern->step[d] = -pattern->step[d];
		all = all / extent * (extent + gap);
		extent = (extent + gap) * n;
	}
}

/* Where the base may be so that all elements lie in @area. */
static uint64_t random_base(struct oracle *o,
			    const struct neuron_udma_pattern *pattern,
			    uint32_t size, const uint32_t *index, uint32_t limit,
			    const struct oracle_area *area)
{
	int64_t low = 0, high = size, a, b, step;
	unsigned int d, i;

	for (d = 0; d < 4; d++) {
		step = (int64_t)pattern->step[d];
		a = 0;
		b = (pattern->num[d] - 1) * step;
		if (d == 3 && index) {
			a = INT64_MAX;
			b = INT64_MIN;
			for (i = 0; i < pattern->num[3]; i++) {
				if (index[i] >= limit)
					continue;
				a = index[i] * step < a ? index[i] * step : a;
				b = index[i] * step > b ? index[i] * step : b;
			}
			if (a > b) {
				a = 0;
				b = 0;
			}
		} else if (pattern->num[d] == 1) {
			continue;
		}
		low += a < b ? a : b;
		high += a < b ? b : a;
	}
	/* The base itself may lie beside the elements, not outside of the area. */
	low = low < 0 ? low : 0;
	high = high > 0 ? high : 0;
	assert(high - low <= (int64_t)area->len);
	return area->addr +
	       (uint64_t)(oracle_random(o, (uint32_t)(area->len - (high - low)) + 1) -
			  low);
}

static void random_index(struct oracle *o, struct oracle_op *x, uint32_t nr,
			 uint32_t wide)
{
	bool skip = oracle_random(o, 2);
	uint32_t i, j, swap;

	x->op.nr_index = nr;
	x->op.index_limit = wide;
	if (skip)
		x->op.flags |= NEURON_UDMA_OP_OOB_SKIP;
	/* A permutation: destinations must not lie on each other. */
	for (i = 0; i < wide; i++)
		x->index[i] = i;
	for (i = wide - 1; i > 0; i--) {
		j = oracle_random(o, i + 1);
		swap = x->index[i];
		x->index[i] = x->index[j];
		x->index[j] = swap;
	}
	for (i = 0; skip && i < nr; i++)
		if (oracle_random(o, 4) == 0)
			x->index[i] = oracle_random(o, 2) ? wide : UINT32_MAX - i;
}

static void random_shape(struct oracle *o, struct oracle_op *x, uint32_t limit)
{
	struct neuron_udma_op *op = &x->op;
	uint32_t factor[8];

	random_factors(o, limit, factor);
	deal(o, factor, op->src.num);
	if (oracle_random(o, 3))
		deal(o, factor, op->dst.num);
	else
		memcpy(op->dst.num, op->src.num, sizeof(op->dst.num));
	if (op->op == NEURON_UDMA_OP_TRANSPOSE) {
		memcpy(op->dst.num, op->src.num, sizeof(op->dst.num));
		op->dst.num[0] = op->src.num[1];
		op->dst.num[1] = op->src.num[0];
	}
	if (oracle_random(o, 3))
		return;
	op->flags |= oracle_random(o, 2) ? NEURON_UDMA_OP_SRC_INDEXED :
					   NEURON_UDMA_OP_DST_INDEXED;
	if (op->src.num[3] == op->dst.num[3] && oracle_random(o, 3) == 0)
		op->flags |= NEURON_UDMA_OP_SRC_INDEXED |
			     NEURON_UDMA_OP_DST_INDEXED;
}

static void random_kind(struct oracle *o, struct oracle_op *x,
			unsigned int nr_dst)
{
	struct neuron_udma_op *op = &x->op;
	unsigned int i;

	op->op = (uint8_t)oracle_random(o, NEURON_UDMA_NR_OPS);
	op->nr_src = 1;
	op->nr_dst = oracle_random(o, 2) ? 1 : (uint8_t)(1 + oracle_random(o, nr_dst));
	op->src_dtype = types[oracle_random(o, sizeof(types))];
	op->dst_dtype = oracle_random(o, 2) ? op->src_dtype :
					      types[oracle_random(o, sizeof(types))];
	if (op->op == NEURON_UDMA_OP_COPY)
		return;
	if (op->op == NEURON_UDMA_OP_TRANSPOSE) {
		op->src_dtype = types[2 + oracle_random(o, sizeof(types) - 2)];
		op->dst_dtype = op->src_dtype;
		return;
	}
	op->nr_src = oracle_random(o, 2) ? 2 : (uint8_t)(1 + oracle_random(o, 16));
	if (oracle_random(o, 3) == 0) {
		op->flags |= NEURON_UDMA_OP_ACCUMULATE;
		op->nr_dst = 1;
	}
	for (i = 0; op->op == NEURON_UDMA_OP_FMA && i < op->nr_src; i++)
		op->scale[i] = num_bits(num_random_mixed(&o->seed));
}

/* Half of the operations that can round at random do so. */
static void random_rounding(struct oracle *o, struct neuron_udma_op *op)
{
	bool narrow = op->dst_dtype == NEURON_DTYPE_BF16 || op->dst_dtype == NEURON_DTYPE_FP16;

	if (moves_bits(op) || !narrow || oracle_random(o, 2))
		return;
	op->flags |= NEURON_UDMA_OP_STOCHASTIC;
	op->round_first = oracle_random(o, 2) ? num_random(&o->seed) : 0;
	op->round_seed = oracle_random(o, 3) ? (uint64_t)num_random(&o->seed) << 20 : 0;
	op->round_move = oracle_random(o, 1000);
}

void oracle_random_op(struct oracle *o, struct oracle_op *x, uint32_t limit,
		      unsigned int src, unsigned int nr_src, unsigned int dst,
		      unsigned int nr_dst, unsigned int list)
{
	struct neuron_udma_op *op = &x->op;
	const uint32_t *src_index = NULL, *dst_index = NULL;
	uint32_t wide_src, wide_dst, nr;
	unsigned int i;

	memset(x, 0, sizeof(*x));
	random_kind(o, x, nr_dst);
	random_rounding(o, op);
	random_shape(o, x, limit);
	nr = op->flags & NEURON_UDMA_OP_SRC_INDEXED ? op->src.num[3] :
						      op->dst.num[3];
	if (nr > 200)
		op->flags &= ~(NEURON_UDMA_OP_SRC_INDEXED |
			       NEURON_UDMA_OP_DST_INDEXED);
	wide_src = op->src.num[3];
	wide_dst = op->dst.num[3];
	if (op->flags & (NEURON_UDMA_OP_SRC_INDEXED | NEURON_UDMA_OP_DST_INDEXED)) {
		uint32_t wide = nr + oracle_random(o, nr < 40 ? 4 : 1);

		random_index(o, x, nr, wide);
		op->index = o->area[list].addr;
		memcpy(oracle_at(o, op->index, nr * 4), x->index, nr * 4);
		if (op->flags & NEURON_UDMA_OP_SRC_INDEXED) {
			src_index = x->index;
			wide_src = wide;
		}
		if (op->flags & NEURON_UDMA_OP_DST_INDEXED) {
			dst_index = x->index;
			wide_dst = wide;
		}
	}
	spread(o, &op->src, size_of(op->src_dtype), wide_src, o->area[src].len);
	spread(o, &op->dst, size_of(op->dst_dtype), wide_dst, o->area[dst].len);
	/* Sources may lie on themselves. */
	if (oracle_random(o, 6) == 0)
		op->src.step[oracle_random(o, 3)] = 0;
	for (i = 0; i < op->nr_src; i++)
		x->src[i] = random_base(o, &op->src, size_of(op->src_dtype), src_index,
					op->index_limit,
					&o->area[src + oracle_random(o, nr_src)]);
	for (i = 0; i < op->nr_dst; i++)
		x->dst[i] = random_base(o, &op->dst, size_of(op->dst_dtype), dst_index,
					op->index_limit, &o->area[dst + i]);
}
