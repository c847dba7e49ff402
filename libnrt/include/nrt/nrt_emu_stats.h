/* SPDX-License-Identifier: MIT */
/*
 * The statistics page: what a process that uses libnrt counts, for those who monitor the machine.
 *
 * While the library is initialised, the process has a memory file (memfd_create()) of the name
 * NRT_EMU_STATS_NAME. Whoever may look into the process finds it among the links of
 * /proc/<pid>/fd and reads it with pread(). A reader does not map it, because a file of that
 * name can be of anybody and become shorter at any moment, and trusts no number in it. A process
 * that was forked has the file of its parent, too: nrt_emu_stats.pid says whose it is.
 *
 * The file is a struct nrt_emu_stats. Its size does not change. Counters only grow, and wrap
 * around; gauges also fall. Each word is written whole. The table of models is consistent if
 * @models_seq was even and the same before and after it was read.
 *
 * Another version may have another layout behind @size.
 */
#ifndef NRT_EMU_STATS_H
#define NRT_EMU_STATS_H

#include <stdint.h>

#define NRT_EMU_STATS_NAME	"neuron-rt-stats"
#define NRT_EMU_STATS_MAGIC	0x7461745374726e75ull
#define NRT_EMU_STATS_VERSION	1

/* More cores than a process can have. */
#define NRT_EMU_STATS_MAX_CORES		4096
/* Models in the table. */
#define NRT_EMU_STATS_MAX_MODELS	128
/* Physical cores of a logical one. */
#define NRT_EMU_STATS_MAX_LNC		2

/* Of the names, with the NUL. */
#define NRT_EMU_STATS_TAG	256
#define NRT_EMU_STATS_TEXT	64
#define NRT_EMU_STATS_MODEL	256
#define NRT_EMU_STATS_UUID	16

/* How executions ended. */
enum nrt_emu_stats_outcome {
	NRT_EMU_STATS_COMPLETED,
	NRT_EMU_STATS_COMPLETED_WITH_ERR,
	NRT_EMU_STATS_COMPLETED_WITH_NUM_ERR,
	NRT_EMU_STATS_TIMED_OUT,
	NRT_EMU_STATS_INCORRECT_INPUT,
	NRT_EMU_STATS_FAILED_TO_QUEUE,
	NRT_EMU_STATS_NR_OUTCOMES
};

/* Why executions failed. */
enum nrt_emu_stats_error {
	NRT_EMU_STATS_GENERIC,
	NRT_EMU_STATS_NUMERICAL,
	NRT_EMU_STATS_TRANSIENT,
	NRT_EMU_STATS_MODEL_ERROR,
	NRT_EMU_STATS_RUNTIME_ERROR,
	NRT_EMU_STATS_HARDWARE,
	NRT_EMU_STATS_NR_ERRORS
};

/* What memory of the host is for. */
enum nrt_emu_stats_host {
	NRT_EMU_STATS_HOST_APPLICATION,
	NRT_EMU_STATS_HOST_CONSTANTS,
	NRT_EMU_STATS_HOST_DMA_BUFFERS,
	NRT_EMU_STATS_HOST_TENSORS,
	NRT_EMU_STATS_NR_HOST
};

/* What memory of the device is for. */
enum nrt_emu_stats_device {
	NRT_EMU_STATS_CONSTANTS,
	NRT_EMU_STATS_CODE,
	NRT_EMU_STATS_SCRATCHPAD,
	NRT_EMU_STATS_RUNTIME,
	NRT_EMU_STATS_TENSORS,
	NRT_EMU_STATS_NR_DEVICE
};

/* The latencies that there are histograms of. */
enum nrt_emu_stats_latency {
	NRT_EMU_STATS_TOTAL_LATENCY,	/* of the call, until its end is known */
	NRT_EMU_STATS_DEVICE_LATENCY,	/* modelled, or of the host if no time is modelled */
	NRT_EMU_STATS_NR_LATENCIES
};

/*
 * A histogram counts nanoseconds. Each power of two has NRT_EMU_STATS_SUB buckets of equal width;
 * below that each value has its own. The last bucket also has all that is larger.
 */
#define NRT_EMU_STATS_SUB_BITS	4
#define NRT_EMU_STATS_SUB	(1u << NRT_EMU_STATS_SUB_BITS)
#define NRT_EMU_STATS_BUCKETS	(41 * NRT_EMU_STATS_SUB)

/* The bucket of @ns. */
static inline unsigned int nrt_emu_stats_bucket(uint64_t ns)
{
	unsigned int power, bucket;

	if (ns < NRT_EMU_STATS_SUB)
		return (unsigned int)ns;
	power = 63 - (unsigned int)__builtin_clzll(ns);
	bucket = (power - NRT_EMU_STATS_SUB_BITS + 1) * NRT_EMU_STATS_SUB +
		 (unsigned int)(ns >> (power - NRT_EMU_STATS_SUB_BITS) & (NRT_EMU_STATS_SUB - 1));
	return bucket < NRT_EMU_STATS_BUCKETS ? bucket : NRT_EMU_STATS_BUCKETS - 1;
}

/* The middle of @bucket: at most 1/32 away from all that it counts, but for the last one. */
static inline double nrt_emu_stats_middle(unsigned int bucket)
{
	unsigned int power = bucket / NRT_EMU_STATS_SUB;
	double first = NRT_EMU_STATS_SUB + bucket % NRT_EMU_STATS_SUB;

	if (!power)
		return bucket;
	return first * (double)(1ull << (power - 1)) + ((double)(1ull << (power - 1)) - 1) / 2;
}

