// SPDX-License-Identifier: MIT
/*
 * The root: where the ranks of a world meet that are processes.
 *
 * A thread accepts connections, each of which has a thread of its own. Nobody can make it wait or
 * grow: strangers, who have not said who they are, are few and have little time, messages are
 * small, a rank is in few meetings at a time, and who does not read is dropped. Whoever reaches the
 * port can say that he is a rank. He counts as one when he has made the local connection too, for
 * which he must be a process of the same user; else his seat is free again soon. The end of a
 * rank's connection is the end of the world, which all others are told.
 *
 * What the root says of a meeting has its name. A refusal without a name is the end of the world.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "comm/sockets.h"

/* Connections besides those of the ranks, by each way: a flood of one does not close the other. */
#define MAX_STRANGERS	64
/* Of a rank at a time, of each kind: by several threads, and by a load beside an execution. */
#define MAX_MEETINGS	8
/* For a stranger to say who he is, for a rank to come by both ways, and for anybody to read. */
#define PATIENCE_MS	5000
#define LOOK_MS		100
/* For an address to be free. */
#define LISTEN_MS	20000

/**
 * struct member - a rank
 * @tcp, @local: its connections, or -1
 * @genuine: it has had both: without it the world has failed
 */
struct member {
	int tcp;
	int local;
	bool genuine;
};

/**
 * struct connection - a connection; its thread frees it
 * @next: list of the root
 * @fd: socket
 * @local: it is local
 */
struct connection {
	struct connection *next;
	struct nrt_root *root;
	int fd;
	bool local;
};

/**
 * struct meeting - a meeting under way
 * @head: as its first rank said
 * @shares: descriptors are exchanged
 * @deadline_ms: when it fails
 * @arrived: how many have come
 * @who: by place: rank of the world, or -1
 * @bytes: of all
 * @fds: of all
 */
struct meeting {
	struct meeting *next;
	struct nrt_wire_head head;
	bool shares;
	uint64_t deadline_ms;
	uint32_t arrived;
	int *who;
	uint8_t *bytes;
	int *fds;
};

/**
 * struct nrt_root - the root
 * @count: ranks
 * @listen, @local: sockets; the second one is local
 * @stop: to end @thread: a pipe
 * @welcome: how ranks get to the local socket
 * @lock: protects the rest
 * @idle: a connection has ended
 * @connections: those that have not
 * @strangers: connections that have not said who they are, by TCP [0] and local ones [1]
 * @closing: nobody is welcome
 * @failed: why the world has failed; status 0: it has not
 * @members: ranks
 * @first: meetings
 */
struct nrt_root {
	uint32_t count;
	int listen;
	int local;
	int stop[2];
	pthread_t thread;
	struct nrt_wire_welcome welcome;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	struct connection *connections;
	unsigned int strangers[2];
	bool closing;
	struct nrt_error failed;
	struct member *members;
	struct meeting *first;
};

/*
 * With the lock. @what: the meeting that is refused, or NULL: the world has failed. Who does not
 * take what he is told is dropped.
 */
static void tell(int fd, const struct nrt_wire_head *what, const struct nrt_error *why)
{
	if (!nrt_wire_refuse(fd, what, why))
		shutdown(fd, SHUT_RDWR);
}

/* --- Meetings; with the lock --- */

static void meeting_free(struct meeting *meeting)
{
	uint32_t i;

	for (i = 0; meeting->fds && i < meeting->head.count * meeting->head.nr_fds; i++)
		if (meeting->fds[i] >= 0)
			close(meeting->fds[i]);
	free(meeting->who);
	free(meeting->bytes);
	free(meeting->fds);
	free(meeting);
}

static void meeting_drop(struct nrt_root *root, struct meeting *meeting)
{
	struct meeting **link = &root->first;

	while (*link != meeting)
		link = &(*link)->next;
	*link = meeting->next;
	meeting_free(meeting);
}

