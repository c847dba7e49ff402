// SPDX-License-Identifier: MIT
#include "state_rig.h"

#include <stdlib.h>
#include <string.h>

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define TENSOR	NEURON_ENGINE_TENSOR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define F32	NEURON_DTYPE_FP32

/* Semaphores of a job; the last is posted by the other chip. */
enum {
	S_LOADED = 1,
	S_ADDED,
	S_PRODUCT,
	S_ACTIVATED,
	S_STORED,
	S_COPIED,
	S_PEER = 220,
};

/* In host memory, behind what the jobs need. */
#define HOST_DATA	0x80000
#define HOST_DATA_BYTES	0x20000
#define HOST_M2S	0xc0000
#define HOST_S2M	0xd0000
#define HOST_COPIES	0xe0000

/* In a job's data window. */
#define DATA_NOTIFY	0x80000
#define DATA_OUT	0x90000
#define DATA_BULK	0xa0000
#define BULK_BYTES	0x4000

/* The kernel's queue: a copy engine, in domain 0. */
#define COPY_QUEUE	3
#define COPY_RING	64
#define COPY_BYTES	0x2000

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
	seq_rig_init(rig, &neuron_gen_trn2, workers, SEQ_CHIPS, true);
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

static void fill(uint8_t *bytes, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (uint8_t)(seed >> 56);
	}
}

/* --- programs --- */

static uint64_t in_data(uint64_t offset)
{
	return neuron_window_addr(SEQ_DATA, offset);
}

static uint64_t in_sbuf(unsigned int partition, uint64_t offset)
{
	return neuron_window_addr(SEQ_SBUF,
				  partition * NEURON_TPB_SBUF_STRIDE + offset);
}

static uint64_t in_sem(unsigned int sem)
{
	return neuron_window_addr(SEQ_SEM, 4 * sem);
}

static uint64_t host_window(struct seq_job *job)
{
	struct fake_port *port = &job->rig->port[job->chip];

	job->window[job->nr_windows] = (struct neuron_hw_window){
		.base = fake_host_addr(port, HOST_DATA),
		.length = HOST_DATA_BYTES,
		.flags = NEURON_WINDOW_HOST | NEURON_WINDOW_READ,
	};
	return neuron_window_addr(job->nr_windows++, 0);
}

static void trigger(struct seq_job *job, enum neuron_engine engine,
		    unsigned int queue, unsigned int count)
{
	seq_add(job, engine, OP(DMA_TRIGGER, .reg = { (uint8_t)queue },
				.imm0 = count, .imm1 = count));
}

static void store(struct seq_job *job, enum neuron_engine engine, uint64_t addr,
		  uint32_t value)
{
	seq_add(job, engine, OP(REG_SET, .reg = { 1 }, .imm0 = value));
	seq_add(job, engine, OP(REG_STORE, .reg = { 1 }, .addr = addr));
}

/* Operands from host memory and HBM, and in the background a bulk copy. */
static void load_round(struct seq_job *job, unsigned int i, uint64_t host)
{
	seq_copy(job, 0, in_sbuf(i % 32, 0), host + 0x400 * i, 256);
	seq_copy(job, 0, in_sbuf((i + 7) % 32, 0x80), in_data(0x300 * i), 384);
	seq_copy(job, 0, in_sem(S_LOADED), host, 4);
	seq_copy(job, 2, in_data(DATA_BULK + (i % 4) * BULK_BYTES),
		 in_data(i * 0x1000), BULK_BYTES);
	seq_copy(job, 2, in_sem(S_COPIED), host, 4);
	trigger(job, SYNC, 0, 3);
	trigger(job, SYNC, 2, 2);
	seq_add(job, SYNC, OP(NOTIFY, .imm0 = i));
}

