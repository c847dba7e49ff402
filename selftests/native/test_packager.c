// SPDX-License-Identifier: MIT
/*
 * neuron-packager: NEFFs taken apart and put together, changed, shown and checked; archives that
 * are damaged, foreign or hostile.
 */
#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <ftw.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "as_rig.h"
#include "nrt_neff_rig.h"
#include "packager.h"

#define SPARE	(1 << 20)

static const char program[] =
	".program \"a program\"\n"
	".input x fp32 2*4\n"
	".output y fp32 8\n"
	".file c\n.words 1, 2\n"
	".queue q in sync\n"
	".engine vector\nnop\nhalt\n"
	".engine sync\n.dma q, y, x\nhalt\n"
	".core 1\n"
	".engine gpsimd\nhalt\n";

typedef int edit_fn(struct package *package, const char *text, struct nrt_error *error);

/* A folder of its own, and a NEFF. */
struct place {
	char folder[64];
	char path[96];
	uint8_t *neff;
	size_t size;
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	strcpy(place->folder, "/tmp/packager-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->path, sizeof(place->path), "%s/out", place->folder);
	place->neff = as_pack(program, &place->size);
	*state = place;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static int remove_place(void **state)
{
	struct place *place = *state;

	nftw(place->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(place->neff);
	free(place);
	return 0;
}

static struct package good_package(const void *bytes, size_t size)
{
	struct package package;
	struct nrt_error error;

	if (package_read(bytes, size, SPARE, &package, &error))
		fail_msg("%s", error.text);
	return package;
}

/* What was written to the place is these bytes. */
static void is_written(const struct place *place, const char *name, const void *bytes, size_t size)
{
	char path[160];
	size_t length;
	char *data;

	snprintf(path, sizeof(path), "%s/%s", place->folder, name);
	setenv("PACKAGER_ROOT", "/", 1);
	data = as_read_file("PACKAGER_ROOT", path, &length);
	assert_int_equal(length, size);
	assert_memory_equal(data, bytes, size);
	free(data);
}

static void the_same_bytes_come_back(void **state)
{
	struct place *place = *state;
	struct package package = good_package(place->neff, place->size), again = { 0 };
	struct nrt_error error;
	char path[160];

	assert_true(package_is_ours(&package));
	assert_true(package.hash_matches);
	assert_int_equal(folder_unpack(&package, place->path, &error), 0);
	is_written(place, "out/sg00/c", "\1\0\0\0\2\0\0\0", 8);
	package_free(&package);
	if (folder_read(place->path, "another", &again, &error))
		fail_msg("%s", error.text);
	snprintf(path, sizeof(path), "%s/again.neff", place->folder);
	if (package_write(&again, path, &error))
		fail_msg("%s", error.text);
	is_written(place, "again.neff", place->neff, place->size);
	package_free(&again);
}

static void a_folder_is_not_written_over(void **state)
{
	struct place *place = *state;
	struct package package = good_package(place->neff, place->size);
	struct nrt_error error;

	assert_int_equal(folder_unpack(&package, place->folder, &error), 0);
	assert_int_equal(folder_unpack(&package, place->folder, &error), -1);
	assert_non_null(strstr(error.text, "not empty"));
	package_free(&package);
}

static char *info(const struct package *package, struct info_options options)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	info_print(package, &options, out);
	fclose(out);
	return text;
}

static void info_shows_what_it_is(void **state)
{
	struct place *place = *state;
	struct package package = good_package(place->neff, place->size);
	char *text = info(&package, (struct info_options){ 0 });

	assert_non_null(strstr(text, "a program"));
	assert_non_null(strstr(text, "Logical core size (LNC):  2\n"));
	assert_non_null(strstr(text, "[2,4]"));
	assert_non_null(strstr(text, "Enabled Features:         N/A"));
	assert_non_null(strstr(text, "subgraph sg01"));
	assert_null(strstr(text, "\n    c  "));
	free(text);
	text = info(&package, (struct info_options){ .weights = true });
	assert_non_null(strstr(text, "\n    c  "));
	free(text);
	text = info(&package, (struct info_options){ .json = true });
	assert_non_null(strstr(text, "\"hash_matches\":true"));
	assert_non_null(strstr(text, "\"instructions\":2"));
	free(text);
	package_free(&package);
}

static unsigned int lint_text(const void *bytes, size_t size, char **text)
{
	size_t length;
	FILE *out = open_memstream(text, &length);
	unsigned int errors;

	assert_non_null(out);
	errors = lint("x.neff", bytes, size, SPARE, out);
	fclose(out);
	return errors;
}

/* Lint finds this, and counts it if it is an error. */
static void finds(const void *bytes, size_t size, const char *words)
{
	char *text;
	unsigned int errors = lint_text(bytes, size, &text);

	if (!strstr(text, words))
		fail_msg("\"%s\" is not in: %s", words, text);
	assert_true(!errors == !strstr(text, ": error: "));
	free(text);
}

static void what_is_good_has_no_complaint(void **state)
{
	struct place *place = *state;
	char *text;

	assert_int_equal(lint_text(place->neff, place->size, &text), 0);
	assert_string_equal(text, "");
	free(text);
}

/* A change of the header, which is taken back. */
static void header_rule(struct place *place, size_t at, uint8_t value, const char *words)
{
	uint8_t old = place->neff[at];

	place->neff[at] = value;
	finds(place->neff, place->size, words);
	place->neff[at] = old;
}

static void rules_of_the_header(void **state)
{
	struct place *place = *state;

	finds("abc", 3, "header: error: 3 bytes are less than a header of 1024 [truncated]");
	finds(place->neff, place->size - 1, "[truncated]");
	header_rule(place, offsetof(struct neff_header, header_size), 1, "[header-size]");
	header_rule(place, offsetof(struct neff_header, pkg_version), 9, "[package-version]");
	header_rule(place, offsetof(struct neff_header, version_major), 7, "[format-version]");
	header_rule(place, offsetof(struct neff_header, hash), 7, "[hash]");
	header_rule(place, offsetof(struct neff_header, hash) + 1, 7, "[hash]");
	header_rule(place, offsetof(struct neff_header, feature_bits), 4,
		    "bit 2 of feature_bits asks for a feature");
	header_rule(place, offsetof(struct neff_header, lnc_size), 3, "[cores]");
	header_rule(place, offsetof(struct neff_header, num_tpb), 1, "[cores]");
	header_rule(place, offsetof(struct neff_header, build_version), 'm', "[compiler]");
	header_rule(place, offsetof(struct neff_header, data_size) + 1, 1, "belong to nothing");
	header_rule(place, 2000, 0xff, "[hash]");
}

/* Lint of the package after a change by the command line. */
static void edit_rule(struct place *place, edit_fn *edit, const char *text, const char *words)
{
	struct package package = good_package(place->neff, place->size);
	struct nrt_error error;
	size_t size;
	char *data;

	if (edit(&package, text, &error) || package_write(&package, place->path, &error))
		fail_msg("%s: %s", text, error.text);
	package_free(&package);
	setenv("PACKAGER_ROOT", "/", 1);
	data = as_read_file("PACKAGER_ROOT", place->path, &size);
	finds(data, size, words);
	free(data);
}

/* Every key that the library reads is known. */
static void what_may_be_there_has_no_complaint(void **state)
{
	struct place *place = *state;
	struct package package = good_package(place->neff, place->size);
	struct nrt_error error;
	size_t size;
	char *data, *text;

	if (edit_set(&package, "sg00/def.json:/collectives=[]", &error) ||
	    package_write(&package, place->path, &error))
		fail_msg("%s", error.text);
	package_free(&package);
	setenv("PACKAGER_ROOT", "/", 1);
	data = as_read_file("PACKAGER_ROOT", place->path, &size);
	assert_int_equal(lint_text(data, size, &text), 0);
	assert_string_equal(text, "");
	free(text);
	free(data);
}

static void rules_of_the_contents(void **state)
{
	struct place *place = *state;

	edit_rule(place, edit_set, "sg00/def.json:/var/x/size=7",
		  "sg00/def.json: var \"x\": error: size is 7, but its shape has 32 bytes [size]");
	edit_rule(place, edit_set, "sg00/def.json:/var/c/size=9", "but sg00/c has 8 bytes");
	edit_rule(place, edit_set, "sg00/def.json:/var/x/colour=\"red\"", "[unknown-key]");
	edit_rule(place, edit_set, "sg00/def.json:/colour=1", "key \"colour\" [unknown-key]");
	edit_rule(place, edit_set, "sg01/def.json:/debug=none", "the archive has no sg01/none");
	edit_rule(place, edit_set, "sg00/def.json:/var/x/var_id=3", "[runtime]");
	edit_rule(place, edit_set, "sg00/def.json:/dma_queue/q/speed=1", "[unknown-key]");
	edit_rule(place, edit_set, "header:lnc_size=1", "sg01/def.json: error: it belongs to");
	edit_rule(place, edit_remove, "sg00/c", "the archive has no sg00/c [missing-file]");
	edit_rule(place, edit_remove, "sg01/def.json", "it has no sg01/def.json");
	edit_rule(place, edit_rename, "sg00/vector.bin=sg00/v.bin",
		  "engines \"vector\": error: the archive has no sg00/vector.bin");
	edit_rule(place, edit_rename, "sg00/vector.bin=sg00/v.bin",
		  "sg00/v.bin: warning: nothing names it [unused-file]");
	edit_rule(place, edit_replace, "sg00/vector.bin=/proc/self/cmdline", "[size]");
	edit_rule(place, edit_replace, "sg00/sync.json=/proc/self/cmdline", "[json]");
	edit_rule(place, edit_replace, "sg00/more=/proc/self/cmdline", "[unused-file]");
}

static void refuses(struct place *place, edit_fn *edit, const char *text, const char *words)
{
	struct package package = good_package(place->neff, place->size);
	struct nrt_error error;

	assert_int_equal(edit(&package, text, &error), -1);
	if (!strstr(error.text, words))
		fail_msg("\"%s\" is not in: %s", words, error.text);
	package_free(&package);
}

static void wrong_changes_are_refused(void **state)
{
	struct place *place = *state;

	refuses(place, edit_set, "x", "expected FILE:/KEY");
	refuses(place, edit_set, "x=1", "expected header:KEY");
	refuses(place, edit_set, "sg00/def.json:var=1", "a JSON pointer");
	refuses(place, edit_set, "none:/var=1", "there is no file none");
	refuses(place, edit_set, "sg00/c:/var=1", "sg00/c");
	refuses(place, edit_set, "sg00/def.json:/var/q/r/s=1", "nothing can be set");
	refuses(place, edit_set, "header:colour=1", "no number \"colour\"");
	refuses(place, edit_set, "header:lnc_size=99999999999", "does not fit");
	refuses(place, edit_set, "header:lnc_size=2x", "no number \"lnc_size\"");
	refuses(place, edit_set, "header:lnc_size=[2] 1", "no number \"lnc_size\"");
	refuses(place, edit_set, "header:lnc_size=-1", "does not fit");
	refuses(place, edit_set, "header:name=1", "must be a string");
	refuses(place, edit_set, "header:tpb_per_node=[1,256]", "numbers up to 255");
	refuses(place, edit_replace, "x", "PATH=FILE");
	refuses(place, edit_replace, "x=/none", "No such file");
	refuses(place, edit_replace, "../x=/proc/self/cmdline", "not a path inside");
	refuses(place, edit_rename, "sg00/c", "OLD=NEW");
	refuses(place, edit_rename, "sg00/c=sg00/def.json", "there already");
	refuses(place, edit_rename, "sg00/c=/c", "not a path inside");
	refuses(place, edit_remove, "none", "there is no file none");
}

/* Text that only begins like JSON is a string as a whole. */
static void values_are_json_or_strings(void **state)
{
	static const struct {
		const char *value;
		const char *json;
	} cases[] = {
		{ "1", "1" }, { "1 ", "1" }, { "1x", "\"1x\"" }, { "1 2", "\"1 2\"" },
		{ "[1]]", "\"[1]]\"" }, { "{\"a\":1}", "{\"a\":1}" }, { "null", "null" },
		{ "nullx", "\"nullx\"" }, { "\"a\"", "\"a\"" }, { "\"a\"b", "\"\\\"a\\\"b\"" },
		{ "[1", "\"[1\"" },
	};
	struct place *place = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct package package = good_package(place->neff, place->size);
		struct json_object *root, *value = NULL;
		struct nrt_error error;
		char text[64];

		snprintf(text, sizeof(text), "sg00/def.json:/new=%s", cases[i].value);
		assert_int_equal(edit_set(&package, text, &error), 0);
		root = package_json(package_find(&package, "sg00/def.json"), &error);
		assert_true(json_object_object_get_ex(root, "new", &value));
		assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
				    cases[i].json);
		json_object_put(root);
		package_free(&package);
	}
}

