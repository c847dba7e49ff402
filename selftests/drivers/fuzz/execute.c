// SPDX-License-Identifier: MIT
/*
 * Running a program. The arguments of a call are built anew for each thread, in memory of the
 * thread. What calls give is common to all threads of the program.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "execute.h"
#include "fail_inject.h"
#include "neuron_test.h"

#define LIMIT_MS	5000	/* of a program, before it is killed */
#define GONE_MS		300000	/* for a killed one to go, on a busy host */
#define POOL		64
#define SCRATCH		(256u << 10)
#define MAX_ARGS	1024
#define LOOK_DEBUGFS	1	/* fuzz_look.what: 0 fdinfo; then files of debugfs */
#define LOOK_SYSFS	12	/* and of sysfs */

/**
 * struct pool - resources of one kind that calls have given
 * @count: all that were given; the last POOL of them are kept
 * @v: the resources
 */
struct pool {
	uint32_t count;
	uint64_t v[POOL];
};

/**
 * struct thread - one that makes calls; all live as long as the process
 * @child: the process
 * @number: of the thread
 * @fail: file that lets allocations fail, or -1
 * @scratch: memory of the arguments; what follows it is not mapped
 * @used: bytes of it
 * @next: next value of the call
 * @go: there is a program for the thread
 * @id: of the thread
 */
struct thread {
	struct child *child;
	unsigned int number;
	int fail;
	uint8_t *scratch;
	size_t used;
	const struct fuzz_value *next;
	sem_t go;
	pthread_t id;
};

/**
 * struct child - the process that runs programs
 * @runner: what it has been started with
 * @program: what runs now
 * @first_file: file descriptors from here on belong to the program
 * @thread: thread 0 is the one that waits for programs
 * @done: a further thread has been started, or has made all calls
 * @lock: protects @pool
 * @pool: by enum fuzz_resource
 */
struct child {
	struct fuzz_runner *runner;
	const struct fuzz_program *program;
	int first_file;
	struct thread thread[FUZZ_MAX_THREADS];
	sem_t done;
	pthread_mutex_t lock;
	struct pool pool[FUZZ_NR_RESOURCES];
};

/* Where a thread goes on after it has touched memory that is not there (any more). */
static _Thread_local sigjmp_buf bad_access;
static _Thread_local volatile sig_atomic_t touching;

static void on_bad_access(int signal)
{
	if (touching)
		siglongjmp(bad_access, 1);
	_exit(128 + signal);
}

static void give(struct child *child, unsigned int resource, uint64_t v)
{
	struct pool *pool = &child->pool[resource];

	pthread_mutex_lock(&child->lock);
	pool->v[pool->count++ % POOL] = v;
	pthread_mutex_unlock(&child->lock);
}

/* The resource that @value names, 0 when there is none of this kind. */
static uint64_t resolve(struct child *child, const struct fuzz_value *value)
{
	struct pool *pool = &child->pool[value->resource];
	uint64_t v = 0;
	uint32_t kept;

	if (!value->resource)
		return value->v;
	pthread_mutex_lock(&child->lock);
	kept = pool->count < POOL ? pool->count : POOL;
	if (kept)
		v = pool->v[value->v % kept];
	pthread_mutex_unlock(&child->lock);
	return v;
}

