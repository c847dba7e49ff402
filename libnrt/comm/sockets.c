// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "comm/sockets.h"

/* The root, which ends a meeting in time, is waited for a little longer. */
#define GRACE_MS	1000
#define RETRY_MS	50

/**
 * struct waiter - a thread of the rank that waits for an answer of the root
 * @next: list
 * @what: its meeting; no other waiter has one of that kind, name and size
 * @local: it waits for descriptors, else for bytes
 * @answered: all of the answer is here: @answer and @bytes, or @nr descriptors in @fds
 * @wanted: how many descriptors there must be
 */
struct waiter {
	struct waiter *next;
	const struct nrt_wire_head *what;
	bool local;
	bool answered;
	struct nrt_wire_head answer;
	void *bytes;
	int *fds;
	size_t nr;
	size_t wanted;
};

/**
 * struct link - a connection to the root
 * @sockets: whose it is
 * @fd: its socket, or -1
 * @local: descriptors come by it
 * @reader: thread that reads from it, if @has_reader
 * @send_lock: of @fd
 */
struct link {
	struct sockets *sockets;
	int fd;
	bool local;
	pthread_t reader;
	bool has_reader;
	pthread_mutex_t send_lock;
};

/**
 * struct sockets - the end of a rank
 * @base: base
 * @rank, @count: of the world
 * @failed, @arg: who is told
 * @root: of rank 0
 * @tcp, @local: to the root
 * @lock: protects the rest
 * @changed: an answer has come
 * @waiters: who waits for one
 * @why: the world has failed; status 0: it has not
 * @closing: nobody wants to know of that
 */
struct sockets {
	struct nrt_transport base;
	uint32_t rank;
	uint32_t count;
	nrt_sockets_failed_fn *failed;
	void *arg;
	struct nrt_root *root;
	struct link tcp;
	struct link local;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct waiter *waiters;
	struct nrt_error why;
	bool closing;
};

static struct sockets *sockets_of(struct nrt_transport *transport)
{
	return (struct sockets *)transport;
}

static NRT_STATUS bad_address(const char *text, struct nrt_error *error)
{
	return nrt_error_set(error, NRT_INVALID,
			     "NEURON_RT_ROOT_COMM_ID=\"%.80s\": use IPV4:PORT or [IPV6]:PORT",
			     text);
}

NRT_STATUS nrt_sockets_parse(const char *text, struct sockaddr_storage *address,
			     socklen_t *length, struct nrt_error *error)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	const char *colon = strrchr(text, ':');
	struct addrinfo *found;
	char host[64];
	size_t size;

	if (!colon || colon == text || !colon[1])
		return bad_address(text, error);
	size = (size_t)(colon - text);
	if (*text == '[' && colon[-1] == ']') {
		text++;
		size -= 2;
	} else if (memchr(text, ':', size)) {
		return bad_address(text, error);
	}
	if (size >= sizeof(host))
		return bad_address(text, error);
	snprintf(host, sizeof(host), "%.*s", (int)size, text);
	if (getaddrinfo(host, colon + 1, &hints, &found))
		return bad_address(text, error);
	memcpy(address, found->ai_addr, found->ai_addrlen);
	*length = found->ai_addrlen;
	freeaddrinfo(found);
	return NRT_SUCCESS;
}

/* --- What the root says --- */

/* The world has failed: whoever waits is told, and the user of the transport. */
static void give_up(struct sockets *sockets, const struct nrt_error *why)
{
	bool first;

	pthread_mutex_lock(&sockets->lock);
	first = !sockets->why.status && !sockets->closing;
	if (!sockets->why.status)
		sockets->why = *why;
	pthread_cond_broadcast(&sockets->changed);
	pthread_mutex_unlock(&sockets->lock);
	shutdown(sockets->local.fd, SHUT_RDWR);
	if (first)
		sockets->failed(sockets->arg, why);
}

static void close_all(const int *fds, size_t nr)
{
	while (nr)
		close(fds[--nr]);
}

/* With the lock: who waits for an answer from that meeting, or NULL. */
static struct waiter *find_waiter(struct sockets *sockets, bool local,
				  const struct nrt_wire_head *head)
{
	struct waiter *waiter = sockets->waiters;

	while (waiter && (waiter->local != local || waiter->what->count != head->count ||
			  strcmp(waiter->what->name, head->name)))
		waiter = waiter->next;
	return waiter;
}

