/* SPDX-License-Identifier: MIT */
/*
 * JSON as a text that grows. What has an entry for each instruction or transfer is written so:
 * objects in memory would take more than the whole program.
 */
#ifndef NB_TEXT_H
#define NB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * struct nb_text - a text under construction; begin with all zeros
 * @failed: there was no memory: what follows is left out
 */
struct nb_text {
	char *text;
	size_t size;
	size_t room;
	bool failed;
};

void nb_text_put(struct nb_text *out, const char *text, size_t size);

static inline void nb_text_add(struct nb_text *out, const char *text)
{
	nb_text_put(out, text, strlen(text));
}

/* A comma, unless an object or a list has just begun. */
void nb_text_next(struct nb_text *out);
/* The next key of an object, of two parts. */
void nb_text_key(struct nb_text *out, const char *key, const char *rest);
void nb_text_number(struct nb_text *out, int64_t value);
/* So that it is read as the same double. */
void nb_text_double(struct nb_text *out, double value);
/* A name that nb_name_ok() accepts, in quotes. */
void nb_text_name(struct nb_text *out, const char *name);
/* The text, which the caller frees; NULL: no memory. */
char *nb_text_end(struct nb_text *out);

#endif /* NB_TEXT_H */
