// SPDX-License-Identifier: MIT
/* neuron-packager: makes, shows, checks and changes NEFFs. */
#include <argp.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"
#include "output.h"
#include "packager.h"

#define MAX_NEFF	((size_t)16 << 30)
#define DEFAULT_SPARE	((uint64_t)1 << 30)
#define MAX_EDITS	256

enum key {
	KEY_JSON = 256,
	KEY_KEEP_DEBUG,
	KEY_SPARE,
	KEY_SET,
	KEY_REPLACE,
	KEY_RENAME,
	KEY_REMOVE,
};

typedef int edit_fn(struct package *package, const char *text, struct nrt_error *error);

/* One change, in the order of the command line. */
struct edit {
	edit_fn *run;
	const char *text;
};

struct arguments;

typedef int command_fn(struct arguments *arguments);

/* struct command - a subcommand; @keys: characters and enum key of its options, 0 at the end */
struct command {
	const char *name;
	command_fn *run;
	int keys[12];
};

struct arguments {
	const struct command *command;
	const char *file[2];
	unsigned int nr_files;
	const char *input;
	const char *output;
	const char *name;
	const char *format;
	unsigned int cores;
	unsigned int package_version;
	struct info_options info;
	bool keep_debug;
	uint64_t spare;
	struct edit edit[MAX_EDITS];
	unsigned int nr_edits;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "create: make a NEFF of a folder or a tarball", 1 },
	{ "input", 'i', "PATH", 0, "the tarball or folder, if it is not the argument", 1 },
	{ "name", 'n', "NAME", 0, "name of the model", 1 },
	{ "num-nc", 't', "N", 0, "physical cores of the logical core, 1 or 2", 1 },
	{ "neff-version", 'k', "MAJOR.MINOR", 0, "version of the format; without it 2.0", 1 },
	{ "header-version", 'r', "N", 0, "1: the hash is MD5; 2, the default: SHA-256", 1 },
	{ "enable-feature", 'e', "NAME", 0,
	  "refused: the numbers of the features' bits are not public", 1 },
	{ NULL, 0, NULL, 0, "create, unpack, edit", 2 },
	{ "output", 'o', "PATH", 0,
	  "the NEFF or folder to write; without it NAME.neff of NAME or NAME.tar, a folder called as the NEFF, or the same NEFF",
	  2 },
	{ NULL, 0, NULL, 0, "info: show what a NEFF is", 3 },
	{ "show-weights", 'w', NULL, 0, "constants as well", 3 },
	{ "show-spills", 's', NULL, 0, "all other variables as well", 3 },
	{ "json-output", KEY_JSON, NULL, 0, "all of it, as JSON", 3 },
	{ NULL, 0, NULL, 0, "optimize: replace a NEFF by one that loads faster", 4 },
	{ "keep-debug", KEY_KEEP_DEBUG, NULL, 0, "keep source lines, and blanks in JSON", 4 },
	{ NULL, 0, NULL, 0, "edit: change a NEFF; each option may be repeated", 5 },
	{ "set", KEY_SET, "PLACE=VALUE", 0,
	  "PLACE is header:KEY or FILE:/KEY/KEY; VALUE is JSON, or else a string", 5 },
	{ "replace", KEY_REPLACE, "PATH=FILE", 0, "add or replace a file of the archive", 5 },
	{ "rename", KEY_RENAME, "OLD=NEW", 0, "rename a file of the archive", 5 },
	{ "remove", KEY_REMOVE, "PATH", 0, "remove a file of the archive", 5 },
	{ NULL, 0, NULL, 0, "all commands", 6 },
	{ "spare", KEY_SPARE, "MIB", 0,
	  "how much more than its own size a NEFF may unpack to; 1024", 6 },
	{ 0 }
};

#define SUMMARY	"Makes, shows, checks and changes NEFFs."

static const char doc[] =
	SUMMARY
	"\vThere are also: unpack NEFF into a folder; lint NEFF, which names all that is wrong;\n"
	"print NEFF FILE, a file of the archive, to standard output.\n\n"
	"Example:\n"
	"  neuron-packager info softmax.neff\n"
	"  neuron-packager unpack softmax.neff && neuron-packager create softmax\n"
	"  neuron-packager edit --set header:name=other softmax.neff\n\n"
	"The exit status is 0, 1 for an error in the NEFF, 2 for one in the command line.";

