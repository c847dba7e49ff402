// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "comm/sendrecv.h"

/* Piece of memory between two chips that do not reach each other's memory. */
#define BOUNCE_BYTES	(1024 * 1024)

enum core_state {
	CORE_OFF,
	CORE_ON,
	CORE_BROKEN,	/* it was not closed well */
};

/**
 * struct nrt_endpoint - a side of a connection
 * @next: list
 * @handle: its own
 * @core, @peer, @sends: what it is
 * @connected: there is another side, or was
 * @mate: the other side; NULL: not yet, or not any more
 * @messages: requests, the oldest first, until they are looked at after their end
 * @nr: how many
 */
struct nrt_endpoint {
	struct nrt_endpoint *next;
	void *handle;
	uint32_t core;
	uint32_t peer;
	bool sends;
	bool connected;
	struct nrt_endpoint *mate;
	struct nrt_message *messages;
	unsigned int nr;
};

/**
 * struct nrt_message - a request
 * @next: of the endpoint
 * @handle: its own
 * @endpoint: where it is in a list; NULL: that was closed
 * @span, @offset, @length: bytes
 * @matched: the other side has brought its request, too
 * @done: it has ended
 * @moved: bytes
 * @error: how
 */
struct nrt_message {
	struct nrt_message *next;
	void *handle;
	struct nrt_endpoint *endpoint;
	struct nrt_span span;
	size_t offset;
	size_t length;
	bool matched;
	bool done;
	size_t moved;
	struct nrt_error error;
};

/**
 * struct pair - requests of both sides that fit together
 * @from, @to: with a reference of each; NULL: there is no pair
 * @uses, @ticket, @turned: their place in the order of tensors
 */
struct pair {
	struct nrt_message *from;
	struct nrt_message *to;
	struct nrt_use uses[2];
	struct nrt_ticket ticket;
	pthread_cond_t turned;
};

NRT_STATUS nrt_sendrecv_init(struct nrt_sendrecv *sendrecv, struct nrt_handles *handles,
			     struct nrt_order *order, unsigned int nr_cores,
			     struct nrt_error *error)
{
	sendrecv->handles = handles;
	sendrecv->order = order;
	sendrecv->endpoints = NULL;
	sendrecv->nr_cores = nr_cores;
	sendrecv->cores = calloc(nr_cores, sizeof(*sendrecv->cores));
	if (!sendrecv->cores)
		return nrt_error_memory(error);
	pthread_mutex_init(&sendrecv->lock, NULL);
	return NRT_SUCCESS;
}

/* --- Cores; with the lock unless it says otherwise --- */

static NRT_STATUS check_core(const struct nrt_sendrecv *sendrecv, uint32_t core,
			     struct nrt_error *error)
{
	if (sendrecv->cores[core] == CORE_ON)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE,
			     "core %u: call nrt_async_sendrecv_init() first", core);
}

/* Without the lock. */
NRT_STATUS nrt_sendrecv_check(struct nrt_sendrecv *sendrecv, uint32_t core,
			      struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&sendrecv->lock);
	status = check_core(sendrecv, core, error);
	pthread_mutex_unlock(&sendrecv->lock);
	return status;
}

/* Without the lock. */
NRT_STATUS nrt_sendrecv_open(struct nrt_sendrecv *sendrecv, uint32_t core,
			     struct nrt_error *error)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_mutex_lock(&sendrecv->lock);
	if (sendrecv->cores[core] == CORE_OFF)
		sendrecv->cores[core] = CORE_ON;
	else
		status = nrt_error_set(error, NRT_FAILURE, "core %u %s", core,
				       sendrecv->cores[core] == CORE_ON ?
					       "is initialised already" :
					       "was not closed well before");
	pthread_mutex_unlock(&sendrecv->lock);
	return status;
}

/* Its requests end without a result. True: all of them had ended. */
static bool close_messages(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint)
{
	bool well = true;

	while (endpoint->messages) {
		struct nrt_message *message = endpoint->messages;

		well &= message->done;
		endpoint->messages = message->next;
		message->endpoint = NULL;
		nrt_handle_close(sendrecv->handles, NRT_KIND_MESSAGE, message->handle, false);
	}
	endpoint->nr = 0;
	return well;
}

