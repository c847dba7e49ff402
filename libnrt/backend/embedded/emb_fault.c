// SPDX-License-Identifier: MIT
/*
 * Faults on demand of the chips in the process: the words are those that neuron-vm has for its
 * machines (Documentation/hardware/faults.rst, fabric.rst).
 */
#include <stdlib.h>
#include <string.h>

#include "backend/embedded/emb.h"
#include "trn/fabric.h"
#include "trn/fault.h"

#define FAULTS	"NEURON_EMU_FAULT"
#define LINKS	"NEURON_EMU_LINK_FAULT"

static NRT_STATUS refuse(const char *name, const char *text, const char *why,
			 struct nrt_error *error)
{
	return nrt_error_set(error, NRT_INVALID, "%s: \"%.80s\": %s", name, text, why);
}

/* One order: CHIP:TEXT. */
static NRT_STATUS order(struct emb_machine *machine, const char *text, struct nrt_error *error)
{
	char why[TRN_FAULT_WHY], *end;
	unsigned long chip = strtoul(text, &end, 10);

	if (end == text || *end != ':')
		return refuse(FAULTS, text, "begin with the number of a chip and a colon", error);
	if (chip >= machine->nr_chips)
		return nrt_error_set(error, NRT_INVALID, "%s: \"%.80s\": chips are 0 to %u",
				     FAULTS, text, machine->nr_chips - 1);
	if (trn_fault_order(machine->chip[chip].chip, end + 1, why))
		return refuse(FAULTS, text, why, error);
	return NRT_SUCCESS;
}

static NRT_STATUS order_all(struct emb_machine *machine, const char *list,
			    struct nrt_error *error)
{
	char *copy = strdup(list), *rest, *text;

	if (!copy)
		return nrt_error_memory(error);
	error->status = NRT_SUCCESS;
	for (text = strtok_r(copy, ";", &rest); text && !error->status;
	     text = strtok_r(NULL, ";", &rest))
		order(machine, text, error);
	free(copy);
	return error->status;
}

NRT_STATUS emb_faults_order(struct emb_machine *machine, struct nrt_error *error)
{
	const char *faults = getenv(FAULTS), *links = getenv(LINKS), *why;

	if (faults && order_all(machine, faults, error))
		return error->status;
	if (links && *links && trn_fabric_set_links(machine->fabric, links, &why))
		return refuse(LINKS, links, why, error);
	return NRT_SUCCESS;
}
