// SPDX-License-Identifier: MIT
/*
 * Functions of the public API that cannot work here. Each gives the status that the public
 * headers have for it, and says why in the log, once.
 */
#include <stdio.h>

#include <nrt/nrt_experimental.h>

#include "api/state.h"

_Static_assert(sizeof(nrt_ucode_info) == 32, "public layout");

#define NO_NETWORK	"there is no network adapter in this model"

/* The first time of a function, whose @said is false before. */
static void say_once(atomic_bool *said, const char *call, const char *why)
{
	if (!atomic_exchange(said, true))
		nrt_log(NRT_LOG_ERROR, call, "%s (this is said once)", why);
}

void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size)
{
	static atomic_bool said;

	say_once(&said, __func__, NO_NETWORK);
	if (err)
		*err = NRT_FAILURE;
	if (err_msg)
		snprintf(err_msg, err_msg_size, "%s", NO_NETWORK);
	return NULL;
}

NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len)
{
	static atomic_bool said;

	(void)va;
	(void)efa_bdf;
	(void)len;
	say_once(&said, __func__, NO_NETWORK);
	return NRT_FAILURE;
}

NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info)
{
	static atomic_bool said;
	struct nrt_state *state = nrt_enter_any();
	bool ready = nrt_is_ready(state);

	nrt_leave(state);
	if (!ucode_info)
		return nrt_fail_with(__func__, NRT_INVALID, "ucode_info is NULL");
	if (ready)
		return nrt_fail_with(__func__, NRT_INVALID, "called after nrt_init()");
	say_once(&said, __func__, "the engines of this model have no microcode");
	return NRT_FAILURE;
}
