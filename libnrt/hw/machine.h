/* SPDX-License-Identifier: MIT */
/*
 * The chips of the machine, and the cores of the process.
 */
#ifndef LIBNRT_HW_MACHINE_H
#define LIBNRT_HW_MACHINE_H

#include "base/env.h"
#include "hw/stats.h"
#include "hw/vcore.h"

/**
 * struct nrt_machine - chips, and what the process took of them
 * @devices, @nr_devices: all chips
 * @lnc: physical cores of a virtual one
 * @scratch_page: bytes of a page of their scratchpads; 0: each is one piece of memory
 * @cores, @nr_cores: physical cores of the process; none before nrt_machine_claim()
 * @cc_cores, @nr_cc_cores: their CC-cores, which come in equal numbers; likewise
 * @vcores, @nr_vcores: virtual cores of the process, by vnc; likewise
 * @stats: what they count, likewise
 * @lock: protects the virtual cores' counts of models
 */
struct nrt_machine {
	struct nrt_device **devices;
	unsigned int nr_devices;
	unsigned int lnc;
	uint64_t scratch_page;
	struct nrt_core *cores;
	unsigned int nr_cores;
	struct nrt_core *cc_cores;
	unsigned int nr_cc_cores;
	struct nrt_vcore *vcores;
	unsigned int nr_vcores;
	struct nrt_stats stats;
	pthread_mutex_t lock;
};

/*
 * Open the chips that NEURON_RT_BACKEND names; a virtual core has @lnc physical ones, or 0: as
 * many as is usual for these chips. Close with nrt_machine_close().
 */
NRT_STATUS nrt_machine_open(struct nrt_machine *machine, unsigned int lnc,
			    struct nrt_error *error);

/* Choose the cores that @env asks for, and claim them. */
NRT_STATUS nrt_machine_claim(struct nrt_machine *machine, const struct nrt_env *env,
			     struct nrt_error *error);

/* End the claims: whatever the cores run ends with an error. */
void nrt_machine_release(struct nrt_machine *machine);
void nrt_machine_close(struct nrt_machine *machine);

/* Are the chips in this process? */
bool nrt_machine_embedded(const struct nrt_machine *machine);

/* Virtual cores of the machine, and how many of them @env asks for. */
unsigned int nrt_machine_total(const struct nrt_machine *machine);
NRT_STATUS nrt_machine_visible(const struct nrt_machine *machine, const struct nrt_env *env,
			       unsigned int *nr, struct nrt_error *error);

/* The virtual core with that number in the process, or NULL and @error. */
struct nrt_vcore *nrt_machine_vcore(struct nrt_machine *machine, int64_t vnc,
				    struct nrt_error *error);

/*
 * A virtual core for a model, by its number or -1 for the one with the fewest; counts the
 * model.
 */
NRT_STATUS nrt_machine_take_vcore(struct nrt_machine *machine, int32_t vnc,
				  struct nrt_vcore **vcore, struct nrt_error *error);
void nrt_machine_leave_vcore(struct nrt_machine *machine, struct nrt_vcore *vcore);

#endif /* LIBNRT_HW_MACHINE_H */