/* Memory of a call's arguments; the last bytes again and again when there is no more. */
static uint8_t *scratch(struct thread *thread, size_t size)
{
	size = (size + 7) & ~(size_t)7;
	if (thread->used + size > SCRATCH)
		thread->used = 0;
	if (size > SCRATCH)
		size = 0;
	thread->used += size;
	return thread->scratch + thread->used - size;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t deadline(uint64_t v)
{
	return v && v < FUZZ_FROM_NOW ? now_ns() + v : v;
}

static void put(uint8_t *to, size_t size, uint64_t v)
{
	memcpy(to, &v, size < sizeof(v) ? size : sizeof(v));
}

static void fill_struct(struct thread *thread, const struct fuzz_struct *type, uint8_t *to);

static void fill_array(struct thread *thread, const struct fuzz_field *field, uint8_t *to)
{
	const struct fuzz_value *part = thread->next;
	size_t size = field->element->size;
	size_t stride = part[FUZZ_ARRAY_STRIDE].v ? part[FUZZ_ARRAY_STRIDE].v : size;
	uint64_t i, count = part[FUZZ_ARRAY_COUNT].v;
	struct drm_neuron_array array = { .stride = (uint32_t)stride, .count = (uint32_t)count };
	uint8_t *base = scratch(thread, count * stride);
	uint8_t element[MAX_ARGS];

	if (part[FUZZ_ARRAY_MODE].v == FUZZ_ARRAY_CUT)
		base = thread->scratch + SCRATCH - count * stride / 2;
	array.pointer = (uintptr_t)base;
	if (part[FUZZ_ARRAY_MODE].v == FUZZ_ARRAY_HUGE)
		array.count = UINT32_MAX >> (count % 32);
	if (part[FUZZ_ARRAY_MODE].v == FUZZ_ARRAY_NOWHERE)
		array.pointer = FUZZ_ARENA_NOTHING;
	thread->next += FUZZ_ARRAY_PARTS;
	for (i = 0; i < count; i++) {
		memset(element, 0, sizeof(element));
		fill_struct(thread, field->element, element);
		if (base + (i + 1) * stride <= thread->scratch + SCRATCH)
			memcpy(base + i * stride, element, stride < size ? stride : size);
	}
	memcpy(to, &array, sizeof(array));
}

/* Pointers to a few resources or numbers, as DRM's own ioctls have them. */
static void fill_list(struct thread *thread, const struct fuzz_field *field, uint8_t *to)
{
	size_t each = field->kind == FUZZ_HANDLES ? 4 : 8;
	uint8_t *list = scratch(thread, each * FUZZ_NR_HANDLES);
	unsigned int i;

	for (i = 0; i < FUZZ_NR_HANDLES; i++)
		put(list + i * each, each, resolve(thread->child, thread->next++));
	put(to, field->size, (uintptr_t)list);
}

static void fill_field(struct thread *thread, const struct fuzz_field *field, uint8_t *to)
{
	uint64_t v;

	switch (field->kind) {
	case FUZZ_ARRAY:
		fill_array(thread, field, to);
		return;
	case FUZZ_STRUCT:
		fill_struct(thread, field->element, to);
		return;
	case FUZZ_HANDLES:
	case FUZZ_POINTS:
		fill_list(thread, field, to);
		return;
	}
	v = resolve(thread->child, thread->next++);
	put(to, field->size, field->kind == FUZZ_DEADLINE ? deadline(v) : v);
}

static void fill_struct(struct thread *thread, const struct fuzz_struct *type, uint8_t *to)
{
	const struct fuzz_field *field;
	unsigned int i, j;

	for (i = 0; i < type->nr_fields; i++) {
		field = &type->fields[i];
		for (j = 0; j < field->repeat; j++)
			fill_field(thread, field, to + field->offset + j * field->size);
	}
}

/* What a call that succeeded has given. */
static void take_given(struct thread *thread, const struct fuzz_struct *type, const uint8_t *args)
{
	const struct fuzz_field *field;
	unsigned int i, bit;
	uint64_t v;

	for (i = 0; i < type->nr_fields; i++) {
		field = &type->fields[i];
		v = 0;
		memcpy(&v, args + field->offset, field->size < 8 ? field->size : 8);
		if (field->kind == FUZZ_GIVE)
			give(thread->child, (unsigned int)field->arg, v);
		for (bit = 0; field->kind == FUZZ_GIVE_CORES && bit < 64; bit++)
			if (v & 1ull << bit)
				give(thread->child, FUZZ_CORE, bit);
	}
}

static int do_open(struct thread *thread, struct fuzz_open *args)
{
	int fd = open(thread->child->runner->device[args->device % FUZZ_NR_DEVICES],
		      O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	args->file = (uint32_t)fd;
	return 0;
}

/* @size bytes of buffer @handle in memory; MAP_FAILED and errno. */
static void *map_buffer(int file, uint32_t handle, uint64_t offset, uint64_t size, void *at)
{
	struct drm_neuron_bo_info info = { .handle = handle };
	int flags = at ? MAP_SHARED | MAP_FIXED : MAP_SHARED;
	void *map;

	if (ioctl(file, DRM_IOCTL_NEURON_BO_INFO, &info))
		return MAP_FAILED;
	map = mmap(at, size, PROT_READ | PROT_WRITE, flags, file,
		   (off_t)(info.mmap_offset + offset));
	if (map == MAP_FAILED && errno == EPERM)
		map = mmap(at, size, PROT_READ, flags, file, (off_t)(info.mmap_offset + offset));
	return map;
}

/*
 * Before memory is touched that may not be there. If writing the frame of the signal failed, or
 * a call on the way to and from its handler, the kernel would kill the process, now or with the
 * next signal.
 */
static void let_nothing_fail(struct thread *thread)
{
	if (thread->fail >= 0)
		fail_inject_disarm(thread->fail);
}

/* The first and the last page. */
static void touch(struct thread *thread, volatile uint8_t *map, uint64_t size, bool write)
{
	uint64_t last = (size - 1) & ~4095ull;

	let_nothing_fail(thread);
	if (!sigsetjmp(bad_access, 1)) {
		touching = 1;
		(void)map[0];
		(void)map[last];
		if (write) {
			map[0] = 1;
			map[last] = 2;
		}
	}
	touching = 0;
}

static int do_map(struct thread *thread, int file, const struct fuzz_map *args)
{
	uint64_t size = args->size ? args->size : 4096;
	bool keep = args->keep && size <= FUZZ_ARENA_END - FUZZ_ARENA_MAPS;
	void *map;

	map = map_buffer(file, args->handle, args->offset, size,
			 keep ? (void *)FUZZ_ARENA_MAPS : NULL);
	if (map == MAP_FAILED)
		return -errno;
	touch(thread, map, size, args->write);
	if (!keep)
		munmap(map, size);
	return 0;
}

static int do_image(struct thread *thread, int file, const struct fuzz_image *args)
{
	static _Thread_local uint8_t image[FUZZ_IMAGE_BYTES];
	uint8_t *map = map_buffer(file, args->handle, 0, FUZZ_IMAGE_BYTES, NULL);
	int ret = 0;

	if (map == MAP_FAILED)
		return -errno;
	fuzz_fill_image(image, args);
	let_nothing_fail(thread);
	if (!sigsetjmp(bad_access, 1)) {
		touching = 1;
		memcpy(map, image, sizeof(image));
	} else {
		ret = -EFAULT;
	}
	touching = 0;
	munmap(map, FUZZ_IMAGE_BYTES);
	return ret;
}

/* What blocks for ever is left alone: a READ of events that nobody makes. */
static int do_read(const struct fuzz_fd *args)
{
	struct pollfd poller = { .fd = args->fd, .events = POLLIN };
	char text[4096];

	if (poll(&poller, 1, 20) <= 0)
		return -EAGAIN;
	return read(args->fd, text, args->size % sizeof(text)) < 0 ? -errno : 0;
}

/* Read the file number @number of @dir, in any order. */
static int look_into(const char *dir, unsigned int number)
{
	char path[PATH_MAX + 300], text[4096];
	struct dirent *entry;
	DIR *d = opendir(dir);
	ssize_t got = -ENOENT;

	if (!d)
		return -errno;
	while ((entry = readdir(d)) != NULL) {
		if (entry->d_type != DT_REG || number--)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		got = neuron_read_file(path, text, sizeof(text));
		break;
	}
	closedir(d);
	return got < 0 ? (int)got : 0;
}

static int do_look(int file, const struct fuzz_look *args)
{
	char path[PATH_MAX], address[16], text[4096];
	ssize_t got;

	if (args->what < LOOK_DEBUGFS) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file);
		got = neuron_read_file(path, text, sizeof(text));
		return got < 0 ? (int)got : 0;
	}
	if (args->what < LOOK_SYSFS) {
		if (neuron_pci_address(file, address))
			return -ENOENT;
		snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s", address);
		return look_into(path, args->what - LOOK_DEBUGFS);
	}
	if (neuron_sysfs_dir(file, path, sizeof(path)))
		return -ENOENT;
	return look_into(path, args->what - LOOK_SYSFS);
}

