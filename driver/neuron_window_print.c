// SPDX-License-Identifier: GPL-2.0-only
/*
 * Window tables as text: core dumps, debugfs. Owners of claims read it, too, so it
 * has no address of host memory.
 */
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_gem.h"
#include "neuron_table.h"
#include "neuron_usage.h"

static const char *neuron_window_kind_name(u32 kind)
{
	static const char * const names[] = {
		[NEURON_WINDOW_EMPTY] = "empty",
		[NEURON_WINDOW_HBM] = "hbm",
		[NEURON_WINDOW_HOST] = "host",
		[NEURON_WINDOW_SBUF] = "sbuf",
		[NEURON_WINDOW_PSUM] = "psum",
		[NEURON_WINDOW_PEER] = "peer",
		[NEURON_WINDOW_SEM] = "sem",
		[NEURON_WINDOW_STREAM] = "stream",
		[NEURON_WINDOW_GRANT] = "grant",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

static void neuron_binding_print_bo(const struct neuron_binding *binding,
				    struct drm_printer *p)
{
	const struct neuron_bo *bo = binding->bo;

	drm_printf(p, " offset %#llx buffer %#zx", binding->offset,
		   bo->base.size);
	if (bo->kind == NEURON_BO_HBM || bo->kind == NEURON_BO_PEER)
		drm_printf(p, " stack %u", bo->stack);
	drm_printf(p, " category %s", neuron_category_name(bo->category));
	if (binding->nr_extents)
		drm_printf(p, " pieces %u", binding->nr_extents);
}

static void neuron_binding_print(const struct neuron_binding *binding,
				 u32 index, struct drm_printer *p)
{
	const struct neuron_hw_window *hw = &binding->hw;
	u32 flags = le32_to_cpu(hw->flags);
	u32 kind = NEURON_GET(NEURON_WINDOW_KIND, flags);
	u64 base = le64_to_cpu(hw->base);

	drm_printf(p, "window %u: %s %s%s length %#llx", index,
		   neuron_window_kind_name(kind),
		   flags & NEURON_WINDOW_READ ? "r" : "-",
		   flags & NEURON_WINDOW_WRITE ? "w" : "-",
		   le64_to_cpu(hw->length));
	if (binding->bo)
		neuron_binding_print_bo(binding, p);
	if (kind == NEURON_WINDOW_SEM)
		drm_printf(p, " first %u", le32_to_cpu(hw->sem_first));
	if (kind == NEURON_WINDOW_SEM || kind == NEURON_WINDOW_GRANT)
		drm_printf(p, " generation %u", le32_to_cpu(hw->generation));
	if (base & NEURON_ADDR_FABRIC)
		drm_printf(p, " chip %llu",
			   NEURON_GET(NEURON_ADDR_FABRIC_CHIP, base));
	drm_printf(p, "\n");
}

void neuron_table_print(const struct neuron_table *table, u32 max,
			struct drm_printer *p)
{
	u32 i, printed = 0, more = 0;

	for (i = 0; i < table->nr; i++) {
		if (!table->binding[i])
			continue;
		if (printed == max) {
			more++;
			continue;
		}
		neuron_binding_print(table->binding[i], i, p);
		printed++;
	}
	if (more)
		drm_printf(p, "windows: %u more\n", more);
}