static struct meeting *meeting_new(struct nrt_root *root, const struct nrt_wire_head *head,
				   bool shares)
{
	uint32_t wait = head->timeout_ms ? head->timeout_ms : NRT_TIMEOUT_MS;
	struct meeting *meeting = calloc(1, sizeof(*meeting));
	uint32_t i;

	if (!meeting)
		return NULL;
	meeting->head = *head;
	meeting->shares = shares;
	meeting->deadline_ms = nrt_wire_now_ms() + wait;
	meeting->who = calloc(head->count, sizeof(int));
	meeting->bytes = calloc(head->count, (size_t)head->size + 1);
	meeting->fds = calloc((size_t)head->count * head->nr_fds + 1, sizeof(int));
	if (!meeting->who || !meeting->bytes || !meeting->fds) {
		free(meeting->fds);
		meeting->fds = NULL;
		meeting_free(meeting);
		return NULL;
	}
	for (i = 0; i < head->count; i++)
		meeting->who[i] = -1;
	for (i = 0; i < head->count * head->nr_fds; i++)
		meeting->fds[i] = -1;
	meeting->next = root->first;
	root->first = meeting;
	return meeting;
}

static struct meeting *find(struct nrt_root *root, const struct nrt_wire_head *head, bool shares)
{
	struct meeting *meeting = root->first;

	while (meeting && (meeting->shares != shares || meeting->head.count != head->count ||
			   strcmp(meeting->head.name, head->name)))
		meeting = meeting->next;
	return meeting;
}

/* In how many meetings of that kind rank @rank is. */
static unsigned int count_meetings(const struct nrt_root *root, uint32_t rank, bool shares)
{
	const struct meeting *meeting;
	unsigned int nr = 0;
	uint32_t i;

	for (meeting = root->first; meeting; meeting = meeting->next)
		for (i = 0; meeting->shares == shares && i < meeting->head.count; i++)
			nr += meeting->who[i] == (int)rank;
	return nr;
}

static int fd_of(const struct nrt_root *root, uint32_t rank, bool local)
{
	return local ? root->members[rank].local : root->members[rank].tcp;
}

static void refuse_all(struct nrt_root *root, struct meeting *meeting, const struct nrt_error *why)
{
	uint32_t i;

	for (i = 0; i < meeting->head.count; i++)
		if (meeting->who[i] >= 0)
			tell(fd_of(root, (uint32_t)meeting->who[i], meeting->shares),
			     &meeting->head, why);
	meeting_drop(root, meeting);
}

/* Everybody gets the bytes of all; or the descriptors, of one rank after the other. */
static void answer(const struct nrt_root *root, const struct meeting *meeting, uint32_t place)
{
	struct nrt_wire_head head = { .type = NRT_WIRE_RESULT, .count = meeting->head.count };
	int fd = fd_of(root, (uint32_t)meeting->who[place], meeting->shares);
	bool sent = true;
	uint32_t i;

	memcpy(head.name, meeting->head.name, sizeof(head.name));
	if (!meeting->shares) {
		head.size = meeting->head.size * meeting->head.count;
		sent = nrt_wire_send(fd, &head, meeting->bytes, NULL);
	}
	for (i = 0; sent && meeting->shares && i < meeting->head.count; i++) {
		head.nr_fds = meeting->head.nr_fds;
		sent = nrt_wire_send(fd, &head, NULL, &meeting->fds[i * head.nr_fds]);
	}
	if (!sent)
		shutdown(fd, SHUT_RDWR);
}

