/* SPDX-License-Identifier: MIT */
/*
 * The plan of a collective: what each rank moves, from where to where, and who waits for whom.
 *
 * A plan is made from a request (struct nrt_plan_ask) that is the same on every rank, so all ranks
 * make the same plan without talking to each other. nrt_plan_program() then gives the part of one
 * rank: a list of steps. Nothing here knows a chip, a thread or an address. Whoever executes a
 * program makes instructions and descriptors of its steps; sim.h executes the programs of all
 * ranks in memory of the host.
 *
 * Bytes
 * -----
 * A step names bytes by a space, a rank and an offset. The bytes of INPUT and OUTPUT are numbered
 * in the order of the collective: block after block, and in a block tensor after tensor of a
 * coalesced list. How they lie in tensors is not part of the plan.
 *
 *	operation		blocks of INPUT		blocks of OUTPUT	a block has
 *	ALL_REDUCE		1			1			@count elements
 *	REDUCE_SCATTER		one of each rank	1			@count
 *	ALL_GATHER		1			one of each rank	@count
 *	ALL_TO_ALL		one of each rank	one of each rank	@count
 *	PERMUTE, BROADCAST	1			1			@count
 *	PERMUTE_RING		one of each channel	one of each channel	@count
 *	  with a reduction	twice as many: first sources, then second ones
 *	BARRIER			0			0
 *	*_V			as without V; @count is the room of a block, how much of it
 *				is used is known when the program runs (struct nrt_plan_value)
 *
 * With in_place INPUT and OUTPUT are the same memory: ALL_REDUCE, ALL_TO_ALL, BROADCAST all of it,
 * ALL_GATHER: INPUT is the rank's block of OUTPUT; REDUCE_SCATTER: OUTPUT is the rank's block of
 * INPUT.
 *
 * Steps
 * -----
 * A step of a program is, in this order:
 *
 *  1. waits: the CC-core waits until a semaphore of its own is at least @value, and takes @value
 *     from it in the same moment;
 *  2. a move, which the step's queue does after all that the queue was given before;
 *  3. posts, behind the bytes of the move in the same queue: add @value to a semaphore of a rank,
 *     when the bytes of this move and of all earlier ones of that queue have landed. A post to
 *     the rank itself tells its own CC-core so.
 *
 * The CC-core does not wait for the end of a move. Each of the three may be missing. A step
 * without a move has a queue if it posts.
 *
 * Channels are parts of a collective that share nothing: no queue, no semaphore, no byte that one
 * of them writes. Steps of all channels are in one list, in an order in which one CC-core can go
 * through it. If a rank has several CC-cores, each may take some of the channels: it does the
 * steps of its channels in the order of the list. A semaphore belongs to the CC-core of its
 * channel, so all ranks must deal the channels to CC-cores in the same way.
 *
 * What whoever executes a program must promise
 * --------------------------------------------
 *  - Packets of a queue end in order; a queue belongs to one program, and is empty before.
 *  - A post comes after the bytes before it in its queue (the last descriptor of the data has the
 *    write barrier, then 4 bytes go to a SEM window).
 *  - A peer may post before this rank has begun. So the semaphores keep their values from one
 *    execution to the next: they are not in sem_clear, and are cleared only while all ranks stand.
 *    Every program leaves each of its semaphores as it found it.
 *  - The same plan may run again at once. A plan that uses the same semaphores in another way
 *    (another request) may follow only after all ranks have met, because posts of two ranks to one
 *    semaphore have no order. Different numbers need no meeting.
 *  - All moves have landed at the end of the program, as of any job. Then the input is free, the
 *    output is complete, and the scratch may serve the next program.
 *
 * What a program promises: no peer touches this rank's memory before this rank has begun (its first
 * posts say so), or after this rank has ended.
 */
#ifndef LIBNRT_PLAN_PLAN_H
#define LIBNRT_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* A plan is refused beyond these. */
#define NRT_PLAN_MAX_RANKS	256
#define NRT_PLAN_MAX_CHANNELS	32
#define NRT_PLAN_MAX_SEMS	240	/* of a rank */
#define NRT_PLAN_MAX_QUEUES	64	/* of a rank */
#define NRT_PLAN_MAX_BYTES	(1ull << 40)	/* of a space */
#define NRT_PLAN_PRIORITIES	4
#define NRT_PLAN_STREAMS	4	/* of collectives beside each other, at most */

