// SPDX-License-Identifier: MIT
/*
 * A program to look at with neuron-monitor. It does what each line of its standard input says, and
 * writes "done" when it has done that:
 *
 *   run N     N executions that end well
 *   bad       one that fails
 *   input     one without its tensors
 *   stuck     one that is still running when the next line is read; it is the last one
 *   tensor N  another tensor of N bytes
 *   fork      a child, which lives as long as this program
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <nrt/nrt_async.h>

#include "rig.h"

static struct rig rig;

static int run(unsigned long times)
{
	float x[RIG_VALUES], y[RIG_VALUES];

	rig_ramp(x, 1.0f);
	while (times--)
		if (rig_run(&rig, x, y))
			return -1;
	return 0;
}

static int run_bad(void)
{
	float x[RIG_VALUES] = { 0 }, y[RIG_VALUES];
	struct rig bad;
	int ret;

	if (rig_load(&bad, program_bad_opcode(), 0, 0, 0))
		return -1;
	ret = rig_run(&bad, x, y) ? 0 : -1;
	rig_unload(&bad);
	return ret;
}

static int run_without_input(void)
{
	nrt_tensor_set_t *none;
	int ret;

	if (nrt_allocate_tensor_set(&none))
		return -1;
	ret = nrt_execute(rig.model, none, rig.outputs) ? 0 : -1;
	nrt_destroy_tensor_set(&none);
	return ret;
}

static int get_stuck(void)
{
	static struct rig stuck;
	nrta_seq_t seq;

	if (rig_load(&stuck, program_stuck(), 0, 0, 0))
		return -1;
	return nrta_execute_schedule(stuck.model, stuck.inputs, stuck.outputs, 0, NULL, &seq);
}

static int add_tensor(unsigned long size)
{
	nrt_tensor_t *tensor;

	return nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, size, "more", &tensor);
}

static int make_child(void)
{
	pid_t child = fork();

	if (child)
		return child < 0 ? -1 : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static int do_line(const char *line)
{
	if (!strncmp(line, "run ", 4))
		return run(strtoul(line + 4, NULL, 10));
	if (!strncmp(line, "tensor ", 7))
		return add_tensor(strtoul(line + 7, NULL, 10));
	if (!strcmp(line, "bad\n"))
		return run_bad();
	if (!strcmp(line, "input\n"))
		return run_without_input();
	if (!strcmp(line, "stuck\n"))
		return get_stuck();
	if (!strcmp(line, "fork\n"))
		return make_child();
	return -1;
}

int main(void)
{
	char line[256];

	if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") ||
	    rig_load(&rig, program_scale(1), 0, 0, 0))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (do_line(line)) {
			fprintf(stderr, "monitored: it failed: %s", line);
			return 1;
		}
		puts("done");
		fflush(stdout);
	}
	nrt_close();
	return 0;
}
