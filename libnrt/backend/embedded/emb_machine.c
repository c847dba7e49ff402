// SPDX-License-Identifier: MIT
/*
 * Which chips there are, and the port by which they reach this process.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "backend/embedded/emb.h"
#include "backend/embedded/emb_debug.h"
#include "base/clock.h"
#include "base/thread.h"
#include "trn/fabric.h"
#include "trn/pool.h"

#define MAX_CHIPS	64

/**
 * struct instance - what an instance has, by its public name
 * @link_mbps: 0: the generation's
 */
struct instance {
	const char *name;
	const struct neuron_gen *gen;
	unsigned int chips;
	uint32_t link_mbps;
};

/* Those of tools/neuron_vm/shapes.py that are one server. */
static const struct instance instances[] = {
#include "emb_instances.inc"
};

static const struct neuron_gen *const generations[] = {
	&neuron_gen_trn1, &neuron_gen_inf2, &neuron_gen_trn2, &neuron_gen_trn3,
};

uint32_t emb_read(const struct nrt_chip *chip, uint64_t offset)
{
	return (uint32_t)trn_chip_mmio_read(chip->chip, chip->regs + offset, 4);
}

uint64_t emb_read64(const struct nrt_chip *chip, uint64_t offset)
{
	return trn_chip_mmio_read(chip->chip, chip->regs + offset, 8);
}

void emb_write(const struct nrt_chip *chip, uint64_t offset, uint32_t value)
{
	trn_chip_mmio_write(chip->chip, chip->regs + offset, value, 4);
}

/* --- the port --- */

static bool port_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct nrt_chip *chip = opaque;

	return emb_iova_read(&chip->machine->iova, addr, buf, len);
}

static bool port_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct nrt_chip *chip = opaque;

	return emb_iova_write(&chip->machine->iova, addr, buf, len);
}

static void port_irq(void *opaque, unsigned int vector)
{
	struct nrt_chip *chip = opaque;
	struct emb_machine *machine = chip->machine;

	(void)vector;
	pthread_mutex_lock(&machine->news_lock);
	atomic_fetch_add(&chip->irqs, 1);
	pthread_cond_broadcast(&machine->news);
	if (!atomic_load(&chip->waiters))
		pthread_cond_signal(&chip->work);
	pthread_mutex_unlock(&machine->news_lock);
}

/* What a program did wrong is in the result of its job, with the words of the runtime. */
static void port_log(void *opaque, enum trn_log_level level, const char *line)
{
	(void)opaque;
	(void)level;
	(void)line;
}

static void port_report(void *opaque, const struct trn_report *report)
{
	emb_check_report(opaque, report);
}

static void port_timer(void *opaque, uint64_t delay_ns)
{
	emb_timer_ask(opaque, delay_ns);
}

static const struct trn_port emb_port = {
	.host_read = port_read,
	.host_write = port_write,
	.irq = port_irq,
	.log = port_log,
	.report = port_report,
	.timer = port_timer,
};

void emb_wait_irq(struct nrt_chip *chip, uint64_t seen, uint64_t deadline_ns)
{
	const struct timespec until = nrt_clock_time(deadline_ns);
	struct emb_machine *machine = chip->machine;
	int late = 0;

	if (machine->debugger)
		emb_step(chip, seen);
	pthread_mutex_lock(&machine->news_lock);
	while (!late && atomic_load(&chip->irqs) == seen)
		late = pthread_cond_timedwait(&machine->news, &machine->news_lock, &until);
	pthread_mutex_unlock(&machine->news_lock);
}

/* Somebody may wait for what no interrupt announces. */
void emb_tell(struct nrt_chip *chip)
{
	struct emb_machine *machine = chip->machine;

	pthread_mutex_lock(&machine->news_lock);
	atomic_fetch_add(&chip->irqs, 1);
	pthread_cond_broadcast(&machine->news);
	pthread_mutex_unlock(&machine->news_lock);
}

/* --- jobs that nobody waits for --- */