/* With the lock: @waiter gets the descriptors, unless there are more than it has room for. */
static void give_fds(struct waiter *waiter, const struct nrt_wire_head *head, const int *fds)
{
	if (head->nr_fds > waiter->wanted - waiter->nr) {
		close_all(fds, head->nr_fds);
		waiter->answered = true;
		return;
	}
	if (head->nr_fds)
		memcpy(&waiter->fds[waiter->nr], fds, head->nr_fds * sizeof(*fds));
	waiter->nr += head->nr_fds;
	waiter->answered = waiter->nr == waiter->wanted || !head->nr_fds;
}

/* An answer for whoever waits. Nobody does if he has given up; then it is dropped. */
static void deliver(struct link *link, const struct nrt_wire_head *head, void *bytes,
		    const int *fds)
{
	struct sockets *sockets = link->sockets;
	struct waiter *waiter;

	pthread_mutex_lock(&sockets->lock);
	waiter = find_waiter(sockets, link->local, head);
	if (waiter && !waiter->answered) {
		free(waiter->bytes);
		waiter->answer = *head;
		waiter->bytes = bytes;
		give_fds(waiter, head, fds);
		if (waiter->answered)
			pthread_cond_broadcast(&sockets->changed);
	} else {
		close_all(fds, head->nr_fds);
		free(bytes);
	}
	pthread_mutex_unlock(&sockets->lock);
}

/* Read until the connection ends, or a refusal says without a name why the world does. */
static void read_all(struct link *link, struct nrt_error *why)
{
	int fds[NRT_SHARE_MAX];
	struct nrt_wire_head head;
	void *bytes;

	while (!why->status &&
	       nrt_wire_receive(link->fd, NRT_WIRE_MAX_BYTES, &head, &bytes, fds)) {
		if (head.type == NRT_WIRE_REFUSED && head.status && !head.name[0]) {
			nrt_error_set(why, (NRT_STATUS)head.status, "%.*s", 700, (char *)bytes);
			close_all(fds, head.nr_fds);
			free(bytes);
		} else {
			deliver(link, &head, bytes, fds);
		}
	}
}

/* When the local connection ends the root ends that by TCP, which may bring the reason first. */
static void *reader_thread(void *arg)
{
	struct link *link = arg;
	struct sockets *sockets = link->sockets;
	struct nrt_error why = { 0 };

	read_all(link, &why);
	if (link->local && !why.status) {
		shutdown(link->fd, SHUT_RDWR);
		return NULL;
	}
	if (!why.status)
		nrt_error_set(&why, NRT_FAILURE,
			      "rank %u of %u: rank 0 has gone, which has the root", sockets->rank,
			      sockets->count);
	give_up(sockets, &why);
	return NULL;
}

/* --- Waiting for it --- */

/* @waiter waits from now on, before the root is asked. */
static NRT_STATUS enlist(struct sockets *sockets, struct waiter *waiter, struct nrt_error *error)
{
	bool taken;

	pthread_mutex_lock(&sockets->lock);
	taken = find_waiter(sockets, waiter->local, waiter->what);
	if (!taken) {
		waiter->next = sockets->waiters;
		sockets->waiters = waiter;
	}
	pthread_mutex_unlock(&sockets->lock);
	if (!taken)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "rank %u waits for other ranks in \"%s\" already, in another thread",
			     sockets->rank, waiter->what->name);
}

/* With the lock. */
static void strike_off(struct sockets *sockets, struct waiter *waiter)
{
	struct waiter **link = &sockets->waiters;

	while (*link != waiter)
		link = &(*link)->next;
	*link = waiter->next;
}

static NRT_STATUS await(struct sockets *sockets, struct waiter *waiter, struct nrt_error *error)
{
	uint32_t limit = waiter->what->timeout_ms ? waiter->what->timeout_ms : NRT_TIMEOUT_MS;
	struct timespec until = nrt_clock_after((uint64_t)limit + GRACE_MS);
	int ret = 0;

	pthread_mutex_lock(&sockets->lock);
	while (!waiter->answered && !sockets->why.status && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&sockets->changed, &sockets->lock, &until);
	strike_off(sockets, waiter);
	error->status = NRT_SUCCESS;
	if (!waiter->answered && sockets->why.status)
		*error = sockets->why;
	else if (!waiter->answered)
		nrt_error_set(error, NRT_TIMEOUT, "rank %u of %u: the root does not answer",
			      sockets->rank, sockets->count);
	pthread_mutex_unlock(&sockets->lock);
	return error->status;
}