const char *argp_program_version = "neuron-packager " PACKAGER_VERSION;

static int complain(const char *path, const struct nrt_error *error)
{
	char text[640];

	printable(text, sizeof(text), error->text);
	fprintf(stderr, "neuron-packager: %s: %s\n", path, text);
	return 1;
}

static int read_file(const struct arguments *arguments, const char *path, char **data,
		     size_t *size)
{
	(void)arguments;
	if (!input_read(path, MAX_NEFF, data, size))
		return 0;
	fprintf(stderr, "neuron-packager: %s: %s\n", path, strerror(errno));
	return -1;
}

static int read_package(const struct arguments *arguments, struct package *package)
{
	const char *path = arguments->file[0];
	struct nrt_error error;
	char *data;
	size_t size;
	int ret;

	if (read_file(arguments, path, &data, &size))
		return -1;
	ret = package_read(data, size, arguments->spare, package, &error);
	free(data);
	if (ret)
		complain(path, &error);
	return ret;
}

static int run_info(struct arguments *arguments)
{
	struct package package;

	if (read_package(arguments, &package))
		return 1;
	info_print(&package, &arguments->info, stdout);
	package_free(&package);
	return 0;
}

static const char *const neff_suffixes[] = { ".neff", NULL };
static const char *const archive_suffixes[] = { ".tar", ".tgz", ".tar.gz", NULL };
static const char *const folder_suffixes[] = { NULL };

/* The last part of a path without one of these suffixes, to be freed; NULL: out of memory. */
static char *base_without(const char *path, const char *const *suffixes)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t length = strlen(base);

	for (; *suffixes; suffixes++) {
		size_t cut = strlen(*suffixes);

		if (length > cut && !strcmp(base + length - cut, *suffixes))
			return strndup(base, length - cut);
	}
	return strdup(base);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int run_unpack(struct arguments *arguments)
{
	char *folder = arguments->output ? strdup(arguments->output) :
					   base_without(arguments->file[0], neff_suffixes);
	struct nrt_error error;
	struct package package;
	int ret = 1;

	if (!folder || read_package(arguments, &package))
		goto out;
	ret = folder_unpack(&package, folder, &error) ? complain(arguments->file[0], &error) : 0;
	package_free(&package);
	if (!ret)
		printf("Unpacked to \"%s\".\n", folder);
out:
	free(folder);
	return ret;
}

static int run_lint(struct arguments *arguments)
{
	unsigned int errors;
	char *data;
	size_t size;

	if (read_file(arguments, arguments->file[0], &data, &size))
		return 1;
	errors = lint(arguments->file[0], data, size, arguments->spare, stdout);
	free(data);
	return errors ? 1 : 0;
}

static int run_print(struct arguments *arguments)
{
	const char *path = arguments->file[1];
	const struct package_member *member;
	struct package package;
	int ret = 1;

	if (read_package(arguments, &package))
		return 1;
	member = package_find(&package, path);
	if (!member)
		fprintf(stderr, "neuron-packager: %s: there is no file %s\n", arguments->file[0],
			path);
	else if (fwrite(member->data, 1, member->size, stdout) != member->size || fflush(stdout))
		fprintf(stderr, "neuron-packager: standard output: %s\n", strerror(errno));
	else
		ret = 0;
	package_free(&package);
	return ret;
}

/* To -o, or in place. */
static int write_back(const struct arguments *arguments, struct package *package)
{
	const char *path = arguments->output ?: arguments->file[0];
	struct nrt_error error;

	return package_write(package, path, &error) ? complain(path, &error) : 0;
}

static int run_edit(struct arguments *arguments)
{
	struct nrt_error error;
	struct package package;
	unsigned int i;
	int ret = 0;

	if (read_package(arguments, &package))
		return 1;
	for (i = 0; i < arguments->nr_edits && !ret; i++)
		if (arguments->edit[i].run(&package, arguments->edit[i].text, &error))
			ret = complain(arguments->file[0], &error);
	if (!ret)
		ret = write_back(arguments, &package);
	package_free(&package);
	return ret;
}

static int run_optimize(struct arguments *arguments)
{
	struct nrt_error error;
	struct package package;
	int ret;

	if (read_package(arguments, &package))
		return 1;
	if (edit_optimize(&package, arguments->keep_debug, &error))
		ret = complain(arguments->file[0], &error);
	else
		ret = write_back(arguments, &package);
	package_free(&package);
	return ret;
}

