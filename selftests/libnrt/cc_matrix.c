// SPDX-License-Identifier: MIT
/*
 * Every kind of fault, with every collective: on chips in the process, each cell with chips of
 * its own. The kinds are those of the chip (trn_fault_name()), links, calls of the driver, and
 * ranks that do not do what they should; the operations are those of the plan. A kind without a
 * row, and a cell in which nothing was tried and for which no reason stands below, is a failure.
 *
 * The table is written to FILE.txt, and to FILE.tsv for programs.
 *
 *	cc-matrix FILE [SEED]
 *
 * CMOCKA_TEST_FILTER names the rows to try.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cc_cell.h"
#include "trn/fault.h"

#define OPS	NRT_PLAN_NR_OPS
#define ALL_OPS	((1u << OPS) - 1)
/* Processes at a time: mostly they wait. */
#define WORKERS	11
#define COLUMN	17

#define OP(name)	(1u << NRT_PLAN_##name)

static const struct cell_row rows[] = {
	/* --- The chip --- */
	{ .name = "dma-lost", .kind = "dma-lost", .order = "dma-lost", .counted = true,
	  .status = { NRT_TIMEOUT } },
	{ .name = "dma-late", .kind = "dma-late", .order = "dma-late,delay=20ms",
	  .counted = true },
	{ .name = "dma-dup", .kind = "dma-dup", .order = "dma-dup", .counted = true },
	{ .name = "dma-abort", .kind = "dma-abort", .order = "dma-abort", .counted = true,
	  .status = { NRT_EXEC_HW_ERR_DMA_ABORT } },
	{ .name = "engine-hang", .kind = "engine-hang", .order = "engine-hang,cc=@cc,engine=sync",
	  .counted = true, .status = { NRT_TIMEOUT } },
	{ .name = "doorbell-lost", .kind = "doorbell-lost", .order = "doorbell-lost,cc=@cc",
	  .counted = true, .status = { NRT_TIMEOUT },
	  .says = { "before step 0: its CC-core has not begun" } },
	{ .name = "reset-fail", .kind = "reset-fail", .order = "dma-lost", .counted = true,
	  .also = "reset-fail,cc=@cc,count=1", .stays = true, .status = { NRT_TIMEOUT },
	  .says = { "the reset of its CC-core is not over" } },
	{ .name = "reset-fail-hang", .kind = "reset-fail",
	  .order = "engine-hang,cc=@cc,engine=sync", .counted = true,
	  .also = "reset-fail,cc=@cc,count=1", .stays = true, .status = { NRT_TIMEOUT } },
	{ .name = "reg-stuck", .kind = "reg-stuck", .order = "reg-stuck,offset=@cause,value=0",
	  .status = { NRT_TIMEOUT } },
	{ .name = "reg-flip", .kind = "reg-flip", .order = "reg-flip,offset=@cause,mask=1",
	  .counted = true, .may_pass = true, .status = { NRT_HW_ERROR } },
	{ .name = "mailbox-dead", .kind = "mailbox-dead", .order = "mailbox-dead",
	  .counted = true },
	{ .name = "irq-lost", .kind = "irq-lost", .order = "irq-lost", .counted = true },
	{ .name = "irq-storm", .kind = "irq-storm", .order = "irq-storm,times=100",
	  .counted = true },
	/* It may strike a look at the job that the chip does again. */
	{ .name = "host-read-fail", .kind = "host-read-fail", .order = "host-read-fail",
	  .counted = true, .may_pass = true,
	  .status = { NRT_HW_ERROR, NRT_EXEC_HW_ERR_DMA_ABORT } },
	{ .name = "host-write-fail", .kind = "host-write-fail", .order = "host-write-fail",
	  .counted = true, .status = { NRT_HW_ERROR, NRT_EXEC_HW_ERR_DMA_ABORT } },
	{ .name = "record-flip", .kind = "record-flip",
	  .order = "record-flip,offset=0,mask=0xffff", .counted = true,
	  .status = { NRT_HW_ERROR } },
	{ .name = "ecc", .kind = "ecc", .order = "ecc,stack=@stack,offset=@input",
	  .status = { NRT_EXEC_HW_ERR_HBM_UE } },
	{ .name = "ecc-correctable", .kind = "ecc",
	  .order = "ecc,stack=@stack,offset=@input,kind=correctable" },
	{ .name = "ecc-sram", .kind = "ecc", .order = "ecc,sram" },
	{ .name = "throttle", .kind = "throttle", .order = "throttle,percent=10" },
	/* --- Links --- */
	{ .name = "link-down", .what = CELL_LINK, .order = "down",
	  .status = { NRT_EXEC_HW_ERR_COLLECTIVES },
	  .says = { " step", "the fabric does not lead from chip " } },
	{ .name = "link-gone", .what = CELL_NO_LINK, .order = "down",
	  .status = { NRT_EXEC_HW_ERR_COLLECTIVES },
	  .says = { "before step 0", "the fabric does not lead from chip " } },
	{ .name = "link-slow", .what = CELL_LINK, .order = "slow:10" },
	/* --- Calls of the driver --- */
	{ .name = "call-submit", .what = CELL_CALL, .order = "submit", .counted = true,
	  .status = { NRT_RESOURCE, NRT_FAILURE } },
	{ .name = "call-bo-create", .what = CELL_CALL, .order = "bo-create", .counted = true,
	  .status = { NRT_RESOURCE, NRT_FAILURE } },
	{ .name = "call-bo-export", .what = CELL_CALL, .order = "bo-export", .counted = true,
	  .status = { NRT_RESOURCE, NRT_FAILURE } },
	{ .name = "call-bo-import", .what = CELL_CALL, .order = "bo-import", .counted = true,
	  .status = { NRT_RESOURCE, NRT_FAILURE } },
	{ .name = "call-grant", .what = CELL_CALL, .order = "grant", .counted = true,
	  .status = { NRT_RESOURCE, NRT_FAILURE } },
	{ .name = "call-grant-import", .what = CELL_CALL, .order = "grant-import",
	  .counted = true, .status = { NRT_RESOURCE, NRT_FAILURE } },
	/* --- Ranks --- */
	{ .name = "rank-gone", .what = CELL_GONE, .status = { NRT_TIMEOUT } },
	{ .name = "rank-leaves", .what = CELL_LEAVES, .status = { NRT_FAILURE } },
	{ .name = "rank-killed", .what = CELL_KILLED, .status = { NRT_HW_ERROR } },
	{ .name = "rank-late", .what = CELL_LATE },
	{ .name = "rank-too-late", .what = CELL_TOO_LATE, .status = { NRT_TIMEOUT } },
	{ .name = "other-size", .what = CELL_ODD_SIZE, .agree = true,
	  .status = { NRT_INVALID } },
	{ .name = "other-type", .what = CELL_ODD_TYPE, .agree = true,
	  .status = { NRT_INVALID } },
	{ .name = "other-reduction", .what = CELL_ODD_REDUCTION, .agree = true,
	  .status = { NRT_INVALID } },
	{ .name = "other-operation", .what = CELL_ODD_OPERATION, .agree = true,
	  .status = { NRT_INVALID } },
	{ .name = "other-place", .what = CELL_ODD_PLACE, .agree = true,
	  .status = { NRT_INVALID } },
	{ .name = "other-root", .what = CELL_ODD_ROOT, .agree = true,
	  .status = { NRT_INVALID } },
	{ .name = "other-order", .what = CELL_ODD_ORDER, .status = { NRT_TIMEOUT } },
	{ .name = "other-group", .what = CELL_ODD_GROUP, .status = { NRT_TIMEOUT } },
};

