// SPDX-License-Identifier: MIT
#include "check_rig.h"

#include <stdio.h>
#include <string.h>

/* In the data window: the value that descriptors post. */
#define AT_ONE	(SEQ_DATA_BYTES - 64)

static void begin_job(struct check_test *t)
{
	const uint32_t one = 1;

	seq_job_init(&t->job, &t->rig, 0, CORE);
	memcpy(seq_data(&t->rig, 0, CORE) + AT_ONE, &one, sizeof(one));
}

void check_begin_gen(struct check_test *t, const struct neuron_gen *gen,
		     unsigned int workers)
{
	seq_rig_init_check(&t->rig, gen, workers == 1 ? TRN_POOL_STEPPED : workers, 1, true);
	begin_job(t);
}

void check_begin(struct check_test *t, unsigned int workers)
{
	check_begin_gen(t, &neuron_gen_trn2, workers);
}

void check_end(struct check_test *t)
{
	seq_rig_destroy(&t->rig);
}

void check_next_job(struct check_test *t)
{
	begin_job(t);
}

void check_add(struct check_test *t, enum neuron_engine engine,
	       struct neuron_inst inst, uint32_t line)
{
	seq_add(&t->job, engine, inst)->debug = line;
}

void check_post(struct check_test *t, unsigned int queue, unsigned int sem)
{
	seq_copy(&t->job, queue, neuron_window_addr(SEQ_SEM, 4 * sem),
		 DATA(AT_ONE), 4);
}

void check_run(struct check_test *t)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (t->job.nr[e])
			seq_add(&t->job, e, OP(HALT));
	seq_expect_ok(&t->job);
}

static void print_lines(struct check_test *t)
{
	struct fake_port *port = &t->rig.port[0];
	unsigned int i;

	for (i = 0; i < FAKE_LOG_LINES; i++)
		if (strstr(port->log[i], "check "))
			print_error("%s\n", port->log[i]);
}

void check_expect(struct check_test *t, enum trn_check_kind kind, unsigned int count)
{
	unsigned int have = (unsigned int)trn_check_count(t->rig.chip[0], kind);

	if (have == count)
		return;
	print_lines(t);
	fail_msg("%u reports of kind %u, not %u", have, kind, count);
}

void check_expect_none(struct check_test *t)
{
	unsigned int kind;

	for (kind = 0; kind < TRN_CHECK_KINDS; kind++)
		check_expect(t, kind, 0);
	assert_int_equal(trn_chip_check_reports(t->rig.chip[0]), 0);
}

void check_expect_line(struct check_test *t, enum trn_check_kind kind,
		       const char *who, const char *where)
{
	static const char *const formats[TRN_CHECK_KINDS] = {
		[TRN_CHECK_UNWRITTEN] = "unwritten: core 1 %s reads what nobody has written: %s",
		[TRN_CHECK_BANK] = "bank: core 1 %s writes a product across a PSUM bank from: %s",
		[TRN_CHECK_RANGE] = "range: core 1 %s of: %s",
		[TRN_CHECK_RACE] = "race: core 1 %s: %s",
	};
	char text[FAKE_LOG_LEN] = "check ";

	snprintf(text + 6, sizeof(text) - 6, formats[kind], who, where);
	if (fake_logged(&t->rig.port[0], text))
		return;
	print_lines(t);
	fail_msg("no line '%s'", text);
}

struct neuron_inst fill(uint32_t offset, unsigned int n)
{
	return OP(MEMSET, .dst = ap_sbuf(0, 4, offset, F32, n));
}

struct neuron_inst copy(uint32_t to, uint32_t from, unsigned int n)
{
	return OP(COPY, .dst = ap_sbuf(0, 4, to, F32, n),
		  .src0 = ap_sbuf(0, 4, from, F32, n));
}

struct neuron_inst trigger(unsigned int queue, unsigned int n)
{
	return OP(DMA_TRIGGER, .imm0 = n, .imm1 = n, .reg = { (uint8_t)queue });
}
