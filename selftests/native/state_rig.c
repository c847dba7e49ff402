// SPDX-License-Identifier: MIT
#include "state_rig.h"

#include <stdlib.h>
#include <string.h>

#include "state_work.h"

static bool stream_write(void *opaque, void *buf, size_t len)
{
	struct stream *s = opaque;

	while (s->room - s->len < len) {
		s->room = s->room ? 2 * s->room : 1 << 20;
		s->data = realloc(s->data, s->room);
		assert_non_null(s->data);
	}
	memcpy(s->data + s->len, buf, len);
	s->len += len;
	return true;
}

static bool stream_read(void *opaque, void *buf, size_t len)
{
	struct stream *s = opaque;

	if (s->len - s->at < len)
		return false;
	memcpy(buf, s->data + s->at, len);
	s->at += len;
	return true;
}

struct trn_state stream_save(struct stream *stream)
{
	return (struct trn_state){
		.transfer = stream_write,
		.opaque = stream,
	};
}

struct trn_state stream_load(struct stream *stream)
{
	return (struct trn_state){
		.loading = true,
		.transfer = stream_read,
		.opaque = stream,
	};
}

void stream_free(struct stream *stream)
{
	free(stream->data);
	memset(stream, 0, sizeof(*stream));
}

void stream_put_chip(struct stream *stream, struct trn_chip *chip)
{
	struct trn_state st = stream_save(stream);

	if (!trn_chip_save(chip, &st) || !trn_chip_save_hbm(chip, &st))
		fail_msg("not saved: %s", st.why);
}

bool stream_get_chip(struct stream *stream, struct trn_chip *chip,
		     const char **why)
{
	struct trn_state st = stream_load(stream);
	bool loaded = trn_chip_load(chip, &st) && trn_chip_load_hbm(chip, &st);

	*why = st.why;
	return loaded;
}

struct seq_rig *work_rig_new(unsigned int workers)
{
	struct seq_rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	seq_rig_init(rig, fake_gen(), workers, SEQ_CHIPS, true);
	seq_more_operators(rig, true);
	return rig;
}

void work_rig_stop(struct seq_rig *rig, unsigned int workers)
{
	unsigned int c;

	for (c = 0; c < SEQ_CHIPS; c++)
		trn_chip_stop(rig->chip[c]);
	while (workers == TRN_POOL_STEPPED && trn_pool_step(rig->pool, 64))
		;
	for (c = 0; c < SEQ_CHIPS; c++)
		fake_chip_stop(rig->chip[c]);
}

/* Each chip that leaves kicks tasks of the others. */
void work_rig_free(struct seq_rig *rig, unsigned int workers)
{
	unsigned int c;

	work_rig_stop(rig, workers);
	for (c = 0; c < SEQ_CHIPS; c++)
		trn_chip_detach(rig->chip[c]);
	work_rig_stop(rig, workers);
	seq_rig_destroy(rig);
	free(rig);
}

/* --- the whole work --- */

struct work *work_new(unsigned int workers)
{
	struct work *work = calloc(1, sizeof(*work));
	struct seq_rig *rig = work_rig_new(workers);
	unsigned int c, i;

	assert_non_null(work);
	work->rig = rig;
	work->workers = workers;
	for (c = 0; c < SEQ_CHIPS; c++) {
		work_prepare(rig, c);
		for (i = 0; i < STATE_CORES; i++) {
			seq_job_init(&work->job[c][i], rig, c, i);
			work_job(&work->job[c][i]);
		}
	}
	for (c = 0; c < SEQ_CHIPS; c++) {
		work_notify(rig, c);
		work_copies(rig, c);
		for (i = 0; i < STATE_CORES; i++)
			seq_submit(&work->job[c][i]);
	}
	return work;
}

void work_free(struct work *work)
{
	work_rig_free(work->rig, work->workers);
	free(work);
}

bool work_step(struct work *work, unsigned int runs)
{
	return trn_pool_step(work->rig->pool, runs);
}

void work_stop(struct work *work)
{
	work_rig_stop(work->rig, work->workers);
}

void work_resume(struct work *work)
{
	unsigned int c;

	for (c = 0; c < SEQ_CHIPS; c++)
		trn_chip_resume(work->rig->chip[c]);
}