#define ROWS	(sizeof(rows) / sizeof(rows[0]))

/**
 * struct reason - why a kind of fault cannot strike
 * @row: which kind
 * @ops: in which operations
 * @without: in an operation that lacks this
 * @with: in an operation that has this
 */
struct reason {
	const char *row;
	unsigned int ops;
	bool (*without)(enum nrt_plan_op op);
	bool (*with)(enum nrt_plan_op op);
	const char *why;
};

static const struct reason reasons[] = {
	{ "mailbox-dead", ALL_OPS, .why = "no collective talks to the firmware" },
	{ "ecc", OP(BARRIER), .why = "a barrier reads no tensor" },
	{ "ecc-correctable", OP(BARRIER), .why = "a barrier reads no tensor" },
	{ "call-bo-export", OP(BARRIER) | OP(BROADCAST),
	  .why = "neither a barrier nor the root of a broadcast shows memory" },
	{ "call-bo-import", OP(BARRIER), .why = "a barrier shows no memory" },
	{ "other-reduction", .without = nrt_plan_can_reduce, .why = "it reduces nothing" },
	{ "other-place", .with = nrt_plan_varies,
	  .why = "input and output are never the same memory" },
};

#define REASONS	(sizeof(reasons) / sizeof(reasons[0]))

/**
 * struct matrix - what all processes see
 * @running: the cell that the process of a column tries, or NULL
 */
struct matrix {
	struct cell cell[ROWS][OPS];
	struct cell *running[OPS];
};

static bool is_of(const struct reason *reason, enum nrt_plan_op op)
{
	return reason->ops >> op & 1 || (reason->without && !reason->without(op)) ||
	       (reason->with && reason->with(op));
}