static int act(struct thread *thread, const struct fuzz_desc *desc, int file, void *args)
{
	switch (desc->action) {
	case FUZZ_OPEN:
		return do_open(thread, args);
	case FUZZ_MAP:
		return do_map(thread, file, args);
	case FUZZ_IMAGE:
		return do_image(thread, file, args);
	case FUZZ_CLOSE:
		return close(((struct fuzz_fd *)args)->fd) ? -errno : 0;
	case FUZZ_READ:
		return do_read(args);
	case FUZZ_LOOK:
		return do_look(file, args);
	default:
		return neuron_reset_device(file);
	}
}

/* Has any call given a resource of this kind? */
static bool is_given(struct child *child, unsigned int resource)
{
	bool given;

	pthread_mutex_lock(&child->lock);
	given = child->pool[resource].count;
	pthread_mutex_unlock(&child->lock);
	return given;
}

/*
 * A number that is no resource could be any file of the fuzzer itself, and so could the 0 that
 * stands for a resource when there is none.
 */
static bool foreign_file(struct child *child, const struct fuzz_desc *desc,
			 const struct fuzz_call *call)
{
	return (desc->action == FUZZ_CLOSE || desc->action == FUZZ_READ) &&
	       (call->values.value[0].resource != FUZZ_FD || !is_given(child, FUZZ_FD));
}

