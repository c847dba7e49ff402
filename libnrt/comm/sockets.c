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

#include "comm/sockets.h"

#define WAIT_MS		30000
/* The root, which ends a meeting in time, is waited for a little longer. */
#define GRACE_MS	1000
#define RETRY_MS	50

/**
 * struct sockets - the end of a rank
 * @base: base
 * @rank, @count: of the world
 * @failed, @arg: who is told
 * @root: of rank 0
 * @tcp, @local: to the root
 * @reader: thread that reads from @tcp, if @has_reader
 * @send_lock: of @tcp
 * @lock: protects the rest
 * @changed: an answer has come
 * @waits: somebody waits for an answer
 * @answered: it is here: @answer and @bytes
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
	int tcp;
	int local;
	pthread_t reader;
	bool has_reader;
	pthread_mutex_t send_lock;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool waits;
	bool answered;
	struct nrt_wire_head answer;
	void *bytes;
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
	shutdown(sockets->local, SHUT_RDWR);
	if (first)
		sockets->failed(sockets->arg, why);
}

/* An answer for whoever waits. False: nobody does, so it is the end of the world. */
static bool deliver(struct sockets *sockets, const struct nrt_wire_head *head, void *bytes)
{
	bool wanted;

	pthread_mutex_lock(&sockets->lock);
	wanted = sockets->waits && !sockets->answered;
	if (wanted) {
		sockets->answered = true;
		sockets->answer = *head;
		sockets->bytes = bytes;
		pthread_cond_broadcast(&sockets->changed);
	}
	pthread_mutex_unlock(&sockets->lock);
	return wanted;
}

static void *reader_thread(void *arg)
{
	struct sockets *sockets = arg;
	struct nrt_error why = { 0 };
	int fds[NRT_SHARE_MAX];
	struct nrt_wire_head head;
	void *bytes;

	while (nrt_wire_receive(sockets->tcp, NRT_WIRE_MAX_BYTES, &head, &bytes, fds)) {
		while (head.nr_fds)
			close(fds[--head.nr_fds]);
		if (deliver(sockets, &head, bytes))
			continue;
		if (head.type == NRT_WIRE_REFUSED && head.status)
			nrt_error_set(&why, (NRT_STATUS)head.status, "%.*s", 700, (char *)bytes);
		free(bytes);
		if (why.status)
			break;
	}
	if (!why.status)
		nrt_error_set(&why, NRT_FAILURE, "rank %u of %u: the root is gone", sockets->rank,
			      sockets->count);
	give_up(sockets, &why);
	return NULL;
}

/* With the lock: wait for the answer. */
static NRT_STATUS await(struct sockets *sockets, uint32_t timeout_ms, struct nrt_error *error)
{
	uint64_t wait = (uint64_t)(timeout_ms ? timeout_ms : WAIT_MS) + GRACE_MS;
	struct timespec until;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(wait / 1000);
	while (!sockets->answered && !sockets->why.status && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&sockets->changed, &sockets->lock, &until);
	sockets->waits = false;
	if (sockets->answered)
		return NRT_SUCCESS;
	if (sockets->why.status)
		*error = sockets->why;
	else
		nrt_error_set(error, NRT_TIMEOUT, "rank %u of %u: the root does not answer",
			      sockets->rank, sockets->count);
	return error->status;
}

/* Of an answer, whose bytes are freed. */
static NRT_STATUS take_answer(struct sockets *sockets, const struct nrt_gather *gather,
			      struct nrt_error *error)
{
	const struct nrt_wire_head *answer = &sockets->answer;
	size_t size = gather->count * gather->size;
	NRT_STATUS status = NRT_SUCCESS;

