// SPDX-License-Identifier: MIT
/*
 * The names are those of the public runtime: a folder input_dump_<random number>_h_nn_<id>, in it
 * a file <name of the tensor>.bin for each input, and model_name.txt.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/log.h"
#include "exec/inputs.h"

/* Of a tensor that is read at a time. */
#define PIECE	(1024 * 1024)

static FILE *open_in(const char *folder, const char *name, const char *ending)
{
	char path[512], *at;

	snprintf(path, sizeof(path), "%s/%.255s%s", folder, name, ending);
	for (at = path + strlen(folder) + 1; *at; at++)
		if (*at == '/')
			*at = '_';
	return fopen(path, "wxe");
}

static bool write_pieces(FILE *file, const struct nrt_span *span, void *room)
{
	struct nrt_error ignored;
	size_t done, size;

	for (done = 0; done < span->size; done += size) {
		size = span->size - done < PIECE ? span->size - done : PIECE;
		if (nrt_span_read(span, done, room, size, &ignored) ||
		    fwrite(room, 1, size, file) != size)
			return false;
	}
	return true;
}

static bool write_input(const char *folder, const char *name, const struct nrt_span *span,
			void *room)
{
	FILE *file = open_in(folder, name, ".bin");
	bool good;

	if (!file)
		return false;
	good = write_pieces(file, span, room);
	return !fclose(file) && good;
}

static bool write_name(const char *folder, const char *model)
{
	FILE *file = open_in(folder, "model_name.txt", "");
	bool good;

	if (!file)
		return false;
	good = fputs(model, file) >= 0;
	return !fclose(file) && good;
}

/* How many were written; *@all is false when one was not. */
static unsigned int write_all(const struct nrt_model *model, const struct nrt_binding *binding,
			      const char *folder, bool *all)
{
	const struct neff *neff = model->neff;
	void *room = malloc(PIECE);
	unsigned int written = 0;
	size_t i;

	*all = room && write_name(folder, neff->name);
	for (i = 0; *all && i < neff->nr_ios; i++) {
		if (neff->ios[i]->type != NEFF_VAR_INPUT)
			continue;
		*all = write_input(folder, neff->ios[i]->name, &binding->spans[i], room);
		written += *all;
	}
	free(room);
	return written;
}

void nrt_inputs_dump(const struct nrt_model *model, const struct nrt_binding *binding,
		     uint64_t execution)
{
	const char *name = model->neff->name;
	unsigned int number = 0, written;
	char folder[80];
	bool all;

	if (getrandom(&number, sizeof(number), 0) < 0)
		number = (unsigned int)execution;
	snprintf(folder, sizeof(folder), "input_dump_%u_h_nn_%llu", number,
		 (unsigned long long)execution);
	if (mkdir(folder, 0777)) {
		nrt_warn("nrt_execute", "inputs of model \"%.64s\": cannot make %s: %s", name,
			 folder, strerror(errno));
		return;
	}
	written = write_all(model, binding, folder, &all);
	nrt_warn("nrt_execute", "%u inputs of model \"%.64s\" are in %s%s", written, name, folder,
		 all ? "" : "; others could not be written");
}
