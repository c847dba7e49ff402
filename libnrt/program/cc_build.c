// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa.h"
#include "plan/type.h"
#include "program/cc_build.h"

/* No collective needs more; it bounds the memory of one. */
#define MAX_DESCS	(1u << 22)

struct builder {
	const struct nrt_plan *plan;
	const struct nrt_plan_program *part;
	const struct cc_windows *windows;
	const struct cc_piece *of;
	struct cc_program *program;
	struct dma_writer writer;
	unsigned int piece;
	size_t step;
	bool judged;
	unsigned int nr_queues;
	struct nrt_error *error;
};

/* --- Instructions --- */

static struct neuron_inst *emit(struct builder *builder, enum neuron_opcode opcode)
{
	struct cc_program *program = builder->program;
	struct neuron_inst *inst;

	if (program->count == program->room) {
		uint32_t room = program->room ? program->room * 2 : 64;

		inst = reallocarray(program->image, room, sizeof(*inst));
		if (!inst) {
			nrt_error_memory(builder->error);
			return NULL;
		}
		program->image = inst;
		program->room = room;
	}
	inst = &program->image[program->count++];
	memset(inst, 0, sizeof(*inst));
	inst->opcode = (uint8_t)opcode;
	return inst;
}

/* The second operand of @op is @value. */
static struct neuron_inst *emit_with(struct builder *builder, enum neuron_opcode opcode,
				     enum neuron_alu op, uint32_t value)
{
	struct neuron_inst *inst = emit(builder, opcode);

	if (!inst)
		return NULL;
	inst->op0 = (uint8_t)op;
	inst->flags = op == NEURON_ALU_BYPASS ? 0 : NEURON_INST_IMM;
	inst->imm0 = htole32(value);
	return inst;
}

/* Register @to becomes register @reg @op @value. */
static NRT_STATUS alu(struct builder *builder, enum neuron_alu op, uint8_t to, uint8_t reg,
		      uint32_t value)
{
	struct neuron_inst *inst = emit_with(builder, NEURON_OP_REG_ALU, op, value);

	if (!inst)
		return builder->error->status;
	inst->reg[0] = to;
	inst->reg[1] = reg;
	return NRT_SUCCESS;
}

/* Go to the instruction that is @further behind the next one if @reg @op @value; BYPASS: always. */
static NRT_STATUS branch(struct builder *builder, enum neuron_alu op, uint8_t reg, uint32_t value,
			 int further)
{
	struct neuron_inst *inst = emit_with(builder, NEURON_OP_BRANCH, op, value);

	if (!inst)
		return builder->error->status;
	inst->reg[0] = reg;
	inst->addr = htole64(builder->program->count + (uint64_t)(int64_t)further);
	return NRT_SUCCESS;
}

/* The instruction gives work to queue @queue. */
static void name_queue(struct builder *builder, struct neuron_inst *inst, unsigned int queue)
{
	inst->reg[0] = (uint8_t)queue;
	if (queue >= builder->nr_queues)
		builder->nr_queues = queue + 1;
}

static void take(const struct builder *builder, struct neuron_inst *inst,
		 const struct nrt_plan_sync *wait)
{
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE) | NEURON_SYNC_TAKE;
	inst->wait_sem = htole16((uint16_t)(builder->windows->semaphore + wait->sem));
	inst->wait_value = htole32(wait->value);
}

/* --- Packets --- */

/* Windows of the rank itself come first. */
static unsigned int slot_of(const struct builder *builder, unsigned int rank)
{
	const struct nrt_plan_program *part = builder->part;
	unsigned int i;

	if (rank == part->rank)
		return 0;
	for (i = 0; i < part->nr_peers && part->peers[i].rank != rank; i++)
		;
	return 1 + i;
}

static uint64_t address(const struct builder *builder, const struct nrt_plan_end *end)
{
	const struct nrt_plan *plan = builder->plan;
	enum cc_shown shown = cc_shown_of(plan, end->space);
	uint64_t offset = end->offset;

	/* The smaller one is the rank's block of the larger one. */
	if ((unsigned int)shown != end->space && plan->bytes[end->space] < plan->bytes[shown])
		offset += end->rank * plan->block;
	return neuron_window_addr(cc_window(builder->windows, slot_of(builder, end->rank), shown),
				  offset);
}

