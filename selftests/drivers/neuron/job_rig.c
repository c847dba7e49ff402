// SPDX-License-Identifier: MIT
/*
 * What the tests of jobs share.
 */
#include <linux/sync_file.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "contract/ring.h"
#include "job_rig.h"
#include "neuron_test.h"

int rig_claim(int fd, uint64_t cores, uint32_t count,
	      struct drm_neuron_claim *args)
{
	*args = (struct drm_neuron_claim){ .cores = cores, .count = count };
	return neuron_ioctl(fd, DRM_IOCTL_NEURON_CLAIM, args);
}

int rig_release(int fd, uint32_t claim)
{
	struct drm_neuron_release args = { .claim = claim };

	return neuron_ioctl(fd, DRM_IOCTL_NEURON_RELEASE, &args);
}

static uint8_t *rig_map(int fd, const struct drm_neuron_bo_create *bo)
{
	void *map = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, (off_t)bo->mmap_offset);

	return map == MAP_FAILED ? NULL : map;
}

int rig_windows(struct rig *rig, const struct drm_neuron_window *windows,
		uint32_t count)
{
	struct drm_neuron_windows args = {
		.claim = rig->claim,
		.core = rig->core,
		.windows = {
			.stride = sizeof(*windows),
			.count = count,
			.pointer = (uintptr_t)windows,
		},
	};

	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_WINDOWS, &args);
}

#define PIECES	NEURON_TABLE_PIECES(NEURON_MAX_WINDOWS)

int rig_change_table(struct rig *rig, unsigned int turn)
{
	struct drm_neuron_window windows[PIECES];
	unsigned int i;

	for (i = 0; i < PIECES; i++)
		windows[i] = (struct drm_neuron_window){
			/* Not the last one of the last piece: there is no such window. */
			.index = (i + 1) * NEURON_TABLE_PIECE - 2,
			.kind = DRM_NEURON_WINDOW_SBUF,
			.rights = turn % 2 ? DRM_NEURON_WINDOW_READ :
					     DRM_NEURON_WINDOW_WRITE,
		};
	return rig_windows(rig, windows, PIECES);
}

int rig_syncobj_create(int fd, uint32_t *handle)
{
	struct drm_syncobj_create args = { 0 };
	int ret = neuron_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &args);

	*handle = args.handle;
	return ret;
}

void rig_syncobj_destroy(int fd, uint32_t handle)
{
	struct drm_syncobj_destroy args = { .handle = handle };

	neuron_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

int rig_syncobj_wait(int fd, uint32_t handle, uint64_t point,
		     int64_t timeout_ms)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.count_handles = 1,
		.timeout_nsec = (rig_now_ms() + timeout_ms) * 1000000,
	};

	return neuron_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

int rig_bind(struct rig *rig)
{
	const uint32_t both = DRM_NEURON_WINDOW_READ | DRM_NEURON_WINDOW_WRITE;
	const struct drm_neuron_window windows[] = {
		{
			.index = RIG_WINDOW_IMAGE,
			.kind = DRM_NEURON_WINDOW_BO,
			.rights = DRM_NEURON_WINDOW_READ,
			.handle = rig->bo,
			.length = RIG_HALF,
		}, {
			.index = RIG_WINDOW_DATA,
			.kind = DRM_NEURON_WINDOW_BO,
			.rights = both,
			.handle = rig->bo,
			.offset = RIG_HALF,
			.length = RIG_HALF,
		}, {
			.index = RIG_WINDOW_SBUF,
			.kind = DRM_NEURON_WINDOW_SBUF,
			.rights = both,
		}, {
			.index = RIG_WINDOW_SEM,
			.kind = DRM_NEURON_WINDOW_SEM,
			.rights = both,
			.length = 4 * 256,
		},
	};

	return rig_windows(rig, windows, sizeof(windows) / sizeof(windows[0]));
}

