// SPDX-License-Identifier: MIT
/*
 * Chips that a debugger steps: see emb_debug.h.
 *
 * Who steps holds emb_machine.step_lock, and no other lock.
 */
#include "backend/embedded/emb_debug.h"

#include "backend/embedded/emb.h"
#include "trn/pool.h"

/* Of the process, as the state of the library itself. */
struct place {
	const struct emb_debugger *_Atomic debugger;
};

static struct place *debugger_place(void)
{
	static struct place place;

	return &place;
}

void emb_debug(const struct emb_debugger *debugger)
{
	atomic_store(&debugger_place()->debugger, debugger);
}

const struct emb_debugger *emb_debugger(void)
{
	return atomic_load(&debugger_place()->debugger);
}

struct trn_chip *emb_debug_chip(struct emb_machine *machine, unsigned int i)
{
	return i < machine->nr_chips ? machine->chip[i].chip : NULL;
}

const struct neuron_gen *emb_debug_gen(const struct emb_machine *machine)
{
	return machine->gen;
}

void emb_debug_settle(struct emb_machine *machine)
{
	while (trn_pool_step(machine->pool, 64))
		;
}

bool emb_debug_host(struct emb_machine *machine,
		    bool (*each)(void *opaque, void *bytes, size_t size), void *opaque)
{
	bool good = true;
	size_t i;

	pthread_rwlock_rdlock(&machine->iova.lock);
	for (i = 0; good && i < machine->iova.nr; i++)
		good = each(opaque, machine->iova.region[i].ptr, machine->iova.region[i].size);
	pthread_rwlock_unlock(&machine->iova.lock);
	return good;
}

void emb_step(struct nrt_chip *chip, uint64_t seen)
{
	struct emb_machine *machine = chip->machine;

	pthread_mutex_lock(&machine->step_lock);
	while (atomic_load(&chip->irqs) == seen && trn_pool_step(machine->pool, 1))
		;
	pthread_mutex_unlock(&machine->step_lock);
}

bool emb_step_job(struct nrt_chip *chip, uint64_t seen)
{
	struct emb_machine *machine = chip->machine;
	const struct emb_debugger *debugger = machine->debugger;
	bool go = true;

	pthread_mutex_lock(&machine->step_lock);
	while (go && atomic_load(&chip->irqs) == seen)
		go = debugger->turn(debugger->opaque, trn_pool_step(machine->pool, 1) ?
				    EMB_TURN_BUSY : EMB_TURN_IDLE);
	if (go)
		go = debugger->turn(debugger->opaque, EMB_TURN_IRQ);
	pthread_mutex_unlock(&machine->step_lock);
	return go;
}