/* True: it was connected, and all requests had ended. */
static bool close_endpoint(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint)
{
	bool well = close_messages(sendrecv, endpoint) && endpoint->connected;

	if (endpoint->mate)
		endpoint->mate->mate = NULL;
	endpoint->mate = NULL;
	return well;
}

/* Without the lock. */
NRT_STATUS nrt_sendrecv_close(struct nrt_sendrecv *sendrecv, uint32_t core,
			      struct nrt_error *error)
{
	struct nrt_endpoint **link = &sendrecv->endpoints;
	bool well = true;

	pthread_mutex_lock(&sendrecv->lock);
	if (check_core(sendrecv, core, error)) {
		pthread_mutex_unlock(&sendrecv->lock);
		return error->status;
	}
	while (*link) {
		struct nrt_endpoint *endpoint = *link;

		if (endpoint->core != core) {
			link = &endpoint->next;
			continue;
		}
		well &= close_endpoint(sendrecv, endpoint);
		*link = endpoint->next;
		nrt_handle_close(sendrecv->handles, NRT_KIND_ENDPOINT, endpoint->handle, false);
	}
	sendrecv->cores[core] = well ? CORE_OFF : CORE_BROKEN;
	pthread_mutex_unlock(&sendrecv->lock);
	if (well)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE,
			     "core %u: a communicator was not connected, or a request had not ended",
			     core);
}

void nrt_sendrecv_fini(struct nrt_sendrecv *sendrecv)
{
	struct nrt_error ignored;
	uint32_t core;

	for (core = 0; core < sendrecv->nr_cores; core++)
		if (sendrecv->cores[core] == CORE_ON)
			nrt_sendrecv_close(sendrecv, core, &ignored);
	pthread_mutex_destroy(&sendrecv->lock);
	free(sendrecv->cores);
}

/* --- Endpoints --- */

static bool same_address(const struct sockaddr *a, int family, const void *address)
{
	if (!a || a->sa_family != family)
		return false;
	if (family == AF_INET)
		return !memcmp(&((const struct sockaddr_in *)a)->sin_addr, address,
			       sizeof(struct in_addr));
	return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, address,
		       sizeof(struct in6_addr));
}

/* Is it an address of this host? */
static bool is_local(const char *ip)
{
	unsigned char address[sizeof(struct in6_addr)];
	int family = strchr(ip, ':') ? AF_INET6 : AF_INET;
	struct ifaddrs *list, *one;
	bool local = false;

	if (inet_pton(family, ip, address) != 1)
		return false;
	if (family == AF_INET && *address == 127)
		return true;
	if (getifaddrs(&list))
		return false;
	for (one = list; one && !local; one = one->ifa_next)
		local = same_address(one->ifa_addr, family, address);
	freeifaddrs(list);
	return local;
}

/* The oldest endpoint that is the other side of @endpoint and has none yet. With the lock. */
static struct nrt_endpoint *find_mate(const struct nrt_sendrecv *sendrecv,
				      const struct nrt_endpoint *endpoint)
{
	struct nrt_endpoint *mate = sendrecv->endpoints;

	while (mate && (mate->connected || mate->sends == endpoint->sends ||
			mate->core != endpoint->peer || mate->peer != endpoint->core))
		mate = mate->next;
	return mate;
}

/* With the lock. */
static NRT_STATUS add_endpoint(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint,
			       struct nrt_error *error)
{
	struct nrt_endpoint **link = &sendrecv->endpoints;
	unsigned int nr = 0;

	if (check_core(sendrecv, endpoint->core, error))
		return error->status;
	for (; *link; link = &(*link)->next)
		nr += (*link)->core == endpoint->core;
	if (nr >= NRT_SENDRECV_ENDPOINTS)
		return nrt_error_set(error, NRT_RESOURCE, "core %u has %u communicators",
				     endpoint->core, nr);
	endpoint->mate = find_mate(sendrecv, endpoint);
	if (endpoint->mate) {
		endpoint->connected = true;
		endpoint->mate->connected = true;
		endpoint->mate->mate = endpoint;
	}
	*link = endpoint;
	return NRT_SUCCESS;
}