/* Descriptors that are taken over are -1 afterwards. Who is refused has not been told yet. */
static NRT_STATUS arrive(struct nrt_root *root, uint32_t rank, const struct nrt_wire_head *head,
			 const void *bytes, int *fds, bool shares, struct nrt_error *error)
{
	struct meeting *meeting = find(root, head, shares);
	uint32_t i;

	if (count_meetings(root, rank, shares) >= MAX_MEETINGS)
		return nrt_error_set(error, NRT_RESOURCE,
				     "rank %u came to \"%s\" while it waits in %u other meetings, which is the most",
				     rank, head->name, MAX_MEETINGS);
	if (!meeting)
		meeting = meeting_new(root, head, shares);
	if (!meeting)
		return nrt_error_memory(error);
	if (meeting->head.size != head->size || meeting->head.nr_fds != head->nr_fds ||
	    meeting->who[head->rank] >= 0) {
		nrt_error_set(error, NRT_INVALID,
			      "rank %u came to \"%s\" in the place of another, or with %u bytes where others have %u",
			      rank, head->name, head->size, meeting->head.size);
		refuse_all(root, meeting, error);
		return error->status;
	}
	meeting->who[head->rank] = (int)rank;
	memcpy(meeting->bytes + (size_t)head->rank * head->size, bytes, head->size);
	for (i = 0; i < head->nr_fds; i++) {
		meeting->fds[head->rank * head->nr_fds + i] = fds[i];
		fds[i] = -1;
	}
	if (++meeting->arrived < head->count)
		return NRT_SUCCESS;
	for (i = 0; i < head->count; i++)
		answer(root, meeting, i);
	meeting_drop(root, meeting);
	return NRT_SUCCESS;
}

/* The meetings whose time is over. */
static void expire(struct nrt_root *root)
{
	struct meeting *meeting, *next;
	struct nrt_error why = { 0 };
	uint32_t absent, wait;

	pthread_mutex_lock(&root->lock);
	for (meeting = root->first; meeting; meeting = next) {
		next = meeting->next;
		if (nrt_wire_now_ms() < meeting->deadline_ms)
			continue;
		for (absent = 0; meeting->who[absent] >= 0; absent++)
			;
		wait = meeting->head.timeout_ms ? meeting->head.timeout_ms : NRT_TIMEOUT_MS;
		nrt_error_set(&why, NRT_TIMEOUT,
			      "%u of %u ranks waited %u s in \"%s\"; number %u did not come",
			      meeting->arrived, meeting->head.count, wait / 1000,
			      meeting->head.name, absent);
		refuse_all(root, meeting, &why);
	}
	pthread_mutex_unlock(&root->lock);
}

/* --- The world --- */

/* With the lock. All ranks are told. The first reason counts. */
static void fail(struct nrt_root *root, const struct nrt_error *why)
{
	uint32_t i;

	if (root->failed.status || root->closing)
		return;
	root->failed = *why;
	while (root->first)
		meeting_drop(root, root->first);
	for (i = 0; i < root->count; i++) {
		if (root->members[i].tcp >= 0)
			tell(root->members[i].tcp, NULL, why);
		if (root->members[i].local >= 0)
			tell(root->members[i].local, NULL, why);
	}
}

static bool is_meeting(const struct nrt_root *root, const struct nrt_wire_head *head, bool local)
{
	return head->type == NRT_WIRE_GATHER && head->name[0] && head->count &&
	       head->count <= root->count && head->rank < head->count && local == !!head->nr_fds &&
	       (uint64_t)head->size * head->count <= NRT_WIRE_MAX_BYTES;
}

/* What rank @rank says. False: it is nonsense. */
static bool hear(struct nrt_root *root, uint32_t rank, const struct nrt_wire_head *head,
		 const char *bytes, int *fds, bool local)
{
	struct nrt_error why = { 0 };
	bool sane = true;

	pthread_mutex_lock(&root->lock);
	if (head->type == NRT_WIRE_REFUSED && !local && head->status) {
		nrt_error_set(&why, (NRT_STATUS)head->status, "%.*s", 700, bytes);
		fail(root, &why);
	} else if (is_meeting(root, head, local)) {
		if (root->failed.status)
			tell(fd_of(root, rank, local), NULL, &root->failed);
		else if (arrive(root, rank, head, bytes, fds, local, &why))
			tell(fd_of(root, rank, local), head, &why);
	} else {
		sane = false;
	}
	pthread_mutex_unlock(&root->lock);
	return sane;
}

