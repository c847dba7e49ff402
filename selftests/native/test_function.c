// SPDX-License-Identifier: MIT
/*
 * A chip as a function on a bus: its tables, accesses to BARs, interrupts by vectors and by a
 * line.
 */
#include <string.h>

#include "function_rig.h"
#include "sync/trn_irq.h"

/* --- BARs --- */

static const struct trn_area *area_of(const struct trn_bar *bar, enum trn_area_kind kind)
{
	unsigned int i;

	for (i = 0; i < bar->nr_areas; i++)
		if (bar->area[i].kind == kind)
			return &bar->area[i];
	fail_msg("BAR%u has no area of kind %d", bar->index, kind);
	return NULL;
}

static void check_bar(const struct trn_bar *bar)
{
	uint64_t end = 0;
	unsigned int i;

	assert_int_equal(bar->size & (bar->size - 1), 0);
	assert_int_equal(bar->flags, TRN_BAR_64BIT | TRN_BAR_PREFETCHABLE);
	for (i = 0; i < bar->nr_areas; i++) {
		assert_int_equal(bar->area[i].offset, end);
		assert_true(bar->area[i].size > 0);
		end += bar->area[i].size;
	}
	assert_int_equal(end, bar->size);
}

static void bars_have_no_gaps(void **state)
{
	struct bus *bus = *state;
	const struct neuron_gen *gen = fake_gen();
	const struct trn_area *table, *pba, *hbm;
	const struct trn_bar *bar;
	unsigned int n;

	for (n = 0; (bar = trn_function_bar(bus->fn[0], n)); n++)
		check_bar(bar);
	assert_int_equal(n, 3);
	bar = trn_function_bar(bus->fn[0], 0);
	assert_int_equal(bar->index, 0);
	assert_int_equal(bar->size, gen->bar0_size);
	table = area_of(bar, TRN_AREA_MSIX_TABLE);
	assert_int_equal(table->offset, gen->hole_bar0 + NEURON_HOLE_MSIX_TABLE);
	assert_int_equal(table->size, 16 * (gen->nr_cores + 1));
	pba = area_of(bar, TRN_AREA_MSIX_PBA);
	assert_int_equal(pba->offset, gen->hole_bar0 + NEURON_HOLE_MSIX_PBA);
	assert_int_equal(pba->size, 8);
	assert_int_equal(trn_function_bar(bus->fn[0], 1)->index, 2);
	assert_int_equal(trn_function_bar(bus->fn[0], 1)->shows, 0);
	bar = trn_function_bar(bus->fn[0], 2);
	assert_int_equal(bar->index, HBM_BAR);
	assert_int_equal(bar->nr_areas, 2 * gen->nr_hbm);
	hbm = &bar->area[2 * (gen->nr_hbm - 1)];
	assert_int_equal(hbm->kind, TRN_AREA_HBM);
	assert_int_equal(hbm->stack, gen->nr_hbm - 1);
	assert_int_equal(hbm->offset, 2 * FAKE_HBM_SIZE * (gen->nr_hbm - 1ull));
	assert_int_equal(hbm->size, FAKE_HBM_SIZE);
}

static void registers_take_aligned_words(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	const uint64_t mask = bus_mask(bus), end = fake_gen()->bar0_size;

	bus_set_reg(fn, mask, 0x5a);
	assert_int_equal(bus_reg(fn, mask), 0x5a);
	/* The alias shows the same. */
	assert_int_equal(trn_function_read(fn, 2, mask, 4), 0x5a);
	trn_function_write(fn, 2, mask, 0xa5, 4);
	assert_int_equal(bus_reg(fn, mask), 0xa5);
	assert_true(trn_function_read(fn, REG_BAR, mask & ~7ull, 8) != UINT64_MAX);
	assert_true(trn_function_read(fn, REG_BAR, mask, 2) == UINT64_MAX);
	assert_true(trn_function_read(fn, REG_BAR, mask + 1, 4) == UINT64_MAX);
	trn_function_write(fn, REG_BAR, mask, 0, 1);
	trn_function_write(fn, REG_BAR, mask + 2, 0, 4);
	trn_function_write(fn, REG_BAR, mask, 0, 16);
	trn_function_write(fn, REG_BAR, mask, 0, 0);
	assert_int_equal(bus_reg(fn, mask), 0xa5);
	/* The last word, and what is behind it; no BAR. */
	assert_true(bus_reg(fn, end - 4) != UINT64_MAX);
	assert_true(trn_function_read(fn, REG_BAR, end, 4) == UINT64_MAX);
	assert_true(trn_function_read(fn, REG_BAR, UINT64_MAX, 4) == UINT64_MAX);
	assert_true(trn_function_read(fn, 1, 0, 4) == UINT64_MAX);
	trn_function_write(fn, REG_BAR, end, 0, 4);
	trn_function_write(fn, 6, 0, 0, 4);
}

