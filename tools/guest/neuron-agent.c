// SPDX-License-Identifier: MIT
/*
 * The agent of the guest: it runs commands for the host and carries their streams.
 *
 *   neuron-agent PORT
 *
 * PORT is the character device of a virtio port. Frames go both ways over it: a header of
 * twelve bytes (type: four letters; channel and length: little-endian 32-bit numbers) and
 * the payload. The host chooses a channel for each command; several run at the same time.
 *
 *   host to guest
 *     EXEC  start a command: strings "key=value", each ended by a zero byte. arg= (one for
 *           each word of the command), env=NAME=VALUE, cwd=DIR, root=DIR (chroot), and
 *           tty=ROWSxCOLS for a pseudo-terminal of the command's own
 *     STDI  bytes for standard input; no bytes: its end
 *     SIGN  a signal's number, as text, for the process group of the command
 *     SIZE  ROWSxCOLS, the new size of the terminal
 *     DONE  the agent ends, and with it the machine
 *   guest to host
 *     HELO  the agent is there; channel 0
 *     OUT1  bytes of standard output (with a terminal: of both outputs)
 *     OUT2  bytes of standard error
 *     TOOK  so many bytes of STDI, as text, went to the command. The host sends at most
 *           64 KiB that it has not seen taken, which bounds the memory used here.
 *     EXIT  the command has ended: its exit status, as text; 128 and the number of the
 *           signal that ended it; 127 and 126 when it could not be started. It comes after
 *           all output that the command itself wrote.
 *
 * One thread; every descriptor but the port's writing side is polled. The host always
 * reads, so a write to the port blocks for a short time only.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define CHANNELS	64
#define HEADER_BYTES	12
#define PAYLOAD_BYTES	(1 << 20)	/* of the largest frame that the host may send */
#define INPUT_BYTES	(64 << 10)	/* of STDI that the host may have under way */
#define CHUNK_BYTES	(32 << 10)
#define DRAIN_CHUNKS	64
#define WORDS		4096		/* arguments and variables of one command */

/**
 * struct command - a command that runs for the host
 * @channel: the number that the host gave it
 * @pid: its process, which leads a session and a process group; 0: the slot is free
 * @in: where its standard input is written, or -1
 * @out: where its standard output and standard error are read, each -1 at its end
 * @tty: @in and @out[0] are the two directions of one pseudo-terminal
 * @input: bytes that wait to be written to @in
 * @queued: how many they are
 * @input_ends: @in is closed when they have been written
 */
struct command {
	uint32_t channel;
	pid_t pid;
	int in;
	int out[2];
	bool tty;
	char input[INPUT_BYTES];
	size_t queued;
	bool input_ends;
};

/**
 * struct request - the payload of EXEC, taken apart; the strings stay in the payload
 * @argv: words of the command, ended by NULL
 * @envp: its environment, ended by NULL
 * @cwd: folder to start in, below @root; NULL: the root folder
 * @root: folder to change the root to, or NULL
 * @size: of the pseudo-terminal; no rows: pipes
 */
struct request {
	char *argv[WORDS];
	char *envp[WORDS];
	const char *cwd;
	const char *root;
	struct winsize size;
};

struct agent {
	int port;
	struct command *commands;
	char *payload;
};

static void write_all(int fd, const void *data, size_t length)
{
	const char *at = data;

	while (length) {
		ssize_t done = write(fd, at, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			poll(&wait, 1, -1);
			continue;
		}
		if (done <= 0) {
			perror("neuron-agent: the port");
			exit(1);
		}
		at += done;
		length -= done;
	}
}

static void send_frame(struct agent *agent, const char *type, uint32_t channel,
		       const void *data, uint32_t length)
{
	char header[HEADER_BYTES];

	memcpy(header, type, 4);
	memcpy(header + 4, &(uint32_t){ htole32(channel) }, 4);
	memcpy(header + 8, &(uint32_t){ htole32(length) }, 4);
	write_all(agent->port, header, sizeof(header));
	write_all(agent->port, data, length);
}

static void send_number(struct agent *agent, const char *type, uint32_t channel, size_t number)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%zu", number);

	send_frame(agent, type, channel, text, length);
}

static void send_text(struct agent *agent, const char *type, uint32_t channel, const char *text)
{
	send_frame(agent, type, channel, text, strlen(text));
}