static void compute_round(struct seq_job *job, unsigned int i)
{
	unsigned int accumulate = i % 3 ? NEURON_INST_ACCUMULATE : 0;

	seq_add(job, VECTOR,
		post_add(take_ge(OP(TENSOR_TENSOR, .op0 = NEURON_ALU_ADD,
				    .dst = ap_sbuf(0, 32, 0x1000, F32, 128),
				    .src0 = ap_sbuf(0, 32, 0, F32, 128),
				    .src1 = ap_sbuf(0, 32, 0x1000, F32, 128)),
				 S_LOADED, 1), S_ADDED, 1));
	seq_add(job, TENSOR, take_ge(OP(LOAD_STATIONARY,
					.src0 = ap_sbuf(0, 32, 0, F32, 64)),
				     S_ADDED, 1));
	seq_add(job, TENSOR,
		post_add(OP(MATMUL, .flags = (uint8_t)accumulate,
			    .dst = ap_psum(0, 64, 0, F32, 128),
			    .src0 = ap_sbuf(0, 32, 0x1000, F32, 128)),
			 S_PRODUCT, 1));
	seq_add(job, SCALAR,
		post_add(take_ge(OP(ACTIVATE, .op0 = NEURON_ACT_RELU,
				    .imm0 = f32(0.5f), .imm1 = f32(1),
				    .dst = ap_sbuf(0, 64, 0x2000, F32, 128),
				    .src0 = ap_psum(0, 64, 0, F32, 128)),
				 S_PRODUCT, 1), S_ACTIVATED, 1));
}

/* Results go home; now and then the other chip is told and waited for. */
static void store_round(struct seq_job *job, unsigned int i, uint64_t host,
			uint64_t peer)
{
	seq_copy(job, 1, in_data(DATA_OUT + 0x400 * i),
		 in_sbuf((5 * i) % 64, 0x2000), 512);
	seq_copy(job, 1, in_sem(S_STORED), host, 4);
	seq_add(job, GPSIMD, take_ge(OP(NOP, 0), S_ACTIVATED, 1));
	seq_add(job, GPSIMD, OP(REG_SET, .reg = { 2 }, .imm0 = 1000 + 99 * i));
	seq_add(job, GPSIMD, OP(LOOP, .reg = { 2 }, .addr = job->nr[GPSIMD]));
	trigger(job, GPSIMD, 1, 2);
	seq_add(job, SYNC, take_ge(OP(NOP, 0), S_STORED, 1));
	if (i % 3)
		return;
	store(job, GPSIMD, peer, 1);
	seq_add(job, SYNC, take_ge(OP(NOP, 0), S_PEER, 1));
}

static void job_write(struct seq_job *job)
{
	uint64_t host = host_window(job);
	uint64_t peer = seq_sem_window(job, 1 - job->chip, job->core, S_PEER);
	unsigned int i, e;

	job->block.notify_addr = in_data(DATA_NOTIFY);
	job->block.notify_size = 128;
	for (i = 0; i < STATE_ROUNDS; i++) {
		load_round(job, i, host);
		compute_round(job, i);
		store_round(job, i, host, peer);
	}
	seq_add(job, SYNC, take_ge(OP(NOP, 0), S_COPIED, STATE_ROUNDS));
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		seq_add(job, e, OP(HALT, 0));
}

/* --- the kernel's queue --- */

static uint64_t copy_reg(const struct trn_chip *chip, bool s2m, uint32_t reg)
{
	return neuron_dma_bar0(chip->gen, chip->gen->nr_ring) + reg +
	       (s2m ? NEURON_UDMA_S2M_Q(COPY_QUEUE) :
		      NEURON_UDMA_M2S_Q(COPY_QUEUE));
}

static void copy_write(struct trn_chip *chip, bool s2m, uint32_t reg,
		       uint32_t value)
{
	trn_chip_mmio_write(chip, copy_reg(chip, s2m, reg), value, 4);
}

