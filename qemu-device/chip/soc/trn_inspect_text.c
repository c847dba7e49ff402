// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Engines, types and instructions as text. No chip is needed.
 */
#include <string.h>

#include "isa/trn_isa.h"
#include "num/trn_num.h"
#include "trn/inspect.h"

_Static_assert(TRN_INSPECT_TEXT >= TRN_ISA_TEXT_MAX, "room for every instruction");

size_t trn_inspect_text(const struct neuron_inst *inst, char *text, size_t room)
{
	return trn_isa_format(text, room, inst);
}

const char *trn_inspect_engine_name(enum neuron_engine engine)
{
	return trn_isa_engine_name(engine);
}

/* The assembler knows names that the chip has no type for, such as fp32r. */
const char *trn_inspect_type_name(enum neuron_dtype dtype)
{
	return trn_dtype_size(dtype) ? trn_isa_dtype_name(dtype) : NULL;
}

bool trn_inspect_type(const char *name, enum neuron_dtype *dtype)
{
	int value = trn_isa_dtype_value(name, strlen(name));

	if (value < 0 || !trn_dtype_size((unsigned int)value))
		return false;
	*dtype = (enum neuron_dtype)value;
	return true;
}
