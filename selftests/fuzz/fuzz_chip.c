// SPDX-License-Identifier: MIT
/*
 * Fuzz target: two chips on one fabric through their MMIO and their memories.
 *
 * The first byte of the input chooses the generation, the rest is a list of
 * operations: register reads and writes, bytes of memory, and shortcuts that a
 * random walk would hardly find (fuzz_make*.c). Whatever they are, nothing may
 * crash, the chips must come to rest when they are stopped, and the memory that
 * the library holds must stay bounded and be given back by a reset.
 *
 * At the end of the process the number of operations is printed.
 *
 * The chips' tasks run between the operations, in the same thread, so that an input
 * does the same each time. With FUZZ_WORKERS=N in the environment N threads run them:
 * for ThreadSanitizer, which then looks at whatever the library shares among them.
 *
 * With FUZZ_LEAK=N input N loses one byte, which must be a finding: so one sees that the
 * memory is really looked at. With FUZZ_RACE=N two threads copy to the same bytes, which are no
 * guest's, while input N is run: ThreadSanitizer must find that.
 */
#include "fuzz_chip.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sanitizer/allocator_interface.h>

#include "hook/trn_inject.h"
#include "trn/fabric.h"

#define MAX_STEPS	8192	/* of one input, so that none is slow */
#define REST_SECONDS	60	/* in which threads come to rest; a fraction of one does */
/*
 * Latched window tables are the most that a guest can make a chip hold: for each
 * core 65,535 windows and a million extents.
 */
#define MOST_BYTES	(CHIPS * NEURON_MAX_CORES * NEURON_MIB(48))
/* After a reset a chip keeps what trn_chip_own_bytes() tells, and of that no more. */
#define KEPT_BYTES	(CHIPS * NEURON_KIB(500))

enum {
	OP_WRITE,
	OP_READ,
	OP_BURST,
	OP_SWEEP,
	OP_HOST,
	OP_HBM,
	OP_QUEUE,
	OP_JOB,
	OP_BLOCK,
	OP_DOORBELLS,
	OP_RESET,
	OP_MASTER,
	OP_INJECT,
	OP_INLINE,
	OP_STOP,
	NR_OPS
};

/**
 * struct target - the state of the process
 * @workers: threads that run tasks, 0: the fuzzer's own
 * @leak: inputs until one loses a byte, 0: none does
 * @lost: that byte
 * @race: inputs until one has a race, 0: none does
 * @shared: the bytes of that race
 * @heap: bytes allocated and not freed, to the byte as they were asked for
 */
struct target {
	struct bench bench[4];
	uint64_t operations;
	unsigned int workers;
	unsigned long leak;
	void *lost;
	unsigned long race;
	uint8_t shared[64];
	_Atomic int64_t heap;
};

static struct target *target_get(void)
{
	static struct target target;

	return &target;
}

static void finding(const char *why)
{
	fprintf(stderr, "fuzz-chip: %s\n", why);
	abort();
}

void fuzz_take(struct fuzz *fuzz, void *out, size_t len)
{
	size_t n = len < fuzz->size ? len : fuzz->size;

	memset(out, 0, len);
	memcpy(out, fuzz->data, n);
	fuzz->data += n;
	fuzz->size -= n;
}

uint32_t fuzz_take32(struct fuzz *fuzz)
{
	uint32_t value;

	fuzz_take(fuzz, &value, sizeof(value));
	return value;
}

void fuzz_seed(struct fuzz *fuzz)
{
	fuzz->random = 0x9e3779b97f4a7c15ull ^ fuzz_take32(fuzz);
}

uint64_t fuzz_random64(struct fuzz *fuzz)
{
	fuzz->random ^= fuzz->random >> 12;
	fuzz->random ^= fuzz->random << 25;
	fuzz->random ^= fuzz->random >> 27;
	return fuzz->random * 0x2545f4914f6cdd1dull;
}

uint32_t fuzz_random(struct fuzz *fuzz, uint32_t below)
{
	return (uint32_t)((fuzz_random64(fuzz) >> 32) * below >> 32);
}

