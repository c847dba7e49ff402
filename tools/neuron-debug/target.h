/* SPDX-License-Identifier: MIT */
/*
 * The program that is debugged: a model on chips of this process, which the debugger steps
 * (backend/embedded/emb_debug.h). Each time that it stops, the prompt is called, in the thread
 * that waits for the program; when the prompt returns, the program goes on as it was told to.
 *
 * All engines stop together. Nothing of the chips runs while they are stopped.
 */
#ifndef NEURON_DEBUG_TARGET_H
#define NEURON_DEBUG_TARGET_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/embedded/emb_debug.h"
#include "neff/neff.h"
#include "neuron/isa.h"
#include "trn/inspect.h"
#include "trn/observe.h"

#define TARGET_CHIPS	64
#define TARGET_GRAPHS	NEFF_MAX_GRAPHS
#define TARGET_WHY	256

enum stop_reason {
	STOP_NONE,
	STOP_ENTRY,		/* before the first instruction */
	STOP_BREAKPOINT,
	STOP_WATCHPOINT,
	STOP_SEMAPHORE,
	STOP_NAN,
	STOP_STEP,		/* as many instructions are done as were asked for */
	STOP_FAULT,
	STOP_PAUSE,
	STOP_STUCK,		/* nothing can go on */
	STOP_BACK,		/* the program was set back */
	STOP_END,		/* the job has ended; its caller does not know yet */
};

/**
 * struct where - an engine of the program
 * @graph: 0, or 1 on the second core of a pair
 * @engine: which engine
 */
struct where {
	unsigned int graph;
	enum neuron_engine engine;
};

/**
 * struct stop - why the program stopped
 * @where: which engine, if it was one; else engine NEURON_NR_ENGINES
 * @breakpoint: its number, for STOP_BREAKPOINT, _WATCHPOINT, _SEMAPHORE, _NAN
 * @pc: of the instruction, or of the packet's descriptor
 * @dma: a packet of @queue of engine @dma_engine has written
 * @len, @old, @now: watched bytes
 * @value: of the semaphore, from @before
 * @nan: STOP_NAN; its inst is not valid any more
 * @fault: STOP_FAULT
 */
struct stop {
	enum stop_reason reason;
	struct where where;
	unsigned int breakpoint;
	uint32_t pc;
	bool dma;
	unsigned int dma_engine;
	unsigned int queue;
	uint32_t len;
	uint8_t old[TRN_WATCHPOINT_BYTES];
	uint8_t now[TRN_WATCHPOINT_BYTES];
	int32_t value;
	int32_t before;
	struct trn_observe_nan nan;
	struct trn_observe_fault fault;
};

enum breakpoint_kind { BREAK_CODE, BREAK_WRITE, BREAK_SEMAPHORE, BREAK_NAN };
enum sem_test { SEM_CHANGES, SEM_EQUAL, SEM_AT_LEAST, SEM_BELOW };

/* A place in a program. */
struct code {
	struct where where;
	uint32_t pc;
};

/**
 * struct breakpoint - where the program is to stop
 * @id: its number, from 1 on
 * @hits: how often it has stopped there
 * @what: as it was asked for
 * @code, @nr_code: BREAK_CODE: instructions
 * @watch: BREAK_WRITE: bytes of the chip
 * @graph, @sem, @test, @value: BREAK_SEMAPHORE
 */
struct breakpoint {
	unsigned int id;
	enum breakpoint_kind kind;
	uint64_t hits;
	char what[128];
	struct code *code;
	size_t nr_code;
	struct trn_watchpoint watch;
	unsigned int graph;
	unsigned int sem;
	enum sem_test test;
	int32_t value;
};

enum go_mode {
	GO_CONTINUE,
	GO_STEP,	/* the engine carries out instructions, the others stand still */
	GO_STEP_ALL,	/* each engine carries out one, if it can */
	GO_NEXT,	/* to the engine's next source line */
	GO_FINISH,	/* to the engine's HALT */
	GO_KILL,	/* end the program */
};

/**
 * struct engine - a sequencer of the program
 * @done: instructions that it has carried out
 * @limit: it carries out no more than that
 * @mark: for each instruction the number of a breakpoint there, or 0; NULL: there is none
 */
struct engine {
	uint64_t done;
	uint64_t limit;
	unsigned int *mark;
};

/* How far each engine was. */
struct position {
	uint64_t done[TARGET_GRAPHS][NEURON_NR_ENGINES];
};

/* A state that the program can be set back to. */
struct checkpoint {
	unsigned int id;
	struct position position;
	uint8_t *bytes;
	size_t size;
};

