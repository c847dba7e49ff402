/* SPDX-License-Identifier: MIT */
/*
 * The fuzzer of saved chips: what libFuzzer calls.
 */
#ifndef FUZZ_STATE_H
#define FUZZ_STATE_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_STATE_H */
