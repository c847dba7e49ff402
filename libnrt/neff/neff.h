/* SPDX-License-Identifier: MIT */
/*
 * A NEFF, read and checked. Documentation/libnrt/neff.rst is the contract.
 *
 * Everything here works on plain memory: no device, no global state, no logging.
 * What it accepts is consistent: every index is in range, every transfer lies
 * inside its variables. What the instructions do is the chip's business.
 */
#ifndef LIBNRT_NEFF_NEFF_H
#define LIBNRT_NEFF_NEFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/dma_op.h"
#include "neuron/job.h"
#include "neuron/neff.h"
#include "neuron/regs.h"
#include "base/error.h"
#include "neff/part.h"
#include "plan/plan.h"

#define NEFF_MAX_GRAPHS		2
#define NEFF_MAX_VAR_ID		65000
#define NEFF_MAX_VAR_NAME	255
#define NEFF_MAX_PREFIX		511
#define NEFF_MAX_QUEUES_OF_SET	16
#define NEFF_MAX_REMOTES	8
#define NEFF_MAX_DIMS		8
#define NEFF_MAX_VAR_SIZE	(1ull << 46)
#define NEFF_MAX_REPLICA_GROUPS	16
#define NEFF_MAX_NOTIFY		(1u << 30)

/**
 * struct neff_file - a file of a graph's folder
 * @name: unique in its folder
 * @graph: 0 for sg00/, 1 for sg01/
 * @data, @size: contents
 * @borrowed: @data is in the memory that the NEFF was read from
 */
struct neff_file {
	char *name;
	unsigned int graph;
	uint8_t *data;
	size_t size;
	bool borrowed;
};

/* The same for the runtime and all tools: what one of them opens the others open as well. */
#define NEFF_MAX_UNPACKED	(64ull << 30)

/**
 * struct neff_limits - what a reader is willing to spend
 * @unpacked_bytes: of all files of the archive together; 0: NEFF_MAX_UNPACKED
 * @scratch_page: bytes of a page of the shared scratchpad, whose pages lie apart; 0: all of it
 *	is contiguous
 * @validate_hash: compute the hash
 */
struct neff_limits {
	uint64_t unpacked_bytes;
	uint64_t scratch_page;
	bool validate_hash;
};

enum neff_var_type {
	NEFF_VAR_INPUT,
	NEFF_VAR_OUTPUT,
	NEFF_VAR_FILE,
	NEFF_VAR_TMP,
	NEFF_VAR_VIRTUAL,
	NEFF_VAR_STATE,
	NEFF_VAR_POINTER,
	NEFF_VAR_DGE_TABLE,
	NEFF_VAR_PEER,
	NEFF_VAR_PEER_SEM,
	NEFF_VAR_SIBLING_STATE,
	NEFF_VAR_SIBLING_SEM,
	NEFF_VAR_CC_SEM,
};

/**
 * struct neff_var - a variable
 * @name: unique
 * @type: what memory it is
 * @var_id: window index, 1 to NEFF_MAX_VAR_ID
 * @size: bytes
 * @alignment: bytes, a power of two; 0: no wish
 * @print: TMP: it is printed after each execution, with this prefix; or NULL
 * @dtype, @ndim, @shape: INPUT, OUTPUT; what is printed
 * @io: INPUT, OUTPUT: which of neff.ios it is
 * @data: FILE: contents, points into a file of the NEFF; POINTER, DGE_TABLE: @table
 * @table: POINTER, DGE_TABLE: addresses of variables, little endian
 * @refs, @nr_refs: POINTER, DGE_TABLE: indexes of those variables, in this NEFF's table
 * @offset: VIRTUAL: in the scratchpad
 * @ref: PEER: index of the variable of the other rank, in this NEFF's table
 * @peer_offset: PEER, PEER_SEM: how many ranks further on
 * @first, @count: PEER_SEM, SIBLING_SEM; CC_SEM: collectives that they start
 */
struct neff_var {
	char *name;
	enum neff_var_type type;
	uint32_t var_id;
	uint64_t size;
	uint64_t alignment;
	char *print;
	enum neuron_dtype dtype;
	unsigned int ndim;
	uint32_t shape[NEFF_MAX_DIMS];
	size_t io;
	const uint8_t *data;
	uint64_t *table;
	uint32_t *refs;
	uint32_t nr_refs;
	uint64_t offset;
	unsigned int ref;
	unsigned int peer_offset;
	unsigned int first;
	unsigned int count;
};

/* The loader writes the contents of the variable to HBM; programs only read them. */
static inline bool neff_var_has_contents(const struct neff_var *var)
{
	return var->type == NEFF_VAR_FILE || var->type == NEFF_VAR_POINTER ||
	       var->type == NEFF_VAR_DGE_TABLE;
}

