/* SPDX-License-Identifier: MIT */
/*
 * The grammar of the fuzzer: every call that a program may make, and what its fields mean.
 *
 * A struct of the interface is a list of fields, which together have each of its bytes once;
 * test_ioctl_grammar sees to that, and that no ioctl is missing. Besides the driver's ioctls
 * there are those of DRM that reach the driver, and actions like mapping a buffer, which
 * have structs of their own here.
 */
#ifndef FUZZ_GRAMMAR_H
#define FUZZ_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

#include "drm/neuron_accel.h"

/* What calls give and other calls take. A program names them by their number. */
enum fuzz_resource {
	FUZZ_NO_RESOURCE,
	FUZZ_FILE,		/* open file of a device */
	FUZZ_BO,
	FUZZ_CLAIM,
	FUZZ_CORE,
	FUZZ_JOB,
	FUZZ_SYNC,		/* syncobj */
	FUZZ_FD,		/* grant, series, event file, dma-buf, sync file */
	FUZZ_GRANT,		/* handle of a grant */
	FUZZ_SERIES,		/* handle of a series of time groups */
	FUZZ_NR_RESOURCES
};

/* Which values a field is given. */
enum fuzz_kind {
	FUZZ_ZERO,		/* pads, reserved fields, what only the kernel writes */
	FUZZ_ENUM,		/* 0 to arg - 1 */
	FUZZ_FLAGS,		/* bits of arg */
	FUZZ_USE,		/* a resource; arg: which; 0: core, descriptor or grant */
	FUZZ_GIVE,		/* written by the kernel: a resource; arg: which */
	FUZZ_GIVE_CORES,	/* written by the kernel: a mask of cores */
	FUZZ_SIZE,		/* bytes */
	FUZZ_OFFSET,		/* bytes, multiple of arg */
	FUZZ_ROOM,		/* bytes of a place to write to */
	FUZZ_COUNT,		/* small number, at most arg */
	FUZZ_FEW,		/* the same, and never a large one */
	FUZZ_POINTER,		/* into the arena */
	FUZZ_ADDRESS,		/* as programs of a core write it: window and offset */
	FUZZ_DEADLINE,		/* see FUZZ_FROM_NOW */
	FUZZ_TIMEOUT,		/* ms */
	FUZZ_MASK,		/* any bits */
	FUZZ_ARRAY,		/* struct drm_neuron_array of element */
	FUZZ_STRUCT,		/* element itself */
	FUZZ_HANDLES,		/* pointer to arg resources, 4 bytes each, see FUZZ_NR_HANDLES */
	FUZZ_POINTS,		/* pointer to as many 64-bit numbers */
};

/* A deadline below this is so many nanoseconds from the call on. */
#define FUZZ_FROM_NOW		(1ull << 36)
/* Elements of each array of FUZZ_HANDLES and FUZZ_POINTS; counts beside them lie. */
#define FUZZ_NR_HANDLES		2

struct fuzz_struct;

/**
 * struct fuzz_field - a field, or several of one kind and size behind each other
 * @name: as the interface has it
 * @kind: enum fuzz_kind
 * @repeat: how many
 * @offset: of the first one in the struct
 * @size: bytes of one
 * @arg: by kind
 * @element: of ARRAY and STRUCT
 */
struct fuzz_field {
	const char *name;
	uint8_t kind;
	uint8_t repeat;
	uint16_t offset;
	uint16_t size;
	uint64_t arg;
	const struct fuzz_struct *element;
};

/**
 * struct fuzz_struct - a struct of the interface, or of this program
 * @name: for messages
 * @size: bytes
 * @nr_fields: of @fields
 * @fields: by offset
 */
struct fuzz_struct {
	const char *name;
	uint16_t size;
	uint16_t nr_fields;
	const struct fuzz_field *fields;
};

/* What is no ioctl of the device. */
enum fuzz_action {
	FUZZ_IOCTL,
	FUZZ_OPEN,
	FUZZ_MAP,
	FUZZ_IMAGE,
	FUZZ_CLOSE,
	FUZZ_READ,
	FUZZ_LOOK,
	FUZZ_RESET_DEVICE,
};

/**
 * struct fuzz_desc - a call
 * @name: of the ioctl without DRM_IOCTL_NEURON_, or of the action
 * @request: ioctl number; 0: an action
 * @action: enum fuzz_action
 * @weight: how often it is chosen, relative to others
 * @args: its struct
 */
struct fuzz_desc {
	const char *name;
	unsigned long request;
	uint8_t action;
	uint8_t weight;
	const struct fuzz_struct *args;
};

/* Bits of drm_neuron_job.sem_clear. */
struct fuzz_word {
	uint64_t bits;
};

/* Open a device once more. */
struct fuzz_open {
	uint32_t device;
	uint32_t file;
};

/* Map a buffer, touch some of it, and unmap it unless @keep. */
struct fuzz_map {
	uint32_t handle;
	uint32_t write;
	uint64_t offset;
	uint64_t size;
	uint32_t keep;
	uint32_t pad;
};

/* What a program of a core does; see FUZZ_IMAGE. */
enum fuzz_image_kind {
	FUZZ_IMAGE_HALT,
	FUZZ_IMAGE_SPIN,
	FUZZ_IMAGE_ILLEGAL,
	FUZZ_IMAGE_WAIT,	/* for a semaphore */
	FUZZ_IMAGE_POST,	/* to a semaphore window */
	FUZZ_IMAGE_NOTIFY,
	FUZZ_IMAGE_DMA,
	FUZZ_IMAGE_WILD,	/* arbitrary bytes */
	FUZZ_IMAGE_LOOP,	/* a short one, then the end */
	FUZZ_NR_IMAGES
};

/* Where an image has the program of an engine, and the rings of FUZZ_IMAGE_DMA. */
#define FUZZ_ENGINE_BYTES	0x1000
#define FUZZ_RINGS		0x8000
#define FUZZ_RING_LENGTH	32
#define FUZZ_IMAGE_BYTES	0x10000

/* Write a program for each engine into a buffer. */
struct fuzz_image {
	uint32_t handle;
	uint32_t kind;
	uint32_t seed;
	uint32_t engine;	/* this one does it, the others halt; NR_ENGINES: all do it */
};

/* Read or close a file descriptor. */
struct fuzz_fd {
	int32_t fd;
	uint32_t size;
};

/* Read a file that tells about the device or the open file. */
struct fuzz_look {
	uint32_t what;
	uint32_t pad;
};

/* Reset the device through sysfs. */
struct fuzz_reset_device {
	uint32_t device;
	uint32_t pad;
};

/* How programs name resources. */
extern const char *const fuzz_resource_names[FUZZ_NR_RESOURCES];

extern const struct fuzz_desc fuzz_calls[];
extern const unsigned int fuzz_nr_calls;

/* The index of the call @name of @length letters, or -1. */
int fuzz_call_named(const char *name, size_t length);

#endif /* FUZZ_GRAMMAR_H */