static const char *reason_of(const struct cell *cell)
{
	unsigned int i;

	for (i = 0; i < REASONS; i++)
		if (!strcmp(reasons[i].row, cell->row->name) && is_of(&reasons[i], cell->op))
			return reasons[i].why;
	return NULL;
}

/* --- Trying --- */

static bool is_wanted(const struct cell_row *row)
{
	const char *filter = getenv("CMOCKA_TEST_FILTER");

	return !filter || !fnmatch(filter, row->name, 0);
}

/* Whether a fault could strike shows only an order that is counted. */
static void try_cell(struct cell *cell)
{
	if (reason_of(cell) && !cell->row->counted) {
		cell->verdict = CELL_NOT_THERE;
		return;
	}
	cell_run(cell);
	if (cell->verdict != CELL_NOT_THERE && cell->verdict != CELL_WRONG && reason_of(cell)) {
		cell->verdict = CELL_WRONG;
		snprintf(cell->text, sizeof(cell->text), "it can strike, although: %s",
			 reason_of(cell));
	}
	if (cell->verdict == CELL_NOT_THERE && !reason_of(cell)) {
		cell->verdict = CELL_EMPTY;
		snprintf(cell->text, sizeof(cell->text),
			 "it cannot strike, and no reason is there");
	}
}

/* All rows of a column that have not been tried; a rank that hangs ends the process. */
static void try_column(struct matrix *matrix, unsigned int op)
{
	struct cell *cell;
	unsigned int r;

	for (r = 0; r < ROWS; r++) {
		cell = &matrix->cell[r][op];
		if (!cell->row || cell->verdict != CELL_EMPTY || *cell->text)
			continue;
		matrix->running[op] = cell;
		try_cell(cell);
		matrix->running[op] = NULL;
	}
}

static pid_t begin_column(struct matrix *matrix, unsigned int op)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	try_column(matrix, op);
	/* Not _exit(): a sanitizer looks for memory that was lost. */
	exit(0);
}

/* The last cell of a column that is tried. */
static struct cell *last_of(struct matrix *matrix, unsigned int op)
{
	struct cell *last = NULL;
	unsigned int r;

	for (r = 0; r < ROWS; r++)
		if (matrix->cell[r][op].row)
			last = &matrix->cell[r][op];
	return last;
}

/*
 * The process of a column has ended with @status. True: in the middle of a cell, so another one
 * must try the rest. Memory that was lost is found behind the last cell.
 */
static bool has_ended(struct matrix *matrix, unsigned int op, int status)
{
	struct cell *cell = matrix->running[op];
	bool again = cell;

	if (!cell && status)
		cell = last_of(matrix, op);
	matrix->running[op] = NULL;
	/* That of a rank that hangs says so. */
	if (cell && cell->verdict != CELL_WRONG) {
		cell->verdict = CELL_WRONG;
		snprintf(cell->text, sizeof(cell->text), "the process ended %s (0x%x)",
			 again ? "in it" : "behind it", (unsigned int)status);
	}
	return again;
}

static void try_all(struct matrix *matrix)
{
	unsigned int running = 0, next = 0, op;
	pid_t pids[OPS] = { 0 }, pid;
	int status;

	while (running || next < OPS) {
		if (running < WORKERS && next < OPS) {
			pids[next] = begin_column(matrix, next);
			running += pids[next] > 0;
			next++;
			continue;
		}
		pid = wait(&status);
		for (op = 0; op < OPS && pids[op] != pid; op++)
			;
		if (op == OPS)
			continue;
		pids[op] = has_ended(matrix, op, status) ? begin_column(matrix, op) : 0;
		running -= pids[op] <= 0;
	}
}

/* --- Telling --- */

