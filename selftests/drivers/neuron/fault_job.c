// SPDX-License-Identifier: MIT
/*
 * Jobs and copies on demand, for the tests in selftests/vm: it reads a command from each
 * line of its input and answers each with one line, "@ret=ERRNO ...".
 *
 *	fault_job DEVICE
 *
 *	open CORE		claim it; addr= is the plain address of its data
 *	close CORE
 *	job CORE LIMIT-MS	copy 4 KiB by DMA, count on another engine; ns= is its
 *				device time
 *	slow CORE LIMIT-MS	a job that is not over when the doorbell returns, so the
 *				driver waits for its interrupt
 *	gang CORE LIMIT-MS	a job that never ends, and one of the core's first CC-core that
 *				does; next_status=, next_cause= and next_pc= are of that
 *	peer CORE		copy 64 KiB to HBM of device 1 and back by DMA
 *	hold CORE		a window onto HBM of device 1, until the core is closed
 *	held			bytes of HBM of device 1 that somebody holds: bytes=
 *	spin CORE		start a job that never ends
 *	copy			64 KiB to HBM and back by the kernel's copy queue
 *	transfer [WORD...]	64 pieces of 4 KiB from HBM to the host by a transfer, and
 *				another behind it; bytes= is what is known to be moved by
 *				the first, right= and next_right= what has been, next=,
 *				next_hang= and next_bytes= how the second ended. "host":
 *				from the host, "peer": the first one to HBM of device 1,
 *				whose right= is 0; "cancel": both when both have begun,
 *				"@ready" tells when that is done; "close": their file is
 *				closed then, and nothing is told
 *	moved			what such a second transfer has moved, once that is all or
 *				nothing more comes: next_right=
 *	alloc MIB		a buffer in HBM, every page written; until "free"
 *	free
 *	churn			create and close buffers, until that fails: halves of a
 *				stack of HBM, so that each waits for the scrub of the last
 *	dirty NUMBER		create and close as many small buffers in HBM
 *	leave ADDRESS		when the device is in its next reset, unbind the driver
 *				from the PCI device; "@ready" tells that it waits
 *	uevent SECONDS VARIABLE...
 *				wait for a uevent with all of them, since the start
 *	record SECONDS TYPE	wait for the next record of that type of an event file that
 *				is there since the start: core=, link=, up=, addr=
 *	!COMMAND		run it by the shell
 *	leak			what the device holds against what it held at the start
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "job_rig.h"
#include "neuron_test.h"
#include "uevents.h"

#define CORES	8
#define WORDS	8
#define BYTES	4096
#define COPY	65536
#define PEER	1		/* the device of "peer" */
#define TO	0x10000
#define TRANSFER	0x40000
#define ENDLESS	600000	/* ms */
#define SLOW_US	50000
#define PEER_LIMIT	30000	/* ms */
#define TRANSFER_LIMIT	90000	/* ms */

struct fault_job {
	unsigned int device;
	int fd;
	struct rig_usage before;
	struct rig rig[CORES];
	bool open[CORES];
	uint32_t seed;
	uint32_t handle;	/* of "alloc" */
	uint8_t *closed;	/* where the second one of "transfer close" goes */
	int uevents;
	int events;		/* all types */
	int peer;		/* device of "held", or -1 */
};

static void answer_open(struct fault_job *f, unsigned int core)
{
	struct drm_neuron_bo_info info = { 0 };
	int ret = rig_open(&f->rig[core], f->device, core);

	f->open[core] = !ret;
	if (!ret) {
		info.handle = f->rig[core].bo;
		ret = neuron_ioctl(f->rig[core].fd, DRM_IOCTL_NEURON_BO_INFO,
				   &info);
	}
	printf("@ret=%d stack=%u addr=%#llx\n", -ret, info.stack,
	       (unsigned long long)info.device_addr + RIG_HALF);
}