static void copy_program(struct seq_rig *rig, unsigned int c)
{
	const uint64_t base[2] = {
		fake_host_addr(&rig->port[c], HOST_M2S),
		fake_host_addr(&rig->port[c], HOST_S2M),
	};
	struct trn_chip *chip = rig->chip[c];
	unsigned int s2m;

	trn_chip_mmio_write(chip, neuron_dma_bar0(chip->gen, chip->gen->nr_ring) +
			    NEURON_UDMA_M2S_CHANGE_STATE,
			    NEURON_UDMA_CHANGE_NORMAL, 4);
	trn_chip_mmio_write(chip, neuron_dma_bar0(chip->gen, chip->gen->nr_ring) +
			    NEURON_UDMA_S2M_CHANGE_STATE,
			    NEURON_UDMA_CHANGE_NORMAL, 4);
	for (s2m = 0; s2m < 2; s2m++) {
		copy_write(chip, s2m, s2m ? NEURON_UDMA_S2M_Q_SW_CTRL :
					    NEURON_UDMA_M2S_Q_SW_CTRL,
			   NEURON_UDMA_Q_SW_CTRL_RESET);
		copy_write(chip, s2m, NEURON_UDMA_Q_BASE_LO, (uint32_t)base[s2m]);
		copy_write(chip, s2m, NEURON_UDMA_Q_BASE_HI, base[s2m] >> 32);
		copy_write(chip, s2m, NEURON_UDMA_Q_LENGTH, COPY_RING);
		copy_write(chip, s2m, NEURON_UDMA_Q_CFG,
			   NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH |
			   NEURON_UDMA_Q_CFG_SCHEDULE);
	}
}

/* Copies of a descriptor each, from HBM to host memory. */
static void copy_start(struct seq_rig *rig, unsigned int c)
{
	uint8_t *host = rig->port[c].host;
	struct neuron_udma_desc *m2s = (void *)(host + HOST_M2S);
	struct neuron_udma_desc *s2m = (void *)(host + HOST_S2M);
	uint32_t ctrl = COPY_BYTES |
			NEURON_PUT(NEURON_UDMA_DESC_RING_ID,
				   (uint32_t)NEURON_UDMA_RING_ID_FIRST);
	unsigned int i;

	copy_program(rig, c);
	for (i = 0; i < COPY_RING - 1; i++) {
		m2s[i] = (struct neuron_udma_desc){
			.len_ctrl = ctrl | NEURON_UDMA_DESC_FIRST |
				    NEURON_UDMA_DESC_LAST,
			.meta_ctrl = NEURON_UDMA_META_DEFAULT,
			.addr = seq_data_addr(rig, c, 6) + i * 0x800,
		};
		s2m[i] = (struct neuron_udma_desc){
			.len_ctrl = ctrl,
			.addr = fake_host_addr(&rig->port[c],
					       HOST_COPIES + i * 0x200),
		};
	}
	copy_write(rig->chip[c], true, NEURON_UDMA_Q_TAIL_INC, i);
	copy_write(rig->chip[c], false, NEURON_UDMA_Q_TAIL_INC, i);
}

static bool copy_done(struct seq_rig *rig, unsigned int c)
{
	return fake_wait_reg(rig->chip[c],
			     copy_reg(rig->chip[c], false, NEURON_UDMA_Q_STATUS),
			     NEURON_MASK(23, 0), 0);
}

/* --- the whole work --- */

static void prepare(struct seq_rig *rig, unsigned int c)
{
	unsigned int i;

	fill(rig->port[c].host + HOST_DATA, HOST_DATA_BYTES, 77 + c);
	*(uint32_t *)(void *)(rig->port[c].host + HOST_DATA) = 1;
	for (i = 0; i < STATE_CORES; i++)
		fill(seq_data(rig, c, i), 0x80000, 100 * c + i);
	fill(seq_data(rig, c, 6), 0x40000, 1000 + c);
}

struct work *work_new(unsigned int workers)
{
	struct work *work = calloc(1, sizeof(*work));
	struct seq_rig *rig = work_rig_new(workers);
	unsigned int c, i;

	assert_non_null(work);
	work->rig = rig;
	work->workers = workers;
	for (c = 0; c < SEQ_CHIPS; c++) {
		prepare(rig, c);
		for (i = 0; i < STATE_CORES; i++) {
			seq_job_init(&work->job[c][i], rig, c, i);
			job_write(&work->job[c][i]);
		}
	}
	for (c = 0; c < SEQ_CHIPS; c++) {
		copy_start(rig, c);
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
		assert_true(copy_done(work->rig, c));
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
