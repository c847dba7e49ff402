/* SPDX-License-Identifier: MIT */
/*
 * Errors that the chip has found in a program because it was asked to look for them
 * (NEURON_EMU_CHECK).
 */
#ifndef LIBNRT_EXEC_CHECKS_H
#define LIBNRT_EXEC_CHECKS_H

#include "object/model.h"

/*
 * A line in the log for each error of the jobs of @wait, which are one for each part and one for
 * each CC-core. Their number. The first line goes to @first, unless that has a text already.
 */
uint32_t nrt_checks_tell(const struct nrt_model *model, const struct drm_neuron_wait_job *wait,
			 char first[NRT_ERROR_TEXT]);

/*
 * The same of job @job of CC-core @core, a collective that is part of no model. The lines begin
 * with @name.
 */
void nrt_checks_tell_cc(const struct nrt_core *core, uint64_t job, const char *name);

/*
 * A line for each output of @binding that a program which has ended well left unwritten, all of it
 * or a part. Their number. An output is told of once, until its memory is cleared. @first: as
 * above.
 */
uint32_t nrt_checks_outputs(const struct nrt_model *model, const struct nrt_binding *binding,
			    char first[NRT_ERROR_TEXT]);

#endif /* LIBNRT_EXEC_CHECKS_H */