/* Buffer and windows of the core that has been claimed. */
static int rig_equip(struct rig *rig)
{
	struct drm_neuron_device_info info;
	struct drm_neuron_bo_create bo;
	int ret;

	ret = neuron_query(rig->fd, DRM_NEURON_QUERY_DEVICE, &info, sizeof(info));
	if (!ret)
		ret = neuron_bo_create(rig->fd, DRM_NEURON_BO_HBM, 0, 2 * RIG_HALF,
				       &bo);
	if (ret)
		return ret;
	rig->first_cc = info.first_cc_core;
	rig->bo = bo.handle;
	rig->map = rig_map(rig->fd, &bo);
	if (!rig->map)
		return -errno;
	rig->data = rig->map + RIG_HALF;
	return rig_bind(rig);
}

static int rig_setup(struct rig *rig, uint32_t core)
{
	struct drm_neuron_claim claim;
	int ret;

	if (core == RIG_ANY_CORE)
		ret = rig_claim(rig->fd, 0, 1, &claim);
	else
		ret = rig_claim(rig->fd, 1ull << core, 0, &claim);
	if (ret)
		return ret;
	rig->claim = claim.claim;
	rig->core = (uint32_t)__builtin_ctzll(claim.granted);
	return rig_equip(rig);
}

static int rig_begin(struct rig *rig, int fd, uint32_t core)
{
	int ret;

	memset(rig, 0, sizeof(*rig));
	rig->fd = fd;
	if (fd < 0)
		return fd;
	ret = rig_setup(rig, core);
	if (ret)
		rig_close(rig);
	return ret;
}

int rig_open(struct rig *rig, unsigned int device, uint32_t core)
{
	return rig_begin(rig, neuron_open(device), core);
}

int rig_open_node(struct rig *rig, const char *node, uint32_t core)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);

	return rig_begin(rig, fd < 0 ? -errno : fd, core);
}

int rig_open_sibling(struct rig *rig, const struct rig *core, uint32_t number)
{
	int ret;

	memset(rig, 0, sizeof(*rig));
	rig->fd = dup(core->fd);
	if (rig->fd < 0)
		return -errno;
	rig->claim = core->claim;
	rig->core = number;
	ret = rig_equip(rig);
	if (ret)
		rig_close(rig);
	return ret;
}

int rig_open_pair(struct rig pair[2], unsigned int device)
{
	struct drm_neuron_claim claim = { .count = 2, .align = 2 };
	struct rig core = { .fd = neuron_open(device) };
	int ret;

	if (core.fd < 0)
		return core.fd;
	ret = neuron_ioctl(core.fd, DRM_IOCTL_NEURON_CLAIM, &claim);
	core.claim = claim.claim;
	core.core = (uint32_t)__builtin_ctzll(claim.granted | 1u << 31);
	if (!ret)
		ret = rig_open_sibling(&pair[0], &core, core.core);
	if (!ret) {
		ret = rig_open_sibling(&pair[1], &core, core.core + 1);
		if (ret)
			rig_close(&pair[0]);
	}
	close(core.fd);
	return ret;
}

int rig_open_cores(struct rig *rigs, unsigned int device, unsigned int count)
{
	struct rig core = { .fd = neuron_open(device) };
	struct drm_neuron_claim claim;
	unsigned int i = 0;
	int ret;

	if (core.fd < 0)
		return core.fd;
	ret = rig_claim(core.fd, 0, count, &claim);
	core.claim = claim.claim;
	core.core = (uint32_t)__builtin_ctzll(claim.granted | 1u << 31);
	while (!ret && i < count) {
		ret = rig_open_sibling(&rigs[i], &core, core.core + i);
		i += !ret;
	}
	while (ret && i--)
		rig_close(&rigs[i]);
	close(core.fd);
	return ret;
}

