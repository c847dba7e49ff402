// SPDX-License-Identifier: MIT
/* neuron-ls: lists the chips of this machine. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ls.h"
#include "output.h"
#include "process.h"

enum ls_mode {
	LS_TABLE,
	LS_WIDE,
	LS_TOPOLOGY,
	LS_JSON,
};

static const struct argp_option ls_options[] = {
	{ "wide", 'w', NULL, 0, "a row for each process that owns cores", 0 },
	{ "show-all-procs", 'a', NULL, 0, "the same as --wide", 0 },
	{ "topology", 't', NULL, 0, "also draw the links between chips", 0 },
	{ "json-output", 'j', NULL, 0, "JSON", 0 },
	{ 0 }
};

static error_t ls_parse(int key, char *arg, struct argp_state *state)
{
	enum ls_mode *mode = state->input;

	switch (key) {
	case 'w':
	case 'a':
		*mode = LS_WIDE;
		return 0;
	case 't':
		*mode = LS_TOPOLOGY;
		return 0;
	case 'j':
		*mode = LS_JSON;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "no argument is expected: \"%s\"", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void ls_header(const struct chips *chips, unsigned int lnc)
{
	char text[128];

	read_line("/sys/class/dmi/id/product_name", "unknown", text,
		  sizeof(text));
	printf("instance-type: %s\n", text);
	read_line("/sys/class/dmi/id/board_asset_tag", "unknown", text,
		  sizeof(text));
	printf("instance-id: %s\n", text);
	if (chips_pairs(chips))
		printf("logical-neuroncore-config: %u\n", lnc);
}

static int ls_print(const struct chips *chips, unsigned int lnc, enum ls_mode mode)
{
	switch (mode) {
	case LS_JSON:
		return ls_json(chips, lnc);
	case LS_WIDE:
		ls_header(chips, lnc);
		return ls_wide(chips, lnc);
	case LS_TOPOLOGY:
		ls_header(chips, lnc);
		return ls_topology(chips, lnc);
	default:
		ls_header(chips, lnc);
		return ls_table(chips, lnc);
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		ls_options, ls_parse, NULL,
		"List the Neuron devices of this machine.", NULL, NULL, NULL
	};
	enum ls_mode mode = LS_TABLE;
	struct chips chips;
	unsigned int lnc;
	const char *name;
	char why[256];
	int ret;

	output_check_at_exit();
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &mode);
	if (chips_open(&chips, why, sizeof(why))) {
		fprintf(stderr, "neuron-ls: %s\n", why);
		return 1;
	}
	chips_warn(&chips, "neuron-ls", why);
	lnc = chips_lnc(&chips, &name);
	ret = lnc ? ls_print(&chips, lnc, mode) : -1;
	chips_close(&chips);
	if (!lnc)
		fprintf(stderr, "neuron-ls: %s=\"%.64s\": use 1 or 2\n", name, getenv(name));
	else if (ret)
		fprintf(stderr, "neuron-ls: out of memory\n");
	return ret ? 1 : 0;
}
