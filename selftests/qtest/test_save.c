// SPDX-License-Identifier: MIT
/*
 * A machine with one chip, migrated to a file and loaded by another QEMU: what the
 * chip holds, what it was about to do, faults on demand; how big the file is; and what is
 * written to HBM while QEMU sends it.
 */
#include "machine.h"
#include "qmp.h"

#include "neuron/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHIP_PATH	"/machine/peripheral/chip"
#define GET_FAULTS	\
	"\"qom-get\",\"arguments\":{\"path\":\"" CHIP_PATH "\",\"property\":\"faults\"}"
#define WAIT_MS		30000
#define MASK		0x5au
#define HBM_AT		0x300000u
#define BYTES		4096u
#define FULL		0x200000u
/* HBM that is sent while it changes: so slowly that it takes seconds. */
#define LIVE_BYTES	0x2000000u
#define LIVE_BPS	0x400000u
#define LIVE_CHUNK	0x10000u
#define LIVE_WRITES	150u
#define LIVE_GONE	0x100000u	/* is discarded */
#define LIVE_GONE_BYTES	0x100000u

/**
 * struct save - a machine, and the file that it goes through
 * @path: the file
 */
struct save {
	struct machine m;
	struct qmp qmp;
	char path[40];
};

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static void start(struct save *s, bool incoming)
{
	char device[96];
	const char *const args[] = {
		"-device", device, "-chardev", s->qmp.chardev,
		"-mon", "chardev=mon,mode=control",
		incoming ? "-incoming" : NULL, "defer", NULL,
	};

	snprintf(device, sizeof(device), "%s,id=chip,addr=4,repair-fails=on",
		 s->m.gen->name);
	qmp_prepare(&s->qmp);
	qtest_start(&s->m.qt, args);
	qmp_begin(&s->qmp);
}

static void stop(struct save *s)
{
	qtest_stop(&s->m.qt);
	qmp_end(&s->qmp);
}

static int setup(void **state)
{
	struct save *s = calloc(1, sizeof(*s));
	int fd;

	assert_non_null(s);
	s->m.gen = *state;
	strcpy(s->path, "/tmp/neuron-qtest-file.XXXXXX");
	fd = mkstemp(s->path);
	assert_true(fd >= 0);
	close(fd);
	start(s, false);
	machine_map(&s->m);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct save *s = *state;

	stop(s);
	unlink(s->path);
	free(s);
	return 0;
}

static void wait_migrated(struct save *s)
{
	char answer[QMP_ANSWER];
	unsigned int ms;

	for (ms = 0; ms < WAIT_MS; ms += 5) {
		qmp_execute(&s->qmp, "\"query-migrate\"", answer, sizeof(answer));
		if (strstr(answer, "\"completed\""))
			return;
		if (strstr(answer, "\"failed\""))
			break;
		nap();
	}
	fail_msg("migration does not end: %s", answer);
}

static void begin_migrate(struct save *s, const char *command)
{
	char text[128];

	snprintf(text, sizeof(text), "\"%s\",\"arguments\":{\"uri\":\"file:%s\"}",
		 command, s->path);
	qmp_do(&s->qmp, text);
}

static void migrate(struct save *s, const char *command)
{
	begin_migrate(s, command);
	wait_migrated(s);
}

/* The same machine in another QEMU, which goes on. */
static void move(struct save *s)
{
	migrate(s, "migrate");
	stop(s);
	start(s, true);
	migrate(s, "migrate-incoming");
}

static void fault(struct save *s, const char *text)
{
	char line[300];

	snprintf(line, sizeof(line),
		 "\"qom-set\",\"arguments\":{\"path\":\"%s\",\"property\":\"fault\",\"value\":\"%s\"}",
		 CHIP_PATH, text);
	qmp_do(&s->qmp, line);
}

static uint32_t ctl(struct save *s, uint32_t reg)
{
	return machine_read(&s->m, neuron_ctl_bar0(s->m.gen) + reg);
}

static void fill(uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 256 + 1);
}

