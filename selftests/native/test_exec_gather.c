// SPDX-License-Identifier: MIT
/* GpSimd: elements fetched by indices. */
#include "exec_rig.h"

#include <string.h>

#define U32	NEURON_DTYPE_UINT32
#define DATA	0x0
#define INDEX	0x10000
#define OUT	0x20000

static uint8_t *bytes(void **state, unsigned int p, size_t offset)
{
	return (uint8_t *)sbuf_f(state, p, offset);
}

static void fill(void **state, unsigned int p, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		bytes(state, p, DATA)[i] = (uint8_t)rnd(256);
}

/* --- gather --- */

static struct neuron_inst gather(unsigned int dtype, unsigned int n, unsigned int from)
{
	return OP(GATHER, .dst = ap_sbuf(0, 64, OUT, dtype, n),
		  .src0 = ap_sbuf(0, 64, DATA, dtype, from),
		  .src1 = ap_sbuf(0, 64, INDEX, U32, n));
}

static uint32_t *index32(void **state, unsigned int p)
{
	return (uint32_t *)sbuf_f(state, p, INDEX);
}

static void check_gather(void **state, unsigned int dtype, unsigned int size,
			 unsigned int n, unsigned int from)
{
	unsigned int p, i;

	for (p = 0; p < 64; p++) {
		fill(state, p, (size_t)from * size);
		for (i = 0; i < n; i++)
			index32(state, p)[i] = i < 2 ? i * (from - 1) : rnd(from);
	}
	good(state, GPSIMD, gather(dtype, n, from));
	for (p = 0; p < 64; p++)
		for (i = 0; i < n; i++)
			assert_memory_equal(bytes(state, p, OUT) + i * size,
					    bytes(state, p, DATA) +
					    (size_t)index32(state, p)[i] * size, size);
}

static void gathers_within_a_partition(void **state)
{
	check_gather(state, F32, 4, 300, 700);
	check_gather(state, F32, 4, 5000, 7000);
	check_gather(state, U16, 2, 3000, 20000);
	check_gather(state, U8, 1, 16384, 3);
	check_gather(state, I8, 1, 1, 1);
	check_gather(state, BF16, 2, 2, 2);
}

/* The tiles are flattened; places without order, and the source its own destination. */
static void gathers_from_any_shape(void **state)
{
	struct neuron_inst inst = gather(F32, 24, 24);
	float before[64][24];
	unsigned int p, i;

	inst.src0 = ap_dim(ap_dim(ap_sbuf(0, 64, DATA, F32, 6), 1, 4, 12), 0, 6, 2);
	inst.dst = inst.src0;
	for (p = 0; p < 64; p++) {
		fill(state, p, 4096);
		for (i = 0; i < 24; i++) {
			before[p][i] = sbuf_f(state, p, DATA)[i / 6 * 12 + i % 6 * 2];
			index32(state, p)[i] = rnd(24);
		}
	}
	good(state, GPSIMD, inst);
	for (p = 0; p < 64; p++)
		for (i = 0; i < 24; i++)
			assert_memory_equal(sbuf_f(state, p, DATA) + i / 6 * 12 + i % 6 * 2,
					    &before[p][index32(state, p)[i]], 4);
}

static void gather_refuses(void **state)
{
	const struct neuron_inst plain = gather(F32, 16, 32);
	struct neuron_inst inst;
	unsigned int p, i;

	for (p = 0; p < 64; p++)
		for (i = 0; i < 16; i++)
			index32(state, p)[i] = 31;
	good(state, GPSIMD, plain);
	/* The last index of all; nothing is written. */
	memset(sbuf_f(state, 0, OUT), 0x5a, 64);
	index32(state, 63)[15] = 32;
	bad(state, GPSIMD, plain, NEURON_CAUSE_ACCESS);
	assert_int_equal(*bytes(state, 0, OUT), 0x5a);
	index32(state, 63)[15] = 0xffffffff;
	bad(state, GPSIMD, plain, NEURON_CAUSE_ACCESS);
	index32(state, 63)[15] = 0;
	inst = plain;
	inst.src1.dtype = I32;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst.dtype = I32;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst.num[0] = 15;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src1.partitions = 63;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src0.partitions = 63;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src1 = ap_psum(0, 64, 0, U32, 16);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.imm0 = 1;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, plain, NEURON_CAUSE_OPCODE);
}

/* --- local_gather --- */

#define FROM	600

