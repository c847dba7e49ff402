/* SPDX-License-Identifier: MIT */
/*
 * The tensors of a session as .npy files: inputs are bound by name, outputs are written. Types
 * that NumPy has not, such as bfloat16, are bytes there: "|V2".
 */
#ifndef NEURON_SIM_TENSORS_H
#define NEURON_SIM_TENSORS_H

#include "npy.h"
#include "session.h"

/* What becomes of an input that no file is named for. */
enum tensors_missing {
	TENSORS_REFUSE,
	TENSORS_ZEROS,
	TENSORS_RANDOM,
};

/**
 * struct tensors_inputs - where the inputs come from
 * @arg: "NAME=FILE" for all ranks, or "NAME@RANK=FILE" for one, which counts more
 * @nr: of @arg
 * @missing: what no file is named for
 * @seed: TENSORS_RANDOM: the same one gives the same numbers. Floating-point numbers have a
 *	magnitude from 1/16 to 1, integers are from 0 to 15
 */
struct tensors_inputs {
	const char **arg;
	size_t nr;
	enum tensors_missing missing;
	uint64_t seed;
};

/*
 * Fill the inputs of all ranks. A name that the NEFF has not, a missing input, another type or
 * shape than the NEFF's: NRT_INVALID. session.why has the line.
 */
NRT_STATUS tensors_load(struct session *session, const struct tensors_inputs *inputs);

/*
 * Write the outputs of all ranks to @folder, which is made if need be: NAME.npy, of several ranks
 * NAME@RANK.npy. A "/" in a name becomes "%2F", a "%" becomes "%25".
 */
NRT_STATUS tensors_save(struct session *session, const char *folder);

/* The array that a tensor is. */
void tensors_describe(const nrt_tensor_info_t *info, struct npy *npy);

/* "float32", as the NEFF names the type. */
const char *tensors_dtype(nrt_dtype_t dtype);

#endif /* NEURON_SIM_TENSORS_H */
