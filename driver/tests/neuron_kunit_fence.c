// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_fence.c, which includes this file: what a gate waits for.
 */
#include <linux/list.h>
#include <kunit/test.h>

#define NEURON_KUNIT_FENCES	64

/* Many adds of a fence, of which the first and the others may be heeded. */
static const struct neuron_heed_case {
	const char *name;
	bool first;
	bool others;
	int error;
} neuron_heed_cases[] = {
	{ "no", false, false, 0 },
	{ "first", true, false, -ECANCELED },
	{ "others", false, true, -ECANCELED },
	{ "all", true, true, -ECANCELED },
};

KUNIT_ARRAY_PARAM_DESC(neuron_heed, neuron_heed_cases, name);

static const struct dma_fence_ops neuron_kunit_fence_ops = {
	.get_driver_name = neuron_gate_driver_name,
	.get_timeline_name = neuron_gate_timeline_name,
};

/* A fence of somebody else, with a reference. */
static struct dma_fence *neuron_kunit_fence(struct kunit *test)
{
	struct neuron_fence *nfence = kzalloc(sizeof(*nfence), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, nfence);
	spin_lock_init(&nfence->lock);
	dma_fence_init(&nfence->base, &neuron_kunit_fence_ops, &nfence->lock,
		       dma_fence_context_alloc(1), 1);
	return &nfence->base;
}

static struct neuron_gate *neuron_kunit_gate(struct kunit *test)
{
	struct neuron_gate *gate = neuron_gate_create(NEURON_KUNIT_FENCES);

	KUNIT_ASSERT_FALSE(test, IS_ERR(gate));
	return gate;
}

/* A gate waits for a fence once, and heeds its error if one add says so. */
static void neuron_kunit_gate_same(struct kunit *test)
{
	const struct neuron_heed_case *heed = test->param_value;
	struct neuron_gate *gate = neuron_kunit_gate(test);
	struct dma_fence *fence = neuron_kunit_fence(test);
	struct dma_fence *armed;
	unsigned int i;

	for (i = 0; i < NEURON_KUNIT_FENCES; i++)
		neuron_gate_add(gate, dma_fence_get(fence), i ? heed->others : heed->first);
	neuron_gate_arm(gate);
	armed = dma_fence_get(&gate->base);
	KUNIT_EXPECT_EQ(test, 1, list_count_nodes(&fence->cb_list));
	KUNIT_EXPECT_EQ(test, 2, kref_read(&fence->refcount));
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(armed));

	dma_fence_set_error(fence, -EIO);
	dma_fence_signal(fence);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(armed));
	KUNIT_EXPECT_EQ(test, heed->error, neuron_gate_error(gate));
	dma_fence_put(armed);
	neuron_gate_put(gate);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	dma_fence_put(fence);
}

/* The same of a fence that has signalled before. */
static void neuron_kunit_gate_over(struct kunit *test)
{
	const struct neuron_heed_case *heed = test->param_value;
	struct neuron_gate *gate = neuron_kunit_gate(test);
	struct dma_fence *fence = neuron_kunit_fence(test);
	struct dma_fence *armed;
	unsigned int i;

	dma_fence_set_error(fence, -EIO);
	dma_fence_signal(fence);
	for (i = 0; i < NEURON_KUNIT_FENCES; i++)
		neuron_gate_add(gate, dma_fence_get(fence), i ? heed->others : heed->first);
	neuron_gate_arm(gate);
	armed = dma_fence_get(&gate->base);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(armed));
	KUNIT_EXPECT_EQ(test, heed->error, neuron_gate_error(gate));
	dma_fence_put(armed);
	neuron_gate_put(gate);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	dma_fence_put(fence);
}

