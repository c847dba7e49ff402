// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Choice of the host path.
 */
#include "num/trn_num_internal.h"

#include <fenv.h>
#include <stdatomic.h>

static bool usable_scalar(void)
{
	return true;
}

#ifdef TRN_NUM_X86
static bool usable_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       trn_f16c_usable();
}

static bool usable_avx512(void)
{
	return usable_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl");
}
#endif

#define PATH(name)							\
	{								\
		#name, usable_##name, trn_act_##name,		\
		trn_moving_line_##name, trn_multiply_##name,		\
		trn_multiply_picked_##name,				\
		trn_to_fp32_##name, trn_from_fp32_##name,		\
		trn_from_fp32_sr_##name, trn_alu_##name, trn_mix_##name, \
		trn_pair_##name, trn_mx_widen_##name,			\
		trn_has_nan_##name, trn_most_##name,			\
	}

/* Best first. */
static const struct trn_num_path paths[] = {
#ifdef TRN_NUM_X86
	PATH(avx512),
	PATH(avx2),
#endif
	PATH(scalar),
};

/* Every path gives the same bits, so a change needs no order with the work. */
static const struct trn_num_path *_Atomic active;

static const struct trn_num_path *find_path(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (name && strcmp(name, paths[i].name))
			continue;
		if (paths[i].usable())
			return &paths[i];
	}
	return NULL;
}

const struct trn_num_path *trn_num_path(void)
{
	const struct trn_num_path *path;

	path = atomic_load_explicit(&active, memory_order_relaxed);
	if (path)
		return path;

	path = find_path(NULL);
	atomic_store_explicit(&active, path, memory_order_relaxed);
	return path;
}

bool trn_num_force_path(const char *name)
{
	const struct trn_num_path *path = find_path(name);

	if (!path)
		return false;
	atomic_store_explicit(&active, path, memory_order_relaxed);
	return true;
}

const char *trn_num_path_name(void)
{
	return trn_num_path()->name;
}

bool trn_num_is_portable(void)
{
	return trn_num_path() == &paths[sizeof(paths) / sizeof(paths[0]) - 1];
}

void trn_num_thread_init(void)
{
	fesetenv(FE_DFL_ENV);
}

void trn_act(unsigned int func, float *dst, const float *src, float scale,
	     float bias, float param, size_t n)
{
	trn_num_path()->act(func, dst, src, scale, bias, param, n);
}
