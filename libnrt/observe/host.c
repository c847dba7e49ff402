// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "observe/host.h"

/* Of the files; a reader refuses one that it does not know. */
#define FORMAT_VERSION	1

static void look_at_memory(struct nrt_host *host)
{
	unsigned long long total, available;
	FILE *file = fopen("/proc/meminfo", "re");

	if (!file)
		return;
	if (fscanf(file, "MemTotal: %llu kB MemFree: %*u kB MemAvailable: %llu kB", &total,
		   &available) == 2) {
		host->size = total * 1024;
		host->used = (total - available) * 1024;
	}
	fclose(file);
}

/* "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ ...": idle is what the fields 4 and 5 say. */
static bool read_cpu(const char *line, struct nrt_host_cpu *cpu)
{
	uint64_t user, nice, system, idle, iowait, irq, softirq;

	if (sscanf(line, "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64, &cpu->number, &user, &nice, &system, &idle, &iowait,
		   &irq, &softirq) != 8)
		return false;
	cpu->busy = user + nice + system + irq + softirq;
	cpu->total = cpu->busy + idle + iowait;
	return true;
}

static void look_at_cpus(struct nrt_host *host)
{
	unsigned int room = (unsigned int)get_nprocs_conf();
	FILE *file = fopen("/proc/stat", "re");
	char line[512];

	host->cpus = calloc(room, sizeof(*host->cpus));
	while (file && host->cpus && host->nr_cpus < room && fgets(line, sizeof(line), file))
		host->nr_cpus += read_cpu(line, &host->cpus[host->nr_cpus]);
	if (file)
		fclose(file);
}

void nrt_host_look(struct nrt_host *host)
{
	struct timespec now;

	memset(host, 0, sizeof(*host));
	clock_gettime(CLOCK_REALTIME, &now);
	host->time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	look_at_memory(host);
	look_at_cpus(host);
}

void nrt_host_fini(struct nrt_host *host)
{
	free(host->cpus);
	host->cpus = NULL;
	host->nr_cpus = 0;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

static void print_moment(FILE *file, const struct nrt_host *host, const char *end)
{
	fprintf(file, "{\"timestamp\":%" PRIu64 ",\"usage\":%" PRIu64
		",\"percent_usage\":%.3f}%s\n", host->time_ns, host->used,
		percent(host->used, host->size), end);
}

void nrt_host_print_memory(FILE *file, const struct nrt_host *first, const struct nrt_host *last)
{
	fprintf(file, "{\"format\":\"neuron-emu-host-memory\",\"version\":%u,\"mem_usage\":[\n",
		FORMAT_VERSION);
	print_moment(file, first, ",");
	print_moment(file, last, "");
	fputs("]}\n", file);
}

void nrt_host_print_cpus(FILE *file, const struct nrt_host *first, const struct nrt_host *last)
{
	unsigned int nr = first->nr_cpus < last->nr_cpus ? first->nr_cpus : last->nr_cpus;
	unsigned int i;

	fprintf(file, "{\"format\":\"neuron-emu-cpu-util\",\"version\":%u,\"cpu_util\":[\n",
		FORMAT_VERSION);
	for (i = 0; i < nr; i++)
		fprintf(file, "{\"cpu_id\":\"%u\",\"timestamp\":%" PRIu64 ",\"duration\":%" PRIu64
			",\"util\":%.3f}%s\n", last->cpus[i].number, first->time_ns,
			last->time_ns - first->time_ns,
			percent(last->cpus[i].busy - first->cpus[i].busy,
				last->cpus[i].total - first->cpus[i].total), i + 1 < nr ? "," : "");
	fputs("]}\n", file);
}
