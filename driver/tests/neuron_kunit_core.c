// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_core.c, which includes this file: what the start of a core leaves of before.
 */
#include <kunit/test.h>

/* A device whose control block is memory that nothing happens in: its cores are idle. */
static struct neuron_core *neuron_kunit_core(struct kunit *test)
{
	struct neuron_device *ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);
	void *regs = kunit_kzalloc(test, NEURON_CTL_SIZE, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	KUNIT_ASSERT_NOT_NULL(test, regs);
	ndev->gen = &neuron_gen_trn2;
	ndev->bar0 = (void __iomem *)((unsigned long)regs - neuron_ctl_bar0(ndev->gen));
	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		struct neuron_core *core = neuron_unit(ndev, i);

		core->ndev = ndev;
		core->index = core - ndev->core;
		core->regs = core->index < NEURON_MAX_CORES ?
			     NEURON_CTL_CORE(core->index) :
			     NEURON_CTL_CC(core->index - NEURON_MAX_CORES);
		mutex_init(&core->reset_lock);
		spin_lock_init(&core->lock);
	}
	return ndev->core;
}

/* A job of before is over, and the device does not say so any more. */
static void neuron_kunit_core_forgets(struct kunit *test)
{
	struct neuron_core *core = neuron_kunit_core(test);

	core->stale = true;
	core->wedged = true;
	KUNIT_EXPECT_EQ(test, neuron_core_start(core), 0);
	KUNIT_EXPECT_FALSE(test, core->stale);
	KUNIT_EXPECT_FALSE(test, core->wedged);
	KUNIT_EXPECT_EQ(test, neuron_core_read(core, NEURON_CORE_CAUSE),
			NEURON_CORE_CAUSE_DONE | NEURON_CORE_CAUSE_REFUSED);
}

/* No generation is that of a core which was reset, and a device is reset when all its cores are. */
static void neuron_kunit_core_generation(struct kunit *test)
{
	struct neuron_core *core = neuron_kunit_core(test);
	struct neuron_device *ndev = core->ndev;

	KUNIT_EXPECT_TRUE(test, neuron_cores_have_no_generation(ndev));
	core->generation = U32_MAX;
	KUNIT_EXPECT_EQ(test, neuron_cores_start(ndev), 0);
	KUNIT_EXPECT_EQ(test, core->generation, 1);
	KUNIT_EXPECT_EQ(test, neuron_core_read(core, NEURON_CORE_GENERATION), 1);
	KUNIT_EXPECT_FALSE(test, neuron_cores_have_no_generation(ndev));
	neuron_core_write(core, NEURON_CORE_GENERATION, 0);
	KUNIT_EXPECT_FALSE(test, neuron_cores_have_no_generation(ndev));
}

static struct kunit_case neuron_core_cases[] = {
	KUNIT_CASE(neuron_kunit_core_forgets),
	KUNIT_CASE(neuron_kunit_core_generation),
	{}
};

static struct kunit_suite neuron_core_suite = {
	.name = "neuron_core",
	.test_cases = neuron_core_cases,
};

kunit_test_suite(neuron_core_suite);
