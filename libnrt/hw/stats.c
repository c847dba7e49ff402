// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "hw/stats.h"

_Static_assert(sizeof(struct nrt_emu_stats_core) == 256, "layout");
_Static_assert(sizeof(struct nrt_emu_stats_model) == 376, "layout");
_Static_assert(offsetof(struct nrt_emu_stats, latency) == 448, "layout");
_Static_assert(offsetof(struct nrt_emu_stats, cores) == 59080, "layout");

/* Older headers lack them; older kernels do not know the first. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL		0x0008u
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE	0x0010
#endif

/* --- The page --- */

static int new_file(size_t size)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(NRT_EMU_STATS_NAME, flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(NRT_EMU_STATS_NAME, flags);
	if (fd >= 0 && ftruncate(fd, (off_t)size)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Nobody but this mapping writes, and the size stays. A kernel that cannot do that does less. */
static void seal(int fd)
{
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE))
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
}

static void *map_file(struct nrt_stats *stats, size_t size)
{
	struct stat file;
	void *page;

	stats->fd = new_file(size);
	if (stats->fd < 0 || fstat(stats->fd, &file))
		return MAP_FAILED;
	stats->device = file.st_dev;
	stats->inode = file.st_ino;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, stats->fd, 0);
	if (page != MAP_FAILED)
		seal(stats->fd);
	return page;
}

