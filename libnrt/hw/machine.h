/* SPDX-License-Identifier: MIT */
/*
 * The chips of the machine, and the cores of the process.
 */
#ifndef LIBNRT_HW_MACHINE_H
#define LIBNRT_HW_MACHINE_H

#include "base/env.h"
#include "hw/core.h"

/**
 * struct nrt_machine - chips, and what the process took of them
 * @devices, @nr_devices: all chips
 * @cores, @nr_cores: cores of the process, by vnc; none before nrt_machine_claim()
 * @lock: protects the cores' counts of models
 */
struct nrt_machine {
	struct nrt_device **devices;
	unsigned int nr_devices;
	struct nrt_core *cores;
	unsigned int nr_cores;
	pthread_mutex_t lock;
};

/* Open the chips that NEURON_RT_BACKEND names. Close with nrt_machine_close(). */
NRT_STATUS nrt_machine_open(struct nrt_machine *machine, struct nrt_error *error);

/* Choose the cores that @env asks for, and claim them. */
NRT_STATUS nrt_machine_claim(struct nrt_machine *machine, const struct nrt_env *env,
			     struct nrt_error *error);

/* End the claims: whatever the cores run ends with an error. */
void nrt_machine_release(struct nrt_machine *machine);
void nrt_machine_close(struct nrt_machine *machine);

/* Are the chips in this process? */
bool nrt_machine_embedded(const struct nrt_machine *machine);

/* Cores of the machine, and how many of them @env asks for. */
unsigned int nrt_machine_total(const struct nrt_machine *machine);
NRT_STATUS nrt_machine_visible(const struct nrt_machine *machine, const struct nrt_env *env,
			       unsigned int *nr, struct nrt_error *error);

/* The core with that number in the process, or NULL and @error. */
struct nrt_core *nrt_machine_core(struct nrt_machine *machine, int64_t vnc,
				  struct nrt_error *error);

/* A core for a model, by its number or -1 for the one with the fewest; counts the model. */
NRT_STATUS nrt_machine_take_core(struct nrt_machine *machine, int32_t vnc,
				 struct nrt_core **core, struct nrt_error *error);
void nrt_machine_leave_core(struct nrt_machine *machine, struct nrt_core *core);

#endif /* LIBNRT_HW_MACHINE_H */