static void memory_takes_any_bytes(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	const uint64_t second = 2 * FAKE_HBM_SIZE, last = FAKE_HBM_SIZE - 1;
	uint8_t *mem = trn_chip_hbm(bus->rig.chip[0], 1);

	trn_function_write(fn, HBM_BAR, second + 1, 0x8877665544332211, 8);
	assert_int_equal(mem[1], 0x11);
	assert_int_equal(mem[8], 0x88);
	assert_int_equal(trn_function_read(fn, HBM_BAR, second + 3, 1), 0x33);
	assert_int_equal(trn_function_read(fn, HBM_BAR, second + 3, 3), 0x554433);
	assert_int_equal(trn_function_read(fn, HBM_BAR, second, 8), 0x7766554433221100);
	/* Over the end of the memory, and behind it. */
	trn_function_write(fn, HBM_BAR, last, 0x1122, 2);
	assert_int_equal(trn_function_read(fn, HBM_BAR, last, 2), 0x22);
	assert_int_equal(trn_function_read(fn, HBM_BAR, last + 1, 4), 0);
	trn_function_write(fn, HBM_BAR, last + 1, 77, 4);
	assert_int_equal(trn_function_read(fn, HBM_BAR, last + 1, 4), 0);
	assert_int_equal(trn_function_read(fn, HBM_BAR, second - 1, 1), 0);
	assert_true(trn_function_read(fn, HBM_BAR, second * fake_gen()->nr_hbm, 1) ==
		    UINT64_MAX);
}

static void the_hole_is_the_front_ends(void **state)
{
	struct bus *bus = *state;
	const uint64_t hole = fake_gen()->hole_bar0, pba = hole + NEURON_HOLE_MSIX_PBA;
	struct trn_function *fn;

	/* Without a table it reads as zero. */
	assert_int_equal(bus_reg(bus->fn[1], hole), 0);
	bus_rebuild(bus, TRN_FUNCTION_AUTO, true);
	fn = bus->fn[0];
	assert_int_equal(trn_function_read(fn, REG_BAR, hole + 8, 8), 0xabcd);
	assert_int_equal(bus->msix_kind, TRN_AREA_MSIX_TABLE);
	assert_int_equal(bus->msix_offset, 8);
	assert_int_equal(bus->msix_size, 8);
	trn_function_write(fn, 2, pba + 4, 99, 4);
	assert_int_equal(bus->msix_kind, TRN_AREA_MSIX_PBA);
	assert_int_equal(bus->msix_offset, 4);
	assert_int_equal(bus->msix_value, 99);
	/* Behind the last entry are registers that do not exist. */
	assert_int_equal(bus_reg(fn, hole + 16 * (fake_gen()->nr_cores + 1ull)), 0);
	assert_int_equal(bus_reg(fn, pba + 8), 0);
	assert_int_equal(bus->msix_offset, 4);
	bus_rebuild(bus, 1, true);
	bus->msix_offset = 5;
	bus_reg(bus->fn[0], hole + 16);
	assert_int_equal(bus->msix_offset, 5);
	assert_int_equal(bus_reg(bus->fn[0], hole + 12), 0xabcd);
	assert_int_equal(bus->msix_offset, 12);
}

/* --- interrupts --- */

/* Set a cause that is not masked, and then end it. */
static void raise_core(struct bus *bus, unsigned int core)
{
	struct trn_chip *chip = bus->rig.chip[0];

	bus_set_reg(bus->fn[0], rig_core_reg(&bus->rig, core, NEURON_CORE_MASK), 0);
	trn_irq_core(chip, core, CAUSE);
	bus_set_reg(bus->fn[0], rig_core_reg(&bus->rig, core, NEURON_CORE_CAUSE), CAUSE);
}

