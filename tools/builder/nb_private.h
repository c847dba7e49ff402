/* SPDX-License-Identifier: MIT */
/* Inside of a program; shared by the files of the builder library. */
#ifndef NB_PRIVATE_H
#define NB_PRIVATE_H

#include "neuron_builder.h"
#include "neuron/neff.h"
#include "neuron/regs.h"

/* What readers of a NEFF accept; Documentation/libnrt/neff.rst. */
#define NB_MAX_VARS	65000
#define NB_MAX_SIZE	(1ull << 46)
#define NB_MAX_NOTIFY	(1u << 30)
#define NB_MAX_RANKS	65536
#define NB_MAX_REMOTES	8

enum nb_var_type {
	NB_VAR_INPUT,
	NB_VAR_OUTPUT,
	NB_VAR_TMP,
	NB_VAR_VIRTUAL,
	NB_VAR_FILE,
	NB_VAR_SBUF,
	NB_VAR_POINTER,
	NB_VAR_DGE_TABLE,
	NB_VAR_PEER,
	NB_VAR_PEER_SEM,
	NB_VAR_SIBLING_SBUF,
	NB_VAR_SIBLING_SEM,
	NB_VAR_CC_SEM,
};

struct nb_var {
	enum nb_var_type type;
	char *name;
	uint64_t size;
	enum neuron_dtype dtype;
	unsigned int ndim;
	uint32_t shape[8];
	void *data;		/* FILE */
	char *print;		/* TMP: prefix of what is printed, or NULL */
	int ref;		/* PEER, POINTER */
	int *refs;		/* DGE_TABLE */
	uint64_t offset;	/* VIRTUAL */
	unsigned int peer_offset;
	unsigned int first;	/* PEER_SEM, SIBLING_SEM, CC_SEM */
	unsigned int count;	/* and DGE_TABLE */
};

struct nb_queue_set {
	char *name;
	char *type;
	enum neuron_engine owner;
	unsigned int num_queues;
	unsigned int index;	/* first entry in the job's queue table */
	unsigned int priority;
	char *set;		/* of which it is an instance, or NULL */
	bool moves;		/* it has a transfer, or starts a collective: nb_sync() knows */
	bool starts;
	unsigned int stream;	/* of the collectives that it starts */
};

struct nb_dma_block {
	int queue;
	struct nb_side to;
	struct nb_side from;
	int sem;
	unsigned int nr_remotes;
	int remote[NB_MAX_REMOTES];
	struct nb_move *move;	/* what else than copying; @from is its first source */
};

/* Instruction @pc and those behind it are from a line; @file: -1: from none. */
struct nb_line {
	uint32_t pc;
	int file;
	uint32_t line;
};

struct nb_stream {
	struct neuron_inst *inst;
	size_t count;
	size_t room;
	struct nb_dma_block *dma;
	size_t nr_dma;
	size_t dma_room;
	struct nb_line *line;
	size_t nr_lines;
	size_t line_room;
	unsigned int nr_regs;	/* that nb_register_alloc() has returned */
};

struct nb_record;
struct nb_reason;
struct nb_tiles;

/* The waits that nb_sync() has made. */
struct nb_made {
	struct nb_reason *reason;
	size_t count;
	size_t room;
};

/* Room for a cycle of all engines, with a place. */
#define NB_ERROR_MAX	640

struct nb_program {
	char *name;
	char error[NB_ERROR_MAX];
	struct nb_var *var;	/* var_id is the index + 1 */
	size_t nr_vars;
	size_t var_room;
	int *name_id;		/* var_ids by a hash of their names; 0: free */
	size_t name_room;
	struct nb_queue_set *queue;
	size_t nr_queues;
	size_t queue_room;
	unsigned int next_queue_index;
	unsigned int nr_sems;
	bool sem_keep[NEURON_NR_SEMAPHORES];
	uint32_t notify_bytes;
	struct nb_collective_entry *collective;
	unsigned int nr_collectives;
	/* Of each stream: behind the last one that is started and has no semaphore by hand. */
	unsigned int next_place[NEFF_NR_STREAMS];
	uint32_t part_tries;	/* comparisons of their outputs that are left */
	unsigned int generation;	/* of the NeuronCore; 0: the newest */
	int sbuf;
	struct nb_stream stream[NEURON_NR_ENGINES];
	char **file;		/* sources */
	size_t nr_files;
	size_t file_room;
	int source;		/* of the next instruction; -1: none */
	uint32_t source_line;
	struct nb_record *record;	/* nb_auto(): until nb_sync() */
	uint64_t scheduled_ns;
	struct nb_made made;
	struct nb_tiles *tiles;
	struct nb_program *second;	/* of the other physical core; LNC 2 */
	struct neuron_inst scratch;	/* what emitters return after an error */
};