void emb_keeper_wake(struct nrt_chip *chip)
{
	struct emb_machine *machine = chip->machine;

	pthread_mutex_lock(&machine->news_lock);
	chip->pokes++;
	pthread_cond_signal(&chip->work);
	pthread_mutex_unlock(&machine->news_lock);
}

/* Changes when there is something to do: pokes, interrupts when nobody looks after the chip. */
static uint64_t unattended(const struct nrt_chip *chip)
{
	return chip->pokes + (atomic_load(&chip->waiters) ? 0 : atomic_load(&chip->irqs));
}

/* When to do it again, or 0: there are no jobs. */
static uint64_t look_after(struct nrt_chip *chip)
{
	uint64_t next;

	pthread_mutex_lock(&chip->lock);
	next = emb_service(chip);
	pthread_mutex_unlock(&chip->lock);
	return next;
}

static void keeper_wait(struct nrt_chip *chip, uint64_t next)
{
	const struct timespec until = nrt_clock_time(next);
	struct emb_machine *machine = chip->machine;

	if (next)
		pthread_cond_timedwait(&chip->work, &machine->news_lock, &until);
	else
		pthread_cond_wait(&chip->work, &machine->news_lock);
}

/*
 * Without jobs it sleeps until emb_keeper_wake(). Each chip has its own: one that is slow, in a
 * reset or in a discard, holds up no other.
 */
static void *keep(void *arg)
{
	struct nrt_chip *chip = arg;
	struct emb_machine *machine = chip->machine;
	bool leaving = false;
	uint64_t seen, next;

	while (!leaving) {
		pthread_mutex_lock(&machine->news_lock);
		seen = unattended(chip);
		pthread_mutex_unlock(&machine->news_lock);
		next = look_after(chip);
		pthread_mutex_lock(&machine->news_lock);
		if (!machine->leaving && unattended(chip) == seen)
			keeper_wait(chip, next);
		leaving = machine->leaving;
		pthread_mutex_unlock(&machine->news_lock);
	}
	return NULL;
}

static int start_keeper(struct nrt_chip *chip)
{
	int ret = nrt_thread_start(&chip->keeper, keep, chip);

	chip->has_keeper = !ret;
	return ret;
}

static void stop_keepers(struct emb_machine *machine)
{
	unsigned int i;

	pthread_mutex_lock(&machine->news_lock);
	machine->leaving = true;
	for (i = 0; i < machine->nr_chips; i++)
		pthread_cond_signal(&machine->chip[i].work);
	pthread_mutex_unlock(&machine->news_lock);
	for (i = 0; i < machine->nr_chips; i++)
		if (machine->chip[i].has_keeper)
			pthread_join(machine->chip[i].keeper, NULL);
}

static struct trn_pool *start_pool(bool stepped)
{
	struct trn_pool *pool;
	sigset_t old;

	nrt_signals_block(&old);
	pool = trn_pool_new(stepped ? TRN_POOL_STEPPED : 0, NULL, NULL);
	nrt_signals_restore(&old);
	return pool;
}

/* --- which chips there are --- */

/* An instance of the table, TYPE, or TYPE:CHIPS. */
static bool parse_instance(const char *text, struct instance *found)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	unsigned long chips = 1;
	unsigned int i;
	char *end;

	for (i = 0; i < sizeof(instances) / sizeof(instances[0]); i++) {
		if (strcmp(text, instances[i].name))
			continue;
		*found = instances[i];
		return true;
	}
	if (colon) {
		chips = strtoul(colon + 1, &end, 10);
		if (*end || end == colon + 1 || !chips || chips > MAX_CHIPS)
			return false;
	}
	for (i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
		const struct neuron_gen *gen = generations[i];

		if (strncmp(text, gen->name, length) || gen->name[length])
			continue;
		*found = (struct instance){ gen->name, gen, (unsigned int)chips, 0 };
		return true;
	}
	return false;
}

