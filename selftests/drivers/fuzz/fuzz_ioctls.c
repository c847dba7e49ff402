// SPDX-License-Identifier: MIT
/*
 * fuzz-ioctls: programs of ioctls by chance; see --help. Those that reach a part of the driver
 * that nothing has reached before are kept and changed, again and again. The judge of what
 * happens is the kernel's log, which is copied into the log of programs, so that the line before
 * a report says what was running. In the end every device must hold what it held, and work.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "execute.h"
#include "job_rig.h"
#include "neuron_test.h"

#define SEEDS		"/usr/libexec/neuron/fuzz-ioctls.txt"
#define MAX_KEPT	4096
#define MAX_CLOSED	20	/* openings that fail in a row, before the device counts as lost */
#define LOG_BYTES	(64l << 20)
#define KERNEL_RECORD	8192
#define KERNEL_LINES	20	/* that are shown when a program has died */
#define KERNEL_LINE	160

/**
 * struct options - of the command line
 * @seconds: how long; 0: as @programs says
 * @programs: how many; 0: as @seconds says
 * @seed: of all that is left to chance
 * @every: seconds from one line to the next
 * @log: file for programs and lines of the kernel, NULL, or "-"
 * @curve: file for the coverage over time, or NULL
 * @seeds: file with the first programs
 * @kept: file for programs with new coverage; what it has is read at the start
 * @pcs: file for the addresses in the end, or NULL
 * @replay: file with programs to run instead, or NULL
 * @times: how often each
 */
struct options {
	unsigned long seconds;
	unsigned long programs;
	unsigned long seed;
	unsigned long every;
	const char *log;
	const char *curve;
	const char *seeds;
	const char *kept;
	const char *pcs;
	const char *replay;
	unsigned long times;
};

/**
 * struct fuzzer - a search
 * @options: of the command line
 * @runner: runs programs
 * @chance: for what comes next
 * @log: see struct options
 * @curve: see struct options
 * @kernel: /dev/kmsg, or -1
 * @lines: the last lines of it, line i at i modulo KERNEL_LINES
 * @nr_lines: lines of it so far
 * @kept: programs with coverage of their own
 * @nr_kept: of @kept
 * @start: when it began, ms
 * @ran: programs
 * @calls: of them
 * @good: calls that succeeded
 * @killed: programs that took too long
 * @died: programs that died of a signal
 * @closed: openings that failed in a row
 * @before: what each device held at the start
 */
struct fuzzer {
	struct options options;
	struct fuzz_runner runner;
	struct fuzz_chance chance;
	FILE *log;
	FILE *curve;
	int kernel;
	char lines[KERNEL_LINES][KERNEL_LINE];
	unsigned long nr_lines;
	struct fuzz_program *kept;
	unsigned int nr_kept;
	int64_t start;
	unsigned long ran;
	unsigned long calls;
	unsigned long good;
	unsigned long killed;
	unsigned long died;
	unsigned long closed;
	struct rig_usage before[FUZZ_NR_DEVICES];
};

static const char help[] =
	"Usage: fuzz-ioctls [OPTION]...\n"
	"\n"
	"Call the driver by chance and keep what reaches new parts of it (KCOV).\n"
	"\n"
	"  --seconds N      for N seconds (default 60)\n"
	"  --programs N     or N programs, whatever time they take\n"
	"  --seed N         of all that is left to chance (default 1)\n"
	"  --every N        a line about the state every N seconds (default 10)\n"
	"  --log FILE       write each program before it runs, and what the kernel says;\n"
	"                   '-' is the standard output. FILE.old has what is older than\n"
	"                   the last 64 MiB\n"
	"  --curve FILE     append the coverage over time as CSV\n"
	"  --seeds FILE     the first programs, if not those that are installed\n"
	"  --kept FILE      read programs to begin with, append those with new coverage\n"
	"  --pcs FILE       write the addresses that were reached\n"
	"  --replay FILE    run the programs of FILE, and say what their calls return\n"
	"  --times N        each of them N times (default 1)\n";

static double elapsed(const struct fuzzer *fuzzer)
{
	return (double)(rig_now_ms() - fuzzer->start) / 1000;
}

