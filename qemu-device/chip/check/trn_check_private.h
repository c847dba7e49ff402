/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * What the parts of the checks share.
 */
#ifndef TRN_CHECK_PRIVATE_H
#define TRN_CHECK_PRIVATE_H

#include "base/trn_chip.h"
#include "hook/trn_check.h"
#include "mem/trn_bus.h"
#include "time/trn_time.h"
#include "trn/inspect.h"

#define TRN_SHADOW_PAGE		4096
/* Bytes of a page that one word of a bit mask stands for. */
#define TRN_SHADOW_LINE		64
#define TRN_SHADOW_LINES	(TRN_SHADOW_PAGE / TRN_SHADOW_LINE)

/* Different reports of a job; what comes after them is not told. */
#define TRN_CHECK_REPORTS	256

struct trn_shadow_page;

/**
 * struct trn_shadow - of one memory
 * @lock: all fields
 * @page: a sparse table; NULL: the whole page is as @trusted says
 * @first, @end: outside of these all of the table is NULL
 * @size: bytes of the memory, and of it in the table
 * @memory: may be written by the host without the chip's knowledge, else NULL
 * @trusted: what is not in the table counts as written
 */
struct trn_shadow {
	pthread_mutex_t lock;
	struct trn_shadow_page **page;
	uint64_t first;
	uint64_t end;
	uint64_t size;
	const uint8_t *memory;
	bool trusted;
};

/**
 * struct trn_check - of a chip
 * @lock: @groups, and of each group what the members that come change
 * @groups: those of which a member is there
 * @serial: of the newest group
 * @shadow: HBM stacks, then SBUF and PSUM of each core
 * @reports: by kind
 */
struct trn_check {
	struct trn_chip *chip;
	unsigned int nr_shadows;
	pthread_mutex_t lock;
	struct trn_check_group *groups;
	uint32_t serial;
	_Atomic uint64_t reports[TRN_CHECK_KINDS];
	struct trn_shadow shadow[];
};

struct trn_check_line;

/**
 * struct trn_check_group - a job, or the jobs of a gang: among them it is known what comes before
 *	what
 * @next: in trn_check.groups
 * @gang: its number; 0: the group of one job
 * @serial: no other group of the chip has it
 * @members: jobs that have not ended
 * @nr_actors: of all members that have come
 * @cores: a bit for each NeuronCore of which a member uses SBUF and PSUM; races are looked for
 *	there
 * @running: an actor of a member has begun, and no other member comes. Until then there are no
 *	accesses to compare
 * @blind: memory was short: nothing can be told of races
 * @now: time of each actor; only the actor itself changes it
 * @clock: of each actor, what it has seen of the others: @nr_actors times @nr_actors
 * @who: each actor as reports name it, with a pc of 0
 *
 * All members of a gang come before one of them runs.
 */
struct trn_check_group {
	struct trn_check_group *next;
	uint64_t gang;
	uint32_t serial;
	unsigned int members;
	unsigned int nr_actors;
	uint32_t cores;
	_Atomic bool running;
	_Atomic bool blind;
	_Atomic uint32_t *now;
	uint32_t *clock;
	struct trn_report_actor *who;
};

/**
 * struct trn_check_actor - a sequencer or queue
 * @index: in the group
 * @trigger: of a queue: descriptors of M2S and S2M, under the job's lock
 * @triggered_by: engines that triggered it
 */
struct trn_check_actor {
	struct trn_check_job *job;
	unsigned int index;
	uint32_t pc;
	uint32_t debug;
	struct trn_check_line *trigger[2];
	uint32_t triggered_by;
};

/**
 * struct trn_check_job - of a job
 * @line: semaphores and events of the core (TRN_SEM_OF_EVENT), under their lock
 * @lock: @reported, @nr_reported, triggers
 * @reported: kind, actor and pc of reports that have been made
 */
struct trn_check_job {
	struct trn_check *check;
	struct trn_check_group *group;
	struct trn_job *job;
	struct trn_check_line *line[TRN_TIME_SEMS];
	pthread_mutex_t lock;
	unsigned int nr_reported;
	uint64_t reported[TRN_CHECK_REPORTS];
	unsigned int nr_actors;
	struct trn_check_actor actor[];
};