/* All are found and none is lost, whatever was removed and renamed before. */
static void many_files(void **state)
{
	const unsigned int count = PACKAGE_MAX_MEMBERS;
	struct package package = { 0 };
	struct package_member *member;
	struct nrt_error error;
	char path[32], text[64];
	unsigned int i;

	(void)state;
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "./f%u", i);
		assert_int_equal(package_add(&package, path, NULL, i, &error), 0);
		assert_int_equal(package_add(&package, path, NULL, i, &error), -1);
	}
	assert_int_equal(package_add(&package, "one more", NULL, 0, &error), -1);
	assert_non_null(strstr(error.text, "more than"));
	for (i = 0; i < count; i += 7000) {
		snprintf(text, sizeof(text), "f%u=f%u", i, i + 1);
		assert_int_equal(edit_rename(&package, text, &error), -1);
		snprintf(text, sizeof(text), "f%u=g%u", i, i);
		assert_int_equal(edit_rename(&package, text, &error), 0);
		snprintf(path, sizeof(path), "f%u", i + 1);
		assert_int_equal(edit_remove(&package, path, &error), 0);
		assert_null(package_find(&package, path));
	}
	assert_int_equal(package.nr_members, count - count / 7000);
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%c%u", i % 7000 ? 'f' : 'g', i);
		member = package_find(&package, path);
		if (i % 7000 == 1)
			assert_null(member);
		else
			assert_int_equal(member->size, i);
	}
	assert_string_equal(package.member[0]->path, "g0");
	assert_string_equal(package.member[1]->path, "f2");
	package_free(&package);
}