int rig_open_cc(struct rig *cc, const struct rig *core, unsigned int n)
{
	struct drm_neuron_device_info info;
	unsigned int each;
	int ret = neuron_query(core->fd, DRM_NEURON_QUERY_DEVICE, &info, sizeof(info));

	if (ret)
		return ret;
	each = info.nr_cc_cores / info.nr_cores;
	return rig_open_sibling(cc, core, info.first_cc_core + core->core * each + n);
}

void rig_close(struct rig *rig)
{
	if (rig->map)
		munmap(rig->map, 2 * RIG_HALF);
	if (rig->fd > 0)
		close(rig->fd);
	memset(rig, 0, sizeof(*rig));
}

void rig_clear(struct rig *rig)
{
	memset(rig->map, 0, 2 * RIG_HALF);
	memset(rig->count, 0, sizeof(rig->count));
	memset(rig->tail, 0, sizeof(rig->tail));
}

struct neuron_inst *rig_emit(struct rig *rig, enum neuron_engine engine,
			     enum neuron_opcode opcode)
{
	struct neuron_inst *inst;

	inst = (struct neuron_inst *)(void *)(rig->map + RIG_IMAGE(engine));
	inst += rig->count[engine]++;
	inst->opcode = (uint8_t)opcode;
	return inst;
}

void rig_halt(struct rig *rig, enum neuron_engine engine)
{
	rig_emit(rig, engine, NEURON_OP_HALT);
}

void rig_store(struct rig *rig, enum neuron_engine engine, uint32_t offset,
	       uint32_t value)
{
	struct neuron_inst *inst;

	inst = rig_emit(rig, engine, NEURON_OP_REG_SET);
	inst->reg[0] = 1;
	inst->imm0 = value;
	inst = rig_emit(rig, engine, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, offset);
}

/* Ring @s2m: 0 or 1. */
static struct neuron_udma_desc *rig_desc(struct rig *rig, unsigned int s2m)
{
	struct neuron_udma_desc *ring;

	ring = (struct neuron_udma_desc *)(void *)(rig->map + RIG_RINGS);
	return &ring[s2m * RIG_RING_LENGTH + rig->tail[s2m]++];
}

void rig_copy(struct rig *rig, enum neuron_engine engine, uint64_t dst,
	      uint64_t src, uint32_t size)
{
	struct neuron_inst *inst;

	*rig_desc(rig, 0) = neuron_copy_source(src, size, NEURON_UDMA_RING_ID_FIRST,
					       NEURON_UDMA_META_DEFAULT);
	*rig_desc(rig, 1) = neuron_copy_target(dst, size, NEURON_UDMA_RING_ID_FIRST, 0);

	inst = rig_emit(rig, engine, NEURON_OP_DMA_TRIGGER);
	inst->imm0 = 1;
	inst->imm1 = 1;
}

static struct neuron_ap rig_tile(uint32_t memory, unsigned int partitions, unsigned int n,
				 enum neuron_dtype dtype)
{
	return (struct neuron_ap){
		.addr = memory,
		.num = { (uint16_t)n, 1, 1, 1 },
		.step = { 1 },
		.partitions = (uint8_t)partitions,
		.dtype = (uint8_t)dtype,
	};
}

void rig_product(struct rig *rig, unsigned int k, unsigned int m, unsigned int n)
{
	struct neuron_inst *inst;

	inst = rig_emit(rig, NEURON_ENGINE_TENSOR, NEURON_OP_LOAD_STATIONARY);
	inst->src0 = rig_tile(0, k, m, NEURON_DTYPE_BF16);
	inst = rig_emit(rig, NEURON_ENGINE_TENSOR, NEURON_OP_MATMUL);
	inst->src0 = rig_tile(0, k, n, NEURON_DTYPE_BF16);
	inst->dst = rig_tile(NEURON_AP_PSUM, m, n, NEURON_DTYPE_FP32);
	rig_halt(rig, NEURON_ENGINE_TENSOR);
}

