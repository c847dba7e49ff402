// SPDX-License-Identifier: MIT
/*
 * A reset of the whole device under its users: what they had ends in one defined
 * way, and the device works again.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "load_rig.h"
#include "neuron_test.h"

#define LIMIT	60000	/* ms, of what should end soon */
#define MIB	(1024ull * 1024)

/* A job that loops for ever, with a limit that does not matter here. */
static int64_t start_endless(struct rig *rig)
{
	rig_clear(rig);
	rig_loop(rig, NEURON_ENGINE_VECTOR, 0);
	return rig_start(rig, 600000);
}

static int works(int device)
{
	struct drm_neuron_wait_job result;
	struct rig rig;
	int ret = rig_open(&rig, device, RIG_ANY_CORE);

	if (ret)
		return ret;
	rig_clear(&rig);
	rig_store(&rig, NEURON_ENGINE_SYNC, 0, 0xa11fe);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	ret = rig_run(&rig, LIMIT, &result);
	if (!ret && result.status != NEURON_JOB_OK)
		ret = -EIO;
	if (!ret && memcmp(rig.data, "\xfe\x11\x0a", 4))
		ret = -EILSEQ;
	rig_close(&rig);
	return ret;
}

FIXTURE(reset) {
	struct rig_usage before;
	int fd;
};

FIXTURE_SETUP(reset)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
}

FIXTURE_TEARDOWN(reset)
{
	if (self->fd < 0)
		return;
	EXPECT_EQ(0, works(0));
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

TEST_F(reset, idle)
{
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, neuron_reset_device(self->fd));
		ASSERT_EQ(0, works(0));
	}
}

/* The running job, the queued one, and everything that the claim is asked for. */
TEST_F(reset, claim_is_lost)
{
	struct drm_neuron_window window = {};
	struct drm_neuron_grant grant = { .count = 1 };
	struct drm_neuron_reset again = { 0 };
	struct drm_neuron_wait_job result;
	int64_t running, queued;
	struct rig rig;

	ASSERT_EQ(0, rig_open(&rig, 0, RIG_ANY_CORE));
	running = start_endless(&rig);
	ASSERT_GT(running, 0);
	queued = rig_start(&rig, 600000);
	ASSERT_GT(queued, 0);
	ASSERT_EQ(-ETIMEDOUT, rig_wait(&rig, running, 300, NULL));

	ASSERT_EQ(0, neuron_reset_device(self->fd));
	ASSERT_EQ(0, rig_wait(&rig, running, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_EQ(NEURON_CAUSE_RESET, result.cause);
	EXPECT_FALSE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_EQ(-EIO, result.error);
	ASSERT_EQ(0, rig_wait(&rig, queued, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ABORTED, result.status);
	EXPECT_EQ(NEURON_CAUSE_RESET, result.cause);

	EXPECT_EQ(-EIO, rig_start(&rig, LIMIT));
	EXPECT_EQ(-EIO, rig_windows(&rig, &window, 1));
	grant.claim = rig.claim;
	grant.core = rig.core;
	must_fail(EIO, rig.fd, GRANT, &grant);
	again.claim = rig.claim;
	again.core = rig.core;
	must_fail(EIO, rig.fd, RESET, &again);
	EXPECT_EQ(0, rig_release(rig.fd, rig.claim));
	EXPECT_EQ(-ENOENT, rig_release(rig.fd, rig.claim));
	rig_close(&rig);
}

TEST_F(reset, core_stays_claimed_until_release)
{
	struct drm_neuron_claim claim;
	struct rig rig;

	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	ASSERT_EQ(0, neuron_reset_device(self->fd));
	EXPECT_EQ(-EBUSY, rig_claim(self->fd, 1, 0, &claim));
	ASSERT_EQ(0, rig_release(rig.fd, rig.claim));
	ASSERT_EQ(0, rig_claim(self->fd, 1, 0, &claim));
	ASSERT_EQ(0, rig_release(self->fd, claim.claim));
	rig_close(&rig);
}

/* A buffer in HBM is lost, one in host memory is not. */
TEST_F(reset, memory)
{
	struct drm_neuron_bo_create hbm, host, fresh;
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.length = MIB,
	};
	uint8_t *p = malloc(MIB), *map, *host_map;
	struct drm_neuron_claim claim;
	struct rig rig;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, MIB,
				      &hbm));
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HOST, 0, MIB,
				      &host));
	map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		   hbm.mmap_offset);
	host_map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED,
			self->fd, host.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_NE(MAP_FAILED, host_map);
	neuron_fill(map, MIB, 1);
	neuron_fill(host_map, MIB, 2);

	ASSERT_EQ(0, neuron_reset_device(self->fd));
	EXPECT_TRUE(load_faults(map));
	EXPECT_FALSE(load_faults(host_map));
	EXPECT_EQ(MIB, neuron_differs(host_map, MIB, 2));
	EXPECT_EQ(-EIO, neuron_read(self->fd, hbm.handle, 0, p, MIB));
	EXPECT_EQ(-EIO, neuron_write(self->fd, hbm.handle, 0, p, MIB));
	EXPECT_EQ(-EIO, neuron_bo_copy(self->fd, host.handle, 0, hbm.handle, 0,
				       MIB));
	ASSERT_EQ(0, neuron_read(self->fd, host.handle, 0, p, MIB));
	EXPECT_EQ(MIB, neuron_differs(p, MIB, 2));

	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, MIB,
				      &fresh));
	memset(p, 0xaa, MIB);
	ASSERT_EQ(0, neuron_read(self->fd, fresh.handle, 0, p, MIB));
	EXPECT_EQ(MIB, neuron_differs_from(p, MIB, 0));

	ASSERT_EQ(0, rig_claim(self->fd, 0, 1, &claim));
	rig.fd = self->fd;
	rig.claim = claim.claim;
	rig.core = (uint32_t)__builtin_ctzll(claim.granted);
	window.handle = hbm.handle;
	EXPECT_EQ(-EIO, rig_windows(&rig, &window, 1));
	window.handle = fresh.handle;
	EXPECT_EQ(0, rig_windows(&rig, &window, 1));
	ASSERT_EQ(0, rig_release(self->fd, claim.claim));

	munmap(map, MIB);
	munmap(host_map, MIB);
	ASSERT_EQ(0, neuron_bo_close(self->fd, hbm.handle));
	ASSERT_EQ(0, neuron_bo_close(self->fd, host.handle));
	ASSERT_EQ(0, neuron_bo_close(self->fd, fresh.handle));
	free(p);
}