/* A queue that is paused with two packets in it. */
static void pause_queue(struct save *s, struct queue *q)
{
	struct machine *m = &s->m;

	queue_init_engine(m, m->gen->nr_ring);
	queue_init(q, m, m->gen->nr_ring, 0, 32);
	queue_copy(q, machine_hbm(m, 1, HBM_AT), machine_host(m, RAM_DATA), BYTES, 0);
	queue_ring(q, 1);
	queue_wait(q);
	machine_write(m, queue_reg(q, false, NEURON_UDMA_Q_CFG),
		      NEURON_UDMA_Q_CFG_RESET);
	queue_copy(q, machine_host(m, RAM_DATA + BYTES),
		   machine_hbm(m, 1, HBM_AT), BYTES, 0);
	queue_copy(q, machine_host(m, RAM_DATA + 2 * BYTES),
		   machine_hbm(m, 1, HBM_AT), BYTES, 0);
	queue_ring(q, 2);
}

static void expect_bytes(struct save *s, uint64_t addr, const uint8_t *bytes)
{
	uint8_t seen[BYTES];

	qtest_memread(&s->m.qt, addr, seen, BYTES);
	assert_memory_equal(seen, bytes, BYTES);
}

static void test_goes_on(void **state)
{
	struct save *s = *state;
	struct machine *m = &s->m;
	uint8_t bytes[BYTES], none[BYTES] = { 0 };
	struct queue q;

	fill(bytes, BYTES);
	qtest_memwrite(&m->qt, RAM_DATA, bytes, BYTES);
	qtest_memwrite(&m->qt, m->bar4 + HBM_AT, bytes, BYTES);
	machine_write(m, neuron_ctl_bar0(m->gen) + NEURON_CTL_MASK, MASK);
	pause_queue(s, &q);
	move(s);
	expect_bytes(s, m->bar4 + HBM_AT, bytes);
	expect_bytes(s, RAM_DATA + BYTES, none);
	assert_int_equal(ctl(s, NEURON_CTL_MAGIC), NEURON_CTL_MAGIC_VALUE);
	assert_int_equal(ctl(s, NEURON_CTL_MASK), MASK);
	assert_int_equal(machine_read(m, queue_reg(&q, false, NEURON_UDMA_Q_STATUS)) &
			 NEURON_UDMA_Q_PTR, 2);
	machine_write(m, queue_reg(&q, false, NEURON_UDMA_Q_CFG),
		      NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH |
		      NEURON_UDMA_Q_CFG_SCHEDULE);
	queue_wait(&q);
	expect_bytes(s, RAM_DATA + BYTES, bytes);
	expect_bytes(s, RAM_DATA + 2 * BYTES, bytes);
}

/* In the same QEMU: other values are lost. */
static void test_comes_back(void **state)
{
	struct save *s = *state;
	uint32_t mask = neuron_ctl_bar0(s->m.gen) + NEURON_CTL_MASK;

	machine_write(&s->m, mask, MASK);
	fault(s, "throttle,percent=70,reason=power");
	move(s);
	machine_write(&s->m, mask, 1);
	fault(s, "clear");
	assert_int_equal(ctl(s, NEURON_CTL_THROTTLE), 100);
	assert_int_equal(ctl(s, NEURON_CTL_THROTTLE_REASON), NEURON_THROTTLE_NONE);
	stop(s);
	start(s, true);
	migrate(s, "migrate-incoming");
	assert_int_equal(ctl(s, NEURON_CTL_MASK), MASK);
	assert_int_equal(ctl(s, NEURON_CTL_THROTTLE), 70);
	assert_int_equal(ctl(s, NEURON_CTL_THROTTLE_REASON), NEURON_THROTTLE_POWER);
}

static void test_faults(void **state)
{
	static const char rule[] = "dma-lost,queue=0:5,skip=3,count=1";
	struct save *s = *state;
	char answer[QMP_ANSWER];

	fault(s, rule);
	fault(s, "ecc,offset=0x1000");
	move(s);
	qmp_execute(&s->qmp, GET_FAULTS, answer, sizeof(answer));
	if (!strstr(answer, rule) || !strstr(answer, "\"bad-cells\": 1"))
		fail_msg("%s", answer);
}

static uint64_t file_bytes(struct save *s)
{
	struct stat st;

	migrate(s, "migrate");
	assert_false(stat(s->path, &st));
	return (uint64_t)st.st_size;
}