void rig_loop(struct rig *rig, enum neuron_engine engine, uint32_t count)
{
	struct neuron_inst *inst;

	if (count) {
		inst = rig_emit(rig, engine, NEURON_OP_REG_SET);
		inst->reg[0] = 3;
		inst->imm0 = count;
		inst = rig_emit(rig, engine, NEURON_OP_LOOP);
		inst->reg[0] = 3;
	} else {
		inst = rig_emit(rig, engine, NEURON_OP_BRANCH);
		inst->op0 = NEURON_ALU_BYPASS;
	}
	inst->addr = rig->count[engine] - 1;
}

const uint64_t rig_all_semaphores[RIG_SEM_WORDS] = { ~0ull, ~0ull, ~0ull, ~0ull };

void rig_prepare(struct rig *rig, struct rig_submit *submit,
		 struct drm_neuron_queue *queue)
{
	unsigned int e;

	memset(submit, 0, sizeof(*submit));
	submit->call.claim = rig->claim;
	submit->job.core = rig->core;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		rig->start[e] = (struct drm_neuron_start){
			.addr = rig->count[e] ? neuron_window_addr(RIG_WINDOW_IMAGE,
								   RIG_IMAGE(e)) : 0,
			.count = rig->count[e],
			.engine = e,
		};
	submit->job.starts = (struct drm_neuron_array){
		sizeof(rig->start[0]), NEURON_NR_ENGINES, (uintptr_t)rig->start,
	};
	submit->job.sem_clear = (struct drm_neuron_array){
		sizeof(rig_all_semaphores[0]), RIG_SEM_WORDS, (uintptr_t)rig_all_semaphores,
	};
	if (!rig->tail[0] && !rig->tail[1])
		return;

	memset(queue, 0, sizeof(*queue));
	if (rig_is_cc(rig))
		queue->queue = (uint16_t)(1 + rig->core % 8);
	queue->m2s_ring = neuron_window_addr(RIG_WINDOW_IMAGE, RIG_RINGS);
	queue->s2m_ring = queue->m2s_ring +
			  RIG_RING_LENGTH * sizeof(struct neuron_udma_desc);
	queue->m2s_length = RIG_RING_LENGTH;
	queue->s2m_length = RIG_RING_LENGTH;
	submit->job.queues.stride = sizeof(*queue);
	submit->job.queues.count = 1;
	submit->job.queues.pointer = (uintptr_t)queue;
}

void rig_prepare_engine(struct rig *rig, struct rig_submit *submit,
			enum neuron_engine engine)
{
	struct drm_neuron_queue none;

	rig_prepare(rig, submit, &none);
	memset(&submit->job.queues, 0, sizeof(submit->job.queues));
	submit->job.starts.count = 1;
	submit->job.starts.pointer = (uintptr_t)&rig->start[engine];
}

void rig_put_jobs(struct drm_neuron_submit *call, const struct drm_neuron_job *jobs,
		  uint32_t count)
{
	if (count > 1)
		call->flags |= DRM_NEURON_SUBMIT_GANG;
	call->jobs.stride = sizeof(*jobs);
	call->jobs.count = count;
	call->jobs.pointer = (uintptr_t)jobs;
}

int rig_submit(struct rig *rig, struct rig_submit *submit)
{
	rig_put_jobs(&submit->call, &submit->job, 1);
	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_SUBMIT, &submit->call);
}

int64_t rig_start(struct rig *rig, uint32_t timeout_ms)
{
	struct rig_submit submit;
	struct drm_neuron_queue queue;
	int ret;

	rig_prepare(rig, &submit, &queue);
	submit.job.timeout_ms = timeout_ms;
	ret = rig_submit(rig, &submit);
	return ret ? ret : (int64_t)submit.call.job;
}

int rig_wait_jobs(int fd, struct drm_neuron_wait_job *jobs, uint32_t count,
		  uint32_t flags, int64_t timeout_ms)
{
	struct drm_neuron_wait args = {
		.flags = flags,
		.deadline_ns = timeout_ms ? (rig_now_ms() + timeout_ms) * 1000000 : 0,
		.jobs = { sizeof(*jobs), count, (uintptr_t)jobs },
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_WAIT, &args);

	return ret ? ret : (int)args.index;
}

