/* SPDX-License-Identifier: MIT */
/*
 * Which cores the process takes, and taking them.
 */
#ifndef LIBNRT_CLAIM_H
#define LIBNRT_CLAIM_H

#include "hw/device.h"
#include "base/env.h"

/* Cores of the machine. */
unsigned int nrt_total_cores(struct nrt_device **devices, unsigned int count);

/*
 * The cores that @env asks for: *@nr from *@first on, numbers in the machine. Without
 * VISIBLE_CORES a free run is looked for when @find_free.
 */
NRT_STATUS nrt_choose_cores(struct nrt_device **devices, unsigned int count,
			    const struct nrt_env *env, bool find_free, unsigned int *first,
			    unsigned int *nr, struct nrt_error *error);

/*
 * Choose and claim. *@cores is an array of *@nr that nrt_cores_free() frees; the claims
 * are given back by nrt_devices_close().
 */
NRT_STATUS nrt_claim_cores(struct nrt_device **devices, unsigned int count,
			   const struct nrt_env *env, struct nrt_core **cores,
			   unsigned int *nr, struct nrt_error *error);
void nrt_cores_free(struct nrt_core *cores, unsigned int nr);

#endif /* LIBNRT_CLAIM_H */
