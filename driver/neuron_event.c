// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: records for listeners, uevents of the device node.
 *
 * They are raised where nothing may sleep or wait for memory, interrupt handlers
 * among them, so they go through a small queue to a work.
 */
#include <linux/kfifo.h>
#include <linux/kobject.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>

#include "drm/neuron_accel.h"
#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_listener.h"

#define NEURON_EVENTS		32	/* waiting to be told, a power of two */
#define NEURON_EVENT_INTERVAL	(5 * HZ)
#define NEURON_EVENT_BURST	10	/* of each type in an interval */
#define NEURON_EVENT_TEXT	40	/* of a variable, NUL included */

/**
 * struct neuron_events - events of a device
 * @ndev: device
 * @lock: @queue
 * @queue: waiting to be told
 * @limit: by type; only @work uses them
 * @work: tells
 * @look: links may have changed since they were last read; stays set while the hardware is
 *	down and they cannot be read
 * @links: bit i: link i was up when it was last looked at; only @work changes it
 */
struct neuron_events {
	struct neuron_device *ndev;
	spinlock_t lock;	/* queue */
	DECLARE_KFIFO(queue, struct neuron_event, NEURON_EVENTS);
	struct ratelimit_state limit[NEURON_NR_EVENT_TYPES];
	struct work_struct work;
	bool look;
	unsigned long links;
};

static const char * const neuron_event_names[] = {
	[NEURON_EVENT_FAULT] = "fault",
	[NEURON_EVENT_HANG] = "hang",
	[NEURON_EVENT_RESET] = "reset",
	[NEURON_EVENT_RESET_FAILED] = "reset-failed",
	[NEURON_EVENT_ECC] = "ecc-uncorrectable",
	[NEURON_EVENT_LINK] = "link",
	[NEURON_EVENT_DEVICE_RESET] = "device-reset",
	[NEURON_EVENT_DEVICE_FAILED] = "device-failed",
};

/**
 * struct neuron_event_env - variables of a uevent
 * @text: "NAME=value"
 * @envp: the same, NULL at the end
 * @nr: how many
 */
struct neuron_event_env {
	char text[5][NEURON_EVENT_TEXT];
	char *envp[6];
	unsigned int nr;
};

static __printf(2, 3) void neuron_event_var(struct neuron_event_env *env,
					    const char *format, ...)
{
	va_list args;

	if (env->nr == ARRAY_SIZE(env->text))
		return;
	va_start(args, format);
	vsnprintf(env->text[env->nr], NEURON_EVENT_TEXT, format, args);
	va_end(args);
	env->envp[env->nr] = env->text[env->nr];
	env->nr++;
}

/*
 * drm_dev_wedged_event() sends its uevent for the primary node, which a compute device does
 * not have. So its variable, WEDGED, is set here.
 */
static void neuron_event_tell(struct neuron_events *events,
			      const struct neuron_event *event)
{
	struct neuron_event_env env = {};

	if (!__ratelimit(&events->limit[event->type]))
		return;
	neuron_event_var(&env, "NEURON_EVENT=%s",
			 neuron_event_names[event->type]);
	if (event->core != NEURON_EVENT_DEVICE)
		neuron_event_var(&env, "NEURON_CORE=%u", event->core);
	if (event->job)
		neuron_event_var(&env, "NEURON_JOB=%llu", event->job);
	if (event->type == NEURON_EVENT_ECC)
		neuron_event_var(&env, "NEURON_ADDR=%#llx", event->addr);
	if (event->type == NEURON_EVENT_DEVICE_FAILED)
		neuron_event_var(&env, "WEDGED=rebind,bus-reset");
	kobject_uevent_env(&events->ndev->drm.accel->kdev->kobj, KOBJ_CHANGE,
			   env.envp);
}

static unsigned long neuron_event_read_links(struct neuron_device *ndev)
{
	struct drm_neuron_link_info link;
	unsigned long up = 0;
	unsigned int i;

	for (i = 0; i < ndev->nr_links; i++) {
		neuron_device_read_link(ndev, i, &link);
		if (link.state == 1)
			__set_bit(i, &up);
	}
	return up;
}

/* Return: the hardware was up. No reset or sleep began meanwhile, so *@up is true. */
static bool neuron_event_get_links(struct neuron_device *ndev, unsigned long *up)
{
	bool there;

	down_read(&ndev->epoch_lock);
	there = neuron_hw_up(ndev);
	if (there)
		*up = neuron_event_read_links(ndev);
	up_read(&ndev->epoch_lock);
	return there;
}