static int read_input(const struct arguments *arguments, const char *path, const char *name,
		      struct package *package, struct nrt_error *error)
{
	char *data;
	size_t size;
	int ret;

	if (is_folder(path))
		return folder_read(path, name, package, error);
	if (input_read(path, MAX_NEFF, &data, &size)) {
		nrt_error_set(error, NRT_FAILURE, "%s", strerror(errno));
		return -1;
	}
	ret = package_read_archive(data, size, arguments->spare, package, error);
	free(data);
	package_default_header(package, name);
	return ret;
}

/* What the command line says of the header. */
static int set_header(const struct arguments *arguments, struct package *package,
		      struct nrt_error *error)
{
	struct neff_header *header = &package->header;
	unsigned int major, minor;
	char rest;

	if (arguments->name) {
		if (strlen(arguments->name) >= sizeof(header->name)) {
			nrt_error_set(error, NRT_INVALID, "the name has more than %zu bytes",
				      sizeof(header->name) - 1);
			return -1;
		}
		memset(header->name, 0, sizeof(header->name));
		memcpy(header->name, arguments->name, strlen(arguments->name));
	}
	if (arguments->cores) {
		header->num_tpb = htole32(arguments->cores);
		header->requested_tpb = htole32(arguments->cores);
		header->lnc_size = htole32(arguments->cores);
		memset(header->tpb_per_node, 0, sizeof(header->tpb_per_node));
		header->tpb_per_node[0] = (uint8_t)arguments->cores;
	}
	if (arguments->package_version)
		header->pkg_version = htole64(arguments->package_version);
	if (!arguments->format)
		return 0;
	if (sscanf(arguments->format, "%9u.%9u%c", &major, &minor, &rest) != 2) {
		nrt_error_set(error, NRT_INVALID, "\"%.32s\" is no version MAJOR.MINOR",
			      arguments->format);
		return -1;
	}
	header->version_major = htole64(major);
	header->version_minor = htole64(minor);
	return 0;
}

static int create(const struct arguments *arguments, const char *path, const char *name,
		  const char *output)
{
	struct package package = { 0 };
	struct nrt_error error;
	int ret = 1;

	if (read_input(arguments, path, name, &package, &error))
		goto out;
	if (set_header(arguments, &package, &error) || package_write(&package, output, &error))
		goto out;
	printf("Made \"%s\".\n", output);
	ret = 0;
out:
	if (ret)
		complain(path, &error);
	package_free(&package);
	return ret;
}

