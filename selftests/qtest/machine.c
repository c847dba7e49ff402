// SPDX-License-Identifier: MIT
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SLOT		4
#define CONFIG_ADDRESS	0xcf8
#define CONFIG_DATA	0xcfc
#define COMMAND		0x04
#define COMMAND_MEMORY	0x2
#define COMMAND_MASTER	0x4
#define STATUS_CAPS	(1u << 20)
#define BAR(n)		(0x10 + (n) * 4)
#define BAR_FLAGS	0xc	/* 64 bit, prefetchable */
#define CAP_POINTER	0x34
#define CAP_EXPRESS	0x10
#define CAP_MSIX	0x11
#define MSIX_ENABLE	(1u << 31)

#define BAR0_AT		(1ull << 36)
#define BAR2_AT		(1ull << 37)
#define BAR4_AT		(1ull << 39)

#define WAIT_MS		10000

const struct neuron_gen *machine_gen(const char *name)
{
	static const struct neuron_gen *const generations[] = {
		&neuron_gen_trn1, &neuron_gen_inf2, &neuron_gen_trn2,
		&neuron_gen_trn3,
	};
	unsigned int i;

	for (i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
		if (!strcmp(name, generations[i]->name))
			return generations[i];
	return NULL;
}

int machine_setup(void **state)
{
	struct machine *m = *state;
	char device[96];
	const char *const args[] = { "-device", device, NULL };

	snprintf(device, sizeof(device), "%s,addr=%d,silicon=%s", m->gen->name,
		 SLOT, m->silicon ? "on" : "off");
	qtest_start(&m->qt, args);
	return 0;
}

int machine_teardown(void **state)
{
	struct machine *m = *state;

	qtest_stop(&m->qt);
	return 0;
}

uint32_t machine_config_read(struct machine *m, unsigned int reg)
{
	qtest_outl(&m->qt, CONFIG_ADDRESS, 0x80000000u | SLOT << 11 | reg);
	return qtest_inl(&m->qt, CONFIG_DATA);
}

void machine_config_write(struct machine *m, unsigned int reg, uint32_t value)
{
	qtest_outl(&m->qt, CONFIG_ADDRESS, 0x80000000u | SLOT << 11 | reg);
	qtest_outl(&m->qt, CONFIG_DATA, value);
}

uint64_t machine_bar_size(struct machine *m, unsigned int bar)
{
	uint64_t mask;

	machine_config_write(m, BAR(bar), ~0u);
	machine_config_write(m, BAR(bar + 1), ~0u);
	mask = machine_config_read(m, BAR(bar));
	if (!mask)
		return 0;
	assert_int_equal(mask & 0xf, BAR_FLAGS);
	mask |= (uint64_t)machine_config_read(m, BAR(bar + 1)) << 32;
	return ~(mask & ~0xfull) + 1;
}

static void place_bar(struct machine *m, unsigned int bar, uint64_t addr)
{
	machine_config_write(m, BAR(bar), (uint32_t)addr);
	machine_config_write(m, BAR(bar + 1), addr >> 32);
}

static void find_capabilities(struct machine *m)
{
	uint32_t at, word;
	unsigned int n;

	assert_true(machine_config_read(m, COMMAND) & STATUS_CAPS);
	at = machine_config_read(m, CAP_POINTER) & 0xfc;
	for (n = 0; at && n < 48; n++) {
		word = machine_config_read(m, at);
		if ((word & 0xff) == CAP_EXPRESS)
			m->express = (uint8_t)at;
		else if ((word & 0xff) == CAP_MSIX)
			m->msix = (uint8_t)at;
		at = word >> 8 & 0xfc;
	}
	assert_int_not_equal(m->msix, 0);
}

void machine_map(struct machine *m)
{
	m->bar0 = BAR0_AT;
	m->bar2 = m->silicon ? 0 : BAR2_AT;
	m->bar4 = BAR4_AT;
	place_bar(m, 0, m->bar0);
	if (m->bar2)
		place_bar(m, 2, m->bar2);
	place_bar(m, 4, m->bar4);
	machine_config_write(m, COMMAND, COMMAND_MEMORY | COMMAND_MASTER);
	find_capabilities(m);
}

uint32_t machine_read(struct machine *m, uint64_t offset)
{
	return (uint32_t)qtest_read(&m->qt, m->bar0 + offset, 4);
}

void machine_write(struct machine *m, uint64_t offset, uint32_t value)
{
	qtest_write(&m->qt, m->bar0 + offset, value, 4);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

void machine_wait(struct machine *m, uint64_t offset, uint32_t mask,
		  uint32_t value)
{
	unsigned int ms;

	for (ms = 0; ms < WAIT_MS; ms++) {
		if ((machine_read(m, offset) & mask) == value)
			return;
		nap();
	}
	fail_msg("register %#llx is %#x, not %#x", (unsigned long long)offset,
		 machine_read(m, offset), value);
}

void machine_wait_ram(struct machine *m, uint64_t addr, uint32_t value)
{
	unsigned int ms;

	for (ms = 0; ms < WAIT_MS; ms++) {
		if (qtest_read(&m->qt, addr, 4) == value)
			return;
		nap();
	}
	fail_msg("memory at %#llx is %#llx, not %#x", (unsigned long long)addr,
		 (unsigned long long)qtest_read(&m->qt, addr, 4), value);
}

void machine_vector(struct machine *m, unsigned int v, uint32_t data)
{
	uint64_t entry = m->gen->hole_bar0 + NEURON_HOLE_MSIX_TABLE + v * 16;

	machine_config_write(m, m->msix, MSIX_ENABLE);
	machine_write(m, entry, RAM_MSI + v * 16);
	machine_write(m, entry + 4, 0);
	machine_write(m, entry + 8, data);
	machine_write(m, entry + 12, 0);
}

uint64_t machine_host(const struct machine *m, uint64_t addr)
{
	return m->gen->host_base | addr;
}

uint64_t machine_hbm(const struct machine *m, unsigned int stack,
		     uint64_t offset)
{
	return m->gen->hbm_addr[stack] + offset;
}
