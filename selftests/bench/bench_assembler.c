// SPDX-License-Identifier: MIT
/*
 * Assembler, builder library and disassembler: instructions in a second of processor time up to
 * the packed NEFF, the same of a program of a tenth, the host's pace at cutting such a text into
 * words, and the memory that each instruction takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "as.h"
#include "figure.h"

#define LARGE		400000u
#define SMALL		(LARGE / 10)
#define MEMORY_LARGE	1000000u
#define MEMORY_SMALL	100000u

#define GOAL_RATE	2.0	/* million instructions a second */
#define GOAL_LINEAR	0.8	/* of the rate of a small program, which fits the caches */
#define GOAL_BYTES	400.0

/* What programs are made of, one line each. */
static const char *const lines[] = {
	"\ttensor_tensor.add sbuf[0:128, 0x1000 : 512 fp32], sbuf[0:128, 0x0 : 512 fp32], sbuf[0:128, 0x800 : 512 fp32] wait a >= 1\n",
	"\treg_alu.add r1, r1, 4\n",
	"\tcopy sbuf[0:128, 64 : 8*16@32 bf16], psum[0:128, 0 : 128 fp32] post b += 1\n",
	"\ttensor_scalar.multiply.add sbuf[0:64, 0x2000 : 128 fp32], sbuf[0:64, 0x2000 : 128 fp32], 0.5, 1.25\n",
	"\tmemset sbuf[0:128, 0 + r1 : 64 fp32], 1.5\n",
	"\tnop wait b >= 3\n",
	"\tnotify 7\n",
	"\tloop r2, start\n",
};

#define NR_LINES	(sizeof(lines) / sizeof(lines[0]))

static void fail(const char *what)
{
	fprintf(stderr, "bench-assembler: %s\n", what);
	exit(1);
}

struct text {
	char *text;
	size_t size;
};

static struct text make_text(unsigned int count)
{
	static const char head[] =
		".program bench\n.input x bf16 128*512\n.sem a\n.sem b\n.engine vector\nstart:\n";
	size_t room = sizeof(head) + 16, i;
	struct text out;
	char *at;

	for (i = 0; i < count; i++)
		room += strlen(lines[i % NR_LINES]);
	out.text = malloc(room);
	if (!out.text)
		fail("out of memory");
	at = stpcpy(out.text, head);
	for (i = 1; i < count; i++)
		at = stpcpy(at, lines[i % NR_LINES]);
	at = stpcpy(at, "\thalt\n");
	out.size = (size_t)(at - out.text);
	return out;
}

static struct nb_program *make_program(const struct text *text)
{
	const struct as_options options = { .file = "bench.s" };
	struct nb_program *nb = as_assemble(text->text, text->size, &options);

	if (!nb)
		fail("the program does not assemble");
	return nb;
}

static size_t pack(struct nb_program *nb, void **neff)
{
	size_t size;

	if (nb_pack(nb, neff, &size))
		fail(nb_error(nb));
	return size;
}

static double time_assembler(const struct text *text)
{
	double begin = figure_thread_now(), end;
	struct nb_program *nb = make_program(text);
	void *neff;

	pack(nb, &neff);
	end = figure_thread_now();
	nb_free(nb);
	free(neff);
	return end - begin;
}

static void build(struct nb_program *nb, unsigned int i)
{
	const struct neuron_ap a = nb_tile(0, 128, 0, NEURON_DTYPE_FP32, 512);
	const struct neuron_ap b = nb_tile(0, 128, 0x1000, NEURON_DTYPE_FP32, 512);

	nb_source(nb, "bench.c", i + 1);
	if (i % 2)
		nb_wait(nb_tensor_tensor(nb, NEURON_ENGINE_VECTOR, NEURON_ALU_ADD, b, a, b), 0, 1);
	else
		nb_post(nb_copy(nb, NEURON_ENGINE_SCALAR, a, b), 0, 1);
}

static double time_builder(unsigned int count)
{
	double begin = figure_thread_now(), end;
	struct nb_program *nb = nb_new("bench");
	unsigned int i;
	void *neff;

	if (!nb)
		fail("out of memory");
	nb_sem(nb, false);
	for (i = 0; i < count; i++)
		build(nb, i);
	pack(nb, &neff);
	end = figure_thread_now();
	nb_free(nb);
	free(neff);
	return end - begin;
}

