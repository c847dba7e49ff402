/* SPDX-License-Identifier: MIT */
/*
 * A chip whose instructions a benchmark carries out itself: nothing is connected to it.
 */
#ifndef BENCH_CHIP_H
#define BENCH_CHIP_H

#include "trn/chip.h"
#include "core/trn_core.h"
#include "exec/trn_exec.h"

/* A Trainium of @gen with one idle worker. It goes with the process; exits on error. */
struct trn_chip *bench_chip_new(const struct neuron_gen *gen);

/* Carry out @inst on @engine, in this thread; exits when it fails. */
void bench_chip_run(struct trn_core *core, enum neuron_engine engine,
		    const struct neuron_inst *inst);

#endif /* BENCH_CHIP_H */
