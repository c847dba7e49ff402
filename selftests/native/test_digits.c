// SPDX-License-Identifier: MIT
/*
 * The host side of the digits job: data set, weights file, trainer and reference.
 * The environment names two files: DIGITS_DATA (digits.bin) and DIGITS_WEIGHTS (what
 * digits-train made of it).
 */
#include <errno.h>
#include <math.h>
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

#include "reference.h"
#include "trainer.h"

#define TINY_IMAGES	10
#define TINY_BYTES	(DIGITS_HEADER_BYTES + TINY_IMAGES * DIGITS_RECORD_BYTES)

/* Hash of the weights that every host must train. */
#define WEIGHTS_HASH	0x7acfaa23ab2e8b67ull

#define BF16_ONE	0x3f80
#define BF16_MINUS_ONE	0xbf80

static const char *environment_path(const char *name)
{
	const char *path = getenv(name);

	if (!path)
		fail_msg("set %s to the path of its file", name);
	return path;
}

static void make_tiny(uint8_t data[TINY_BYTES])
{
	static const uint8_t header[DIGITS_HEADER_BYTES] = {
		'N', 'D', 'I', 'G', 1, 0, 0, 0, TINY_IMAGES, 0, 0, 0, DIGITS_PIXELS, 0, 0, 0,
	};
	uint8_t *record = data + DIGITS_HEADER_BYTES;
	int i, p;

	memcpy(data, header, sizeof(header));
	for (i = 0; i < TINY_IMAGES; i++, record += DIGITS_RECORD_BYTES) {
		record[0] = (uint8_t)i;
		for (p = 0; p < DIGITS_PIXELS; p++)
			record[1 + p] = (uint8_t)((i + p) % (DIGITS_PIXEL_MAX + 1));
	}
}

static void expect_bad_set(const uint8_t *data, size_t length, const char *part_of_message)
{
	struct digits_error error = { "" };
	struct digits_set set;

	assert_int_equal(digits_set_parse(&set, data, length, "tiny.bin", &error), -EINVAL);
	assert_non_null(strstr(error.text, "tiny.bin: "));
	assert_non_null(strstr(error.text, part_of_message));
	assert_null(strchr(error.text, '\n'));
	assert_int_equal(set.count, 0);
	assert_null(set.labels);
	assert_null(set.pixels);
}

static void dataset_accepts_a_valid_file(void **state)
{
	uint8_t data[TINY_BYTES];
	struct digits_error error;
	struct digits_set set;

	(void)state;
	make_tiny(data);
	assert_int_equal(digits_set_parse(&set, data, sizeof(data), "tiny.bin", &error), 0);
	assert_int_equal(set.count, TINY_IMAGES);
	assert_int_equal(set.labels[9], 9);
	assert_int_equal(set.pixels[9][1], 10);
	digits_set_free(&set);
	assert_int_equal(set.count, 0);
	digits_set_free(&set);
}

static void dataset_rejects_every_truncation(void **state)
{
	uint8_t data[TINY_BYTES], *copy;
	size_t length;

	(void)state;
	make_tiny(data);
	for (length = 0; length < TINY_BYTES; length++) {
		/* An exact allocation lets the sanitizer see a read past the end. */
		copy = malloc(length + !length);
		assert_non_null(copy);
		memcpy(copy, data, length);
		expect_bad_set(copy, length,
			       length < DIGITS_HEADER_BYTES ? "too short" : "truncated");
		free(copy);
	}
}

static void dataset_rejects_garbage(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
		const char *message;
	} cases[] = {
		{ 0, 'X', "wrong magic" },
		{ 4, 2, "version 2" },
		{ 8, 0, "0 images" },
		{ 8, TINY_IMAGES - 1, "trailing bytes" },
		{ 8, TINY_IMAGES + 1, "truncated" },
		{ 11, 0xff, "must be 1 to 65536" },
		{ 12, 63, "63 pixels per image" },
		{ DIGITS_HEADER_BYTES, 10, "image 0 has label 10" },
		{ TINY_BYTES - DIGITS_RECORD_BYTES, 255, "image 9 has label 255" },
		{ TINY_BYTES - 1, 17, "image 9 pixel 63 is 17" },
	};
	uint8_t data[TINY_BYTES];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_tiny(data);
		data[cases[i].offset] = cases[i].value;
		expect_bad_set(data, sizeof(data), cases[i].message);
	}
}

