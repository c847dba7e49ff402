/* SPDX-License-Identifier: MIT */
/*
 * Element types as plans see them.
 */
#ifndef LIBNRT_PLAN_TYPE_H
#define LIBNRT_PLAN_TYPE_H

#include <stdbool.h>

/* Bytes of an element of @dtype (enum neuron_dtype); 0: there is no such type. */
unsigned int nrt_plan_type_size(unsigned int dtype);
/* Can DMA engines calculate with it? */
bool nrt_plan_type_reduces(unsigned int dtype);
/* As nccom-test has it: "fp32"; "unknown". */
const char *nrt_plan_type_name(unsigned int dtype);

#endif /* LIBNRT_PLAN_TYPE_H */