/* Of a step. */
#define NRT_PLAN_MAX_SRC	16
#define NRT_PLAN_MAX_DST	2

enum nrt_plan_op {
	NRT_PLAN_ALL_REDUCE,
	NRT_PLAN_REDUCE_SCATTER,
	NRT_PLAN_ALL_GATHER,
	NRT_PLAN_ALL_TO_ALL,
	NRT_PLAN_PERMUTE,	/* pairs; one pair is a send and a receive */
	NRT_PLAN_PERMUTE_RING,	/* to the neighbour of each channel's ring */
	NRT_PLAN_BROADCAST,
	NRT_PLAN_BARRIER,
	NRT_PLAN_ALL_GATHER_V,
	NRT_PLAN_REDUCE_SCATTER_V,
	NRT_PLAN_ALL_TO_ALL_V,
	NRT_PLAN_NR_OPS
};

/* Must it have a reduction? */
static inline bool nrt_plan_reduces(enum nrt_plan_op op)
{
	return op == NRT_PLAN_ALL_REDUCE || op == NRT_PLAN_REDUCE_SCATTER ||
	       op == NRT_PLAN_REDUCE_SCATTER_V;
}

/* Can it have one? A permute along a ring may combine two inputs before it sends. */
static inline bool nrt_plan_can_reduce(enum nrt_plan_op op)
{
	return nrt_plan_reduces(op) || op == NRT_PLAN_PERMUTE_RING;
}

/* *_V: is how much is moved known only when the program runs? */
static inline bool nrt_plan_varies(enum nrt_plan_op op)
{
	return op == NRT_PLAN_ALL_GATHER_V || op == NRT_PLAN_REDUCE_SCATTER_V ||
	       op == NRT_PLAN_ALL_TO_ALL_V;
}

/* Are the counts that a rank gets written to its metadata? @known: recv_counts_known. */
static inline bool nrt_plan_counts(enum nrt_plan_op op, bool known)
{
	return (op == NRT_PLAN_ALL_GATHER_V || op == NRT_PLAN_ALL_TO_ALL_V) && !known;
}

enum nrt_plan_reduce {
	NRT_PLAN_REDUCE_NONE,
	NRT_PLAN_ADD,
	NRT_PLAN_MIN,
	NRT_PLAN_MAX,
	NRT_PLAN_NR_REDUCES
};

enum nrt_plan_algorithm {
	NRT_PLAN_RING,
	NRT_PLAN_MESH,		/* two steps; other operations than ALL_REDUCE: one */
	NRT_PLAN_MESH_ONE,	/* ALL_REDUCE in one step */
	NRT_PLAN_KANGARING,
	NRT_PLAN_RDH,
	NRT_PLAN_HIER,		/* two levels, each with an algorithm of its own */
	NRT_PLAN_NR_ALGORITHMS
};

/* What joins the chips; as of neuron-fabric. */
enum nrt_plan_topology {
	NRT_PLAN_ANY,		/* nothing is known */
	NRT_PLAN_LINE,		/* ring or chain */
	NRT_PLAN_TORUS2D,	/* 4 x 4 chips a server */
	NRT_PLAN_TORUS3D,	/* and the servers a ring */
	NRT_PLAN_SWITCH,
	NRT_PLAN_NR_TOPOLOGIES
};

enum nrt_plan_space {
	NRT_PLAN_INPUT,
	NRT_PLAN_OUTPUT,
	NRT_PLAN_SCRATCH,	/* of the plan; its bytes have no meaning before and after */
	NRT_PLAN_META,		/* of *_V: uint32 (rows, ranks) */
	NRT_PLAN_NR_SPACES
};

/* Rows of META. */
enum nrt_plan_row {
	NRT_PLAN_SEND_COUNTS,
	NRT_PLAN_SEND_DISPLS,
	NRT_PLAN_RECV_COUNTS,	/* written by the collective unless recv_counts_known */
	NRT_PLAN_RECV_DISPLS,	/* only with has_rdispls */
	NRT_PLAN_NR_ROWS
};