/**
 * struct neff_set - a DMA queue set, or an instance of one: rings of its own
 * @name: name
 * @instance: it is an instance
 * @dynamic: for generated descriptors only
 * @semaphore: of transfers that name none; -1: none
 * @owner: engine whose descriptors fill it; -1: not said and not used
 * @index: first entry in the job's queue table
 * @num: entries
 * @priority: of its queues, 0 is the highest
 */
struct neff_set {
	char *name;
	bool instance;
	bool dynamic;
	int semaphore;
	int owner;
	unsigned int index;
	unsigned int num;
	unsigned int priority;
};

/* One end of a transfer; [0] is innermost, in bytes. */
struct neff_side {
	unsigned int var;
	unsigned int ndim;
	uint64_t offset;
	uint64_t size[NEFF_MAX_DESC_DIMS];
	int64_t step[NEFF_MAX_DESC_DIMS];
};

static inline uint64_t neff_side_bytes(const struct neff_side *side)
{
	uint64_t bytes = 1;
	unsigned int i;

	for (i = 0; i < side->ndim; i++)
		bytes *= side->size[i];
	return bytes;
}

/**
 * struct neff_op - what a transfer does instead of copying bytes
 * @opcode: enum neuron_udma_opcode; COPY: a cast
 * @from_dtype: of all sources
 * @to_dtype: of the destination; TRANSPOSE: only the size of both matters
 * @nr_sources, @sources: variable and offset; fp32 bits of the scale for FMA. All have the
 *	pattern of the transfer's @from
 * @has_constant, @constant: MIN, MAX: fp32 bits of the first operand
 */
struct neff_op {
	enum neuron_udma_opcode opcode;
	enum neuron_dtype from_dtype;
	enum neuron_dtype to_dtype;
	unsigned int nr_sources;
	struct {
		unsigned int var;
		uint64_t offset;
		uint32_t scale;
	} sources[NEURON_UDMA_OP_MAX_SRC];
	bool has_constant;
	uint32_t constant;
};

/**
 * struct neff_desc - a transfer
 * @id: what a PSEUDO_DMA_TRIGGER names
 * @set: index of the queue set
 * @engine: whose descriptor it is
 * @semaphore: incremented when the bytes have landed; -1: none
 * @first_queue: all of it goes through the first queue of the set
 * @nr_remotes, @remote: semaphores of the other core that are incremented as well
 * @bytes: of each side; with @op of each source
 * @from, @to: the ends
 * @op: what is computed on the way; NULL: the bytes are copied
 */
struct neff_desc {
	uint32_t id;
	unsigned int set;
	enum neuron_engine engine;
	int semaphore;
	bool first_queue;
	uint8_t nr_remotes;
	uint8_t remote[NEFF_MAX_REMOTES];
	uint64_t bytes;
	struct neff_side from;
	struct neff_side to;
	struct neff_op *op;
};

/**
 * struct neff_collective - a collective that the graph starts
 * @op, @reduce, @dtype, @count, @pairs, @nr_pairs, @root, @priority: as of struct nrt_plan_ask
 * @recv_counts_known, @has_rdispls: likewise
 * @nr_channels: of PERMUTE_RING; else 0
 * @in_place: @input is @output
 * @input, @output: indexes of variables; of no meaning for a barrier or with parts
 * @parts, @nr_parts: of a list of tensors: @nr_parts inputs, then as many outputs; else none
 * @metadata: the same; only with neff_has_metadata()
 * @groups, @nr_groups: replica groups of @group_size ranks each, one behind the other in @ranks
 * @stream: those of one stream are done in their order, those of different ones beside each other
 * @place: among those of its stream
 * @semaphore: incremented when it is complete
 */
struct neff_collective {
	enum nrt_plan_op op;
	enum nrt_plan_reduce reduce;
	enum neuron_dtype dtype;
	uint64_t count;
	struct nrt_plan_pair *pairs;
	unsigned int nr_pairs;
	unsigned int root;
	unsigned int nr_channels;
	uint8_t priority;
	uint8_t stream;
	uint16_t place;
	bool recv_counts_known;
	bool has_rdispls;
	bool in_place;
	unsigned int input;
	unsigned int output;
	struct neff_side *parts;
	unsigned int nr_parts;
	unsigned int metadata;
	uint32_t *ranks;
	unsigned int group_size;
	unsigned int nr_groups;
	unsigned int semaphore;
};

/* Those of the CC-core that start collectives lie behind those of plans. */
_Static_assert(NRT_PLAN_MAX_SEMS + NEFF_NR_STARTS == NEURON_NR_SEMAPHORES, "all semaphores");
_Static_assert(NEFF_NR_STREAMS == NRT_PLAN_STREAMS, "all streams");

