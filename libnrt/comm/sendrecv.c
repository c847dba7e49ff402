// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "comm/channel.h"
#include "comm/sendrecv.h"

enum core_state {
	CORE_OFF,
	CORE_ON,
	CORE_CLOSING,	/* its threads are ending */
	CORE_BROKEN,	/* the program closed it while it had something open within the process */
};

/**
 * struct nrt_endpoint - a side of a connection
 * @next: list
 * @sendrecv: of the process
 * @handle: its own
 * @core, @peer, @sends: what it is
 * @connected: there is another side, or was
 * @closed: it is in no list
 * @mate: the other side; NULL: not yet, not any more, or it is in another process
 * @channel: to another process, or NULL; it has a connection if @remote
 * @remote: the other side is, or was, of another process
 * @elsewhere: the process does not own @peer
 * @connector: looks for the other side in other processes
 * @lost: why the other side has ended; status 0: it has not
 * @warned: a warning tells that @channel could not be made
 * @messages: requests, the oldest first, until they are looked at after their end
 * @nr: how many
 */
struct nrt_endpoint {
	struct nrt_endpoint *next;
	struct nrt_sendrecv *sendrecv;
	void *handle;
	uint32_t core;
	uint32_t peer;
	bool sends;
	bool connected;
	bool closed;
	struct nrt_endpoint *mate;
	struct nrt_channel *channel;
	bool remote;
	bool elsewhere;
	struct nrt_connector connector;
	struct nrt_error lost;
	bool warned;
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
			     const struct nrt_peer_group *group, struct nrt_error *error)
{
	sendrecv->handles = handles;
	sendrecv->order = order;
	sendrecv->group = *group;
	sendrecv->endpoints = NULL;
	sendrecv->nr_cores = nr_cores;
	sendrecv->cores = calloc(nr_cores, sizeof(*sendrecv->cores));
	if (!sendrecv->cores)
		return nrt_error_memory(error);
	pthread_mutex_init(&sendrecv->lock, NULL);
	return NRT_SUCCESS;
}

/* --- Endpoints of other processes --- */

static struct nrt_message *first_waiting(const struct nrt_endpoint *endpoint)
{
	struct nrt_message *message = endpoint->messages;

	while (message && message->matched)
		message = message->next;
	return message;
}

/* Without the lock, as all that a channel calls. */
static bool next_message(void *owner, struct nrt_transfer *transfer)
{
	struct nrt_endpoint *endpoint = owner;
	struct nrt_sendrecv *sendrecv = endpoint->sendrecv;
	struct nrt_message *message;

	pthread_mutex_lock(&sendrecv->lock);
	message = first_waiting(endpoint);
	if (message) {
		message->matched = true;
		nrt_handle_get(sendrecv->handles, NRT_KIND_MESSAGE, message->handle);
		*transfer = (struct nrt_transfer){
			.request = message,
			.span = &message->span,
			.offset = message->offset,
			.length = message->length,
		};
	}
	pthread_mutex_unlock(&sendrecv->lock);
	return message;
}

static void message_ended(void *owner, void *request, size_t moved, const struct nrt_error *error)
{
	struct nrt_endpoint *endpoint = owner;
	struct nrt_sendrecv *sendrecv = endpoint->sendrecv;
	struct nrt_message *message = request;
	void *handle = message->handle;

	pthread_mutex_lock(&sendrecv->lock);
	message->error = *error;
	message->moved = moved;
	message->done = true;
	pthread_mutex_unlock(&sendrecv->lock);
	nrt_handle_put(sendrecv->handles, handle);
}

/* With the lock. All that waits has failed; what is under way ends by itself. */
static void lose_peer(struct nrt_endpoint *endpoint, const struct nrt_error *why)
{
	struct nrt_message *message;

	endpoint->lost = *why;
	for (message = endpoint->messages; message; message = message->next) {
		if (message->done || message->matched)
			continue;
		message->error = *why;
		message->done = true;
	}
}

static void peer_lost(void *owner, const struct nrt_error *why)
{
	struct nrt_endpoint *endpoint = owner;
	struct nrt_sendrecv *sendrecv = endpoint->sendrecv;

	pthread_mutex_lock(&sendrecv->lock);
	lose_peer(endpoint, why);
	pthread_mutex_unlock(&sendrecv->lock);
}

/* With the lock. */
static NRT_STATUS make_channel(struct nrt_endpoint *endpoint, struct nrt_error *error)
{
	static const struct nrt_channel_ops ops = {
		.next = next_message,
		.ended = message_ended,
		.lost = peer_lost,
	};
	const struct nrt_channel_setup setup = {
		.ops = &ops,
		.owner = endpoint,
		.order = endpoint->sendrecv->order,
		.peer = endpoint->peer,
		.sends = endpoint->sends,
	};

	if (endpoint->channel)
		return NRT_SUCCESS;
	endpoint->channel = nrt_channel_new(&setup, error);
	return endpoint->channel ? NRT_SUCCESS : error->status;
}

