// SPDX-License-Identifier: MIT
/* What trn/inspect.h does without a chip: types of elements, names, instructions as text. */
#include "exec_rig.h"
#include "trn/inspect.h"

#include <math.h>
#include <string.h>

/* Also of types whose elements are several numbers, or only a scale. */
static void shows_elements_as_numbers(void **state)
{
	static const uint8_t e4fn[8] = { 0x38, 0xb8, 0x40, 0x7e, 0x00, 0x01, 0x7f, 0x08 };
	static const uint8_t e5[4] = { 0x3c, 0xc0, 0x00, 0x7b };
	static const uint8_t fp4[2] = { 0x21, 0xf7 };
	static const uint8_t scale[4] = { 127, 130, 0, 255 };
	static const uint16_t bf16[2] = { 0x3fc0, 0xc000 };
	double value[2 * TRN_INSPECT_PACK];

	(void)state;
	assert_int_equal(trn_inspect_per_element(NEURON_DTYPE_FP8_E4FN_X4), TRN_INSPECT_PACK);
	assert_true(trn_inspect_numbers(NEURON_DTYPE_FP8_E4FN_X4, e4fn, 2, value));
	assert_true(value[0] == 1 && value[1] == -1 && value[2] == 2 && value[3] == 448);
	assert_true(value[4] == 0 && value[5] == 0x1p-9 && isnan(value[6]) && value[7] == 0x1p-6);
	assert_true(trn_inspect_numbers(NEURON_DTYPE_FP8_E5_X4, e5, 1, value));
	assert_true(value[0] == 1 && value[1] == -2 && value[2] == 0 && value[3] == 57344);
	assert_true(trn_inspect_numbers(NEURON_DTYPE_FP4_E2_X4, fp4, 1, value));
	assert_true(value[0] == 0.5 && value[1] == 1 && value[2] == 6 && value[3] == -6);
	assert_int_equal(trn_inspect_per_element(NEURON_DTYPE_E8M0), 1);
	assert_true(trn_inspect_numbers(NEURON_DTYPE_E8M0, scale, 4, value));
	assert_true(value[0] == 1 && value[1] == 8 && value[2] == 0x1p-127 && isnan(value[3]));
	assert_true(trn_inspect_numbers(NEURON_DTYPE_BF16, bf16, 2, value));
	assert_true(value[0] == 1.5 && value[1] == -2);
	assert_int_equal(trn_inspect_per_element(NEURON_DTYPE_UINT64), 0);
	assert_int_equal(trn_inspect_per_element(NEURON_NR_DTYPES), 0);
	assert_false(trn_inspect_numbers(NEURON_NR_DTYPES, scale, 1, value));
}

static void writes_numbers_as_elements(void **state)
{
	static const float value[2] = { 1.0f + 0x1p-8f, -3.0f };
	static const uint16_t bf16[2] = { 0x3f80, 0xc040 };
	static const uint8_t e4[2] = { 0x38, 0xc4 };
	uint16_t element[2] = { 0x1234, 0x5678 };

	(void)state;
	assert_int_equal(trn_inspect_kind_of(NEURON_DTYPE_BF16), TRN_INSPECT_FLOAT);
	assert_true(trn_inspect_round(NEURON_DTYPE_BF16, value, 2, element));
	assert_memory_equal(element, bf16, sizeof(bf16));
	assert_true(trn_inspect_round(NEURON_DTYPE_FP8_E4, value, 2, element));
	assert_memory_equal(element, e4, sizeof(e4));
	assert_int_equal(trn_inspect_kind_of(NEURON_DTYPE_INT8), TRN_INSPECT_INTEGER);
	assert_int_equal(trn_inspect_kind_of(NEURON_DTYPE_UINT64), TRN_INSPECT_INTEGER);
	assert_int_equal(trn_inspect_kind_of(NEURON_DTYPE_FP4_E2_X4), TRN_INSPECT_SCALED);
	assert_int_equal(trn_inspect_kind_of(NEURON_DTYPE_E8M0), TRN_INSPECT_SCALED);
	assert_int_equal(trn_inspect_kind_of(NEURON_DTYPE_FP32R), TRN_INSPECT_NO_TYPE);
	assert_int_equal(trn_inspect_kind_of(NEURON_NR_DTYPES), TRN_INSPECT_NO_TYPE);
	assert_false(trn_inspect_round(NEURON_DTYPE_INT8, value, 1, element));
	assert_memory_equal(element, e4, sizeof(e4));
}

static void names_types_and_engines(void **state)
{
	enum neuron_dtype dtype = NEURON_DTYPE_INT8;
	unsigned int i;

	(void)state;
	assert_string_equal(trn_inspect_type_name(NEURON_DTYPE_FP8_E4FN), "fp8_e4fn");
	for (i = 0; i <= NEURON_NR_DTYPES; i++) {
		const char *name = trn_inspect_type_name((enum neuron_dtype)i);

		assert_int_equal(!!name, !!trn_inspect_size((enum neuron_dtype)i));
		if (!name)
			continue;
		assert_true(trn_inspect_type(name, &dtype));
		assert_int_equal(dtype, i);
	}
	assert_false(trn_inspect_type("fp32r", &dtype));
	assert_false(trn_inspect_type("fp33", &dtype));
	assert_false(trn_inspect_type("", &dtype));
	assert_string_equal(trn_inspect_engine_name(NEURON_ENGINE_GPSIMD), "gpsimd");
	assert_null(trn_inspect_engine_name(NEURON_NR_ENGINES));
}

static void writes_instructions_as_text(void **state)
{
	struct neuron_inst inst = { .opcode = NEURON_OP_HALT };
	char text[TRN_INSPECT_TEXT];

	(void)state;
	assert_int_equal(trn_inspect_text(&inst, text, sizeof(text)), 4);
	assert_string_equal(text, "halt");
	assert_int_equal(trn_inspect_text(&inst, text, 3), 4);
	assert_string_equal(text, "ha");
	memset(&inst, 0xff, sizeof(inst));
	assert_true(trn_inspect_text(&inst, text, sizeof(text)) < sizeof(text));
	assert_memory_equal(text, ".inst ", 6);
}

static void names_causes(void **state)
{
	unsigned int cause;

	(void)state;
	assert_string_equal(trn_inspect_cause_name(NEURON_CAUSE_WINDOW), "outside its window");
	for (cause = 0; cause < NEURON_NR_CAUSES; cause++)
		assert_string_not_equal(trn_inspect_cause_name((enum neuron_cause)cause),
					"unknown");
	assert_string_equal(trn_inspect_cause_name(NEURON_NR_CAUSES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_elements_as_numbers),
		cmocka_unit_test(writes_numbers_as_elements),
		cmocka_unit_test(names_types_and_engines),
		cmocka_unit_test(writes_instructions_as_text),
		cmocka_unit_test(names_causes),
	};

	return cmocka_run_group_tests_name("inspect_text", tests, NULL, NULL);
}