static void print_job(int ret, const struct drm_neuron_wait_job *result, bool right,
		      int64_t begin)
{
	printf("@ret=%d status=%u cause=%u error=%d hang=%u addr=%#llx data=%s ms=%lld ns=%llu\n",
	       -ret, result->status, result->cause, -result->error,
	       !!(result->flags & DRM_NEURON_JOB_HANG),
	       (unsigned long long)result->addr, right ? "ok" : "bad",
	       (long long)(rig_now_ms() - begin),
	       (unsigned long long)(result->end_ns - result->start_ns));
}

static void answer_job(struct fault_job *f, unsigned int core, uint32_t limit)
{
	struct rig *rig = &f->rig[core];
	struct drm_neuron_wait_job result = { 0 };
	int64_t begin = rig_now_ms();
	int ret;

	rig_clear(rig);
	neuron_fill(rig->data, BYTES, ++f->seed);
	rig_copy(rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, TO),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), BYTES);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	rig_emit(rig, NEURON_ENGINE_VECTOR, NEURON_OP_NOP);
	rig_loop(rig, NEURON_ENGINE_VECTOR, 1000);
	rig_halt(rig, NEURON_ENGINE_VECTOR);
	ret = rig_run(rig, limit, &result);
	print_job(ret, &result, neuron_differs(rig->data + TO, BYTES, f->seed) ==
			       BYTES, begin);
}

static void answer_slow(struct fault_job *f, unsigned int core, uint32_t limit)
{
	struct rig *rig = &f->rig[core];
	struct drm_neuron_wait_job result = { 0 };
	int64_t begin = rig_now_ms();
	int64_t job;
	int ret;

	rig_clear(rig);
	rig_loop(rig, NEURON_ENGINE_VECTOR, 0);
	job = rig_start(rig, limit);
	usleep(SLOW_US);
	rig->map[RIG_IMAGE(NEURON_ENGINE_VECTOR)] = NEURON_OP_HALT;
	ret = job < 0 ? (int)job : rig_wait(rig, (uint64_t)job, ENDLESS, &result);
	print_job(ret, &result, true, begin);
}

static int start_gang(struct rig unit[2], struct drm_neuron_wait_job result[2], uint32_t limit)
{
	static const enum neuron_engine engine[] = { NEURON_ENGINE_VECTOR, NEURON_ENGINE_SYNC };
	struct drm_neuron_job job[2];
	struct rig_submit submit;
	int ret, i;

	rig_loop(&unit[0], engine[0], 0);
	rig_halt(&unit[1], engine[1]);
	for (i = 0; i < 2; i++) {
		rig_prepare_engine(&unit[i], &submit, engine[i]);
		job[i] = submit.job;
		job[i].timeout_ms = limit;
	}
	rig_put_jobs(&submit.call, job, 2);
	ret = neuron_ioctl(unit[0].fd, DRM_IOCTL_NEURON_SUBMIT, &submit.call);
	for (i = 0; i < 2; i++)
		result[i] = (struct drm_neuron_wait_job){
			.claim = unit[i].claim,
			.core = unit[i].core,
			.job = submit.call.job + (unsigned int)i,
		};
	return ret;
}

static void answer_gang(struct fault_job *f, unsigned int core, uint32_t limit)
{
	struct drm_neuron_wait_job result[2] = { 0 };
	const int64_t begin = rig_now_ms();
	struct rig unit[2] = { f->rig[core] };
	int ret = rig_open_cc(&unit[1], &unit[0], 0);

	if (!ret) {
		rig_clear(&unit[0]);
		ret = start_gang(unit, result, limit);
		if (!ret)
			ret = rig_wait_jobs(unit[0].fd, result, 2, DRM_NEURON_WAIT_ALL, ENDLESS);
		rig_close(&unit[1]);
	}
	printf("@ret=%d status=%u cause=%u pc=%u next_status=%u next_cause=%u next_pc=%u ms=%lld\n",
	       ret < 0 ? -ret : 0, result[0].status, result[0].cause, result[0].pc,
	       result[1].status, result[1].cause, result[1].pc,
	       (long long)(rig_now_ms() - begin));
}

