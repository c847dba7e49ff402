// SPDX-License-Identifier: MIT
/* For LD_PRELOAD: a device that had no room to work out the times of all ranks. */
#include <dlfcn.h>

#include <nrt/nrt_emu.h>

typedef NRT_STATUS get_fn(uint32_t vnc, nrta_seq_t seq, uint32_t timeout_ms,
			  nrt_emu_group_time_t *time, size_t size);

__attribute__((visibility("default")))
NRT_STATUS nrt_emu_get_group_time(uint32_t vnc, nrta_seq_t seq, uint32_t timeout_ms,
				  nrt_emu_group_time_t *time, size_t size)
{
	get_fn *real = (get_fn *)dlsym(RTLD_NEXT, "nrt_emu_get_group_time");
	NRT_STATUS status = real ? real(vnc, seq, timeout_ms, time, size) : NRT_FAILURE;

	/* One rank suffices. */
	if (!status && !vnc) {
		time->flags = NRT_EMU_INEXACT;
		time->cause = NRT_EMU_TIME_OVERFLOW;
	}
	return status;
}
