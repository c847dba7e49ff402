// SPDX-License-Identifier: MIT
#include "window_rig.h"

#include <string.h>

#include "contract/window.h"

uint64_t table_extents(struct rig *rig, const struct neuron_hw_extent *extents,
		       unsigned int nr)
{
	uint64_t at = rig_host(rig, 0, nr * sizeof(*extents));

	memcpy(rig_host_ptr(rig, 0, at), extents, nr * sizeof(*extents));
	return rig_host_addr(rig, 0, at);
}

static void set_window(struct table *t, unsigned int w, enum neuron_window_kind kind,
		       uint32_t rights, uint64_t base, uint64_t length)
{
	t->window[w] = neuron_hw_window_memory(kind, rights, base, length);
}

static void set_list(struct rig *rig, struct table *t, unsigned int w,
		     enum neuron_window_kind kind, const struct neuron_hw_extent *extents,
		     unsigned int nr)
{
	t->window[w] = neuron_hw_window_list(kind, WINDOW_RW, table_extents(rig, extents, nr), nr,
					     WINDOW_BYTES);
}

void table_make(struct rig *rig, struct table *t)
{
	const unsigned int last = rig->chip[0]->gen->nr_hbm - 1;
	const struct neuron_hw_extent hbm[] = {
		neuron_hw_extent(0x10000, 1),
		neuron_hw_extent(rig_hbm_addr(rig, 1, 0x5001), 4097),
		neuron_hw_extent(0x20003, 9000),
		neuron_hw_extent(rig_hbm_addr(rig, last, 0), 902),
		neuron_hw_extent(rig_hbm_addr(rig, last, FAKE_HBM_SIZE - 6000), 6000),
	};
	const struct neuron_hw_extent peer[] = {
		neuron_hw_extent(neuron_fabric_addr(1, 0x3000), 7777),
		neuron_hw_extent(neuron_fabric_addr(1, rig_sbuf_addr(rig, 1) + 0x80), 12223),
	};

	memset(t, 0, sizeof(*t));
	t->host = rig_host(rig, 0, WINDOW_BYTES + 2 * WINDOW_GUARD) + WINDOW_GUARD;
	set_list(rig, t, W_HBM, NEURON_WINDOW_HBM, hbm, 5);
	set_window(t, W_HOST, NEURON_WINDOW_HOST, WINDOW_RW,
		   rig_host_addr(rig, 0, t->host), WINDOW_BYTES);
	set_window(t, W_SBUF, NEURON_WINDOW_SBUF, WINDOW_RW,
		   rig_sbuf_addr(rig, WINDOW_CORE) + 0x40000 - 100, WINDOW_BYTES);
	set_window(t, W_PSUM, NEURON_WINDOW_PSUM, WINDOW_RW,
		   rig->chip[0]->gen->tpb_addr[WINDOW_CORE] + NEURON_TPB_PSUM + 0x400,
		   WINDOW_BYTES);
	set_list(rig, t, W_PEER, NEURON_WINDOW_PEER, peer, 2);
	t->window[W_SEM] = neuron_hw_window_sems(WINDOW_RW, rig_sem_addr(rig, WINDOW_CORE), 16,
						 16, 0);
	t->window[W_PEER_SEM] =
		neuron_hw_window_sems(WINDOW_RW,
				      neuron_fabric_addr(1, rig_sem_addr(rig, WINDOW_PEER_CORE)),
				      0, 4, 7);
	set_window(t, W_READ, NEURON_WINDOW_HBM, NEURON_WINDOW_READ, 0x8000, 256);
	set_window(t, W_WRITE, NEURON_WINDOW_HBM, NEURON_WINDOW_WRITE, 0x9000,
		   256);
}

enum neuron_cause table_latch_nr(struct rig *rig, const void *entries,
				 unsigned int nr, struct trn_domain **domain)
{
	size_t bytes = nr * sizeof(struct neuron_hw_window);
	uint64_t at = rig_host(rig, 0, bytes);

	memcpy(rig_host_ptr(rig, 0, at), entries, bytes);
	return trn_domain_latch(&rig->chip[0]->core[WINDOW_CORE],
				rig_host_addr(rig, 0, at), nr, domain, NULL);
}

struct trn_domain *table_latch(struct rig *rig, const struct table *t)
{
	struct trn_domain *domain = NULL;

	assert_int_equal(table_latch_nr(rig, t->window, NR_WINDOWS, &domain), 0);
	assert_non_null(domain);
	return domain;
}

struct trn_access rig_access(struct rig *rig, const struct trn_domain *domain)
{
	return (struct trn_access){ .chip = rig->chip[0], .domain = domain };
}

uint32_t rig_violations(struct rig *rig)
{
	return atomic_load(&rig->chip[0]->core[WINDOW_CORE].violations);
}