/* Memory that nobody has written costs nothing. */
static void test_size(void **state)
{
	struct save *s = *state;
	uint64_t idle = file_bytes(s), full;
	uint8_t *bytes = malloc(FULL);

	assert_true(idle < 4u << 20);
	assert_non_null(bytes);
	fill(bytes, FULL);
	stop(s);
	start(s, false);
	machine_map(&s->m);
	qtest_memwrite(&s->m.qt, s->m.bar4 + HBM_AT, bytes, FULL);
	full = file_bytes(s);
	assert_in_range(full, idle + FULL, idle + FULL + FULL / 8);
	free(bytes);
}

/* --- while the machine runs --- */

/**
 * struct live - HBM that changes while it is sent
 * @model: what stack 0 must have at the end, from its beginning on
 * @seed: of what the writes do
 */
struct live {
	struct save *s;
	struct queue q;
	uint8_t *model;
	uint32_t seed;
};

static uint32_t below(struct live *l, uint32_t limit)
{
	l->seed = l->seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)l->seed * limit >> 32);
}

static void live_bandwidth(struct save *s, uint64_t bytes)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "\"migrate-set-parameters\",\"arguments\":{\"max-bandwidth\":%llu}",
		 (unsigned long long)bytes);
	qmp_do(&s->qmp, text);
}

/* A number of query-migrate; 0: there is none. */
static uint64_t progress(struct save *s, const char *name)
{
	char answer[QMP_ANSWER], key[40];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\": ", name);
	qmp_execute(&s->qmp, "\"query-migrate\"", answer, sizeof(answer));
	at = strstr(answer, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void live_begin(struct live *l, struct save *s)
{
	uint32_t i;

	*l = (struct live){ .s = s, .model = malloc(LIVE_BYTES), .seed = 1 };
	assert_non_null(l->model);
	for (i = 0; i < LIVE_BYTES; i++)
		l->model[i] = (uint8_t)(i * 7 + i / 4096 + 1);
	for (i = 0; i < LIVE_BYTES; i += LIVE_CHUNK)
		qtest_memwrite(&s->m.qt, s->m.bar4 + i, l->model + i, LIVE_CHUNK);
	queue_init_engine(&s->m, s->m.gen->nr_ring);
	queue_init(&l->q, &s->m, s->m.gen->nr_ring, 0, 32);
}

static void live_copy(struct live *l, uint64_t dst, uint64_t src, uint32_t len)
{
	queue_copy(&l->q, dst, src, len, 0);
	queue_ring(&l->q, 1);
	queue_wait(&l->q);
}

/* A few bytes at random: by the processor, by DMA from the guest's memory and from HBM. */
static void live_write(struct live *l)
{
	struct machine *m = &l->s->m;
	uint32_t at = below(l, LIVE_BYTES - BYTES), len = 1 + below(l, 64);
	uint32_t from = below(l, LIVE_BYTES - BYTES);
	uint8_t bytes[64];
	uint32_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)below(l, 256);
	switch (below(l, 3)) {
	case 0:
		qtest_memwrite(&m->qt, m->bar4 + at, bytes, len);
		break;
	case 1:
		qtest_memwrite(&m->qt, RAM_DATA, bytes, len);
		live_copy(l, machine_hbm(m, 0, at), machine_host(m, RAM_DATA), len);
		break;
	default:
		if (from < at + len && at < from + len)
			return;
		live_copy(l, machine_hbm(m, 0, at), machine_hbm(m, 0, from), len);
		memcpy(bytes, l->model + from, len);
	}
	memcpy(l->model + at, bytes, len);
}

static void live_discard(struct live *l)
{
	struct machine *m = &l->s->m;
	const uint64_t ctl_bar0 = neuron_ctl_bar0(m->gen);
	const uint64_t addr = machine_hbm(m, 0, LIVE_GONE);

	machine_write(m, ctl_bar0 + NEURON_CTL_DISCARD_ADDR, (uint32_t)addr);
	machine_write(m, ctl_bar0 + NEURON_CTL_DISCARD_ADDR + 4, (uint32_t)(addr >> 32));
	machine_write(m, ctl_bar0 + NEURON_CTL_DISCARD_LEN, LIVE_GONE_BYTES);
	machine_write(m, ctl_bar0 + NEURON_CTL_DISCARD_LEN + 4, 0);
	machine_write(m, ctl_bar0 + NEURON_CTL_DISCARD_GO, 1);
	machine_wait(m, ctl_bar0 + NEURON_CTL_CAUSE, NEURON_CTL_CAUSE_DISCARD,
		     NEURON_CTL_CAUSE_DISCARD);
	memset(l->model + LIVE_GONE, 0, LIVE_GONE_BYTES);
}

