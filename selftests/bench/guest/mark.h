/* SPDX-License-Identifier: MIT */
/*
 * Places in a guest program that the counting plugin of QEMU knows (count_plugin.c). On
 * any processor, emulated or not, a mark does nothing.
 */
#ifndef GUEST_MARK_H
#define GUEST_MARK_H

#define NEURON_MARK_MAGIC	0x4e550000u

/* @number: a constant of 16 bits */
#define MARK(number) \
	__asm__ volatile("nopl %c0(%%rax)" : : "i"(NEURON_MARK_MAGIC | (number)) : "memory")

/*
 * Numbers of marks; a piece of work is between MARK_x and MARK_x_END. The plugin itself makes
 * the last two.
 */
enum mark {
	MARK_BOOTED = 1,
	MARK_LOADED = 2,
	MARK_JOB = 10,
	MARK_JOB_END,
	MARK_COPY_4K,
	MARK_COPY_4K_END,
	MARK_COPY_64M,
	MARK_COPY_64M_END,
	MARK_WRITE_4K,
	MARK_WRITE_4K_END,
	MARK_OPEN,
	MARK_OPEN_END,
	MARK_BIND,
	MARK_BIND_END,
	MARK_CHANGE,
	MARK_CHANGE_END,
	MARK_JOB_DOORBELL = 1000,
	MARK_JOB_INTERRUPT,
};

#endif /* GUEST_MARK_H */
