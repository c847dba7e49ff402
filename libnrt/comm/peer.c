// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "comm/peer.h"
#include "comm/peer_wire.h"
#include "comm/wire.h"

/* Connections that have not said hello; the oldest one makes room for another one. */
#define MAX_PENDING	16
#define HELLO_MS	2000
/* Pause when there are no descriptors for those who connect. */
#define PAUSE_MS	100
/* Between two attempts to connect. */
#define AGAIN_MS	2

/* Why a connection is refused. */
enum refusal {
	REFUSED_USER,
	REFUSED_HELLO,
	REFUSED_VERSION,
	NR_REFUSALS,
};

/**
 * struct pending - a connection that has not said hello
 * @fd: socket
 * @pid: process at the other end
 * @deadline_ms: then it is closed
 */
struct pending {
	int fd;
	pid_t pid;
	uint64_t deadline_ms;
};

/**
 * struct nrt_listener - the listener of a core
 * @core: the core
 * @fn, @arg: who has the endpoints
 * @listen: socket
 * @stop: eventfd that ends @thread
 * @thread: accepts, and answers hellos
 * @pending, @nr: the oldest first; of @thread
 * @told: such refusals were logged: one line for each is enough, however many there are
 */
struct nrt_listener {
	uint32_t core;
	nrt_peer_accept_fn *fn;
	void *arg;
	int listen;
	int stop;
	pthread_t thread;
	struct pending pending[MAX_PENDING];
	unsigned int nr;
	bool told[NR_REFUSALS];
};

static socklen_t make_address(const struct nrt_peer_group *group, uint32_t core,
			      struct sockaddr_un *address)
{
	int length;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, NRT_PEER_ADDRESS,
			  (unsigned int)geteuid(), group->port, group->lnc, core);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Who is at the other end? False: nobody can tell. */
static bool get_credentials(int fd, struct ucred *peer)
{
	socklen_t size = sizeof(*peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &size);
}

/* --- Addresses of hosts --- */

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

bool nrt_peer_is_local(const char *ip)
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

/* --- Listener: by its thread --- */

static void log_refusal(struct nrt_listener *listener, enum refusal refusal,
			const struct ucred *peer)
{
	static const char *const why[] = {
		[REFUSED_USER] = "only processes of the same user are trusted",
		[REFUSED_HELLO] = "it sent no hello to this core",
		[REFUSED_VERSION] = "its library has another version",
	};

	if (listener->told[refusal])
		return;
	listener->told[refusal] = true;
	nrt_warn("nrt_async_sendrecv_init",
		 "core %u: process %d of user %u is refused: %s; more such lines are left out",
		 listener->core, (int)peer->pid, (unsigned int)peer->uid, why[refusal]);
}

/* The other side waits for an answer without a limit: if there is none, the connection ends. */
static void send_answer(int fd, enum nrt_answer_type type)
{
	const struct nrt_answer answer = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION, type };

	if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(answer))
		shutdown(fd, SHUT_RDWR);
}

/* False: the connection has to be closed. */
static bool answer_hello(struct nrt_listener *listener, const struct pending *pending,
			 const struct nrt_hello *hello)
{
	const struct ucred peer = { .pid = pending->pid, .uid = geteuid() };
	char byte;

	if (hello->magic != NRT_HELLO_MAGIC ||
	    (hello->version == NRT_HELLO_VERSION && hello->to != listener->core)) {
		log_refusal(listener, REFUSED_HELLO, &peer);
		return false;
	}
	if (hello->version != NRT_HELLO_VERSION) {
		log_refusal(listener, REFUSED_VERSION, &peer);
		send_answer(pending->fd, NRT_ANSWER_VERSION);
		return false;
	}
	/* A process that has ended already must not use up an endpoint. */
	if (!recv(pending->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT))
		return false;
	if (listener->fn(listener->arg, listener->core, hello->from, pending->fd, pending->pid)) {
		send_answer(pending->fd, NRT_ANSWER_WELCOME);
		return true;
	}
	send_answer(pending->fd, NRT_ANSWER_LATER);
	return false;
}