static int make_call(struct thread *thread, const struct fuzz_call *call)
{
	const struct fuzz_desc *desc = &fuzz_calls[call->id];
	const struct fuzz_value file = { .v = call->file, .resource = FUZZ_FILE };
	uint32_t size = call->size ? call->size : desc->args->size;
	int fd = (int)resolve(thread->child, &file);
	uint64_t args[MAX_ARGS / 8] = { 0 };
	int ret;

	if (foreign_file(thread->child, desc, call))
		return -EBADF;
	/* What the driver does not know must be zero; so it is, in every other case. */
	if (size > desc->args->size && size & 1)
		memset((uint8_t *)args + desc->args->size, 0xa5, sizeof(args) - desc->args->size);
	thread->used = 0;
	thread->next = call->values.value;
	fill_struct(thread, desc->args, (uint8_t *)args);
	if (call->fail && thread->fail >= 0)
		fail_inject_arm(thread->fail, call->fail);
	if (desc->request)
		ret = neuron_ioctl(fd, _IOC(_IOC_DIR(desc->request), _IOC_TYPE(desc->request),
					    _IOC_NR(desc->request), size), args);
	else
		ret = act(thread, desc, fd, args);
	if (call->fail && thread->fail >= 0)
		fail_inject_disarm(thread->fail);
	if (!ret)
		take_given(thread, desc->args, (uint8_t *)args);
	return ret;
}

static void note(struct fuzz_result *result, uint32_t call, int ret, uint32_t new_pcs)
{
	result->error[call] = -ret;
	__atomic_fetch_add(&result->done, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&result->good, !ret, __ATOMIC_RELAXED);
	__atomic_fetch_add(&result->new_pcs, new_pcs, __ATOMIC_RELAXED);
	if (new_pcs && result->new_calls < call + 1)
		result->new_calls = call + 1;
}

static void make_calls(struct thread *thread)
{
	const struct fuzz_program *program = thread->child->program;
	struct fuzz_runner *runner = thread->child->runner;
	struct fuzz_result *result = &runner->shared->result;
	uint64_t start;
	uint32_t i;
	int ret;

	for (i = 0; i < program->count; i++) {
		start = now_ns();
		ret = make_call(thread, &program->call[i]);
		result->us[i] = (uint32_t)((now_ns() - start) / 1000);
		note(result, i, ret, fuzz_cover_take(&runner->cover, thread->number));
	}
}

static void thread_open(struct thread *thread)
{
	uint8_t *memory = mmap(NULL, SCRATCH + 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + SCRATCH, 4096, PROT_NONE))
		_exit(1);
	thread->scratch = memory;
	thread->fail = -1;
	if (thread->child->runner->fail)
		thread->fail = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	fuzz_cover_begin(&thread->child->runner->cover, thread->number);
}