static struct neuron_inst local_gather(unsigned int p, unsigned int columns,
				       unsigned int elements, unsigned int count)
{
	unsigned int n = (count ? count : columns * 16) * elements;

	return OP(LOCAL_GATHER, .dst = ap_sbuf(0, p, OUT, U16, n),
		  .src0 = ap_sbuf(0, p, DATA, U16, FROM),
		  .src1 = ap_sbuf(0, p, INDEX, U16, columns),
		  .imm0 = elements, .imm1 = count);
}

static uint16_t *u16(void **state, unsigned int p, size_t offset)
{
	return (uint16_t *)sbuf_f(state, p, offset);
}

static void fill_indices(void **state, unsigned int elements, unsigned int columns)
{
	unsigned int p, i;

	for (p = 0; p < 128; p++) {
		fill(state, p, FROM * 2);
		for (i = 0; i < columns; i++)
			u16(state, p, INDEX)[i] = (uint16_t)rnd(FROM - elements + 1);
	}
}

static void check_local(void **state, unsigned int partitions, unsigned int columns,
			unsigned int elements, unsigned int count)
{
	unsigned int p, k, e, n = count ? count : columns * 16;

	fill_indices(state, elements, columns);
	u16(state, 0, INDEX)[0] = (uint16_t)(FROM - elements);
	good(state, GPSIMD, local_gather(partitions, columns, elements, count));
	for (p = 0; p < partitions; p++)
		for (k = 0; k < n; k++)
			for (e = 0; e < elements; e++) {
				unsigned int lane = p / 16 * 16 + k % 16;
				unsigned int from = u16(state, lane, INDEX)[k / 16];

				assert_int_equal(u16(state, p, OUT)[k * elements + e],
						 u16(state, p, DATA)[from + e]);
			}
}

static void gathers_by_core(void **state)
{
	unsigned int e;

	for (e = 1; e <= 32; e *= 2)
		check_local(state, 128, 4, e, 0);
	check_local(state, 16, 4, 1, 1);
	check_local(state, 32, 4, 4, 64);
	check_local(state, 48, 4, 2, 33);
	check_local(state, 64, 256, 1, 4096);
	check_local(state, 32, 300, 8, 4095);
}

/* An index that does not count is not looked at. */
static void ignores_the_rest(void **state)
{
	unsigned int p;

	fill_indices(state, 1, 2);
	for (p = 1; p < 16; p++)
		u16(state, p, INDEX)[1] = 0xffff;
	good(state, GPSIMD, local_gather(16, 2, 1, 17));
	bad(state, GPSIMD, local_gather(16, 2, 1, 18), NEURON_CAUSE_ACCESS);
}

static void local_gather_refuses(void **state)
{
	const struct neuron_inst plain = local_gather(32, 4, 4, 0);
	struct neuron_inst inst;
	unsigned int e;

	fill_indices(state, 4, 300);
	memset(sbuf_f(state, 0, OUT), 0x5a, 64);
	u16(state, 31, INDEX)[3] = FROM - 3;
	bad(state, GPSIMD, plain, NEURON_CAUSE_ACCESS);
	assert_int_equal(*bytes(state, 0, OUT), 0x5a);
	u16(state, 31, INDEX)[3] = FROM - 4;
	good(state, GPSIMD, plain);
	for (e = 0; e < 70; e++) {
		if (e && e <= 32 && !(e & (e - 1)))
			continue;
		inst = plain;
		inst.imm0 = e;
		inst.dst.num[0] = (uint16_t)(e ? 64 * e : 64);
		bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	}
	inst = local_gather(32, 4, 4, 65);	/* more than there are */
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = local_gather(32, 300, 1, 4097);	/* more than a core takes */
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = local_gather(32, 300, 1, 0);
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	bad(state, GPSIMD, local_gather(24, 4, 4, 0), NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst.num[0]--;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src1.dtype = NEURON_DTYPE_INT16;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.dst.dtype = BF16;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src1.partitions = 16;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
	inst = plain;
	inst.src0.addr |= NEURON_AP_PSUM;
	bad(state, GPSIMD, inst, NEURON_CAUSE_OPERAND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gathers_within_a_partition),
		cmocka_unit_test(gathers_from_any_shape),
		cmocka_unit_test(gather_refuses),
		cmocka_unit_test(gathers_by_core),
		cmocka_unit_test(ignores_the_rest),
		cmocka_unit_test(local_gather_refuses),
	};

	return cmocka_run_group_tests(tests, exec_setup, exec_teardown);
}
