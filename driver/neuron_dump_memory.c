// SPDX-License-Identifier: GPL-2.0-only
/*
 * SBUF and PSUM in core dumps, of claims that want it. The memory is there from
 * the beginning of the claim: nothing can be allocated when a job hangs.
 */
#include <linux/hex.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "neuron_dump.h"

/* The job's fence waits for it. */
#define NEURON_DUMP_MEMORY_NS	(5ll * NSEC_PER_SEC)

/* "sbuf 000 0x000000 " and "psum ...", hexadecimal digits, "\n" */
#define NEURON_DUMP_PLACE	18
#define NEURON_DUMP_LINE_TEXT	(NEURON_DUMP_PLACE + 2 * NEURON_DUMP_LINE + 1)

static const char neuron_dump_cut[] = "memory: cut here\n";

struct neuron_dump_memory *neuron_dump_memory_create(gfp_t gfp)
{
	struct neuron_dump_memory *memory;

	/* Most of it is never touched, but when it is, there it must be. */
	memory = __vmalloc(struct_size(memory, line, NEURON_DUMP_LINES),
			   gfp | __GFP_NOWARN);
	if (memory)
		memory->nr = 0;
	return memory;
}

static void neuron_dump_memory_range(struct neuron_dump_memory *memory,
				     const void __iomem *base, u32 where,
				     u32 size)
{
	u64 word[NEURON_DUMP_LINE / 8];
	struct neuron_dump_line *line;
	unsigned int i;
	u32 end;

	for (end = where + size; where < end; where += NEURON_DUMP_LINE) {
		for (i = 0; i < ARRAY_SIZE(word); i++)
			word[i] = readq(base + where + 8 * i);
		if (!memchr_inv(word, 0, sizeof(word)))
			continue;
		if (memory->nr == NEURON_DUMP_LINES) {
			memory->cut = true;
			return;
		}
		line = &memory->line[memory->nr++];
		line->where = where;
		memcpy(line->bytes, word, sizeof(word));
	}
}

void neuron_dump_memory_capture(struct neuron_dump_memory *memory,
				struct neuron_core *core)
{
	const struct neuron_gen *gen = core->ndev->gen;
	const void __iomem *base = core->ndev->bar0 +
				   neuron_tpb_bar0(gen, core->index);
	u64 end = ktime_get_ns() + NEURON_DUMP_MEMORY_NS;
	unsigned int i;
	u32 where, size;

	memory->nr = 0;
	memory->cut = false;
	for (i = 0; i < 2 * NEURON_PARTITIONS && !memory->cut; i++) {
		if (i < NEURON_PARTITIONS) {
			where = NEURON_TPB_SBUF + i * NEURON_TPB_SBUF_STRIDE;
			size = gen->sbuf_partition;
		} else {
			where = NEURON_TPB_PSUM + (i - NEURON_PARTITIONS) *
						  NEURON_TPB_PSUM_STRIDE;
			size = NEURON_PSUM_BANKS * NEURON_PSUM_BANK_BYTES;
		}
		neuron_dump_memory_range(memory, base, where, size);
		if (ktime_get_ns() > end)
			memory->cut = true;
		cond_resched();
	}
}

size_t neuron_dump_memory_size(const struct neuron_dump_memory *memory)
{
	return memory->nr * NEURON_DUMP_LINE_TEXT +
	       (memory->cut ? sizeof(neuron_dump_cut) - 1 : 0);
}

/* Exactly NEURON_DUMP_PLACE bytes and a NUL. */
static void neuron_dump_line_place(char *text, u32 where)
{
	bool psum = where >= NEURON_TPB_PSUM;
	u32 stride = psum ? NEURON_TPB_PSUM_STRIDE : NEURON_TPB_SBUF_STRIDE;
	u32 offset = psum ? where - NEURON_TPB_PSUM : where;

	snprintf(text, NEURON_DUMP_PLACE + 1, "%s %03u 0x%06x ",
		 psum ? "psum" : "sbuf", offset / stride % 1000,
		 offset % stride & 0xffffff);
}

void neuron_dump_memory_print(const struct neuron_dump_memory *memory,
			      char *text)
{
	const struct neuron_dump_line *line;
	u32 i;

	for (i = 0; i < memory->nr; i++) {
		line = &memory->line[i];
		neuron_dump_line_place(text, line->where);
		bin2hex(text + NEURON_DUMP_PLACE, line->bytes,
			NEURON_DUMP_LINE);
		text[NEURON_DUMP_LINE_TEXT - 1] = '\n';
		text += NEURON_DUMP_LINE_TEXT;
	}
	if (memory->cut)
		memcpy(text, neuron_dump_cut, sizeof(neuron_dump_cut) - 1);
}