/* HBM of another device, which lives as long as its import. */
static int import_peer(int fd, uint64_t size, uint32_t *handle)
{
	struct drm_neuron_bo_create bo;
	int peer = neuron_open(PEER), dma_buf, ret;

	if (peer < 0)
		return peer;
	ret = neuron_bo_create(peer, DRM_NEURON_BO_HBM, 0, size, &bo);
	dma_buf = ret ? ret : neuron_export(peer, bo.handle);
	close(peer);
	if (dma_buf < 0)
		return dma_buf;
	ret = neuron_import(fd, dma_buf, handle);
	close(dma_buf);
	return ret;
}

/* A window of @rig onto memory of another device. */
static int peer_window(struct rig *rig)
{
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE,
		.length = COPY,
	};
	int ret = import_peer(rig->fd, COPY, &window.handle);

	if (ret)
		return ret;
	ret = rig_windows(rig, &window, 1);
	neuron_bo_close(rig->fd, window.handle);
	return ret;
}

static int run_copy(struct rig *rig, uint64_t dst, uint64_t src,
		    struct drm_neuron_wait_job *result)
{
	memset(rig->count, 0, sizeof(rig->count));
	memset(rig->tail, 0, sizeof(rig->tail));
	rig_copy(rig, NEURON_ENGINE_SYNC, dst, src, COPY);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	return rig_run(rig, PEER_LIMIT, result);
}

/* Its device time is that of the way back. */
static void answer_peer(struct fault_job *f, unsigned int core)
{
	const uint64_t there = neuron_window_addr(RIG_WINDOW_FREE, 0);
	const uint64_t data = neuron_window_addr(RIG_WINDOW_DATA, 0);
	const struct drm_neuron_window none = {
		.index = RIG_WINDOW_FREE,
	};
	struct drm_neuron_wait_job result = { 0 };
	const int64_t begin = rig_now_ms();
	struct rig *rig = &f->rig[core];
	int ret = peer_window(rig);

	if (!ret) {
		rig_clear(rig);
		neuron_fill(rig->data, COPY, ++f->seed);
		ret = run_copy(rig, there, data, &result);
		if (!ret && result.status == NEURON_JOB_OK)
			ret = run_copy(rig, data + TO, there, &result);
		rig_windows(rig, &none, 1);
	}
	print_job(ret, &result,
		  neuron_differs(rig->data + TO, COPY, f->seed) == COPY, begin);
}

/*
 * Buffers that were freed are scrubbed first. The file stays open: without device 0, device 1 is
 * not the second one.
 */
static void answer_held(struct fault_job *f)
{
	unsigned long long used, sum = 0;
	int ret = -ENOENT;
	FILE *hbm = NULL;

	if (f->peer < 0)
		f->peer = neuron_open(PEER);
	if (f->peer >= 0)
		hbm = neuron_debugfs(f->peer, "hbm");
	if (hbm && fscanf(hbm, "%*[^\n]\n") != EOF)
		for (; fscanf(hbm, "%*u %*u %*u %llu %*u %*u\n", &used) == 1; ret = 0)
			sum += used;
	if (hbm)
		fclose(hbm);
	printf("@ret=%d bytes=%llu\n", -ret, sum);
}

static void answer_spin(struct fault_job *f, unsigned int core)
{
	struct rig *rig = &f->rig[core];
	int64_t job;

	rig_clear(rig);
	rig_loop(rig, NEURON_ENGINE_VECTOR, 0);
	job = rig_start(rig, ENDLESS);
	printf("@ret=%d\n", job < 0 ? (int)-job : 0);
}

static void answer_copy(struct fault_job *f)
{
	static uint8_t out[COPY], in[COPY];
	struct drm_neuron_bo_create bo;
	int64_t begin = rig_now_ms();
	int ret = neuron_bo_create(f->fd, DRM_NEURON_BO_HBM, 0, COPY, &bo);

	if (!ret) {
		neuron_fill(out, COPY, ++f->seed);
		memset(in, 0, COPY);
		ret = neuron_write(f->fd, bo.handle, 0, out, COPY);
		if (!ret)
			ret = neuron_read(f->fd, bo.handle, 0, in, COPY);
		neuron_bo_close(f->fd, bo.handle);
	}
	printf("@ret=%d data=%s ms=%lld\n", -ret,
	       memcmp(in, out, COPY) ? "bad" : "ok",
	       (long long)(rig_now_ms() - begin));
}