void nrt_endpoint_release(struct nrt_endpoint *endpoint)
{
	free(endpoint);
}

NRT_STATUS nrt_endpoint_new(struct nrt_sendrecv *sendrecv, const struct nrt_endpoint_of *what,
			    void **handle, struct nrt_error *error)
{
	struct nrt_endpoint *endpoint;
	NRT_STATUS status;
	void *made;

	if (!is_local(what->peer_ip))
		return nrt_error_set(error, NRT_FAILURE,
				     "\"%.64s\" is no address of this host; there is no transport to others",
				     what->peer_ip);
	endpoint = calloc(1, sizeof(*endpoint));
	if (!endpoint)
		return nrt_error_memory(error);
	endpoint->core = what->core;
	endpoint->peer = what->peer;
	endpoint->sends = what->sends;
	made = nrt_handle_new(sendrecv->handles, NRT_KIND_ENDPOINT, endpoint);
	if (!made) {
		free(endpoint);
		return nrt_error_memory(error);
	}
	endpoint->handle = made;
	pthread_mutex_lock(&sendrecv->lock);
	status = add_endpoint(sendrecv, endpoint, error);
	pthread_mutex_unlock(&sendrecv->lock);
	if (status)
		nrt_handle_close(sendrecv->handles, NRT_KIND_ENDPOINT, made, false);
	else
		*handle = made;
	return status;
}

bool nrt_endpoint_connected(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint)
{
	bool connected;

	pthread_mutex_lock(&sendrecv->lock);
	connected = endpoint->connected;
	pthread_mutex_unlock(&sendrecv->lock);
	return connected;
}

/* --- Requests; with the lock unless it says otherwise --- */

/* Through host memory, as chips do not reach each other's memory. */
static NRT_STATUS bounce(const struct nrt_message *from, const struct nrt_message *to,
			 struct nrt_error *error)
{
	void *piece = malloc(BOUNCE_BYTES);
	size_t at, size;

	if (!piece)
		return nrt_error_memory(error);
	error->status = NRT_SUCCESS;
	for (at = 0; at < from->length && !error->status; at += size) {
		size = from->length - at < BOUNCE_BYTES ? from->length - at : BOUNCE_BYTES;
		error->status = nrt_span_read(&from->span, from->offset + at, piece, size, error);
		if (!error->status)
			error->status = nrt_span_write(&to->span, to->offset + at, piece, size,
						       error);
	}
	free(piece);
	return error->status;
}

static NRT_STATUS move(const struct nrt_message *from, const struct nrt_message *to,
		       struct nrt_error *error)
{
	const struct nrt_bo *a = from->span.storage->bo;
	const struct nrt_bo *b = to->span.storage->bo;

	if (from->length > to->length)
		return nrt_error_set(error, NRT_FAILURE, "%zu bytes were sent to a place for %zu",
				     from->length, to->length);
	if (!nrt_span_memory(&from->span) && !nrt_span_memory(&to->span) &&
	    a->device != b->device)
		return bounce(from, to, error);
	return nrt_span_copy(&from->span, from->offset, &to->span, to->offset, from->length,
			     error);
}

static struct nrt_message *first_waiting(const struct nrt_endpoint *endpoint)
{
	struct nrt_message *message = endpoint->messages;

	while (message && message->matched)
		message = message->next;
	return message;
}

/*
 * The oldest requests of both sides that have no partner get one. Their tensors get their places
 * now, so that pairs are moved in their order whichever thread does it.
 */
static void match(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint, struct pair *pair)
{
	struct nrt_endpoint *sender = endpoint->sends ? endpoint : endpoint->mate;
	struct nrt_message *from = first_waiting(sender);
	struct nrt_message *to = first_waiting(sender->mate);

	if (!from || !to)
		return;
	from->matched = true;
	to->matched = true;
	pair->from = nrt_handle_get(sendrecv->handles, NRT_KIND_MESSAGE, from->handle);
	pair->to = nrt_handle_get(sendrecv->handles, NRT_KIND_MESSAGE, to->handle);
	pair->ticket.uses = pair->uses;
	nrt_span_use(&from->span, from->offset, from->length, false, &pair->ticket);
	nrt_span_use(&to->span, to->offset, to->length, true, &pair->ticket);
	nrt_order_join(sendrecv->order, &pair->ticket, &pair->turned);
}