static bool is_genuine(struct nrt_root *root, uint32_t rank)
{
	bool genuine;

	pthread_mutex_lock(&root->lock);
	genuine = root->members[rank].genuine;
	pthread_mutex_unlock(&root->lock);
	return genuine;
}

/* A rank says nothing by TCP before it has both connections. False: it is none. */
static bool await_local(struct nrt_root *root, uint32_t rank, int fd)
{
	uint64_t until = nrt_wire_now_ms() + PATIENCE_MS;
	struct pollfd at = { .fd = fd, .events = POLLIN };
	int n;

	do {
		n = poll(&at, 1, LOOK_MS);
		if (is_genuine(root, rank))
			return true;
	} while (n <= 0 && nrt_wire_now_ms() < until);
	return false;
}

static void listen_to(struct nrt_root *root, uint32_t rank, int fd, bool local)
{
	int fds[NRT_SHARE_MAX];
	struct nrt_wire_head head;
	bool sane = true;
	void *bytes;
	uint32_t i;

	while (sane && nrt_wire_receive(fd, NRT_WIRE_MAX_BYTES, &head, &bytes, fds)) {
		sane = hear(root, rank, &head, bytes, fds, local);
		for (i = 0; i < head.nr_fds; i++)
			if (fds[i] >= 0)
				close(fds[i]);
		free(bytes);
	}
}

/* --- Connections --- */

/* With the lock. Is that a rank that is expected? */
static bool is_expected(const struct nrt_root *root, const struct nrt_wire_head *head,
			const void *bytes, bool local)
{
	const struct member *member;

	if (root->closing || root->failed.status || head->type != NRT_WIRE_HELLO ||
	    head->nr_fds || head->count != root->count || head->rank >= root->count)
		return false;
	member = &root->members[head->rank];
	if (!local)
		return member->tcp < 0 && !head->size;
	return member->tcp >= 0 && !member->genuine && head->size == NRT_WIRE_TOKEN &&
	       !memcmp(bytes, root->welcome.token, NRT_WIRE_TOKEN);
}

static bool welcome(struct nrt_root *root, int fd, const struct nrt_wire_head *hello,
		    const void *bytes, bool local)
{
	struct nrt_wire_head head = {
		.type = NRT_WIRE_WELCOME,
		.size = local ? 0 : sizeof(root->welcome),
	};
	struct nrt_error why = { 0 };
	bool expected, sent;

	nrt_error_set(&why, NRT_FAILURE, "the root does not expect rank %u of %u", hello->rank,
		      hello->count);
	pthread_mutex_lock(&root->lock);
	expected = is_expected(root, hello, bytes, local);
	sent = expected ? nrt_wire_send(fd, &head, &root->welcome, NULL) :
			  nrt_wire_refuse(fd, NULL, &why);
	if (expected && sent && local) {
		root->members[hello->rank].local = fd;
		root->members[hello->rank].genuine = true;
	} else if (expected && sent) {
		root->members[hello->rank].tcp = fd;
	}
	pthread_mutex_unlock(&root->lock);
	return expected && sent;
}

/*
 * The connection of rank @rank has ended. When it is the local one, TCP may still bring the reason:
 * what is on its way is read, then it ends too.
 */
static void forget(struct nrt_root *root, uint32_t rank, bool local)
{
	struct member *member = &root->members[rank];
	struct nrt_error why = { 0 };

	nrt_error_set(&why, NRT_FAILURE, "rank %u of %u has gone, or talks nonsense", rank,
		      root->count);
	pthread_mutex_lock(&root->lock);
	if (local) {
		member->local = -1;
		if (member->tcp >= 0)
			shutdown(member->tcp, SHUT_RD);
	} else {
		member->tcp = -1;
		if (member->genuine)
			fail(root, &why);
	}
	pthread_mutex_unlock(&root->lock);
}