bool fuzz_once_in(struct fuzz *fuzz, uint32_t n)
{
	return !fuzz_random(fuzz, n);
}

void fuzz_write(struct fuzz *fuzz, unsigned int c, uint64_t offset,
		uint64_t value, unsigned int size)
{
	fuzz->operations++;
	trn_chip_mmio_write(fuzz->bench->chip[c], offset, value, size);
}

uint64_t fuzz_read(struct fuzz *fuzz, unsigned int c, uint64_t offset,
		   unsigned int size)
{
	fuzz->operations++;
	return trn_chip_mmio_read(fuzz->bench->chip[c], offset, size);
}

/*
 * As a guest's processor stores them, at any moment: what the chips do with these bytes
 * meanwhile is the guest's race. So ThreadSanitizer does not see these stores, and only these.
 */
__attribute__((noinline, no_sanitize("thread")))
static void guest_store(volatile uint8_t *to, const uint8_t *from, size_t len)
{
	while (len--)
		*to++ = *from++;
}

void fuzz_host(struct fuzz *fuzz, unsigned int c, uint32_t offset,
	       const void *data, size_t len)
{
	fuzz->operations++;
	offset %= HOST_BYTES - (uint32_t)len;
	guest_store(fuzz->bench->port[c].host + offset, data, len);
}

void fuzz_hbm(struct fuzz *fuzz, unsigned int c, unsigned int stack,
	      uint32_t offset, const void *data, size_t len)
{
	uint8_t *hbm = trn_chip_hbm(fuzz->bench->chip[c],
				    stack % fuzz->gen->nr_hbm);

	fuzz->operations++;
	offset %= FAKE_HBM_SIZE - (uint32_t)len;
	guest_store(hbm + offset, data, len);
}

static unsigned int access_size(struct fuzz *fuzz)
{
	static const uint8_t sizes[16] = { 4, 4, 4, 4, 4, 4, 4, 4,
					   4, 4, 8, 8, 8, 1, 2, 4 };

	return sizes[fuzz_random(fuzz, 16)];
}

/* Reads and writes of random values, all over the registers of one block. */
static void op_burst(struct fuzz *fuzz, unsigned int c, unsigned int n)
{
	uint64_t base = fuzz_register(fuzz) & ~0xfffull;
	uint64_t offset;

	while (n--) {
		offset = base + fuzz_random(fuzz, 0x400) * 4;
		if (fuzz_once_in(fuzz, 64))
			offset += fuzz_random(fuzz, 8);
		if (fuzz_once_in(fuzz, 3))
			fuzz_read(fuzz, c, offset, access_size(fuzz));
		else
			fuzz_write(fuzz, c, offset,
				   fuzz_random64(fuzz) >> fuzz_random(fuzz, 64),
				   access_size(fuzz));
	}
}

static void op_sweep(struct fuzz *fuzz, unsigned int c, unsigned int n)
{
	uint64_t offset = fuzz_register(fuzz);

	for (; n--; offset += 4)
		fuzz_read(fuzz, c, offset, 4);
}

/* More descriptors for queues that an earlier operation may have programmed. */
static void op_doorbells(struct fuzz *fuzz, unsigned int c, unsigned int n)
{
	const struct neuron_gen *gen = fuzz->gen;
	uint64_t queue;

	while (n--) {
		queue = neuron_dma_bar0(gen, fuzz_random(fuzz, gen->nr_dma)) +
			NEURON_UDMA_Q_TAIL_INC;
		queue += fuzz_once_in(fuzz, 2) ?
				 NEURON_UDMA_S2M_Q(fuzz_random(fuzz, 16)) :
				 NEURON_UDMA_M2S_Q(fuzz_random(fuzz, 16));
		fuzz_write(fuzz, c, queue, fuzz_random(fuzz, 40), 4);
	}
}