NRT_STATUS nrt_stats_open(struct nrt_stats *stats, unsigned int nr_cores, struct nrt_error *error)
{
	size_t size = sizeof(*stats->page) + nr_cores * sizeof(stats->page->cores[0]);
	void *page = map_file(stats, size);

	if (page == MAP_FAILED) {
		nrt_log(NRT_LOG_INFO, "nrt_init", "no statistics page: %s", strerror(errno));
		if (stats->fd >= 0)
			close(stats->fd);
		stats->fd = -1;
		page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	if (page == MAP_FAILED)
		return nrt_error_memory(error);
	stats->page = page;
	stats->page->version = NRT_EMU_STATS_VERSION;
	stats->page->size = size;
	stats->page->nr_cores = nr_cores;
	stats->page->pid = (uint32_t)getpid();
	stats->page->init_ns = nrt_clock_now();
	pthread_mutex_init(&stats->lock, NULL);
	return NRT_SUCCESS;
}

void nrt_stats_publish(struct nrt_stats *stats)
{
	__atomic_store_n(&stats->page->magic, NRT_EMU_STATS_MAGIC, __ATOMIC_RELEASE);
}

void nrt_stats_close(struct nrt_stats *stats)
{
	struct stat file;

	if (!stats->page)
		return;
	munmap(stats->page, stats->page->size);
	stats->page = NULL;
	pthread_mutex_destroy(&stats->lock);
	/* A program that closes all its descriptors may have another file there by now. */
	if (stats->fd >= 0 && !fstat(stats->fd, &file) && file.st_dev == stats->device &&
	    file.st_ino == stats->inode)
		close(stats->fd);
	stats->fd = -1;
}

/* --- Counters --- */

static void add(uint64_t *word, uint64_t value)
{
	__atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

#define JOBS_MASK	((1u << NRT_EMU_STATS_JOB_BITS) - 1)

/* @now is read after a core became idle, and before it gets a job, or the sum would go back. */
void nrt_stats_job_begins(struct nrt_emu_stats_core *core, unsigned int i)
{
	uint64_t old = __atomic_load_n(&core->activity[i], __ATOMIC_RELAXED), new;

	do {
		new = old + 1;
		if (!(old & JOBS_MASK))
			new -= nrt_clock_now() << NRT_EMU_STATS_JOB_BITS;
	} while (!__atomic_compare_exchange_n(&core->activity[i], &old, new, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void nrt_stats_job_ended(struct nrt_emu_stats_core *core, unsigned int i)
{
	uint64_t old = __atomic_load_n(&core->activity[i], __ATOMIC_RELAXED), new;

	do {
		new = old - 1;
		if ((old & JOBS_MASK) == 1)
			new += nrt_clock_now() << NRT_EMU_STATS_JOB_BITS;
	} while (!__atomic_compare_exchange_n(&core->activity[i], &old, new, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* Documentation/libnrt/statistics.rst has this table. */
static enum nrt_emu_stats_error error_of(NRT_STATUS status)
{
	switch (status) {
	case NRT_EXEC_COMPLETED_WITH_NUM_ERR:
		return NRT_EMU_STATS_NUMERICAL;
	case NRT_EXEC_NC_BUSY:
	case NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE:
		return NRT_EMU_STATS_TRANSIENT;
	case NRT_INVALID:
	case NRT_EXEC_OOB:
	case NRT_EXEC_BAD_INPUT:
	case NRT_UNSUPPORTED_NEFF_VERSION:
		return NRT_EMU_STATS_MODEL_ERROR;
	case NRT_TIMEOUT:
	case NRT_RESOURCE:
	case NRT_FAIL_HOST_MEM_ALLOC:
	case NRT_QUEUE_FULL:
	case NRT_CLOSED:
	case NRT_EXEC_UNIT_UNRECOVERABLE:
	case NRT_EXEC_SW_NQ_OVERFLOW:
		return NRT_EMU_STATS_RUNTIME_ERROR;
	case NRT_HW_ERROR:
	case NRT_EXEC_HW_ERR_COLLECTIVES:
	case NRT_EXEC_HW_ERR_HBM_UE:
	case NRT_EXEC_HW_ERR_NC_UE:
	case NRT_EXEC_HW_ERR_DMA_ABORT:
		return NRT_EMU_STATS_HARDWARE;
	default:
		return NRT_EMU_STATS_GENERIC;
	}
}

void nrt_stats_refused(struct nrt_emu_stats_core *core, NRT_STATUS status)
{
	enum nrt_emu_stats_outcome outcome = NRT_EMU_STATS_FAILED_TO_QUEUE;

	if (status == NRT_INVALID || status == NRT_INVALID_HANDLE)
		outcome = NRT_EMU_STATS_INCORRECT_INPUT;
	add(&core->outcomes[outcome], 1);
	add(&core->errors[error_of(status)], 1);
}

static enum nrt_emu_stats_outcome outcome_of(NRT_STATUS status)
{
	switch (status) {
	case NRT_SUCCESS:
		return NRT_EMU_STATS_COMPLETED;
	case NRT_EXEC_COMPLETED_WITH_NUM_ERR:
		return NRT_EMU_STATS_COMPLETED_WITH_NUM_ERR;
	case NRT_TIMEOUT:
		return NRT_EMU_STATS_TIMED_OUT;
	default:
		return NRT_EMU_STATS_COMPLETED_WITH_ERR;
	}
}

void nrt_stats_ended(struct nrt_stats *stats, struct nrt_emu_stats_core *core, NRT_STATUS status,
		     const struct nrt_stats_times *times)
{
	uint64_t (*latency)[NRT_EMU_STATS_BUCKETS] = stats->page->latency;

	add(&core->outcomes[outcome_of(status)], 1);
	if (status)
		add(&core->errors[error_of(status)], 1);
	if (status && status != NRT_EXEC_COMPLETED_WITH_NUM_ERR)
		return;
	add(&latency[NRT_EMU_STATS_TOTAL_LATENCY][nrt_emu_stats_bucket(times->total_ns)], 1);
	add(&latency[NRT_EMU_STATS_DEVICE_LATENCY][nrt_emu_stats_bucket(times->device_ns)], 1);
}

/* --- Memory --- */

static enum nrt_emu_stats_host host_kind(unsigned int category)
{
	switch (category) {
	case DRM_NEURON_CATEGORY_CONSTANTS:
		return NRT_EMU_STATS_HOST_CONSTANTS;
	case DRM_NEURON_CATEGORY_DMA_BUFFERS:
	case DRM_NEURON_CATEGORY_DMA_RINGS:
		return NRT_EMU_STATS_HOST_DMA_BUFFERS;
	case DRM_NEURON_CATEGORY_TENSORS:
		return NRT_EMU_STATS_HOST_TENSORS;
	default:
		return NRT_EMU_STATS_HOST_APPLICATION;
	}
}

static enum nrt_emu_stats_device device_kind(unsigned int category)
{
	switch (category) {
	case DRM_NEURON_CATEGORY_CODE:
	case DRM_NEURON_CATEGORY_DMA_RINGS:
		return NRT_EMU_STATS_CODE;
	case DRM_NEURON_CATEGORY_CONSTANTS:
		return NRT_EMU_STATS_CONSTANTS;
	case DRM_NEURON_CATEGORY_SCRATCHPAD:
	case DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD:
		return NRT_EMU_STATS_SCRATCHPAD;
	case DRM_NEURON_CATEGORY_TENSORS:
		return NRT_EMU_STATS_TENSORS;
	default:
		return NRT_EMU_STATS_RUNTIME;
	}
}

/* A model shares no scratchpad of its own, and monitors have no word for one that it has alone. */
enum nrt_emu_stats_device nrt_stats_model_kind(unsigned int category)
{
	return category == DRM_NEURON_CATEGORY_SCRATCHPAD ? NRT_EMU_STATS_TENSORS :
							    device_kind(category);
}

/* @sign: 1 or -1, in the arithmetic of the gauges. */
static void account(struct nrt_emu_stats_core *core, const struct nrt_stats_buffer *buffer,
		    uint64_t sign)
{
	uint64_t rest = buffer->size;
	unsigned int i;

	if (buffer->placement == DRM_NEURON_BO_HOST) {
		add(&core->host_bytes[host_kind(buffer->category)], sign * rest);
		return;
	}
	if (!buffer->bytes) {
		add(&core->device_bytes[device_kind(buffer->category)], sign * rest);
		return;
	}
	for (i = 0; i < DRM_NEURON_NR_CATEGORIES; i++) {
		if (!buffer->bytes[i])
			continue;
		add(&core->device_bytes[device_kind(i)], sign * buffer->bytes[i]);
		rest -= buffer->bytes[i];
	}
	add(&core->device_bytes[NRT_EMU_STATS_RUNTIME], sign * rest);
}

void nrt_stats_buffer_comes(struct nrt_emu_stats_core *core, const struct nrt_stats_buffer *buffer)
{
	account(core, buffer, 1);
}

void nrt_stats_buffer_goes(struct nrt_emu_stats_core *core, const struct nrt_stats_buffer *buffer)
{
	account(core, buffer, UINT64_MAX);
}

/* --- Models --- */

/* With the lock: the sequence becomes odd, and readers see that before they see a change. */
static void begin_change(struct nrt_stats *stats)
{
	__atomic_fetch_add(&stats->page->models_seq, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_change(struct nrt_stats *stats)
{
	__atomic_fetch_add(&stats->page->models_seq, 1, __ATOMIC_RELEASE);
}

static struct nrt_emu_stats_model *free_row(struct nrt_stats *stats)
{
	unsigned int i;

	for (i = 0; i < NRT_EMU_STATS_MAX_MODELS; i++)
		if (!stats->page->models[i].model_id)
			return &stats->page->models[i];
	return NULL;
}

struct nrt_emu_stats_model *nrt_stats_model_comes(struct nrt_stats *stats,
						  const struct nrt_emu_stats_model *row)
{
	struct nrt_emu_stats_model *model;

	pthread_mutex_lock(&stats->lock);
	model = free_row(stats);
	begin_change(stats);
	if (model)
		*model = *row;
	else
		stats->page->models_left_out++;
	end_change(stats);
	pthread_mutex_unlock(&stats->lock);
	return model;
}

void nrt_stats_model_leaves(struct nrt_stats *stats, struct nrt_emu_stats_model *row)
{
	pthread_mutex_lock(&stats->lock);
	begin_change(stats);
	if (row)
		memset(row, 0, sizeof(*row));
	else
		stats->page->models_left_out--;
	end_change(stats);
	pthread_mutex_unlock(&stats->lock);
}

void nrt_stats_model_begins(struct nrt_emu_stats_model *row)
{
	if (row)
		__atomic_fetch_add(&row->running, 1, __ATOMIC_RELAXED);
}

void nrt_stats_model_ended(struct nrt_emu_stats_model *row)
{
	if (row)
		__atomic_fetch_sub(&row->running, 1, __ATOMIC_RELAXED);
}