/* Without the lock. */
static void move_pair(struct nrt_sendrecv *sendrecv, struct pair *pair)
{
	struct nrt_message *from = pair->from, *to = pair->to;
	struct nrt_error error;

	nrt_order_wait(sendrecv->order, &pair->ticket);
	error.status = move(from, to, &error);
	nrt_order_leave(sendrecv->order, &pair->ticket);
	pthread_mutex_lock(&sendrecv->lock);
	from->error = error;
	to->error = error;
	from->moved = from->length;
	to->moved = from->length;
	from->done = true;
	to->done = true;
	pthread_mutex_unlock(&sendrecv->lock);
	nrt_handle_put(sendrecv->handles, from->handle);
	nrt_handle_put(sendrecv->handles, to->handle);
}

static NRT_STATUS check_endpoint(const struct nrt_endpoint *endpoint, bool sends,
				 struct nrt_error *error)
{
	if (endpoint->sends != sends)
		return nrt_error_set(error, NRT_FAILURE, "the communicator %s",
				     endpoint->sends ? "sends" : "receives");
	if (!endpoint->mate)
		return nrt_error_set(error, NRT_FAILURE, "the communicator is not connected");
	if (endpoint->nr >= NRT_SENDRECV_REQUESTS)
		return nrt_error_set(error, NRT_RESOURCE, "the communicator has %u requests",
				     endpoint->nr);
	return NRT_SUCCESS;
}

static NRT_STATUS add_message(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint,
			      bool sends, struct nrt_message *message, struct pair *pair,
			      struct nrt_error *error)
{
	struct nrt_message **link = &endpoint->messages;

	if (check_endpoint(endpoint, sends, error))
		return error->status;
	while (*link)
		link = &(*link)->next;
	*link = message;
	message->endpoint = endpoint;
	endpoint->nr++;
	match(sendrecv, endpoint, pair);
	return NRT_SUCCESS;
}

void nrt_message_release(struct nrt_message *message)
{
	nrt_span_put(&message->span);
	free(message);
}

/* Without the lock. */
NRT_STATUS nrt_message_new(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint,
			   bool sends, struct nrt_span *span, size_t offset, size_t length,
			   void **handle, struct nrt_error *error)
{
	struct nrt_message *message = calloc(1, sizeof(*message));
	struct pair pair = { .from = NULL };
	void *made = NULL;
	NRT_STATUS status;

	if (message)
		made = nrt_handle_new(sendrecv->handles, NRT_KIND_MESSAGE, message);
	if (!made) {
		free(message);
		nrt_span_put(span);
		return nrt_error_memory(error);
	}
	message->handle = made;
	message->span = *span;
	message->offset = offset;
	message->length = length;
	pthread_mutex_lock(&sendrecv->lock);
	status = add_message(sendrecv, endpoint, sends, message, &pair, error);
	pthread_mutex_unlock(&sendrecv->lock);
	if (status)
		nrt_handle_close(sendrecv->handles, NRT_KIND_MESSAGE, made, false);
	else
		*handle = made;
	if (pair.from)
		move_pair(sendrecv, &pair);
	return status;
}

static void take_message(struct nrt_message *message)
{
	struct nrt_message **link = &message->endpoint->messages;

	while (*link != message)
		link = &(*link)->next;
	*link = message->next;
	message->endpoint->nr--;
	message->endpoint = NULL;
}

/* Without the lock. */
NRT_STATUS nrt_message_test(struct nrt_sendrecv *sendrecv, struct nrt_message *message,
			    bool *done, size_t *size, struct nrt_error *error)
{
	void *handle = message->handle;
	NRT_STATUS status = NRT_SUCCESS;
	bool ended;

	pthread_mutex_lock(&sendrecv->lock);
	ended = message->done && message->endpoint;
	if (ended) {
		take_message(message);
		*error = message->error;
		status = error->status;
		if (!status)
			*size = message->moved;
	}
	*done = ended && !status;
	pthread_mutex_unlock(&sendrecv->lock);
	if (ended)
		nrt_handle_close(sendrecv->handles, NRT_KIND_MESSAGE, handle, false);
	return status;
}