static void each_cause_has_its_vector(void **state)
{
	struct bus *bus = *state;
	const unsigned int cores = fake_gen()->nr_cores;
	unsigned int i;

	for (i = 0; i < cores; i++) {
		raise_core(bus, i);
		assert_int_equal(bus_irqs(bus, i), 1);
	}
	bus_set_reg(bus->fn[0], bus_mask(bus), ~MGMT_CAUSE);
	trn_irq_mgmt(bus->rig.chip[0], MGMT_CAUSE);
	assert_int_equal(bus_irqs(bus, cores), 1);
	/* Software moves a cause. */
	bus_set_reg(bus->fn[0], rig_core_reg(&bus->rig, 0, NEURON_CORE_VECTOR), cores);
	raise_core(bus, 0);
	assert_int_equal(bus_irqs(bus, 0), 1);
	assert_int_equal(bus_irqs(bus, cores), 2);
	/* No such vector: it is lost, and the cause stays. */
	bus_set_reg(bus->fn[0], rig_core_reg(&bus->rig, 1, NEURON_CORE_VECTOR), cores + 1);
	trn_irq_core(bus->rig.chip[0], 1, CAUSE);
	assert_int_equal(bus_reg(bus->fn[0], rig_core_reg(&bus->rig, 1, NEURON_CORE_CAUSE)), CAUSE);
	assert_true(fake_logged(&bus->rig.port[0], "no vector"));
	assert_int_equal(trn_function_pending(bus->fn[0]), 0);
}

static void one_vector_for_all(void **state)
{
	struct bus *bus = *state;

	bus_rebuild(bus, 1, false);
	raise_core(bus, 1);
	assert_int_equal(bus_irqs(bus, 0) + bus_irqs(bus, 1), 0);
	bus_set_reg(bus->fn[0], rig_core_reg(&bus->rig, 1, NEURON_CORE_VECTOR), 0);
	raise_core(bus, 1);
	raise_core(bus, 0);
	assert_int_equal(bus_irqs(bus, 0), 2);
}

static void a_write_delivers_itself(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn;

	bus_rebuild(bus, TRN_FUNCTION_AUTO, true);
	fn = bus->fn[0];
	/* From elsewhere: the front end is told, and delivers when it likes. */
	bus_set_reg(fn, rig_core_reg(&bus->rig, 0, NEURON_CORE_MASK), 0);
	trn_irq_core(bus->rig.chip[0], 0, CAUSE);
	assert_int_equal(atomic_load(&bus->wakes), 1);
	assert_int_equal(bus_irqs(bus, 0), 0);
	assert_int_equal(trn_function_pending(fn), 1);
	trn_function_deliver(fn);
	assert_int_equal(bus_irqs(bus, 0), 1);
	assert_int_equal(trn_function_pending(fn), 0);
	/* By a write: its thread raises it. */
	bus_set_reg(fn, rig_core_reg(&bus->rig, 0, NEURON_CORE_MASK), ~0u);
	bus_set_reg(fn, rig_core_reg(&bus->rig, 0, NEURON_CORE_MASK), 0);
	assert_int_equal(atomic_load(&bus->wakes), 1);
	assert_int_equal(bus_irqs(bus, 0), 2);
	/* While bus mastering is off they are lost. */
	trn_function_set_master(fn, false);
	bus_settle(fn);
	bus_set_reg(fn, rig_core_reg(&bus->rig, 0, NEURON_CORE_MASK), ~0u);
	bus_set_reg(fn, rig_core_reg(&bus->rig, 0, NEURON_CORE_MASK), 0);
	trn_function_set_master(fn, true);
	trn_function_deliver(fn);
	assert_int_equal(bus_irqs(bus, 0), 2);
}

static void expect_line(struct bus *bus, unsigned int highs, unsigned int lows)
{
	assert_int_equal(atomic_load(&bus->highs), highs);
	assert_int_equal(atomic_load(&bus->lows), lows);
}

