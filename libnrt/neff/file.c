// SPDX-License-Identifier: MIT
/*
 * Constants: raw files, and the payload of NumPy's .npy files.
 */
#include <string.h>

#include "neff/neff.h"

#define NPY_MAGIC	"\x93NUMPY"
#define NPY_MAGIC_LEN	6

NRT_STATUS neff_file_payload(const struct neff_file *file, const uint8_t **data, size_t *size,
			     struct nrt_error *error)
{
	const uint8_t *bytes = file->data;
	size_t length = strlen(file->name);
	size_t fixed, header;

	*data = bytes;
	*size = file->size;
	if (length < 4 || strcmp(file->name + length - 4, ".npy"))
		return NRT_SUCCESS;
	/* Magic, version, then the header's length: 2 bytes in version 1, 4 after. */
	if (file->size < 12 || memcmp(bytes, NPY_MAGIC, NPY_MAGIC_LEN))
		goto bad;
	if (bytes[6] == 1) {
		fixed = 10;
		header = bytes[8] | bytes[9] << 8;
	} else if (bytes[6] == 2 || bytes[6] == 3) {
		fixed = 12;
		header = bytes[8] | bytes[9] << 8 | bytes[10] << 16 | (size_t)bytes[11] << 24;
	} else {
		goto bad;
	}
	if (header > file->size - fixed)
		goto bad;
	*data = bytes + fixed + header;
	*size = file->size - fixed - header;
	return NRT_SUCCESS;
bad:
	return nrt_error_set(error, NRT_INVALID,
			     "NEFF: %s: not a NumPy file of version 1, 2 or 3; write it with numpy.save(), or name raw bytes without .npy",
			     file->name);
}
