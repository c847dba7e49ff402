// SPDX-License-Identifier: GPL-2.0-only
/*
 * Core dumps as text. Documentation/driver.rst has the format.
 */
#include <linux/bitops.h>
#include <linux/string.h>
#include <drm/drm_print.h>

#include "neuron/address.h"
#include "neuron_claim.h"
#include "neuron_dump.h"
#include "neuron_grant.h"
#include "neuron_report.h"
#include "neuron_table.h"

static void neuron_dump_print_head(const struct neuron_dump *dump,
				   struct drm_printer *p)
{
	const struct neuron_core *core = dump->cc->core;
	struct neuron_device *ndev = core->ndev;
	char text[NEURON_FAULT_TEXT];

	drm_printf(p, "neuron core dump 2\n");
	drm_printf(p, "device: %s %s\n", ndev->gen->name,
		   dev_name(ndev->drm.dev));
	drm_printf(p, "core: %u", core->index);
	if (neuron_core_is_cc(core))
		drm_printf(p, " (%s)", core->name);
	drm_printf(p, "\njob: %llu\nran_ns: %llu\n", dump->job, dump->ran_ns);
	neuron_fault_format(text, &dump->record);
	if (dump->faulted)
		drm_printf(p, "reason: %s\n", text);
	else
		drm_printf(p, "reason: %s\n",
			   dump->broken ? "broken contract" : "hang");
}

static u64 neuron_dump_reg64(const struct neuron_dump *dump, u32 reg)
{
	return dump->reg[reg / 4] | (u64)dump->reg[reg / 4 + 1] << 32;
}

static void neuron_dump_print_regs(const struct neuron_dump *dump,
				   struct drm_printer *p)
{
	drm_printf(p, "core_status: %u\n", dump->reg[NEURON_CORE_STATUS / 4]);
	drm_printf(p, "progress: %llu\n",
		   neuron_dump_reg64(dump, NEURON_CORE_PROGRESS));
	drm_printf(p, "register cause: %#x\n",
		   dump->reg[NEURON_CORE_CAUSE / 4]);
	drm_printf(p, "register mask: %#x\n", dump->reg[NEURON_CORE_MASK / 4]);
	drm_printf(p, "register vector: %u\n",
		   dump->reg[NEURON_CORE_VECTOR / 4]);
	drm_printf(p, "register generation: %u\n",
		   dump->reg[NEURON_CORE_GENERATION / 4]);
	drm_printf(p, "register busy_ns: %llu\n",
		   neuron_dump_reg64(dump, NEURON_CORE_BUSY_NS));
	drm_printf(p, "register stale_posts: %u\n",
		   dump->reg[NEURON_CORE_STALE_POSTS / 4]);
	drm_printf(p, "register violations: %u\n",
		   dump->reg[NEURON_CORE_VIOLATIONS / 4]);
	drm_printf(p, "register jobs: %u\n", dump->reg[NEURON_CORE_JOBS / 4]);
}

static void neuron_dump_print_poster(u32 poster, struct drm_printer *p)
{
	u32 who = NEURON_GET(NEURON_SEM_POSTER_WHO, poster);

	switch (NEURON_GET(NEURON_SEM_POSTER_KIND, poster)) {
	case NEURON_SEM_POSTER_NOBODY:
		drm_printf(p, "nobody");
		break;
	case NEURON_SEM_POSTER_ENGINE:
		drm_printf(p, "engine %s", neuron_engine_name(who));
		break;
	case NEURON_SEM_POSTER_DMA:
		drm_printf(p, "dma %u.%u", who >> 4, who & 0xf);
		break;
	case NEURON_SEM_POSTER_PEER:
		drm_printf(p, "chip %u", who);
		break;
	case NEURON_SEM_POSTER_HOST:
		drm_printf(p, "host");
		break;
	case NEURON_SEM_POSTER_CC:
		drm_printf(p, "CC-core %u", who);
		break;
	default:
		drm_printf(p, "? %#x", poster);
		break;
	}
}

/* What the engine waits for, and who could end that. */
static void neuron_dump_print_wait(const struct neuron_dump *dump,
				   unsigned int engine, struct drm_printer *p)
{
	u32 wait = dump->engine[engine].wait;
	u32 index = wait % NEURON_NR_SEMAPHORES;

	if (dump->engine[engine].state != NEURON_ENGINE_WAITING)
		return;
	if (wait & NEURON_CORE_WAIT_EVENT) {
		drm_printf(p, "wait %s: event %u value %u\n",
			   neuron_engine_name(engine), index,
			   !!(dump->event[index / 64] & BIT_ULL(index % 64)));
		return;
	}
	drm_printf(p, "wait %s: semaphore %u value %d last changed by ",
		   neuron_engine_name(engine), index, dump->sem[index]);
	neuron_dump_print_poster(dump->engine[engine].poster, p);
	drm_printf(p, "\n");
	neuron_grant_print(dump->cc, index, p);
}

