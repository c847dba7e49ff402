// SPDX-License-Identifier: MIT
/*
 * Window tables of cores: what a submission brings along, and what is written before it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hw/core.h"

#define CORES	3
#define WINDOWS	26000

static uint64_t table[CORES][WINDOWS + 1];
static unsigned int nr_written;

NRT_STATUS nrt_status_of_errno(int ret)
{
	(void)ret;
	return NRT_FAILURE;
}

static void put(uint32_t core, const struct drm_neuron_array *array)
{
	const struct drm_neuron_window *entry = (const void *)(uintptr_t)array->pointer;
	uint32_t i;

	for (i = 0; i < array->count; i++)
		table[core][entry[i].index] = entry[i].offset;
}

static int write_windows(struct nrt_chip *chip, struct drm_neuron_windows *windows)
{
	(void)chip;
	put(windows->core, &windows->windows);
	nr_written++;
	return 0;
}

static const struct nrt_backend backend = { .windows = write_windows };

/* Cores whose tables are shown; each window has @offset from now on. */
struct rig {
	struct nrt_device device;
	struct nrt_core core[CORES];
	struct nrt_view view[CORES];
};

static void set_up(struct rig *rig)
{
	struct nrt_error error;
	unsigned int i;

	memset(rig, 0, sizeof(*rig));
	memset(table, 0, sizeof(table));
	nr_written = 0;
	rig->device.backend = &backend;
	for (i = 0; i < CORES; i++) {
		rig->core[i] = (struct nrt_core){ .device = &rig->device, .index = i };
		assert_int_equal(nrt_view_init(&rig->view[i], WINDOWS, &error), NRT_SUCCESS);
	}
}

static void tear_down(struct rig *rig)
{
	unsigned int i;

	for (i = 0; i < CORES; i++) {
		nrt_view_fini(&rig->view[i]);
		free(rig->core[i].shown);
	}
}

/* @nr windows of each core move to @offset, and all cores have a job. Changes that those bring. */
static uint32_t submit(struct rig *rig, unsigned int nr, uint64_t offset)
{
	struct drm_neuron_job args[CORES] = { 0 };
	uint32_t room = NRT_MAX_CHANGES, changes = 0;
	struct nrt_error error;
	unsigned int i, k;

	for (i = 0; i < CORES; i++) {
		for (k = 0; k < nr; k++) {
			const struct drm_neuron_window entry = {
				.index = k + 1, .kind = DRM_NEURON_WINDOW_SEM, .offset = offset,
				.length = 4,
			};

			nrt_view_set(&rig->view[i], k, &entry, NULL);
		}
		assert_int_equal(nrt_core_show(&rig->core[i], &rig->view[i], &args[i], &room,
					       &error), NRT_SUCCESS);
	}
	/* The kernel takes what the jobs bring when it issues them. */
	for (i = 0; i < CORES; i++) {
		put(i, &args[i].windows);
		changes += args[i].windows.count;
		for (k = 0; k < nr; k++)
			assert_int_equal(table[i][k + 1], offset);
	}
	return changes;
}

static void few_changes_come_along(void **state)
{
	struct rig rig;

	(void)state;
	set_up(&rig);
	assert_int_equal(submit(&rig, WINDOWS, 1), 0);
	assert_int_equal(nr_written, CORES);
	assert_int_equal(submit(&rig, 100, 2), CORES * 100);
	assert_int_equal(nr_written, CORES);
	assert_int_equal(submit(&rig, NRT_MAX_CHANGES / CORES, 3), NRT_MAX_CHANGES);
	assert_int_equal(nr_written, CORES);
	tear_down(&rig);
}

/* A submission may bring no more than a limit, however many jobs it has. */
static void many_changes_are_written_before(void **state)
{
	struct rig rig;

	(void)state;
	set_up(&rig);
	submit(&rig, WINDOWS, 1);
	assert_true(CORES * WINDOWS > NRT_MAX_CHANGES);
	assert_int_equal(submit(&rig, WINDOWS, 2), 2 * WINDOWS);
	assert_int_equal(nr_written, CORES + 1);
	assert_int_equal(submit(&rig, 1, 3), CORES);
	assert_int_equal(nr_written, CORES + 1);
	tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_changes_come_along),
		cmocka_unit_test(many_changes_are_written_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