/**
 * struct transfers - a transfer and one behind it
 * @fd: their file
 * @handle: source, destination of the first, destination of the second
 * @map: where these are; NULL: memory of a peer
 * @job: the transfers
 */
struct transfers {
	int fd;
	uint32_t handle[3];
	uint8_t *map[3];
	struct drm_neuron_wait_job job[2];
};

/* A buffer mapped by another file of the device, because a mapping keeps its file open. */
static int map_transfer(struct fault_job *f, struct transfers *t, int i,
			uint32_t placement)
{
	struct drm_neuron_bo_create bo;
	int dma_buf, ret = neuron_bo_create(f->fd, placement, 0, TRANSFER, &bo);
	uint8_t *map;

	if (ret)
		return ret;
	map = mmap(NULL, TRANSFER, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd,
		   (off_t)bo.mmap_offset);
	if (map != MAP_FAILED)
		t->map[i] = map;
	dma_buf = neuron_export(f->fd, bo.handle);
	neuron_bo_close(f->fd, bo.handle);
	if (dma_buf < 0)
		return dma_buf;
	ret = neuron_import(t->fd, dma_buf, &t->handle[i]);
	close(dma_buf);
	return ret ? ret : t->map[i] ? 0 : -ENOMEM;
}

static void unmap_transfer(uint8_t **map)
{
	if (*map)
		munmap(*map, TRANSFER);
	*map = NULL;
}

static int start_transfer(struct transfers *t, int i)
{
	struct drm_neuron_transfer args = {
		.dst = t->handle[i + 1],
		.src = t->handle[0],
		.bytes = BYTES,
		.count = { TRANSFER / BYTES },
		.dst_step = { BYTES },
		.src_step = { BYTES },
	};
	int ret = neuron_ioctl(t->fd, DRM_IOCTL_NEURON_TRANSFER, &args);

	t->job[i] = (struct drm_neuron_wait_job){
		.claim = DRM_NEURON_NO_CLAIM,
		.job = args.transfer,
	};
	return ret;
}

static int start_transfers(struct fault_job *f, struct transfers *t,
			   const char *words)
{
	int ret = map_transfer(f, t, 0, strstr(words, " host") ?
			       DRM_NEURON_BO_HOST : DRM_NEURON_BO_HBM);

	if (!ret && strstr(words, " peer"))
		ret = import_peer(t->fd, TRANSFER, &t->handle[1]);
	else if (!ret)
		ret = map_transfer(f, t, 1, DRM_NEURON_BO_HOST);
	if (!ret)
		ret = map_transfer(f, t, 2, DRM_NEURON_BO_HOST);
	if (ret)
		return ret;
	neuron_fill(t->map[0], TRANSFER, ++f->seed);
	ret = start_transfer(t, 0);
	return ret ? ret : start_transfer(t, 1);
}

/* Requests in the rings of the kernel's copy queues. */
static unsigned int in_flight(int fd)
{
	FILE *f = neuron_debugfs(fd, "copy");
	unsigned int nr, sum = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%*[^\n]\n") != EOF)
		while (fscanf(f, "%*u %*u %*u %u %*[^\n]\n", &nr) == 1)
			sum += nr;
	fclose(f);
	return sum;
}

/* Both: nothing but these two uses a copy queue. */
static int wait_until_begun(const struct transfers *t)
{
	int64_t end = rig_now_ms() + PEER_LIMIT;

	while (in_flight(t->fd) < 2) {
		if (rig_now_ms() > end)
			return -ETIMEDOUT;
		usleep(10000);
	}
	return 0;
}