/* Semaphore of its stream's CC-core that starts it. Every 16th of a stream has the same one. */
static inline unsigned int neff_start(const struct neff_collective *collective)
{
	return NRT_PLAN_MAX_SEMS + collective->place % NEFF_NR_STARTS;
}

/* Is how much is moved known only when the program runs? */
static inline bool neff_has_metadata(const struct neff_collective *collective)
{
	return nrt_plan_varies(collective->op);
}

/* Blocks of the input and of the output, see plan/plan.h. */
static inline unsigned int neff_in_blocks(const struct neff_collective *collective)
{
	switch (collective->op) {
	case NRT_PLAN_REDUCE_SCATTER:
	case NRT_PLAN_REDUCE_SCATTER_V:
	case NRT_PLAN_ALL_TO_ALL:
	case NRT_PLAN_ALL_TO_ALL_V:
		return collective->group_size;
	case NRT_PLAN_PERMUTE_RING:
		return collective->nr_channels * (collective->reduce ? 2 : 1);
	default:
		return 1;
	}
}

static inline unsigned int neff_out_blocks(const struct neff_collective *collective)
{
	switch (collective->op) {
	case NRT_PLAN_ALL_GATHER:
	case NRT_PLAN_ALL_GATHER_V:
	case NRT_PLAN_ALL_TO_ALL:
	case NRT_PLAN_ALL_TO_ALL_V:
		return collective->group_size;
	case NRT_PLAN_PERMUTE_RING:
		return collective->nr_channels;
	default:
		return 1;
	}
}

/* Does it write the counts that a rank receives? */
static inline bool neff_writes_metadata(const struct neff_collective *collective)
{
	return nrt_plan_counts(collective->op, collective->recv_counts_known);
}

/**
 * struct neff_line - where an instruction and those behind it are from
 * @pc: index of the first one
 * @source: index of the file; -1: not known
 * @line: in the file
 */
struct neff_line {
	uint32_t pc;
	int32_t source;
	uint32_t line;
};

struct neff;

/**
 * struct neff_graph - a subgraph: what one physical core runs
 * @neff: the whole
 * @scratch_page: see struct neff_limits
 * @index: 0 for sg00/, 1 for sg01/; the number of the core in its logical core
 * @image: instructions of each engine, NULL: it stays halted
 * @image_count: instructions
 * @vars, @nr_vars: in ascending var_id
 * @by_name: the same in the order of their names
 * @sets, @nr_sets: queue sets
 * @nr_queues: entries of the job's queue table
 * @descs, @nr_descs: transfers, by engine, each engine's in the order of its list
 * @collectives, @nr_collectives: in the order in which they are started
 * @sem_clear: semaphores that an execution clears
 * @has_sem_clear: the NEFF says so itself
 * @notify_bytes: notification stream, 0: none
 * @scratch_bytes: shared scratchpad that the VIRTUAL variables need
 * @sources, @nr_sources: names of source files
 * @lines, @nr_lines: of each engine, in ascending order; see neff_debug_line()
 */
struct neff_graph {
	const struct neff *neff;
	uint64_t scratch_page;
	unsigned int index;
	const struct neuron_inst *image[NEURON_NR_ENGINES];
	uint32_t image_count[NEURON_NR_ENGINES];
	struct neff_var *vars;
	const struct neff_var **by_name;
	size_t nr_vars;
	struct neff_set *sets;
	size_t nr_sets;
	unsigned int nr_queues;
	struct neff_desc *descs;
	size_t nr_descs;
	struct neff_collective *collectives;
	unsigned int nr_collectives;
	uint64_t sem_clear[4];
	bool has_sem_clear;
	uint32_t notify_bytes;
	uint64_t scratch_bytes;
	char **sources;
	size_t nr_sources;
	struct neff_line *lines[NEURON_NR_ENGINES];
	size_t nr_lines[NEURON_NR_ENGINES];
};

/**
 * struct neff - the whole
 * @name: of the model, printable
 * @peers: some variable belongs to another rank
 * @hash: of the archive, as the header has it: SHA-256, or MD5 in the first 16 bytes
 * @lnc: physical cores of the logical core that it is made for
 * @files, @nr_files: archive
 * @graphs: one for each physical core. An input or an output that has the same name in both is
 *	the same tensor, and has the same type, shape and size
 * @nr_graphs: equals @lnc
 * @ios, @nr_ios: inputs and outputs, each name once: those of graph 0, then those that only
 *	graph 1 has, in ascending var_id
 */
struct neff {
	char name[NEFF_NAME_LEN];
	uint8_t hash[NEFF_HASH_LEN];
	bool peers;
	unsigned int lnc;
	struct neff_file *files;
	size_t nr_files;
	struct neff_graph graphs[NEFF_MAX_GRAPHS];
	unsigned int nr_graphs;
	const struct neff_var **ios;
	size_t nr_ios;
};