/* Lines of the kernel's log since the last call, into the log of programs. */
static void copy_kernel_log(struct fuzzer *fuzzer)
{
	char record[KERNEL_RECORD], *text;
	ssize_t length;

	if (fuzzer->kernel < 0)
		return;
	for (;;) {
		length = read(fuzzer->kernel, record, sizeof(record) - 1);
		/* Records that were lost: the next one can be read. */
		if (length < 0 && errno == EPIPE)
			continue;
		if (length <= 0)
			break;
		record[length] = '\0';
		text = strchr(record, ';');
		if (!text)
			continue;
		text[strcspn(text, "\n")] = '\0';
		snprintf(fuzzer->lines[fuzzer->nr_lines++ % KERNEL_LINES], KERNEL_LINE, "%s",
			 text + 1);
		if (fuzzer->log)
			fprintf(fuzzer->log, "# kernel: %s\n", text + 1);
	}
}

static void begin_new_log(struct fuzzer *fuzzer)
{
	char old[PATH_MAX];

	snprintf(old, sizeof(old), "%s.old", fuzzer->options.log);
	fclose(fuzzer->log);
	rename(fuzzer->options.log, old);
	fuzzer->log = fopen(fuzzer->options.log, "we");
}

/* On disk before the program runs: the machine may not survive it. */
static void log_program(struct fuzzer *fuzzer, const struct fuzz_program *program)
{
	if (!fuzzer->log)
		return;
	if (fuzzer->log != stdout && ftell(fuzzer->log) > LOG_BYTES)
		begin_new_log(fuzzer);
	if (!fuzzer->log)
		return;
	fprintf(fuzzer->log, "# program %lu\n", fuzzer->ran);
	fuzz_write(fuzzer->log, program);
	fflush(fuzzer->log);
}

/* What the log says of a program that has not come to its end. */
static void log_end(struct fuzzer *fuzzer, const struct fuzz_result *result)
{
	if (fuzzer->log && result->end == FUZZ_END_DIED)
		fprintf(fuzzer->log, "# died after %u calls: %s\n", result->done, result->why);
	else if (fuzzer->log && result->end != FUZZ_END_DONE)
		fprintf(fuzzer->log, "# stopped after %u calls\n", result->done);
}

/* What there is to find out why: neither this program nor the driver should kill one. */
static void print_death(const struct fuzzer *fuzzer, const struct fuzz_program *program)
{
	const struct fuzz_result *result = &fuzzer->runner.shared->result;
	unsigned long i = fuzzer->nr_lines > KERNEL_LINES ? fuzzer->nr_lines - KERNEL_LINES : 0;

	printf("fuzz-ioctls: program %lu died after %u calls: %s\n", fuzzer->ran, result->done,
	       result->why);
	fuzz_write(stdout, program);
	for (; i < fuzzer->nr_lines; i++)
		printf("# the kernel before that: %s\n", fuzzer->lines[i % KERNEL_LINES]);
	fflush(stdout);
}

/* Where the threads of a process that does not end are. */
static void print_stacks(pid_t pid)
{
	char path[64], text[4096];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stack", pid, entry->d_name);
		if (entry->d_name[0] != '.' && neuron_read_file(path, text, sizeof(text)) > 0)
			printf("# thread %s:\n%s", entry->d_name, text);
	}
	if (tasks)
		closedir(tasks);
	neuron_write_file("/proc/sysrq-trigger", "w");
	neuron_write_file("/proc/sysrq-trigger", "d");
}

/* False: the search cannot go on. */
static bool judge(struct fuzzer *fuzzer, const struct fuzz_program *program)
{
	const struct fuzz_result *result = &fuzzer->runner.shared->result;

	log_end(fuzzer, result);
	if (result->end == FUZZ_END_DIED)
		print_death(fuzzer, program);
	fuzzer->ran++;
	fuzzer->calls += result->done;
	fuzzer->good += result->good;
	fuzzer->killed += result->end == FUZZ_END_KILLED;
	fuzzer->died += result->end == FUZZ_END_DIED;
	fuzzer->closed = result->end == FUZZ_END_CLOSED ? fuzzer->closed + 1 : 0;
	if (result->end == FUZZ_END_HUNG) {
		printf("fuzz-ioctls: a program was killed and does not end:\n");
		fuzz_write(stdout, program);
		print_stacks(fuzzer->runner.pid);
		copy_kernel_log(fuzzer);
		return false;
	}
	if (fuzzer->closed < MAX_CLOSED)
		return true;
	printf("fuzz-ioctls: %s cannot be opened any more\n", fuzzer->runner.device[0]);
	return false;
}

