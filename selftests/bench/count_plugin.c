// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plugin of QEMU's TCG that counts the guest's instructions. A guest program says when
 * by executing a long no-operation whose operand holds NEURON_MARK_MAGIC and a number of
 * its own (see guest/mark.h). Each time the file gets a line: that number, and how many
 * instructions all processors have executed since the machine was switched on.
 *
 * Of a job the plugin sees two more places by itself: the doorbell, which is the first write to
 * a register of a chip after the mark, and the interrupt handler, which is the first read after
 * that. A driver that finds the job done without an interrupt reads none.
 *
 *	-plugin count-plugin.so,out=FILE
 */
#include <inttypes.h>
#include <qemu-plugin.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "guest/mark.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* Where Linux has modules on x86; to look at all accesses to memory would take long. */
#define MODULES_BEGIN	0xffffffffc0000000u
/* The regions with registers of a chip are called "neuron-...". */
#define CHIP		"neuron"

/* QEMU hands no pointer of ours to all callbacks. @next: what the plugin waits for, or 0. */
static struct {
	FILE *out;
	qemu_plugin_u64 executed;
	enum mark next;
} count;

static void put_line(unsigned int number)
{
	fprintf(count.out, "%u %" PRIu64 "\n", number, qemu_plugin_u64_sum(count.executed));
}

static void marked(unsigned int vcpu, void *number)
{
	(void)vcpu;
	put_line((unsigned int)(uintptr_t)number);
	count.next = (uintptr_t)number == MARK_JOB ? MARK_JOB_DOORBELL : 0;
}

static bool is_chip(qemu_plugin_meminfo_t info, uint64_t addr)
{
	struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, addr);

	return where && qemu_plugin_hwaddr_is_io(where) &&
	       !strncmp(qemu_plugin_hwaddr_device_name(where), CHIP, strlen(CHIP));
}

static void accessed(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t addr, void *unused)
{
	bool written = qemu_plugin_mem_is_store(info);
	enum mark reached = written ? MARK_JOB_DOORBELL : MARK_JOB_INTERRUPT;

	(void)vcpu;
	(void)unused;
	if (count.next != reached || !is_chip(info, addr))
		return;
	put_line(reached);
	count.next = written ? MARK_JOB_INTERRUPT : 0;
}

/* The number of a mark, or -1 for any other instruction. */
static int mark_number(const struct qemu_plugin_insn *insn)
{
	static const uint8_t nopl[] = { 0x0f, 0x1f, 0x80 };
	uint8_t code[sizeof(nopl) + sizeof(uint32_t)];
	uint32_t operand;

	if (qemu_plugin_insn_size(insn) != sizeof(code) ||
	    qemu_plugin_insn_data(insn, code, sizeof(code)) != sizeof(code) ||
	    memcmp(code, nopl, sizeof(nopl)))
		return -1;
	memcpy(&operand, code + sizeof(nopl), sizeof(operand));
	if ((operand & ~0xffffu) != NEURON_MARK_MAGIC)
		return -1;
	return (int)(operand & 0xffff);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *insn;
	int number;

	(void)id;
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn,
								    QEMU_PLUGIN_INLINE_ADD_U64,
								    count.executed, 1);
		if (qemu_plugin_insn_vaddr(insn) >= MODULES_BEGIN)
			qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW, NULL);
		number = mark_number(insn);
		if (number >= 0)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marked,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)number);
	}
}

static void ended(qemu_plugin_id_t id, void *unused)
{
	(void)id;
	(void)unused;
	fclose(count.out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "count-plugin: it needs out=FILE and nothing else\n");
		return -1;
	}
	(void)info;
	count.out = fopen(argv[0] + 4, "w");
	if (!count.out) {
		fprintf(stderr, "count-plugin: cannot write %s\n", argv[0] + 4);
		return -1;
	}
	count.executed = qemu_plugin_scoreboard_u64(qemu_plugin_scoreboard_new(sizeof(uint64_t)));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
