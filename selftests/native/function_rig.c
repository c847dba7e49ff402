// SPDX-License-Identifier: MIT
#include "function_rig.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct bus *bus_of(void *opaque)
{
	return (struct bus *)(void *)((char *)opaque - offsetof(struct bus, rig.port[0]));
}

static void wake(void *opaque)
{
	atomic_fetch_add(&bus_of(opaque)->wakes, 1);
}

static void line(void *opaque, bool level)
{
	atomic_fetch_add(level ? &bus_of(opaque)->highs : &bus_of(opaque)->lows, 1);
}

static void msix_seen(struct bus *bus, enum trn_area_kind kind, uint64_t offset,
		      unsigned int size)
{
	bus->msix_kind = kind;
	bus->msix_offset = offset;
	bus->msix_size = size;
}

static uint64_t msix_read(void *opaque, enum trn_area_kind kind, uint64_t offset,
			  unsigned int size)
{
	msix_seen(bus_of(opaque), kind, offset, size);
	return 0xabcd;
}

static void msix_write(void *opaque, enum trn_area_kind kind, uint64_t offset, uint64_t value,
		       unsigned int size)
{
	msix_seen(bus_of(opaque), kind, offset, size);
	bus_of(opaque)->msix_value = value;
}

struct trn_function_config bus_config(struct bus *bus, unsigned int c)
{
	struct rig *rig = &bus->rig;
	struct trn_function_config config = {
		.chip = fake_chip_config(&rig->port[c], fake_gen(), rig->pool, rig->fabric, c),
		.bar4_size = FAKE_HBM_SIZE * 2 * fake_gen()->nr_hbm,
		.vectors = TRN_FUNCTION_AUTO,
		.inline_us = TRN_FUNCTION_AUTO,
		.reset_us = TRN_FUNCTION_AUTO,
	};

	return config;
}

static struct trn_function *must_build(const struct trn_function_config *config)
{
	char why[TRN_FUNCTION_WHY];
	struct trn_function *fn = trn_function_new(config, why);

	if (!fn)
		fail_msg("no function: %s", why);
	return fn;
}

int bus_setup(void **state)
{
	struct bus *bus = calloc(1, sizeof(*bus));
	struct trn_function_config config;
	unsigned int c;

	assert_non_null(bus);
	bus->rig.seed = 1;
	bus->rig.pool = trn_pool_new(RIG_WORKERS, NULL, NULL);
	bus->rig.fabric = trn_fabric_new();
	assert_true(bus->rig.pool && bus->rig.fabric);
	for (c = 0; c < RIG_CHIPS; c++) {
		fake_port_init(&bus->rig.port[c], RIG_HOST_BYTES);
		config = bus_config(bus, c);
		bus->fn[c] = must_build(&config);
		bus->rig.chip[c] = trn_function_chip(bus->fn[c]);
		bus->rig.host_next[c] = 4096;
		trn_function_set_master(bus->fn[c], true);
	}
	*state = bus;
	return 0;
}

static bool settled(void *fn)
{
	return trn_function_poll(fn);
}

void bus_settle(struct trn_function *fn)
{
	assert_true(fake_wait(settled, fn));
}

void bus_drop(struct bus *bus, unsigned int c)
{
	if (!bus->fn[c])
		return;
	trn_function_remove(bus->fn[c]);
	bus_settle(bus->fn[c]);
	trn_function_free(bus->fn[c]);
	bus->fn[c] = NULL;
}

int bus_teardown(void **state)
{
	struct bus *bus = *state;
	unsigned int c;

	for (c = 0; c < RIG_CHIPS; c++)
		bus_drop(bus, c);
	trn_fabric_unref(bus->rig.fabric);
	trn_pool_free(bus->rig.pool);
	for (c = 0; c < RIG_CHIPS; c++)
		fake_port_destroy(&bus->rig.port[c]);
	free(bus);
	return 0;
}

void bus_rebuild(struct bus *bus, uint32_t vectors, bool with_wake)
{
	bus_drop(bus, 0);
	fake_port_destroy(&bus->rig.port[0]);
	fake_port_init(&bus->rig.port[0], RIG_HOST_BYTES);
	bus->host = (struct trn_function_host) {
		.wake = with_wake ? wake : NULL,
		.line = line,
		.msix_read = msix_read,
		.msix_write = msix_write,
	};
	bus->config = bus_config(bus, 0);
	bus->config.host = &bus->host;
	bus->config.vectors = vectors;
	bus->fn[0] = must_build(&bus->config);
	bus->rig.chip[0] = trn_function_chip(bus->fn[0]);
	trn_function_set_master(bus->fn[0], true);
}

uint64_t bus_reg(struct trn_function *fn, uint64_t offset)
{
	return trn_function_read(fn, REG_BAR, offset, 4);
}

void bus_set_reg(struct trn_function *fn, uint64_t offset, uint32_t value)
{
	trn_function_write(fn, REG_BAR, offset, value, 4);
}

uint64_t bus_mask(const struct bus *bus)
{
	return neuron_ctl_bar0(bus->rig.chip[0]->gen) + NEURON_CTL_MASK;
}

unsigned int bus_irqs(struct bus *bus, unsigned int vector)
{
	return fake_irqs(&bus->rig.port[0], vector);
}