/* Keep the first error; always returns -1. */
int nb_fail(struct nb_program *nb, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, with where the next instruction is from before it. */
int nb_fail_here(struct nb_program *nb, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, of instruction @pc of @e. */
int nb_fail_at(struct nb_program *nb, enum neuron_engine e, uint32_t pc, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* --- Collectives --- */

struct json_object;
void nb_put_string(struct json_object *object, const char *key, const char *value);
void nb_put_int(struct json_object *object, const char *key, int64_t value);

/* The variable that starts collective @index. */
int nb_cc_sem(struct nb_program *nb, const char *name, unsigned int index);
struct json_object *nb_collectives_json(const struct nb_program *nb);
void nb_collectives_free(struct nb_program *nb);
/* Each one has a semaphore. 0 or -1. */
int nb_check_collectives(struct nb_program *nb);
/* The collective that a write to @side starts; NULL: it starts none. */
struct nb_collective *nb_collective_at(const struct nb_program *nb, const struct nb_side *side);
/* The program is read from its beginning: nothing starts collectives yet. */
void nb_forget_starts(struct nb_program *nb);
/*
 * Queue @queue does so. *@behind: variable whose write must be over before, or 0. -1: starts that
 * are not in order, an error.
 */
int nb_start_collective(struct nb_program *nb, const struct nb_side *side, int queue, int *behind);
bool nb_writes_metadata(const struct nb_collective *what);

/*
 * realloc() for what has @used bytes. Much memory is in huge pages where the system has them: to
 * touch small ones for the first time takes longer than to fill them.
 */
void *nb_resize(void *old, size_t used, size_t size);
/* Make room for one more element of @size bytes; NULL when memory is short. */
void *nb_grow(struct nb_program *nb, void **array, size_t count, size_t *room,
	      size_t size);

/* A queue or a set of instances has this name. */
bool nb_queue_taken(const struct nb_program *nb, const char *name);
/* Take back all queue sets but the first @count; nothing uses them. */
void nb_queues_drop(struct nb_program *nb, size_t count);

/* Engines whose waits never end, because they wait for each other: -1, an error. */
int nb_check_cycle(struct nb_program *nb);

/* Append an all-zero instruction with @opcode to the stream of @e. */
struct neuron_inst *nb_emit(struct nb_program *nb, enum neuron_engine e,
			    enum neuron_opcode opcode);

/* Note the instruction that nb_emit() adds for @e, in a program with nb_auto(). */
void nb_record_inst(struct nb_program *nb, enum neuron_engine e);
/* The instruction noted last may go to another engine. */
void nb_record_any(struct nb_program *nb);
void nb_record_free(struct nb_record *record);
void nb_tiles_free(struct nb_tiles *tiles);

#define NB_DEBUG_FILE	"debug.json"

/* The archive's JSON files; the caller frees the string. NULL: no memory. */
char *nb_def_json(const struct nb_program *nb);
char *nb_engine_json(const struct nb_program *nb, enum neuron_engine e);
char *nb_debug_json(const struct nb_program *nb);
/* Instruction @pc of @stream is from where nb_source() says. */
void nb_add_line(struct nb_program *nb, struct nb_stream *stream, uint32_t pc);
/* The line that instruction @pc comes from; NULL: it has none. */
const struct nb_line *nb_line_of(const struct nb_stream *stream, uint32_t pc);
/* Some instruction has a source. */
bool nb_has_lines(const struct nb_program *nb);

/* 1 to 255 printable characters: names become JSON keys and parts of log lines. */
bool nb_name_ok(const char *name);

#endif /* NB_PRIVATE_H */
