// SPDX-License-Identifier: MIT
/*
 * Arrays in .npy files: what NumPy writes, and what nobody should.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "npy.h"

/* A file of the test, with @length bytes. */
struct file {
	char path[32];
};

static struct file write_file(const void *data, size_t length)
{
	struct file file = { "/tmp/test-npy-XXXXXX" };
	int fd = mkstemp(file.path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, length), length);
	close(fd);
	return file;
}

/* A file of @version with @header, and @elements bytes that count up. */
static struct file make_file(uint8_t version, const char *header, size_t elements)
{
	uint8_t data[4096] = "\x93NUMPY";
	size_t length = strlen(header), at = 8, i;

	data[6] = version;
	data[at++] = (uint8_t)length;
	data[at++] = (uint8_t)(length >> 8);
	if (version > 1)
		at += 2;
	memcpy(data + at, header, length);
	at += length;
	for (i = 0; i < elements; i++)
		data[at++] = (uint8_t)i;
	return write_file(data, at);
}

/* The elements of the file, up to 256 bytes; the message, or "". */
static void read_file(const struct file *file, struct npy *npy, uint8_t *data, char why[NPY_WHY])
{
	FILE *stream;

	*why = '\0';
	stream = npy_open(file->path, npy, why);
	if (!stream) {
		assert_string_not_equal(why, "");
		return;
	}
	assert_in_range(npy_bytes(npy), 0, 256);
	if (!npy_read(stream, file->path, npy, data, why))
		assert_string_equal(why, "");
	fclose(stream);
}

static void expect_error(const struct file *file, const char *part)
{
	uint8_t data[256];
	char why[NPY_WHY];
	struct npy npy;

	read_file(file, &npy, data, why);
	if (!strstr(why, part) || strncmp(why, file->path, strlen(file->path)) ||
	    strchr(why, '\n'))
		fail_msg("\"%s\" does not say \"%s\"", why, part);
	unlink(file->path);
}

static void all_versions(void **state)
{
	static const char *const header[] = {
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          ",
		"{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}\n",
		"{ 'descr' : '=f4' , 'shape' : ( 2 , 3 , ) , 'fortran_order' : False }",
	};
	uint8_t version, data[256];
	char why[NPY_WHY], text[NPY_TEXT];
	struct file file;
	struct npy npy;
	unsigned int i;

	(void)state;
	for (version = 1; version <= 3; version++)
		for (i = 0; i < 3; i++) {
			file = make_file(version, header[i], 24);
			read_file(&file, &npy, data, why);
			assert_string_equal(why, "");
			npy_describe(&npy, text);
			assert_string_equal(text, "<f4 (2, 3)");
			assert_int_equal(data[23], 23);
			unlink(file.path);
		}
}

static void shapes(void **state)
{
	static const struct {
		const char *header;
		const char *text;
		size_t bytes;
	} cases[] = {
		{ "{'descr': '|V2', 'fortran_order': False, 'shape': ()}", "|V2 ()", 2 },
		{ "{'descr': '<V2', 'fortran_order': False, 'shape': (5,)}", "|V2 (5,)", 10 },
		{ "{'descr': '|V1', 'fortran_order': True, 'shape': (5,)}", "|V1 (5,)", 5 },
		{ "{'descr': '>i1', 'fortran_order': False, 'shape': (1, 1)}", "|i1 (1, 1)", 1 },
		{ "{'descr': '<u8', 'fortran_order': False, 'shape': (3, 0)}", "<u8 (3, 0)", 0 },
	};
	char why[NPY_WHY], text[NPY_TEXT];
	uint8_t data[256];
	struct file file;
	struct npy npy;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		file = make_file(1, cases[i].header, cases[i].bytes);
		read_file(&file, &npy, data, why);
		assert_string_equal(why, "");
		npy_describe(&npy, text);
		assert_string_equal(text, cases[i].text);
		assert_int_equal(npy_bytes(&npy), cases[i].bytes);
		unlink(file.path);
	}
}