static void dataset_names_a_missing_file(void **state)
{
	struct digits_error error;
	struct digits_set set;

	(void)state;
	assert_int_equal(digits_set_load(&set, "/nonexistent/digits.bin", &error), -ENOENT);
	assert_non_null(strstr(error.text, "/nonexistent/digits.bin: cannot open"));
}

static void dataset_split_is_a_partition(void **state)
{
	struct digits_error error;
	struct digits_set set;
	size_t i, held_out = 0, label_count[2][DIGITS_CLASSES] = { 0 };

	(void)state;
	assert_int_equal(digits_set_load(&set, environment_path("DIGITS_DATA"), &error), 0);
	assert_int_equal(set.count, 1797);
	for (i = 0; i < set.count; i++) {
		held_out += digits_held_out(i);
		label_count[digits_held_out(i)][set.labels[i]]++;
	}
	assert_int_equal(held_out, 359);
	assert_int_equal(digits_held_out_count(set.count), held_out);
	for (i = 0; i < DIGITS_CLASSES; i++) {
		assert_true(label_count[0][i] > 100);
		assert_true(label_count[1][i] > 20);
	}
	digits_set_free(&set);
}

static void held_out_count_matches_the_predicate(void **state)
{
	size_t count, held_out = 0;

	(void)state;
	for (count = 0; count < 100; count++) {
		assert_int_equal(digits_held_out_count(count), held_out);
		held_out += digits_held_out(count);
	}
}

