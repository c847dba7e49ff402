// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include <stdio.h>

#include "base/trn_chip.h"

#define LOG_LINE	256
#define LOG_PERIOD_NS	1000000000u
#define LOG_PER_PERIOD	20

/*
 * May another line that a guest can cause be printed? *@dropped: lines lost
 * before this one, to be told first.
 */
static bool log_allowed(struct trn_log_limit *limit, uint64_t now, unsigned int *dropped)
{
	bool allowed;

	*dropped = 0;
	pthread_mutex_lock(&limit->lock);
	if (!limit->since_ns || now - limit->since_ns >= LOG_PERIOD_NS) {
		limit->since_ns = now;
		limit->lines = 0;
		*dropped = limit->dropped;
		limit->dropped = 0;
	}
	allowed = limit->lines < LOG_PER_PERIOD;
	if (allowed)
		limit->lines++;
	else
		limit->dropped++;
	pthread_mutex_unlock(&limit->lock);
	return allowed;
}

void trn_log(struct trn_chip *chip, enum trn_log_level level,
	     const char *format, ...)
{
	char line[LOG_LINE];
	unsigned int dropped = 0;
	va_list args;

	if (level <= TRN_LOG_WARN && !log_allowed(&chip->log_limit, trn_host_ns(chip), &dropped))
		return;
	if (dropped) {
		snprintf(line, sizeof(line), "%u more messages not shown",
			 dropped);
		chip->port->log(chip->opaque, level, line);
	}
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	chip->port->log(chip->opaque, level, line);
}

const char *trn_cause_name(enum neuron_cause cause)
{
	static const char *const names[NEURON_NR_CAUSES] = {
		[NEURON_CAUSE_NONE]		= "none",
		[NEURON_CAUSE_JOB]		= "malformed job",
		[NEURON_CAUSE_OPCODE]		= "illegal instruction",
		[NEURON_CAUSE_OPERAND]		= "illegal operand",
		[NEURON_CAUSE_ACCESS]		= "outside SBUF or PSUM",
		[NEURON_CAUSE_WINDOW]		= "outside its window",
		[NEURON_CAUSE_RIGHTS]		= "no right to the window",
		[NEURON_CAUSE_PC]		= "left its program",
		[NEURON_CAUSE_QUEUE]		= "queue not of the job",
		[NEURON_CAUSE_SEMAPHORE]	= "semaphore not of the job",
		[NEURON_CAUSE_DESC]		= "malformed descriptor",
		[NEURON_CAUSE_RING_ID]		= "wrong ring id",
		[NEURON_CAUSE_HOST]		= "host address is not memory",
		[NEURON_CAUSE_FABRIC]		= "no such peer",
		[NEURON_CAUSE_HOST_LIMIT]	= "host limit reached",
		[NEURON_CAUSE_ECC]		= "uncorrectable memory error",
		[NEURON_CAUSE_ADDRESS]		= "address maps to nothing",
		[NEURON_CAUSE_RESET]		= "reset",
		[NEURON_CAUSE_ABORT]		= "DMA engine aborted",
		[NEURON_CAUSE_GANG]		= "another member of the gang failed",
	};

	return (unsigned int)cause < NEURON_NR_CAUSES ? names[cause] :
							"unknown";
}