/* @cj, with its actors, joins the group of its gang or has one for itself. False: no memory. */
bool trn_check_group_join(struct trn_check_job *cj);
/* Before the first actor of a member runs: nobody joins any more. */
void trn_check_group_run(struct trn_check_job *cj);
void trn_check_group_leave(struct trn_check_job *cj);

/* What @actor has seen of the others; its own entry is not used. */
static inline uint32_t *trn_check_clock(const struct trn_check_actor *actor)
{
	const struct trn_check_group *group = actor->job->group;

	return &group->clock[(size_t)actor->index * group->nr_actors];
}

static inline _Atomic uint32_t *trn_check_now(const struct trn_check_actor *actor)
{
	return &actor->job->group->now[actor->index];
}

/* Lines of a job that ends. */
void trn_check_sync_destroy(struct trn_check_job *cj);

#define TRN_RACE_SLOTS	4

/**
 * struct trn_race - an access to bytes of a line
 * @mask: which; 0: none
 * @time: of the actor
 * @where: actor, pc, kind
 */
struct trn_race {
	uint64_t mask;
	uint32_t time;
	uint32_t where;
};

bool trn_race_is_write(const struct trn_race *race);
unsigned int trn_race_actor(const struct trn_race *race);
uint32_t trn_race_pc(const struct trn_race *race);
/* An access to a line with @slots. The bytes that race, first with *@other; 0: none. */
uint64_t trn_race_access(struct trn_race *slots, struct trn_check_actor *actor,
			 uint64_t mask, bool write, struct trn_race *other);

/* A byte of a memory. */
struct trn_check_place {
	const struct trn_chip *chip;
	enum trn_place place;
	unsigned int index;
	uint64_t offset;
};

/*
 * The report, unless this actor has made the same one here before. @other: of a race, with whom
 * @what ends; else NULL.
 */
void trn_check_report(struct trn_check_actor *actor, enum trn_check_kind kind,
		      const struct trn_check_place *place, const char *what,
		      const struct trn_race *other);

/* NULL: the memory has no shadow. */
struct trn_shadow *trn_shadow_find(const struct trn_chip *chip,
				   enum trn_place place, unsigned int index);
int trn_shadow_init(struct trn_shadow *shadow, uint64_t size,
		    const uint8_t *memory);
void trn_shadow_destroy(struct trn_shadow *shadow);
void trn_shadow_forget(struct trn_shadow *shadow, uint64_t offset, uint64_t len);
void trn_shadow_trust(struct trn_shadow *shadow);
void trn_shadow_written(struct trn_shadow *shadow, uint64_t offset, uint64_t len);
/* What nobody has written, in offsets of the memory; from now on it counts as written. */
void trn_shadow_take(struct trn_shadow *shadow, uint64_t offset, uint64_t len,
		     struct trn_unwritten *found);

#define TRN_SHADOW_NONE	UINT64_MAX

/**
 * struct trn_visit - one actor's access to one memory, bytes in any order
 * @place: whose memory
 * @write: else a read
 * @partly: maybe not all of the bytes are read: they need not have been written
 * @races: look for them: the memory is HBM of the chip, or of a core of the actor's group
 * @line, @mask: bytes not yet looked at: bits of one line
 * @unwritten: out: the first byte read that nobody had written, or NONE. It counts
 *	as written from then on
 * @raced, @other: out: the first byte of a race, or NONE, and with whom
 */
struct trn_visit {
	struct trn_check_actor *actor;
	struct trn_shadow *shadow;
	struct trn_check_place place;
	bool write;
	bool partly;
	bool races;
	uint64_t line;
	uint64_t mask;
	uint64_t unwritten;
	uint64_t raced;
	struct trn_race other;
};

/* False: there is nothing to check. Holds the shadow's lock until the end. */
bool trn_visit_begin(struct trn_visit *visit, struct trn_check_actor *actor,
		     const struct trn_check_place *place, bool write, bool partly);
void trn_visit_bytes(struct trn_visit *visit, uint64_t offset, uint64_t len);
/* And report what was found. */
void trn_visit_end(struct trn_visit *visit);

#endif /* TRN_CHECK_PRIVATE_H */