/*
 * A child of a fork closes what it finds: nrt_listener_forget(). A fork between this and close(),
 * or between accept4() and add_pending(), leaves one open in the child.
 */
static void remove_pending(struct nrt_listener *listener, unsigned int i)
{
	memmove(&listener->pending[i], &listener->pending[i + 1],
		(listener->nr - 1 - i) * sizeof(listener->pending[0]));
	listener->nr--;
}

static void close_pending(struct nrt_listener *listener, unsigned int i)
{
	int fd = listener->pending[i].fd;

	remove_pending(listener, i);
	/* A child of a fork may have it, too. */
	shutdown(fd, SHUT_RDWR);
	close(fd);
}

/* A hello comes in one piece, so a part of one is none. */
static void read_hello(struct nrt_listener *listener, unsigned int i)
{
	struct pending *pending = &listener->pending[i];
	struct nrt_hello hello = { 0 };
	ssize_t n;

	n = recv(pending->fd, &hello, sizeof(hello), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && n < (ssize_t)sizeof(hello))
		hello.magic = 0;
	if (n > 0 && answer_hello(listener, pending, &hello))
		remove_pending(listener, i);
	else
		close_pending(listener, i);
}

static void add_pending(struct nrt_listener *listener, int fd, pid_t pid)
{
	if (listener->nr == MAX_PENDING)
		close_pending(listener, 0);
	listener->pending[listener->nr++] = (struct pending){
		.fd = fd,
		.pid = pid,
		.deadline_ms = nrt_wire_now_ms() + HELLO_MS,
	};
	read_hello(listener, listener->nr - 1);
}

/* After a failure that may last. It ends sooner when the listener has to stop. */
static void pause_listener(struct nrt_listener *listener)
{
	struct pollfd stop = { .fd = listener->stop, .events = POLLIN };

	if (poll(&stop, 1, PAUSE_MS) < 0 && errno != EINTR)
		usleep(PAUSE_MS * 1000);
}

static void accept_one(struct nrt_listener *listener)
{
	struct ucred peer = { .pid = 0, .uid = (uid_t)-1 };
	int fd = accept4(listener->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		/* No descriptors, or no memory: it stays ready, so do not spin. */
		if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
			pause_listener(listener);
		return;
	}
	if (get_credentials(fd, &peer) && peer.uid == geteuid()) {
		add_pending(listener, fd, peer.pid);
		return;
	}
	log_refusal(listener, REFUSED_USER, &peer);
	close(fd);
}

/* Close those whose time is over. Returns the time of the next one, for poll(). */
static int expire(struct nrt_listener *listener)
{
	uint64_t now = nrt_wire_now_ms();

	while (listener->nr && listener->pending[0].deadline_ms <= now)
		close_pending(listener, 0);
	return listener->nr ? (int)(listener->pending[0].deadline_ms - now) : -1;
}

/* When poll() cannot tell. */
static bool is_stopped(struct nrt_listener *listener)
{
	eventfd_t ignored;

	return !eventfd_read(listener->stop, &ignored);
}

/*
 * poll() takes no more descriptors than RLIMIT_NOFILE, which a program may lower. Those who have
 * said nothing make room, or the thread would never hear of others.
 */
static void give_room(struct nrt_listener *listener)
{
	if (listener->nr)
		close_pending(listener, 0);
	else
		pause_listener(listener);
}