/* It waits for each of different ones. */
static void neuron_kunit_gate_others(struct kunit *test)
{
	struct dma_fence *fence[NEURON_KUNIT_FENCES];
	struct neuron_gate *gate = neuron_kunit_gate(test);
	struct dma_fence *armed;
	unsigned int i;

	for (i = 0; i < NEURON_KUNIT_FENCES; i++) {
		fence[i] = neuron_kunit_fence(test);
		neuron_gate_add(gate, dma_fence_get(fence[i]), true);
	}
	neuron_gate_arm(gate);
	armed = dma_fence_get(&gate->base);
	for (i = 0; i < NEURON_KUNIT_FENCES; i++) {
		KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(armed));
		dma_fence_signal(fence[i]);
	}
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(armed));
	KUNIT_EXPECT_EQ(test, 0, neuron_gate_error(gate));
	dma_fence_put(armed);
	neuron_gate_put(gate);
	for (i = 0; i < NEURON_KUNIT_FENCES; i++)
		dma_fence_put(fence[i]);
}

/* A gate that nothing waits for leaves no callback behind, armed or not. */
static void neuron_kunit_gate_unused(struct kunit *test)
{
	struct dma_fence *fence = neuron_kunit_fence(test);
	struct neuron_gate *gate = neuron_kunit_gate(test);

	neuron_gate_add(gate, dma_fence_get(fence), true);
	neuron_gate_put(gate);
	gate = neuron_kunit_gate(test);
	neuron_gate_add(gate, dma_fence_get(fence), true);
	neuron_gate_arm(gate);
	neuron_gate_put(gate);
	KUNIT_EXPECT_EQ(test, 0, list_count_nodes(&fence->cb_list));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	dma_fence_signal(fence);
	dma_fence_put(fence);
}

/* Of many jobs that wait for a fence, one looks at it at a time: the next one of the queue. */
static void neuron_kunit_gate_turn(struct kunit *test)
{
	struct dma_fence *fence = neuron_kunit_fence(test), *turn;
	struct neuron_gate *gate[NEURON_KUNIT_FENCES];
	unsigned int i;

	for (i = 0; i < NEURON_KUNIT_FENCES; i++) {
		gate[i] = neuron_kunit_gate(test);
		neuron_gate_add(gate[i], dma_fence_get(fence), true);
	}
	KUNIT_EXPECT_EQ(test, 0, list_count_nodes(&fence->cb_list));
	turn = neuron_gate_turn(gate[0]);
	KUNIT_EXPECT_PTR_EQ(test, &gate[0]->base, turn);
	dma_fence_put(turn);
	/* Another job of its gang. */
	dma_fence_put(neuron_gate_turn(gate[0]));
	KUNIT_EXPECT_EQ(test, 1, list_count_nodes(&fence->cb_list));

	/* One that is given up waits no longer, before its turn or after. */
	neuron_gate_open(gate[1]);
	KUNIT_EXPECT_NULL(test, neuron_gate_turn(gate[1]));
	KUNIT_EXPECT_EQ(test, 1, list_count_nodes(&fence->cb_list));
	dma_fence_set_error(fence, -EIO);
	dma_fence_signal(fence);
	for (i = 0; i < NEURON_KUNIT_FENCES; i++) {
		KUNIT_EXPECT_NULL(test, neuron_gate_turn(gate[i]));
		KUNIT_EXPECT_EQ(test, i == 1 ? 0 : -ECANCELED, neuron_gate_error(gate[i]));
		neuron_gate_put(gate[i]);
	}
	KUNIT_EXPECT_NULL(test, neuron_gate_turn(NULL));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	dma_fence_put(fence);
}

static struct kunit_case neuron_fence_cases[] = {
	KUNIT_CASE_PARAM(neuron_kunit_gate_same, neuron_heed_gen_params),
	KUNIT_CASE_PARAM(neuron_kunit_gate_over, neuron_heed_gen_params),
	KUNIT_CASE(neuron_kunit_gate_others),
	KUNIT_CASE(neuron_kunit_gate_unused),
	KUNIT_CASE(neuron_kunit_gate_turn),
	{}
};

static struct kunit_suite neuron_fence_suite = {
	.name = "neuron_fence",
	.test_cases = neuron_fence_cases,
};

kunit_test_suite(neuron_fence_suite);
