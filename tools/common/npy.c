// SPDX-License-Identifier: MIT
/*
 * A .npy file is a magic, a version, the length of a header, the header, and the elements. The
 * header is a dictionary as Python writes it, with the keys descr, fortran_order and shape.
 */
#include "npy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC		"\x93NUMPY"
#define MAGIC_BYTES	6
/* The elements begin at a multiple of this. */
#define ALIGNMENT	64
/* Longest header that is read; that of 32 dimensions has less than 1 KiB. */
#define MAX_HEADER	65536
#define MAX_WORD	32
/* Bytes of the largest element, a complex number. */
#define MAX_ELEMENT	32

__attribute__((format(printf, 3, 4)))
static int fail(char why[NPY_WHY], const char *path, const char *format, ...)
{
	va_list args;
	int n = snprintf(why, NPY_WHY, "%.300s: ", path);

	va_start(args, format);
	vsnprintf(why + n, NPY_WHY - (size_t)n, format, args);
	va_end(args);
	return -1;
}

uint64_t npy_bytes(const struct npy *npy)
{
	uint64_t bytes = npy->size;
	unsigned int i;

	for (i = 0; i < npy->ndim; i++)
		bytes *= npy->shape[i];
	return bytes;
}

/* "(3, 4)", "(3,)", "()". */
static void describe_shape(const struct npy *npy, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "(");
	unsigned int i;

	for (i = 0; i < npy->ndim && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%llu%s", i ? ", " : "",
				      (unsigned long long)npy->shape[i],
				      npy->ndim == 1 ? "," : "");
	if (n < size)
		snprintf(text + n, size - n, ")");
}

/* Types of a byte, and those that NumPy does not know, have no byte order. */
static char order_of(const struct npy *npy)
{
	return npy->size == 1 || npy->kind == 'V' ? '|' : '<';
}

void npy_describe(const struct npy *npy, char text[NPY_TEXT])
{
	int n = snprintf(text, NPY_TEXT, "%c%c%u ", order_of(npy), npy->kind, npy->size);

	describe_shape(npy, text + n, NPY_TEXT - (size_t)n);
}

/* --- The header's dictionary --- */

/**
 * struct text - what is left of a header
 * @at: its next byte; a NUL is behind the last one
 * @path: of the file, for messages
 */
struct text {
	const char *at;
	const char *path;
	char *why;
};

static void skip_space(struct text *text)
{
	text->at += strspn(text->at, " \t\r\n\f\v");
}

/* Take @mark, if it comes next. */
static bool take(struct text *text, char mark)
{
	skip_space(text);
	if (*text->at != mark)
		return false;
	text->at++;
	return true;
}

static int expect(struct text *text, char mark)
{
	if (take(text, mark))
		return 0;
	return fail(text->why, text->path, "bad header: '%c' is missing", mark);
}

/* A string without escapes. */
static int take_string(struct text *text, char word[MAX_WORD])
{
	char quote = take(text, '\'') ? '\'' : '"';
	size_t length;

	if (quote == '"' && expect(text, '"'))
		return -1;
	length = strcspn(text->at, "'\"\\\n");
	if (text->at[length] != quote || length >= MAX_WORD)
		return fail(text->why, text->path,
			    "bad header: a string has no end or is too long");
	memcpy(word, text->at, length);
	word[length] = '\0';
	text->at += length + 1;
	return 0;
}

/* Byte order, kind, size: "<f4". */
static bool parse_type(const char *word, struct npy *npy)
{
	unsigned int size = 0, i;

	if (strlen(word) < 3 || !strchr("<>|=", word[0]) || !strchr("biufcV", word[1]))
		return false;
	for (i = 2; word[i] >= '0' && word[i] <= '9' && size <= MAX_ELEMENT; i++)
		size = size * 10 + (unsigned int)(word[i] - '0');
	npy->kind = word[1];
	npy->size = size;
	return !word[i] && size && size <= MAX_ELEMENT;
}

static int take_descr(struct text *text, struct npy *npy)
{
	char word[MAX_WORD];

	skip_space(text);
	if (*text->at == '[')
		return fail(text->why, text->path,
			    "its elements are records; an array of numbers is needed");
	if (take_string(text, word))
		return -1;
	if (!parse_type(word, npy))
		return fail(text->why, text->path, "its elements have the type \"%s\"; use numbers",
			    word);
	if (*word == '>' && npy->size > 1)
		return fail(text->why, text->path,
			    "its elements are big endian (%s); save it as little endian", word);
	return 0;
}