static void optimize_keeps_the_program(void **state)
{
	struct place *place = *state;
	struct package package = good_package(place->neff, place->size);
	const struct neff_limits limits = { .unpacked_bytes = SPARE, .validate_hash = true };
	struct nrt_error error;
	struct neff *neff;
	size_t size;
	char *data;

	assert_non_null(package_find(&package, "sg00/debug.json"));
	assert_int_equal(edit_optimize(&package, false, &error), 0);
	assert_null(package_find(&package, "sg00/debug.json"));
	assert_int_equal(package_write(&package, place->path, &error), 0);
	package_free(&package);
	setenv("PACKAGER_ROOT", "/", 1);
	data = as_read_file("PACKAGER_ROOT", place->path, &size);
	assert_true(size < place->size);
	if (neff_read(data, size, &limits, &neff, &error))
		fail_msg("%s", error.text);
	assert_int_equal(neff->graphs[0].image_count[NEURON_ENGINE_VECTOR], 2);
	assert_int_equal(neff->graphs[0].nr_descs, 1);
	neff_free(neff);
	free(data);
	place->neff[offsetof(struct neff_header, build_version)] = 'm';
	package = good_package(place->neff, place->size);
	assert_int_equal(edit_optimize(&package, false, &error), -1);
	assert_non_null(strstr(error.text, "real hardware"));
	package_free(&package);
}