static struct command *find(struct agent *agent, uint32_t channel)
{
	for (int i = 0; i < CHANNELS; i++) {
		if (agent->commands[i].pid && agent->commands[i].channel == channel)
			return &agent->commands[i];
	}
	return NULL;
}

static struct command *find_free(struct agent *agent)
{
	for (int i = 0; i < CHANNELS; i++) {
		if (!agent->commands[i].pid)
			return &agent->commands[i];
	}
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool parse_size(const char *text, struct winsize *size)
{
	return sscanf(text, "%hux%hu", &size->ws_row, &size->ws_col) == 2;
}

static const char *after(const char *word, const char *key)
{
	size_t length = strlen(key);

	return strncmp(word, key, length) ? NULL : word + length;
}

/* Returns what is wrong with the payload, or NULL. */
static const char *parse_request(char *payload, size_t length, struct request *request)
{
	char *end = payload + length;
	int args = 0, vars = 0;

	memset(request, 0, sizeof(*request));
	if (!length || end[-1])
		return "a request that is not ended by a zero byte";
	for (char *word = payload; word < end; word += strlen(word) + 1) {
		const char *value;

		if (args == WORDS - 1 || vars == WORDS - 1)
			return "too many words";
		value = after(word, "arg=");
		if (value) {
			request->argv[args++] = (char *)value;
			continue;
		}
		value = after(word, "env=");
		if (value) {
			request->envp[vars++] = (char *)value;
			continue;
		}
		value = after(word, "tty=");
		if (value && !parse_size(value, &request->size))
			return "a size of the terminal that is not ROWSxCOLS";
		if (after(word, "cwd="))
			request->cwd = after(word, "cwd=");
		if (after(word, "root="))
			request->root = after(word, "root=");
	}
	return args ? NULL : "no command";
}

/* In the child: what execvpe() needs, and the streams; errno is left for the parent. */
static bool become(const struct request *request, const int fds[3])
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	for (int i = 0; i < 3; i++) {
		if (dup2(fds[i], i) < 0)
			return false;
	}
	if (request->size.ws_row && ioctl(0, TIOCSCTTY, 0) < 0)
		return false;
	if (request->root && (chroot(request->root) < 0 || chdir("/") < 0))
		return false;
	if (request->cwd && chdir(request->cwd) < 0)
		return false;
	/* The command is looked up on the path that it is given. */
	for (int i = 0; request->envp[i]; i++) {
		if (after(request->envp[i], "PATH="))
			putenv(request->envp[i]);
	}
	execvpe(request->argv[0], request->argv, request->envp);
	return false;
}

/*
 * Start it; fds are its three streams. Returns the process, or 0 with errno set: the child
 * tells its error through a pipe that a successful exec closes.
 */
static pid_t start(const struct request *request, const int fds[3])
{
	int report[2], error = 0;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) < 0)
		return 0;
	pid = fork();
	if (pid < 0) {
		error = errno;
		pid = 0;
	} else if (!pid) {
		become(request, fds);
		error = errno;
		write_all(report[1], &error, sizeof(error));
		_exit(127);
	}
	close(report[1]);
	if (!error && read(report[0], &error, sizeof(error)) == sizeof(error)) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(report[0]);
	errno = error;
	return pid;
}

static bool open_pipes(struct command *command, int fds[3])
{
	int pipes[3][2];

	for (int i = 0; i < 3; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) < 0) {
			while (i--) {
				close(pipes[i][0]);
				close(pipes[i][1]);
			}
			return false;
		}
	}
	fds[0] = pipes[0][0];
	fds[1] = pipes[1][1];
	fds[2] = pipes[2][1];
	command->in = pipes[0][1];
	command->out[0] = pipes[1][0];
	command->out[1] = pipes[2][0];
	return true;
}

static bool open_terminal(struct command *command, const struct winsize *size, int fds[3])
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;

	if (master < 0)
		return false;
	if (!grantpt(master) && !unlockpt(master))
		slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0) {
		close(master);
		return false;
	}
	ioctl(slave, TIOCSWINSZ, size);
	command->in = master;
	command->out[0] = fcntl(master, F_DUPFD_CLOEXEC, 3);
	command->out[1] = -1;
	fds[0] = slave;
	fds[1] = fcntl(slave, F_DUPFD_CLOEXEC, 3);
	fds[2] = fcntl(slave, F_DUPFD_CLOEXEC, 3);
	return true;
}

