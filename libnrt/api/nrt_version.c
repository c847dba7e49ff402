// SPDX-License-Identifier: MIT
#include <string.h>

#include <nrt/nrt.h>

#include "base/log.h"
#include "nrt_build.h"

_Static_assert(sizeof(nrt_version_t) == 224, "public layout");

NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size)
{
	nrt_version_t full = {
		.rt_major = NRT_MAJOR_VERSION,
		.rt_minor = NRT_MINOR_VERSION,
		.rt_detail = "neuron-emu " NRT_BUILD_VERSION,
	};

	if (!ver || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "ver is NULL or has no bytes");
	memcpy(ver, &full, size < sizeof(full) ? size : sizeof(full));
	return NRT_SUCCESS;
}