static NRT_STATUS add_copy(struct builder *builder, const struct nrt_plan_step *step,
			   struct dma_ring *ring)
{
	uint64_t from = address(builder, nrt_plan_src(builder->part, step));
	uint64_t to = address(builder, nrt_plan_dst(builder->part, step));
	uint64_t done, bytes;

	for (done = 0; done < step->bytes; done += bytes) {
		bytes = step->bytes - done;
		if (bytes > NEURON_UDMA_DESC_MAX_BYTES)
			bytes = NEURON_UDMA_DESC_MAX_BYTES;
		if (dma_ring_copy(&builder->writer, ring, from + done, to + done, bytes,
				  NEURON_UDMA_META_DEFAULT))
			return builder->error->status;
	}
	return NRT_SUCCESS;
}

/* Bits are copied in the largest elements that there are. */
static enum neuron_dtype widest(uint64_t bytes)
{
	if (bytes % 8 == 0)
		return NEURON_DTYPE_UINT64;
	if (bytes % 4 == 0)
		return NEURON_DTYPE_UINT32;
	return bytes % 2 ? NEURON_DTYPE_UINT8 : NEURON_DTYPE_UINT16;
}

static enum neuron_udma_opcode opcode_of(enum nrt_plan_reduce reduce)
{
	switch (reduce) {
	case NRT_PLAN_MIN:
		return NEURON_UDMA_OP_MIN;
	case NRT_PLAN_MAX:
		return NEURON_UDMA_OP_MAX;
	default:
		return NEURON_UDMA_OP_ADD;
	}
}

static void line(struct neuron_udma_pattern *pattern, uint64_t count, unsigned int element)
{
	unsigned int i;

	memset(pattern, 0, sizeof(*pattern));
	pattern->num[0] = htole32((uint32_t)count);
	pattern->step[0] = htole64(element);
	for (i = 1; i < 4; i++)
		pattern->num[i] = htole32(1);
}

/* The block of a move, but for its patterns. */
static struct neuron_udma_op block_of(const struct builder *builder,
				      const struct nrt_plan_step *step)
{
	bool copies = step->move == NRT_PLAN_COPY;
	uint8_t dtype = copies ? (uint8_t)widest(step->bytes) : builder->plan->dtype;

	return (struct neuron_udma_op){
		.op = (uint8_t)(copies ? NEURON_UDMA_OP_COPY : opcode_of(builder->plan->reduce)),
		.nr_src = step->nr_src,
		.nr_dst = step->nr_dst,
		.src_dtype = dtype,
		.dst_dtype = dtype,
	};
}

static NRT_STATUS add_operations(struct builder *builder, const struct nrt_plan_step *step,
				 struct dma_ring *ring)
{
	uint64_t sources[NRT_PLAN_MAX_SRC], targets[NRT_PLAN_MAX_DST], done, count, most;
	struct neuron_udma_op block = block_of(builder, step);
	unsigned int element = nrt_plan_type_size(block.src_dtype), i;