static void without_vectors_there_is_a_line(void **state)
{
	struct bus *bus = *state;
	const uint64_t mask = rig_core_reg(&bus->rig, 0, NEURON_CORE_MASK);
	struct trn_function *fn;

	bus_rebuild(bus, 0, false);
	fn = bus->fn[0];
	/* It has no table either. */
	assert_int_equal(trn_function_bar(fn, 0)->nr_areas, 1);
	trn_irq_core(bus->rig.chip[0], 0, CAUSE);
	expect_line(bus, 0, 0);
	bus_set_reg(fn, mask, 0);
	expect_line(bus, 1, 0);
	trn_irq_mgmt(bus->rig.chip[0], MGMT_CAUSE);
	bus_set_reg(fn, bus_mask(bus), ~MGMT_CAUSE);
	bus_set_reg(fn, rig_core_reg(&bus->rig, 0, NEURON_CORE_CAUSE), CAUSE);
	/* The other cause keeps it. */
	expect_line(bus, 1, 0);
	trn_function_set_power(fn, D3HOT);
	bus_settle(fn);
	expect_line(bus, 1, 1);
	trn_function_set_power(fn, D0);
	expect_line(bus, 2, 1);
	bus_set_reg(fn, bus_mask(bus), ~0u);
	expect_line(bus, 2, 2);
	bus_set_reg(fn, bus_mask(bus), ~MGMT_CAUSE);
	expect_line(bus, 3, 2);
	trn_function_reset(fn);
	bus_settle(fn);
	expect_line(bus, 3, 3);
	assert_int_equal(bus_irqs(bus, 0), 0);
	trn_irq_core(bus->rig.chip[0], 0, CAUSE);
	bus_set_reg(fn, mask, 0);
	expect_line(bus, 4, 3);
	bus_drop(bus, 0);
	expect_line(bus, 4, 4);
}

/* --- what it is --- */

static void expect_refused(struct trn_function_config config, const char *text)
{
	char why[TRN_FUNCTION_WHY] = "";

	assert_false(trn_function_complete(&config, why));
	assert_non_null(strstr(why, text));
	assert_null(trn_function_new(&config, why));
	assert_non_null(strstr(why, text));
}

static void what_does_not_fit_is_refused(void **state)
{
	struct bus *bus = *state;
	const struct trn_function_config good = bus_config(bus, 0);
	struct trn_function_config bad = good;

	bad.bar4_size = good.bar4_size + 4096;
	expect_refused(bad, "bar4-size");
	bad.bar4_size = NEURON_MIB(16);
	expect_refused(bad, "bar4-size");
	bad = good;
	bad.chip.hbm_size = NEURON_MIB(16);
	expect_refused(bad, "hbm-size");
	bad.chip.hbm_size = good.bar4_size;
	expect_refused(bad, "hbm-size");
	bad = good;
	bad.vectors = fake_gen()->nr_cores + 2u;
	expect_refused(bad, "vectors");
	bad = good;
	bad.inline_us = 1001;
	expect_refused(bad, "inline-us");
	bad = good;
	bad.reset_us = 10000001;
	expect_refused(bad, "reset-us");
	bad = good;
	bad.chip.routing_id = 64;
	expect_refused(bad, "routing-id");
}

static void what_is_left_open_is_filled_in(void **state)
{
	struct bus *bus = *state;
	const struct neuron_gen *gen = fake_gen();
	struct trn_function_config config = bus_config(bus, 0);
	char why[TRN_FUNCTION_WHY];

	config.chip.position = 0x010203;
	config.chip.fabric_id = TRN_FUNCTION_AUTO;
	config.chip.routing_id = TRN_FUNCTION_AUTO;
	config.chip.serial = 0;
	config.chip.hbm_size = 0;
	config.bar4_size = 0;
	assert_true(trn_function_complete(&config, why));
	assert_int_equal(config.chip.fabric_id, (16 + 2) * 256 + 3);
	assert_int_equal(config.chip.routing_id, neuron_routing_id(gen, 3));
	assert_int_equal(config.chip.serial, neuron_serial(gen, config.chip.fabric_id));
	assert_int_equal(config.bar4_size, gen->bar4_platform);
	assert_int_equal(config.chip.bar4_stride, gen->bar4_platform / gen->nr_hbm);
	assert_true(config.chip.hbm_size >= config.chip.hbm_told);
	assert_int_equal(config.vectors, gen->nr_cores + 1);
	assert_int_equal(config.inline_us, 20);
	assert_int_equal(config.chip.reset_ns, 0);
	config = bus_config(bus, 0);
	config.silicon = true;
	config.chip.hbm_size = 0;
	config.bar4_size = 0;
	assert_true(trn_function_complete(&config, why));
	assert_int_equal(config.bar4_size, gen->bar4_silicon);
	assert_int_equal(config.chip.hbm_size, config.chip.hbm_told);
	assert_int_equal(config.chip.reset_ns, 150000000);
}

