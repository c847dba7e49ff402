// SPDX-License-Identifier: MIT
/*
 * Assembler, builder library and disassembler: instructions in a second of processor time up to
 * the packed NEFF, the same of a program of a tenth, the host's pace at cutting such a text into
 * words, and the memory that each instruction takes. The builder is measured with waits written
 * by hand, with those that it makes itself (auto), and with nb_schedule() before these: a program
 * that is one region, and one that has a region every few instructions.
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
#define SCHEDULED	100000u
#define MEMORY		1000000u

#define GOAL_RATE	2.0	/* million instructions a second */
#define GOAL_LINEAR	0.8	/* of the rate of a small program, which fits the caches */
#define GOAL_SCHEDULE	0.6	/* the same; heaps are deeper, too, and all nodes are in memory */
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

/* The program's end; @begin: when the building of it began. */
static double time_packing(struct nb_program *nb, double begin)
{
	double end;
	void *neff;

	pack(nb, &neff);
	end = figure_thread_now();
	nb_free(nb);
	free(neff);
	return end - begin;
}

static double time_assembler(const struct text *text)
{
	double begin = figure_thread_now();
	struct nb_program *nb = make_program(text);

	return time_packing(nb, begin);
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
	double begin = figure_thread_now();
	struct nb_program *nb = nb_new("bench");
	unsigned int i;

	if (!nb)
		fail("out of memory");
	nb_sem(nb, false);
	for (i = 0; i < count; i++)
		build(nb, i);
	return time_packing(nb, begin);
}

/*
 * A layer, tile by tile: rows are loaded, scaled, multiplied with weights, and stored. About a
 * sixth of the instructions are transfers.
 */
#define LAYER_TILE	128
#define LAYER_ROUND	13	/* instructions of a tile */

struct layer {
	struct nb_program *nb;
	int x, y, in, out;
	int weights;
};

static struct nb_side in_hbm(int var, unsigned int t)
{
	const uint64_t row = LAYER_TILE * sizeof(float);

	return nb_rows(var, (t % 64) * LAYER_TILE * row, row, LAYER_TILE, row);
}

static struct layer layer_begin(void)
{
	const uint32_t shape[] = { 64 * LAYER_TILE, LAYER_TILE };
	struct layer layer = { .nb = nb_new("bench") };
	struct nb_program *nb = layer.nb;

	if (!nb)
		fail("out of memory");
	nb_auto(nb);
	layer.x = nb_input(nb, "x", NEURON_DTYPE_FP32, 2, shape);
	layer.y = nb_output(nb, "y", NEURON_DTYPE_FP32, 2, shape);
	layer.in = nb_queue(nb, "in", "in", NEURON_ENGINE_SYNC, 1);
	layer.out = nb_queue(nb, "out", "out", NEURON_ENGINE_SYNC, 1);
	layer.weights = nb_tile_new(nb, NB_SBUF, LAYER_TILE, NEURON_DTYPE_FP32, LAYER_TILE);
	nb_dma(nb, layer.in, nb_tile_side(nb, layer.weights), in_hbm(layer.x, 0), -1);
	return layer;
}

static void layer_tile(const struct layer *layer, unsigned int t)
{
	struct nb_program *nb = layer->nb;
	int row = nb_tile_new(nb, NB_SBUF, LAYER_TILE, NEURON_DTYPE_FP32, LAYER_TILE);
	int sum = nb_tile_new(nb, NB_PSUM, LAYER_TILE, NEURON_DTYPE_FP32, LAYER_TILE);
	struct neuron_ap x = nb_tile_ap(nb, row), s = nb_tile_ap(nb, sum);
	struct neuron_ap w = nb_tile_ap(nb, layer->weights);
	unsigned int i;

	nb_source(nb, "bench.c", t + 1);
	nb_dma(nb, layer->in, nb_tile_side(nb, row), in_hbm(layer->x, t), -1);
	for (i = 0; i < 3; i++) {
		nb_tensor_scalar(nb, NEURON_ENGINE_VECTOR, x, x, NEURON_ALU_MULTIPLY, 2.0f,
				 NEURON_ALU_ADD, 1.0f);
		nb_copy(nb, NEURON_ENGINE_SCALAR, x, x);
	}
	nb_load_stationary(nb, w);
	nb_matmul(nb, s, x, false);
	nb_copy(nb, NEURON_ENGINE_VECTOR, x, s);
	nb_tensor_tensor(nb, NEURON_ENGINE_GPSIMD, NEURON_ALU_ADD, x, x, w);
	nb_copy(nb, NEURON_ENGINE_SCALAR, x, x);
	nb_dma(nb, layer->out, in_hbm(layer->y, t), nb_tile_side(nb, row), -1);
	nb_tile_end(nb, sum);
	nb_tile_end(nb, row);
}

static struct nb_program *build_auto(unsigned int count)
{
	const struct layer layer = layer_begin();
	unsigned int t;

	for (t = 0; t < count / LAYER_ROUND; t++)
		layer_tile(&layer, t);
	return layer.nb;
}

static double time_auto(unsigned int count)
{
	double begin = figure_thread_now();
	struct nb_program *nb = build_auto(count);

	return time_packing(nb, begin);
}

/* Regions of eight instructions. */
static struct nb_program *build_regions(unsigned int count)
{
	struct nb_program *nb = nb_new("bench");
	unsigned int i;

