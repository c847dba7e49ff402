/* SPDX-License-Identifier: MIT */
/*
 * Which public instance the machine is.
 */
#ifndef LIBNRT_HW_INSTANCE_H
#define LIBNRT_HW_INSTANCE_H

#include "hw/machine.h"

/* NRT_INSTANCE_* and NRT_INSTANCE_SIZE_*: by its name, else by its chips. */
void nrt_instance(const struct nrt_machine *machine, uint32_t *family, uint32_t *size);

#endif /* LIBNRT_HW_INSTANCE_H */