static void neuron_dump_print_engines(const struct neuron_dump *dump,
				      struct drm_printer *p)
{
	static const char * const states[] = { "halted", "running", "waiting" };
	const struct neuron_dump_engine *engine;
	unsigned int i;

	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		engine = &dump->engine[i];
		drm_printf(p, "engine %s: pc %u state %s", neuron_engine_name(i),
			   engine->pc, engine->state < ARRAY_SIZE(states) ?
			   states[engine->state] : "?");
		if (engine->state == NEURON_ENGINE_WAITING)
			drm_printf(p, " %s %u",
				   engine->wait & NEURON_CORE_WAIT_EVENT ?
				   "event" : "semaphore",
				   engine->wait % NEURON_NR_SEMAPHORES);
		drm_printf(p, "\n");
	}
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		neuron_dump_print_wait(dump, i, p);
}

static bool neuron_dump_queue_busy(const struct neuron_dump_queue *queue)
{
	return queue->m2s_head != queue->m2s_tail ||
	       queue->s2m_head != queue->s2m_tail;
}

/* After a fault the chip has stopped everything. */
static void neuron_dump_print_unfinished(const struct neuron_dump *dump,
					 struct drm_printer *p)
{
	unsigned int i;

	if (dump->faulted)
		return;
	drm_printf(p, "unfinished:");
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (dump->engine[i].state != NEURON_ENGINE_HALTED)
			drm_printf(p, " engine %s", neuron_engine_name(i));
	for (i = 0; i < min(dump->nr_queues, NEURON_DUMP_QUEUES); i++)
		if (neuron_dump_queue_busy(&dump->queue[i]))
			drm_printf(p, " queue %u", i);
	drm_printf(p, "\n");
}

static void neuron_dump_print_posts(const struct neuron_dump *dump,
				    struct drm_printer *p)
{
	unsigned int i;

	for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
		if (dump->sem[i])
			drm_printf(p, "semaphore %u: %d\n", i, dump->sem[i]);
	for (i = 0; i < NEURON_NR_EVENTS; i++)
		if (dump->event[i / 64] & BIT_ULL(i % 64))
			drm_printf(p, "event %u: 1\n", i);
}

static void neuron_dump_print_queues(const struct neuron_dump *dump,
				     struct drm_printer *p)
{
	const struct neuron_dump_queue *queue;
	unsigned int i;

	for (i = 0; i < min(dump->nr_queues, NEURON_DUMP_QUEUES); i++) {
		queue = &dump->queue[i];
		drm_printf(p, "queue %u: dma %u.%u m2s %u/%u s2m %u/%u\n", i,
			   queue->engine, queue->queue, queue->m2s_head,
			   queue->m2s_tail, queue->s2m_head, queue->s2m_tail);
	}
	if (dump->nr_queues > NEURON_DUMP_QUEUES)
		drm_printf(p, "queues: %u more\n",
			   dump->nr_queues - NEURON_DUMP_QUEUES);
}

static void neuron_dump_print_notifies(const struct neuron_dump *dump,
				       struct drm_printer *p)
{
	const struct neuron_hw_notify *notify;
	unsigned int i;
	u32 source;

	for (i = 0; i < dump->nr_notifies; i++) {
		notify = &dump->notify[i];
		source = le32_to_cpu(notify->source);
		drm_printf(p, "notify: engine %s pc %u tag %#x time_ns %llu\n",
			   neuron_engine_name(source >> 24 & 7),
			   source & 0xffffff, le32_to_cpu(notify->tag),
			   le64_to_cpu(notify->time_ns));
	}
}

void neuron_dump_print(const struct neuron_dump *dump, struct drm_printer *p)
{
	neuron_dump_print_head(dump, p);
	neuron_dump_print_regs(dump, p);
	neuron_dump_print_engines(dump, p);
	neuron_dump_print_unfinished(dump, p);
	neuron_dump_print_posts(dump, p);
	neuron_dump_print_queues(dump, p);
	neuron_dump_print_notifies(dump, p);
	if (dump->table)
		neuron_table_print(dump->table, NEURON_DUMP_WINDOWS, p);
}
