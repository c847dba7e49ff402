/* SPDX-License-Identifier: MIT */
/*
 * Running a program: in another process, with files and memory that are new for each program,
 * for a limited time.
 */
#ifndef FUZZ_EXECUTE_H
#define FUZZ_EXECUTE_H

#include <sys/types.h>

#include "cover.h"
#include "program.h"

#define FUZZ_NR_DEVICES	2

/* How a program ended. */
enum fuzz_end {
	FUZZ_END_DONE,
	FUZZ_END_KILLED,	/* it took too long, and was killed */
	FUZZ_END_DIED,		/* by a signal that nobody sent, or it could not begin */
	FUZZ_END_CLOSED,	/* the device cannot be opened */
	FUZZ_END_HUNG,		/* it was killed and does not go */
};

/* Bytes of the reason why a program died. */
#define FUZZ_WHY	128

/**
 * struct fuzz_result - what became of a program; the process that runs it writes it
 * @end: enum fuzz_end
 * @done: calls made, by all threads
 * @good: of them successful
 * @new_pcs: addresses that nothing has run before
 * @new_calls: calls up to the last one of them with a new address
 * @why: of a program that died: how the process ended, or what it could not do
 * @error: of each call, as the last thread that made it saw it: 0 or an errno
 * @us: of each call, how long it took then
 */
struct fuzz_result {
	uint32_t end;
	uint32_t done;
	uint32_t good;
	uint32_t new_pcs;
	uint32_t new_calls;
	char why[FUZZ_WHY];
	int32_t error[FUZZ_MAX_CALLS];
	uint32_t us[FUZZ_MAX_CALLS];
};

/* Bytes of the text of a program. */
#define FUZZ_TEXT	(256u << 10)

/**
 * struct fuzz_shared - memory of both processes
 * @result: of the program that runs, or ran
 * @text: the program
 */
struct fuzz_shared {
	struct fuzz_result result;
	char text[FUZZ_TEXT];
};

/**
 * struct fuzz_runner - the process that runs programs, as the other one sees it
 *
 * In the debug kernel a process costs more than most programs do. So one process runs them all,
 * until one takes too long or kills it.
 *
 * @device: paths of the nodes; the empty string: there is none
 * @cover: coverage of all programs
 * @shared: with the process
 * @fail: the kernel can let allocations fail
 * @pid: the process, 0: there is none
 * @pidfd: becomes readable when it has ended
 * @go: a byte to it: there is a program
 * @done: a byte from it: the program has ended
 */
struct fuzz_runner {
	char device[FUZZ_NR_DEVICES][64];
	struct fuzz_cover cover;
	struct fuzz_shared *shared;
	bool fail;
	pid_t pid;
	int pidfd;
	int go;
	int done;
};

/* 0 or a negative errno. */
int fuzz_runner_open(struct fuzz_runner *runner);
void fuzz_run(struct fuzz_runner *runner, const struct fuzz_program *program);

/* image.c: fill FUZZ_IMAGE_BYTES with the programs that @args wants. */
void fuzz_fill_image(uint8_t *image, const struct fuzz_image *args);

#endif /* FUZZ_EXECUTE_H */