/* With the lock. After a failure @fd is the caller's. */
static NRT_STATUS join_remote(struct nrt_endpoint *endpoint, int fd, pid_t pid,
			      struct nrt_error *error)
{
	if (make_channel(endpoint, error) ||
	    nrt_channel_start(endpoint->channel, fd, pid, error))
		return error->status;
	endpoint->connected = true;
	endpoint->remote = true;
	return NRT_SUCCESS;
}

/* The oldest endpoint between the same cores in that direction that has no other side. */
static struct nrt_endpoint *find_unconnected(const struct nrt_sendrecv *sendrecv, uint32_t core,
					     uint32_t peer, bool sends)
{
	struct nrt_endpoint *endpoint = sendrecv->endpoints;

	while (endpoint && (endpoint->connected || endpoint->sends != sends ||
			    endpoint->core != core || endpoint->peer != peer))
		endpoint = endpoint->next;
	return endpoint;
}

/*
 * Without the lock: the thread of the listener of @core. When the endpoint cannot be joined the
 * other side comes again.
 */
static bool accept_remote(void *arg, uint32_t core, uint32_t peer, int fd, pid_t pid)
{
	struct nrt_sendrecv *sendrecv = arg;
	struct nrt_endpoint *endpoint;
	struct nrt_error error;
	bool joined = false, warn = false;

	pthread_mutex_lock(&sendrecv->lock);
	endpoint = find_unconnected(sendrecv, core, peer, false);
	if (endpoint)
		joined = !join_remote(endpoint, fd, pid, &error);
	if (endpoint && !joined) {
		warn = !endpoint->warned;
		endpoint->warned = true;
	}
	pthread_mutex_unlock(&sendrecv->lock);
	if (warn)
		nrt_warn("nrt_async_sendrecv_accept", "core %u: %s; the other side tries again",
			 core, error.text);
	return joined;
}

/*
 * With the lock. The other side has joined as soon as it welcomes this one, so all that can be made
 * before is made before. If there is no thread then, the endpoint is lost.
 */
static NRT_STATUS try_to_join(struct nrt_endpoint *endpoint, bool *joined, struct nrt_error *error)
{
	struct nrt_connector *connector = &endpoint->connector;
	const struct nrt_peer_group *group = &endpoint->sendrecv->group;

	*joined = false;
	if (make_channel(endpoint, error) ||
	    nrt_connector_try(connector, group, endpoint->core, endpoint->peer, joined, error))
		return error->status;
	if (!*joined)
		return NRT_SUCCESS;
	if (!join_remote(endpoint, connector->fd, connector->pid, error)) {
		connector->fd = -1;
		return NRT_SUCCESS;
	}
	nrt_connector_end(connector);
	endpoint->connected = true;
	endpoint->remote = true;
	endpoint->lost = *error;
	return error->status;
}

/*
 * With the lock. An endpoint that sends looks for its other side in other processes, unless the
 * peer takes part in this one; those that are older and have the same peer come first.
 */
static NRT_STATUS connect_remote(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint,
				 struct nrt_error *error)
{
	struct nrt_endpoint *one;
	NRT_STATUS status;
	bool joined;

	if (!sendrecv->group.open || sendrecv->cores[endpoint->peer].state == CORE_ON)
		return NRT_SUCCESS;
	while (endpoint->sends && !endpoint->connected && !endpoint->closed) {
		one = find_unconnected(sendrecv, endpoint->core, endpoint->peer, true);
		status = try_to_join(one, &joined, error);
		/* That an older one is lost is told by its own requests. */
		if (status && (!joined || one == endpoint))
			return status;
		if (!joined)
			return NRT_SUCCESS;
	}
	return NRT_SUCCESS;
}

/* --- Cores; with the lock unless it says otherwise --- */

static NRT_STATUS check_core(const struct nrt_sendrecv *sendrecv, uint32_t core,
			     struct nrt_error *error)
{
	if (sendrecv->cores[core].state == CORE_ON)
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

/*
 * Other processes find the core from now on, if they can at all. It is tried again whenever it is
 * needed: who has the address may give it back.
 */
static NRT_STATUS open_listener(struct nrt_sendrecv *sendrecv, uint32_t number,
				struct nrt_error *error)
{
	struct nrt_sendrecv_core *core = &sendrecv->cores[number];