static void hostile_headers(void **state)
{
	static const struct {
		const char *header;
		const char *why;
	} cases[] = {
		{ "", "'{' is missing" },
		{ "{", "'\"' is missing" },
		{ "{}", "descr, fortran_order or shape is missing" },
		{ "{'descr': '<f4', 'fortran_order': False}", "is missing" },
		{ "{'descr': '<f4', 'descr': '<f4'}", "\"descr\" is there twice" },
		{ "{'evil': __import__('os')}", "\"evil\" is not known" },
		{ "{'descr': '<f4' 'shape': (1,)}", "'}' is missing" },
		{ "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "records" },
		{ "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "type \"|O\"" },
		{ "{'descr': '|O8', 'fortran_order': False, 'shape': (1,)}", "type \"|O8\"" },
		{ "{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}", "type \"<U4\"" },
		{ "{'descr': '<f0', 'fortran_order': False, 'shape': (1,)}", "type \"<f0\"" },
		{ "{'descr': '<f-4', 'fortran_order': False, 'shape': (1,)}", "type \"<f-4\"" },
		{ "{'descr': '<f99999999999', 'fortran_order': False, 'shape': (1,)}", "type" },
		{ "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}", "type" },
		{ "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "big endian" },
		{ "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", "Fortran" },
		{ "{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 3)}", "neither True nor" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", "no tuple" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "must hold numbers" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "')' is missing" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,}", "must hold numbers" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
		  "larger than 2^63" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
		  "more than 2^63 bytes" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}",
		  "more than 2^63 bytes" },
		{ "{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
		  "more than 32 dimensions" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "behind '}'" },
		{ "{'descr': '<f4", "no end" },
		{ "{'descr': '<f4'", "'}' is missing" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
		  "ends behind 0 of the 8" },
	};
	struct file file;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		file = make_file(1, cases[i].header, 0);
		expect_error(&file, cases[i].why);
	}
}

static void hostile_files(void **state)
{
	static const char long_header[] = "\x93NUMPY\x02\0\xff\xff\xff\xff";
	static const char newer[] = "\x93NUMPY\x04\0\0\0\0\0";
	static const char cut[] = "\x93NUMPY\x01\0\x40\0{'descr'";
	static const char nul[] = "\x93NUMPY\x01\0\x04\0{\0 }";
	struct file file;

	(void)state;
	file = write_file("", 0);
	expect_error(&file, "no .npy file");
	file = write_file("PK\3\4 a .npz file", 16);
	expect_error(&file, "no .npy file");
	file = write_file(long_header, sizeof(long_header) - 1);
	expect_error(&file, "a header of 4294967295 bytes");
	file = write_file(newer, sizeof(newer) - 1);
	expect_error(&file, "version 4.0");
	file = write_file(cut, sizeof(cut) - 1);
	expect_error(&file, "ends in its header");
	file = write_file(nul, sizeof(nul) - 1);
	expect_error(&file, "NUL");
	file = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9);
	expect_error(&file, "more than the 8 bytes");
	expect_error(&file, "No such file");
}

/* Each file cut everywhere: an error, and no more than that. */
static void cut_everywhere(void **state)
{
	static const char whole[] = "\x93NUMPY\x01\0\x38\0"
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n1234";
	uint8_t data[256];
	char why[NPY_WHY];
	struct file file;
	struct npy npy;
	size_t length;

	(void)state;
	for (length = 0; length < sizeof(whole); length++) {
		file = write_file(whole, length);
		read_file(&file, &npy, data, why);
		assert_int_equal(!*why, length == sizeof(whole) - 1);
		unlink(file.path);
	}
}

static void written_and_read(void **state)
{
	static const struct npy arrays[] = {
		{ 'f', 4, 2, { 3, 5 } }, { 'V', 2, 1, { 7 } }, { 'V', 1, 3, { 2, 3, 4 } },
		{ 'i', 8, 0, { 0 } }, { 'u', 1, 4, { 1, 2, 3, 4 } }, { 'b', 1, 1, { 9 } },
	};
	uint8_t data[256], back[256];
	struct file file = write_file("what was there", 14);
	char why[NPY_WHY];
	struct npy npy;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	for (i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		assert_int_equal(npy_write(file.path, &arrays[i], data, why), 0);
		memset(back, 0, sizeof(back));
		read_file(&file, &npy, back, why);
		assert_string_equal(why, "");
		assert_memory_equal(&npy, &arrays[i], sizeof(npy));
		assert_memory_equal(back, data, npy_bytes(&npy));
	}
	unlink(file.path);
}

static void not_written(void **state)
{
	static const struct npy array = { 'f', 4, 1, { 4 } };
	const float data[4] = { 1 };
	char why[NPY_WHY];

	(void)state;
	assert_int_equal(npy_write("/nowhere/x.npy", &array, data, why), -1);
	assert_string_equal(why, "/nowhere/x.npy: No such file or directory");
	assert_int_equal(npy_write("/dev/full", &array, data, why), -1);
	assert_string_equal(why, "/dev/full: No space left on device");
	/* It was no file that this made. */
	assert_int_equal(access("/dev/full", F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_versions),
		cmocka_unit_test(shapes),
		cmocka_unit_test(hostile_headers),
		cmocka_unit_test(hostile_files),
		cmocka_unit_test(cut_everywhere),
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