static NRT_STATUS choose_instance(struct instance *found, struct nrt_error *error)
{
	const char *text = getenv("NEURON_EMU_INSTANCE");

	if (!text || !*text)
		text = "trn2.3xlarge";
	if (parse_instance(text, found))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "NEURON_EMU_INSTANCE=\"%.40s\": use an instance such as trn2.48xlarge, or trn1, inf2, trn2, trn3, with :CHIPS (1 to %u) behind it",
			     text, MAX_CHIPS);
}

static void wait_quiet(struct emb_machine *machine, struct trn_chip *chip)
{
	while (!trn_chip_quiet(chip)) {
		if (machine->debugger)
			emb_debug_settle(machine);
		else
			sched_yield();
	}
}

static void machine_free(struct emb_machine *machine)
{
	unsigned int i;

	stop_keepers(machine);
	emb_timer_stop(&machine->timer);
	if (machine->debugger)
		machine->debugger->closing(machine->debugger->opaque);
	for (i = 0; i < machine->nr_chips; i++) {
		struct nrt_chip *chip = &machine->chip[i];

		if (chip->chip) {
			trn_chip_stop(chip->chip);
			wait_quiet(machine, chip->chip);
			trn_chip_detach(chip->chip);
		}
	}
	for (i = 0; i < machine->nr_chips; i++) {
		struct nrt_chip *chip = &machine->chip[i];

		if (chip->chip)
			wait_quiet(machine, chip->chip);
		trn_chip_free(chip->chip);
		chip->chip = NULL;
		/* Its tables may be the last to have a buffer of another chip. */
		emb_cores_destroy(chip);
	}
	emb_names_destroy(machine);
	for (i = 0; i < machine->nr_chips; i++) {
		struct nrt_chip *chip = &machine->chip[i];

		emb_memory_destroy(chip);
		emb_series_destroy(chip);
		free(chip->import);
		emb_check_destroy(chip);
		pthread_mutex_destroy(&chip->report_lock);
		pthread_cond_destroy(&chip->work);
		pthread_mutex_destroy(&chip->memory_lock);
		pthread_mutex_destroy(&chip->lock);
	}
	if (machine->fabric)
		trn_fabric_unref(machine->fabric);
	if (machine->pool)
		trn_pool_free(machine->pool);
	emb_iova_destroy(&machine->iova);
	emb_timer_destroy(&machine->timer);
	pthread_cond_destroy(&machine->news);
	pthread_mutex_destroy(&machine->step_lock);
	pthread_mutex_destroy(&machine->news_lock);
	pthread_mutex_destroy(&machine->lock);
	free(machine->chip);
	free(machine);
}

void emb_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

static struct emb_machine *machine_new(const struct instance *instance, bool check)
{
	struct emb_machine *machine = calloc(1, sizeof(*machine));

	if (!machine)
		return NULL;
	machine->chip = calloc(instance->chips, sizeof(*machine->chip));
	if (!machine->chip) {
		free(machine);
		return NULL;
	}
	machine->gen = instance->gen;
	machine->check = check;
	machine->pid = getpid();
	machine->debugger = emb_debugger();
	emb_iova_init(&machine->iova);
	pthread_mutex_init(&machine->lock, NULL);
	pthread_mutex_init(&machine->news_lock, NULL);
	pthread_mutex_init(&machine->step_lock, NULL);
	emb_cond_init(&machine->news);
	emb_timer_init(&machine->timer);
	machine->port = emb_port;
	if (machine->debugger)
		machine->port.timer = NULL;
	machine->pool = start_pool(machine->debugger);
	machine->fabric = trn_fabric_new();
	if (!machine->pool || !machine->fabric ||
	    trn_fabric_configure(machine->fabric, TRN_TOPOLOGY_AUTO, instance->link_mbps)) {
		machine_free(machine);
		return NULL;
	}
	return machine;
}

/* The limit of `ulimit -f` would end the process with a signal. */
static bool may_have_file(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur >= size;
}