static void keep(struct fuzzer *fuzzer, struct fuzz_program *program)
{
	const struct fuzz_result *result = &fuzzer->runner.shared->result;
	FILE *f;

	/* With threads the order was another one. */
	if (program->threads == 1 && result->new_calls)
		fuzz_program_cut(program, result->new_calls);
	if (fuzzer->options.kept) {
		f = fopen(fuzzer->options.kept, "ae");
		if (f)
			fuzz_write(f, program);
		if (!f || fclose(f))
			perror(fuzzer->options.kept);
	}
	if (fuzzer->nr_kept < MAX_KEPT)
		fuzz_program_copy(&fuzzer->kept[fuzzer->nr_kept++], program);
}

static bool run(struct fuzzer *fuzzer, struct fuzz_program *program)
{
	log_program(fuzzer, program);
	fuzz_run(&fuzzer->runner, program);
	copy_kernel_log(fuzzer);
	return judge(fuzzer, program);
}

static void print_state(struct fuzzer *fuzzer)
{
	double seconds = elapsed(fuzzer);
	unsigned int pcs = fuzz_cover_count(&fuzzer->runner.cover);

	printf("%7.0f s  %8lu programs  %6.1f/s  ", seconds, fuzzer->ran,
	       seconds > 0 ? (double)fuzzer->ran / seconds : 0);
	printf("%9lu calls, %2lu %% good  ", fuzzer->calls,
	       fuzzer->calls ? fuzzer->good * 100 / fuzzer->calls : 0);
	printf("%5u PCs  %4u kept  %4lu killed  %4lu died\n", pcs, fuzzer->nr_kept,
	       fuzzer->killed, fuzzer->died);
	fflush(stdout);
	if (!fuzzer->curve)
		return;
	fprintf(fuzzer->curve, "%.1f,%lu,%lu,%u,%u,%lu,%lu\n", seconds, fuzzer->ran, fuzzer->calls,
		pcs, fuzzer->nr_kept, fuzzer->killed, fuzzer->died);
	fflush(fuzzer->curve);
}

/* One that was kept, mostly one of the newer ones. */
static const struct fuzz_program *choose(struct fuzzer *fuzzer)
{
	unsigned int from = 0;

	if (fuzz_dice(&fuzzer->chance, 2))
		from = fuzzer->nr_kept / 2;
	return &fuzzer->kept[from + fuzz_dice(&fuzzer->chance, fuzzer->nr_kept - from)];
}

static void next_program(struct fuzzer *fuzzer, struct fuzz_program *program)
{
	*program = (struct fuzz_program){ 0 };
	if (!fuzzer->nr_kept || !fuzz_dice(&fuzzer->chance, 10)) {
		fuzz_generate(program, &fuzzer->chance);
		return;
	}
	fuzz_program_copy(program, choose(fuzzer));
	fuzz_mutate(program, choose(fuzzer), &fuzzer->chance);
}

static bool is_over(const struct fuzzer *fuzzer)
{
	if (fuzzer->options.programs)
		return fuzzer->ran >= fuzzer->options.programs;
	return elapsed(fuzzer) >= (double)fuzzer->options.seconds;
}

static bool search(struct fuzzer *fuzzer)
{
	double next = elapsed(fuzzer) + (double)fuzzer->options.every;
	struct fuzz_program program;
	bool fine = true;

	while (fine && !is_over(fuzzer)) {
		next_program(fuzzer, &program);
		fine = run(fuzzer, &program);
		if (fuzzer->runner.shared->result.new_pcs)
			keep(fuzzer, &program);
		fuzz_program_free(&program);
		if (elapsed(fuzzer) >= next) {
			print_state(fuzzer);
			next = elapsed(fuzzer) + (double)fuzzer->options.every;
		}
	}
	print_state(fuzzer);
	return fine;
}

/*
 * Run the programs of file @name and search from there, too. They are not appended to the file
 * of those that are kept: they are there already, or with the seeds.
 */