	most = NEURON_UDMA_OP_MAX_ELEMENTS / (step->nr_src + step->nr_dst);
	for (done = 0; done < step->bytes; done += count * element) {
		count = (step->bytes - done) / element;
		if (count > most)
			count = most;
		line(&block.src, count, element);
		line(&block.dst, count, element);
		for (i = 0; i < step->nr_src; i++)
			sources[i] = address(builder, nrt_plan_src(builder->part, step) + i) + done;
		for (i = 0; i < step->nr_dst; i++)
			targets[i] = address(builder, nrt_plan_dst(builder->part, step) + i) + done;
		if (dma_ring_op(&builder->writer, ring, &block, sources, targets))
			return builder->error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS add_move(struct builder *builder, const struct nrt_plan_step *step,
			   struct dma_ring *ring)
{
	if (step->move == NRT_PLAN_NO_MOVE || !step->bytes || step->length)
		return NRT_SUCCESS;
	if (step->move == NRT_PLAN_COPY && step->nr_dst == 1)
		return add_copy(builder, step, ring);
	return add_operations(builder, step, ring);
}

static NRT_STATUS add_posts(struct builder *builder, const struct nrt_plan_step *step,
			    struct dma_ring *ring)
{
	const struct nrt_plan_sync *post = nrt_plan_posts(builder->part, step);
	unsigned int i;

	for (i = 0; i < step->nr_post; i++)
		if (dma_ring_post(&builder->writer, ring,
				  cc_window(builder->windows, slot_of(builder, post[i].rank),
					    CC_SHOWN_SEMAPHORES), post[i].sem, post[i].value))
			return builder->error->status;
	return NRT_SUCCESS;
}

/* --- Moves whose length is known when they run --- */

/* An illegal instruction, which the program passes by if register @reg is 0 to @most. */
static NRT_STATUS guard(struct builder *builder, uint8_t reg, unsigned int value, bool sum,
			uint64_t most)
{
	struct cc_program *program = builder->program;
	size_t room = program->guard_room ? program->guard_room * 2 : 16;
	struct cc_guard *grown;

	if (program->nr_guards == program->guard_room) {
		grown = reallocarray(program->guards, room, sizeof(*grown));
		if (!grown)
			return nrt_error_memory(builder->error);
		program->guards = grown;
		program->guard_room = room;
	}
	if (branch(builder, NEURON_ALU_IS_LT, reg, 0, 1) ||
	    branch(builder, NEURON_ALU_IS_LE, reg, (uint32_t)most, 1))
		return builder->error->status;
	program->guards[program->nr_guards++] = (struct cc_guard){
		.pc = program->count, .step = builder->step, .value = value, .sum = sum,
		.most = most,
	};
	return emit(builder, NEURON_OP_ILLEGAL) ? NRT_SUCCESS : builder->error->status;
}

/* Register @reg gets value @value of the part, at most @most; without a value it is 0. */
static NRT_STATUS load(struct builder *builder, uint8_t reg, unsigned int value, uint64_t most)
{
	const struct nrt_plan_end where = {
		.rank = (uint16_t)builder->part->rank,
		.space = value ? builder->part->values[value - 1].space : 0,
		.offset = value ? builder->part->values[value - 1].offset : 0,
	};
	struct neuron_inst *inst;

	inst = emit(builder, value ? NEURON_OP_REG_LOAD : NEURON_OP_REG_SET);
	if (!inst)
		return builder->error->status;
	inst->reg[0] = reg;
	if (!value)
		return NRT_SUCCESS;
	inst->addr = htole64(address(builder, &where));
	return guard(builder, reg, value, false, most);
}

/* What the packets of @step are made of: they begin where its ends do. */
static NRT_STATUS add_block(struct builder *builder, const struct nrt_plan_step *step,
			    uint64_t *addr)
{
	struct neuron_udma_dge block = { .op = block_of(builder, step) };
	unsigned int i;

	block.op.src_dtype = builder->plan->dtype;
	block.op.dst_dtype = builder->plan->dtype;
	line(&block.op.src, 1, builder->plan->element);
	line(&block.op.dst, 1, builder->plan->element);
	for (i = 0; i < step->nr_src; i++)
		block.src[i] = htole64(address(builder, nrt_plan_src(builder->part, step) + i));
	for (i = 0; i < step->nr_dst; i++)
		block.dst[i] = htole64(address(builder, nrt_plan_dst(builder->part, step) + i));
	return dma_constant(&builder->writer, &block, sizeof(block), addr);
}

/* Registers of a move: what is left, where it is, and the elements of a packet. */
enum { R_LEFT = 1, R_FROM, R_TO, R_PACKET };

/*
 * Register @reg gets the displacement of @end, in bytes. It must be in the space, and so must what
 * is moved: nothing is, if one of the packets would be outside. Two numbers below 2^31 have a sum
 * that is negative where it is too large.
 */
static NRT_STATUS load_displacement(struct builder *builder, const struct nrt_plan_end *end,
				    uint8_t reg)
{
	const uint32_t element = builder->plan->element;
	uint64_t bytes = builder->plan->bytes[end->space];
	struct neuron_inst *sum;

	if (end->value && (bytes > UINT32_MAX || bytes / element > INT32_MAX))
		return nrt_error_set(builder->error, NRT_INVALID,
				     "%s: a tensor of %llu bytes; displacements reach 4 GiB, and 2^31 elements",
				     nrt_plan_op_name(builder->plan->op),
				     (unsigned long long)bytes);
	if (load(builder, reg, end->value, bytes / element))
		return builder->error->status;
	if (!end->value)
		return NRT_SUCCESS;
	sum = emit(builder, NEURON_OP_REG_ALU);
	if (!sum)
		return builder->error->status;
	sum->op0 = NEURON_ALU_ADD;
	sum->reg[0] = R_PACKET;
	sum->reg[1] = reg;
	sum->reg[2] = R_LEFT;
	if (guard(builder, R_PACKET, end->value, true, bytes / element))
		return builder->error->status;
	return alu(builder, NEURON_ALU_MULTIPLY, reg, reg, element);
}

static NRT_STATUS load_all(struct builder *builder, const struct nrt_plan_step *step)
{
	uint64_t elements = step->bytes / builder->plan->element;

	/* The places of packets in a block are in registers, too. */
	if (step->bytes > UINT32_MAX || elements > INT32_MAX)
		return nrt_error_set(builder->error, NRT_INVALID,
				     "%s: a block of %llu bytes; 4 GiB and 2^31 elements are the most",
				     nrt_plan_op_name(builder->plan->op),
				     (unsigned long long)step->bytes);
	if (load(builder, R_LEFT, step->length, elements) ||
	    load_displacement(builder, nrt_plan_src(builder->part, step), R_FROM))
		return builder->error->status;
	return load_displacement(builder, nrt_plan_dst(builder->part, step), R_TO);
}

/* The numbers of step @first and of all behind it, before anything moves. */
static NRT_STATUS judge_all(struct builder *builder, size_t first)
{
	const struct nrt_plan_program *part = builder->part;

	for (builder->step = first; builder->step < part->nr_steps; builder->step++)
		if (part->steps[builder->step].length &&
		    load_all(builder, &part->steps[builder->step]))
			return builder->error->status;
	builder->judged = true;
	return NRT_SUCCESS;
}

/* Register @reg elements go from and to where the others say; 0 elements are no error. */
static NRT_STATUS generate(struct builder *builder, const struct nrt_plan_step *step,
			   uint64_t block, uint8_t reg)
{
	struct neuron_inst *inst = emit(builder, NEURON_OP_DMA_GENERATE);

	if (!inst)
		return builder->error->status;
	inst->mode = htole16(NEURON_INST_LENGTH >> 8);
	name_queue(builder, inst, step->queue);
	inst->reg[2] = R_FROM;
	inst->reg[3] = R_TO;
	inst->imm0 = htole32(reg);
	inst->addr = htole64(block);
	return NRT_SUCCESS;
}

/* Instructions of the loop below, both branches included. */
enum { LOOP_INSTS = 7 };

/* As many packets as the number in the register needs. */
static NRT_STATUS add_varied(struct builder *builder, const struct nrt_plan_step *step)
{
	const uint32_t element = builder->plan->element;
	const uint32_t most = NEURON_UDMA_OP_MAX_ELEMENTS / (step->nr_src + step->nr_dst);
	uint64_t block;

	if (load_all(builder, step) || add_block(builder, step, &block))
		return builder->error->status;
	if (step->bytes / element <= most)
		return generate(builder, step, block, R_LEFT);
	if (branch(builder, NEURON_ALU_IS_LE, R_LEFT, 0, LOOP_INSTS - 1) ||
	    alu(builder, NEURON_ALU_MIN, R_PACKET, R_LEFT, most) ||
	    generate(builder, step, block, R_PACKET) ||
	    alu(builder, NEURON_ALU_ADD, R_FROM, R_FROM, most * element) ||
	    alu(builder, NEURON_ALU_ADD, R_TO, R_TO, most * element) ||
	    alu(builder, NEURON_ALU_SUBTRACT, R_LEFT, R_LEFT, most))
		return builder->error->status;
	return branch(builder, NEURON_ALU_BYPASS, 0, 0, -LOOP_INSTS);
}

/* --- Steps --- */

/* Step @step of the piece ends here. */
static void add_place(const struct builder *builder, size_t step, unsigned int queue)
{
	struct cc_program *program = builder->program;
	const struct dma_ring *ring = &program->rings[queue];

	program->places[program->nr_places++] = (struct cc_place){
		.piece = builder->piece,
		.step = step,
		.queue = queue,
		.pc = program->count,
		.m2s = ring->used,
		.s2m = ring->s2m_used,
	};
}

/* The same of all queues of the piece. One without queues has instructions. */
static void add_places(const struct builder *builder, size_t step)
{
	unsigned int q = 0;

	do {
		add_place(builder, step, q++);
	} while (q < builder->part->nr_queues);
}

/*
 * The instruction that triggers what the ring of queue @queue has got behind @m2s and @s2m, and
 * that waits before, if there is one of both.
 */
static NRT_STATUS trigger(struct builder *builder, unsigned int queue, uint32_t m2s, uint32_t s2m,
			  const struct nrt_plan_sync *wait)
{
	const struct dma_ring *ring = &builder->program->rings[queue];
	const bool moves = ring->used != m2s;
	struct neuron_inst *inst;

	if (!wait && !moves)
		return NRT_SUCCESS;
	inst = emit(builder, moves ? NEURON_OP_DMA_TRIGGER : NEURON_OP_NOP);
	if (!inst)
		return builder->error->status;
	if (wait)
		take(builder, inst, wait);
	if (!moves)
		return NRT_SUCCESS;
	name_queue(builder, inst, queue);
	inst->imm0 = htole32(ring->used - m2s);
	inst->imm1 = htole32(ring->s2m_used - s2m);
	return NRT_SUCCESS;
}

/* The packets of the step, and what triggers them. */
static NRT_STATUS add_trigger(struct builder *builder, const struct nrt_plan_step *step,
			      const struct nrt_plan_sync *wait)
{
	struct dma_ring *ring = &builder->program->rings[step->queue];
	uint32_t m2s = ring->used, s2m = ring->s2m_used;

	if (add_move(builder, step, ring) || add_posts(builder, step, ring))
		return builder->error->status;
	return trigger(builder, step->queue, m2s, s2m, wait);
}

static NRT_STATUS add_step(struct builder *builder, size_t number)
{
	const struct nrt_plan_step *step = &builder->part->steps[number];
	const struct nrt_plan_sync *waits = nrt_plan_waits(builder->part, step);
	/* The trigger itself waits for the last one; numbers are read behind all waits. */
	unsigned int last = step->nr_wait && !step->length, i;
	struct neuron_inst *inst;

	for (i = 0; i + last < step->nr_wait; i++) {
		inst = emit(builder, NEURON_OP_NOP);
		if (!inst)
			return builder->error->status;
		take(builder, inst, &waits[i]);
	}
	if (step->length && !builder->judged && judge_all(builder, number))
		return builder->error->status;
	builder->step = number;
	if (step->length && add_varied(builder, step))
		return builder->error->status;
	if (add_trigger(builder, step, last ? &waits[i] : NULL))
		return builder->error->status;
	add_place(builder, number, step->queue);
	return NRT_SUCCESS;
}

/* Semaphore @sem of the CC-core, from which @value is taken. */
static NRT_STATUS add_wait(struct builder *builder, unsigned int sem, uint32_t value)
{
	const struct nrt_plan_sync wait = {
		.sem = (uint16_t)(sem - builder->windows->semaphore),
		.value = value,
	};
	struct neuron_inst *inst = emit(builder, NEURON_OP_NOP);

	if (!inst)
		return builder->error->status;
	take(builder, inst, &wait);
	return NRT_SUCCESS;
}

/* Queue @queue posts semaphore @sem of @window behind all that it was given. */
static NRT_STATUS add_signal(struct builder *builder, unsigned int queue, uint32_t window,
			     unsigned int sem)
{
	struct dma_ring *ring = &builder->program->rings[queue];
	uint32_t m2s = ring->used, s2m = ring->s2m_used;

	if (dma_ring_post(&builder->writer, ring, window, sem, 1))
		return builder->error->status;
	return trigger(builder, queue, m2s, s2m, NULL);
}

/* All queues of the piece have moved what they were given. */
static NRT_STATUS settle(struct builder *builder)
{
	const struct cc_windows *windows = builder->windows;
	unsigned int landed = builder->part->nr_sems, q;

	for (q = 0; q < builder->part->nr_queues; q++)
		if (add_signal(builder, q, cc_window(windows, 0, CC_SHOWN_SEMAPHORES), landed))
			return builder->error->status;
	return q ? add_wait(builder, windows->semaphore + landed, q) : NRT_SUCCESS;
}

/* --- Lists of tensors --- */

/* Where byte @at of @side is in its window; *@left: as many follow each other there. */
static uint64_t offset_of(const struct neff_side *side, uint64_t at, uint64_t *left)
{
	uint64_t offset = side->offset + at % side->size[0], rest = at / side->size[0];
	unsigned int i;

	*left = side->size[0] - at % side->size[0];
	for (i = 1; i < side->ndim; i++) {
		offset += rest % side->size[i] * (uint64_t)side->step[i];
		rest /= side->size[i];
	}
	return offset;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Of the copies of @tensor those that queue @queue does, one of as many as the piece has. *@copies:
 * the copies so far, of all tensors, so that the queues share small tensors as well.
 */
static NRT_STATUS add_tensor(struct builder *builder, const struct cc_tensor *tensor,
			     unsigned int queue, unsigned int *copies)
{
	const uint32_t spaces = cc_window(builder->windows, 0, (enum cc_shown)tensor->space);
	const uint64_t total = neff_side_bytes(tensor->side), part = total / tensor->blocks;
	struct dma_ring *ring = &builder->program->rings[queue];
	uint64_t done, bytes, left, own, offset, other;

	for (done = 0; done < total; done += bytes) {
		offset = offset_of(tensor->side, done, &left);
		bytes = least(least(left, part - done % part), NEURON_UDMA_DESC_MAX_BYTES);
		if ((*copies)++ % builder->part->nr_queues != queue)
			continue;
		own = neuron_window_addr(tensor->window, offset);
		offset = done / part * builder->plan->block + tensor->at + done % part;
		other = neuron_window_addr(spaces, offset);
		if (dma_ring_copy(&builder->writer, ring,
				  tensor->space == NRT_PLAN_INPUT ? own : other,
				  tensor->space == NRT_PLAN_INPUT ? other : own, bytes,
				  NEURON_UDMA_META_DEFAULT))
			return builder->error->status;
	}
	return NRT_SUCCESS;
}

/* All tensors of @space by one queue. */
static NRT_STATUS add_tensors(struct builder *builder, enum nrt_plan_space space,
			      unsigned int queue)
{
	struct dma_ring *ring = &builder->program->rings[queue];
	uint32_t m2s = ring->used, s2m = ring->s2m_used;
	unsigned int copies = 0, i;

	for (i = 0; i < builder->of->nr_tensors; i++)
		if (builder->of->tensors[i].space == space &&
		    add_tensor(builder, &builder->of->tensors[i], queue, &copies))
			return builder->error->status;
	return trigger(builder, queue, m2s, s2m, NULL);
}

/* Copy all tensors of @space, and wait for that. @step: its place. */
static NRT_STATUS copy_tensors(struct builder *builder, enum nrt_plan_space space, size_t step)
{
	unsigned int q;

	if (!builder->of->nr_tensors)
		return NRT_SUCCESS;
	for (q = 0; q < builder->part->nr_queues; q++) {
		if (add_tensors(builder, space, q))
			return builder->error->status;
		add_place(builder, step, q);
	}
	if (settle(builder))
		return builder->error->status;
	add_places(builder, step);
	return NRT_SUCCESS;
}

/* --- Pieces --- */

/* All has landed; then the core is told. */
static NRT_STATUS add_end(struct builder *builder)
{
	if (!builder->windows->signals)
		return NRT_SUCCESS;
	if (settle(builder) ||
	    copy_tensors(builder, NRT_PLAN_OUTPUT, builder->part->nr_steps))
		return builder->error->status;
	return add_signal(builder, 0, builder->windows->done, 0);
}

static NRT_STATUS add_piece(struct builder *builder, const struct cc_piece *piece)
{
	size_t i;

	builder->plan = piece->plan;
	builder->part = piece->part;
	builder->windows = &piece->windows;
	builder->of = piece;
	builder->judged = false;
	builder->writer.what = nrt_plan_op_name(piece->plan->op);
	if (piece->windows.signals && add_wait(builder, piece->windows.start, 1))
		return builder->error->status;
	if (copy_tensors(builder, NRT_PLAN_INPUT, CC_STEP_COLLECT))
		return builder->error->status;
	for (i = 0; i < piece->part->nr_steps; i++)
		if (add_step(builder, i))
			return builder->error->status;
	if (add_end(builder))
		return builder->error->status;
	add_places(builder, i);
	return NRT_SUCCESS;
}

/* Room for what the program has of each step and queue. */
static NRT_STATUS allocate(struct cc_program *program, const struct cc_piece *pieces,
			   unsigned int nr, struct nrt_error *error)
{
	unsigned int i, rings = 1;
	size_t places = 0;

	for (i = 0; i < nr; i++) {
		const unsigned int queues = pieces[i].part->nr_queues;

		if (queues > rings)
			rings = queues;
		/* add_places() at the end of each; and before and behind copies of tensors. */
		places += pieces[i].part->nr_steps + queues + 1;
		if (pieces[i].nr_tensors)
			places += 2 * (2 * queues + 1);
	}
	program->rings = calloc(rings, sizeof(*program->rings));
	program->places = calloc(places, sizeof(*program->places));
	if (!program->rings || !program->places)
		return nrt_error_memory(error);
	program->nr_rings = rings;
	return NRT_SUCCESS;
}

static NRT_STATUS build_all(struct builder *builder, const struct cc_piece *pieces,
			    unsigned int nr)
{
	struct cc_program *program = builder->program;
	unsigned int q;

	if (allocate(program, pieces, nr, builder->error))
		return builder->error->status;
	for (builder->piece = 0; builder->piece < nr; builder->piece++)
		if (add_piece(builder, &pieces[builder->piece]))
			return builder->error->status;
	if (!emit(builder, NEURON_OP_HALT))
		return builder->error->status;
	/* The last ones may be unused. */
	program->nr_rings = builder->nr_queues;
	for (q = 0; q < program->nr_rings; q++)
		if (dma_ring_pad(&builder->writer, &program->rings[q]))
			return builder->error->status;
	return NRT_SUCCESS;
}

NRT_STATUS cc_program_build(const struct cc_piece *pieces, unsigned int nr, uint32_t constants,
			    struct cc_program *program, struct nrt_error *error)
{
	struct builder builder = {
		.program = program,
		.error = error,
	};
	NRT_STATUS status;

	memset(program, 0, sizeof(*program));
	status = dma_writer_init(&builder.writer, constants, MAX_DESCS, "collectives", error);
	if (!status)
		status = build_all(&builder, pieces, nr);
	program->constants = builder.writer.constants;
	if (status)
		cc_program_free(program);
	return status;
}

void cc_program_free(struct cc_program *program)
{
	unsigned int q;

	for (q = 0; q < program->nr_rings; q++)
		dma_ring_free(&program->rings[q]);
	free(program->rings);
	free(program->places);
	free(program->guards);
	free(program->image);
	dma_constants_free(&program->constants);
	memset(program, 0, sizeof(*program));
}

/* --- Where a program is --- */

const struct cc_place *cc_place_of_pc(const struct cc_program *program, uint32_t pc)
{
	size_t i;

	for (i = 0; i < program->nr_places; i++)
		if (pc < program->places[i].pc)
			return &program->places[i];
	return NULL;
}

const struct cc_guard *cc_guard_of_pc(const struct cc_program *program, uint32_t pc)
{
	size_t i;

	for (i = 0; i < program->nr_guards; i++)
		if (program->guards[i].pc == pc)
			return &program->guards[i];
	return NULL;
}

const struct cc_place *cc_place_of_descriptor(const struct cc_program *program,
					      unsigned int queue, bool s2m, uint32_t index)
{
	const struct cc_place *place;
	size_t i;

	for (i = 0; i < program->nr_places; i++) {
		place = &program->places[i];
		if (place->queue == queue && index < (s2m ? place->s2m : place->m2s))
			return place;
	}
	return NULL;
}