static void *further_thread(void *arg)
{
	struct thread *thread = arg;

	thread_open(thread);
	sem_post(&thread->child->done);
	while (!sem_wait(&thread->go)) {
		make_calls(thread);
		sem_post(&thread->child->done);
	}
	return NULL;
}

static bool map_arena(void)
{
	const int fixed = MAP_FIXED_NOREPLACE | MAP_ANONYMOUS;
	int memory = memfd_create("arena", MFD_CLOEXEC);
	void *at = (void *)FUZZ_ARENA;

	if (memory < 0 || ftruncate(memory, (FUZZ_ARENA_MAPS - FUZZ_ARENA_SHARED) / 2))
		return false;
	if (mmap(at, FUZZ_ARENA_NOTHING - FUZZ_ARENA, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | fixed, -1, 0) != at ||
	    mprotect((void *)FUZZ_ARENA_READ_ONLY, FUZZ_ARENA_NOTHING - FUZZ_ARENA_READ_ONLY,
		     PROT_READ))
		return false;
	at = (void *)FUZZ_ARENA_SHARED;
	return mmap(at, FUZZ_ARENA_MAPS - FUZZ_ARENA_SHARED, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED_NOREPLACE, memory, 0) == at;
}

/* All that the program has left: its memory, its files, in the order in which they came. */
static void clean(struct child *child)
{
	munmap((void *)FUZZ_ARENA, FUZZ_ARENA_END - FUZZ_ARENA);
	close_range((unsigned int)child->first_file, ~0u, 0);
	memset(child->pool, 0, sizeof(child->pool));
}

static enum fuzz_end run_program(struct child *child)
{
	struct fuzz_open open = { 0 };
	unsigned int i;

	if (!map_arena()) {
		snprintf(child->runner->shared->result.why, FUZZ_WHY,
			 "its memory cannot be mapped: %s", strerror(errno));
		return FUZZ_END_DIED;
	}
	if (do_open(&child->thread[0], &open))
		return FUZZ_END_CLOSED;
	give(child, FUZZ_FILE, open.file);
	for (i = 1; i < child->program->threads; i++)
		sem_post(&child->thread[i].go);
	make_calls(&child->thread[0]);
	for (i = 1; i < child->program->threads; i++)
		sem_wait(&child->done);
	return FUZZ_END_DONE;
}

/* The next program, as the other process has written it. */
static bool fetch(struct fuzz_runner *runner, struct fuzz_program *program)
{
	char *text = runner->shared->text, error[FUZZ_WHY] = "no memory";
	FILE *f = fmemopen(text, strlen(text), "r");
	bool fine = f && fuzz_read(f, program, error, sizeof(error)) == 1;

	if (!fine)
		memcpy(runner->shared->result.why, error, FUZZ_WHY);

	if (f)
		fclose(f);
	return fine;
}

static void start_threads(struct child *child)
{
	struct thread *thread;
	unsigned int i;

	for (i = 0; i < FUZZ_MAX_THREADS; i++) {
		thread = &child->thread[i];
		thread->child = child;
		thread->number = i;
		if (!i) {
			thread_open(thread);
			continue;
		}
		sem_init(&thread->go, 0, 0);
		if (pthread_create(&thread->id, NULL, further_thread, thread))
			_exit(1);
		sem_wait(&child->done);
	}
}

static void init_child(struct child *child)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGSEGV, on_bad_access);
	signal(SIGBUS, on_bad_access);
	pthread_mutex_init(&child->lock, NULL);
	sem_init(&child->done, 0, 0);
	start_threads(child);
	child->first_file = dup(STDERR_FILENO);
	if (child->first_file < 0)
		_exit(1);
	close(child->first_file);
}

/* Until it is killed. @go and @done: of the pipes, the ends of this process. */
static void live(struct fuzz_runner *runner, int go, int done)
{
	struct child child = { .runner = runner };
	struct fuzz_result *result = &runner->shared->result;
	struct fuzz_program program;
	enum fuzz_end end;
	char byte;

	init_child(&child);
	while (read(go, &byte, 1) == 1 && fetch(runner, &program)) {
		child.program = &program;
		end = run_program(&child);
		clean(&child);
		__atomic_fetch_add(&result->new_pcs, fuzz_cover_take(&runner->cover, 0),
				   __ATOMIC_RELAXED);
		result->end = end;
		fuzz_program_free(&program);
		if (write(done, &byte, 1) != 1)
			break;
	}
}