static bool send_by(struct link *link, const struct nrt_wire_head *head, const void *bytes,
		    const int *fds)
{
	struct nrt_wire_head copy = *head;
	bool sent;

	pthread_mutex_lock(&link->send_lock);
	sent = nrt_wire_send(link->fd, &copy, bytes, fds);
	pthread_mutex_unlock(&link->send_lock);
	return sent;
}

/*
 * Ask the root, and wait for the answer of @size bytes, or of all descriptors. When it cannot be
 * asked the reader finds out, and says what has happened.
 */
static NRT_STATUS ask(struct sockets *sockets, struct waiter *waiter, const void *input,
		      const int *fds, size_t size, struct nrt_error *error)
{
	const struct nrt_wire_head *answer = &waiter->answer;

	if (enlist(sockets, waiter, error))
		return error->status;
	send_by(waiter->local ? &sockets->local : &sockets->tcp, waiter->what, input, fds);
	if (await(sockets, waiter, error))
		return error->status;
	if (answer->type == NRT_WIRE_REFUSED && answer->status)
		return nrt_error_set(error, (NRT_STATUS)answer->status, "%.*s", 700,
				     (char *)waiter->bytes);
	if (answer->type != NRT_WIRE_RESULT || answer->size != size ||
	    waiter->nr != waiter->wanted)
		return nrt_error_set(error, NRT_FAILURE, "the root talks nonsense");
	return NRT_SUCCESS;
}

/* --- Transport --- */

static struct nrt_wire_head meeting(const struct nrt_gather *gather)
{
	struct nrt_wire_head head = {
		.type = NRT_WIRE_GATHER,
		.rank = gather->rank,
		.count = gather->count,
		.timeout_ms = gather->timeout_ms,
		.size = (uint32_t)gather->size,
	};

	snprintf(head.name, sizeof(head.name), "%s", gather->what);
	return head;
}

static NRT_STATUS sockets_gather(struct nrt_transport *transport, const struct nrt_gather *gather,
				 struct nrt_error *error)
{
	const struct nrt_wire_head head = meeting(gather);
	struct waiter waiter = { .what = &head };
	size_t size = gather->count * gather->size;
	NRT_STATUS status;

	if (gather->size > NRT_WIRE_MAX_BYTES / gather->count)
		return nrt_error_set(error, NRT_INVALID,
				     "%zu bytes of each of %u ranks; there is room for %u in all",
				     gather->size, gather->count, NRT_WIRE_MAX_BYTES);
	status = ask(sockets_of(transport), &waiter, gather->input, NULL, size, error);
	if (!status && size)
		memcpy(gather->output, waiter.bytes, size);
	free(waiter.bytes);
	return status;
}

/* Did all ranks use what they were given? */
static NRT_STATUS meet_again(struct nrt_transport *transport, const struct nrt_gather *what,
			     NRT_STATUS mine, struct nrt_error *error)
{
	NRT_STATUS *all = calloc(what->count, sizeof(*all));
	struct nrt_gather again = *what;
	struct nrt_error ignored;
	NRT_STATUS status;
	uint32_t i;

	if (!all)
		return nrt_error_memory(error);
	again.input = &mine;
	again.output = all;
	again.size = sizeof(mine);
	status = sockets_gather(transport, &again, mine ? &ignored : error);
	for (i = 0; !status && !mine && i < what->count; i++)
		if (all[i])
			status = nrt_error_set(error, NRT_FAILURE,
					       "rank %u cannot use what other ranks gave it",
					       nrt_gather_number(what, i));
	free(all);
	return mine ? mine : status;
}

static NRT_STATUS sockets_share(struct nrt_transport *transport, const struct nrt_share *share,
				struct nrt_error *error)
{
	struct nrt_wire_head head = meeting(&share->gather);
	struct waiter waiter = {
		.what = &head,
		.local = true,
		.wanted = (size_t)share->gather.count * share->nr,
	};
	NRT_STATUS status;