/* Whoever connects says who he is. True: he is a rank, that of @head. */
static bool introduce(struct nrt_root *root, int fd, bool local, struct nrt_wire_head *head)
{
	int fds[NRT_SHARE_MAX];
	bool known;
	void *bytes;

	if (local && !nrt_wire_same_user(fd))
		return false;
	if (!nrt_wire_receive(fd, NRT_WIRE_TOKEN, head, &bytes, fds))
		return false;
	known = welcome(root, fd, head, bytes, local);
	while (head->nr_fds)
		close(fds[--head->nr_fds]);
	free(bytes);
	return known;
}

static void serve(struct nrt_root *root, int fd, bool local)
{
	struct nrt_wire_head head;
	bool known;

	nrt_wire_limit(fd, PATIENCE_MS);
	known = introduce(root, fd, local, &head);
	pthread_mutex_lock(&root->lock);
	root->strangers[local]--;
	pthread_mutex_unlock(&root->lock);
	if (!known)
		return;
	nrt_wire_limit_reads(fd, 0);
	if (local || await_local(root, head.rank, fd))
		listen_to(root, head.rank, fd, local);
	forget(root, head.rank, local);
}

/* With the lock. */
static void drop(struct connection *connection)
{
	struct nrt_root *root = connection->root;
	struct connection **link = &root->connections;

	while (*link != connection)
		link = &(*link)->next;
	*link = connection->next;
	close(connection->fd);
	free(connection);
	pthread_cond_broadcast(&root->idle);
}

static void *connection_thread(void *arg)
{
	struct connection *connection = arg;
	struct nrt_root *root = connection->root;

	serve(root, connection->fd, connection->local);
	pthread_mutex_lock(&root->lock);
	drop(connection);
	pthread_mutex_unlock(&root->lock);
	return NULL;
}

static bool may_connect(struct nrt_root *root, struct connection *connection)
{
	bool may;

	pthread_mutex_lock(&root->lock);
	may = root->strangers[connection->local] < MAX_STRANGERS && !root->closing;
	if (may) {
		root->strangers[connection->local]++;
		connection->next = root->connections;
		root->connections = connection;
	}
	pthread_mutex_unlock(&root->lock);
	return may;
}

static void take(struct nrt_root *root, int listener, bool local)
{
	const struct timespec nap = { .tv_nsec = LOOK_MS * 1000000 };
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct connection *connection;
	pthread_t thread;

	if (fd < 0) {
		/* No descriptors, or no memory: it stays ready, so do not spin. */
		if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
			nanosleep(&nap, NULL);
		return;
	}
	connection = calloc(1, sizeof(*connection));
	if (!connection) {
		close(fd);
		return;
	}
	connection->root = root;
	connection->fd = fd;
	connection->local = local;
	if (!may_connect(root, connection)) {
		free(connection);
		close(fd);
		return;
	}
	if (!pthread_create(&thread, NULL, connection_thread, connection)) {
		pthread_detach(thread);
		return;
	}
	pthread_mutex_lock(&root->lock);
	root->strangers[local]--;
	drop(connection);
	pthread_mutex_unlock(&root->lock);
}

static void *root_thread(void *arg)
{
	struct nrt_root *root = arg;
	struct pollfd fds[] = {
		{ .fd = root->stop[0], .events = POLLIN },
		{ .fd = root->listen, .events = POLLIN },
		{ .fd = root->local, .events = POLLIN },
	};

	for (;;) {
		if (poll(fds, 3, LOOK_MS) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		if (fds[1].revents)
			take(root, root->listen, false);
		if (fds[2].revents)
			take(root, root->local, true);
		expire(root);
	}
}

/* --- Beginning and end --- */

static NRT_STATUS explain(const char *what, struct nrt_error *error)
{
	return nrt_error_set(error, NRT_FAILURE, "NEURON_RT_ROOT_COMM_ID: cannot %s: %s", what,
			     strerror(errno));
}

/* The socket, or -1 and errno. */
static int listen_at(const struct sockaddr_storage *address, socklen_t length)
{
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;
	int why;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, (const struct sockaddr *)address, length) && !listen(fd, SOMAXCONN))
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* A process that was killed with the root of an older world may need a while to end. */
static NRT_STATUS open_listen(struct nrt_root *root, const struct sockaddr_storage *address,
			      socklen_t length, struct nrt_error *error)
{
	const struct timespec nap = { .tv_nsec = LOOK_MS * 1000000 };
	uint64_t until = nrt_wire_now_ms() + LISTEN_MS;

	for (;;) {
		root->listen = listen_at(address, length);
		if (root->listen >= 0)
			return NRT_SUCCESS;
		if (errno != EADDRINUSE || nrt_wire_now_ms() >= until)
			return explain("listen there", error);
		nanosleep(&nap, NULL);
	}
}

