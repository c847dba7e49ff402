// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/cc_rights.h"

uint64_t nrt_cc_hash(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t value = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < size; i++)
		value = (value ^ at[i]) * 0x100000001b3u;
	return value;
}

void nrt_cc_name(char name[NRT_CC_NAME], const char *what, const uint32_t *ranks, uint32_t nr)
{
	snprintf(name, NRT_CC_NAME, "%.30s %016llx", what,
		 (unsigned long long)nrt_cc_hash(ranks, nr * sizeof(*ranks)));
}

NRT_STATUS nrt_cc_rights_init(struct nrt_cc_rights *rights, struct nrt_world *world,
			      struct nrt_core *cc, const uint32_t *ranks, uint32_t nr, uint32_t me,
			      struct nrt_error *error)
{
	*rights = (struct nrt_cc_rights){
		.world = world,
		.cc = cc,
		.ranks = calloc(nr, sizeof(*rights->ranks)),
		.nr = nr,
		.me = me,
		.theirs = calloc(nr, sizeof(*rights->theirs)),
	};
	if (!rights->ranks || !rights->theirs) {
		nrt_cc_rights_fini(rights);
		return nrt_error_memory(error);
	}
	memcpy(rights->ranks, ranks, nr * sizeof(*ranks));
	return NRT_SUCCESS;
}

void nrt_cc_rights_fini(struct nrt_cc_rights *rights)
{
	uint32_t i;

	for (i = 0; rights->theirs && i < rights->nr; i++)
		if (rights->theirs[i])
			nrt_cc_drop_import(rights->cc, rights->theirs[i]);
	free(rights->theirs);
	free(rights->needed);
	free(rights->ranks);
	memset(rights, 0, sizeof(*rights));
}

uint32_t nrt_cc_rights_place(const struct nrt_cc_rights *rights, uint32_t rank)
{
	uint32_t i = 0;

	while (i < rights->nr && rights->ranks[i] != rank)
		i++;
	return i;
}

NRT_STATUS nrt_cc_rights_need(struct nrt_cc_rights *rights, uint32_t place,
			      struct nrt_error *error)
{
	if (!rights->needed)
		rights->needed = calloc(rights->nr, sizeof(*rights->needed));
	if (!rights->needed)
		return nrt_error_memory(error);
	rights->needed[place] = true;
	return NRT_SUCCESS;
}

/* With a descriptor of what each rank grants. */
static NRT_STATUS take_all(void *arg, const int *fds, struct nrt_error *error)
{
	struct nrt_cc_rights *rights = arg;
	uint32_t i, handle;

	for (i = 0; i < rights->nr; i++) {
		if (i == rights->me || (rights->needed && !rights->needed[i]))
			continue;
		if (nrt_cc_import(rights->cc, fds[i], &handle, error))
			return error->status;
		if (rights->theirs[i])
			nrt_cc_drop_import(rights->cc, rights->theirs[i]);
		rights->theirs[i] = handle;
	}
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_rights_exchange(struct nrt_cc_rights *rights, const char *what,
				  struct nrt_error *error)
{
	int mine;
	struct nrt_share share = {
		.gather = {
			.what = rights->name, .rank = rights->me, .count = rights->nr,
			.ranks = rights->ranks,
		},
		.mine = &mine,
		.nr = 1,
		.use = take_all,
		.arg = rights,
	};
	NRT_STATUS status;

	if (nrt_cc_grant(rights->cc, rights->first_sem, rights->nr_sems, &mine, error))
		return error->status;
	nrt_cc_name(rights->name, what, rights->ranks, rights->nr);
	status = nrt_world_share(rights->world, &share, error);
	close(mine);
	rights->granted = !status;
	rights->epoch++;
	return status;
}