static int cancel_transfers(const struct transfers *t)
{
	struct drm_neuron_cancel cancel = { .claim = DRM_NEURON_NO_CLAIM };
	int ret = wait_until_begun(t), i;

	for (i = 0; !ret && i < 2; i++) {
		cancel.job = t->job[i].job;
		ret = neuron_ioctl(t->fd, DRM_IOCTL_NEURON_CANCEL, &cancel);
	}
	return ret;
}

/* The memory is looked at by mappings: a copy would use a DMA queue. */
static void finish_transfers(struct fault_job *f, struct transfers *t, int ret)
{
	const int64_t begin = rig_now_ms();
	size_t right[2] = { 0 };
	int i;

	if (!ret)
		ret = rig_wait_jobs(t->fd, t->job, 2, DRM_NEURON_WAIT_ALL,
				    TRANSFER_LIMIT);
	for (i = 0; i < 2; i++)
		if (t->map[i + 1])
			right[i] = neuron_differs(t->map[i + 1], TRANSFER, f->seed);
	printf("@ret=%d status=%u cause=%u hang=%u bytes=%llu piece=%u right=%zu ",
	       -ret, t->job[0].status, t->job[0].cause,
	       !!(t->job[0].flags & DRM_NEURON_JOB_HANG),
	       (unsigned long long)t->job[0].dma_bytes, t->job[0].pc, right[0]);
	printf("next=%u next_hang=%u next_bytes=%llu next_right=%zu ms=%lld\n",
	       t->job[1].status, !!(t->job[1].flags & DRM_NEURON_JOB_HANG),
	       (unsigned long long)t->job[1].dma_bytes, right[1],
	       (long long)(rig_now_ms() - begin));
}

static void answer_transfer(struct fault_job *f, const char *words)
{
	struct transfers t = { .fd = neuron_open(f->device) };
	int ret = t.fd, i;

	if (ret >= 0)
		ret = start_transfers(f, &t, words);
	if (!ret && strstr(words, " cancel")) {
		ret = cancel_transfers(&t);
		printf("@ready\n");
		fflush(stdout);
	}
	if (!ret && strstr(words, " close")) {
		printf("@ret=%d\n", -wait_until_begun(&t));
		f->closed = t.map[2];
		t.map[2] = NULL;
	} else {
		finish_transfers(f, &t, ret);
	}
	for (i = 0; i < 3; i++)
		unmap_transfer(&t.map[i]);
	if (t.fd >= 0)
		close(t.fd);
}

static void answer_moved(struct fault_job *f)
{
	const int64_t end = rig_now_ms() + TRANSFER_LIMIT;
	size_t right;

	do {
		usleep(10000);
		right = neuron_differs(f->closed, TRANSFER, f->seed);
	} while (right < TRANSFER && rig_now_ms() < end);
	printf("@ret=0 next_right=%zu\n", right);
	unmap_transfer(&f->closed);
}

/* Every page, so that the host has to hold it. */
static int fill(struct fault_job *f, uint64_t bytes)
{
	static uint8_t page[COPY];
	uint64_t at;
	int ret = 0;

	neuron_fill(page, COPY, ++f->seed);
	for (at = 0; !ret && at < bytes; at += COPY)
		ret = neuron_write(f->fd, f->handle, at, page, COPY);
	return ret;
}

static void answer_alloc(struct fault_job *f, unsigned int mib)
{
	const uint64_t bytes = (uint64_t)mib << 20;
	struct drm_neuron_bo_create bo;
	int ret = neuron_bo_create(f->fd, DRM_NEURON_BO_HBM, 0, bytes, &bo);

	if (!ret) {
		f->handle = bo.handle;
		ret = fill(f, bytes);
	}
	printf("@ret=%d\n", -ret);
}

static int churn(int fd)
{
	struct drm_neuron_memory_info stack[4];
	struct drm_neuron_bo_create bo[2];
	int ret = neuron_query(fd, DRM_NEURON_QUERY_MEMORY, stack,
			       sizeof(stack));
	int i;

	while (!ret) {
		for (i = 0; !ret && i < 2; i++)
			ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0,
					       stack[0].usable / 2, &bo[i]);
		while (!ret && i--)
			ret = neuron_bo_close(fd, bo[i].handle);
	}
	return ret;
}