/* 0 or a negative errno. */
static int start(struct fuzz_runner *runner)
{
	int go[2], done[2], ret = 0;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(done, O_CLOEXEC)) {
		ret = -errno;
		close(go[0]);
		close(go[1]);
		return ret;
	}
	fflush(NULL);
	runner->pid = fork();
	if (!runner->pid) {
		live(runner, go[0], done[1]);
		_exit(1);
	}
	if (runner->pid < 0)
		ret = -errno;
	runner->pidfd = (int)syscall(SYS_pidfd_open, runner->pid, 0);
	runner->go = go[1];
	runner->done = done[0];
	close(go[0]);
	close(done[1]);
	return ret;
}

/* The process has ended, or does not end. */
static void forget(struct fuzz_runner *runner)
{
	close(runner->pidfd);
	close(runner->go);
	close(runner->done);
	runner->pid = 0;
}

static bool readable(int fd, int ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	return poll(&poller, 1, ms) > 0 && poller.revents & POLLIN;
}

/* How the process ended, @status of waitpid(), unless it has said so itself. */
static void note_end(struct fuzz_result *result, int status)
{
	if (result->why[0])
		return;
	if (WIFSIGNALED(status))
		snprintf(result->why, FUZZ_WHY, "signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) > 128)
		snprintf(result->why, FUZZ_WHY, "%s outside of a buffer",
			 strsignal(WEXITSTATUS(status) - 128));
	else
		snprintf(result->why, FUZZ_WHY, "exit status %d", WEXITSTATUS(status));
}

/* The process does not answer. */
static enum fuzz_end end_process(struct fuzz_runner *runner)
{
	enum fuzz_end end = readable(runner->pidfd, 0) ? FUZZ_END_DIED : FUZZ_END_KILLED;
	int status;

	kill(runner->pid, SIGKILL);
	if (!readable(runner->pidfd, GONE_MS))
		return FUZZ_END_HUNG;
	if (waitpid(runner->pid, &status, 0) == runner->pid && end == FUZZ_END_DIED)
		note_end(&runner->shared->result, status);
	forget(runner);
	return end;
}

static bool send(struct fuzz_runner *runner, const struct fuzz_program *program)
{
	FILE *f = fmemopen(runner->shared->text, FUZZ_TEXT, "w");

	if (!f)
		return false;
	fuzz_write(f, program);
	return !fclose(f) && write(runner->go, "", 1) == 1;
}

void fuzz_run(struct fuzz_runner *runner, const struct fuzz_program *program)
{
	struct fuzz_result *result = &runner->shared->result;
	unsigned int i;
	char byte;

	memset(result, 0, sizeof(*result));
	if (!runner->pid && start(runner)) {
		snprintf(result->why, FUZZ_WHY, "no process: %s", strerror(errno));
		result->end = FUZZ_END_DIED;
		return;
	}
	if (send(runner, program) && readable(runner->done, LIMIT_MS) &&
	    read(runner->done, &byte, 1) == 1)
		return;
	result->end = end_process(runner);
	/* What a killed thread was in the middle of. */
	for (i = 0; i < program->threads; i++)
		result->new_pcs += fuzz_cover_take(&runner->cover, i);
}

static int find_devices(struct fuzz_runner *runner)
{
	char link[64];
	ssize_t length;
	unsigned int i;
	int fd;

	for (i = 0; i < FUZZ_NR_DEVICES; i++) {
		fd = neuron_open(i);
		if (fd < 0)
			return i ? 0 : fd;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		length = readlink(link, runner->device[i], sizeof(runner->device[i]) - 1);
		close(fd);
		if (length < 0)
			return -errno;
	}
	return 0;
}

int fuzz_runner_open(struct fuzz_runner *runner)
{
	int ret = find_devices(runner);

	if (ret)
		return ret;
	runner->shared = mmap(NULL, sizeof(*runner->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (runner->shared == MAP_FAILED)
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	runner->fail = !access("/proc/self/fail-nth", W_OK) && fail_inject_setup();
	return 0;
}