static uint32_t word_of(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static void tables_say_what_it_is(void **state)
{
	struct bus *bus = *state;
	const struct trn_bar *bar = trn_function_bar(bus->fn[0], 0);
	struct trn_capability cap[TRN_CAPABILITIES];
	struct trn_identity identity;

	trn_function_identity(bus->fn[0], &identity);
	assert_int_equal(identity.vendor, NEURON_PCI_VENDOR);
	assert_int_equal(identity.device, fake_gen()->pci_device);
	assert_int_equal(identity.class_code, 0x1200);
	assert_int_equal(identity.revision, NEURON_PCI_REVISION_PLATFORM);
	assert_int_equal(trn_function_capabilities(bus->fn[0], cap), 4);
	assert_int_equal(cap[0].id, 0x11);
	assert_false(cap[0].express);
	assert_int_equal(word_of(cap[0].value) >> 16, fake_gen()->nr_cores);
	assert_int_equal(word_of(cap[0].value + 4),
			 area_of(bar, TRN_AREA_MSIX_TABLE)->offset);
	assert_int_equal(word_of(cap[0].value + 8), area_of(bar, TRN_AREA_MSIX_PBA)->offset);
	assert_int_equal(cap[1].id, 0x10);
	assert_int_equal(cap[1].offset, 0x80);
	assert_true(word_of(cap[1].value + 4) >> 28 & 1);
	assert_int_equal(cap[2].id, 0x01);
	assert_int_equal(word_of(cap[2].writable + 4), 3);
	/* Of the extended ones only AER: no serial number, no resizable BAR. */
	assert_int_equal(cap[3].id, 0x01);
	assert_int_equal(cap[3].offset, 0x100);
	assert_true(cap[3].extended);
	assert_false(cap[0].extended || cap[1].extended || cap[2].extended);
	bus_rebuild(bus, 0, false);
	assert_int_equal(trn_function_capabilities(bus->fn[0], cap), 3);
	assert_int_equal(cap[0].id, 0x10);
}

static bool is_status(const struct trn_capability *cap, unsigned int at)
{
	if (cap->extended)	/* AER: uncorrectable and correctable errors */
		return (at >= 0x04 && at < 0x08) || (at >= 0x10 && at < 0x14);
	return cap->id == 0x10 && (at == 0x0a || at == 0x0b);	/* Device Status */
}

/* The bytes that a front end without an emulation of its own goes by. */
static void tables_do_not_contradict_themselves(void **state)
{
	struct bus *bus = *state;
	struct trn_capability cap[TRN_CAPABILITIES];
	const struct trn_capability *c;
	unsigned int at, cleared = 0;

	assert_int_equal(trn_function_capabilities(bus->fn[0], cap), TRN_CAPABILITIES);
	for (c = cap; c < cap + TRN_CAPABILITIES; c++)
		for (at = 0; at < TRN_CAPABILITY_BYTES; at++) {
			/* The header is the front end's, and so is what comes behind the end. */
			if (at < (c->extended ? 4u : 2u) || at >= c->size)
				assert_false(c->value[at] | c->writable[at] | c->cleared[at]);
			/* Status bits are set by errors and cleared by a one, never written. */
			assert_false(c->cleared[at] & (c->writable[at] | c->value[at]));
			if (c->cleared[at])
				assert_true(is_status(c, at));
			cleared += __builtin_popcount(c->cleared[at]);
		}
	/* Four of the device, 16 uncorrectable and 8 correctable ones of AER. */
	assert_int_equal(cleared, 4 + 16 + 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bus_setup, bus_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bars_have_no_gaps),
		TEST(registers_take_aligned_words),
		TEST(memory_takes_any_bytes),
		TEST(the_hole_is_the_front_ends),
		TEST(each_cause_has_its_vector),
		TEST(one_vector_for_all),
		TEST(a_write_delivers_itself),
		TEST(without_vectors_there_is_a_line),
		TEST(what_does_not_fit_is_refused),
		TEST(what_is_left_open_is_filled_in),
		TEST(tables_say_what_it_is),
		TEST(tables_do_not_contradict_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