	if (answer->type == NRT_WIRE_REFUSED && answer->status)
		status = nrt_error_set(error, (NRT_STATUS)answer->status, "%.*s", 700,
				       (char *)sockets->bytes);
	else if (answer->type != NRT_WIRE_RESULT || answer->size != size)
		status = nrt_error_set(error, NRT_FAILURE, "the root talks nonsense");
	else if (size)
		memcpy(gather->output, sockets->bytes, size);
	free(sockets->bytes);
	sockets->bytes = NULL;
	sockets->answered = false;
	return status;
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

static bool send_tcp(struct sockets *sockets, struct nrt_wire_head *head, const void *bytes)
{
	bool sent;

	pthread_mutex_lock(&sockets->send_lock);
	sent = nrt_wire_send(sockets->tcp, head, bytes, NULL);
	pthread_mutex_unlock(&sockets->send_lock);
	return sent;
}

static NRT_STATUS sockets_gather(struct nrt_transport *transport, const struct nrt_gather *gather,
				 struct nrt_error *error)
{
	struct sockets *sockets = sockets_of(transport);
	struct nrt_wire_head head = meeting(gather);
	NRT_STATUS status;

	if (gather->size > NRT_WIRE_MAX_BYTES / gather->count)
		return nrt_error_set(error, NRT_INVALID,
				     "%zu bytes of each of %u ranks; there is room for %u in all",
				     gather->size, gather->count, NRT_WIRE_MAX_BYTES);
	pthread_mutex_lock(&sockets->lock);
	if (sockets->waits) {
		pthread_mutex_unlock(&sockets->lock);
		return nrt_error_set(error, NRT_INVALID,
				     "rank %u waits for other ranks already, in another thread",
				     sockets->rank);
	}
	sockets->waits = true;
	pthread_mutex_unlock(&sockets->lock);
	send_tcp(sockets, &head, gather->input);
	pthread_mutex_lock(&sockets->lock);
	status = await(sockets, gather->timeout_ms, error);
	if (!status)
		status = take_answer(sockets, gather, error);
	pthread_mutex_unlock(&sockets->lock);
	return status;
}

static void close_all(const int *fds, size_t nr)
{
	while (nr)
		close(fds[--nr]);
}

/* The descriptors of all ranks; *@nr: how many have come. */
static NRT_STATUS receive_fds(struct sockets *sockets, const struct nrt_share *share, int *all,
			      size_t *nr, struct nrt_error *error)
{
	size_t wanted = (size_t)share->gather.count * share->nr;
	struct nrt_wire_head head;
	NRT_STATUS status = NRT_SUCCESS;
	void *bytes;

	for (*nr = 0; !status && *nr < wanted; *nr += head.nr_fds) {
		if (!nrt_wire_receive(sockets->local, NRT_WIRE_MAX_BYTES, &head, &bytes,
				      &all[*nr]))
			return nrt_error_set(error, NRT_FAILURE,
					     "rank %u of %u: the root sends no descriptors",
					     sockets->rank, sockets->count);
		if (head.type == NRT_WIRE_REFUSED && head.status)
			status = nrt_error_set(error, (NRT_STATUS)head.status, "%.*s", 700,
					       (char *)bytes);
		else if (head.type != NRT_WIRE_RESULT || head.nr_fds != share->nr)
			status = nrt_error_set(error, NRT_FAILURE, "the root talks nonsense");
		free(bytes);
	}
	return status;
}

static NRT_STATUS exchange(struct sockets *sockets, const struct nrt_share *share, int *all,
			   size_t *nr, struct nrt_error *error)
{
	uint64_t wait = share->gather.timeout_ms ? share->gather.timeout_ms : WAIT_MS;
	struct nrt_wire_head head = meeting(&share->gather);

	*nr = 0;
	head.size = 0;
	head.nr_fds = share->nr;
	nrt_wire_limit(sockets->local,
		       wait + GRACE_MS < UINT32_MAX ? (uint32_t)wait + GRACE_MS : UINT32_MAX);
	if (!nrt_wire_send(sockets->local, &head, NULL, share->mine))
		return nrt_error_set(error, NRT_FAILURE, "rank %u of %u: the root is gone",
				     sockets->rank, sockets->count);
	return receive_fds(sockets, share, all, nr, error);
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
	struct sockets *sockets = sockets_of(transport);
	size_t room = (size_t)share->gather.count * share->nr + NRT_SHARE_MAX, nr;
	int *all = calloc(room, sizeof(*all));
	NRT_STATUS status;

	if (!all)
		return nrt_error_memory(error);
	status = exchange(sockets, share, all, &nr, error);
	if (!status)
		status = share->use(share->arg, all, error);
	close_all(all, nr);
	free(all);
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

	send_tcp(sockets, &head, why->text);
	pthread_mutex_lock(&sockets->lock);
	if (!sockets->why.status)
		sockets->why = *why;
	pthread_cond_broadcast(&sockets->changed);
	pthread_mutex_unlock(&sockets->lock);
	shutdown(sockets->local, SHUT_RDWR);
}

/* The address is that of the root. Its clients are gone with it. */
static void sockets_retire(struct nrt_transport *transport)
{
	struct sockets *sockets = sockets_of(transport);

	nrt_root_close(sockets->root);
	sockets->root = NULL;
}

static void sockets_close(struct nrt_transport *transport)
{
	struct sockets *sockets = sockets_of(transport);

	pthread_mutex_lock(&sockets->lock);
	sockets->closing = true;
	pthread_mutex_unlock(&sockets->lock);
	if (sockets->tcp >= 0)
		shutdown(sockets->tcp, SHUT_RDWR);
	if (sockets->has_reader)
		pthread_join(sockets->reader, NULL);
	if (sockets->tcp >= 0)
		close(sockets->tcp);
	if (sockets->local >= 0)
		close(sockets->local);
	nrt_root_close(sockets->root);
	free(sockets->bytes);
	pthread_cond_destroy(&sockets->changed);
	pthread_mutex_destroy(&sockets->lock);
	pthread_mutex_destroy(&sockets->send_lock);
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
	nrt_wire_limit(fd, WAIT_MS);
	if (!connect(fd, (const struct sockaddr *)address, length) &&
	    greet(sockets, fd, NULL, 0, welcome, sizeof(*welcome))) {
		nrt_wire_limit_reads(fd, 0);
		sockets->tcp = fd;
		return true;
	}
	close(fd);
	return false;
}

static NRT_STATUS connect_local(struct sockets *sockets, struct nrt_wire_welcome *welcome,
				struct nrt_error *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = strnlen(welcome->path, sizeof(welcome->path));
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);