	head.size = 0;
	head.nr_fds = share->nr;
	waiter.fds = calloc(waiter.wanted, sizeof(*waiter.fds));
	if (!waiter.fds)
		return nrt_error_memory(error);
	status = ask(sockets_of(transport), &waiter, NULL, share->mine, 0, error);
	if (!status)
		status = share->use(share->arg, waiter.fds, error);
	close_all(waiter.fds, waiter.nr);
	free(waiter.fds);
	free(waiter.bytes);
	return meet_again(transport, &share->gather, status, error);
}

static void sockets_abort(struct nrt_transport *transport, const struct nrt_error *why)
{
	struct sockets *sockets = sockets_of(transport);
	struct nrt_wire_head head = {
		.type = NRT_WIRE_REFUSED,
		.status = why->status,
		.size = (uint32_t)strlen(why->text),
	};

	send_by(&sockets->tcp, &head, why->text, NULL);
	pthread_mutex_lock(&sockets->lock);
	if (!sockets->why.status)
		sockets->why = *why;
	pthread_cond_broadcast(&sockets->changed);
	pthread_mutex_unlock(&sockets->lock);
	shutdown(sockets->local.fd, SHUT_RDWR);
}

/* The address is that of the root. Its clients are gone with it. */
static void sockets_retire(struct nrt_transport *transport)
{
	struct sockets *sockets = sockets_of(transport);

	nrt_root_close(sockets->root);
	sockets->root = NULL;
}

/* Its connection ends, and with it its reader. */
static void link_end(struct link *link)
{
	if (link->fd >= 0)
		shutdown(link->fd, SHUT_RDWR);
	if (link->has_reader)
		pthread_join(link->reader, NULL);
}

static void link_fini(struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	pthread_mutex_destroy(&link->send_lock);
}

static void sockets_close(struct nrt_transport *transport)
{
	struct sockets *sockets = sockets_of(transport);

	pthread_mutex_lock(&sockets->lock);
	sockets->closing = true;
	pthread_mutex_unlock(&sockets->lock);
	link_end(&sockets->tcp);
	link_end(&sockets->local);
	link_fini(&sockets->tcp);
	link_fini(&sockets->local);
	nrt_root_close(sockets->root);
	pthread_cond_destroy(&sockets->changed);
	pthread_mutex_destroy(&sockets->lock);
	free(sockets);
}

static const struct nrt_transport_ops sockets_ops = {
	.gather = sockets_gather,
	.share = sockets_share,
	.abort = sockets_abort,
	.retire = sockets_retire,
	.close = sockets_close,
};

/* --- Connecting --- */

/* Say who this is; @room bytes of the answer. False: there is no root yet, or not this one. */
static bool greet(struct sockets *sockets, int fd, const void *token, uint32_t token_bytes,
		  void *answer, size_t room)
{
	struct nrt_wire_head head = {
		.type = NRT_WIRE_HELLO,
		.rank = sockets->rank,
		.count = sockets->count,
		.size = token_bytes,
	};
	int fds[NRT_SHARE_MAX];
	bool welcome;
	void *bytes;

	if (!nrt_wire_send(fd, &head, token, NULL) ||
	    !nrt_wire_receive(fd, NRT_WIRE_MAX_BYTES, &head, &bytes, fds))
		return false;
	welcome = head.type == NRT_WIRE_WELCOME && head.size == room && !head.nr_fds;
	if (welcome && room)
		memcpy(answer, bytes, room);
	close_all(fds, head.nr_fds);
	free(bytes);
	return welcome;
}

static bool connect_tcp(struct sockets *sockets, const struct sockaddr_storage *address,
			socklen_t length, struct nrt_wire_welcome *welcome)
{
	const int on = 1;
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	nrt_wire_limit(fd, NRT_TIMEOUT_MS);
	if (!connect(fd, (const struct sockaddr *)address, length) &&
	    greet(sockets, fd, NULL, 0, welcome, sizeof(*welcome))) {
		nrt_wire_limit_reads(fd, 0);
		sockets->tcp.fd = fd;
		return true;
	}
	close(fd);
	return false;
}

