/* SPDX-License-Identifier: MIT */
/*
 * The inputs of an execution that failed, as files (NEURON_RT_DBG_DUMP_INPUTS_ON_ERR).
 */
#ifndef LIBNRT_EXEC_INPUTS_H
#define LIBNRT_EXEC_INPUTS_H

#include "object/model.h"

/*
 * Write them to a new folder of the current one, whose name has @execution (0: it never got to the
 * device), and say so in the log. What cannot be written is said there, too.
 */
void nrt_inputs_dump(const struct nrt_model *model, const struct nrt_binding *binding,
		     uint64_t execution);

#endif /* LIBNRT_EXEC_INPUTS_H */