/* An archive with one entry of any kind behind a good header. */
static uint8_t *one_entry(const char *path, unsigned int type, const char *link, size_t *size)
{
	const struct rig_file none[] = { { NULL, NULL, 0 } };
	struct neff_header *header = (void *)rig_pack(none, 0, size);
	struct archive_entry *entry = archive_entry_new();
	struct archive *tar = archive_write_new();
	size_t used = 0;

	header = realloc(header, sizeof(*header) + 65536);
	assert_non_null(header);
	archive_write_set_format_pax_restricted(tar);
	archive_write_set_bytes_in_last_block(tar, 1);
	assert_int_equal(archive_write_open_memory(tar, header + 1, 65536, &used), ARCHIVE_OK);
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, 0);
	if (link && type == AE_IFLNK)
		archive_entry_set_symlink(entry, link);
	else if (link)
		archive_entry_set_hardlink(entry, link);
	assert_int_equal(archive_write_header(tar, entry), ARCHIVE_OK);
	assert_int_equal(archive_write_close(tar), ARCHIVE_OK);
	archive_entry_free(entry);
	archive_write_free(tar);
	header->data_size = htole64(used);
	*size = sizeof(*header) + used;
	return (uint8_t *)header;
}

static void no_package(uint8_t *bytes, size_t size, const char *words)
{
	struct package package;
	struct nrt_error error;

	assert_int_equal(package_read(bytes, size, SPARE, &package, &error), -1);
	if (!strstr(error.text, words))
		fail_msg("\"%s\" is not in: %s", words, error.text);
	assert_null(strchr(error.text, '\n'));
	free(bytes);
}