/* Some job has begun and has not ended; the chips are stopped. */
static bool half_done(struct seq_rig *rig)
{
	bool begun = false;
	unsigned int c, i;

	for (c = 0; c < SEQ_CHIPS; c++)
		for (i = 0; i < STATE_CORES; i++) {
			struct trn_core *core = seq_core(rig, c, i);

			begun |= core->job && atomic_load(&core->progress);
		}
	return begun;
}

bool work_move(struct work *work, unsigned int workers)
{
	struct stream stream[SEQ_CHIPS] = { 0 };
	struct seq_rig *from = work->rig, *to = work_rig_new(workers);
	unsigned int from_workers = work->workers;
	const char *why;
	unsigned int c;
	bool half;

	work_stop(work);
	half = half_done(from);
	work_rig_stop(to, workers);
	for (c = 0; c < SEQ_CHIPS; c++) {
		stream_put_chip(&stream[c], from->chip[c]);
		memcpy(to->port[c].host, from->port[c].host,
		       from->port[c].host_size);
	}
	for (c = 0; c < SEQ_CHIPS; c++) {
		if (!stream_get_chip(&stream[c], to->chip[c], &why))
			fail_msg("chip %u was not loaded: %s", c, why);
		assert_int_equal(stream[c].at, stream[c].len);
		stream_free(&stream[c]);
	}
	work->rig = to;
	work->workers = workers;
	work_resume(work);
	work_rig_free(from, from_workers);
	return half;
}

static uint64_t hash(const void *memory, size_t len)
{
	const uint64_t *words = memory;
	uint64_t h = 0xcbf29ce484222325ull;
	size_t i;

	for (i = 0; i < len / sizeof(*words); i++) {
		h = (h ^ words[i]) * 0x100000001b3ull;
		h ^= h >> 32;
	}
	return h;
}

static uint64_t hash_cores(struct seq_rig *rig, unsigned int c, bool psum)
{
	uint64_t h = 0;
	unsigned int i, p;

	for (i = 0; i < STATE_CORES; i++)
		for (p = 0; p < 128; p++)
			h = h * 31 + hash(psum ? seq_psum(seq_core(rig, c, i), p, 0) :
						 seq_sbuf(seq_core(rig, c, i), p, 0),
					  psum ? 0x800 : 0x2800);
	return h;
}

static struct neuron_hw_completion *job_record(struct seq_rig *rig,
					       const struct seq_job *job)
{
	uint64_t host = rig->chip[job->chip]->gen->host_base;

	return (void *)(rig->port[job->chip].host +
			(job->block.completion & (host - 1)));
}

enum neuron_cause work_cause(const struct work *work, unsigned int chip,
			     unsigned int core)
{
	return (enum neuron_cause)job_record(work->rig,
					     &work->job[chip][core])->cause;
}

static void wait_idle(struct trn_chip *chip, unsigned int core)
{
	uint64_t reg = neuron_ctl_bar0(chip->gen) + NEURON_CTL_CORE(core);

	if (!fake_wait_reg(chip, reg + NEURON_CORE_STATUS, ~0u, NEURON_CORE_IDLE))
		fail_msg("the job of core %u does not end", core);
}

void work_wait(struct work *work)
{
	unsigned int c, i;

	while (work->workers == TRN_POOL_STEPPED && work_step(work, 1000))
		;
	for (c = 0; c < SEQ_CHIPS; c++) {
		for (i = 0; i < STATE_CORES; i++)
			wait_idle(work->rig->chip[c], i);
		assert_true(work_copied(work->rig, c));
	}
}

void work_finish(struct work *work, struct work_result *result)
{
	struct seq_rig *rig = work->rig;
	unsigned int c, i;

	memset(result, 0, sizeof(*result));
	work_wait(work);
	work_stop(work);
	for (c = 0; c < SEQ_CHIPS; c++) {
		struct trn_chip *chip = rig->chip[c];

		for (i = 0; i < STATE_CORES; i++)
			result->record[c][i] = *job_record(rig, &work->job[c][i]);
		result->time[c] = trn_chip_mmio_read(chip,
						     neuron_ctl_bar0(chip->gen) +
						     NEURON_CTL_TIME, 8);
		result->host[c] = hash(rig->port[c].host, rig->port[c].host_size);
		result->hbm[c] = hash(trn_chip_hbm(chip, 0), NEURON_MIB(32));
		result->sbuf[c] = hash_cores(rig, c, false);
		result->psum[c] = hash_cores(rig, c, true);
	}
	work_resume(work);
}
