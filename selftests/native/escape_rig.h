/* SPDX-License-Identifier: MIT */
/*
 * Programs that try to leave their domain, and all the memory around them.
 */
#ifndef ESCAPE_RIG_H
#define ESCAPE_RIG_H

#include "job_rig.h"
#include "neuron/dma_op.h"

#define ESCAPE_CORE	1
#define ESCAPE_SIBLING	0
#define SYNC		NEURON_ENGINE_SYNC
#define W_RO		JOB_W_PEER	/* of the sibling's HBM */
#define W_WO		JOB_W_PEER_SEM	/* of the same */
#define W_STREAM	JOB_W_FREE	/* host memory for NOTIFY */
#define W_GRANT		(JOB_W_FREE + 1)	/* of the sibling's SBUF, to be read */
#define W_STALE		(JOB_W_FREE + 2)	/* the same, of an earlier claim */
#define W_STALE_PEER	(JOB_W_FREE + 3)	/* the same on the other chip */
#define GRANT_BYTES	0x1000
#define GRANT_AT	0x2000		/* in SBUF */
#define GENERATION	6		/* of the siblings' claims */
#define SHARED_BYTES	0x1000
#define GUARD_BYTES	0x10000
#define GUARDS		64
#define AT_BLOCK	0x30000		/* in the HBM window: operation blocks */
#define AT_LIST		0x31000
#define BLOCK_ADDR	neuron_window_addr(JOB_W_HBM, AT_BLOCK)

/**
 * struct guard - bytes that must not change
 * @copy: as they were
 */
struct guard {
	uint8_t *ptr;
	size_t len;
	uint8_t *copy;
};

/**
 * struct evil - an address that is not the program's, or not all of it
 * @read, @write: cause of the fault when that is tried with 64 bytes or more;
 *	NONE: it is allowed
 */
struct evil {
	uint64_t addr;
	enum neuron_cause read;
	enum neuron_cause write;
};

#define EVILS	32

/**
 * struct escape - a job, and what it must not touch
 * @sems: values of all semaphores
 * @stream: bus address of what W_STREAM shows
 */
struct escape {
	struct rig *rig;
	struct job_rig job;
	struct guard guard[GUARDS];
	unsigned int nr_guards;
	uint64_t stream;
	int32_t sems[RIG_CHIPS][NEURON_MAX_CORES][NEURON_NR_SEMAPHORES];
	struct evil evil[EVILS];
	unsigned int nr_evils;
};

/* cmocka set-up, on trn2 and on trn1, and tear-down; *@state is the escape. */
int escape_setup(void **state);
int escape_setup_trn1(void **state);
int escape_teardown(void **state);

/* Entry @w of the job's window table. */
void escape_window(struct escape *e, unsigned int w, uint32_t flags, uint64_t base,
		   uint64_t length);
/* Make @w a grant of SBUF of the sibling on @chip, of its claim @generation. */
void escape_grant(struct escape *e, unsigned int w, unsigned int chip, uint32_t rights,
		  uint32_t generation);
/* A new program for the same job. */
void escape_restart(struct escape *e);

/* Remember all guarded memory; it is as it was then. */
void escape_snapshot(struct escape *e);
void escape_untouched(struct escape *e);

/*
 * Run: the program is stopped with @cause at @source and @addr, the violation is
 * counted, and nothing guarded has changed. Then a new program may be made.
 */
void escape_caught(struct escape *e, enum neuron_cause cause, uint16_t source,
		   uint64_t addr);
/* The same for a job block or table of the kernel that makes no job. */
void escape_refused(struct escape *e);
/* The same for a table in which @window leads to a chip that is not there. */
void escape_out_of_reach(struct escape *e, unsigned int window);

/* Instructions of the sync engine. */
struct neuron_inst *escape_generate(struct escape *e, uint64_t addr);
void escape_set_reg(struct escape *e, unsigned int reg, uint32_t value);
/* The word at @addr plus register @reg, and a halt. */
void escape_word(struct escape *e, bool store, uint64_t addr, unsigned int reg);

/* The sum of @nr_src sources of 16 elements. */
struct neuron_udma_dge escape_sum(unsigned int nr_src);

#define ESCAPE_TEST(test)						\
	cmocka_unit_test_setup_teardown(test, escape_setup, escape_teardown), \
	cmocka_unit_test_setup_teardown(test, escape_setup_trn1, escape_teardown)

#endif /* ESCAPE_RIG_H */