static void hostile_archives_are_refused(void **state)
{
	static const char *const paths[] = {
		"../x", "/x", "a/../../x", "a//b", "a/./b", "a\nb", "a\\b", "..",
	};
	const struct rig_file twice[] = {
		{ "sg00/a", "1", 1 }, { "b", "1", 1 }, { "./sg00/a", "2", 1 }, { NULL, NULL, 0 },
	};
	size_t i, size, large = 4 << 20;
	uint8_t *bytes;

	(void)state;
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		bytes = one_entry(paths[i], AE_IFREG, NULL, &size);
		no_package(bytes, size, "is not a path inside of the archive");
	}
	bytes = one_entry("a", AE_IFLNK, "/etc/passwd", &size);
	no_package(bytes, size, "\"a\" is not a regular file");
	bytes = one_entry("a", AE_IFREG, "/etc/passwd", &size);
	no_package(bytes, size, "\"a\" is not a regular file");
	bytes = one_entry("a", AE_IFIFO, NULL, &size);
	no_package(bytes, size, "\"a\" is not a regular file");
	bytes = rig_pack(twice, 0, &size);
	no_package(bytes, size, "sg00/a is there already");
	{
		uint8_t *zeros = calloc(1, large);
		const struct rig_file bomb[] = { { "a", zeros, large }, { NULL, NULL, 0 } };

		assert_non_null(zeros);
		bytes = rig_pack(bomb, 1, &size);
		free(zeros);
		no_package(bytes, size, "unpacks to more than the limit");
	}
}

