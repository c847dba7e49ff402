// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "mem/trn_hbm.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/trn_backing.h"
#include "base/trn_chip.h"
#include "base/trn_pages.h"

/* The port's memory; else it is the library's own. */
static bool is_ports(const struct trn_chip *chip)
{
	return !chip->config.hbm_files && chip->port->hbm_alloc;
}

/* --- memory in a file --- */

/* Nobody who gets the file can cut it: the chip would die of an access to its memory. */
static int new_file(unsigned int stack, uint64_t size)
{
	char name[16];
	int file;

	snprintf(name, sizeof(name), "hbm%u", stack);
	file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file < 0)
		return TRN_NO_FILE;
	if (!ftruncate(file, (off_t)size) &&
	    !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return file;
	close(file);
	return TRN_NO_FILE;
}

static uint8_t *map_file(int file, uint64_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);

	if (mem == MAP_FAILED)
		return NULL;
	/* A core dump of the process would make pages of all that nobody has written. */
	madvise(mem, size, MADV_DONTDUMP);
	return mem;
}

static uint8_t *alloc_file(struct trn_chip *chip, unsigned int stack)
{
	chip->hbm_file[stack] = new_file(stack, chip->hbm_size);
	if (chip->hbm_file[stack] < 0)
		return NULL;
	return map_file(chip->hbm_file[stack], chip->hbm_size);
}

/**
 * struct hole - pages that are being given back
 * @base: offset in the stack
 */
struct hole {
	struct trn_chip *chip;
	unsigned int stack;
	uint64_t base;
};

static int punch(void *opaque, uint64_t offset, uint64_t len)
{
	const struct hole *hole = opaque;
	struct trn_chip *chip = hole->chip;
	uint64_t at = hole->base + offset;

	if (fallocate(chip->hbm_file[hole->stack], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)at, (off_t)len))
		memset(chip->hbm[hole->stack] + at, 0, len);
	if (chip->port->hbm_dirty)
		chip->port->hbm_dirty(chip->opaque, hole->stack, at, len);
	return 0;
}

/* --- all memory --- */

static uint8_t *alloc_stack(struct trn_chip *chip, unsigned int stack)
{
	if (chip->config.hbm_files)
		return alloc_file(chip, stack);
	if (is_ports(chip))
		return chip->port->hbm_alloc(chip->opaque, stack, chip->hbm_size);
	return trn_backing_alloc(chip->hbm_size);
}

int trn_hbm_init(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < NEURON_MAX_HBM; i++)
		chip->hbm_file[i] = TRN_NO_FILE;
	for (i = 0; i < chip->gen->nr_hbm; i++) {
		chip->hbm[i] = alloc_stack(chip, i);
		if (!chip->hbm[i])
			return -1;
	}
	return 0;
}

void trn_hbm_destroy(struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->gen->nr_hbm; i++) {
		if (!is_ports(chip))
			trn_backing_free(chip->hbm[i], chip->hbm_size);
		if (chip->hbm_file[i] >= 0)
			close(chip->hbm_file[i]);
	}
}

/* Of a file only what is there: a mark of anything else would make a host copy it. */
void trn_hbm_discard(struct trn_chip *chip, unsigned int stack, uint64_t offset, uint64_t len)
{
	struct hole hole = { .chip = chip, .stack = stack, .base = offset };

	if (is_ports(chip)) {
		chip->port->hbm_discard(chip->opaque, stack, offset, len);
		return;
	}
	if (chip->config.hbm_files) {
		trn_pages_each(chip->hbm[stack] + offset, chip->hbm_file[stack], offset, len,
			       punch, &hole);
		return;
	}
	trn_backing_discard(chip->hbm[stack] + offset, len);
	if (chip->port->hbm_dirty)
		chip->port->hbm_dirty(chip->opaque, stack, offset, len);
}

/* --- for hosts --- */

void *trn_chip_hbm(struct trn_chip *chip, unsigned int stack)
{
	return stack < chip->gen->nr_hbm ? chip->hbm[stack] : NULL;
}

bool trn_chip_hbm_file(struct trn_chip *chip, unsigned int stack, struct trn_hbm_file *file)
{
	if (stack >= chip->gen->nr_hbm || chip->hbm_file[stack] < 0)
		return false;
	*file = (struct trn_hbm_file) {
		.fd = chip->hbm_file[stack],
		.offset = 0,
		.size = chip->hbm_size,
	};
	return true;
}

int trn_chip_hbm_used(struct trn_chip *chip, unsigned int stack, uint64_t offset, uint64_t len,
		      int (*run)(void *opaque, uint64_t offset, uint64_t len), void *opaque)
{
	if (stack >= chip->gen->nr_hbm || offset > chip->hbm_size || len > chip->hbm_size - offset)
		return 0;
	return trn_pages_each(chip->hbm[stack] + offset, chip->hbm_file[stack], offset, len, run,
			      opaque);
}
