// SPDX-License-Identifier: MIT
/*
 * Memory: addresses for the device, buffers, copies.
 *
 * A chip reaches memory of this process by bus addresses, which emb_iova translates, never by
 * pointers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/embedded/emb.h"
#include "trn/inspect.h"

/* Bus address 0 means nothing. */
#define FIRST_ADDR	0x100000ull

static uint64_t whole_pages(uint64_t size)
{
	return (size + EMB_PAGE - 1) & ~(uint64_t)(EMB_PAGE - 1);
}

/* --- addresses for the device --- */

void emb_iova_init(struct emb_iova *iova)
{
	pthread_rwlockattr_t attr;

	memset(iova, 0, sizeof(*iova));
	/* Workers that read all the time must not keep a change waiting for ever. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&iova->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

void emb_iova_destroy(struct emb_iova *iova)
{
	pthread_rwlock_destroy(&iova->lock);
	free(iova->region);
}

/* The region that has @addr, or NULL. With the lock. */
static const struct emb_region *find_region(const struct emb_iova *iova, uint64_t addr)
{
	size_t low = 0, high = iova->nr, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (iova->region[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || addr - iova->region[low - 1].addr >= iova->region[low - 1].size)
		return NULL;
	return &iova->region[low - 1];
}

/* Go through [@addr, +@len), which may lie in several regions. */
static bool iova_move(struct emb_iova *iova, uint64_t addr, uint8_t *to, const uint8_t *from,
		      size_t len)
{
	const struct emb_region *region;
	uint64_t offset;
	bool ok = true;
	size_t n;

	pthread_rwlock_rdlock(&iova->lock);
	for (; len && ok; len -= n, addr += n) {
		region = find_region(iova, addr);
		n = 0;
		ok = region;
		if (!ok)
			break;
		offset = addr - region->addr;
		n = region->size - offset < len ? region->size - offset : len;
		if (to) {
			trn_bulk_move(to, region->ptr + offset, n);
			to += n;
		} else {
			trn_bulk_move(region->ptr + offset, from, n);
			from += n;
		}
	}
	pthread_rwlock_unlock(&iova->lock);
	return ok;
}

bool emb_iova_read(struct emb_iova *iova, uint64_t addr, void *buf, size_t len)
{
	return iova_move(iova, addr, buf, NULL, len);
}

bool emb_iova_write(struct emb_iova *iova, uint64_t addr, const void *buf, size_t len)
{
	return iova_move(iova, addr, NULL, buf, len);
}

/* Whoever writes for the device has the lock, too, but for reading. */
void emb_iova_snapshot(struct emb_iova *iova, void *to, const void *from, size_t len)
{
	pthread_rwlock_wrlock(&iova->lock);
	memcpy(to, from, len);
	pthread_rwlock_unlock(&iova->lock);
}

/* The first gap that has room for @size bytes and a page behind them, and its place. */
static uint64_t find_gap(const struct emb_iova *iova, uint64_t size, size_t *at)
{
	uint64_t addr = FIRST_ADDR;

	for (*at = 0; *at < iova->nr; (*at)++) {
		if (iova->region[*at].addr - addr >= size + EMB_PAGE)
			break;
		addr = iova->region[*at].addr + iova->region[*at].size + EMB_PAGE;
	}
	return addr;
}

/* @limit: first bus address that the device cannot have. */
static int iova_map(struct emb_iova *iova, uint8_t *ptr, uint64_t size, uint64_t limit,
		    uint64_t *addr)
{
	struct emb_region *grown;
	int ret = 0;
	size_t at;

	pthread_rwlock_wrlock(&iova->lock);
	if (iova->nr == iova->room) {
		grown = reallocarray(iova->region, iova->room + 64, sizeof(*grown));
		if (!grown) {
			ret = -ENOMEM;
			goto out;
		}
		iova->region = grown;
		iova->room += 64;
	}
	*addr = find_gap(iova, size, &at);
	if (*addr > limit || size > limit - *addr) {
		ret = -ENOMEM;
		goto out;
	}
	memmove(&iova->region[at + 1], &iova->region[at],
		(iova->nr - at) * sizeof(iova->region[0]));
	iova->region[at] = (struct emb_region){ *addr, size, ptr };
	iova->nr++;
out:
	pthread_rwlock_unlock(&iova->lock);
	return ret;
}

/* When it returns no worker reads or writes there any more. */
static void iova_unmap(struct emb_iova *iova, uint64_t addr)
{
	size_t at;

	pthread_rwlock_wrlock(&iova->lock);
	for (at = 0; at < iova->nr; at++) {
		if (iova->region[at].addr != addr)
			continue;
		iova->nr--;
		memmove(&iova->region[at], &iova->region[at + 1],
			(iova->nr - at) * sizeof(iova->region[0]));
		break;
	}
	pthread_rwlock_unlock(&iova->lock);
}

int emb_shared_alloc(struct emb_machine *machine, uint64_t size, struct emb_shared *shared)
{
	uint64_t bytes = whole_pages(size);
	void *ptr;
	int ret;

	if (!bytes || bytes < size)
		return -ENOMEM;
	ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ptr == MAP_FAILED)
		return -ENOMEM;
	ret = iova_map(&machine->iova, ptr, bytes, machine->gen->host_base, &shared->addr);
	if (ret) {
		munmap(ptr, bytes);
		return ret;
	}
	shared->ptr = ptr;
	shared->size = bytes;
	return 0;
}

void emb_shared_free(struct emb_machine *machine, struct emb_shared *shared)
{
	if (!shared->ptr)
		return;
	iova_unmap(&machine->iova, shared->addr);
	munmap(shared->ptr, shared->size);
	shared->ptr = NULL;
}

uint64_t emb_host_addr(const struct nrt_chip *chip, uint64_t addr)
{
	return chip->gen->host_base | addr;
}

/* --- buffers --- */

static void bo_free(struct emb_bo *bo)
{
	struct nrt_chip *chip = bo->chip;

	if (emb_forked(chip))
		return;
	if (bo->placement == DRM_NEURON_BO_HBM)
		emb_hbm_free(bo);
	emb_shared_free(chip->machine, &bo->memory);
	free(bo->piece);
	free(bo);
}

void emb_memory_destroy(struct nrt_chip *chip)
{
	uint32_t i;

	for (i = 0; i < chip->nr_bos; i++) {
		struct emb_bo *bo = chip->bo[i];

		if (bo && !--bo->refs)
			bo_free(bo);
	}
	free(chip->bo);
	for (i = 0; i < NEURON_MAX_HBM; i++)
		free(chip->stack[i].free);
}

/* The piece that has byte @offset, or the last one. */
static uint32_t find_piece(const struct emb_bo *bo, uint64_t offset)
{
	uint32_t low = 0, high = bo->nr_pieces, middle;

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (bo->piece[middle].at <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint32_t emb_bo_pieces(const struct emb_bo *bo, uint64_t offset, uint64_t size)
{
	return find_piece(bo, offset + size - 1) - find_piece(bo, offset) + 1;
}

struct emb_run emb_bo_run(const struct emb_bo *bo, uint64_t offset, uint64_t size)
{
	const struct emb_piece *piece = &bo->piece[find_piece(bo, offset)];
	uint64_t skip = offset - piece->at, room = piece->length - skip;

	return (struct emb_run){
		.ptr = bo->ptr + piece->offset + skip,
		.addr = bo->addr + piece->offset + skip,
		.length = size < room ? size : room,
	};
}

struct emb_bo *emb_bo_find(struct nrt_chip *chip, uint32_t handle)
{
	return handle && handle <= chip->nr_bos ? chip->bo[handle - 1] : NULL;
}

void emb_bo_get(struct emb_bo *bo)
{
	struct emb_machine *machine = bo->chip->machine;

	pthread_mutex_lock(&machine->lock);
	bo->refs++;
	pthread_mutex_unlock(&machine->lock);
}

void emb_bo_put(struct emb_bo *bo)
{
	struct emb_machine *machine;
	bool last;

	if (!bo)
		return;
	machine = bo->chip->machine;
	pthread_mutex_lock(&machine->lock);
	last = !--bo->refs;
	pthread_mutex_unlock(&machine->lock);
	if (last)
		bo_free(bo);
}

static int add_handle(struct nrt_chip *chip, struct emb_bo *bo, uint32_t *handle)
{
	struct emb_bo **grown;
	uint32_t i;

	for (i = 0; i < chip->nr_bos && chip->bo[i]; i++)
		;
	if (i == chip->nr_bos) {
		grown = reallocarray(chip->bo, chip->nr_bos + 64, sizeof(struct emb_bo *));
		if (!grown)
			return -ENOMEM;
		memset(&grown[chip->nr_bos], 0, 64 * sizeof(struct emb_bo *));
		chip->bo = grown;
		chip->nr_bos += 64;
	}
	chip->bo[i] = bo;
	*handle = i + 1;
	return 0;
}

static int create_host(struct emb_bo *bo)
{
	int ret = emb_shared_alloc(bo->chip->machine, bo->size, &bo->memory);

	if (ret)
		return ret;
	bo->piece = calloc(1, sizeof(*bo->piece));
	if (!bo->piece) {
		emb_shared_free(bo->chip->machine, &bo->memory);
		return -ENOMEM;
	}
	bo->piece->length = bo->size;
	bo->nr_pieces = 1;
	bo->ptr = bo->memory.ptr;
	bo->addr = emb_host_addr(bo->chip, bo->memory.addr);
	return 0;
}

static int allocate(struct emb_bo *bo)
{
	int ret = bo->placement == DRM_NEURON_BO_HBM ? emb_hbm_alloc(bo) : create_host(bo);

	if (ret) {
		free(bo->piece);
		bo->piece = NULL;
	}
	return ret;
}

int emb_bo_create(struct nrt_chip *chip, struct drm_neuron_bo_create *create)
{
	bool hbm = create->placement == DRM_NEURON_BO_HBM;
	struct emb_bo *bo;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (!create->size || whole_pages(create->size) < create->size || create->flags ||
	    create->pad || create->placement > DRM_NEURON_BO_HOST || (!hbm && create->stack) ||
	    create->category >= DRM_NEURON_NR_CATEGORIES)
		return -EINVAL;
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		return -ENOMEM;
	bo->refs = 1;
	bo->chip = chip;
	bo->placement = create->placement;
	bo->stack = create->stack;
	bo->category = create->category;
	bo->size = whole_pages(create->size);
	ret = allocate(bo);
	if ((ret == -ENOSPC || ret == -ENOMEM) && emb_names_sweep(chip->machine, NULL))
		ret = allocate(bo);
	if (ret) {
		free(bo);
		return ret;
	}
	pthread_mutex_lock(&chip->lock);
	ret = add_handle(chip, bo, &create->handle);
	pthread_mutex_unlock(&chip->lock);
	if (ret) {
		emb_bo_put(bo);
		return ret;
	}
	create->size = bo->size;
	create->mmap_offset = (uint64_t)create->handle << 32;
	return 0;
}

/* With a reference. */
static struct emb_bo *bo_lookup(struct nrt_chip *chip, uint32_t handle)
{
	struct emb_bo *bo;

	if (emb_forked(chip))
		return NULL;
	pthread_mutex_lock(&chip->lock);
	bo = emb_bo_find(chip, handle);
	if (bo)
		emb_bo_get(bo);
	pthread_mutex_unlock(&chip->lock);
	return bo;
}

int emb_bo_info(struct nrt_chip *chip, struct drm_neuron_bo_info *info)
{
	struct emb_bo *bo;

	if (info->pad)
		return -EINVAL;
	bo = bo_lookup(chip, info->handle);
	if (!bo)
		return -ENOENT;
	*info = (struct drm_neuron_bo_info){
		.handle = info->handle,
		.placement = bo->placement,
		.stack = bo->stack,
		.peer = bo->chip != chip,
		.fabric_id = bo->chip->index,
		.size = bo->size,
		.mmap_offset = bo->chip == chip ? (uint64_t)info->handle << 32 : 0,
		.device_addr = bo->placement == DRM_NEURON_BO_HBM ?
				       emb_bo_run(bo, 0, 1).addr : 0,
		.category = bo->category,
	};
	emb_bo_put(bo);
	return 0;
}

void emb_bo_close(struct nrt_chip *chip, uint32_t handle)
{
	struct emb_bo *bo;

	if (emb_forked(chip))
		return;
	pthread_mutex_lock(&chip->lock);
	bo = emb_bo_find(chip, handle);
	if (bo)
		chip->bo[handle - 1] = NULL;
	pthread_mutex_unlock(&chip->lock);
	if (!bo)
		return;
	emb_names_sweep(chip->machine, bo);
	emb_bo_put(bo);
}

/* A mapping lives as long as the buffer. It begins where that does. */
int emb_bo_map(struct nrt_chip *chip, uint64_t offset, uint64_t size, void **map)
{
	struct emb_bo *bo = bo_lookup(chip, (uint32_t)(offset >> 32));
	int ret = -EINVAL;

	*map = NULL;
	if (bo && bo->chip == chip && !(uint32_t)offset && size && size <= bo->size) {
		*map = bo->memory.ptr;
		ret = *map ? 0 : emb_hbm_map_bo(bo, map);
	}
	emb_bo_put(bo);
	return ret;
}

void emb_bo_unmap(struct nrt_chip *chip, void *map, uint64_t size)
{
	(void)chip;
	(void)map;
	(void)size;
}

int emb_bo_export(struct nrt_chip *chip, uint32_t handle, int *fd)
{
	struct emb_bo *bo = bo_lookup(chip, handle);
	struct emb_name name = { .bo = bo };

	if (!bo)
		return -ENOENT;
	*fd = emb_name_new(chip->machine, &name);
	emb_bo_put(bo);
	return *fd < 0 ? *fd : 0;
}

/* The buffer that @fd names, with a reference. */
static int find_named(struct nrt_chip *chip, int fd, struct emb_bo **bo)
{
	struct emb_machine *machine = chip->machine;
	struct emb_name name;
	int ret;

	pthread_mutex_lock(&machine->lock);
	ret = emb_name_find(machine, fd, &name) && name.bo ? 0 : -EINVAL;
	/* The fabric does not reach memory of the host. */
	if (!ret && name.bo->chip != chip && name.bo->placement != DRM_NEURON_BO_HBM)
		ret = -EOPNOTSUPP;
	if (!ret) {
		name.bo->refs++;
		*bo = name.bo;
	}
	pthread_mutex_unlock(&machine->lock);
	return ret;
}

/* With the chip's lock: the handle of a buffer, or 0. */
static uint32_t find_handle(const struct nrt_chip *chip, const struct emb_bo *bo)
{
	uint32_t i;

	for (i = 0; i < chip->nr_bos; i++)
		if (chip->bo[i] == bo)
			return i + 1;
	return 0;
}

/* A buffer that has a handle gets no other one, and one close ends it: as DRM does it. */
static int import_locked(struct nrt_chip *chip, int fd, uint32_t *handle)
{
	struct emb_bo *bo;
	int ret = find_named(chip, fd, &bo);

	if (ret)
		return ret;
	*handle = find_handle(chip, bo);
	if (!*handle) {
		ret = add_handle(chip, bo, handle);
		if (!ret)
			return 0;
	}
	emb_bo_put(bo);
	return ret;
}

int emb_bo_import(struct nrt_chip *chip, int fd, uint32_t *handle)
{
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (fcntl(fd, F_GETFD) < 0)
		return -EBADF;
	pthread_mutex_lock(&chip->lock);
	ret = import_locked(chip, fd, handle);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

/* --- copies --- */

static bool in_buffer(const struct emb_bo *bo, uint64_t offset, uint64_t size)
{
	return offset <= bo->size && size <= bo->size - offset;
}

/* What is written past a chip it does not know, and zeros would count as never written. */
static void copy_in(struct emb_bo *bo, uint64_t offset, const uint8_t *from, uint64_t size)
{
	struct nrt_chip *chip = bo->chip;
	bool tell = chip->machine->check && bo->placement == DRM_NEURON_BO_HBM;
	struct emb_run run;

	for (; size; offset += run.length, from += run.length, size -= run.length) {
		run = emb_bo_run(bo, offset, size);
		if (!tell || trn_inspect_write(chip->chip, run.addr, from, run.length))
			trn_bulk_move(run.ptr, from, run.length);
	}
}

static void copy_out(const struct emb_bo *bo, uint64_t offset, uint8_t *to, uint64_t size)
{
	struct emb_run run;

	for (; size; offset += run.length, to += run.length, size -= run.length) {
		run = emb_bo_run(bo, offset, size);
		trn_bulk_move(to, run.ptr, run.length);
	}
}

/* What was not written of a run that begins @at bytes behind the others of @found. */
static void add_unwritten(struct nrt_unwritten *found, uint64_t at,
			  const struct trn_unwritten *part)
{
	if (part->count && !found->count)
		found->first = at + part->first;
	if (part->count && (!found->count || found->end == at + part->first))
		found->end = at + part->end;
	found->count += part->count;
}

static void find_unwritten(const struct emb_bo *bo, uint64_t offset, uint64_t size,
			   struct nrt_unwritten *found)
{
	struct trn_unwritten part;
	struct emb_run run;
	uint64_t at;

	for (at = 0; at < size; at += run.length) {
		run = emb_bo_run(bo, offset + at, size - at);
		trn_inspect_unwritten(bo->chip->chip, run.addr, run.length, &part);
		add_unwritten(found, at, &part);
	}
}

void emb_unwritten(struct nrt_chip *chip, uint32_t handle, uint64_t offset, uint64_t size,
		   struct nrt_unwritten *found)
{
	struct emb_bo *bo = bo_lookup(chip, handle);

	*found = (struct nrt_unwritten){ .count = 0 };
	if (bo && chip->machine->check && bo->placement == DRM_NEURON_BO_HBM &&
	    in_buffer(bo, offset, size))
		find_unwritten(bo, offset, size, found);
	emb_bo_put(bo);
}

static int copy_user(struct emb_bo *bo, const struct drm_neuron_copy *copy)
{
	void *user = (void *)(uintptr_t)copy->user;

	/* The driver answers EFAULT to any bad address; here only NULL can be told by itself. */
	if (!user)
		return copy->size ? -EFAULT : 0;
	if (copy->direction == DRM_NEURON_COPY_TO_DEVICE)
		copy_in(bo, copy->offset, user, copy->size);
	else
		copy_out(bo, copy->offset, user, copy->size);
	return 0;
}

/* Two ranges of one buffer must not overlap: the moves of a device have no order. */
static bool overlaps(const struct drm_neuron_copy *copy)
{
	return copy->offset < copy->src_offset + copy->size &&
	       copy->src_offset < copy->offset + copy->size;
}

static void copy_across(struct emb_bo *bo, uint64_t offset, const struct emb_bo *src,
			uint64_t src_offset, uint64_t size)
{
	struct emb_run run;

	for (; size; offset += run.length, src_offset += run.length, size -= run.length) {
		run = emb_bo_run(src, src_offset, size);
		copy_in(bo, offset, run.ptr, run.length);
	}
}

static int copy_buffer(struct nrt_chip *chip, struct emb_bo *bo,
		       const struct drm_neuron_copy *copy)
{
	struct emb_bo *src = bo_lookup(chip, copy->src_handle);
	int ret = -EINVAL;

	if (!src)
		return -ENOENT;
	if (src->chip == chip && in_buffer(src, copy->src_offset, copy->size) &&
	    !(src == bo && overlaps(copy))) {
		copy_across(bo, copy->offset, src, copy->src_offset, copy->size);
		ret = 0;
	}
	emb_bo_put(src);
	return ret;
}

/* What can be said of a copy without its buffers. */
static bool copy_valid(const struct drm_neuron_copy *copy)
{
	if (copy->flags || copy->direction > DRM_NEURON_COPY_BUFFER ||
	    copy->user + copy->size < copy->user)
		return false;
	if (copy->direction == DRM_NEURON_COPY_BUFFER)
		return !copy->user;
	return !copy->src_handle && !copy->src_offset;
}

/*
 * The CPU moves the bytes, as it does through BAR4: what is written that way is there for the
 * chip, and what the chip has written is there for it.
 */
int emb_copy(struct nrt_chip *chip, struct drm_neuron_copy *copy)
{
	struct emb_bo *bo;
	int ret = -EINVAL;

	if (!copy_valid(copy))
		return -EINVAL;
	bo = bo_lookup(chip, copy->handle);
	if (!bo)
		return -ENOENT;
	if (bo->chip == chip && in_buffer(bo, copy->offset, copy->size))
		ret = copy->direction == DRM_NEURON_COPY_BUFFER ? copy_buffer(chip, bo, copy) :
								  copy_user(bo, copy);
	emb_bo_put(bo);
	return ret;
}
