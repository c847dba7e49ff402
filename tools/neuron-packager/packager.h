/* SPDX-License-Identifier: MIT */
/*
 * A NEFF as a header and the files of its archive, whatever wrote it. Plain memory and files;
 * every failure is one line in a struct nrt_error.
 */
#ifndef NEURON_PACKAGER_H
#define NEURON_PACKAGER_H

#include <stdbool.h>
#include <stdio.h>

#include "neff/neff.h"

#define PACKAGE_MAX_MEMBERS	70000
#define PACKAGE_MAX_PATH	1000

/**
 * struct package_member - a file of the archive
 * @path: without "./", ".." and double "/"
 * @used: for who goes through a package: something names it
 */
struct package_member {
	char *path;
	uint8_t *data;
	size_t size;
	bool used;
};

/**
 * struct package - a NEFF
 * @header: as in the file
 * @gzip: the archive is compressed
 * @hash_matches: the header has the hash of the archive; of one that was read
 * @member, @nr_members: in the order of the archive
 * @by_path: the same, for tfind()
 */
struct package {
	struct neff_header header;
	bool gzip;
	bool hash_matches;
	struct package_member **member;
	size_t nr_members;
	void *by_path;
};

/**
 * package_read() - take a NEFF apart
 * @bytes, @size: the file
 * @spare: how many bytes more than that it may unpack to
 *
 * Nothing is said of what is in the files, and the hash is not checked.
 *
 * Return: 0, or -1 with @error set.
 */
int package_read(const void *bytes, size_t size, uint64_t spare, struct package *package,
		 struct nrt_error *error);
/* The same of an archive alone; @package has no header. */
int package_read_archive(const void *bytes, size_t size, uint64_t spare, struct package *package,
			 struct nrt_error *error);
/* The header at @bytes has the hash of what is behind it, which is there. */
bool package_hash_matches(const void *bytes);
void package_free(struct package *package);

/* It is for this project's chip. */
bool package_is_ours(const struct package *package);

struct package_member *package_find(const struct package *package, const char *path);
/* Add a file; @data becomes the package's. -1: the path is no good one or there already. */
int package_add(struct package *package, const char *path, uint8_t *data, size_t size,
		struct nrt_error *error);
void package_remove(struct package *package, struct package_member *member);
/* It keeps its place in the order. -1: the path is no good one or there already. */
int package_rename(struct package *package, struct package_member *member, const char *path,
		   struct nrt_error *error);

/*
 * The header that follows from the files, all but what package_write() sets. It has this project's
 * mark only if they are a program for this project's chip.
 */
void package_default_header(struct package *package, const char *name);

/*
 * The NEFF, with size, hash and uuid of its archive, to the file @path, which is replaced as a
 * whole or not at all.
 */
int package_write(struct package *package, const char *path, struct nrt_error *error);

/* The JSON of a member, to be put; NULL with @error set. */
struct json_object *package_json(const struct package_member *member, struct nrt_error *error);
/* The text becomes the member's contents. */
int package_set_text(struct package_member *member, const char *text, struct nrt_error *error);

/* folder.c */
#define FOLDER_HEADER	"neff-header.json"

/* Write all files to @folder, which is made or empty, and what create needs beside them. */
int folder_unpack(const struct package *package, const char *folder, struct nrt_error *error);
/*
 * The files of a folder that was unpacked, and then perhaps changed. @name is that of the model, if
 * there is no description that says another one.
 */
int folder_read(const char *folder, const char *name, struct package *package,
		struct nrt_error *error);

/* header.c: the header as JSON, and back. A key that is not there changes nothing. */
struct json_object *header_json(const struct neff_header *header);
int header_set(struct neff_header *header, const char *key, struct json_object *value,
	       struct nrt_error *error);
/* @room characters of @text that can stand in a line. */
void printable(char *out, size_t room, const char *text);

/* info.c */
struct info_options {
	bool weights;
	bool spills;
	bool json;
};

void info_print(const struct package *package, const struct info_options *options, FILE *out);

/* lint.c: complaints to @out, a line each; the number of errors among them. */
unsigned int lint(const char *path, const void *bytes, size_t size, uint64_t spare, FILE *out);

/* edit.c; each takes one argument of the command line. */
int edit_set(struct package *package, const char *text, struct nrt_error *error);
int edit_replace(struct package *package, const char *text, struct nrt_error *error);
int edit_rename(struct package *package, const char *text, struct nrt_error *error);
int edit_remove(struct package *package, const char *text, struct nrt_error *error);
int edit_optimize(struct package *package, bool keep_debug, struct nrt_error *error);

#endif /* NEURON_PACKAGER_H */
