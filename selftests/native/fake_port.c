// SPDX-License-Identifier: MIT
#include "fake_port.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static bool host_ok(const struct fake_port *port, uint64_t addr, size_t len)
{
	return atomic_load(&port->bus_master) && addr <= port->host_size &&
	       len <= port->host_size - addr;
}

static bool fake_host_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct fake_port *port = opaque;

	if (port->before_read && !port->before_read(addr, len))
		return false;
	if (!host_ok(port, addr, len))
		return false;
	memcpy(buf, port->host + addr, len);
	return true;
}

static bool fake_host_write(void *opaque, uint64_t addr, const void *buf,
			    size_t len)
{
	struct fake_port *port = opaque;

	if (!host_ok(port, addr, len))
		return false;
	memmove(port->host + addr, buf, len);
	return true;
}

static void *fake_host_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
	struct fake_port *port = opaque;
	uint64_t left = FAKE_MAP - addr % FAKE_MAP;

	(void)write;
	if (*len > left)
		*len = left;
	if (!host_ok(port, addr, *len))
		return NULL;
	atomic_fetch_add(&port->maps, 1);
	atomic_fetch_add(&port->mapped, 1);
	return port->host + addr;
}

static void fake_host_unmap(void *opaque, void *ptr, size_t len, size_t changed)
{
	struct fake_port *port = opaque;
	uint64_t addr = (uint64_t)((uint8_t *)ptr - port->host);

	assert_true(len && len <= FAKE_MAP - addr % FAKE_MAP && changed <= len);
	assert_true(atomic_fetch_sub(&port->mapped, 1) > 0);
}

static void fake_irq(void *opaque, unsigned int vector)
{
	struct fake_port *port = opaque;

	if (vector >= FAKE_VECTORS)
		return;
	pthread_mutex_lock(&port->lock);
	port->irqs[vector]++;
	port->last_vector = vector;
	pthread_cond_broadcast(&port->changed);
	pthread_mutex_unlock(&port->lock);
}

static void fake_log(void *opaque, enum trn_log_level level, const char *line)
{
	struct fake_port *port = opaque;
	char *slot;

	pthread_mutex_lock(&port->lock);
	slot = port->log[port->lines++ % FAKE_LOG_LINES];
	strncpy(slot, line, FAKE_LOG_LEN - 1);
	port->logged[level]++;
	pthread_mutex_unlock(&port->lock);
}

static void *fake_hbm_alloc(void *opaque, unsigned int stack, uint64_t size)
{
	struct fake_port *port = opaque;
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		return NULL;
	port->hbm[stack] = mem;
	port->hbm_size[stack] = size;
	return mem;
}

static void fake_hbm_dirty(void *opaque, unsigned int stack, uint64_t offset,
			   uint64_t len)
{
	struct fake_port *port = opaque;
	uint64_t page;

	assert_true(len && offset + len <= port->hbm_size[stack]);
	for (page = offset / FAKE_PAGE; page <= (offset + len - 1) / FAKE_PAGE; page++)
		atomic_fetch_or(&port->dirty[stack][page / 64], 1ull << page % 64);
}

static void fake_hbm_discard(void *opaque, unsigned int stack, uint64_t offset,
			     uint64_t len)
{
	struct fake_port *port = opaque;

	madvise((uint8_t *)port->hbm[stack] + offset, len, MADV_DONTNEED);
	if (port->dirty[stack])
		fake_hbm_dirty(port, stack, offset, len);
}

void fake_dirty_enable(struct fake_port *port)
{
	unsigned int i;

	for (i = 0; i < NEURON_MAX_HBM; i++) {
		port->dirty[i] = calloc(port->hbm_size[i] / FAKE_PAGE / 64 + 1,
					sizeof(*port->dirty[i]));
		assert_non_null(port->dirty[i]);
	}
	port->ops.hbm_dirty = fake_hbm_dirty;
}

