// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "base/trn_backing.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint8_t *trn_backing_alloc(uint64_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

void trn_backing_free(uint8_t *mem, uint64_t size)
{
	if (mem)
		munmap(mem, size);
}

void trn_backing_discard(uint8_t *mem, uint64_t size)
{
	/* Locked memory cannot be given back. */
	if (madvise(mem, size, MADV_DONTNEED))
		memset(mem, 0, size);
}

void trn_backing_populate(void *mem, size_t size)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t begin = ((uintptr_t)mem + mask) & ~mask;
	uintptr_t end = ((uintptr_t)mem + size) & ~mask;

	/* A host that cannot do it backs the pages when they are written. */
	if (mem && end > begin)
		(void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#else
	(void)mem;
	(void)size;
#endif
}
