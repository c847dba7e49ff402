/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The QUERY ioctl.
 */
#ifndef _NEURON_QUERY_H_
#define _NEURON_QUERY_H_

#include "neuron_ioctl.h"

NEURON_IOCTL_HANDLER(query);

#endif /* _NEURON_QUERY_H_ */