static void op_reset(struct fuzz *fuzz, unsigned int c)
{
	const struct neuron_gen *gen = fuzz->gen;
	uint32_t core = fuzz_random(fuzz, gen->nr_cores);

	switch (fuzz_random(fuzz, 5)) {
	case 4:
		fuzz_write(fuzz, c, neuron_ctl_bar0(gen) +
			   NEURON_CTL_CC(fuzz_random(fuzz, gen->nr_top_sp_ids)) +
			   NEURON_CORE_RESET, 1, 4);
		return;
	case 0:
		fuzz_write(fuzz, c, gen->reset_bar0,
			   fuzz_random64(fuzz) >> fuzz_random(fuzz, 33), 4);
		return;
	case 1:
		fuzz_write(fuzz, c, gen->misc_bar0 + NEURON_MISC_RESET_MAP,
			   fuzz_random64(fuzz), 4);
		fuzz_write(fuzz, c, gen->misc_bar0 + NEURON_MISC_RESET_REQUEST,
			   fuzz_random(fuzz, 4), 4);
		fuzz_write(fuzz, c, gen->misc_bar0 + NEURON_MISC_TRIGGER, 1, 4);
		return;
	default:
		fuzz_write(fuzz, c, neuron_ctl_bar0(gen) +
			   NEURON_CTL_CORE(core) + NEURON_CORE_RESET, 1, 4);
	}
}

static void op_inject(struct fuzz *fuzz, unsigned int c)
{
	struct trn_inject_rule rule = {
		.point = (enum trn_inject_point)
			 fuzz_random(fuzz, TRN_INJECT_POINTS),
		.unit = fuzz_once_in(fuzz, 2) ? TRN_INJECT_ANY :
						fuzz_random(fuzz, 2112),
		.skip = fuzz_random(fuzz, 4),
		.count = fuzz_random(fuzz, 4),
		.chance = fuzz_once_in(fuzz, 2) ? 0 : 500000,
		.value = fuzz_random64(fuzz) >> fuzz_random(fuzz, 64),
	};

	fuzz->operations++;
	trn_inject_add(fuzz->bench->chip[c], &rule);
}

/* Register writes whose tasks run in the thread that writes, as in a vCPU. */
static void op_inline(struct fuzz *fuzz, unsigned int c, bool job)
{
	struct trn_pool *pool = fuzz->bench->pool;

	if (!trn_pool_inline_begin(pool, UINT32_MAX))
		finding("nobody else can be running tasks");
	if (job)
		fuzz_make_job(fuzz, c);
	else
		fuzz_make_queue(fuzz, c);
	trn_pool_inline_end(pool);
}

static void op_memory(struct fuzz *fuzz, unsigned int c, bool host,
		      unsigned int len)
{
	uint32_t offset = fuzz_take32(fuzz);
	uint8_t data[256];

	fuzz_take(fuzz, data, len);
	if (host)
		fuzz_host(fuzz, c, offset, data, len);
	else
		fuzz_hbm(fuzz, c, offset >> 28, offset, data, len);
}

static void op_word(struct fuzz *fuzz, unsigned int c, bool write)
{
	uint64_t value;

	fuzz_seed(fuzz);
	if (!write) {
		fuzz_read(fuzz, c, fuzz_register(fuzz), access_size(fuzz));
		return;
	}
	fuzz_take(fuzz, &value, sizeof(value));
	fuzz_write(fuzz, c, fuzz_register(fuzz), value, access_size(fuzz));
}

/* At most @turns runs of tasks; return how many. Threads run them when they like. */
static unsigned int bench_turns(struct bench *bench, unsigned int turns)
{
	if (!target_get()->workers)
		return trn_pool_step(bench->pool, turns);
	if (turns)
		sched_yield();
	return 0;
}

