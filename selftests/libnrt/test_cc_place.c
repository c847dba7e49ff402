// SPDX-License-Identifier: MIT
/*
 * What a plan is told of the cores: which of them are on one chip, and what joins the chips. No
 * chip is needed.
 */
#include "kselftest_harness.h"

#include "hw/vcore.h"
#include "neuron/isa.h"
#include "neuron/regs.h"

#define RANKS	4

/* Where a chip is. */
struct position {
	uint32_t rack;
	uint32_t server;
	uint32_t chip;
};

/* Of virtual core @core of the chip at @at, each of two physical ones. */
static struct nrt_plan_place place_at(struct position at, unsigned int core)
{
	struct nrt_device device = {
		.info = { .rack = at.rack, .server = at.server, .chip = at.chip },
	};
	struct nrt_core first = { .index = 2 * core };
	struct nrt_vcore vcore = { .device = &device, .nr = 2, .core = { &first } };

	return nrt_vcore_place(&vcore);
}

/* Has an all-reduce of four ranks a plan by KangaRing, of two ranks on each chip? */
static bool can_be_pairs(const struct nrt_plan_place places[RANKS])
{
	const struct nrt_plan_ask ask = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32,
		.count = 1 << 20, .nr_ranks = RANKS, .places = places, .algorithm = "kangaring",
	};
	struct nrt_error error;
	struct nrt_plan *plan;

	if (nrt_plan_make(&ask, &plan, &error))
		return false;
	nrt_plan_free(plan);
	return true;
}

TEST(racks_have_servers_of_their_own)
{
	const struct position chips[] = {
		{ 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 255, 3 }, { 1, 1, 3 }, { 255, 255, 3 },
	};
	const unsigned int nr = sizeof(chips) / sizeof(chips[0]);
	struct nrt_plan_place a, b;
	unsigned int i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < nr; k++) {
			a = place_at(chips[i], 0);
			b = place_at(chips[k], 1);
			EXPECT_EQ(i == k, a.server == b.server && a.chip == b.chip)
				TH_LOG("chips %u and %u", i, k);
		}
	}
	EXPECT_EQ(3, place_at(chips[0], 3).core);
}

/* Equal numbers in two racks are two chips, and no memory of one is near the other. */
TEST(pairs_are_on_one_chip)
{
	const struct position here = { 0, 2, 5 }, there = { 1, 2, 5 };
	const struct nrt_plan_place apart[RANKS] = {
		place_at(here, 0), place_at(there, 0), place_at(here, 1), place_at(there, 1),
	};
	const struct nrt_plan_place together[RANKS] = {
		place_at(here, 0), place_at(here, 1), place_at(there, 0), place_at(there, 1),
	};

	EXPECT_FALSE(can_be_pairs(apart));
	EXPECT_TRUE(can_be_pairs(together));
}

/* Of a chip with so many links, to @peer each. */
static enum nrt_plan_topology topology_of(unsigned int nr, uint32_t peer)
{
	struct drm_neuron_link_info links[NEURON_CTL_MAX_LINKS] = { 0 };
	unsigned int i;

	for (i = 0; i < nr; i++)
		links[i].peer = peer;
	return nrt_topology_of(links, nr);
}

TEST(links_tell_the_topology)
{
	EXPECT_EQ(NRT_PLAN_ANY, topology_of(0, 0));
	EXPECT_EQ(NRT_PLAN_LINE, topology_of(1, 7));
	EXPECT_EQ(NRT_PLAN_LINE, topology_of(2, 7));
	EXPECT_EQ(NRT_PLAN_TORUS2D, topology_of(4, 7));
	EXPECT_EQ(NRT_PLAN_TORUS3D, topology_of(6, 7));
	EXPECT_EQ(NRT_PLAN_SWITCH, topology_of(4, NEURON_LINK_PEER_SWITCH | 3));
	EXPECT_EQ(NRT_PLAN_SWITCH, topology_of(11, NEURON_LINK_PEER_SWITCH | 3));
	/* Places where nobody is, which are no switch. */
	EXPECT_EQ(NRT_PLAN_TORUS2D, topology_of(4, NEURON_LINK_PEER_NONE));
}

/* Those of the streams, and one. */
TEST(cc_cores_that_can_be_used)
{
	struct drm_neuron_device_info info = { .nr_cores = 2, .nr_cc_cores = 6 };

	EXPECT_EQ(3, nrt_cc_per_core(&info, 1));
	EXPECT_EQ(NRT_MAX_CC / 2, nrt_cc_per_core(&info, 2));
	info.nr_cc_cores = 40;
	EXPECT_EQ(NRT_MAX_CC, nrt_cc_per_core(&info, 1));
	info.nr_cc_cores = 0;
	EXPECT_EQ(0, nrt_cc_per_core(&info, 1));
}

static unsigned int streams_of(unsigned int nr_cc)
{
	struct nrt_core cc[NRT_MAX_CC];
	struct nrt_vcore vcore = { .nr = 1, .cc = cc, .nr_cc = nr_cc };
	unsigned int nr = 0;

	while (nrt_vcore_stream_cc(&vcore, nr))
		nr++;
	return nr == nrt_vcore_streams(&vcore) ? nr : NRT_MAX_CC;
}

TEST(streams_leave_one_to_the_host)
{
	struct nrt_core cc[NRT_MAX_CC];
	struct nrt_vcore vcore = { .nr = 1, .cc = cc, .nr_cc = NRT_MAX_CC };
	unsigned int i;

	EXPECT_EQ(0, streams_of(0));
	EXPECT_EQ(1, streams_of(1));
	EXPECT_EQ(1, streams_of(2));
	EXPECT_EQ(3, streams_of(4));
	EXPECT_EQ(NRT_MAX_STREAMS, streams_of(NRT_MAX_CC));
	for (i = 0; i < NRT_MAX_STREAMS; i++)
		EXPECT_TRUE(nrt_vcore_stream_cc(&vcore, i) != cc);
}

TEST_HARNESS_MAIN
