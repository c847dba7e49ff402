// SPDX-License-Identifier: MIT
#include <string.h>

#include <nrt/nrt.h>

#include "hw/instance.h"

/*
 * The first name of a number of chips is what a machine is taken for that has no public name.
 * The public interface has no size for UltraServers of Trainium3.
 */
static const struct {
	const char *name;
	const char *chip;
	unsigned int chips;
	uint32_t family;
	uint32_t size;
} instances[] = {
	{ "inf2.xlarge", "Inferentia2", 1, NRT_INSTANCE_INF2, NRT_INSTANCE_SIZE_1XL },
	{ "inf2.8xlarge", "Inferentia2", 1, NRT_INSTANCE_INF2, NRT_INSTANCE_SIZE_8XL },
	{ "inf2.24xlarge", "Inferentia2", 6, NRT_INSTANCE_INF2, NRT_INSTANCE_SIZE_24XL },
	{ "inf2.48xlarge", "Inferentia2", 12, NRT_INSTANCE_INF2, NRT_INSTANCE_SIZE_48XL },
	{ "trn1.2xlarge", "Trainium1", 1, NRT_INSTANCE_TRN1, NRT_INSTANCE_SIZE_2XL },
	{ "trn1.32xlarge", "Trainium1", 16, NRT_INSTANCE_TRN1, NRT_INSTANCE_SIZE_32XL },
	{ "trn1n.32xlarge", "Trainium1", 16, NRT_INSTANCE_TRN1N, NRT_INSTANCE_SIZE_32XL },
	{ "trn2.3xlarge", "Trainium2", 1, NRT_INSTANCE_TRN2, NRT_INSTANCE_SIZE_3XL },
	{ "trn2.48xlarge", "Trainium2", 16, NRT_INSTANCE_TRN2, NRT_INSTANCE_SIZE_48XL },
	{ "trn2u.48xlarge", "Trainium2", 16, NRT_INSTANCE_TRN2U, NRT_INSTANCE_SIZE_48XL },
	{ "trn2-ultraserver", "Trainium2", 64, NRT_INSTANCE_TRN2U, NRT_INSTANCE_SIZE_48XL },
};

#define NR_INSTANCES	(sizeof(instances) / sizeof(instances[0]))

static uint32_t family_of(const struct nrt_device *device)
{
	unsigned int i;

	for (i = 0; i < NR_INSTANCES; i++)
		if (!strcmp(instances[i].chip, device->info.name))
			return instances[i].family;
	return device->info.generation == 4 ? NRT_INSTANCE_TRN3 : NRT_INSTANCE_UNKNOWN;
}

void nrt_instance(const struct nrt_machine *machine, uint32_t *family, uint32_t *size)
{
	const struct nrt_device *first = machine->devices[0];
	unsigned int i, found = NR_INSTANCES;
	char name[64];

	first->backend->instance(name, sizeof(name));
	for (i = NR_INSTANCES; i-- > 0;) {
		/* A name that the chips do not fit to says nothing. */
		if (strcmp(instances[i].chip, first->info.name) ||
		    instances[i].chips != machine->nr_devices)
			continue;
		found = i;
		if (!strcmp(instances[i].name, name))
			break;
	}
	*family = found < NR_INSTANCES ? instances[found].family : family_of(first);
	*size = found < NR_INSTANCES ? instances[found].size : NRT_INSTANCE_SIZE_UNKNOWN;
}