static int take_bool(struct text *text, bool *value)
{
	skip_space(text);
	*value = !strncmp(text->at, "True", 4);
	if (!*value && strncmp(text->at, "False", 5))
		return fail(text->why, text->path,
			    "bad header: fortran_order is neither True nor False");
	text->at += *value ? 4 : 5;
	return 0;
}

static int take_number(struct text *text, uint64_t *number)
{
	char *end;

	skip_space(text);
	if (*text->at < '0' || *text->at > '9')
		return fail(text->why, text->path, "bad header: shape must hold numbers");
	errno = 0;
	*number = strtoull(text->at, &end, 10);
	if (errno || *number > INT64_MAX)
		return fail(text->why, text->path, "a dimension is larger than 2^63");
	text->at = end;
	return 0;
}

static int take_shape(struct text *text, struct npy *npy)
{
	bool comma = true;

	if (expect(text, '('))
		return -1;
	while (!take(text, ')')) {
		if (!comma)
			return fail(text->why, text->path, "bad header: ')' is missing");
		if (npy->ndim == NPY_MAX_DIMS)
			return fail(text->why, text->path, "more than %d dimensions",
				    NPY_MAX_DIMS);
		if (take_number(text, &npy->shape[npy->ndim]))
			return -1;
		npy->ndim++;
		comma = take(text, ',');
	}
	/* In Python "(3)" is a number. */
	if (npy->ndim == 1 && !comma)
		return fail(text->why, text->path, "bad header: shape is no tuple");
	return 0;
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4 };

static int take_entry(struct text *text, struct npy *npy, bool *fortran, unsigned int *seen)
{
	char key[MAX_WORD];
	unsigned int which;

	if (take_string(text, key) || expect(text, ':'))
		return -1;
	which = !strcmp(key, "descr") ? HAS_DESCR : !strcmp(key, "fortran_order") ? HAS_ORDER :
		!strcmp(key, "shape") ? HAS_SHAPE : 0;
	if (!which || *seen & which)
		return fail(text->why, text->path, "bad header: key \"%s\" is %s", key,
			    which ? "there twice" : "not known");
	*seen |= which;
	if (which == HAS_DESCR)
		return take_descr(text, npy);
	return which == HAS_ORDER ? take_bool(text, fortran) : take_shape(text, npy);
}

static int check_size(const struct npy *npy, const char *path, char *why)
{
	uint64_t bytes = npy->size;
	unsigned int i;

	/* Not even an array without elements may have dimensions that make no sense. */
	for (i = 0; i < npy->ndim; i++)
		if (npy->shape[i] && __builtin_mul_overflow(bytes, npy->shape[i], &bytes))
			return fail(why, path, "its shape has more than 2^63 bytes");
	if (bytes > INT64_MAX)
		return fail(why, path, "its shape has more than 2^63 bytes");
	return 0;
}

static int parse(struct text *text, struct npy *npy)
{
	bool fortran = false, comma = true;
	unsigned int seen = 0;

	if (expect(text, '{'))
		return -1;
	while (!take(text, '}')) {
		if (!comma)
			return fail(text->why, text->path, "bad header: '}' is missing");
		if (take_entry(text, npy, &fortran, &seen))
			return -1;
		comma = take(text, ',');
	}
	skip_space(text);
	if (*text->at)
		return fail(text->why, text->path, "bad header: something is behind '}'");
	if (seen != (HAS_DESCR | HAS_ORDER | HAS_SHAPE))
		return fail(text->why, text->path,
			    "bad header: descr, fortran_order or shape is missing");
	/* A single dimension has one order only. */
	if (fortran && npy->ndim > 1)
		return fail(text->why, text->path,
			    "its elements are in Fortran order; save a C-contiguous array");
	return check_size(npy, text->path, text->why);
}

/* --- Files --- */