/**
 * struct nrt_plan_place - where a rank is
 * @server: number of its server, on the whole fabric; servers of other racks have other numbers
 * @chip: number of its chip in the server; on a torus 4 * row + column, and chips 16 to 31 of a
 *	server are another grid, as if it were two servers
 * @core: number of its (logical) core in the chip
 */
struct nrt_plan_place {
	uint16_t server;
	uint16_t chip;
	uint16_t core;
};

/* Of PERMUTE: the block of rank @source goes to rank @target; each is there at most once. */
struct nrt_plan_pair {
	uint16_t source;
	uint16_t target;
};

/**
 * struct nrt_plan_ask - what is asked for; the same on all ranks
 * @op: operation
 * @reduce: of ALL_REDUCE, REDUCE_SCATTER(_V), PERMUTE_RING with a reduction
 * @dtype: enum neuron_dtype; a type that is only copied may not be reduced
 * @count: elements of a block, see above
 * @nr_ranks: 1 to NRT_PLAN_MAX_RANKS; a rank is its index in the group's ordered list
 * @places: of each rank; NULL: each has a chip of its own, nothing is known of them
 * @topology: of the fabric
 * @pairs, @nr_pairs: of PERMUTE
 * @root: of BROADCAST
 * @in_place: INPUT and OUTPUT are the same memory
 * @recv_counts_known, @has_rdispls: of *_V, see enum nrt_plan_row
 * @priority: of the queues, 0 (the highest) to 3
 * @stream: which one of NRT_PLAN_STREAMS it is on; the plan is the same on all of them
 * @nr_channels: of PERMUTE_RING: its channels; else how many share the blocks, 0: as the plan likes
 * @align: bytes at multiples of which blocks are cut, if they are large enough; 0: 64. For
 *	tensors in SBUF: the bytes of a row
 * @slice: bytes of a slice of a pipeline at most; 0: as the plan likes
 * @algorithm: overrides the table of choose.h: "ring", "mesh", "mesh1", "kangaring", "rdh",
 *	"hier", "hier:INTRA+INTER", "chip:INTRA+INTER"; NULL: none
 *
 * What it points to is used by nrt_plan_make() only.
 */
struct nrt_plan_ask {
	enum nrt_plan_op op;
	enum nrt_plan_reduce reduce;
	uint8_t dtype;
	uint64_t count;
	unsigned int nr_ranks;
	const struct nrt_plan_place *places;
	enum nrt_plan_topology topology;
	const struct nrt_plan_pair *pairs;
	unsigned int nr_pairs;
	unsigned int root;
	bool in_place;
	bool recv_counts_known;
	bool has_rdispls;
	uint8_t priority;
	uint8_t stream;
	unsigned int nr_channels;
	uint32_t align;
	uint64_t slice;
	const char *algorithm;
};

/**
 * struct nrt_plan_choice - an algorithm
 * @algorithm: of the whole
 * @intra, @inter: of HIER: inside a level-1 group and between them
 * @by_chip: of HIER: the level-1 groups are the chips; else the servers
 */
struct nrt_plan_choice {
	enum nrt_plan_algorithm algorithm;
	enum nrt_plan_algorithm intra;
	enum nrt_plan_algorithm inter;
	bool by_chip;
};

/**
 * struct nrt_plan - a plan; read only once it is made
 * @op, @reduce, @dtype, @count, @nr_ranks, @topology, @root, @in_place, @recv_counts_known,
 * @has_rdispls, @priority, @stream, @align: as asked for
 * @places, @pairs, @nr_pairs: copies
 * @choice: algorithm
 * @element: bytes of an element
 * @block: bytes of a block
 * @bytes: of each space of a rank; INPUT and OUTPUT each as if it were not in place. The largest
 *	of all ranks for SCRATCH
 * @nr_channels: 1 to NRT_PLAN_MAX_CHANNELS
 * @nr_steps: numbers of steps are below it
 * @slice: bytes of a slice at most
 */
struct nrt_plan {
	enum nrt_plan_op op;
	enum nrt_plan_reduce reduce;
	uint8_t dtype;
	uint64_t count;
	unsigned int nr_ranks;
	enum nrt_plan_topology topology;
	unsigned int root;
	bool in_place;
	bool recv_counts_known;
	bool has_rdispls;
	uint8_t priority;
	uint8_t stream;
	uint32_t align;
	struct nrt_plan_place *places;
	struct nrt_plan_pair *pairs;
	unsigned int nr_pairs;
	struct nrt_plan_choice choice;
	unsigned int element;
	uint64_t block;
	uint64_t bytes[NRT_PLAN_NR_SPACES];
	unsigned int nr_channels;
	unsigned int nr_steps;
	uint64_t slice;
};