static void find_hbm(struct nrt_chip *chip)
{
	struct trn_hbm_file file;
	unsigned int i;

	for (i = 0; trn_chip_hbm_file(chip->chip, i, &file); i++)
		chip->stack[i] = (struct emb_stack){
			.hbm = trn_chip_hbm(chip->chip, i),
			.size = file.size,
		};
}

/* @why: a static string, when there is no chip. */
static int chip_new(struct emb_machine *machine, unsigned int index, const char **why)
{
	const struct neuron_gen *gen = machine->gen;
	struct nrt_chip *chip = &machine->chip[index];
	const struct trn_chip_config config = {
		.gen = gen,
		.port = &machine->port,
		.opaque = chip,
		.pool = machine->pool,
		.fabric = machine->fabric,
		.fabric_id = neuron_fabric_id(0, 0, index),
		.position = index,
		.routing_id = neuron_routing_id(gen, index),
		.serial = index + 1,
		.bar4_stride = gen->hbm_active,
		.hbm_files = true,
		.clock = true,
		.check_memory = machine->check,
	};

	chip->machine = machine;
	chip->gen = gen;
	chip->index = index;
	chip->regs = neuron_ctl_bar0(gen);
	snprintf(chip->name, sizeof(chip->name), "embedded chip %u", index);
	pthread_mutex_init(&chip->lock, NULL);
	pthread_mutex_init(&chip->memory_lock, NULL);
	pthread_mutex_init(&chip->report_lock, NULL);
	emb_cond_init(&chip->work);
	machine->nr_chips++;
	if (!may_have_file(gen->hbm_active)) {
		*why = "a stack of HBM is a file of the memory, and larger than ulimit -f allows";
		return -1;
	}
	chip->chip = trn_chip_new(&config, why);
	if (!chip->chip)
		return -1;
	find_hbm(chip);
	emb_write(chip, NEURON_CTL_MASK,
		  ~(uint32_t)(NEURON_CTL_CAUSE_DISCARD | NEURON_CTL_CAUSE_DISCARD_ERROR));
	emb_cores_init(chip);
	return 0;
}

static NRT_STATUS open_chips(struct emb_machine *machine, unsigned int nr,
			     struct nrt_chip **chips, struct nrt_error *error)
{
	const char *why = NULL;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (chip_new(machine, i, &why))
			return nrt_error_set(error, NRT_RESOURCE, "embedded chip %u: %s", i, why);
		if (start_keeper(&machine->chip[i]))
			return nrt_error_set(error, NRT_RESOURCE,
					     "embedded chip %u: cannot start a thread", i);
		chips[i] = &machine->chip[i];
	}
	machine->open = nr;
	return NRT_SUCCESS;
}

static NRT_STATUS start_timer(struct emb_machine *machine, struct nrt_error *error)
{
	if (!emb_timer_start(machine))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_RESOURCE, "embedded chips: cannot start a thread");
}

NRT_STATUS emb_open_all(struct nrt_chip ***chips, unsigned int *count, struct nrt_error *error)
{
	struct emb_machine *machine;
	struct instance instance = { .chips = 0 };
	bool check;

	if (choose_instance(&instance, error) || emb_check_wanted(&check, error))
		return error->status;
	*chips = calloc(instance.chips, sizeof(**chips));
	machine = *chips ? machine_new(&instance, check) : NULL;
	if (!machine) {
		free(*chips);
		return nrt_error_memory(error);
	}
	if (open_chips(machine, instance.chips, *chips, error) || start_timer(machine, error) ||
	    emb_faults_order(machine, error)) {
		machine_free(machine);
		free(*chips);
		return error->status;
	}
	*count = instance.chips;
	if (machine->debugger)
		machine->debugger->opened(machine->debugger->opaque, machine);
	return NRT_SUCCESS;
}

void emb_close(struct nrt_chip *chip)
{
	struct emb_machine *machine = chip->machine;
	bool last;

	/* Its threads are those of the parent. */
	if (emb_forked(chip))
		return;
	pthread_mutex_lock(&machine->lock);
	last = !--machine->open;
	pthread_mutex_unlock(&machine->lock);
	if (last)
		machine_free(machine);
}