static void expect_model(struct live *l)
{
	uint8_t *seen = malloc(LIVE_CHUNK);
	uint32_t i;

	assert_non_null(seen);
	for (i = 0; i < LIVE_BYTES; i += LIVE_CHUNK) {
		qtest_memread(&l->s->m.qt, l->s->m.bar4 + i, seen, LIVE_CHUNK);
		if (memcmp(seen, l->model + i, LIVE_CHUNK))
			fail_msg("HBM differs in the 64 KiB at 0x%x", i);
	}
	free(seen);
}

/*
 * Writes while the first pass is under way: much of what they change has been sent. They end
 * before the pass does; after that the machine may stop at any moment.
 */
static void test_live(void **state)
{
	struct save *s = *state;
	unsigned int writes = 0;
	struct live l;

	live_begin(&l, s);
	live_bandwidth(s, LIVE_BPS);
	begin_migrate(s, "migrate");
	while (progress(s, "transferred") < LIVE_BYTES / 8)
		nap();
	live_discard(&l);
	for (; writes < LIVE_WRITES && progress(s, "remaining") > LIVE_BYTES / 8; writes++)
		live_write(&l);
	assert_true(writes);
	live_bandwidth(s, 1ull << 34);
	wait_migrated(s);
	/* More than one pass over memory. */
	assert_true(progress(s, "dirty-sync-count") > 1);
	expect_model(&l);
	stop(s);
	start(s, true);
	migrate(s, "migrate-incoming");
	expect_model(&l);
	free(l.model);
}

/* Not with these devices; the machine that would load says so. */
static void test_postcopy(void **state)
{
	struct save *s = *state;
	char answer[QMP_ANSWER];

	stop(s);
	start(s, true);
	qmp_monitor(&s->qmp, "migrate_set_capability postcopy-ram on", answer, sizeof(answer));
	/* Then nothing can be migrated so. */
	if (strstr(answer, "Userfaultfd not available"))
		skip();
	if (!strstr(answer, "a machine with neuron chips cannot be migrated by postcopy"))
		fail_msg("%s", answer);
}

/* The property, and what a driver reads. */
static void test_repair_fails(void **state)
{
	struct save *s = *state;
	struct machine *m = &s->m;
	const uint32_t misc = m->gen->misc_bar0;
	const unsigned int engine = m->gen->nr_ring;
	struct queue q;

	fault(s, "ecc,stack=1,offset=0x1000");
	assert_int_equal(machine_read(m, misc + NEURON_MISC_HBM_REPAIR), 0);
	queue_init_engine(m, engine);
	queue_init(&q, m, engine, 0, 32);
	queue_copy(&q, machine_host(m, RAM_DATA), machine_hbm(m, 1, 0x1000), 64, 0);
	queue_ring(&q, 1);
	machine_wait(m, neuron_ctl_bar0(m->gen) + NEURON_CTL_DMA(engine) +
		     NEURON_DMA_ERROR(0), 0xff, NEURON_CAUSE_ECC);
	assert_int_equal(machine_read(m, misc + NEURON_MISC_HBM_REPAIR),
			 NEURON_MISC_REPAIR_FAILED);
}

#define TEST(name)	{ #name, test_##name, setup, teardown, gen }

int main(int argc, char **argv)
{
	void *gen = argc == 2 ? (void *)machine_gen(argv[1]) : NULL;
	const struct CMUnitTest tests[] = {
		TEST(goes_on),
		TEST(comes_back),
		TEST(faults),
		TEST(size),
		TEST(live),
		TEST(postcopy),
		TEST(repair_fails),
	};

	if (!gen) {
		fprintf(stderr, "usage: test-save TYPE\n");
		return EXIT_FAILURE;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