static NRT_STATUS open_local(struct nrt_root *root, struct nrt_error *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint64_t name[2];
	socklen_t length;

	if (getrandom(name, sizeof(name), 0) != sizeof(name) ||
	    getrandom(root->welcome.token, NRT_WIRE_TOKEN, 0) != NRT_WIRE_TOKEN)
		return explain("get random numbers", error);
	snprintf(root->welcome.path, sizeof(root->welcome.path), "neuron-%016llx",
		 (unsigned long long)(name[0] ^ name[1]));
	memcpy(address.sun_path + 1, root->welcome.path, strlen(root->welcome.path));
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     strlen(root->welcome.path));
	root->local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (root->local < 0 || bind(root->local, (struct sockaddr *)&address, length) ||
	    listen(root->local, SOMAXCONN))
		return explain("make a local socket", error);
	return NRT_SUCCESS;
}

static void root_free(struct nrt_root *root)
{
	const int fds[] = { root->listen, root->local, root->stop[0], root->stop[1] };
	unsigned int i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	while (root->first)
		meeting_drop(root, root->first);
	pthread_cond_destroy(&root->idle);
	pthread_mutex_destroy(&root->lock);
	free(root->members);
	free(root);
}

static NRT_STATUS begin(struct nrt_root *root, const struct sockaddr_storage *address,
			socklen_t length, struct nrt_error *error)
{
	uint32_t i;

	root->members = calloc(root->count, sizeof(*root->members));
	if (!root->members)
		return nrt_error_memory(error);
	for (i = 0; i < root->count; i++)
		root->members[i] = (struct member){ .tcp = -1, .local = -1 };
	if (open_listen(root, address, length, error) || open_local(root, error))
		return error->status;
	if (pipe2(root->stop, O_CLOEXEC) ||
	    pthread_create(&root->thread, NULL, root_thread, root))
		return explain("begin a thread", error);
	return NRT_SUCCESS;
}

struct nrt_root *nrt_root_open(const struct sockaddr_storage *address, socklen_t length,
			       uint32_t count, struct nrt_error *error)
{
	struct nrt_root *root = calloc(1, sizeof(*root));

	if (!root) {
		nrt_error_memory(error);
		return NULL;
	}
	root->count = count;
	root->listen = -1;
	root->local = -1;
	root->stop[0] = -1;
	root->stop[1] = -1;
	pthread_mutex_init(&root->lock, NULL);
	pthread_cond_init(&root->idle, NULL);
	if (!begin(root, address, length, error))
		return root;
	root_free(root);
	return NULL;
}

void nrt_root_close(struct nrt_root *root)
{
	struct connection *connection;

	if (!root)
		return;
	if (write(root->stop[1], "", 1) == 1)
		pthread_join(root->thread, NULL);
	pthread_mutex_lock(&root->lock);
	root->closing = true;
	for (connection = root->connections; connection; connection = connection->next)
		shutdown(connection->fd, SHUT_RDWR);
	while (root->connections)
		pthread_cond_wait(&root->idle, &root->lock);
	pthread_mutex_unlock(&root->lock);
	root_free(root);
}