static void truncated_files_are_refused(void **state)
{
	struct place *place = *state;
	struct package package;
	struct nrt_error error;
	size_t size;

	for (size = 0; size < place->size; size += size < 1100 ? 1 : 97) {
		/* Exactly as long, so that a read beyond the end is seen. */
		uint8_t *copy = malloc(size + 1);

		assert_non_null(copy);
		memcpy(copy + 1, place->neff, size);
		assert_int_equal(package_read(copy + 1, size, SPARE, &package, &error), -1);
		assert_non_null(strstr(error.text, "truncated"));
		free(copy);
	}
}

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Whatever the bytes: something is shown or refused, and nothing is for the sanitizers. */
static void damaged_files_are_survived(void **state)
{
	struct place *place = *state;
	uint32_t seed = 1;
	unsigned int round;

	for (round = 0; round < 1000; round++) {
		size_t at = random_next(&seed) % place->size;
		uint8_t old = place->neff[at];
		struct package package;
		struct nrt_error error;
		char *text;

		place->neff[at] = (uint8_t)random_next(&seed);
		lint_text(place->neff, place->size, &text);
		free(text);
		if (!package_read(place->neff, place->size, SPARE, &package, &error)) {
			free(info(&package, (struct info_options){ .json = round % 2 }));
			package_free(&package);
		}
		place->neff[at] = old;
	}
}

static void foreign_files_are_shown(void **state)
{
	static const char def[] = "{\"var\":{\"in\\u001b\":{\"type\":\"input\",\"size\":4}}}";
	const struct rig_file files[] = {
		{ "info.json", "{}", 2 },
		{ "sg00/def.json", def, strlen(def) },
		{ "sg00/Activation.json", "[]", 2 },
		{ "sg01/def.json", "\x1b[", 2 },
		{ NULL, NULL, 0 },
	};
	struct place *place = *state;
	struct neff_header *header;
	struct package package;
	struct nrt_error error;
	size_t size;
	char *text;

	header = (void *)rig_pack(files, 1, &size);
	strcpy((char *)header->build_version, "2.21");
	header->feature_bits = htole64(1ull << 63);
	package = good_package(header, size);
	text = info(&package, (struct info_options){ 0 });
	assert_non_null(strstr(text, "real hardware"));
	assert_non_null(strstr(text, "bit 63 (its name is not public)"));
	assert_non_null(strstr(text, "Activation"));
	assert_non_null(strstr(text, "not JSON"));
	assert_null(strchr(text, '\x1b'));
	free(text);
	if (folder_unpack(&package, place->path, &error))
		fail_msg("%s", error.text);
	is_written(place, "out/sg00/Activation.json", "[]", 2);
	finds(header, size, "made for real hardware by compiler \"2.21\"");
	finds(header, size, "[feature]");
	package_free(&package);
	free(header);
}

/* The program itself; PACKAGER is its path. */
static int run(const struct place *place, const char *arguments)
{
	char command[512];
	int status;

	assert_non_null(getenv("PACKAGER"));
	snprintf(command, sizeof(command), "cd %s && \"$PACKAGER\" %s >text 2>error",
		 place->folder, arguments);
	status = system(command);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The NEFF without its header. */
static void put_archive(const struct place *place, const char *name)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", place->folder, name);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(place->neff + 1024, 1, place->size - 1024, file),
			 place->size - 1024);
	assert_int_equal(fclose(file), 0);
}

