/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults in words, for the log and the core dump.
 */
#ifndef _NEURON_REPORT_H_
#define _NEURON_REPORT_H_

#include "contract/record.h"

#define NEURON_FAULT_TEXT	160	/* bytes, NUL included */

const char *neuron_engine_name(unsigned int engine);
/* @cause: enum neuron_cause, as the device gave it */
const char *neuron_cause_name(unsigned int cause);

/* "outside its window in vector at pc 7, address 0x8000..." */
void neuron_fault_format(char text[NEURON_FAULT_TEXT],
			 const struct neuron_record *record);

#endif /* _NEURON_REPORT_H_ */