static bool begin_with(struct fuzzer *fuzzer, const char *name)
{
	const char *kept = fuzzer->options.kept;
	FILE *from = fopen(name, "re");
	struct fuzz_program program;
	char error[160];
	bool fine = true;
	int ret = 0;

	if (!from) {
		perror(name);
		return false;
	}
	fuzzer->options.kept = NULL;
	while (fine && (ret = fuzz_read(from, &program, error, sizeof(error))) > 0) {
		fine = run(fuzzer, &program);
		keep(fuzzer, &program);
		fuzz_program_free(&program);
	}
	fuzzer->options.kept = kept;
	fclose(from);
	if (ret < 0)
		fprintf(stderr, "fuzz-ioctls: %s: %s\n", name, error);
	return fine && ret >= 0;
}

static bool begin(struct fuzzer *fuzzer)
{
	const char *kept = fuzzer->options.kept;
	bool fine = begin_with(fuzzer, fuzzer->options.seeds);

	if (fine && kept && !access(kept, R_OK))
		fine = begin_with(fuzzer, kept);
	print_state(fuzzer);
	return fine;
}

static void print_calls(const struct fuzz_program *program, const struct fuzz_result *result)
{
	uint32_t i;

	for (i = 0; i < program->count; i++)
		printf("  %-24s %8u us  %s\n", fuzz_calls[program->call[i].id].name,
		       result->us[i], result->error[i] ? strerror(result->error[i]) : "0");
	printf("  %s, %u new PCs\n", result->end == FUZZ_END_DONE ? "done" :
	       result->end == FUZZ_END_KILLED ? "killed" : "died", result->new_pcs);
}

static bool replay(struct fuzzer *fuzzer)
{
	FILE *f = fopen(fuzzer->options.replay, "re");
	struct fuzz_program program;
	unsigned long i;
	char error[160];
	bool fine = true;
	int ret = 0;

	if (!f) {
		perror(fuzzer->options.replay);
		return false;
	}
	while (fine && (ret = fuzz_read(f, &program, error, sizeof(error))) > 0) {
		for (i = 0; i < fuzzer->options.times && fine; i++) {
			fine = run(fuzzer, &program);
			printf("program %lu\n", fuzzer->ran - 1);
			print_calls(&program, &fuzzer->runner.shared->result);
		}
		fuzz_program_free(&program);
	}
	fclose(f);
	if (ret < 0)
		fprintf(stderr, "fuzz-ioctls: %s: %s\n", fuzzer->options.replay, error);
	return fine && ret >= 0;
}

static bool works(unsigned int device)
{
	struct drm_neuron_wait_job result = { 0 };
	struct rig rig;
	int ret = rig_open(&rig, device, RIG_ANY_CORE);

	if (!ret) {
		rig_halt(&rig, NEURON_ENGINE_SYNC);
		ret = rig_run(&rig, 60000, &result);
		rig_close(&rig);
	}
	if (!ret && result.status == DRM_NEURON_JOB_OK)
		return true;
	printf("fuzz-ioctls: device %u does not work: error %d, status %u\n", device, ret,
	       result.status);
	return false;
}

/* Of each device what it holds, into the fuzzer or against it. */
static bool check_devices(struct fuzzer *fuzzer, bool first)
{
	bool fine = true;
	unsigned int i;
	int fd;

	for (i = 0; i < FUZZ_NR_DEVICES && fuzzer->runner.device[i][0]; i++) {
		fd = neuron_open(i);
		if (fd < 0) {
			printf("fuzz-ioctls: device %u cannot be opened: error %d\n", i, fd);
			return false;
		}
		if (first) {
			rig_usage(fd, &fuzzer->before[i]);
		} else if (rig_leaks(fd, &fuzzer->before[i])) {
			printf("fuzz-ioctls: device %u: a leak\n", i);
			fine = false;
		}
		close(fd);
		fine &= first || works(i);
	}
	return fine;
}

