/* SPDX-License-Identifier: MIT */
/*
 * A call of the kernel interface that fails once: the table of the back end of a device is
 * exchanged for one whose function refuses.
 */
#ifndef SELFTESTS_LIBNRT_CC_CALL_H
#define SELFTESTS_LIBNRT_CC_CALL_H

#include <stdint.h>

#include "hw/device.h"

/*
 * From now on @call of @device fails once, when it has been made @skip times: "submit",
 * "bo-create", "bo-export", "bo-import", "grant" or "grant-import".
 */
void cc_call_refuse(struct nrt_device *device, const char *call, uint64_t skip);

/* As it was. How often the call was made. */
uint64_t cc_call_allow(struct nrt_device *device);

#endif /* SELFTESTS_LIBNRT_CC_CALL_H */
