// SPDX-License-Identifier: MIT
/* Sources of a program: names from a NEFF, which may be hostile, lead to no other files. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "source.h"

/* A folder with sources/, where the user says that they are, and files beside it. */
struct place {
	char folder[64];
	char sources[96];
	struct source_folders folders;
};

static void put(const struct place *place, const char *name, const char *text)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", place->folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void make_folder(const struct place *place, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", place->folder, name);
	assert_int_equal(mkdir(path, 0777), 0);
}

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	strcpy(place->folder, "/tmp/source-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->sources, sizeof(place->sources), "%s/sources", place->folder);
	make_folder(place, "sources");
	make_folder(place, "sources/sub");
	make_folder(place, "sources/.git");
	make_folder(place, "sources2");
	put(place, "sources/a.s", "a");
	put(place, "sources/sub/b.s", "b");
	put(place, "sources/.key", "secret");
	put(place, "sources/.git/config", "secret");
	put(place, "secret", "secret");
	put(place, "sources2/secret2", "secret");
	assert_int_equal(source_add_folder(&place->folders, "/none"), 0);
	assert_int_equal(source_add_folder(&place->folders, place->sources), 0);
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
	source_free_folders(&place->folders);
	free(place);
	return 0;
}

/* The name leads to this text; NULL: to nothing. */
static void leads_to(const struct source_folders *folders, const char *name, const char *text)
{
	size_t size = 0;
	char *found = source_read(folders, name, &size);

	if (!text && found)
		fail_msg("\"%s\" leads to \"%s\"", name, found);
	if (text && !found)
		fail_msg("\"%s\" leads to nothing", name);
	if (text) {
		assert_string_equal(found, text);
		assert_int_equal(size, strlen(text));
	}
	free(found);
}

static void names_of_sources(void **state)
{
	const struct place *place = *state;
	char path[160];

	leads_to(&place->folders, "a.s", "a");
	leads_to(&place->folders, "sub/b.s", "b");
	leads_to(&place->folders, "sub/../a.s", "a");
	snprintf(path, sizeof(path), "%s/sub/b.s", place->sources);
	leads_to(&place->folders, path, "b");
	/* Where it was made the folder had another name. */
	leads_to(&place->folders, "/home/someone/a.s", "a");
	leads_to(&place->folders, "none.s", NULL);
	leads_to(&place->folders, "", NULL);
	leads_to(&place->folders, "sub", NULL);
}

static void names_that_lead_elsewhere(void **state)
{
	const struct place *place = *state;
	char path[160], link[160];

	leads_to(&place->folders, ".key", NULL);
	leads_to(&place->folders, "./.key", NULL);
	leads_to(&place->folders, ".git/config", NULL);
	leads_to(&place->folders, "sub/../.git/config", NULL);
	leads_to(&place->folders, "../secret", NULL);
	leads_to(&place->folders, "../sources2/secret2", NULL);
	snprintf(path, sizeof(path), "%s/secret", place->folder);
	leads_to(&place->folders, path, NULL);
	leads_to(&place->folders, "/etc/passwd", NULL);
	snprintf(link, sizeof(link), "%s/link.s", place->sources);
	assert_int_equal(symlink(path, link), 0);
	leads_to(&place->folders, "link.s", NULL);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink(".key", link), 0);
	leads_to(&place->folders, "link.s", NULL);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("sub/b.s", link), 0);
	leads_to(&place->folders, "link.s", "b");
}

/* Neither a pipe, which nobody writes to, nor a file without an end. */
static void only_files_of_a_bearable_size(void **state)
{
	const struct place *place = *state;
	char path[160];
	size_t size;

	snprintf(path, sizeof(path), "%s/pipe.s", place->sources);
	assert_int_equal(mkfifo(path, 0666), 0);
	leads_to(&place->folders, "pipe.s", NULL);
	assert_null(source_read_file(path, &size));
	assert_null(source_read_file("/dev/zero", &size));
	snprintf(path, sizeof(path), "%s/a.s", place->sources);
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	leads_to(&place->folders, "a.s", NULL);
}

static void the_current_folder(void **state)
{
	const struct place *place = *state;
	const struct source_folders none = { NULL, 0 };
	char before[4096];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(place->sources), 0);
	leads_to(&none, "a.s", "a");
	leads_to(&none, ".key", NULL);
	leads_to(&none, "../secret", NULL);
	assert_int_equal(chdir(before), 0);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_of_sources),
		TEST(names_that_lead_elsewhere),
		TEST(only_files_of_a_bearable_size),
		TEST(the_current_folder),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