static void the_command_line(void **state)
{
	struct place *place = *state;
	struct package package = good_package(place->neff, place->size);
	char path[128];
	struct nrt_error error;

	snprintf(path, sizeof(path), "%s/p.neff", place->folder);
	assert_int_equal(package_write(&package, path, &error), 0);
	is_written(place, "p.neff", place->neff, place->size);
	package_free(&package);
	assert_int_equal(run(place, "info p.neff"), 0);
	assert_int_equal(run(place, "lint p.neff"), 0);
	assert_int_equal(run(place, "unpack p.neff"), 0);
	assert_int_equal(run(place, "unpack p.neff"), 1);
	assert_int_equal(run(place, "create -o again.neff p/"), 0);
	is_written(place, "again.neff", place->neff, place->size);
	assert_int_equal(run(place, "print p.neff sg00/c"), 0);
	is_written(place, "text", "\1\0\0\0\2\0\0\0", 8);
	assert_int_equal(run(place, "print p.neff none"), 1);
	assert_int_equal(run(place, "edit --set header:name=b -o e.neff p.neff"), 0);
	assert_int_equal(run(place, "edit --set header:name='\"a program\"' e.neff"), 0);
	is_written(place, "e.neff", place->neff, place->size);
	assert_int_equal(run(place, "edit --remove sg00/c p.neff"), 0);
	assert_int_equal(run(place, "lint p.neff"), 1);
	assert_int_equal(run(place, "optimize again.neff"), 0);
	assert_int_equal(run(place, "lint again.neff"), 0);
	assert_int_equal(run(place, "info none.neff"), 1);
	assert_int_equal(run(place, "info"), 2);
	assert_int_equal(run(place, "swim p.neff"), 2);
	assert_int_equal(run(place, "info --set a=b p.neff"), 2);
	assert_int_equal(run(place, "create -e custom-ops p"), 2);
	assert_int_equal(run(place, "edit p.neff"), 2);
	/* A tarball, and a folder that no NEFF was unpacked to. */
	put_archive(place, "c.tar");
	assert_int_equal(run(place, "create -t 2 -n 'a program' -o d.neff c.tar"), 0);
	is_written(place, "d.neff", place->neff, place->size);
	snprintf(path, sizeof(path), "%s/p/neff-header.json", place->folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(run(place, "create -i p"), 0);
	assert_int_equal(run(place, "lint p.neff"), 0);
	/* Only what is the suffix of a NEFF or an archive is cut off. */
	assert_int_equal(run(place, "edit -o q.1.neff --set header:name=q p.neff"), 0);
	assert_int_equal(run(place, "unpack q.1.neff && cd q.1 && cd .. && rm q.1.neff"), 0);
	assert_int_equal(run(place, "create q.1/ && mv q.1.neff e.neff"), 0);
}

/* What is for real hardware keeps its header, and does not get the mark of this project. */
static void foreign_folders_stay_foreign(void **state)
{
	static const char def[] = "{\"var\":{}}";
	const struct rig_file files[] = {
		{ "info.json", "{}", 2 }, { "sg00/def.json", def, strlen(def) }, { NULL, NULL, 0 },
	};
	struct place *place = *state;
	struct package package, again = { 0 };
	struct neff_header *header;
	struct nrt_error error;
	char path[128];
	size_t size;

	header = (void *)rig_pack(files, 0, &size);
	strcpy((char *)header->build_version, "2.21");
	header->lnc_size = 0;
	package = good_package(header, size);
	assert_int_equal(folder_unpack(&package, place->path, &error), 0);
	assert_int_equal(folder_read(place->path, "out", &again, &error), 0);
	assert_int_equal(again.header.lnc_size, 0);
	assert_string_equal((char *)again.header.build_version, "2.21");
	package_free(&again);
	snprintf(path, sizeof(path), "%s/" FOLDER_HEADER, place->path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(folder_read(place->path, "out", &again, &error), 0);
	assert_false(package_is_ours(&again));
	package_free(&again);
	package_free(&package);
	free(header);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_same_bytes_come_back),
		TEST(a_folder_is_not_written_over),
		TEST(info_shows_what_it_is),
		TEST(what_is_good_has_no_complaint),
		TEST(rules_of_the_header),
		TEST(what_may_be_there_has_no_complaint),
		TEST(rules_of_the_contents),
		TEST(wrong_changes_are_refused),
		TEST(values_are_json_or_strings),
		TEST(many_files),
		TEST(optimize_keeps_the_program),
		TEST(hostile_archives_are_refused),
		TEST(truncated_files_are_refused),
		TEST(damaged_files_are_survived),
		TEST(foreign_files_are_shown),
		TEST(foreign_folders_stay_foreign),
		TEST(the_command_line),
	};

	return cmocka_run_group_tests_name("packager", tests, NULL, NULL);
}
