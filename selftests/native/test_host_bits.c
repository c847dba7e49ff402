// SPDX-License-Identifier: MIT
/*
 * Every instruction gives the same bits and the same device time on every host: digests of what
 * each leaves in the memories, as they were on one host, stand here for all. A host that computes
 * otherwise (another processor, another compiler, another path of SIMD) fails by the name of the
 * instruction.
 *
 * A change of what an instruction does changes its digest; the test prints the new table.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/trn_exec.h"
#include "num/trn_num.h"
#include "num_util.h"
#include "resume_shapes.h"
#include "rounds.h"

#define GENERATIONS	3
#define PSUM_BYTES	16384	/* of each partition */

struct expected {
	const char *name;
	uint64_t digest[GENERATIONS];
};

/* 0: the generation has no such instruction. */
static const struct expected table[] = {
	{ "load_stationary", { 0xf882810828b034c7, 0xb3a31641cb2e3e14, 0x1c5cad091e18cd89 } },
	{ "matmul", { 0x4abc2ca05701684a, 0xebea3a53295cad8c, 0x90863bf7caa31697 } },
	{ "load_sparse", { 0, 0xb3a31641cb2e3e14, 0xb3a31641cb2e3e14 } },
	{ "matmul_sparse", { 0, 0xeedd670733c045d4, 0xeedd670733c045d4 } },
	{ "load_mx", { 0, 0, 0x1c5cad091e18cd89 } },
	{ "matmul_mx", { 0, 0, 0xce4fec387586aad7 } },
	{ "tensor_tensor", { 0x70aa8b9222fdf2f5, 0x14fcddff0c098538, 0x17c511539a3903c2 } },
	{ "tensor_scalar", { 0x2be919687a7206bc, 0xdd93d7b6b6e7d03b, 0x88be21ff168ff054 } },
	{ "tensor_reduce", { 0xf8360853a9dda54c, 0x913f7e8af4d40690, 0x4844403c06510ac8 } },
	{ "copy", { 0x9e70cbe7bca8dffd, 0x3ec89ea3b3064cc8, 0x6e6f7d687dc1f5e2 } },
	{ "memset", { 0x32a53655fa0ff6e4, 0xd8144bfddb5b4d89, 0x8309a2daf002a2ed } },
	{ "acc_read", { 0x3005f2eb0d6964f4, 0xb9d1f05f15c13d61, 0x031321d6964852cf } },
	{ "acc_load", { 0x54569656c45f7ae3, 0xd9718bbdd6259aa7, 0x32a561f0d1da5f6d } },
	{ "scalar_tensor_tensor", { 0xe681fc766e15dabe, 0xe1821e22809e50fd, 0xdedab11941c706d3 } },
	{ "tensor_scan", { 0xa9360039ada0d0b1, 0xf021449f84dda36c, 0x25b0a206324133ea } },
	{ "tensor_cumulative", { 0x44da0111e5524088, 0x8660fe45fb456ddc, 0x2f28de3a9cf1ca33 } },
	{ "copy_predicated", { 0x39bbc95da7efac94, 0xc9e013782135aeb0, 0x8a068beb678f3457 } },
	{ "reciprocal", { 0xd076d98fb30491e2, 0xda65e55c2d7ba930, 0x864ac7c73b307ba6 } },
	{ "bn_stats", { 0xaf098b62b5bb8f47, 0xc74bc66fec664a06, 0xaadcda861b025c6d } },
	{ "bn_aggr", { 0x6e0dd7504845f5c9, 0x2daa47184d39b084, 0x1c1f38e1c65be0a7 } },
	{ "range_select", { 0, 0xde0287de3ecb829c, 0x4cd595a6d907bd8b } },
	{ "select_reduce", { 0x05d7adc4d48005f4, 0x7ce27c73ea0b6a7e, 0xfef90b9fff19008f } },
	{ "activate", { 0x622aed7506867cde, 0xa74244daef0179f1, 0x1374779cb18fb2af } },
	{ "activate2", { 0, 0, 0x248dc25c5d9e85ff } },
	{ "max8", { 0x08cf7fddc97a6bc1, 0x4ca3be372b0f65ae, 0x7d15d3237a92006b } },
	{ "find_index8", { 0xde4b4cbbf9f84e30, 0x8b16af45f577c2cc, 0xab0b6458be35e18c } },
	{ "match_replace8", { 0x650ad9c9cd7c4ef4, 0x8fd747e7f35d3b50, 0xd0e3330216ce9790 } },
	{ "stream_shuffle", { 0x421604b2093a8a59, 0x302c9690c7814e17, 0xcb4c2c6e2563bbda } },
	{ "transpose", { 0x5e4616a293dc6713, 0xa2e359dce38dd4e7, 0xe1ce8d490b1c6c28 } },
	{ "set_rng_seed", { 0x53ca553925692f74, 0x12320b8941a16622, 0x65f766af7b73d4f7 } },
	{ "rng", { 0x188173c46399cdf6, 0x545a726521d26516, 0x63402d6c4e0e14c1 } },
	{ "dropout", { 0xdeb61aadaf59379f, 0x5cc1fa45c5420154, 0x653793e153930873 } },
	{ "rand_set_state", { 0, 0x53ca553925692f74, 0x53ca553925692f74 } },
	{ "rand_get_state", { 0, 0x60ea9573c6a42201, 0x60ea9573c6a42201 } },
	{ "rand2", { 0, 0, 0x96d9e0537962bb33 } },
	{ "exponential", { 0, 0, 0xf7eec64c1e187bad } },
	{ "quantize_mx", { 0, 0, 0x660da71543a6ee1c } },
	{ "iota", { 0x72a12bf5a1547321, 0x17cc11709957faca, 0x17cc11709957faca } },
	{ "affine_select", { 0x845ce63a2f1cf411, 0x0799f0de37dd68b3, 0x0799f0de37dd68b3 } },
	{ "partition_reduce", { 0xb946b66527da20d8, 0xc056ec2a313ed4dc, 0xc056ec2a313ed4dc } },
	{ "local_gather", { 0x02640b42c93e8aec, 0xb287374b7810d360, 0xb287374b7810d360 } },
	{ "gather", { 0x37dd4dd62aa951d6, 0x2bfdea68fac4bcf8, 0x2bfdea68fac4bcf8 } },
	{ "nonzero_with_count", { 0, 0x9e5b6a0f3312ff58, 0x9e5b6a0f3312ff58 } },
	{ "topk", { 0x78fe4b8b9c97383c, 0x6fe29a604fa18c25, 0x6fe29a604fa18c25 } },
	{ "sequence_bounds", { 0xb3ecb4cf32e32387, 0x7460eeec5c9b6da1, 0x7460eeec5c9b6da1 } },
};