static void neuron_event_look_at_links(struct neuron_events *events)
{
	struct neuron_device *ndev = events->ndev;
	unsigned long up, changed;
	unsigned int i;

	if (!xchg(&events->look, false))
		return;
	if (!neuron_event_get_links(ndev, &up)) {
		/* neuron_hw_start() has this work run again. */
		WRITE_ONCE(events->look, true);
		return;
	}
	changed = up ^ events->links;
	events->links = up;
	for_each_set_bit(i, &changed, ndev->nr_links) {
		const struct drm_neuron_event record = {
			.type = DRM_NEURON_EVENT_LINK,
			.link = i,
			.up = test_bit(i, &up),
		};

		neuron_listeners_tell(ndev->listeners, 0, &record);
		dev_notice_ratelimited(ndev->drm.dev, "fabric link %u is %s\n",
				       i, test_bit(i, &up) ? "up" : "down");
	}
}

static void neuron_event_work(struct work_struct *work)
{
	struct neuron_events *events = container_of(work, struct neuron_events,
						    work);
	struct neuron_event event;
	int idx;

	neuron_event_look_at_links(events);
	while (kfifo_out_spinlocked(&events->queue, &event, 1, &events->lock)) {
		neuron_event_look_at_links(events);
		/* The device is gone, and with it the node that uevents are of. */
		if (!drm_dev_enter(&events->ndev->drm, &idx))
			continue;
		neuron_event_tell(events, &event);
		drm_dev_exit(idx);
	}
}

static const enum drm_neuron_event_type neuron_event_records[] = {
	[NEURON_EVENT_FAULT] = DRM_NEURON_EVENT_JOB_FAULT,
	[NEURON_EVENT_HANG] = DRM_NEURON_EVENT_JOB_HANG,
	[NEURON_EVENT_RESET] = DRM_NEURON_EVENT_CORE_RESET,
	[NEURON_EVENT_RESET_FAILED] = DRM_NEURON_EVENT_CORE_FAILED,
	[NEURON_EVENT_ECC] = DRM_NEURON_EVENT_ECC,
	[NEURON_EVENT_DEVICE_RESET] = DRM_NEURON_EVENT_DEVICE_RESET,
	[NEURON_EVENT_DEVICE_FAILED] = DRM_NEURON_EVENT_DEVICE_FAILED,
};

static void neuron_event_record(struct neuron_device *ndev,
				const struct neuron_event *event)
{
	const struct drm_neuron_event record = {
		.type = neuron_event_records[event->type],
		.job = event->job,
		.claim = event->claim,
		.core = event->core == NEURON_EVENT_DEVICE ? 0 : event->core,
		.cause = event->cause,
		.source = event->source,
		.pc = event->pc,
		.addr = event->addr,
	};

	neuron_listeners_tell(ndev->listeners, event->client, &record);
}

void neuron_event_raise(struct neuron_device *ndev,
			const struct neuron_event *event)
{
	struct neuron_events *events = ndev->events;
	unsigned long flags;

	/* The work reads which links have changed, so this is not lost if the queue is full. */
	if (event->type == NEURON_EVENT_LINK)
		WRITE_ONCE(events->look, true);
	else
		neuron_event_record(ndev, event);
	spin_lock_irqsave(&events->lock, flags);
	kfifo_put(&events->queue, *event);
	spin_unlock_irqrestore(&events->lock, flags);
	queue_work(system_unbound_wq, &events->work);
}

void neuron_event_begin(struct neuron_device *ndev)
{
	ndev->events->links = neuron_event_read_links(ndev);
}

void neuron_event_look(struct neuron_device *ndev)
{
	WRITE_ONCE(ndev->events->look, true);
	queue_work(system_unbound_wq, &ndev->events->work);
}

static void neuron_event_fini(void *data)
{
	struct neuron_events *events = data;

	cancel_work_sync(&events->work);
	neuron_listeners_close(events->ndev->listeners);
}

int neuron_event_init(struct neuron_device *ndev)
{
	struct neuron_events *events;
	unsigned int i;
	int ret;

	ret = neuron_listeners_init(ndev);
	if (ret)
		return ret;
	events = drmm_kzalloc(&ndev->drm, sizeof(*events), GFP_KERNEL);
	if (!events)
		return -ENOMEM;
	events->ndev = ndev;
	spin_lock_init(&events->lock);
	INIT_KFIFO(events->queue);
	INIT_WORK(&events->work, neuron_event_work);
	for (i = 0; i < NEURON_NR_EVENT_TYPES; i++) {
		ratelimit_state_init(&events->limit[i], NEURON_EVENT_INTERVAL,
				     NEURON_EVENT_BURST);
		/* No message about uevents that were left out: the log has each event. */
		ratelimit_set_flags(&events->limit[i],
				    RATELIMIT_MSG_ON_RELEASE);
	}
	ndev->events = events;
	return devm_add_action_or_reset(ndev->drm.dev, neuron_event_fini,
					events);
}
