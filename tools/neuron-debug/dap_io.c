// SPDX-License-Identifier: MIT
#include "dap_io.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX	(16u << 20)
#define HEADER_MAX	256

struct dap_message {
	struct dap_message *next;
	struct json_object *json;
};

struct json_object *dap_get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

const char *dap_string(struct json_object *object, const char *key)
{
	struct json_object *value = dap_get(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

int64_t dap_number(struct json_object *object, const char *key, int64_t otherwise)
{
	struct json_object *value = dap_get(object, key);

	return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) :
							   otherwise;
}

bool dap_flag(struct json_object *object, const char *key)
{
	struct json_object *value = dap_get(object, key);

	return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

/* --- Reading; the reader's --- */

/* The length of the next message; 0: there is none. Other headers are skipped. */
static size_t read_header(bool *broken)
{
	unsigned long length = 0;
	char line[HEADER_MAX];

	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "\r\n") || !strcmp(line, "\n")) {
			*broken = !length || length > MESSAGE_MAX;
			return *broken ? 0 : length;
		}
		if (sscanf(line, "Content-Length: %lu", &length) != 1 && !strchr(line, ':')) {
			*broken = true;
			return 0;
		}
	}
	return 0;
}

static struct json_object *read_message(bool *broken)
{
	size_t length = read_header(broken);
	struct json_object *json = NULL;
	char *text;

	if (!length)
		return NULL;
	text = malloc(length + 1);
	if (text && fread(text, 1, length, stdin) == length) {
		text[length] = '\0';
		json = json_tokener_parse(text);
	}
	free(text);
	if (json_object_is_type(json, json_type_object) && dap_string(json, "command"))
		return json;
	json_object_put(json);
	*broken = true;
	return NULL;
}

/* With the lock. */
static void tell_target(struct dap_io *io)
{
	if (io->target)
		atomic_store(&io->target->attention, true);
}

static void *read_all(void *arg)
{
	struct dap_io *io = arg;
	struct dap_message *message;
	struct json_object *json;
	bool broken = false;

	do {
		json = read_message(&broken);
		message = json ? calloc(1, sizeof(*message)) : NULL;
		pthread_mutex_lock(&io->lock);
		if (message) {
			message->json = json;
			if (io->last)
				io->last->next = message;
			else
				io->first = message;
			io->last = message;
		} else {
			io->closed = true;
			io->broken = broken;
		}
		tell_target(io);
		pthread_cond_broadcast(&io->news);
		pthread_mutex_unlock(&io->lock);
	} while (message);
	return NULL;
}

/* --- The connection --- */

static FILE *take_stdout(void)
{
	int fd = dup(STDOUT_FILENO);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		return out;
	if (out)
		fclose(out);
	return NULL;
}

int dap_io_open(struct dap_io *io)
{
	*io = (struct dap_io){ .out = take_stdout() };
	if (!io->out) {
		fprintf(stderr, "neuron-debug: standard output: %s\n", strerror(errno));
		return -1;
	}
	/* An editor that is gone is found out by the reader. */
	signal(SIGPIPE, SIG_IGN);
	pthread_mutex_init(&io->lock, NULL);
	pthread_cond_init(&io->news, NULL);
	if (!pthread_create(&io->thread, NULL, read_all, io))
		return 0;
	fprintf(stderr, "neuron-debug: cannot start a thread\n");
	fclose(io->out);
	return -1;
}

/* The editor closes its end when it has been told that all is over. */
int dap_io_close(struct dap_io *io)
{
	struct json_object *json;

	fclose(io->out);
	pthread_join(io->thread, NULL);
	while ((json = dap_io_take(io, false)))
		json_object_put(json);
	pthread_cond_destroy(&io->news);
	pthread_mutex_destroy(&io->lock);
	if (io->broken)
		fprintf(stderr,
			"neuron-debug: standard input: no message of the Debug Adapter Protocol\n");
	return io->broken ? -1 : 0;
}

void dap_io_tell(struct dap_io *io, struct target *target)
{
	pthread_mutex_lock(&io->lock);
	io->target = target;
	pthread_mutex_unlock(&io->lock);
}

struct json_object *dap_io_take(struct dap_io *io, bool wait)
{
	struct dap_message *message;
	struct json_object *json = NULL;

	pthread_mutex_lock(&io->lock);
	while (wait && !io->first && !io->closed)
		pthread_cond_wait(&io->news, &io->lock);
	message = io->first;
	if (message) {
		json = message->json;
		io->first = message->next;
		if (!io->first)
			io->last = NULL;
	}
	pthread_mutex_unlock(&io->lock);
	free(message);
	return json;
}

bool dap_io_is_over(struct dap_io *io)
{
	bool over;

	pthread_mutex_lock(&io->lock);
	over = io->closed && !io->first;
	pthread_mutex_unlock(&io->lock);
	return over;
}

static void send_message(struct dap_io *io, struct json_object *json)
{
	const char *text;
	size_t length;

	json_object_object_add(json, "seq", json_object_new_int(++io->sequence));
	text = json_object_to_json_string_length(json, JSON_C_TO_STRING_PLAIN, &length);
	fprintf(io->out, "Content-Length: %zu\r\n\r\n", length);
	fwrite(text, 1, length, io->out);
	fflush(io->out);
	json_object_put(json);
}

void dap_io_event(struct dap_io *io, const char *event, struct json_object *body)
{
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "type", json_object_new_string("event"));
	json_object_object_add(json, "event", json_object_new_string(event));
	if (body)
		json_object_object_add(json, "body", body);
	send_message(io, json);
}

static struct json_object *response(struct json_object *request, bool success)
{
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "type", json_object_new_string("response"));
	json_object_object_add(json, "request_seq",
			       json_object_new_int64(dap_number(request, "seq", 0)));
	json_object_object_add(json, "command",
			       json_object_new_string(dap_string(request, "command")));
	json_object_object_add(json, "success", json_object_new_boolean(success));
	return json;
}

void dap_io_respond(struct dap_io *io, struct json_object *request, struct json_object *body)
{
	struct json_object *json = response(request, true);

	if (body)
		json_object_object_add(json, "body", body);
	send_message(io, json);
}

void dap_io_refuse(struct dap_io *io, struct json_object *request, const char *why)
{
	struct json_object *json = response(request, false);

	json_object_object_add(json, "message", json_object_new_string(why));
	send_message(io, json);
}