static double time_disassembler(const void *neff, size_t size)
{
	char error[AS_ERROR_MAX];
	double begin = figure_thread_now();
	char *text = as_disassemble(neff, size, NULL, error);

	if (!text)
		fail(error);
	free(text);
	return figure_thread_now() - begin;
}

/* The baseline: words between blanks and commas, with the C library. */
static double time_words(const struct text *text)
{
	const char *p = text->text, *end = p + text->size;
	double begin = figure_thread_now();
	volatile size_t words = 0;

	while (p < end) {
		p += strspn(p, " \t\n,:[]");
		p += strcspn(p, " \t\n,:[]");
		words = words + 1;
	}
	return figure_thread_now() - begin;
}

static void measure_rates(struct figures *figures, unsigned int rounds)
{
	double as[FIGURE_MAX_ROUNDS], small[FIGURE_MAX_ROUNDS], words[FIGURE_MAX_ROUNDS];
	double nb[FIGURE_MAX_ROUNDS], dis[FIGURE_MAX_ROUNDS];
	const struct text text = make_text(LARGE), little = make_text(SMALL);
	struct nb_program *program = make_program(&text);
	size_t size;
	unsigned int i;
	void *neff;

	size = pack(program, &neff);
	nb_free(program);
	for (i = 0; i < rounds; i++) {
		as[i] = time_assembler(&text);
		small[i] = time_assembler(&little);
		words[i] = time_words(&text);
		nb[i] = time_builder(LARGE);
		dis[i] = time_disassembler(neff, size);
	}
	figure_rates(as, rounds, LARGE * 1e-6);
	figure_rates(small, rounds, SMALL * 1e-6);
	figure_rates(words, rounds, LARGE * 1e-6);
	figure_rates(nb, rounds, LARGE * 1e-6);
	figure_rates(dis, rounds, LARGE * 1e-6);
	figures_add(figures, (struct figure){
		.name = "assembler", .unit = "Minst/s", .goal = GOAL_RATE,
	}, as, NULL, rounds);
	figures_add(figures, (struct figure){
		.name = "assembler_beside_words", .unit = "Minst/s", .goal = FIGURE_NONE,
	}, as, words, rounds);
	figures_add(figures, (struct figure){
		.name = "assembler_beside_a_tenth", .unit = "Minst/s", .goal = GOAL_LINEAR,
	}, as, small, rounds);
	figures_add(figures, (struct figure){
		.name = "builder", .unit = "Minst/s", .goal = GOAL_RATE,
	}, nb, NULL, rounds);
	figures_add(figures, (struct figure){
		.name = "disassembler", .unit = "Minst/s", .goal = FIGURE_NONE,
	}, dis, NULL, rounds);
	free(neff);
	free(text.text);
	free(little.text);
}

/* From the text in memory to the file, as neuron-as does it. */
static int assemble_to_file(unsigned int count, const char *path)
{
	const struct text text = make_text(count);
	struct nb_program *nb = make_program(&text);

	return nb_write(nb, path) ? 1 : 0;
}

/* The most memory that a process of its own has had, in bytes. */
static double peak(unsigned int count, const char *path)
{
	struct rusage usage;
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		fail("cannot fork");
	if (!pid)
		_exit(assemble_to_file(count, path));
	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		fail("the program cannot be written");
	return usage.ru_maxrss * 1024.0;
}

static void measure_memory(struct figures *figures)
{
	char path[] = "/tmp/bench-assembler-XXXXXX";
	int fd = mkstemp(path);
	double bytes;

	if (fd < 0)
		fail("no temporary file");
	close(fd);
	bytes = (peak(MEMORY_LARGE, path) - peak(MEMORY_SMALL, path)) /
		(MEMORY_LARGE - MEMORY_SMALL);
	unlink(path);
	figures_add_one(figures, (struct figure){
		.name = "assembler_memory", .unit = "B/inst", .goal = GOAL_BYTES,
		.lower_is_better = true,
	}, bytes);
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	static struct figures figures;

	/* First, while this process has little memory itself. */
	measure_memory(&figures);
	measure_rates(&figures, options.rounds);
	return figures_report(&figures, options.json) ? 1 : 0;
}
