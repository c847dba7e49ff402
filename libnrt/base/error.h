/* SPDX-License-Identifier: MIT */
/*
 * Why something failed: a status and one line that says what, where, and what to
 * do. Internal functions fill it; the public function at the top logs it once.
 */
#ifndef LIBNRT_BASE_ERROR_H
#define LIBNRT_BASE_ERROR_H

#include <nrt/nrt_status.h>

/* Bytes of a line. */
#define NRT_ERROR_TEXT	768

struct nrt_error {
	NRT_STATUS status;
	char text[NRT_ERROR_TEXT];
};

/* Set @error; returns @status, so that a caller can return it directly. */
NRT_STATUS nrt_error_set(struct nrt_error *error, NRT_STATUS status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The text of an errno; of EMFILE also what to do, because many ranks in one process need more
 * files than the usual soft limit allows.
 */
const char *nrt_error_why(int number);

/* Memory ran out: NRT_RESOURCE. */
NRT_STATUS nrt_error_memory(struct nrt_error *error);

#endif /* LIBNRT_BASE_ERROR_H */