int rig_wait(struct rig *rig, uint64_t job, int64_t timeout_ms,
	     struct drm_neuron_wait_job *result)
{
	struct drm_neuron_wait_job args = {
		.claim = rig->claim,
		.core = rig->core,
		.job = job,
	};
	int ret = rig_wait_jobs(rig->fd, &args, 1, 0, timeout_ms);

	if (result)
		*result = args;
	return ret;
}

int rig_cancel(struct rig *rig, uint64_t job)
{
	struct drm_neuron_cancel args = {
		.claim = rig->claim,
		.core = rig->core,
		.job = job,
	};

	return neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_CANCEL, &args);
}

int rig_run(struct rig *rig, uint32_t timeout_ms,
	    struct drm_neuron_wait_job *result)
{
	int64_t job = rig_start(rig, timeout_ms);

	if (job < 0)
		return (int)job;
	return rig_wait(rig, (uint64_t)job, 60000, result);
}

void rig_usage(int fd, struct rig_usage *usage)
{
	FILE *f = neuron_debugfs(fd, "claims");
	long long transfers;

	usage->hbm = neuron_hbm_used(fd);
	usage->live = -1;
	if (!f)
		return;
	if (fscanf(f, "jobs and window tables: %lld transfers: %lld", &usage->live,
		   &transfers) == 2)
		usage->live += transfers;
	else
		usage->live = -1;
	fclose(f);
}

void rig_usage_at_rest(int fd, struct rig_usage *usage)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int64_t changed = rig_now_ms(), end = changed + 10000, now;
	struct rig_usage next;

	rig_usage(fd, usage);
	do {
		nanosleep(&pause, NULL);
		rig_usage(fd, &next);
		now = rig_now_ms();
		if (next.hbm != usage->hbm || next.live != usage->live)
			changed = now;
		*usage = next;
	} while (now < changed + 300 && now < end);
}

bool rig_leaks(int fd, const struct rig_usage *before)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int64_t end = rig_now_ms() + 10000;
	struct rig_usage now, last;

	rig_usage(fd, &last);
	do {
		rig_usage(fd, &now);
		if (now.live >= 0 && now.hbm <= before->hbm && now.live <= before->live)
			return false;
		/* Large tables take a slow kernel seconds each. */
		if (now.hbm < last.hbm || now.live < last.live)
			end = rig_now_ms() + 10000;
		last = now;
		nanosleep(&pause, NULL);
	} while (rig_now_ms() < end);
	fprintf(stderr, "# in use: HBM %lld, was %lld; jobs, tables, transfers %lld, were %lld\n",
		now.hbm, before->hbm, now.live, before->live);
	return true;
}

long long rig_charged(int fd)
{
	FILE *f = neuron_debugfs(fd, "accounts");
	long long memory, found = -1;
	unsigned int user;

	if (!f)
		return -1;
	while (fscanf(f, "user %u: memory %lld event files %*d\n", &user, &memory) == 2)
		if (user == getuid())
			found = memory;
	fclose(f);
	return found;
}

bool rig_charge_returns(int fd, long long before)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const int64_t end = rig_now_ms() + 20000;

	while (rig_charged(fd) != before && rig_now_ms() < end)
		nanosleep(&pause, NULL);
	return rig_charged(fd) == before;
}

int rig_fence(int fd, uint32_t handle)
{
	struct drm_syncobj_handle args = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	struct sync_file_info info = { 0 };
	int ret = neuron_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	if (ret)
		return ret;
	ret = neuron_ioctl(args.fd, SYNC_IOC_FILE_INFO, &info);
	close(args.fd);
	if (ret)
		return ret;
	return info.status < 0 ? info.status : !info.status;
}

int64_t rig_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}