	if (!sendrecv->group.open || core->listener)
		return NRT_SUCCESS;
	core->listener = nrt_listener_open(&sendrecv->group, number, accept_remote, sendrecv,
					   error);
	return core->listener ? NRT_SUCCESS : error->status;
}

static NRT_STATUS open_core(struct nrt_sendrecv *sendrecv, uint32_t number,
			    struct nrt_error *error)
{
	struct nrt_sendrecv_core *core = &sendrecv->cores[number];

	if (core->state != CORE_OFF)
		return nrt_error_set(error, NRT_FAILURE, "core %u %s", number,
				     core->state == CORE_BROKEN ? "was not closed well before" :
								  "is initialised already");
	core->state = CORE_ON;
	return NRT_SUCCESS;
}

/* Without the lock. The name of a socket can be in use by anybody, which is no reason to fail. */
NRT_STATUS nrt_sendrecv_open(struct nrt_sendrecv *sendrecv, uint32_t core,
			     struct nrt_error *error)
{
	struct nrt_error warning = { 0 };
	NRT_STATUS status;

	pthread_mutex_lock(&sendrecv->lock);
	status = open_core(sendrecv, core, error);
	if (!status)
		open_listener(sendrecv, core, &warning);
	pthread_mutex_unlock(&sendrecv->lock);
	if (warning.status)
		nrt_warn("nrt_async_sendrecv_init",
			 "%s; it can receive from cores of this process only", warning.text);
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

/* Its channel is left. True: it was connected, and all requests had ended. */
static bool close_endpoint(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint)
{
	bool well = close_messages(sendrecv, endpoint) && endpoint->connected;
	struct nrt_error why;

	/* Both sides of one core close together, and requests that have not ended count. */
	if (endpoint->mate && endpoint->mate->core != endpoint->core) {
		nrt_error_set(&why, NRT_FAILURE, "core %u was closed", endpoint->core);
		lose_peer(endpoint->mate, &why);
	}
	if (endpoint->mate)
		endpoint->mate->mate = NULL;
	endpoint->mate = NULL;
	endpoint->closed = true;
	nrt_connector_end(&endpoint->connector);
	return well;
}

/*
 * Those of core @core, which are in no other list any more. What the program left open breaks the
 * core; what another process did not do, as it crashed or stands still, does not.
 */
static struct nrt_endpoint *take_endpoints(struct nrt_sendrecv *sendrecv, uint32_t core,
					   bool *well, bool *broken)
{
	struct nrt_endpoint **link = &sendrecv->endpoints, *endpoint, *taken = NULL;

	while (*link) {
		endpoint = *link;
		if (endpoint->core != core) {
			link = &endpoint->next;
			continue;
		}
		if (!close_endpoint(sendrecv, endpoint)) {
			*well = false;
			*broken |= !endpoint->remote && !endpoint->elsewhere;
		}
		*link = endpoint->next;
		endpoint->next = taken;
		taken = endpoint;
	}
	return taken;
}

/* Without the lock: threads end that take it. */
static void end_endpoints(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint)
{
	struct nrt_endpoint *next;

	for (; endpoint; endpoint = next) {
		next = endpoint->next;
		nrt_channel_close(endpoint->channel);
		nrt_handle_close(sendrecv->handles, NRT_KIND_ENDPOINT, endpoint->handle, false);
	}
}

/* Without the lock. */
NRT_STATUS nrt_sendrecv_close(struct nrt_sendrecv *sendrecv, uint32_t core,
			      struct nrt_error *error)
{
	struct nrt_endpoint *endpoints;
	struct nrt_listener *listener;
	bool well = true, broken = false;