static bool open_files(struct fuzzer *fuzzer)
{
	const struct options *options = &fuzzer->options;

	if (options->log)
		fuzzer->log = strcmp(options->log, "-") ? fopen(options->log, "we") : stdout;
	if (options->curve)
		fuzzer->curve = fopen(options->curve, "ae");
	if ((options->log && !fuzzer->log) || (options->curve && !fuzzer->curve)) {
		perror("fuzz-ioctls: a file cannot be written");
		return false;
	}
	if (fuzzer->curve && !ftell(fuzzer->curve))
		fprintf(fuzzer->curve, "seconds,programs,calls,pcs,kept,killed,died\n");
	fuzzer->kernel = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fuzzer->kernel >= 0)
		lseek(fuzzer->kernel, 0, SEEK_END);
	return true;
}

static bool open_all(struct fuzzer *fuzzer)
{
	int ret;

	if (!open_files(fuzzer))
		return false;
	ret = fuzzer->kept ? fuzz_runner_open(&fuzzer->runner) : -ENOMEM;
	if (ret) {
		fprintf(stderr, "fuzz-ioctls: no device of the driver neuron: %s\n",
			strerror(-ret));
		return false;
	}
	ret = fuzz_cover_open(&fuzzer->runner.cover);
	if (ret < 0) {
		fprintf(stderr, "fuzz-ioctls: KCOV: %s\n", strerror(-ret));
		return false;
	}
	if (ret)
		printf("# the kernel has no KCOV: the search is blind\n");
	if (!fuzzer->runner.fail)
		printf("# the kernel lets no allocation fail\n");
	fuzzer->chance.state = fuzzer->options.seed;
	fuzzer->start = rig_now_ms();
	return check_devices(fuzzer, true);
}

/**
 * struct known - an option
 * @name: without the dashes
 * @number: where its number goes, or NULL
 * @text: where its text goes, or NULL
 */
struct known {
	const char *name;
	unsigned long *number;
	const char **text;
};

static bool set(const struct known *known, const char *value)
{
	char *end;

	if (known->text) {
		*known->text = value;
		return true;
	}
	*known->number = strtoul(value, &end, 0);
	if (!*end && end != value)
		return true;
	fprintf(stderr, "fuzz-ioctls: --%s needs a number, not '%s'\n", known->name, value);
	return false;
}

static bool parse(struct options *options, int argc, char **argv)
{
	const struct known known[] = {
		{ "seconds", &options->seconds, NULL }, { "programs", &options->programs, NULL },
		{ "seed", &options->seed, NULL }, { "every", &options->every, NULL },
		{ "times", &options->times, NULL }, { "log", NULL, &options->log },
		{ "curve", NULL, &options->curve }, { "seeds", NULL, &options->seeds },
		{ "kept", NULL, &options->kept },
		{ "pcs", NULL, &options->pcs }, { "replay", NULL, &options->replay },
	};
	const size_t count = sizeof(known) / sizeof(known[0]);
	size_t k;
	int i;

	for (i = 1; i < argc; i += 2) {
		for (k = 0; k < count; k++)
			if (!strncmp(argv[i], "--", 2) && !strcmp(argv[i] + 2, known[k].name))
				break;
		if (k == count || i + 1 == argc) {
			fprintf(stderr, "fuzz-ioctls: %s '%s'; --help lists the options\n",
				k == count ? "no option" : "nothing follows", argv[i]);
			return false;
		}
		if (!set(&known[k], argv[i + 1]))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct fuzzer fuzzer = {
		.options = {
			.seconds = 60, .seed = 1, .every = 10, .times = 1, .seeds = SEEDS,
		},
		.kept = calloc(MAX_KEPT, sizeof(struct fuzz_program)),
	};
	bool fine;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(help, stdout);
		return 0;
	}
	if (!parse(&fuzzer.options, argc, argv))
		return 2;
	if (!open_all(&fuzzer))
		return 1;
	if (fuzzer.options.replay)
		fine = replay(&fuzzer);
	else
		fine = begin(&fuzzer) && search(&fuzzer);
	fine = check_devices(&fuzzer, false) && fine;
	copy_kernel_log(&fuzzer);
	if (fuzzer.options.pcs && fuzz_cover_save(&fuzzer.runner.cover, fuzzer.options.pcs)) {
		perror(fuzzer.options.pcs);
		fine = false;
	}
	printf("# %lu programs, seed %lu: %s\n", fuzzer.ran, fuzzer.options.seed,
	       fine ? "fine" : "something is wrong");
	return fine ? 0 : 1;
}