static void refuse(struct agent *agent, uint32_t channel, const char *what, const char *why,
		   int status)
{
	char text[512];

	snprintf(text, sizeof(text), "neuron-vm: %s: %s\n", what, why);
	send_text(agent, "OUT2", channel, text);
	send_number(agent, "EXIT", channel, status);
}

static void refuse_to_start(struct agent *agent, uint32_t channel, const struct request *request,
			    int error)
{
	char what[256];

	/* The folder is named, because ENOENT of either looks the same. */
	snprintf(what, sizeof(what), "cannot run '%s' in the guest's folder '%s'",
		 request->argv[0], request->cwd ? request->cwd : "/");
	refuse(agent, channel, what, strerror(error), error == ENOENT ? 127 : 126);
}

static void run(struct agent *agent, uint32_t channel, size_t length)
{
	struct command *command = find_free(agent);
	struct request request;
	const char *wrong;
	int fds[3], error;
	bool opened;

	wrong = parse_request(agent->payload, length, &request);
	if (!wrong && (!command || find(agent, channel)))
		wrong = "too many commands run at the same time";
	if (wrong) {
		refuse(agent, channel, "the guest's agent", wrong, 126);
		return;
	}
	memset(command, 0, sizeof(*command));
	command->channel = channel;
	command->tty = request.size.ws_row;
	opened = command->tty ? open_terminal(command, &request.size, fds) :
				open_pipes(command, fds);
	if (!opened) {
		refuse_to_start(agent, channel, &request, errno);
		return;
	}
	command->pid = start(&request, fds);
	error = errno;
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	fcntl(command->in, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 2; i++)
		fcntl(command->out[i], F_SETFL, O_NONBLOCK);
	if (command->pid)
		return;
	close_fd(&command->in);
	close_fd(&command->out[0]);
	close_fd(&command->out[1]);
	refuse_to_start(agent, channel, &request, error);
}

/* The end of a terminal's input is the character that says so; a pipe is closed. */
static void end_input(struct command *command)
{
	if (command->tty)
		write_all(command->in, "\4", 1);
	else
		close_fd(&command->in);
	command->input_ends = false;
}