static int dirty(int fd, unsigned int number)
{
	struct drm_neuron_bo_create bo;
	int ret = 0;

	while (!ret && number--) {
		ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BYTES, &bo);
		if (!ret)
			ret = neuron_bo_close(fd, bo.handle);
	}
	return ret;
}

/* HBM is mapped again only in new buffers. The kernel looks: EFAULT instead of a signal. */
static int wait_for_reset(int fd)
{
	struct drm_neuron_bo_create bo;
	int ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 1, BYTES, &bo);
	void *map;
	int null;

	if (ret)
		return ret;
	map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, bo.mmap_offset);
	null = open("/dev/random", O_WRONLY | O_CLOEXEC);
	if (map == MAP_FAILED || null < 0)
		return -errno;
	/* There is a tenth of a second for it. */
	if (setpriority(PRIO_PROCESS, 0, -20))
		return -errno;
	printf("@ready\n");
	fflush(stdout);
	while (write(null, map, 1) == 1)
		;
	ret = errno == EFAULT ? 0 : -errno;
	close(null);
	munmap(map, BYTES);
	neuron_bo_close(fd, bo.handle);
	return ret;
}

static void answer_leave(struct fault_job *f, const char *address)
{
	int ret = wait_for_reset(f->fd);

	if (!ret)
		ret = neuron_write_file("/sys/bus/pci/drivers/neuron/unbind",
					address);
	printf("@ret=%d\n", -ret);
}

/* "uevent SECONDS VARIABLE..." */
static void answer_uevent(struct fault_job *f, char *line)
{
	const char *words[WORDS + 1] = { NULL };
	unsigned int nr = 0;
	char *word, *rest;
	int seconds;

	strtok_r(line, "\n ", &rest);
	word = strtok_r(NULL, "\n ", &rest);
	seconds = word ? atoi(word) : 0;
	while (nr < WORDS && (word = strtok_r(NULL, "\n ", &rest)))
		words[nr++] = word;
	printf("@ret=%d\n", uevents_wait(f->uevents, words, seconds * 1000) ?
	       0 : ETIMEDOUT);
}

static int open_events(int fd)
{
	struct drm_neuron_events args = {
		.mask = (1ull << DRM_NEURON_NR_EVENT_TYPES) - 1,
		.stride = sizeof(struct drm_neuron_event),
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_EVENTS, &args);

	return ret ? ret : args.fd;
}

/* The next record, by then; 0 or a negative errno, -ENODEV when the device has left. */
static int next_record(int events, int64_t deadline_ms, struct drm_neuron_event *record)
{
	struct pollfd poller = { .fd = events, .events = POLLIN };
	int64_t left = deadline_ms - rig_now_ms();
	ssize_t size;

	if (left < 0 || poll(&poller, 1, (int)left) != 1)
		return -ETIMEDOUT;
	size = read(events, record, sizeof(*record));
	if (size < 0)
		return -errno;
	return size ? 0 : -ENODEV;
}

/* "record SECONDS TYPE" */
static void answer_record(struct fault_job *f, unsigned int seconds, unsigned int type)
{
	int64_t deadline = rig_now_ms() + seconds * 1000;
	struct drm_neuron_event record;
	int ret;

	do
		ret = next_record(f->events, deadline, &record);
	while (!ret && record.type != type);
	if (ret)
		memset(&record, 0, sizeof(record));
	printf("@ret=%d core=%u link=%u up=%u addr=%#llx\n", -ret, record.core, record.link,
	       record.up, (unsigned long long)record.addr);
}