static void pixels_are_exact_in_bf16(void **state)
{
	uint8_t data[TINY_BYTES];
	struct digits_error error;
	struct digits_set set;
	uint16_t x[DIGITS_PIXELS];
	int p;

	(void)state;
	make_tiny(data);
	assert_int_equal(digits_set_parse(&set, data, sizeof(data), "tiny.bin", &error), 0);
	digits_image_bf16(&set, 0, x);
	for (p = 0; p < DIGITS_PIXELS; p++)
		assert_true(bf16_to_float(x[p]) * 16.0f == (float)set.pixels[0][p]);
	digits_set_free(&set);
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void bf16_rounds_to_nearest_even(void **state)
{
	static const struct {
		uint32_t in;
		uint16_t out;
	} cases[] = {
		{ 0x00000000, 0x0000 }, { 0x80000000, 0x8000 },
		{ 0x3f800000, 0x3f80 },
		{ 0x3f807fff, 0x3f80 },		/* below the tie */
		{ 0x3f808000, 0x3f80 },		/* tie, even below */
		{ 0x3f808001, 0x3f81 },		/* above the tie */
		{ 0x3f818000, 0x3f82 },		/* tie, even above */
		{ 0xbf818000, 0xbf82 },
		{ 0x3fffffff, 0x4000 },		/* carries into the exponent */
		{ 0x7f7f7fff, 0x7f7f },		/* rounds to the largest finite value */
		{ 0x7f7f8000, 0x7f80 },		/* tie, overflows */
		{ 0xff7fffff, 0xff80 },
		{ 0x7f800000, 0x7f80 }, { 0xff800000, 0xff80 },
		{ 0x7fc00000, BF16_CANONICAL_NAN },
		{ 0x7f800001, BF16_CANONICAL_NAN },	/* payload only in the lost bits */
		{ 0xffffffff, BF16_CANONICAL_NAN },
		{ 0x00000001, 0x0000 },		/* smallest fp32 denormal */
		{ 0x00008000, 0x0000 },		/* tie between denormals */
		{ 0x00008001, 0x0001 },
		{ 0x007fffff, 0x0080 },		/* largest denormal becomes normal */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(bf16_from_float(float_of(cases[i].in)), cases[i].out);
}

static void bf16_survives_widening(void **state)
{
	uint32_t value;
	float wide;

	(void)state;
	for (value = 0; value <= 0xffff; value++) {
		wide = bf16_to_float((uint16_t)value);
		if (isnan(wide))
			assert_int_equal(bf16_from_float(wide), BF16_CANONICAL_NAN);
		else
			assert_int_equal(bf16_from_float(wide), value);
	}
}

static void make_model(struct mlp *model)
{
	int i, n;

	memset(model, 0, sizeof(*model));
	for (i = 0; i < MLP_HIDDEN; i++) {
		model->w1[i % MLP_INPUTS][i] = (uint16_t)(BF16_ONE + i);
		model->b1[i] = (float)i / 3.0f;
		for (n = 0; n < MLP_OUTPUTS; n++)
			model->w2[i][n] = (uint16_t)(BF16_MINUS_ONE + n);
	}
	model->b2[3] = -0.1f;
}

static void weights_survive_a_file(void **state)
{
	char path[] = "digits-test-XXXXXX";
	struct mlp model, loaded;
	struct digits_error error;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	make_model(&model);
	assert_int_equal(mlp_save(&model, path, &error), 0);
	assert_int_equal(mlp_load(&loaded, path, &error), 0);
	unlink(path);
	assert_memory_equal(&model, &loaded, sizeof(model));
	assert_true(mlp_hash(&model) == mlp_hash(&loaded));
}

static void weights_have_the_documented_layout(void **state)
{
	uint8_t data[MLP_FILE_BYTES];
	struct mlp model;

	(void)state;
	memset(&model, 0, sizeof(model));
	model.w1[0][1] = 0x1234;
	model.b1[0] = 1.0f;
	model.w2[0][0] = 0x5678;
	model.b2[9] = 1.0f;
	mlp_encode(&model, data);
	assert_memory_equal(data, "NMLP\1\0\0\0\100\0\0\0\200\0\0\0\12\0\0\0\0\0\0\0", 24);
	assert_memory_equal(data + 32 + 2, "\x34\x12", 2);
	assert_memory_equal(data + 16416, "\0\0\x80\x3f", 4);
	assert_memory_equal(data + 16928, "\x78\x56", 2);
	assert_memory_equal(data + 19488 + 36, "\0\0\x80\x3f", 4);
	assert_int_equal(sizeof(data), 19528);
}

static void expect_bad_weights(const uint8_t *data, size_t length, const char *part_of_message)
{
	struct digits_error error = { "" };
	struct mlp model;

	assert_int_equal(mlp_decode(&model, data, length, "w.bin", &error), -EINVAL);
	assert_non_null(strstr(error.text, part_of_message));
	assert_null(strchr(error.text, '\n'));
}

static void weights_reject_garbage(void **state)
{
	uint8_t data[MLP_FILE_BYTES];
	struct mlp model;
	size_t i;

	(void)state;
	make_model(&model);
	mlp_encode(&model, data);
	expect_bad_weights(data, 0, "wrong magic");
	expect_bad_weights(data, MLP_HEADER_BYTES - 1, "wrong magic");
	expect_bad_weights(data, MLP_FILE_BYTES - 1, "19527 bytes instead of 19528");

	/* No single flipped byte may pass. */
	for (i = 0; i < MLP_FILE_BYTES; i++) {
		data[i] ^= 0x10;
		expect_bad_weights(data, sizeof(data), "w.bin: ");
		data[i] ^= 0x10;
	}

	model.w2[MLP_HIDDEN - 1][0] = 0x7f80;
	mlp_encode(&model, data);
	expect_bad_weights(data, sizeof(data), "not a finite number");
}

static void weights_name_an_unwritable_path(void **state)
{
	struct digits_error error;
	struct mlp model;

	(void)state;
	make_model(&model);
	assert_int_equal(mlp_save(&model, "/nonexistent/w.bin", &error), -ENOENT);
	assert_non_null(strstr(error.text, "/nonexistent/w.bin"));
}

static void weights_leave_a_special_file_alone(void **state)
{
	char directory[] = "digits-test-XXXXXX";
	char path[sizeof(directory) + 8];
	struct digits_error error;
	struct stat after;
	struct mlp model;
	int ret;

	(void)state;
	make_model(&model);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);

	ret = mlp_save(&model, path, &error);
	assert_int_equal(lstat(path, &after), 0);
	unlink(path);
	rmdir(directory);
	assert_int_equal(ret, -EINVAL);
	assert_true(S_ISFIFO(after.st_mode));
	assert_non_null(strstr(error.text, "not a regular file"));
}

static void count_epoch(const struct digits_epoch *epoch, void *arg)
{
	unsigned int *calls = arg;

	assert_int_equal(epoch->epoch, ++*calls);
	assert_int_equal(epoch->count, 1438);
}

static void trainer_is_deterministic(void **state)
{
	struct mlp first, second, longer;
	struct digits_error error;
	struct digits_set set;
	unsigned int calls = 0;

	(void)state;
	assert_int_equal(digits_set_load(&set, environment_path("DIGITS_DATA"), &error), 0);
	assert_int_equal(digits_train(&set, 2, count_epoch, &calls, &first, &error), 0);
	assert_int_equal(calls, 2);
	assert_int_equal(digits_train(&set, 2, NULL, NULL, &second, &error), 0);
	assert_memory_equal(&first, &second, sizeof(first));
	assert_true(mlp_hash(&first) == mlp_hash(&second));

	assert_int_equal(digits_train(&set, 3, NULL, NULL, &longer, &error), 0);
	assert_true(mlp_hash(&first) != mlp_hash(&longer));
	digits_set_free(&set);
}

static void trainer_never_reads_a_held_out_image(void **state)
{
	struct mlp clean, scrambled;
	struct digits_error error;
	struct digits_set set;
	size_t i;

	(void)state;
	assert_int_equal(digits_set_load(&set, environment_path("DIGITS_DATA"), &error), 0);
	assert_int_equal(digits_train(&set, 1, NULL, NULL, &clean, &error), 0);

	for (i = DIGITS_HELD_OUT_PHASE; i < set.count; i += DIGITS_HELD_OUT_STRIDE) {
		set.labels[i] = (uint8_t)((set.labels[i] + 1) % DIGITS_CLASSES);
		memset(set.pixels[i], DIGITS_PIXEL_MAX, DIGITS_PIXELS);
	}
	assert_int_equal(digits_train(&set, 1, NULL, NULL, &scrambled, &error), 0);
	assert_memory_equal(&clean, &scrambled, sizeof(clean));

	set.labels[0] = (uint8_t)((set.labels[0] + 1) % DIGITS_CLASSES);
	assert_int_equal(digits_train(&set, 1, NULL, NULL, &scrambled, &error), 0);
	assert_true(mlp_hash(&clean) != mlp_hash(&scrambled));
	digits_set_free(&set);
}

static void trainer_rejects_nothing_to_do(void **state)
{
	struct digits_set empty = { 0 };
	struct digits_error error;
	struct mlp model;

	(void)state;
	assert_int_equal(digits_train(&empty, 1, NULL, NULL, &model, &error), -EINVAL);
}

static void built_weights_are_the_expected_ones(void **state)
{
	struct digits_error error;
	struct digits_set set;
	struct mlp model;
	float logits[1][MLP_OUTPUTS];
	uint16_t x[1][MLP_INPUTS];
	size_t i, correct = 0, count = 0;

	(void)state;
	assert_int_equal(digits_set_load(&set, environment_path("DIGITS_DATA"), &error), 0);
	assert_int_equal(mlp_load(&model, environment_path("DIGITS_WEIGHTS"), &error), 0);
	assert_true(mlp_hash(&model) == WEIGHTS_HASH);

	for (i = DIGITS_HELD_OUT_PHASE; i < set.count; i += DIGITS_HELD_OUT_STRIDE) {
		digits_image_bf16(&set, i, x[0]);
		digits_ref_logits(&model, (const uint16_t (*)[MLP_INPUTS])x, 1, logits);
		correct += digits_ref_correct((const float (*)[MLP_OUTPUTS])logits,
					      &set.labels[i], 1);
		count++;
	}
	digits_set_free(&set);
	assert_true(correct * 100 >= count * 96);
}

static void one_logits(const struct mlp *model, const uint16_t x[MLP_INPUTS],
		       float logits[MLP_OUTPUTS])
{
	uint16_t batch[1][MLP_INPUTS];
	float out[1][MLP_OUTPUTS];

	memcpy(batch[0], x, sizeof(batch[0]));
	digits_ref_logits(model, (const uint16_t (*)[MLP_INPUTS])batch, 1, out);
	memcpy(logits, out[0], sizeof(out[0]));
}

static void reference_computes_a_small_network(void **state)
{
	uint16_t x[MLP_INPUTS] = { 0 };
	float logits[MLP_OUTPUTS];
	struct mlp model;

	(void)state;
	memset(&model, 0, sizeof(model));
	x[0] = bf16_from_float(0.5f);
	x[63] = bf16_from_float(1.0f);
	model.w1[0][0] = bf16_from_float(4.0f);
	model.w1[63][0] = bf16_from_float(3.0f);
	model.b1[0] = 0.25f;			/* unit 0: 2 + 3 + 0.25 = 5.25 */
	model.w1[63][127] = bf16_from_float(-3.0f);
	model.b1[127] = 1.0f;			/* unit 127: -3 + 1, so 0 */
	model.w2[0][2] = bf16_from_float(2.0f);
	model.w2[127][2] = bf16_from_float(100.0f);
	model.b2[2] = -0.5f;
	model.b2[7] = 3.0f;

	one_logits(&model, x, logits);
	assert_true(logits[2] == 10.0f);
	assert_true(logits[7] == 3.0f);
	assert_int_equal(bits_of(logits[0]), 0);
}

static void reference_rounds_the_hidden_layer_to_bf16(void **state)
{
	uint16_t x[MLP_INPUTS] = { 0 };
	float logits[MLP_OUTPUTS];
	struct mlp model;

	(void)state;
	memset(&model, 0, sizeof(model));
	model.w2[0][0] = BF16_ONE;
	model.w2[1][1] = BF16_ONE;
	model.b1[0] = float_of(0x3f808000);	/* tie, to even: down */
	model.b1[1] = float_of(0x3f818000);	/* tie, to even: up */
	one_logits(&model, x, logits);
	assert_int_equal(bits_of(logits[0]), 0x3f800000);
	assert_int_equal(bits_of(logits[1]), 0x3f820000);
}

/*
 * 2^24 + 1 is not an fp32 number, so the order of the chain shows: 2^24 + 1 - 2^24 is 0
 * when added in this order and 1 in another.
 */
static void reference_adds_in_ascending_order(void **state)
{
	uint16_t x[MLP_INPUTS] = { 0 };
	float logits[MLP_OUTPUTS];
	struct mlp model;

	(void)state;
	memset(&model, 0, sizeof(model));
	x[0] = BF16_ONE;
	x[1] = BF16_ONE;
	x[2] = BF16_ONE;
	model.w1[0][0] = bf16_from_float(16777216.0f);
	model.w1[1][0] = BF16_ONE;
	model.w1[2][0] = bf16_from_float(-16777216.0f);
	model.w1[0][1] = bf16_from_float(16777216.0f);
	model.w1[1][1] = bf16_from_float(-16777216.0f);
	model.w1[2][1] = BF16_ONE;
	model.w2[0][0] = BF16_ONE;
	model.w2[1][1] = BF16_ONE;
	one_logits(&model, x, logits);
	assert_true(logits[0] == 0.0f);
	assert_true(logits[1] == 1.0f);
}

/*
 * A product of two bf16 numbers fits fp32 unless it overflows: 2^64 * 2^64 is infinite alone,
 * but -2^127 + 2^64 * 2^64 is 2^127 when fused.
 */
static void reference_fuses_multiply_and_add(void **state)
{
	uint16_t x[MLP_INPUTS] = { 0 };
	float logits[MLP_OUTPUTS];
	struct mlp model;

	(void)state;
	memset(&model, 0, sizeof(model));
	x[0] = BF16_ONE;
	x[1] = bf16_from_float(0x1p64f);
	model.w1[0][0] = bf16_from_float(-0x1p127f);
	model.w1[1][0] = bf16_from_float(0x1p64f);
	model.w2[0][0] = bf16_from_float(0x1p-127f);
	one_logits(&model, x, logits);
	assert_true(logits[0] == 1.0f);
}

static void confusion_counts_and_ties(void **state)
{
	static const uint8_t labels[3] = { 4, 4, 9 };
	float confusion[MLP_OUTPUTS][MLP_OUTPUTS] = { { 0 } };
	float logits[3][MLP_OUTPUTS] = { { 0 } };
	float total = 0;
	int i, n;

	(void)state;
	logits[0][4] = 1.0f;			/* right */
	logits[1][4] = 2.0f;			/* a tie: counts twice, not correct */
	logits[1][5] = 2.0f;
	for (n = 0; n < MLP_OUTPUTS; n++)
		logits[2][n] = -1.0f;
	logits[2][0] = -0.5f;			/* wrong */

	digits_ref_confusion((const float (*)[MLP_OUTPUTS])logits, labels, 3, confusion);
	digits_ref_confusion((const float (*)[MLP_OUTPUTS])logits, labels, 1, confusion);
	assert_true(confusion[4][4] == 3.0f);
	assert_true(confusion[4][5] == 1.0f);
	assert_true(confusion[9][0] == 1.0f);
	for (i = 0; i < MLP_OUTPUTS; i++) {
		for (n = 0; n < MLP_OUTPUTS; n++)
			total += confusion[i][n];
	}
	assert_true(total == 5.0f);
	assert_int_equal(digits_ref_correct((const float (*)[MLP_OUTPUTS])logits, labels, 3), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dataset_accepts_a_valid_file),
		cmocka_unit_test(dataset_rejects_every_truncation),
		cmocka_unit_test(dataset_rejects_garbage),
		cmocka_unit_test(dataset_names_a_missing_file),
		cmocka_unit_test(dataset_split_is_a_partition),
		cmocka_unit_test(held_out_count_matches_the_predicate),
		cmocka_unit_test(pixels_are_exact_in_bf16),
		cmocka_unit_test(bf16_rounds_to_nearest_even),
		cmocka_unit_test(bf16_survives_widening),
		cmocka_unit_test(weights_survive_a_file),
		cmocka_unit_test(weights_have_the_documented_layout),
		cmocka_unit_test(weights_reject_garbage),
		cmocka_unit_test(weights_name_an_unwritable_path),
		cmocka_unit_test(weights_leave_a_special_file_alone),
		cmocka_unit_test(trainer_is_deterministic),
		cmocka_unit_test(trainer_never_reads_a_held_out_image),
		cmocka_unit_test(trainer_rejects_nothing_to_do),
		cmocka_unit_test(built_weights_are_the_expected_ones),
		cmocka_unit_test(reference_computes_a_small_network),
		cmocka_unit_test(reference_rounds_the_hidden_layer_to_bf16),
		cmocka_unit_test(reference_adds_in_ascending_order),
		cmocka_unit_test(reference_fuses_multiply_and_add),
		cmocka_unit_test(confusion_counts_and_ties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
