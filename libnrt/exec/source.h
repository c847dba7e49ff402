/* SPDX-License-Identifier: MIT */
/*
 * What a program calls its parts. Where an instruction comes from: the file and the line of its
 * source, and of a DMA queue the name. The debug file of the
 * NEFF says both; without one the instruction itself may have the number of a line.
 */
#ifndef LIBNRT_EXEC_SOURCE_H
#define LIBNRT_EXEC_SOURCE_H

#include "neuron/isa.h"
#include "object/model.h"

/* Bytes of a place as text. */
#define NRT_SOURCE_TEXT	96

/**
 * struct nrt_source - a line of a source
 * @file: its name, which stays as long as the model; NULL: not known
 * @line: in it
 */
struct nrt_source {
	const char *file;
	uint32_t line;
};

/* The instruction of @part at @pc, from the device. False: there is none. */
bool nrt_source_inst(const struct nrt_part *part, unsigned int engine, uint32_t pc,
		     struct neuron_inst *inst);

/* Where the instruction of @part at @pc comes from. False: nobody knows. */
bool nrt_source_find(const struct nrt_part *part, unsigned int engine, uint32_t pc,
		     struct nrt_source *source);

/* @before and "add.s:7", or "source line 7", and @after; nothing when nobody knows. */
void nrt_source_text(const struct nrt_part *part, unsigned int engine, uint32_t pc,
		     const char *before, const char *after, char text[NRT_SOURCE_TEXT]);

/**
 * struct nrt_descriptor - a descriptor of a job's queue
 * @dma_engine: which queue
 * @queue: see @dma_engine
 * @s2m: of the ring that says where bytes go, else of the one that says what is read
 * @index: in that ring; with NEURON_UDMA_PC_GENERATED of a packet that an instruction generated
 * @addr: what it read or wrote when it failed; 0: not known
 */
struct nrt_descriptor {
	unsigned int dma_engine;
	unsigned int queue;
	bool s2m;
	uint32_t index;
	uint64_t addr;
};

/*
 * The instruction that triggers or generates a descriptor: *@pc of *@engine. In a program with
 * branches it is the only one that can be it, or the first of several from one line. False:
 * nobody knows.
 */
bool nrt_source_trigger(const struct nrt_part *part, const struct nrt_descriptor *descriptor,
			unsigned int *engine, uint32_t *pc);

/* Bytes of several places as text. */
#define NRT_TRIGGER_TEXT	320

/* ", a.py:7" of that instruction, or ", a.py:7 or a.py:9" of those that can be it. */
void nrt_source_trigger_text(const struct nrt_part *part, const struct nrt_descriptor *descriptor,
			     char text[NRT_TRIGGER_TEXT]);

/* The name of the queue set of @part that has a queue of a DMA engine; NULL: none has it. */
const char *nrt_source_set(const struct nrt_part *part, unsigned int dma_engine,
			   unsigned int queue);

#endif /* LIBNRT_EXEC_SOURCE_H */