static int run_create(struct arguments *arguments)
{
	char *path = strdup(arguments->input ?: arguments->file[0]);
	char *base, *output = NULL;
	int ret = 1;

	/* A folder may end in a slash. */
	while (path && strlen(path) > 1 && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = '\0';
	base = path ? base_without(path, is_folder(path) ? folder_suffixes :
						 archive_suffixes) : NULL;
	if (base && (arguments->output ? asprintf(&output, "%s", arguments->output) :
					 asprintf(&output, "%s.neff", base)) >= 0)
		ret = create(arguments, path, base, output);
	free(output);
	free(base);
	free(path);
	return ret;
}

static const struct command commands[] = {
	{ "create", run_create, { 'i', 'n', 't', 'k', 'r', 'e', 'o' } },
	{ "info", run_info, { 'w', 's', KEY_JSON } },
	{ "optimize", run_optimize, { KEY_KEEP_DEBUG, 'o' } },
	{ "unpack", run_unpack, { 'o' } },
	{ "lint", run_lint, { 0 } },
	{ "print", run_print, { 0 } },
	{ "edit", run_edit, { KEY_SET, KEY_REPLACE, KEY_RENAME, KEY_REMOVE, 'o' } },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void choose_command(struct arguments *arguments, const char *name,
			   struct argp_state *state)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			arguments->command = &commands[i];
	if (!arguments->command)
		argp_error(state,
			   "no command \"%s\"; there are create, info, optimize, unpack, lint, print, edit",
			   name);
}

/* Options may stand before the command, so this is looked at when it is known. */
static void check_files(struct arguments *arguments, struct argp_state *state)
{
	const struct command *command = arguments->command;
	unsigned int wanted = 1;

	if (!command)
		argp_error(state, "which command?");
	if (command->run == run_print)
		wanted = 2;
	if (command->run == run_create && arguments->input)
		wanted = 0;
	if (arguments->nr_files != wanted)
		argp_error(state, "%s takes %s", command->name,
			   wanted == 2 ? "a NEFF and a file of its archive" :
			   wanted ? "one file or folder" : "no argument besides -i");
	if (command->run == run_edit && !arguments->nr_edits)
		argp_error(state, "what is to be changed?");
}

static void check_option(const struct arguments *arguments, int key, struct argp_state *state)
{
	const struct argp_option *option = options;
	size_t i;

	if (!arguments->command)
		argp_error(state, "the command comes first");
	if (key == KEY_SPARE)
		return;
	for (i = 0; arguments->command->keys[i]; i++)
		if (arguments->command->keys[i] == key)
			return;
	while (option->key != key)
		option++;
	argp_error(state, "%s has no option --%s", arguments->command->name, option->name ?: "");
}

static unsigned int one_or_two(const char *arg, const char *what, struct argp_state *state)
{
	if (strcmp(arg, "1") && strcmp(arg, "2"))
		argp_error(state, "%s is 1 or 2, not \"%s\"", what, arg);
	return (unsigned int)(*arg - '0');
}

static void add_edit(struct arguments *arguments, edit_fn *run, const char *text,
		     struct argp_state *state)
{
	if (arguments->nr_edits == MAX_EDITS)
		argp_error(state, "more than %d changes", MAX_EDITS);
	arguments->edit[arguments->nr_edits++] = (struct edit){ run, text };
}

static uint64_t parse_spare(const char *text, struct argp_state *state)
{
	unsigned long long mib;
	char *end;

	errno = 0;
	mib = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || mib > UINT32_MAX)
		argp_error(state, "--spare is a number of MiB, not \"%s\"", text);
	return mib << 20;
}

static error_t parse_change(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case KEY_SET:
		add_edit(arguments, edit_set, arg, state);
		return 0;
	case KEY_REPLACE:
		add_edit(arguments, edit_replace, arg, state);
		return 0;
	case KEY_RENAME:
		add_edit(arguments, edit_rename, arg, state);
		return 0;
	case KEY_REMOVE:
		add_edit(arguments, edit_remove, arg, state);
		return 0;
	case KEY_SPARE:
		arguments->spare = parse_spare(arg, state);
		return 0;
	case KEY_KEEP_DEBUG:
		arguments->keep_debug = true;
		return 0;
	case 'w':
		arguments->info.weights = true;
		return 0;
	case 's':
		arguments->info.spills = true;
		return 0;
	case KEY_JSON:
		arguments->info.json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_known(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'i':
		arguments->input = arg;
		return 0;
	case 'n':
		arguments->name = arg;
		return 0;
	case 't':
		arguments->cores = one_or_two(arg, "--num-nc", state);
		return 0;
	case 'k':
		arguments->format = arg;
		return 0;
	case 'r':
		arguments->package_version = one_or_two(arg, "--header-version", state);
		return 0;
	case 'e':
		argp_error(state, "feature \"%s\": the number of its bit is not public", arg);
		return 0;
	case 'o':
		arguments->output = arg;
		return 0;
	default:
		return parse_change(key, arg, state);
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (!arguments->command)
			choose_command(arguments, arg, state);
		else if (arguments->nr_files < 2)
			arguments->file[arguments->nr_files++] = arg;
		else
			argp_error(state, "too many arguments: \"%s\"", arg);
		return 0;
	case ARGP_KEY_END:
		check_files(arguments, state);
		return 0;
	case ARGP_KEY_INIT:
	case ARGP_KEY_ARGS:
	case ARGP_KEY_NO_ARGS:
	case ARGP_KEY_SUCCESS:
	case ARGP_KEY_ERROR:
	case ARGP_KEY_FINI:
		return ARGP_ERR_UNKNOWN;
	default:
		check_option(arguments, key, state);
		return parse_known(key, arg, state);
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "COMMAND PATH [FILE]",
		.doc = doc,
	};
	struct arguments arguments = { .spare = DEFAULT_SPARE };

	output_check_at_exit();
	argp_err_exit_status = 2;
	/* In the order of the command line: the command says which options there are. */
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
	return arguments.command->run(&arguments);
}
