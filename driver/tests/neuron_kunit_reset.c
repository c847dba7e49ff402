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
	ndev->reset_wq = system_freezable_wq;
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
	ndev->reset_wq = system_freezable_wq;
	INIT_DELAYED_WORK(&ndev->reset_work, neuron_reset_work);

	neuron_want_reset(ndev, NEURON_RECOVERY_TIMEOUT_MS);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ndev->reset_work));
	KUNIT_EXPECT_TRUE(test, neuron_reset_unwant(ndev));
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ndev->reset_work));
	KUNIT_EXPECT_FALSE(test, neuron_reset_unwant(ndev));
	/* There is no PCI function that it could reset. */
	neuron_reset_work(&ndev->reset_work.work);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ndev->reset_work));
}

/* The PCI core resets what is on a bus, those that sleep included. */
static void neuron_kunit_reset_asleep(struct kunit *test)
{
	struct neuron_device *ndev;

	ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	mutex_init(&ndev->hw_lock);
	init_rwsem(&ndev->epoch_lock);
	init_waitqueue_head(&ndev->hw_wait);
	init_waitqueue_head(&ndev->grant_wait);
	INIT_DELAYED_WORK(&ndev->reset_work, neuron_reset_work);
	ndev->hw_state = NEURON_HW_DOWN;
	ndev->asleep = true;

	/* It has no registers: it cannot be stopped or started. */
	neuron_reset_begin(ndev);
	KUNIT_EXPECT_EQ(test, neuron_reset_finish(ndev, true), 0);
	KUNIT_EXPECT_EQ(test, ndev->hw_state, NEURON_HW_DOWN);
	KUNIT_EXPECT_EQ(test, neuron_reset_finish(ndev, false), -ENODEV);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ndev->counters.device_resets), 0);
	mutex_destroy(&ndev->hw_lock);
}

static struct kunit_case neuron_reset_cases[] = {
	KUNIT_CASE(neuron_kunit_reset_asleep),
	KUNIT_CASE(neuron_kunit_reset_too_late),
	KUNIT_CASE(neuron_kunit_reset_not_wanted),
	{}
};

static struct kunit_suite neuron_reset_suite = {
	.name = "neuron_reset",
	.test_cases = neuron_reset_cases,
};

kunit_test_suite(neuron_reset_suite);
