/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * NEFF container: header and type names, shared by what writes
 * the files (builder) and what reads them (libnrt).
 *
 * Source: public NEFF description; the marks of files for this project's chip, and the
 * meaning of pkg_version, are defined by this project (Documentation/libnrt/neff.rst).
 */
#ifndef NEURON_NEFF_H
#define NEURON_NEFF_H

#include "isa.h"

#define NEFF_MAX_NODES		64
#define NEFF_NAME_LEN		256
#define NEFF_HASH_LEN		32
#define NEFF_UUID_LEN		16
#define NEFF_MAX_PARTS		64	/* of a collective: inputs, and as many outputs */
#define NEFF_MAX_COLLECTIVES	1024
#define NEFF_MAX_CHANNELS	4	/* of a permute along rings */
#define NEFF_NR_STREAMS		4	/* of collectives beside each other */
#define NEFF_NR_STARTS		16	/* of a stream: semaphores that start its collectives */

#define NEFF_PKG_MD5		1	/* hash: MD5 in the first 16 bytes */
#define NEFF_PKG_SHA256		2
#define NEFF_VERSION_MAJOR	2
#define NEFF_VERSION_MINOR	0

/* Files for this project's chip: what build_version begins with, and "isa" in def.json. */
#define NEFF_BUILD_MARK		"neuron-emu"
#define NEFF_ISA		"neuron-emu-1"

/**
 * struct neff_header - first 1024 bytes of a NEFF
 * @pkg_version: NEFF_PKG_*
 * @header_size: 1024
 * @data_size: bytes of the archive that follows
 * @version_major: first part of the format's version
 * @version_minor: second part of the format's version
 * @build_version: version of the compiler that wrote the file, NUL padded
 * @num_tpb: number of cores that the model runs on
 * @hash: hash of the archive; @pkg_version says which kind
 * @uuid: unique id
 * @name: model name, NUL padded
 * @requested_tpb: cores asked for at compile time
 * @tpb_per_node: cores of each graph node
 * @feature_bits: what a reader must know; the public description gives no numbers
 * @lnc_size: logical core size
 * @pad: zero
 */
struct neff_header {
	__le64 pkg_version;
	__le64 header_size;
	__le64 data_size;
	__le64 version_major;
	__le64 version_minor;
	__u8 build_version[128];
	__le32 num_tpb;
	__u8 hash[NEFF_HASH_LEN];
	__u8 uuid[NEFF_UUID_LEN];
	char name[NEFF_NAME_LEN];
	__le32 requested_tpb;
	__u8 tpb_per_node[NEFF_MAX_NODES];
	__le64 feature_bits;
	__le32 lnc_size;
	__u8 pad[468];
};

NEURON_ASSERT_SIZE(struct neff_header, 1024);

/* Name of a type in def.json and in descriptors; NULL: it has none. */
static inline const char *neff_dtype_name(unsigned int dtype)
{
	static const char *const name[NEURON_NR_DTYPES] = {
		[NEURON_DTYPE_UINT64] = "uint64",
		[NEURON_DTYPE_INT8] = "int8",
		[NEURON_DTYPE_UINT8] = "uint8",
		[NEURON_DTYPE_INT16] = "int16",
		[NEURON_DTYPE_UINT16] = "uint16",
		[NEURON_DTYPE_BF16] = "bfloat16",
		[NEURON_DTYPE_FP16] = "float16",
		[NEURON_DTYPE_INT32] = "int32",
		[NEURON_DTYPE_UINT32] = "uint32",
		[NEURON_DTYPE_FP32] = "float32",
		[NEURON_DTYPE_FP32R] = "float32r",
		[NEURON_DTYPE_INT64] = "int64",
		[NEURON_DTYPE_FP8_E3] = "float8e3",
		[NEURON_DTYPE_FP8_E4] = "float8e4",
		[NEURON_DTYPE_FP8_E5] = "float8e5",
	};

	return dtype < NEURON_NR_DTYPES ? name[dtype] : 0;
}

/* Name of an engine in def.json and of its files in the archive. */
static inline const char *neff_engine_name(unsigned int engine)
{
	static const char *const name[] = {
		"tensor", "vector", "scalar", "gpsimd", "sync",
	};

	return engine < sizeof(name) / sizeof(name[0]) ? name[engine] : 0;
}

/* Bytes of an element; 0 for an invalid type. */
static inline unsigned int neuron_dtype_bytes(unsigned int dtype)
{
	static const __u8 bytes[NEURON_NR_DTYPES] = {
		[NEURON_DTYPE_UINT64] = 8, [NEURON_DTYPE_INT8] = 1,
		[NEURON_DTYPE_UINT8] = 1, [NEURON_DTYPE_INT16] = 2,
		[NEURON_DTYPE_UINT16] = 2, [NEURON_DTYPE_BF16] = 2,
		[NEURON_DTYPE_FP16] = 2, [NEURON_DTYPE_INT32] = 4,
		[NEURON_DTYPE_UINT32] = 4, [NEURON_DTYPE_FP32] = 4,
		[NEURON_DTYPE_FP32R] = 4, [NEURON_DTYPE_INT64] = 8,
		[NEURON_DTYPE_FP8_E3] = 1, [NEURON_DTYPE_FP8_E4] = 1,
		[NEURON_DTYPE_FP8_E5] = 1,
	};

	return dtype < NEURON_NR_DTYPES ? bytes[dtype] : 0;
}

#endif /* NEURON_NEFF_H */