/* The length of the header: 2 bytes in version 1, 4 in versions 2 and 3. */
static int read_length(FILE *file, const char *path, uint32_t *length, char *why)
{
	uint8_t start[MAGIC_BYTES + 2], bytes[4] = { 0 };
	size_t size;

	if (fread(start, 1, sizeof(start), file) != sizeof(start) ||
	    memcmp(start, MAGIC, MAGIC_BYTES))
		return fail(why, path, "no .npy file");
	if (!start[MAGIC_BYTES] || start[MAGIC_BYTES] > 3 || start[MAGIC_BYTES + 1])
		return fail(why, path, "version %u.%u of .npy; known are 1.0, 2.0 and 3.0",
			    start[MAGIC_BYTES], start[MAGIC_BYTES + 1]);
	size = start[MAGIC_BYTES] == 1 ? 2 : 4;
	if (fread(bytes, 1, size, file) != size)
		return fail(why, path, "ends in its header");
	*length = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
		  (uint32_t)bytes[3] << 24;
	if (*length > MAX_HEADER)
		return fail(why, path, "a header of %u bytes; at most %d are read", *length,
			    MAX_HEADER);
	return 0;
}

static int read_header(FILE *file, const char *path, struct npy *npy, char *why)
{
	struct text text = { .path = path, .why = why };
	uint32_t length = 0;
	char *header;
	int ret;

	if (read_length(file, path, &length, why))
		return -1;
	header = malloc(length + 1);
	if (!header)
		return fail(why, path, "no memory");
	if (fread(header, 1, length, file) == length) {
		header[length] = '\0';
		text.at = header;
		ret = strlen(header) == length ? parse(&text, npy) :
						 fail(why, path, "bad header: it has a NUL");
	} else {
		ret = fail(why, path, "ends in its header");
	}
	free(header);
	return ret;
}

FILE *npy_open(const char *path, struct npy *npy, char why[NPY_WHY])
{
	FILE *file = fopen(path, "rbe");

	if (!file) {
		fail(why, path, "%s", strerror(errno));
		return NULL;
	}
	*npy = (struct npy){ .kind = 0 };
	if (!read_header(file, path, npy, why))
		return file;
	fclose(file);
	return NULL;
}

int npy_read(FILE *file, const char *path, const struct npy *npy, void *data, char why[NPY_WHY])
{
	uint64_t bytes = npy_bytes(npy);
	size_t got = fread(data, 1, bytes, file);

	if (ferror(file))
		return fail(why, path, "%s", strerror(errno));
	if (got < bytes)
		return fail(why, path, "ends behind %zu of the %llu bytes of its elements", got,
			    (unsigned long long)bytes);
	if (getc(file) != EOF)
		return fail(why, path, "has more than the %llu bytes of its elements",
			    (unsigned long long)bytes);
	return 0;
}

static bool write_header(FILE *file, const struct npy *npy)
{
	char shape[NPY_TEXT * 3], text[NPY_TEXT * 4];
	size_t length, fixed = MAGIC_BYTES + 4;
	uint8_t version[4] = { 1, 0 };

	describe_shape(npy, shape, sizeof(shape));
	length = (size_t)snprintf(text, sizeof(text),
				  "{'descr': '%c%c%u', 'fortran_order': False, 'shape': %s, }",
				  order_of(npy), npy->kind, npy->size, shape);
	/* Blanks and a newline, up to the next multiple. */
	while ((fixed + length + 1) % ALIGNMENT)
		text[length++] = ' ';
	text[length++] = '\n';
	version[2] = (uint8_t)length;
	version[3] = (uint8_t)(length >> 8);
	return fwrite(MAGIC, 1, MAGIC_BYTES, file) == MAGIC_BYTES &&
	       fwrite(version, 1, sizeof(version), file) == sizeof(version) &&
	       fwrite(text, 1, length, file) == length;
}

int npy_write(const char *path, const struct npy *npy, const void *data, char why[NPY_WHY])
{
	uint64_t bytes = npy_bytes(npy);
	FILE *file = fopen(path, "wbe");
	struct stat stat;
	bool good;

	if (!file)
		return fail(why, path, "%s", strerror(errno));
	good = write_header(file, npy) && fwrite(data, 1, bytes, file) == bytes;
	good = !fflush(file) && good;
	if (!good)
		fail(why, path, "%s", strerror(errno));
	/* Half an array is none. What is no file, such as a pipe, stays. */
	if (!good && !fstat(fileno(file), &stat) && S_ISREG(stat.st_mode))
		remove(path);
	fclose(file);
	return good ? 0 : -1;
}
