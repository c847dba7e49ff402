/* SPDX-License-Identifier: MIT */
/*
 * The environment that nrt_init() reads. Documentation/libnrt/environment.rst
 */
#ifndef LIBNRT_BASE_ENV_H
#define LIBNRT_BASE_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The time limit when nobody sets one, as that of the driver. */
#define NRT_TIMEOUT_MS	30000

/**
 * struct nrt_env - the settings
 * @lnc: NEURON_LOGICAL_NC_CONFIG: physical cores of a virtual one; 0: as is usual
 * @first_core: NEURON_RT_VISIBLE_CORES: first core of the machine
 * @nr_cores: how many; 0: all. Without @visible: any @nr_cores free ones
 * @visible: NEURON_RT_VISIBLE_CORES is set
 * @timeout_ms: of an execution; 0: the driver's default
 * @validate_hash: of NEFFs
 * @numbers: numerical errors are looked for
 * @memory_table: who has too little memory of the device gets a table of what holds it
 * @dump_on: status of executions whose inputs are written to files
 * @stream_events: most events of a debug stream
 * @scratch_page: bytes of a page of the shared scratchpad; 0: it is one piece of memory
 * @root_comm: NEURON_RT_ROOT_COMM_ID, or NULL; of the environment
 * @sendrecv_port: NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT, or 0
 * @cc_algorithm: NEURON_EMU_CC_ALGORITHM, or NULL: as the plan chooses; likewise
 * @tag: NEURON_PROCESS_TAG, or NULL; likewise
 * @profile_events: most instructions and transfers of a device profile
 */
struct nrt_env {
	uint32_t lnc;
	uint32_t first_core;
	uint32_t nr_cores;
	bool visible;
	uint32_t timeout_ms;
	bool validate_hash;
	bool numbers;
	bool memory_table;
	NRT_STATUS dump_on;
	unsigned long stream_events;
	uint64_t scratch_page;
	const char *root_comm;
	uint32_t sendrecv_port;
	const char *cc_algorithm;
	const char *tag;
	unsigned long profile_events;
};

/* Read all; NRT_INVALID with @error naming the variable. */
NRT_STATUS nrt_env_read(struct nrt_env *env, struct nrt_error *error);

/* The size of virtual cores alone. */
NRT_STATUS nrt_env_read_lnc(uint32_t *lnc, struct nrt_error *error);

/* "3", "0-3", "0,1,2", "0-1,2": contiguous and increasing. Exposed for tests. */
NRT_STATUS nrt_env_parse_cores(const char *text, uint32_t *first, uint32_t *count,
			       struct nrt_error *error);

#endif /* LIBNRT_BASE_ENV_H */