static const struct neuron_gen *const gens[GENERATIONS] = {
	&neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3,
};

static uint64_t mix(uint64_t digest, uint64_t word)
{
	digest = (digest ^ word) * 0x9e3779b97f4a7c15ull;
	return digest ^ digest >> 29;
}

static uint64_t mix_bytes(uint64_t digest, const void *data, size_t len)
{
	const uint8_t *from = data;
	uint64_t word;

	for (; len >= sizeof(word); from += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		digest = mix(digest, word);
	}
	return digest;
}

static uint64_t mix_core(uint64_t digest, struct trn_core *core)
{
	unsigned int p;

	for (p = 0; p < RESUME_PARTITIONS; p++) {
		digest = mix_bytes(digest, seq_sbuf(core, p, 0), RESUME_BYTES);
		digest = mix_bytes(digest, seq_psum(core, p, 0), PSUM_BYTES);
	}
	digest = mix_bytes(digest, core->lanes->vector_acc, sizeof(core->lanes->vector_acc));
	return mix_bytes(digest, core->lanes->scalar_acc, sizeof(core->lanes->scalar_acc));
}

static uint64_t run(struct seq_rig *rig, const struct resume_shape *shape, uint64_t digest)
{
	struct neuron_hw_completion record;
	struct trn_chip *chip = rig->chip[0];
	struct seq_job job;

	resume_fill(rig);
	seq_job_init(&job, rig, 0, 0);
	if (shape->load.opcode)
		seq_add(&job, shape->engine, shape->load);
	seq_add(&job, shape->engine, shape->inst);
	seq_add(&job, shape->engine, OP(HALT, 0));
	seq_submit(&job);
	while (trn_pool_step(rig->pool, INT_MAX))
		;
	record = seq_wait(&job);
	digest = mix(digest, record.cause);
	digest = mix(digest, trn_chip_mmio_read(chip, neuron_ctl_bar0(chip->gen) +
						NEURON_CTL_TIME, 8));
	return mix_core(digest, seq_core(rig, 0, 0));
}

/* Of all shapes of an instruction, each on a fresh chip; 0: it has none. */
static uint64_t digest_of(const struct neuron_gen *gen, const struct trn_isa *isa)
{
	struct seq_rig *rig = calloc(1, sizeof(*rig));
	struct resume_shape shape;
	uint64_t digest = 0;
	unsigned int how;

	assert_non_null(rig);
	seq_rig_init(rig, gen, TRN_POOL_STEPPED, 1, true);
	rig->chip[0]->config.more_operators = true;
	for (how = 0; how < RESUME_HOWS; how++)
		if (resume_shape(gen, isa, how, false, &shape))
			digest = run(rig, &shape, mix(digest, how + 1));
	trn_chip_stop(rig->chip[0]);
	while (trn_pool_step(rig->pool, 64))
		;
	fake_chip_stop(rig->chip[0]);
	seq_rig_destroy(rig);
	free(rig);
	return digest;
}

static const struct expected *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

/* The rows that differ, as they would stand in the table. */
/* Compare all instructions on one path of the host. */
static void compare_path(const char *path)
{
	unsigned int i, g, wrong = 0, rows = 0;
	const struct expected *expected;
	uint64_t digest[GENERATIONS];
	const struct trn_isa *isa;

	for (i = 0; (isa = trn_isa_row(i)); i++) {
		uint64_t any = 0;

		for (g = 0; g < GENERATIONS; g++)
			any |= digest[g] = digest_of(gens[g], isa);
		if (!any)
			continue;
		rows++;
		expected = find(isa->name);
		if (expected && !memcmp(expected->digest, digest, sizeof(digest)))
			continue;
		wrong++;
		print_message("\t{ \"%s\", { 0x%016llx, 0x%016llx, 0x%016llx } },\n", isa->name,
			      (unsigned long long)digest[0], (unsigned long long)digest[1],
			      (unsigned long long)digest[2]);
	}
	if (wrong)
		fail_msg("%s: %u instructions differ", path, wrong);
	assert_int_equal(rows, sizeof(table) / sizeof(table[0]));
}

/* The path that the chip takes by itself; each of them when there is time. */
static void the_bits_are_those_of_every_host(void **state)
{
	(void)state;
	num_on_paths(rounds_thorough(), compare_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bits_are_those_of_every_host),
	};

	return cmocka_run_group_tests_name("host_bits", tests, NULL, NULL);
}
