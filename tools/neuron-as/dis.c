// SPDX-License-Identifier: MIT
/* From a NEFF back to source. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "dis.h"

bool dis_fail(struct dis *dis, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(dis->error, AS_ERROR_MAX, format, args);
	va_end(args);
	return false;
}

void dis_newline(struct dis *dis)
{
	fputc('\n', dis->out);
	dis->line++;
}

void dis_line(struct dis *dis, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(dis->out, format, args);
	va_end(args);
	dis_newline(dis);
}

static bool is_plain(const char *name)
{
	const struct as_token token = { .kind = AS_NAME, .text = name, .len = strlen(name) };
	uint32_t number;

	if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
	    token.len || (*name >= '0' && *name <= '9'))
		return false;
	return *name && !as_numbered(&token, 'w', &number) && !as_numbered(&token, 'q', &number) &&
	       !as_token_is(&token, "sbuf");
}

void dis_name(struct dis *dis, const char *name)
{
	if (is_plain(name))
		fputs(name, dis->out);
	else
		dis_string(dis, name);
}

void dis_string(struct dis *dis, const char *name)
{
	fputc('"', dis->out);
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			fputc('\\', dis->out);
		fputc(*name, dis->out);
	}
	fputc('"', dis->out);
}

const char *as_section_name(enum as_section section)
{
	static const char *const name[] = {
		[AS_SECTION_VARIABLES] = "variables",
		[AS_SECTION_QUEUES] = "queues",
		[AS_SECTION_SEMAPHORES] = "semaphores",
	};

	return section < AS_SECTION_ENGINE ? name[section] :
					     neff_engine_name(section - AS_SECTION_ENGINE);
}

static bool put_graphs(struct dis *dis)
{
	unsigned int i;

	for (i = 0; i < dis->neff->nr_graphs; i++) {
		dis->graph = &dis->neff->graphs[i];
		dis_forget_vars(dis);
		dis->place = NULL;
		dis->place_line = 0;
		if (dis->how->cores && !(dis->how->cores & NEURON_BIT(i)))
			continue;
		if (i) {
			dis_newline(dis);
			dis_line(dis, ".core %u", i);
		}
		if (!dis_head(dis) || !dis_streams(dis))
			return false;
	}
	return true;
}

char *as_disassemble(const void *neff, size_t size, const struct as_dump *dump,
		     char error[AS_ERROR_MAX])
{
	static const struct as_dump everything;
	const struct neff_limits limits = { .validate_hash = true };
	struct dis dis = { .line = 1, .how = dump ?: &everything, .error = error };
	struct nrt_error why = { 0 };
	struct neff *read;
	char *text = NULL;
	size_t length;
	bool good;

	if (neff_read(neff, size, &limits, &read, &why)) {
		snprintf(error, AS_ERROR_MAX, "%s", neff_why(&why));
		return NULL;
	}
	dis.neff = read;
	dis.out = open_memstream(&text, &length);
	good = dis.out && put_graphs(&dis);
	if (!dis.out || ferror(dis.out))
		good = dis_fail(&dis, "out of memory");
	if (dis.out && fclose(dis.out))
		good = dis_fail(&dis, "out of memory");
	dis_forget_vars(&dis);
	neff_free(read);
	if (good)
		return text;
	free(text);
	return NULL;
}