static void *listener_thread(void *arg)
{
	struct nrt_listener *listener = arg;
	struct pollfd fds[2 + MAX_PENDING];
	unsigned int i, nr;

	for (;;) {
		int wait = expire(listener);

		nr = listener->nr;
		fds[0] = (struct pollfd){ .fd = listener->stop, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = listener->listen, .events = POLLIN };
		for (i = 0; i < nr; i++)
			fds[2 + i] = (struct pollfd){ .fd = listener->pending[i].fd,
						      .events = POLLIN };
		/* No memory, or a limit of descriptors that is below the number that waits. */
		if (poll(fds, 2 + nr, wait) < 0) {
			if (errno != EINTR)
				give_room(listener);
			if (is_stopped(listener))
				return NULL;
			continue;
		}
		if (fds[0].revents)
			return NULL;
		/* From the last one on, because those behind one that is removed move. */
		for (i = nr; i; i--)
			if (fds[1 + i].revents)
				read_hello(listener, i - 1);
		if (fds[1].revents)
			accept_one(listener);
	}
}

/* --- Listener: beginning and end --- */

/* Who has the name? The kernel keeps the process that called listen(). */
static NRT_STATUS explain_in_use(const struct nrt_peer_group *group, uint32_t core,
				 struct nrt_error *error)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	socklen_t length = make_address(group, core, &address);
	struct ucred who;
	bool known;

	known = fd >= 0 && !connect(fd, (struct sockaddr *)&address, length) &&
		get_credentials(fd, &who);
	if (fd >= 0)
		close(fd);
	if (!known)
		return nrt_error_set(error, NRT_FAILURE,
				     "core %u: another process has the address where other processes find it",
				     core);
	return nrt_error_set(error, NRT_FAILURE,
			     "core %u: process %d of user %u has the address where other processes find it",
			     core, (int)who.pid, (unsigned int)who.uid);
}

static NRT_STATUS explain(uint32_t core, const char *what, int why, struct nrt_error *error)
{
	return nrt_error_set(error, NRT_RESOURCE, "core %u: cannot %s for other processes: %s",
			     core, what, nrt_error_why(why));
}

static NRT_STATUS begin(struct nrt_listener *listener, const struct nrt_peer_group *group,
			struct nrt_error *error)
{
	struct sockaddr_un address;
	socklen_t length = make_address(group, listener->core, &address);
	int ret;

	listener->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->listen >= 0)
		listener->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (listener->stop < 0)
		return explain(listener->core, "make a socket", errno, error);
	if (bind(listener->listen, (struct sockaddr *)&address, length) ||
	    listen(listener->listen, SOMAXCONN))
		return errno == EADDRINUSE ? explain_in_use(group, listener->core, error) :
					     explain(listener->core, "listen", errno, error);
	ret = nrt_thread_start(&listener->thread, listener_thread, listener);
	if (ret)
		return explain(listener->core, "start a thread", ret, error);
	return NRT_SUCCESS;
}

static void listener_free(struct nrt_listener *listener)
{
	while (listener->nr)
		close_pending(listener, listener->nr - 1);
	if (listener->listen >= 0) {
		/* A child of a fork may have it, too, and nobody would answer those who connect. */
		shutdown(listener->listen, SHUT_RDWR);
		close(listener->listen);
	}
	if (listener->stop >= 0)
		close(listener->stop);
	free(listener);
}

struct nrt_listener *nrt_listener_open(const struct nrt_peer_group *group, uint32_t core,
				       nrt_peer_accept_fn *fn, void *arg, struct nrt_error *error)
{
	struct nrt_listener *listener = calloc(1, sizeof(*listener));

	if (!listener) {
		nrt_error_memory(error);
		return NULL;
	}
	listener->core = core;
	listener->fn = fn;
	listener->arg = arg;
	listener->listen = -1;
	listener->stop = -1;
	if (!begin(listener, group, error))
		return listener;
	listener_free(listener);
	return NULL;
}

void nrt_listener_close(struct nrt_listener *listener)
{
	if (!listener)
		return;
	eventfd_write(listener->stop, 1);
	pthread_join(listener->thread, NULL);
	listener_free(listener);
}

void nrt_listener_forget(struct nrt_listener *listener)
{
	unsigned int i;

	for (i = 0; i < listener->nr; i++)
		close(listener->pending[i].fd);
	close(listener->listen);
	close(listener->stop);
}

