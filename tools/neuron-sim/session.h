/* SPDX-License-Identifier: MIT */
/*
 * A program on emulated chips, as a rule those of this process: a NEFF is loaded for one rank or
 * several, and tensors are there for all its inputs and outputs. neuron-sim runs it; other tools
 * may as well.
 */
#ifndef NEURON_SIM_SESSION_H
#define NEURON_SIM_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

#define SESSION_WHY	1024

/**
 * struct session_options - what is wanted; zero is the default of each
 * @neff: path of the NEFF
 * @instance: chips, as NEURON_EMU_INSTANCE has them; NULL: those of the environment
 * @keep_backend: use the back end of the environment, without one the driver; false: always chips
 *	in the process
 * @ranks: models that work together, one on each logical core; 0: one that works alone
 * @timeout_s: seconds without progress after which an execution is ended
 * @check: the chips look for errors of programs (check=memory)
 * @break_on_nan: an execution that makes a NaN fails, with NRT_EXEC_COMPLETED_WITH_NUM_ERR
 */
struct session_options {
	const char *neff;
	const char *instance;
	unsigned int ranks;
	unsigned int timeout_s;
	bool keep_backend;
	bool check;
	bool break_on_nan;
};

/**
 * struct session_rank - one of the models
 * @model: on logical core number @rank of the session
 * @sets: of its tensors, by nrt_tensor_usage_t
 * @tensor: of session.infos, in that order
 */
struct session_rank {
	nrt_model_t *model;
	nrt_tensor_set_t *sets[2];
	nrt_tensor_t **tensor;
};

/**
 * struct session - what session_open() has made
 * @ready: nrt_init() has been called
 * @infos: inputs and outputs of the NEFF, the same for all ranks
 * @nr_ranks: elements of @rank; at least 1
 * @rank: the models
 * @reports: see session_reports()
 * @why: after a failure one line, without the name of a tool; empty: libnrt has written a line
 *	to its log, on standard error
 */
struct session {
	bool ready;
	nrt_tensor_info_array_t *infos;
	unsigned int nr_ranks;
	struct session_rank *rank;
	uint64_t reports;
	char why[SESSION_WHY];
};

/* The bytes of a regular file, to be freed. */
NRT_STATUS session_read(struct session *session, const char *path, uint8_t **data, size_t *size);

/*
 * Load the NEFF. It sets the variables of the environment that decide for libnrt, so it is
 * called before there are threads. session_close() frees what there is after a failure, too.
 */
NRT_STATUS session_open(struct session *session, const struct session_options *options);
void session_close(struct session *session);

/* Run all ranks once. Of several that fail the status is that of one that failed by itself. */
NRT_STATUS session_execute(struct session *session);

/*
 * Errors that the chips have found in the program in the runs so far, of all ranks; libnrt has
 * written a line to its log for each.
 */
uint64_t session_reports(const struct session *session);

/* Note why a call failed; returns @status. */
NRT_STATUS session_fail(struct session *session, NRT_STATUS status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* NEURON_SIM_SESSION_H */