enum nrt_plan_move {
	NRT_PLAN_NO_MOVE,
	NRT_PLAN_COPY,		/* the bits of the only source go to all destinations */
	NRT_PLAN_COMBINE,	/* ADD, MIN or MAX of dma-operations.rst: the plan's @reduce */
};

/* What a step is for; with its number it says where a rank is. */
enum nrt_plan_phase {
	NRT_PLAN_BEGIN,		/* tells peers that this rank has begun */
	NRT_PLAN_LOCAL,		/* copies inside a rank */
	NRT_PLAN_SCATTER,	/* moves parts to where they are reduced, or reduces them */
	NRT_PLAN_GATHER,	/* moves results */
	NRT_PLAN_SEND,		/* moves blocks to their only receiver */
	NRT_PLAN_END,		/* waits for what is still on its way */
	NRT_PLAN_NR_PHASES
};

/**
 * struct nrt_plan_end - a source or destination
 * @offset: first byte in its space
 * @rank: whose memory it is
 * @space: enum nrt_plan_space
 * @value: 1 + the index of a struct nrt_plan_value of the program: that many elements are added
 *	to the offset when the program runs; 0: none
 */
struct nrt_plan_end {
	uint64_t offset;
	uint16_t rank;
	uint8_t space;
	uint8_t pad;
	uint16_t value;
	uint16_t pad2;
};

/**
 * struct nrt_plan_value - a number that is known when the program runs: a uint32 in memory of
 *	this rank, read when its step starts (after the waits)
 * @offset: of the number, a multiple of 4
 * @space: META or SCRATCH
 */
struct nrt_plan_value {
	uint64_t offset;
	uint8_t space;
};

/**
 * struct nrt_plan_sync - a wait or a post
 * @rank: wait: who posts; post: whose semaphore it is
 * @sem: of the rank that waits, index in its program's @sems
 * @value: what is taken or added, from 1
 */
struct nrt_plan_sync {
	uint16_t rank;
	uint16_t sem;
	uint32_t value;
};

/**
 * struct nrt_plan_step - waits, then a move, then posts
 * @bytes: of each source and destination. With @length: the most that it may be
 * @first_end: index of the first source in the program's @ends; destinations follow
 * @first_sync: index of the first wait in the program's @syncs; posts follow
 * @number: of the step in the algorithm, 0 is BEGIN; the same on all ranks, never falling
 * @length: 1 + the index of a struct nrt_plan_value: elements that are moved; 0: @bytes are
 * @move: enum nrt_plan_move
 * @nr_src: COPY 1; COMBINE 1 to NRT_PLAN_MAX_SRC, in the order of reduction
 * @nr_dst: 0 to NRT_PLAN_MAX_DST; a second destination is a duplicate
 * @nr_wait, @nr_post: any
 * @phase: enum nrt_plan_phase
 * @channel: below the plan's @nr_channels
 * @queue: below the program's @nr_queues; all steps of a queue have the same channel
 *
 * A destination of a COMBINE may be exactly one of its sources. Ends of another rank are
 * destinations, or sources on the same chip (KANGARING).
 */
struct nrt_plan_step {
	uint64_t bytes;
	uint32_t first_end;
	uint32_t first_sync;
	uint16_t number;
	uint16_t length;
	uint16_t nr_wait;
	uint16_t nr_post;
	uint8_t move;
	uint8_t nr_src;
	uint8_t nr_dst;
	uint8_t phase;
	uint8_t channel;
	uint8_t queue;
	uint8_t pad[2];
};

/* What a semaphore says. */
enum nrt_plan_meaning {
	NRT_PLAN_UNUSED,
	NRT_PLAN_READY,		/* the poster has begun, or has room again */
	NRT_PLAN_DATA,		/* bytes of the poster have landed */
	NRT_PLAN_BOTH,		/* first READY, then DATA, always in this order */
	NRT_PLAN_LANDED,	/* a queue of this rank has moved what it was given */
};