/* --- Connector --- */

void nrt_connector_init(struct nrt_connector *connector)
{
	*connector = (struct nrt_connector){ .fd = -1 };
}

/*
 * A child of a fork must not find the number of a descriptor that is closed already. A fork between
 * the two steps leaves it open in the child.
 */
void nrt_connector_end(struct nrt_connector *connector)
{
	int fd = connector->fd;

	connector->fd = -1;
	if (fd >= 0)
		close(fd);
}

void nrt_connector_forget(const struct nrt_connector *connector)
{
	if (connector->fd >= 0)
		close(connector->fd);
}

static void try_later(struct nrt_connector *connector)
{
	nrt_connector_end(connector);
	connector->next_ms = nrt_wire_now_ms() + AGAIN_MS;
}

/* Nobody listens yet, or too many wait; other failures do not go away. */
static NRT_STATUS explain_connect(struct nrt_connector *connector, uint32_t core, uint32_t peer,
				  int why, struct nrt_error *error)
{
	try_later(connector);
	if (why != EACCES && why != EPERM)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE, "core %u: cannot connect to core %u: %s", core,
			     peer, nrt_error_why(why));
}

/* Connect, if somebody listens. The name is no proof, so look who it is. */
static NRT_STATUS say_hello(struct nrt_connector *connector, const struct nrt_peer_group *group,
			    uint32_t core, uint32_t peer, struct nrt_error *error)
{
	const struct nrt_hello hello = { NRT_HELLO_MAGIC, NRT_HELLO_VERSION, core, peer };
	struct sockaddr_un address;
	socklen_t length = make_address(group, peer, &address);
	struct ucred who;

	connector->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connector->fd < 0)
		return nrt_error_set(error, NRT_RESOURCE, "core %u: cannot make a socket: %s", core,
				     nrt_error_why(errno));
	if (connect(connector->fd, (struct sockaddr *)&address, length))
		return explain_connect(connector, core, peer, errno, error);
	if (!get_credentials(connector->fd, &who)) {
		try_later(connector);
		return NRT_SUCCESS;
	}
	if (who.uid != geteuid()) {
		try_later(connector);
		return nrt_error_set(error, NRT_FAILURE,
				     "core %u: process %d of user %u has the address of core %u; only processes of the same user are trusted",
				     core, (int)who.pid, (unsigned int)who.uid, peer);
	}
	connector->pid = who.pid;
	if (send(connector->fd, &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    sizeof(hello))
		try_later(connector);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_connector_try(struct nrt_connector *connector, const struct nrt_peer_group *group,
			     uint32_t core, uint32_t peer, bool *welcome, struct nrt_error *error)
{
	struct nrt_answer answer = { 0 };
	ssize_t n;

	*welcome = false;
	if (connector->fd < 0 && nrt_wire_now_ms() < connector->next_ms)
		return NRT_SUCCESS;
	if (connector->fd < 0 && say_hello(connector, group, core, peer, error))
		return error->status;
	if (connector->fd < 0)
		return NRT_SUCCESS;
	n = recv(connector->fd, &answer, sizeof(answer), MSG_DONTWAIT);
	/*
	 * There is no time limit. A listener that runs answers or closes the connection. One that
	 * stands still may have taken the hello when it goes on, and an endpoint with it.
	 */
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return NRT_SUCCESS;
	*welcome = n == sizeof(answer) && answer.magic == NRT_HELLO_MAGIC &&
		   answer.version == NRT_HELLO_VERSION && answer.type == NRT_ANSWER_WELCOME;
	if (*welcome)
		return NRT_SUCCESS;
	try_later(connector);
	if (n <= 0 || (answer.magic == NRT_HELLO_MAGIC && answer.type == NRT_ANSWER_LATER))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE,
			     "core %u: process %d, which has the address of core %u, gave no answer that is understood, or its library has another version",
			     core, (int)connector->pid, peer);
}