bool fake_dirty_take(struct fake_port *port, unsigned int stack, uint64_t page)
{
	const uint64_t bit = 1ull << page % 64;
	_Atomic uint64_t *word = &port->dirty[stack][page / 64];

	return atomic_load(word) & bit && atomic_fetch_and(word, ~bit) & bit;
}

unsigned int fake_dirty_pages(struct fake_port *port, unsigned int stack)
{
	unsigned int pages = 0;
	uint64_t i;

	for (i = 0; i < port->hbm_size[stack] / FAKE_PAGE / 64; i++)
		pages += (unsigned int)__builtin_popcountll(atomic_load(&port->dirty[stack][i]));
	return pages;
}

const struct neuron_gen *fake_gen(void)
{
	static const struct neuron_gen *const gens[] = {
		&neuron_gen_trn1, &neuron_gen_inf2,
		&neuron_gen_trn2, &neuron_gen_trn3,
	};
	const char *name = getenv("NEURON_TEST_TYPE");
	unsigned int i;

	for (i = 0; name && i < sizeof(gens) / sizeof(gens[0]); i++)
		if (!strcmp(name, gens[i]->name))
			return gens[i];
	if (name)
		fail_msg("NEURON_TEST_TYPE is '%s'", name);
	return &neuron_gen_trn2;
}

void fake_port_init(struct fake_port *port, size_t host_size)
{
	memset(port, 0, sizeof(*port));
	port->ops = (struct trn_port) {
		.host_read = fake_host_read,
		.host_write = fake_host_write,
		.host_map = fake_host_map,
		.host_unmap = fake_host_unmap,
		.irq = fake_irq,
		.log = fake_log,
		.hbm_alloc = fake_hbm_alloc,
		.hbm_discard = fake_hbm_discard,
	};
	port->host = calloc(1, host_size);
	assert_non_null(port->host);
	port->host_size = host_size;
	atomic_init(&port->bus_master, true);
	pthread_mutex_init(&port->lock, NULL);
	pthread_cond_init(&port->changed, NULL);
}

void fake_port_destroy(struct fake_port *port)
{
	unsigned int i;

	assert_int_equal(atomic_load(&port->mapped), 0);
	for (i = 0; i < NEURON_MAX_HBM; i++) {
		if (port->hbm[i])
			munmap(port->hbm[i], port->hbm_size[i]);
		free(port->dirty[i]);
	}
	pthread_cond_destroy(&port->changed);
	pthread_mutex_destroy(&port->lock);
	free(port->host);
}

struct trn_chip_config fake_chip_config(struct fake_port *port,
					const struct neuron_gen *gen,
					struct trn_pool *pool,
					struct trn_fabric *fabric,
					uint32_t fabric_id)
{
	port->gen = gen;
	return (struct trn_chip_config) {
		.gen = gen,
		.port = &port->ops,
		.opaque = port,
		.pool = pool,
		.fabric = fabric,
		.fabric_id = fabric_id,
		.position = fabric_id,
		.routing_id = fabric_id & 63,
		.serial = 0x1122334400000000ull + fabric_id + 1,
		.hbm_size = FAKE_HBM_SIZE,
		.bar4_stride = FAKE_HBM_SIZE,
		.clock = true,
	};
}

struct trn_chip *fake_chip_new(struct fake_port *port,
			       const struct neuron_gen *gen,
			       struct trn_pool *pool,
			       struct trn_fabric *fabric, uint32_t fabric_id)
{
	struct trn_chip_config config =
		fake_chip_config(port, gen, pool, fabric, fabric_id);
	const char *why = NULL;
	struct trn_chip *chip = trn_chip_new(&config, &why);

	if (!chip)
		fail_msg("no chip: %s", why);
	return chip;
}

static bool chip_quiet(void *arg)
{
	return trn_chip_quiet(arg);
}

void fake_chip_stop(struct trn_chip *chip)
{
	trn_chip_stop(chip);
	assert_true(fake_wait(chip_quiet, chip));
}

void fake_chip_free(struct trn_chip *chip)
{
	fake_chip_stop(chip);
	trn_chip_free(chip);
}

uint64_t fake_host_addr(const struct fake_port *port, uint64_t offset)
{
	return port->gen->host_base | offset;
}

