/* SPDX-License-Identifier: MIT */
/*
 * A cell of the matrix of faults and collectives (cc_matrix.c): a collective of a few ranks during
 * which something fails, and what must become of each rank.
 */
#ifndef SELFTESTS_LIBNRT_CC_CELL_H
#define SELFTESTS_LIBNRT_CC_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include <nrt/nrt.h>

#include "plan/plan.h"

#define CELL_LIMIT_S	2	/* how long ranks wait for each other */
#define CELL_STATUSES	3
#define CELL_SAYS	2
#define CELL_TEXT	240

/* What fails. */
enum cell_what {
	CELL_FAULT,		/* an order to the chip */
	CELL_LINK,		/* links of the chip, while packets are on their way */
	CELL_NO_LINK,		/* the same, before the first packet */
	CELL_CALL,		/* a call of the kernel interface, once */
	CELL_GONE,		/* the rank does not come */
	CELL_LEAVES,		/* it joins another world while the others wait */
	CELL_KILLED,		/* its job is ended in the middle */
	CELL_LATE,		/* it comes late, and in time */
	CELL_TOO_LATE,		/* it comes when the others have given up */
	CELL_ODD_SIZE,		/* it says something else than the others */
	CELL_ODD_TYPE,
	CELL_ODD_REDUCTION,
	CELL_ODD_OPERATION,
	CELL_ODD_PLACE,
	CELL_ODD_ROOT,
	CELL_ODD_ORDER,		/* of the ranks in the group */
	CELL_ODD_GROUP,
};

/**
 * struct cell_row - a kind of fault
 * @name: of the row
 * @kind: as trn_fault_name() has it, or NULL
 * @what: what fails
 * @order: the order to the chip, the state of its links, or the call (cc_call.h). @cc,
 *	@cause, @stack and @input stand for what the rank has; with @input it is given for bytes
 *	all over the input
 * @also: another order before it, or NULL
 * @counted: it strikes once, at an opportunity that chance chooses; else always
 * @status: that ranks may fail with; the first one is NRT_SUCCESS: they all end well
 * @says: what each line about a failure has, unless it names whom a rank waits for
 * @may_pass: or all end well
 * @agree: the world stays as it is: the next collective works
 * @stays: what is broken remains so
 */
struct cell_row {
	const char *name;
	const char *kind;
	enum cell_what what;
	const char *order;
	const char *also;
	bool counted;
	NRT_STATUS status[CELL_STATUSES];
	const char *says[CELL_SAYS];
	bool may_pass;
	bool agree;
	bool stays;
};

enum cell_verdict {
	CELL_EMPTY,
	CELL_RIGHT,		/* all ranks ended well, with the right bits */
	CELL_FAILED,		/* all ranks failed, as they must */
	CELL_NOT_THERE,		/* the fault cannot strike there */
	CELL_WRONG,		/* @text says what is wrong */
};

/**
 * struct cell - a cell
 * @row, @op, @seed: what is tried
 * @verdict: what came of it
 * @status: of the rank that failed first; NRT_SUCCESS: none did
 * @ranks, @victim: how many, and the one that fails
 * @count, @dtype: of the collective
 * @opportunities, @skip: times that the fault could have struck, and those before it did
 * @ms: from the begin until all ranks had ended
 * @text: why a rank failed, or what is wrong
 */
struct cell {
	const struct cell_row *row;
	enum nrt_plan_op op;
	uint64_t seed;
	enum cell_verdict verdict;
	NRT_STATUS status;
	unsigned int ranks;
	unsigned int victim;
	uint64_t count;
	unsigned int dtype;
	uint64_t opportunities;
	uint64_t skip;
	unsigned int ms;
	char text[CELL_TEXT];
};

/* Try it, with chips of its own. A rank that hangs ends the process, with @cell filled. */
void cell_run(struct cell *cell);

#endif /* SELFTESTS_LIBNRT_CC_CELL_H */