static void operate(struct fuzz *fuzz, uint32_t word)
{
	unsigned int c = word >> 8 & 1, n = word >> 16 & 0xff;
	struct bench *bench = fuzz->bench;
	unsigned int op = word % NR_OPS;

	if (op != OP_WRITE && op != OP_READ && op != OP_HOST && op != OP_HBM)
		fuzz_seed(fuzz);
	switch (op) {
	case OP_WRITE:
	case OP_READ:
		op_word(fuzz, c, op == OP_WRITE);
		break;
	case OP_BURST:
		op_burst(fuzz, c, n);
		break;
	case OP_SWEEP:
		op_sweep(fuzz, c, n);
		break;
	case OP_HOST:
	case OP_HBM:
		op_memory(fuzz, c, op == OP_HOST, n);
		break;
	case OP_QUEUE:
		fuzz_make_queue(fuzz, c);
		break;
	case OP_JOB:
		fuzz_make_job(fuzz, c);
		break;
	case OP_BLOCK:
		fuzz_make_block(fuzz, c);
		break;
	case OP_DOORBELLS:
		op_doorbells(fuzz, c, n & 31);
		break;
	case OP_RESET:
		op_reset(fuzz, c);
		break;
	case OP_MASTER:
		atomic_store(&bench->port[c].bus_master, n & 3);
		break;
	case OP_INJECT:
		op_inject(fuzz, c);
		break;
	case OP_INLINE:
		op_inline(fuzz, c, n & 1);
		break;
	case OP_STOP:
		trn_chip_stop(bench->chip[c]);
		bench_turns(bench, n);
		trn_chip_resume(bench->chip[c]);
		break;
	}
}

static const struct neuron_gen *const generations[] = {
	&neuron_gen_trn2, &neuron_gen_trn1, &neuron_gen_inf2, &neuron_gen_trn3,
};

/* What the chips say that they hold. */
static int64_t own_bytes(const struct bench *bench)
{
	int64_t bytes = 0;
	unsigned int c;

	for (c = 0; c < CHIPS; c++)
		bytes += (int64_t)trn_chip_own_bytes(bench->chip[c]);
	return bytes;
}

static struct bench *bench_get(struct target *target, unsigned int g)
{
	struct bench *bench = &target->bench[g];
	unsigned int c;

	if (bench->pool)
		return bench;
	bench->pool = trn_pool_new(target->workers ? target->workers : TRN_POOL_STEPPED,
				   NULL, NULL);
	bench->fabric = trn_fabric_new();
	if (!bench->pool || !bench->fabric)
		finding("out of memory");
	for (c = 0; c < CHIPS; c++) {
		fake_port_init(&bench->port[c], HOST_BYTES);
		bench->chip[c] = fake_chip_new(&bench->port[c], generations[g],
					       bench->pool, bench->fabric, c);
		/* Instructions are made by chance: more of them are carried out. */
		bench->chip[c]->config.more_operators = true;
	}
	bench->own = own_bytes(bench);
	return bench;
}

static bool bench_quiet(const struct bench *bench)
{
	unsigned int c;

	for (c = 0; c < CHIPS; c++)
		if (!trn_chip_quiet(bench->chip[c]))
			return false;
	return true;
}

/* Stopped, the chips run out of tasks after a turn of each. */
static void bench_rest(struct bench *bench)
{
	const unsigned int turns = 2 * CHIPS * NEURON_MAX_DMA_ENGINES *
				   NEURON_UDMA_QUEUES;
	const unsigned int wait_us = 100;
	unsigned int c, i;

	for (c = 0; c < CHIPS; c++)
		trn_chip_stop(bench->chip[c]);
	bench_turns(bench, turns);
	for (i = 0; target_get()->workers && i < REST_SECONDS * 1000000u / wait_us; i++) {
		if (bench_quiet(bench))
			break;
		usleep(wait_us);
	}
	if (!bench_quiet(bench))
		finding("a stopped chip does not come to rest");
}

static void bench_reset(struct bench *bench)
{
	unsigned int c;

	for (c = 0; c < CHIPS; c++) {
		trn_inject_clear(bench->chip[c], TRN_INJECT_POINTS);
		trn_chip_reset(bench->chip[c]);
		memset(bench->port[c].host, 0, HOST_BYTES);
		atomic_store(&bench->port[c].bus_master, true);
	}
	for (c = 0; c < CHIPS; c++)
		trn_chip_resume(bench->chip[c]);
	while (bench_turns(bench, UINT32_MAX))
		;
}

