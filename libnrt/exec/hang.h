/* SPDX-License-Identifier: MIT */
/*
 * Why a job made no progress: who waits, for what, and who should have posted it.
 */
#ifndef LIBNRT_EXEC_HANG_H
#define LIBNRT_EXEC_HANG_H

#include "object/model.h"

/* Bytes of the answer, with its NUL. */
#define NRT_HANG_TEXT	576

/*
 * What the engines of @model's cores did whose jobs were ended for making no progress, from the
 * device and from what the NEFF says. Each engine that did not halt begins with "; ", those that
 * ran come first. Empty when nobody knows. @wait: results of the jobs of all parts. Returns whether
 * an engine still ran: then the program has no end, or none in time.
 */
bool nrt_hang_explain(const struct nrt_model *model, const struct drm_neuron_wait_job *wait,
		      char text[NRT_HANG_TEXT]);

#endif /* LIBNRT_EXEC_HANG_H */