	if (!nb)
		fail("out of memory");
	nb_auto(nb);
	for (i = 0; i < count; i++)
		if (i % 9 == 8)
			nb_notify(nb, NEURON_ENGINE_VECTOR, i);
		else
			nb_reg_set(nb, NEURON_ENGINE_VECTOR, i % 9, i);
	return nb;
}

typedef struct nb_program *build_fn(unsigned int count);

/* nb_schedule() alone. */
static double time_schedule(build_fn *build, unsigned int count)
{
	struct nb_program *nb = build(count);
	double begin = figure_thread_now(), end;

	if (nb_schedule(nb, NULL))
		fail(nb_error(nb));
	end = figure_thread_now();
	nb_free(nb);
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
	double made[FIGURE_MAX_ROUNDS], made_small[FIGURE_MAX_ROUNDS];
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
		made[i] = time_auto(LARGE);
		made_small[i] = time_auto(SMALL);
		dis[i] = time_disassembler(neff, size);
	}
	figure_rates(as, rounds, LARGE * 1e-6);
	figure_rates(small, rounds, SMALL * 1e-6);
	figure_rates(words, rounds, LARGE * 1e-6);
	figure_rates(nb, rounds, LARGE * 1e-6);
	figure_rates(made, rounds, LARGE * 1e-6);
	figure_rates(made_small, rounds, SMALL * 1e-6);
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
		.name = "builder_auto", .unit = "Minst/s", .goal = GOAL_RATE,
	}, made, NULL, rounds);
	figures_add(figures, (struct figure){
		.name = "builder_auto_beside_by_hand", .unit = "Minst/s", .goal = FIGURE_NONE,
	}, made, nb, rounds);
	figures_add(figures, (struct figure){
		.name = "builder_auto_beside_a_tenth", .unit = "Minst/s", .goal = GOAL_LINEAR,
	}, made, made_small, rounds);
	figures_add(figures, (struct figure){
		.name = "disassembler", .unit = "Minst/s", .goal = FIGURE_NONE,
	}, dis, NULL, rounds);
	free(neff);
	free(text.text);
	free(little.text);
}

static void measure_schedule(struct figures *figures, unsigned int rounds, build_fn *build,
			     const char *name, const char *beside)
{
	double large[FIGURE_MAX_ROUNDS], small[FIGURE_MAX_ROUNDS];
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		large[i] = time_schedule(build, SCHEDULED);
		small[i] = time_schedule(build, SCHEDULED / 10);
	}
	figure_rates(large, rounds, SCHEDULED * 1e-6);
	figure_rates(small, rounds, SCHEDULED * 1e-7);
	figures_add(figures, (struct figure){
		.name = name, .unit = "Minst/s", .goal = FIGURE_NONE,
	}, large, NULL, rounds);
	figures_add(figures, (struct figure){
		.name = beside, .unit = "Minst/s", .goal = GOAL_SCHEDULE,
	}, large, small, rounds);
}

static int write_file(struct nb_program *nb, const char *path)
{
	if (nb_write(nb, path))
		fail(nb_error(nb));
	return 0;
}

/* From the text in memory to the file, as neuron-as does it. */
static int assemble_to_file(unsigned int count, const char *path)
{
	const struct text text = make_text(count);
	struct nb_program *nb = make_program(&text);

	return write_file(nb, path);
}

static int build_to_file(unsigned int count, const char *path)
{
	return write_file(build_auto(count), path);
}

static int schedule_to_file(unsigned int count, const char *path)
{
	struct nb_program *nb = build_auto(count);

	if (nb_schedule(nb, NULL))
		fail(nb_error(nb));
	return write_file(nb, path);
}

typedef int to_file_fn(unsigned int count, const char *path);

/* The most memory that a process of its own has had, in bytes. */
static double peak(to_file_fn *to_file, unsigned int count, const char *path)
{
	struct rusage usage;
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		fail("cannot fork");
	if (!pid)
		_exit(to_file(count, path));
	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		fail("the program cannot be written");
	return usage.ru_maxrss * 1024.0;
}

/* Of an instruction, by programs of @count of them and of a tenth. */
static void measure_memory(struct figures *figures, const char *name, to_file_fn *to_file,
			   unsigned int count, double goal)
{
	char path[] = "/tmp/bench-assembler-XXXXXX";
	int fd = mkstemp(path);
	double bytes;

	if (fd < 0)
		fail("no temporary file");
	close(fd);
	bytes = (peak(to_file, count, path) - peak(to_file, count / 10, path)) /
		(count - count / 10);
	unlink(path);
	figures_add_one(figures, (struct figure){
		.name = name, .unit = "B/inst", .goal = goal, .lower_is_better = true,
	}, bytes);
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	static struct figures figures;

	/* First, while this process has little memory itself. */
	measure_memory(&figures, "assembler_memory", assemble_to_file, MEMORY, GOAL_BYTES);
	measure_memory(&figures, "builder_auto_memory", build_to_file, MEMORY, GOAL_BYTES);
	measure_memory(&figures, "schedule_memory", schedule_to_file, SCHEDULED, FIGURE_NONE);
	measure_rates(&figures, options.rounds);
	measure_schedule(&figures, options.rounds, build_auto, "schedule",
			 "schedule_beside_a_tenth");
	measure_schedule(&figures, options.rounds, build_regions, "schedule_regions",
			 "schedule_regions_beside_a_tenth");
	return figures_report(&figures, options.json) ? 1 : 0;
}
