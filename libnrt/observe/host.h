/* SPDX-License-Identifier: MIT */
/*
 * How busy the host was between two moments.
 */
#ifndef LIBNRT_OBSERVE_HOST_H
#define LIBNRT_OBSERVE_HOST_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Ticks of a CPU since the boot. */
struct nrt_host_cpu {
	unsigned int number;
	uint64_t busy;
	uint64_t total;
};

/**
 * struct nrt_host - the host at one moment
 * @time_ns: time of day
 * @used: bytes of memory
 * @size: of the memory
 * @cpus, @nr_cpus: processors, by number
 */
struct nrt_host {
	uint64_t time_ns;
	uint64_t used;
	uint64_t size;
	struct nrt_host_cpu *cpus;
	unsigned int nr_cpus;
};

/* Look at the host. What cannot be had is zero. nrt_host_fini() frees it. */
void nrt_host_look(struct nrt_host *host);
void nrt_host_fini(struct nrt_host *host);

/* JSON: the memory at both moments; how busy each CPU was between them. */
void nrt_host_print_memory(FILE *file, const struct nrt_host *first, const struct nrt_host *last);
void nrt_host_print_cpus(FILE *file, const struct nrt_host *first, const struct nrt_host *last);

#endif /* LIBNRT_OBSERVE_HOST_H */