static void feed(struct agent *agent, struct command *command)
{
	ssize_t done = write(command->in, command->input, command->queued);

	if (done < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (done < 0) {
		/* Nobody reads any more: what waits is dropped, and the host may send on. */
		send_number(agent, "TOOK", command->channel, command->queued);
		command->queued = 0;
		close_fd(&command->in);
		return;
	}
	memmove(command->input, command->input + done, command->queued - done);
	command->queued -= done;
	send_number(agent, "TOOK", command->channel, done);
	if (!command->queued && command->input_ends)
		end_input(command);
}

static void take_input(struct agent *agent, struct command *command, size_t length)
{
	if (command->in < 0) {
		if (length)
			send_number(agent, "TOOK", command->channel, length);
		return;
	}
	if (!length && command->queued) {
		command->input_ends = true;
	} else if (!length) {
		end_input(command);
	} else if (length <= INPUT_BYTES - command->queued) {
		memcpy(command->input + command->queued, agent->payload, length);
		command->queued += length;
		feed(agent, command);
	}
}

static void resize(struct command *command, const char *text)
{
	struct winsize size = { 0 };

	if (command->tty && command->in >= 0 && parse_size(text, &size))
		ioctl(command->in, TIOCSWINSZ, &size);
}

/* Returns whether there may be more. */
static bool forward(struct agent *agent, struct command *command, int stream)
{
	char data[CHUNK_BYTES];
	ssize_t length = read(command->out[stream], data, sizeof(data));

	if (length > 0) {
		send_frame(agent, stream ? "OUT2" : "OUT1", command->channel, data, length);
		return true;
	}
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	close_fd(&command->out[stream]);
	return false;
}

/*
 * What the command itself wrote is in the pipes, which hold less than DRAIN_CHUNKS. Something
 * that it started may keep them open and write on for ever.
 */
static void ended(struct agent *agent, struct command *command, int status)
{
	for (int i = 0; i < 2; i++) {
		int chunks = DRAIN_CHUNKS;

		while (command->out[i] >= 0 && chunks-- && forward(agent, command, i))
			;
		close_fd(&command->out[i]);
	}
	close_fd(&command->in);
	send_number(agent, "EXIT", command->channel,
		    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	command->pid = 0;
}

/* Orphans of all commands are reaped by the first process, not here. */
static void reap(struct agent *agent)
{
	for (int i = 0; i < CHANNELS; i++) {
		struct command *command = &agent->commands[i];
		int status;

		if (command->pid && waitpid(command->pid, &status, WNOHANG) == command->pid)
			ended(agent, command, status);
	}
}

/* Returns false when the host wants the agent to end. */
static bool obey(struct agent *agent, const char *type, uint32_t channel, size_t length)
{
	struct command *command = find(agent, channel);

	agent->payload[length] = '\0';
	if (!memcmp(type, "DONE", 4))
		return false;
	if (!memcmp(type, "EXEC", 4))
		run(agent, channel, length);
	else if (!command)
		return true;
	else if (!memcmp(type, "STDI", 4))
		take_input(agent, command, length);
	else if (!memcmp(type, "SIGN", 4))
		kill(-command->pid, atoi(agent->payload));
	else if (!memcmp(type, "SIZE", 4))
		resize(command, agent->payload);
	return true;
}

static bool read_all(int fd, void *data, size_t length)
{
	char *at = data;

	while (length) {
		ssize_t done = read(fd, at, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		at += done;
		length -= done;
	}
	return true;
}

/*
 * A frame has begun: the rest is on its way. Without a host there is no end of file but
 * nothing to read either, so that is waited out.
 */
static bool receive(struct agent *agent)
{
	char header[HEADER_BYTES];
	uint32_t channel, length;

	if (!read_all(agent->port, header, sizeof(header))) {
		usleep(20000);
		return true;
	}
	memcpy(&channel, header + 4, 4);
	memcpy(&length, header + 8, 4);
	channel = le32toh(channel);
	length = le32toh(length);
	if (length > PAYLOAD_BYTES || !read_all(agent->port, agent->payload, length)) {
		fprintf(stderr, "neuron-agent: a frame of %u bytes cannot be read\n", length);
		return false;
	}
	return obey(agent, header, channel, length);
}

struct watched {
	struct command *command;
	int stream;		/* 0 and 1: outputs; 2: input */
};

static nfds_t watch(struct agent *agent, struct pollfd *fds, struct watched *who)
{
	nfds_t n = 0;

	for (int i = 0; i < CHANNELS; i++) {
		struct command *command = &agent->commands[i];

		if (!command->pid)
			continue;
		for (int stream = 0; stream < 2; stream++) {
			if (command->out[stream] < 0)
				continue;
			fds[n] = (struct pollfd){ .fd = command->out[stream], .events = POLLIN };
			who[n++] = (struct watched){ command, stream };
		}
		if (command->in < 0 || !command->queued)
			continue;
		fds[n] = (struct pollfd){ .fd = command->in, .events = POLLOUT };
		who[n++] = (struct watched){ command, 2 };
	}
	return n;
}

static int open_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void serve(struct agent *agent, int signals)
{
	struct pollfd fds[2 + 3 * CHANNELS];
	struct watched who[3 * CHANNELS];
	struct signalfd_siginfo info;

	for (;;) {
		nfds_t n = watch(agent, fds + 2, who);

		fds[0] = (struct pollfd){ .fd = agent->port, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = signals, .events = POLLIN };
		if (poll(fds, n + 2, -1) < 0 && errno != EINTR)
			return;
		for (nfds_t i = 0; i < n; i++) {
			if (!fds[i + 2].revents)
				continue;
			if (who[i].stream == 2)
				feed(agent, who[i].command);
			else
				forward(agent, who[i].command, who[i].stream);
		}
		if (fds[1].revents && read(signals, &info, sizeof(info)) > 0)
			reap(agent);
		if (fds[0].revents && !receive(agent))
			return;
	}
}

int main(int argc, char **argv)
{
	struct agent agent;
	int signals;

	if (argc != 2) {
		fprintf(stderr, "usage: neuron-agent PORT\n");
		return 2;
	}
	agent.port = open(argv[1], O_RDWR | O_CLOEXEC);
	if (agent.port < 0) {
		fprintf(stderr, "neuron-agent: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	agent.commands = calloc(CHANNELS, sizeof(*agent.commands));
	agent.payload = malloc(PAYLOAD_BYTES + 1);
	signals = open_signals();
	if (!agent.commands || !agent.payload || signals < 0) {
		perror("neuron-agent");
		return 1;
	}
	send_frame(&agent, "HELO", 0, "", 0);
	serve(&agent, signals);
	free(agent.payload);
	free(agent.commands);
	close(agent.port);
	return 0;
}
