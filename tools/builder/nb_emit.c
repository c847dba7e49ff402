// SPDX-License-Identifier: MIT
/* Streams of instructions, tiles, and the synchronisation of an instruction. */
#include <endian.h>
#include <string.h>

#include "nb_private.h"

struct neuron_inst *nb_emit(struct nb_program *nb, enum neuron_engine e,
			    enum neuron_opcode opcode)
{
	struct neuron_inst *inst;
	struct nb_stream *stream;

	memset(&nb->scratch, 0, sizeof(nb->scratch));
	if (e >= NEURON_NR_ENGINES) {
		nb_fail(nb, "no engine %d", e);
		return &nb->scratch;
	}
	stream = &nb->stream[e];
	inst = nb_grow(nb, (void **)&stream->inst, stream->count, &stream->room,
		       sizeof(*inst));
	if (!inst)
		return &nb->scratch;
	nb_record_inst(nb, e);
	nb_add_line(nb, stream, stream->count++);
	inst->opcode = opcode;
	inst->debug = htole32(nb->source_line);
	return inst;
}

struct neuron_ap nb_tile(unsigned int partition, unsigned int partitions,
			 uint32_t offset, enum neuron_dtype dtype,
			 unsigned int n)
{
	struct neuron_ap ap = {
		.addr = htole32(NEURON_PUT(NEURON_AP_PARTITION, partition) |
				NEURON_PUT(NEURON_AP_OFFSET, offset)),
		.num = { htole16(n), htole16(1), htole16(1), htole16(1) },
		.step = { htole16(1) },
		.partitions = partitions,
		.dtype = dtype,
	};

	return ap;
}

struct neuron_ap nb_psum_tile(unsigned int partition, unsigned int partitions,
			      uint32_t offset, enum neuron_dtype dtype,
			      unsigned int n)
{
	struct neuron_ap ap = nb_tile(partition, partitions, offset, dtype, n);

	ap.addr |= htole32(NEURON_AP_PSUM);
	return ap;
}

struct neuron_ap nb_dim(struct neuron_ap ap, unsigned int dim, uint16_t num,
			int16_t step)
{
	if (dim < 4) {
		ap.num[dim] = htole16(num);
		ap.step[dim] = htole16((uint16_t)step);
	}
	return ap;
}

struct neuron_ap nb_at_reg(struct neuron_ap ap, unsigned int reg)
{
	ap.offset_reg = reg;
	return ap;
}

struct neuron_ap nb_index(struct neuron_ap ap, unsigned int partition, uint32_t offset)
{
	uint32_t addr = NEURON_PUT(NEURON_AP_PARTITION, partition) |
			NEURON_PUT(NEURON_AP_OFFSET, offset);

	ap.step[0] = htole16((uint16_t)addr);
	ap.step[1] = htole16((uint16_t)(addr >> 16));
	ap.index = NEURON_AP_INDEX;
	return ap;
}

uint32_t nb_here(const struct nb_program *nb, enum neuron_engine e)
{
	return e < NEURON_NR_ENGINES ? nb->stream[e].count : 0;
}

struct neuron_inst *nb_raw(struct nb_program *nb, enum neuron_engine e,
			   const struct neuron_inst *inst)
{
	struct neuron_inst *copy = nb_emit(nb, e, inst->opcode);

	*copy = *inst;
	if (!inst->debug)
		copy->debug = htole32(nb->source_line);
	return copy;
}

struct neuron_inst *nb_inst(struct nb_program *nb, enum neuron_engine e,
			    uint32_t index)
{
	return index < nb_here(nb, e) ? &nb->stream[e].inst[index] : NULL;
}

struct neuron_inst *nb_wait(struct neuron_inst *inst, int sem, int32_t value)
{
	inst->sync |= NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_sem = htole16(sem);
	inst->wait_value = htole32(value);
	return inst;
}

struct neuron_inst *nb_wait_take(struct neuron_inst *inst, int sem,
				 int32_t value)
{
	inst->sync |= NEURON_SYNC_TAKE;
	return nb_wait(inst, sem, value);
}

struct neuron_inst *nb_post(struct neuron_inst *inst, int sem, int32_t value)
{
	inst->sync |= NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD);
	inst->post_sem = htole16(sem);
	inst->post_value = htole32(value);
	return inst;
}
