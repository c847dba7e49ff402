/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * CRC-32C (Castagnoli), as the firmware's mailbox uses it.
 */
#ifndef TRN_CRC32C_H
#define TRN_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#define TRN_CRC32C_INIT	0xffffffffu

/* Go on with @crc over @len bytes; the complement of the last result is the CRC. */
uint32_t trn_crc32c_update(uint32_t crc, const void *data, size_t len);

static inline uint32_t trn_crc32c(const void *data, size_t len)
{
	return ~trn_crc32c_update(TRN_CRC32C_INIT, data, len);
}

#endif /* TRN_CRC32C_H */