static void answer(struct fault_job *f, char *line)
{
	unsigned int core = 0, limit = 0;
	char address[16];

	if (sscanf(line, "open %u", &core) == 1 && core < CORES &&
	    !f->open[core]) {
		answer_open(f, core);
	} else if (sscanf(line, "close %u", &core) == 1 && core < CORES &&
		   f->open[core]) {
		rig_close(&f->rig[core]);
		f->open[core] = false;
		printf("@ret=0\n");
	} else if (sscanf(line, "job %u %u", &core, &limit) == 2 &&
		   core < CORES && f->open[core]) {
		answer_job(f, core, limit);
	} else if (sscanf(line, "slow %u %u", &core, &limit) == 2 &&
		   core < CORES && f->open[core]) {
		answer_slow(f, core, limit);
	} else if (sscanf(line, "gang %u %u", &core, &limit) == 2 &&
		   core < CORES && f->open[core]) {
		answer_gang(f, core, limit);
	} else if (sscanf(line, "peer %u", &core) == 1 && core < CORES &&
		   f->open[core]) {
		answer_peer(f, core);
	} else if (sscanf(line, "hold %u", &core) == 1 && core < CORES &&
		   f->open[core]) {
		printf("@ret=%d\n", -peer_window(&f->rig[core]));
	} else if (!strcmp(line, "held\n")) {
		answer_held(f);
	} else if (sscanf(line, "spin %u", &core) == 1 && core < CORES &&
		   f->open[core]) {
		answer_spin(f, core);
	} else if (!strcmp(line, "copy\n")) {
		answer_copy(f);
	} else if (!strncmp(line, "transfer", 8) && !f->closed) {
		answer_transfer(f, line);
	} else if (!strcmp(line, "moved\n") && f->closed) {
		answer_moved(f);
	} else if (sscanf(line, "alloc %u", &limit) == 1 && !f->handle) {
		answer_alloc(f, limit);
	} else if (!strcmp(line, "free\n") && f->handle) {
		printf("@ret=%d\n", -neuron_bo_close(f->fd, f->handle));
		f->handle = 0;
	} else if (!strcmp(line, "churn\n")) {
		printf("@ret=%d\n", -churn(f->fd));
	} else if (sscanf(line, "dirty %u", &limit) == 1) {
		printf("@ret=%d\n", -dirty(f->fd, limit));
	} else if (sscanf(line, "leave %15s", address) == 1) {
		answer_leave(f, address);
	} else if (sscanf(line, "record %u %u", &limit, &core) == 2) {
		answer_record(f, limit, core);
	} else if (!strncmp(line, "uevent ", 7)) {
		answer_uevent(f, line);
	} else if (line[0] == '!') {
		printf("@ret=%d\n", system(line + 1));
	} else if (!strcmp(line, "leak\n")) {
		printf("@ret=%d\n", rig_leaks(f->fd, &f->before));
	} else {
		printf("@ret=%d\n", EINVAL);
	}
	fflush(stdout);
}

/* The device was reset or has left: what a program writes to is gone. */
static sigjmp_buf lost;

static void jump(int sig)
{
	siglongjmp(lost, sig);
}

static void answer_or_lose(struct fault_job *f, char *line)
{
	if (!sigsetjmp(lost, 1)) {
		answer(f, line);
	} else {
		printf("@ret=%d status=%u cause=0 hang=0 data=lost\n", EIO,
		       NEURON_JOB_ABORTED);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static struct fault_job f = { .peer = -1 };
	char line[256];

	if (argc != 2) {
		fprintf(stderr, "fault_job: which device?\n");
		return 2;
	}
	f.device = (unsigned int)atoi(argv[1]);
	f.fd = neuron_open(f.device);
	if (f.fd < 0) {
		printf("@ret=%d\n", -f.fd);
		return 1;
	}
	f.uevents = uevents_open();
	if (f.uevents < 0) {
		printf("@ret=%d\n", -f.uevents);
		return 1;
	}
	f.events = open_events(f.fd);
	if (f.events < 0) {
		printf("@ret=%d\n", -f.events);
		return 1;
	}
	signal(SIGBUS, jump);
	rig_usage(f.fd, &f.before);
	printf("@ret=0\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "exit\n"))
		answer_or_lose(&f, line);
	return 0;
}
