/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Moves of many bytes at once.
 */
#ifndef TRN_BULK_H
#define TRN_BULK_H

#include "trn/port.h"

/* From this length on a move is large; shorter ones are the C library's. */
#define TRN_BULK_BYTES	32768

#endif
