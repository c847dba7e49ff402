// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "base/trn_crc32c.h"

#define POLYNOMIAL	0x82f63b78u	/* reflected */

/* Remainders of the sixteen values of four bits. */
#define STEP(crc)	(((crc) >> 1) ^ ((crc) & 1 ? POLYNOMIAL : 0))
#define NIBBLE(n)	STEP(STEP(STEP(STEP((uint32_t)(n)))))

static const uint32_t remainder_of[16] = {
	NIBBLE(0), NIBBLE(1), NIBBLE(2), NIBBLE(3),
	NIBBLE(4), NIBBLE(5), NIBBLE(6), NIBBLE(7),
	NIBBLE(8), NIBBLE(9), NIBBLE(10), NIBBLE(11),
	NIBBLE(12), NIBBLE(13), NIBBLE(14), NIBBLE(15),
};

uint32_t trn_crc32c_update(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *byte = data;

	while (len--) {
		crc ^= *byte++;
		crc = (crc >> 4) ^ remainder_of[crc & 15];
		crc = (crc >> 4) ^ remainder_of[crc & 15];
	}
	return crc;
}