unsigned int fake_irqs(struct fake_port *port, unsigned int vector)
{
	unsigned int n;

	pthread_mutex_lock(&port->lock);
	n = port->irqs[vector];
	pthread_mutex_unlock(&port->lock);
	return n;
}

bool fake_wait_irq(struct fake_port *port, unsigned int vector,
		   unsigned int count)
{
	struct timespec end;
	int err = 0;
	bool seen;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += FAKE_WAIT_MS / 1000;
	pthread_mutex_lock(&port->lock);
	while (port->irqs[vector] < count && !err)
		err = pthread_cond_timedwait(&port->changed, &port->lock, &end);
	seen = port->irqs[vector] >= count;
	pthread_mutex_unlock(&port->lock);
	return seen;
}

static void fake_timer(void *opaque, uint64_t delay_ns)
{
	struct fake_port *port = opaque;

	pthread_mutex_lock(&port->lock);
	port->timers++;
	port->timer_ns = delay_ns;
	pthread_cond_broadcast(&port->changed);
	pthread_mutex_unlock(&port->lock);
}

void fake_timer_enable(struct fake_port *port)
{
	port->ops.timer = fake_timer;
}

static uint64_t fake_now(void *opaque)
{
	struct fake_port *port = opaque;

	return atomic_load(&port->now_ns);
}

void fake_clock_enable(struct fake_port *port)
{
	atomic_store(&port->now_ns, 1);
	port->ops.now = fake_now;
}

unsigned int fake_timers(struct fake_port *port)
{
	unsigned int n;

	pthread_mutex_lock(&port->lock);
	n = port->timers;
	pthread_mutex_unlock(&port->lock);
	return n;
}

bool fake_wait_timer(struct fake_port *port, unsigned int before)
{
	struct timespec end;
	int err = 0;
	bool asked;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += FAKE_WAIT_MS / 1000;
	pthread_mutex_lock(&port->lock);
	while (port->timers <= before && !err)
		err = pthread_cond_timedwait(&port->changed, &port->lock, &end);
	asked = port->timers > before;
	pthread_mutex_unlock(&port->lock);
	return asked;
}

void fake_timer_ring(struct fake_port *port, struct trn_chip *chip)
{
	struct timespec delay;

	pthread_mutex_lock(&port->lock);
	delay.tv_sec = (time_t)(port->timer_ns / 1000000000u);
	delay.tv_nsec = (long)(port->timer_ns % 1000000000u);
	pthread_mutex_unlock(&port->lock);
	nanosleep(&delay, NULL);
	trn_chip_expire(chip);
}

bool fake_logged(struct fake_port *port, const char *text)
{
	bool found = false;
	unsigned int i;

	pthread_mutex_lock(&port->lock);
	for (i = 0; i < FAKE_LOG_LINES && !found; i++)
		found = strstr(port->log[i], text);
	pthread_mutex_unlock(&port->lock);
	return found;
}

unsigned int fake_log_count(struct fake_port *port, enum trn_log_level level)
{
	unsigned int n;

	pthread_mutex_lock(&port->lock);
	n = port->logged[level];
	pthread_mutex_unlock(&port->lock);
	return n;
}

bool fake_wait(bool (*done)(void *arg), void *arg)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	unsigned int i;

	for (i = 0; i < FAKE_WAIT_MS * 10; i++) {
		if (done(arg))
			return true;
		nanosleep(&nap, NULL);
	}
	return done(arg);
}

struct reg_wait {
	struct trn_chip *chip;
	uint64_t offset;
	uint32_t mask;
	uint32_t value;
};

static bool reg_has(void *arg)
{
	const struct reg_wait *w = arg;

	return (trn_chip_mmio_read(w->chip, w->offset, 4) & w->mask) == w->value;
}

bool fake_wait_reg(struct trn_chip *chip, uint64_t offset, uint32_t mask,
		   uint32_t value)
{
	struct reg_wait w = { chip, offset, mask, value };

	return fake_wait(reg_has, &w);
}