TEST_F(reset, under_load)
{
	struct loads loads;
	int i;

	ASSERT_EQ(0, loads_start(&loads, 0));
	for (i = 0; i < 6; i++) {
		usleep(400000);
		EXPECT_EQ(0, neuron_reset_device(self->fd));
	}
	EXPECT_EQ(0, loads_stop(&loads));
}

#define CORES	8	/* more than any chip has */

/* Asks until it is told to stop; what a device in reset would say is all ones. */
struct asker {
	int fd;
	atomic_bool stop;
	unsigned int answers;
	int error;
	bool ones;
};

static void ask(struct asker *a)
{
	struct drm_neuron_counter_info counters;
	struct drm_neuron_core_info core[CORES];
	struct drm_neuron_device_info device;
	struct drm_neuron_clock_info clocks;

	a->error = neuron_query(a->fd, DRM_NEURON_QUERY_DEVICE, &device,
				sizeof(device));
	if (!a->error)
		a->error = neuron_query(a->fd, DRM_NEURON_QUERY_CORES, core,
					sizeof(core));
	if (!a->error)
		a->error = neuron_query(a->fd, DRM_NEURON_QUERY_COUNTERS,
					&counters, sizeof(counters));
	if (!a->error)
		a->error = neuron_query(a->fd, DRM_NEURON_QUERY_CLOCKS, &clocks,
					sizeof(clocks));
	if (a->error)
		return;
	a->answers++;
	if (device.chip == 0xff || device.fabric_chips == UINT32_MAX ||
	    core[0].busy_ns == UINT64_MAX ||
	    counters.violations >= UINT32_MAX ||
	    counters.sram_corrected == 0xffff || clocks.throttle == UINT32_MAX)
		a->ones = true;
}

static void *ask_on(void *arg)
{
	struct asker *a = arg;

	while (!atomic_load(&a->stop) && !a->error)
		ask(a);
	return NULL;
}

/* They wait rather than to tell what is not so. */
TEST_F(reset, queries)
{
	struct asker a = { .fd = self->fd };
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, ask_on, &a));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, neuron_reset_device(self->fd));
	atomic_store(&a.stop, true);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, a.error);
	EXPECT_FALSE(a.ones);
	EXPECT_GT(a.answers, 0);
}

#define ROUNDS	20
#define MAKERS	4

/* Makes something while the device is being reset. */
struct maker {
	uint32_t canary;	/* buffer of before */
	bool claims;		/* a claim; otherwise a buffer */
	int fd;
	int made;
	int usable;
};

static int use_claim(int fd, const struct drm_neuron_claim *claim)
{
	struct drm_neuron_reset reset = {
		.claim = claim->claim,
		.core = (uint32_t)__builtin_ctzll(claim->granted),
	};

	return neuron_ioctl(fd, DRM_IOCTL_NEURON_RESET, &reset);
}