/*
 * Read a NEFF. On success *@out must be freed with neff_free(); @bytes must stay until
 * neff_drop_files() or that. NRT_INVALID, NRT_UNSUPPORTED_NEFF_VERSION or NRT_RESOURCE with
 * @error set otherwise.
 */
NRT_STATUS neff_read(const void *bytes, size_t size, const struct neff_limits *limits,
		     struct neff **out, struct nrt_error *error);
void neff_free(struct neff *neff);

/* What an error of neff_read() says, as it stands behind the name of the file and a colon. */
const char *neff_why(const struct nrt_error *error);

/* The hash as hexadecimal text. */
void neff_hash_text(const struct neff *neff, char text[2 * NEFF_HASH_LEN + 1]);

/* Drop the archive; images and file contents are gone, the tables stay. */
void neff_drop_files(struct neff *neff);

/* Steps of neff_read(), in this order. */
NRT_STATUS neff_read_archive(struct neff *neff, const void *data, size_t size,
			     uint64_t unpacked_bytes, struct nrt_error *error);
NRT_STATUS neff_read_def(struct neff_graph *graph, struct nrt_error *error);

struct json_object;
NRT_STATUS neff_read_queues(struct neff_graph *graph, struct json_object *root,
			    struct nrt_error *error);
NRT_STATUS neff_read_vars(struct neff_graph *graph, struct json_object *root,
			  struct nrt_error *error);
NRT_STATUS neff_read_descs(struct neff_graph *graph, enum neuron_engine engine,
			   const struct neff_file *file, struct nrt_error *error);

/* After neff_read_vars(). */
NRT_STATUS neff_read_collectives(struct neff_graph *graph, struct json_object *root,
				 struct nrt_error *error);
void neff_free_collectives(struct neff_graph *graph);

NRT_STATUS neff_read_debug(struct neff_graph *graph, const struct neff_file *file,
			   struct nrt_error *error);
void neff_free_debug(struct neff_graph *graph);

/*
 * The source file of instruction @pc of @engine, and the line in it; NULL: the NEFF does not
 * say. Works without the archive; the string stays as long as the NEFF.
 */
const char *neff_debug_line(const struct neff_graph *graph, enum neuron_engine engine,
			    uint32_t pc, uint32_t *line);

/*
 * Parts of neff_read_descs(): the @prefix ("from" or "to") keys of a descriptor, a dtype (uint8
 * if @key is absent), and all of a descriptor whose op is not "copy".
 */
NRT_STATUS neff_read_side(const struct neff_graph *graph, struct json_object *object,
			  const char *where, const char *prefix, struct neff_side *side,
			  uint64_t *bytes, struct nrt_error *error);
NRT_STATUS neff_read_dtype(struct json_object *object, const char *where, const char *key,
			   enum neuron_dtype *dtype, struct nrt_error *error);
NRT_STATUS neff_read_op(const struct neff_graph *graph, struct json_object *object,
			const char *where, struct neff_desc *desc, struct nrt_error *error);

static inline bool neff_var_is_io(const struct neff_var *var)
{
	return var->type == NEFF_VAR_INPUT || var->type == NEFF_VAR_OUTPUT;
}

/* Semaphores of another core: only posts go there. */
static inline bool neff_var_is_others_sem(const struct neff_var *var)
{
	return var->type == NEFF_VAR_PEER_SEM || var->type == NEFF_VAR_SIBLING_SEM ||
	       var->type == NEFF_VAR_CC_SEM;
}

/* The variable called @name, or NULL. */
const struct neff_var *neff_find_var(const struct neff_graph *graph, const char *name);

/* The name inside of a subgraph's folder, whose number is in *@graph; NULL: it is in none. */
const char *neff_subgraph_path(const char *path, unsigned int *graph);

/* The refusal of a NEFF that was made for real hardware. No more than the limit is unpacked. */
NRT_STATUS neff_refuse_foreign(const struct neff_header *header, const void *data, size_t size,
			       uint64_t unpacked_bytes, struct nrt_error *error);

/* A file of the graph's folder, or NULL. */
const struct neff_file *neff_find_file(const struct neff_graph *graph, const char *name);

/* The contents of @file: the payload of a .npy, else all of it. */
NRT_STATUS neff_file_payload(const struct neff_file *file, const uint8_t **data, size_t *size,
			     struct nrt_error *error);

/* A copy of @name if it is a usable one (not empty, short, printable), else NULL. */
char *neff_copy_name(const char *name, const char *where, struct nrt_error *error);

#endif /* LIBNRT_NEFF_NEFF_H */
