// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_reset.c, which includes this file: the work, and its end.
 */
#include <kunit/test.h>

/* Somebody looked at the state of the device before it was LEAVING, and asks now. */
static void neuron_kunit_reset_too_late(struct kunit *test)
{
	struct neuron_device *ndev;

	ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	ndev->hw_state = NEURON_HW_UP;
	INIT_DELAYED_WORK(&ndev->reset_work, neuron_reset_work);

	neuron_reset_retry(ndev, NEURON_RECOVERY_TIMEOUT_MS);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ndev->reset_work));
	neuron_reset_fini(ndev);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ndev->reset_work));

	neuron_reset_retry(ndev, NEURON_RECOVERY_TIMEOUT_MS);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ndev->reset_work));
	cancel_delayed_work_sync(&ndev->reset_work);
}

/* A device that another reset has made healthy is left alone, even by work that runs already. */
static void neuron_kunit_reset_not_wanted(struct kunit *test)
{
	struct neuron_device *ndev;

	ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	ndev->hw_state = NEURON_HW_UP;
	INIT_DELAYED_WORK(&ndev->reset_work, neuron_reset_work);

	neuron_reset_want(ndev, NEURON_RECOVERY_TIMEOUT_MS);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ndev->reset_work));
	neuron_reset_unwant(ndev);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ndev->reset_work));
	/* There is no PCI function that it could reset. */
	neuron_reset_work(&ndev->reset_work.work);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ndev->reset_work));
}

static struct kunit_case neuron_reset_cases[] = {
	KUNIT_CASE(neuron_kunit_reset_too_late),
	KUNIT_CASE(neuron_kunit_reset_not_wanted),
	{}
};

static struct kunit_suite neuron_reset_suite = {
	.name = "neuron_reset",
	.test_cases = neuron_reset_cases,
};

kunit_test_suite(neuron_reset_suite);