static void make_claim(struct maker *m)
{
	struct drm_neuron_claim claim;

	m->made = rig_claim(m->fd, 0, 1, &claim);
	if (m->made)
		return;
	m->usable = use_claim(m->fd, &claim);
	rig_release(m->fd, claim.claim);
}

static void make_buffer(struct maker *m)
{
	struct drm_neuron_bo_create bo;
	char byte = 1;

	m->made = neuron_bo_create(m->fd, DRM_NEURON_BO_HBM, 0, 4096, &bo);
	if (m->made)
		return;
	m->usable = neuron_write(m->fd, bo.handle, 0, &byte, 1);
	neuron_bo_close(m->fd, bo.handle);
}

/* From the moment when what was there before is lost: the call has to wait. */
static void *make(void *arg)
{
	struct maker *m = arg;
	char byte;

	while (!neuron_read(m->fd, m->canary, 0, &byte, 1))
		;
	if (m->claims)
		make_claim(m);
	else
		make_buffer(m);
	return NULL;
}

/* A claim or a buffer that is made in a reset, or right after it, is not lost in it. */
TEST_F(reset, made_meanwhile)
{
	struct drm_neuron_bo_create canary;
	struct maker maker[MAKERS];
	pthread_t thread[MAKERS];
	int round, i, lost = 0;

	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0,
					      4096, &canary));
		for (i = 0; i < MAKERS; i++) {
			maker[i] = (struct maker){
				.fd = self->fd,
				.canary = canary.handle,
				.claims = i % 2,
			};
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, make,
						    &maker[i]));
		}
		EXPECT_EQ(0, neuron_reset_device(self->fd));
		for (i = 0; i < MAKERS; i++) {
			pthread_join(thread[i], NULL);
			EXPECT_EQ(0, maker[i].made);
			lost += !!maker[i].usable;
		}
		ASSERT_EQ(0, neuron_bo_close(self->fd, canary.handle));
	}
	EXPECT_EQ(0, lost)
		TH_LOG("%d of %d were born lost", lost, ROUNDS * MAKERS);
}

/* A copy whose user memory comes when this process says so. */
struct held {
	int uffd;
	int fd;
	uint32_t handle;
	bool from_device;
	uint8_t *page;
	int ret;
};

static void *copy_held(void *arg)
{
	struct held *h = arg;

	if (h->from_device)
		h->ret = neuron_read(h->fd, h->handle, 0, h->page, 4096);
	else
		h->ret = neuron_write(h->fd, h->handle, 0, h->page, 4096);
	return NULL;
}

/* One page that is not there. */
static int hold(struct held *h)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range.len = 4096,
	};

	/* poll() of one that blocks says only that it blocks. */
	h->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	h->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (h->uffd < 0 || h->page == MAP_FAILED ||
	    ioctl(h->uffd, UFFDIO_API, &api))
		return -1;
	reg.range.start = (uintptr_t)h->page;
	return ioctl(h->uffd, UFFDIO_REGISTER, &reg);
}

static int let_go(const struct held *h)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)h->page, .len = 4096 },
	};

	return ioctl(h->uffd, UFFDIO_ZEROPAGE, &zero);
}

FIXTURE(held) {
	struct held h;
	struct drm_neuron_bo_create bo;
};

FIXTURE_VARIANT(held) {
	bool from_device;
};

FIXTURE_VARIANT_ADD(held, to_device) { .from_device = false };
FIXTURE_VARIANT_ADD(held, from_device) { .from_device = true };

FIXTURE_SETUP(held)
{
	self->h.fd = neuron_open(0);
	if (self->h.fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, hold(&self->h)) TH_LOG("no userfaultfd in this kernel");
	ASSERT_EQ(0, neuron_bo_create(self->h.fd, DRM_NEURON_BO_HBM, 0, 4096,
				      &self->bo));
	self->h.handle = self->bo.handle;
	self->h.from_device = variant->from_device;
}

FIXTURE_TEARDOWN(held)
{
	if (self->h.fd < 0)
		return;
	close(self->h.uffd);
	munmap(self->h.page, 4096);
	close(self->h.fd);
}

/* It begins before a reset and would be submitted after it: EIO, not zeros. */
TEST_F(held, copy_ends_with_a_reset)
{
	struct pollfd poller = { .fd = self->h.uffd, .events = POLLIN };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, copy_held, &self->h));
	ASSERT_EQ(1, poll(&poller, 1, LIMIT));
	ASSERT_EQ(POLLIN, poller.revents);
	EXPECT_EQ(0, neuron_reset_device(self->h.fd));
	ASSERT_EQ(0, let_go(&self->h));
	pthread_join(thread, NULL);
	EXPECT_EQ(-EIO, self->h.ret);
}

TEST_HARNESS_MAIN