/* @turned_away: out, on an error: the root has no room just now, or is that of an older world. */
static NRT_STATUS connect_local(struct sockets *sockets, struct nrt_wire_welcome *welcome,
				bool *turned_away, struct nrt_error *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = strnlen(welcome->path, sizeof(welcome->path));
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*turned_away = false;
	sockets->local.fd = fd;
	memcpy(address.sun_path + 1, welcome->path, size);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, length))
		return nrt_error_set(error, NRT_FAILURE,
				     "rank %u of %u: no local socket of the root: %s; the ranks must be processes of one machine",
				     sockets->rank, sockets->count, strerror(errno));
	nrt_wire_limit(fd, NRT_TIMEOUT_MS);
	if (!nrt_wire_same_user(fd))
		return nrt_error_set(error, NRT_FAILURE,
				     "rank %u of %u: the root is of another user", sockets->rank,
				     sockets->count);
	if (!greet(sockets, fd, welcome->token, NRT_WIRE_TOKEN, NULL, 0)) {
		*turned_away = true;
		return nrt_error_set(error, NRT_FAILURE,
				     "rank %u of %u: the root does not know it", sockets->rank,
				     sockets->count);
	}
	nrt_wire_limit_reads(fd, 0);
	return NRT_SUCCESS;
}

/* The root sees that, and its seat for this rank is free again. */
static void disconnect(struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}

/* The root may begin later, be that of an older world, or have no room while strangers flood it. */
static NRT_STATUS find_root(struct sockets *sockets, const struct nrt_sockets_of *what,
			    const struct sockaddr_storage *address, socklen_t length,
			    struct nrt_error *error)
{
	const struct timespec nap = { .tv_nsec = RETRY_MS * 1000000 };
	uint64_t until = nrt_wire_now_ms() + (what->timeout_ms ? what->timeout_ms : NRT_TIMEOUT_MS);
	struct nrt_wire_welcome welcome;
	NRT_STATUS status = NRT_SUCCESS;
	bool turned_away = false;

	do {
		if (connect_tcp(sockets, address, length, &welcome)) {
			status = connect_local(sockets, &welcome, &turned_away, error);
			if (!turned_away)
				return status;
			disconnect(&sockets->local);
			disconnect(&sockets->tcp);
		}
		nanosleep(&nap, NULL);
	} while (nrt_wire_now_ms() < until);
	if (turned_away)
		return status;
	return nrt_error_set(error, NRT_TIMEOUT,
			     "rank %u of %u: nobody at %.80s expects it; is rank 0 there, and does it expect %u ranks?",
			     sockets->rank, sockets->count, what->address, sockets->count);
}

static NRT_STATUS begin_reader(struct link *link, struct nrt_error *error)
{
	if (pthread_create(&link->reader, NULL, reader_thread, link))
		return nrt_error_set(error, NRT_RESOURCE, "cannot begin a thread");
	link->has_reader = true;
	return NRT_SUCCESS;
}

static NRT_STATUS begin(struct sockets *sockets, const struct nrt_sockets_of *what,
			struct nrt_error *error)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length;

	if (nrt_sockets_parse(what->address, &address, &length, error))
		return error->status;
	if (!what->rank) {
		sockets->root = nrt_root_open(&address, length, what->count, error);
		if (!sockets->root)
			return error->status;
	}
	if (find_root(sockets, what, &address, length, error))
		return error->status;
	if (begin_reader(&sockets->tcp, error) || begin_reader(&sockets->local, error))
		return error->status;
	return NRT_SUCCESS;
}

static void link_init(struct sockets *sockets, struct link *link, bool local)
{
	link->sockets = sockets;
	link->fd = -1;
	link->local = local;
	pthread_mutex_init(&link->send_lock, NULL);
}

struct nrt_transport *nrt_sockets_open(const struct nrt_sockets_of *what,
				       struct nrt_error *error)
{
	struct sockets *sockets = calloc(1, sizeof(*sockets));
	pthread_condattr_t attr;

	if (!sockets) {
		nrt_error_memory(error);
		return NULL;
	}
	sockets->base.ops = &sockets_ops;
	sockets->rank = what->rank;
	sockets->count = what->count;
	sockets->failed = what->failed;
	sockets->arg = what->arg;
	link_init(sockets, &sockets->tcp, false);
	link_init(sockets, &sockets->local, true);
	pthread_mutex_init(&sockets->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&sockets->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (!begin(sockets, what, error))
		return &sockets->base;
	sockets_close(&sockets->base);
	return NULL;
}