/**
 * struct nrt_plan_sem - a semaphore of a rank
 * @poster: the only rank that posts it, always by the same queue
 * @channel: to whose CC-core it belongs
 * @meaning: enum nrt_plan_meaning
 */
struct nrt_plan_sem {
	uint16_t poster;
	uint8_t channel;
	uint8_t meaning;
};

/* Bits of struct nrt_plan_peer, of a space. */
#define NRT_PLAN_READS(space)	(1u << (space))
#define NRT_PLAN_WRITES(space)	(1u << (NRT_PLAN_NR_SPACES + (space)))

/**
 * struct nrt_plan_peer - what this rank and another one grant each other
 * @rank: the other one
 * @theirs: what this rank does to their memory: NRT_PLAN_READS and NRT_PLAN_WRITES
 * @ours: what they do to the memory of this rank
 * @posts: this rank posts semaphores of theirs
 * @posted: they post semaphores of this rank: those of @sems with this poster
 */
struct nrt_plan_peer {
	uint16_t rank;
	uint8_t theirs;
	uint8_t ours;
	bool posts;
	bool posted;
};

/**
 * struct nrt_plan_program - the part of a rank
 * @rank: of whom
 * @steps, @nr_steps: in order
 * @ends, @nr_ends; @syncs, @nr_syncs; @values, @nr_values: of the steps
 * @sems, @nr_sems: semaphores of this rank
 * @peers, @nr_peers: in ascending order of their ranks
 * @nr_queues: queues that the steps name
 * @scratch: bytes of SCRATCH of this rank
 */
struct nrt_plan_program {
	unsigned int rank;
	struct nrt_plan_step *steps;
	size_t nr_steps;
	struct nrt_plan_end *ends;
	size_t nr_ends;
	struct nrt_plan_sync *syncs;
	size_t nr_syncs;
	struct nrt_plan_value *values;
	size_t nr_values;
	struct nrt_plan_sem *sems;
	unsigned int nr_sems;
	struct nrt_plan_peer *peers;
	unsigned int nr_peers;
	unsigned int nr_queues;
	uint64_t scratch;
};

/*
 * Make a plan. *@plan is for nrt_plan_free(). NRT_INVALID: the request makes no sense, or its
 * @algorithm cannot do it; NRT_RESOURCE. @error has one line that says why.
 */
NRT_STATUS nrt_plan_make(const struct nrt_plan_ask *ask, struct nrt_plan **plan,
			 struct nrt_error *error);
void nrt_plan_free(struct nrt_plan *plan);

/* The part of @rank, for nrt_plan_program_fini(). Any thread, side by side. */
NRT_STATUS nrt_plan_program(const struct nrt_plan *plan, unsigned int rank,
			    struct nrt_plan_program *program, struct nrt_error *error);
void nrt_plan_program_fini(struct nrt_plan_program *program);

/* Parts of @step. */
static inline const struct nrt_plan_end *
nrt_plan_src(const struct nrt_plan_program *program, const struct nrt_plan_step *step)
{
	return &program->ends[step->first_end];
}

static inline const struct nrt_plan_end *
nrt_plan_dst(const struct nrt_plan_program *program, const struct nrt_plan_step *step)
{
	return &program->ends[step->first_end + step->nr_src];
}

static inline const struct nrt_plan_sync *
nrt_plan_waits(const struct nrt_plan_program *program, const struct nrt_plan_step *step)
{
	return &program->syncs[step->first_sync];
}

static inline const struct nrt_plan_sync *
nrt_plan_posts(const struct nrt_plan_program *program, const struct nrt_plan_step *step)
{
	return &program->syncs[step->first_sync + step->nr_wait];
}

/* Names, in lower case, as nccom-test and the option algorithm have them. */
const char *nrt_plan_op_name(enum nrt_plan_op op);
const char *nrt_plan_reduce_name(enum nrt_plan_reduce reduce);
const char *nrt_plan_algorithm_name(enum nrt_plan_algorithm algorithm);
const char *nrt_plan_phase_name(enum nrt_plan_phase phase);
const char *nrt_plan_topology_name(enum nrt_plan_topology topology);

#endif /* LIBNRT_PLAN_PLAN_H */