/* Its name without what many begin with, which a column has no room for. */
static const char *status_text(NRT_STATUS status)
{
	static const char *const begins[] = { "NRT_EXEC_HW_ERR_", "NRT_" };
	const char *name = nrt_get_status_as_str(status);
	unsigned int i;

	for (i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return name + strlen(begins[i]);
	return name;
}

static const char *verdict_text(const struct cell *cell)
{
	switch (cell->verdict) {
	case CELL_EMPTY:
		return "EMPTY";
	case CELL_RIGHT:
		return "right bits";
	case CELL_NOT_THERE:
		return "-";
	case CELL_WRONG:
		return "WRONG";
	case CELL_FAILED:
		break;
	}
	return status_text(cell->status);
}

static bool is_well(const struct cell *cell)
{
	return cell->verdict == CELL_RIGHT || cell->verdict == CELL_FAILED ||
	       cell->verdict == CELL_NOT_THERE;
}

static void print_table(FILE *file, const struct matrix *matrix)
{
	unsigned int r, op, i;

	fprintf(file, "%-*s", COLUMN, "");
	for (op = 0; op < OPS; op++)
		fprintf(file, " %-*s", COLUMN - 1, nrt_plan_op_name((enum nrt_plan_op)op));
	fputc('\n', file);
	for (r = 0; r < ROWS; r++) {
		fprintf(file, "%-*s", COLUMN, rows[r].name);
		for (op = 0; op < OPS; op++)
			fprintf(file, " %-*s", COLUMN - 1, verdict_text(&matrix->cell[r][op]));
		fputc('\n', file);
	}
	fputc('\n', file);
	for (i = 0; i < REASONS; i++)
		fprintf(file, "- %s: %s\n", reasons[i].row, reasons[i].why);
}

static void print_cells(FILE *file, const struct matrix *matrix)
{
	unsigned int r, op;

	fprintf(file, "fault\toperation\tverdict\tseed\tranks\tvictim\tcount\tdtype\t"
		"opportunities\tskip\tms\ttext\n");
	for (r = 0; r < ROWS; r++) {
		for (op = 0; op < OPS; op++) {
			const struct cell *cell = &matrix->cell[r][op];

			if (!cell->row)
				continue;
			fprintf(file, "%s\t%s\t%s\t%llu\t%u\t%u\t%llu\t0x%x\t%llu\t%llu\t%u\t%s\n",
				cell->row->name, nrt_plan_op_name(cell->op), verdict_text(cell),
				(unsigned long long)cell->seed, cell->ranks, cell->victim,
				(unsigned long long)cell->count, cell->dtype,
				(unsigned long long)cell->opportunities,
				(unsigned long long)cell->skip, cell->ms, cell->text);
		}
	}
}

static bool write_file(const char *name, const char *end, const struct matrix *matrix,
		       void (*print)(FILE *file, const struct matrix *matrix))
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", name, end);
	file = fopen(path, "w");
	if (!file) {
		printf("# %s: %s\n", path, strerror(errno));
		return false;
	}
	print(file, matrix);
	printf("# %s\n", path);
	return !fclose(file);
}

static unsigned int print_row(const struct matrix *matrix, unsigned int r)
{
	unsigned int op, bad = 0;

	for (op = 0; op < OPS; op++) {
		const struct cell *cell = &matrix->cell[r][op];

		if (is_well(cell))
			continue;
		bad++;
		printf("# %s, seed %llu: %s: %s\n", nrt_plan_op_name(cell->op),
		       (unsigned long long)cell->seed, verdict_text(cell), cell->text);
	}
	return bad;
}

/* Every kind that the chip knows has a row. */
static bool has_all_kinds(void)
{
	bool all = true;
	const char *name;
	unsigned int n, r;

	for (n = 0; (name = trn_fault_name(n)); n++) {
		for (r = 0; r < ROWS; r++)
			if (rows[r].kind && !strcmp(rows[r].kind, name))
				break;
		if (r < ROWS)
			continue;
		printf("# there is no row for %s\n", name);
		all = false;
	}
	return all;
}

static unsigned int print_results(const struct matrix *matrix, const char *file)
{
	unsigned int r, nr = 0, bad = 0, good;

	for (r = 0; r < ROWS; r++) {
		if (!is_wanted(&rows[r]))
			continue;
		good = !print_row(matrix, r);
		bad += !good;
		printf("%sok %u - %s\n", good ? "" : "not ", ++nr, rows[r].name);
	}
	good = has_all_kinds();
	bad += !good;
	printf("%sok %u - kinds\n", good ? "" : "not ", ++nr);
	good = write_file(file, ".txt", matrix, print_table) &&
	       write_file(file, ".tsv", matrix, print_cells);
	bad += !good;
	nr++;
	printf("%sok %u - files\n1..%u\n", good ? "" : "not ", nr, nr);
	return bad;
}

int main(int argc, char **argv)
{
	unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct matrix *matrix;
	unsigned int r, op;

	if (argc < 2) {
		fprintf(stderr, "cc-matrix FILE [SEED]\n");
		return 2;
	}
	matrix = mmap(NULL, sizeof(*matrix), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (matrix == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	setenv("NEURON_RT_BACKEND", "embedded", 1);
	setenv("NEURON_EMU_INSTANCE", "trn2:4", 1);
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 1);
	setenv("NEURON_RT_EXEC_TIMEOUT", "2", 1);
	setenv("NEURON_RT_LOG_LEVEL", "QUIET", 0);
	printf("TAP version 13\n# seed %llu\n", seed);
	fflush(stdout);
	for (r = 0; r < ROWS; r++)
		for (op = 0; is_wanted(&rows[r]) && op < OPS; op++)
			matrix->cell[r][op] = (struct cell){
				.row = &rows[r], .op = (enum nrt_plan_op)op,
				.seed = seed * 1000003 + r * OPS + op,
			};
	try_all(matrix);
	return !!print_results(matrix, argv[1]);
}