typedef void (*target_prompt_fn)(void *opaque);

/* The observer of a chip. */
struct target_eye {
	struct target *target;
	struct trn_chip *chip;
	struct trn_observer observer;
};

/**
 * struct target - the program
 * @neff: of the model, for names and lines
 * @prompt: called when it has stopped
 * @machine: the chips, while they are there
 * @eye, @nr_eyes: of each chip
 * @chip: that runs it, from the first stop on
 * @unit: of the chip, by graph
 * @home: of each variable of each graph, where it lies as long as it is there; 0: not in one
 *	piece, or not known. A program that has ended has no windows any more
 * @armed: from here on instructions are those of the program
 * @begun: it has stopped before the first of them
 * @pause: somebody wants it to stop, at its first instruction at the earliest; the prompt clears
 *	it when it does
 * @attention: somebody wants the prompt, with the chips quiet, and then to go on as before
 * @ended: the job has
 * @stop: why it stands, while the prompt runs
 * @selected: the engine that commands are about
 * @mode, @mover, @line: how it goes on, and from which source line the engine does
 * @breakpoints, @nr_breakpoints: all of them
 * @last_id, @last_checkpoint: numbers given so far
 * @checkpoints, @nr_checkpoints: in the order of their making
 * @seeking: it goes a way again: stops are noted in @found instead of made
 * @here: where that began
 */
struct target {
	struct neff *neff;
	target_prompt_fn prompt;
	void *opaque;
	struct emb_debugger door;
	struct emb_machine *machine;
	struct target_eye eye[TARGET_CHIPS];
	unsigned int nr_eyes;
	struct trn_chip *chip;
	unsigned int unit[TARGET_GRAPHS];
	uint64_t *home[TARGET_GRAPHS];
	bool armed;
	bool begun;
	volatile sig_atomic_t pause;
	atomic_bool attention;
	bool ended;
	struct stop stop;
	struct where selected;
	enum go_mode mode;
	struct where mover;
	uint32_t line;
	const char *source;
	struct engine engine[TARGET_GRAPHS][NEURON_NR_ENGINES];
	struct breakpoint *breakpoints;
	size_t nr_breakpoints;
	unsigned int last_id;
	unsigned int last_checkpoint;
	struct checkpoint *checkpoints;
	size_t nr_checkpoints;
	bool seeking;
	bool found;
	struct position here;
	struct position found_at;
	struct stop found_stop;
};

/* --- target.c --- */

void target_init(struct target *target, struct neff *neff, target_prompt_fn prompt, void *opaque);
/* Before libnrt is initialised, and when it is closed. */
void target_attach(struct target *target);
void target_destroy(struct target *target);
/* What runs from now on is the program: it stops before its first instruction. */
void target_arm(struct target *target);

/* For the prompt: how the program goes on. @count: GO_STEP: instructions. */
void target_go(struct target *target, enum go_mode mode, uint64_t count);

bool target_has_engine(const struct target *target, struct where where);
/* The engine's state; false: it has none, because the program has ended or has not begun. */
bool target_engine(const struct target *target, struct where where,
		   struct trn_inspect_engine_state *state);
struct position target_position(const struct target *target);
/* Instructions of all engines. */
uint64_t target_total(const struct position *position);

/* The source line of an instruction, or NULL. */
const char *target_line(const struct target *target, struct code code, uint32_t *line);

/* A breakpoint with a number and room for nothing else yet, or NULL. */
struct breakpoint *target_add_breakpoint(struct target *target, enum breakpoint_kind kind,
					 const char *what);
/* It is complete. False: the chip refuses it, and it is gone. */
bool target_arm_breakpoint(struct target *target, struct breakpoint *breakpoint);
bool target_delete_breakpoint(struct target *target, unsigned int id);

/* Run until nothing goes on or there is a stop; the chips are quiet before and after. */
void target_run(struct target *target);
/* The counts of the engines, after the chip has been loaded. */
void target_sync(struct target *target);

/* --- replay.c --- */

/* 0, or -1 with @why. */
int target_checkpoint(struct target *target, unsigned int *id, char why[TARGET_WHY]);
int target_restore(struct target *target, unsigned int id, char why[TARGET_WHY]);
/* Undo the last @count instructions of the selected engine. */
int target_reverse_step(struct target *target, uint64_t count, char why[TARGET_WHY]);
/* Back to the last stop before here, or to the first checkpoint. */
int target_reverse_continue(struct target *target, char why[TARGET_WHY]);
void target_forget_checkpoints(struct target *target);

#endif /* NEURON_DEBUG_TARGET_H */