/**
 * struct nrt_emu_stats_core - a logical core that the process owns (256 bytes)
 * @number: in the machine
 * @device: chip, likewise
 * @first_physical: number of its first physical core, likewise
 * @nr_physical: how many it has
 * @outcomes: counters: executions by enum nrt_emu_stats_outcome
 * @errors: counters: executions that failed, by enum nrt_emu_stats_error
 * @activity: of each physical core, see nrt_emu_stats_busy()
 * @host_bytes: gauges by enum nrt_emu_stats_host
 * @device_bytes: gauges by enum nrt_emu_stats_device
 * @reserved: zero
 */
struct nrt_emu_stats_core {
	uint32_t number;
	uint32_t device;
	uint32_t first_physical;
	uint32_t nr_physical;
	uint64_t outcomes[NRT_EMU_STATS_NR_OUTCOMES];
	uint64_t errors[NRT_EMU_STATS_NR_ERRORS];
	uint64_t activity[NRT_EMU_STATS_MAX_LNC];
	uint64_t host_bytes[NRT_EMU_STATS_NR_HOST];
	uint64_t device_bytes[NRT_EMU_STATS_NR_DEVICE];
	uint64_t reserved[7];
};

/*
 * The activity of a core is one word, so that it is always consistent: in the lower bits how many
 * jobs are submitted that are not known to have ended, above them a time in nanoseconds. The time
 * is the sum of the times at which there were none any more, less those at which there was one
 * again. All times are of CLOCK_MONOTONIC, modulo 2^56.
 */
#define NRT_EMU_STATS_JOB_BITS	8

/* How long the core has had a job at @now; only differences, modulo 2^56, say something. */
static inline uint64_t nrt_emu_stats_busy(uint64_t activity, uint64_t now)
{
	uint64_t ns = activity >> NRT_EMU_STATS_JOB_BITS;
	uint64_t mask = UINT64_MAX >> NRT_EMU_STATS_JOB_BITS;

	if (activity & ((1u << NRT_EMU_STATS_JOB_BITS) - 1))
		ns += now;
	return ns & mask;
}

/**
 * struct nrt_emu_stats_model - a loaded model (376 bytes)
 * @model_id: counts the models of the process from 1 on; 0: the row is free
 * @core: logical core, number in the machine
 * @device: chip, likewise
 * @nr_subgraphs: physical cores that it runs on
 * @running: gauge: executions that were asked for and have not ended; not under the sequence
 * @pad: zero
 * @uuid: first bytes of the hash of its NEFF
 * @device_bytes: of each subgraph, by enum nrt_emu_stats_device
 * @name: of its NEFF, with a NUL at the end
 */
struct nrt_emu_stats_model {
	uint32_t model_id;
	uint32_t core;
	uint32_t device;
	uint32_t nr_subgraphs;
	uint32_t running;
	uint32_t pad;
	uint8_t uuid[NRT_EMU_STATS_UUID];
	uint64_t device_bytes[NRT_EMU_STATS_MAX_LNC][NRT_EMU_STATS_NR_DEVICE];
	char name[NRT_EMU_STATS_MODEL];
};

#define NRT_EMU_STATS_EMBEDDED	(1u << 0)	/* the chips are in the process */

/**
 * struct nrt_emu_stats - the page
 * @magic: NRT_EMU_STATS_MAGIC
 * @version: NRT_EMU_STATS_VERSION
 * @nr_cores: logical cores in @cores
 * @size: bytes of the file
 * @init_ns: when the library was initialised, CLOCK_MONOTONIC; tells two pages of a process apart
 * @pid: the process, in its own namespace of pids
 * @flags: NRT_EMU_STATS_EMBEDDED or 0
 * @lnc: physical cores of a logical one
 * @nr_devices: chips of the machine
 * @device_cores: physical cores of a chip
 * @generation: 2, 3, 4
 * @device_bytes: memory of a chip
 * @device_name: e.g. "Trainium2", as all texts here with a NUL at the end
 * @instance: public name of the machine, or what it calls itself
 * @tag: NEURON_PROCESS_TAG, or no text
 * @latency: counters: executions that ended without an error, but perhaps a numerical one, in the
 *	buckets of nrt_emu_stats_bucket(); by enum nrt_emu_stats_latency
 * @models_seq: odd while @models changes
 * @models_left_out: gauge: models for which there was no row
 * @models: those that are loaded; free rows may lie between them
 * @cores: logical cores that the process owns
 */
struct nrt_emu_stats {
	uint64_t magic;
	uint32_t version;
	uint32_t nr_cores;
	uint64_t size;
	uint64_t init_ns;
	uint32_t pid;
	uint32_t flags;
	uint32_t lnc;
	uint32_t nr_devices;
	uint32_t device_cores;
	uint32_t generation;
	uint64_t device_bytes;
	char device_name[NRT_EMU_STATS_TEXT];
	char instance[NRT_EMU_STATS_TEXT];
	char tag[NRT_EMU_STATS_TAG];
	uint64_t latency[NRT_EMU_STATS_NR_LATENCIES][NRT_EMU_STATS_BUCKETS];
	uint32_t models_seq;
	uint32_t models_left_out;
	struct nrt_emu_stats_model models[NRT_EMU_STATS_MAX_MODELS];
	struct nrt_emu_stats_core cores[];
};

#endif /* NRT_EMU_STATS_H */