	pthread_mutex_lock(&sendrecv->lock);
	if (check_core(sendrecv, core, error)) {
		pthread_mutex_unlock(&sendrecv->lock);
		return error->status;
	}
	sendrecv->cores[core].state = CORE_CLOSING;
	listener = sendrecv->cores[core].listener;
	sendrecv->cores[core].listener = NULL;
	endpoints = take_endpoints(sendrecv, core, &well, &broken);
	pthread_mutex_unlock(&sendrecv->lock);
	nrt_listener_close(listener);
	end_endpoints(sendrecv, endpoints);
	pthread_mutex_lock(&sendrecv->lock);
	sendrecv->cores[core].state = broken ? CORE_BROKEN : CORE_OFF;
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
		if (sendrecv->cores[core].state == CORE_ON)
			nrt_sendrecv_close(sendrecv, core, &ignored);
	pthread_mutex_destroy(&sendrecv->lock);
	free(sendrecv->cores);
}

/*
 * Another thread may have been in the middle of anything at the fork. What is reached from here is
 * whole all the same: listeners and endpoints are taken out before they are ended, and a descriptor
 * is in its new place before it leaves the old one, and in none before it is closed. So it may be
 * closed twice here, which does no harm. One that is in no place at the fork, as it has just been
 * made or is about to be closed, stays open in the child.
 */
void nrt_sendrecv_forget(struct nrt_sendrecv *sendrecv)
{
	struct nrt_endpoint *endpoint;
	uint32_t core;

	for (core = 0; core < sendrecv->nr_cores; core++)
		if (sendrecv->cores[core].listener)
			nrt_listener_forget(sendrecv->cores[core].listener);
	for (endpoint = sendrecv->endpoints; endpoint; endpoint = endpoint->next) {
		nrt_connector_forget(&endpoint->connector);
		if (endpoint->channel)
			nrt_channel_forget(endpoint->channel);
	}
}

/* --- Endpoints --- */

/* With the lock. The other side is of this process, so there is no need for a channel. */
static void stop_looking(struct nrt_endpoint *endpoint)
{
	struct nrt_channel *channel = endpoint->channel;

	/* The child of a fork must not find one that is freed. */
	endpoint->channel = NULL;
	nrt_channel_close(channel);
	nrt_connector_end(&endpoint->connector);
}

/* With the lock. */
static NRT_STATUS add_endpoint(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint,
			       struct nrt_error *error)
{
	struct nrt_endpoint **link = &sendrecv->endpoints;
	unsigned int nr = 0;

	if (check_core(sendrecv, endpoint->core, error) ||
	    (endpoint->elsewhere && !endpoint->sends &&
	     open_listener(sendrecv, endpoint->core, error)))
		return error->status;
	for (; *link; link = &(*link)->next)
		nr += (*link)->core == endpoint->core;
	if (nr >= NRT_SENDRECV_ENDPOINTS)
		return nrt_error_set(error, NRT_RESOURCE, "core %u has %u communicators",
				     endpoint->core, nr);
	endpoint->mate = find_unconnected(sendrecv, endpoint->peer, endpoint->core,
					  !endpoint->sends);
	if (endpoint->mate) {
		endpoint->connected = true;
		endpoint->mate->connected = true;
		endpoint->mate->mate = endpoint;
		stop_looking(endpoint->mate);
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
	struct nrt_error ignored;
	NRT_STATUS status;
	void *made;

	if (!nrt_peer_is_local(what->peer_ip))
		return nrt_error_set(error, NRT_FAILURE,
				     "\"%.64s\" is no address of this host; there is no transport to others",
				     what->peer_ip);
	endpoint = calloc(1, sizeof(*endpoint));
	if (!endpoint)
		return nrt_error_memory(error);
	endpoint->sendrecv = sendrecv;
	endpoint->core = what->core;
	endpoint->peer = what->peer;
	endpoint->sends = what->sends;
	endpoint->elsewhere = what->remote;
	nrt_connector_init(&endpoint->connector);
	made = nrt_handle_new(sendrecv->handles, NRT_KIND_ENDPOINT, endpoint);
	if (!made) {
		free(endpoint);
		return nrt_error_memory(error);
	}
	endpoint->handle = made;
	pthread_mutex_lock(&sendrecv->lock);
	status = add_endpoint(sendrecv, endpoint, error);
	/* Whatever comes of it, nrt_endpoint_test() will tell. */
	if (!status)
		connect_remote(sendrecv, endpoint, &ignored);
	pthread_mutex_unlock(&sendrecv->lock);
	if (status)
		nrt_handle_close(sendrecv->handles, NRT_KIND_ENDPOINT, made, false);
	else
		*handle = made;
	return status;
}

NRT_STATUS nrt_endpoint_test(struct nrt_sendrecv *sendrecv, struct nrt_endpoint *endpoint,
			     bool *connected, struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&sendrecv->lock);
	status = connect_remote(sendrecv, endpoint, error);
	*connected = endpoint->connected;
	pthread_mutex_unlock(&sendrecv->lock);
	return status;
}

/* --- Requests; with the lock unless it says otherwise --- */

static NRT_STATUS move(const struct nrt_message *from, const struct nrt_message *to,
		       struct nrt_error *error)
{
	if (from->length > to->length)
		return nrt_error_set(error, NRT_FAILURE, "%zu bytes were sent to a place for %zu",
				     from->length, to->length);
	return nrt_span_copy(&from->span, from->offset, &to->span, to->offset, from->length,
			     error);
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
	if (endpoint->lost.status) {
		*error = endpoint->lost;
		return error->status;
	}
	if (!endpoint->mate && (!endpoint->remote || endpoint->closed))
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
	if (endpoint->remote)
		nrt_channel_wake(endpoint->channel);
	else
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