static void count_malloc(const volatile void *ptr, size_t size)
{
	(void)ptr;
	atomic_fetch_add(&target_get()->heap, (int64_t)size);
}

static void count_free(const volatile void *ptr)
{
	if (ptr)
		atomic_fetch_sub(&target_get()->heap,
				 (int64_t)__sanitizer_get_allocated_size(ptr));
}

static int64_t heap_bytes(void)
{
	return atomic_load(&target_get()->heap);
}

static void check_bytes(int64_t bytes, int64_t most, const char *why)
{
	if (bytes <= most)
		return;
	fprintf(stderr, "fuzz-chip: %" PRId64 " bytes more than before, at most %" PRId64 "\n",
		bytes, most);
	finding(why);
}

/* At rest and reset: nothing is held that is not counted, and that is bounded. */
static void check_kept(const struct bench *bench, int64_t heap, int64_t own)
{
	check_bytes(heap, own, "resets do not give all memory back");
	check_bytes(own, heap, "memory is counted that is not held");
	check_bytes(own_bytes(bench) - bench->own, KEPT_BYTES, "resets keep too much memory");
}

/* Reached from @target all the time, so that LeakSanitizer has nothing to say about it. */
static void lose_byte(struct target *target)
{
	if (target->leak && !--target->leak)
		target->lost = malloc(1);
}

static void *copy_to_shared(void *data)
{
	struct target *target = target_get();

	memcpy(target->shared, data, sizeof(target->shared));
	return NULL;
}

/* By the C library, as the chips move most of what they share. */
static void race_for_bytes(struct target *target)
{
	uint8_t data[2][sizeof(target->shared)] = { { 1 }, { 2 } };
	pthread_t thread;

	if (!target->race || --target->race)
		return;
	if (pthread_create(&thread, NULL, copy_to_shared, data[0]))
		finding("there is no thread for the race");
	copy_to_shared(data[1]);
	pthread_join(thread, NULL);
}

static void run(struct fuzz *fuzz)
{
	struct bench *bench = fuzz->bench;
	int64_t before = heap_bytes(), own = own_bytes(bench);
	unsigned int steps = MAX_STEPS, turns;
	uint32_t word;

	lose_byte(target_get());
	race_for_bytes(target_get());
	while (fuzz->size) {
		word = fuzz_take32(fuzz);
		operate(fuzz, word);
		turns = word >> 24 & 15;
		if (turns > steps)
			turns = steps;
		steps -= bench_turns(bench, turns);
		check_bytes(heap_bytes() - before, MOST_BYTES, "the chips grow");
	}
	bench_rest(bench);
	bench_reset(bench);
	check_kept(bench, heap_bytes() - before, own_bytes(bench) - own);
}

static void print_operations(void)
{
	printf("operations: %" PRIu64 "\n", target_get()->operations);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *workers = getenv("FUZZ_WORKERS"), *leak = getenv("FUZZ_LEAK");
	const char *race = getenv("FUZZ_RACE");

	(void)argc;
	(void)argv;
	target_get()->workers = workers ? (unsigned int)strtoul(workers, NULL, 10) : 0;
	target_get()->leak = leak ? strtoul(leak, NULL, 10) : 0;
	target_get()->race = race ? strtoul(race, NULL, 10) : 0;
	if (!__sanitizer_install_malloc_and_free_hooks(count_malloc, count_free))
		finding("the sanitizer does not let memory be counted");
	return atexit(print_operations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target *target = target_get();
	struct fuzz fuzz = { .operations = target->operations };
	unsigned int g;

	if (!size)
		return 0;
	g = data[0] & 3;
	fuzz.gen = generations[g];
	fuzz.bench = bench_get(target, g);
	fuzz.data = data + 1;
	fuzz.size = size - 1;
	run(&fuzz);
	target->operations = fuzz.operations;
	return 0;
}