	memcpy(address.sun_path + 1, welcome->path, size);
	sockets->local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sockets->local < 0 || connect(sockets->local, (struct sockaddr *)&address, length))
		return nrt_error_set(error, NRT_FAILURE,
				     "rank %u of %u: no local socket of the root: %s; the ranks must be processes of one machine",
				     sockets->rank, sockets->count, strerror(errno));
	nrt_wire_limit(sockets->local, WAIT_MS);
	if (!nrt_wire_same_user(sockets->local))
		return nrt_error_set(error, NRT_FAILURE,
				     "rank %u of %u: the root is of another user", sockets->rank,
				     sockets->count);
	if (!greet(sockets, sockets->local, welcome->token, NRT_WIRE_TOKEN, NULL, 0))
		return nrt_error_set(error, NRT_FAILURE,
				     "rank %u of %u: the root does not know it", sockets->rank,
				     sockets->count);
	return NRT_SUCCESS;
}

/* The root may begin later, or still be that of an older world. */
static NRT_STATUS find_root(struct sockets *sockets, const struct nrt_sockets_of *what,
			    const struct sockaddr_storage *address, socklen_t length,
			    struct nrt_error *error)
{
	const struct timespec nap = { .tv_nsec = RETRY_MS * 1000000 };
	uint64_t until = nrt_wire_now_ms() + (what->timeout_ms ? what->timeout_ms : WAIT_MS);
	struct nrt_wire_welcome welcome;

	do {
		if (connect_tcp(sockets, address, length, &welcome))
			return connect_local(sockets, &welcome, error);
		nanosleep(&nap, NULL);
	} while (nrt_wire_now_ms() < until);
	return nrt_error_set(error, NRT_TIMEOUT,
			     "rank %u of %u: nobody at %.80s expects it; is rank 0 there, and does it expect %u ranks?",
			     sockets->rank, sockets->count, what->address, sockets->count);
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
	if (pthread_create(&sockets->reader, NULL, reader_thread, sockets))
		return nrt_error_set(error, NRT_RESOURCE, "cannot begin a thread");
	sockets->has_reader = true;
	return NRT_SUCCESS;
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
	sockets->tcp = -1;
	sockets->local = -1;
	pthread_mutex_init(&sockets->send_lock, NULL);
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
