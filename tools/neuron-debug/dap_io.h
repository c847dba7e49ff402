/* SPDX-License-Identifier: MIT */
/*
 * Messages of the Debug Adapter Protocol on standard input and output. A thread reads them, so
 * that an editor can ask for a pause while the program runs.
 */
#ifndef NEURON_DEBUG_DAP_IO_H
#define NEURON_DEBUG_DAP_IO_H

#include <json-c/json.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "target.h"

struct dap_message;

/**
 * struct dap_io - the connection
 * @out: to the editor; what others print goes to standard error
 * @sequence: of the last message that was sent
 * @thread: the reader
 * @lock: all that follows
 * @news: a message has come, or there will be none any more
 * @first, @last: messages that nobody has taken
 * @closed: the editor has closed its end, or what it sends is no message
 * @broken: the latter
 * @target: who is to be told of messages, or NULL
 */
struct dap_io {
	FILE *out;
	int sequence;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct dap_message *first;
	struct dap_message *last;
	bool closed;
	bool broken;
	struct target *target;
};

/* 0, or -1 with a line on standard error. */
int dap_io_open(struct dap_io *io);
/* 0, or -1: what the editor sent was no message. */
int dap_io_close(struct dap_io *io);
/* From here on a message, or the end of all, makes the target ask for the prompt. */
void dap_io_tell(struct dap_io *io, struct target *target);
/* The next message, which the caller puts; NULL: none, or with @wait there will be none. */
struct json_object *dap_io_take(struct dap_io *io, bool wait);
/* All have been taken, and there will be no more. */
bool dap_io_is_over(struct dap_io *io);

/* @body is put, and may be NULL. */
void dap_io_event(struct dap_io *io, const char *event, struct json_object *body);
void dap_io_respond(struct dap_io *io, struct json_object *request, struct json_object *body);
void dap_io_refuse(struct dap_io *io, struct json_object *request, const char *why);

/* The string, the number or the object @key of @object; else NULL, @otherwise or NULL. */
const char *dap_string(struct json_object *object, const char *key);
int64_t dap_number(struct json_object *object, const char *key, int64_t otherwise);
struct json_object *dap_get(struct json_object *object, const char *key);
bool dap_flag(struct json_object *object, const char *key);

#endif /* NEURON_DEBUG_DAP_IO_H */
