// SPDX-License-Identifier: GPL-2.0-only
/*
 * Window tables: bindings, pieces and versions, and what they show as text.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <drm/drm_print.h>

#include "contract/job.h"
#include "drm/neuron_accel.h"
#include "neuron_claim.h"
#include "neuron_gem.h"
#include "neuron_list.h"
#include "neuron_table.h"
#include "neuron_usage.h"

#define NEURON_TABLE_MIN	16	/* entries */

void neuron_binding_put(struct neuron_binding *binding)
{
	neuron_list_put(binding->list);
	if (binding->bo)
		neuron_bo_put(binding->bo);
	*binding = (struct neuron_binding){ };
}

static void neuron_binding_share(struct neuron_binding *to,
				 const struct neuron_binding *from)
{
	*to = *from;
	if (to->list)
		refcount_inc(&to->list->ref);
	if (to->bo)
		drm_gem_object_get(&to->bo->base);
}

bool neuron_binding_same(const struct neuron_binding *bound,
			 const struct neuron_binding *fresh)
{
	bool list = neuron_hw_window_is_list(&bound->hw);

	return bound->bo == fresh->bo && bound->offset == fresh->offset &&
	       bound->hw.length == fresh->hw.length &&
	       bound->hw.flags == fresh->hw.flags &&
	       bound->hw.generation == fresh->hw.generation &&
	       bound->hw.sem_first == fresh->hw.sem_first &&
	       (list || bound->hw.base == fresh->hw.base);
}

/* As the chip counts them: memory in one piece is an extent, too. */
static u32 neuron_binding_extents(const struct neuron_binding *binding)
{
	return le32_to_cpu(binding->hw.nr_extents) ?: !neuron_binding_is_empty(binding);
}

static bool neuron_binding_is_peer(const struct neuron_binding *binding)
{
	return binding->bo && binding->bo->kind == NEURON_BO_PEER;
}

/* Pieces. */

static size_t neuron_piece_hw_bytes(u32 nr)
{
	return nr * sizeof(struct neuron_hw_window);
}

static size_t neuron_piece_bytes(u32 nr)
{
	return neuron_coherent_bytes(neuron_piece_hw_bytes(nr)) +
	       struct_size_t(struct neuron_piece, binding, nr);
}

/* @nr entries that are empty. */
static struct neuron_piece *neuron_piece_create(struct neuron_claim *claim, u32 nr)
{
	struct neuron_piece *piece;

	if (neuron_claim_charge(claim, neuron_piece_bytes(nr)))
		return NULL;
	piece = kvzalloc(struct_size(piece, binding, nr), GFP_KERNEL_ACCOUNT);
	if (!piece)
		goto err_uncharge;
	piece->hw = dma_alloc_coherent(claim->ndev->drm.dev,
				       neuron_piece_hw_bytes(nr), &piece->dma,
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!piece->hw)
		goto err_free;
	kref_init(&piece->ref);
	piece->claim = claim;
	piece->nr = nr;
	return piece;

err_free:
	kvfree(piece);
err_uncharge:
	neuron_claim_uncharge(claim, neuron_piece_bytes(nr));
	return NULL;
}

static void neuron_piece_release(struct kref *ref)
{
	struct neuron_piece *piece = container_of(ref, struct neuron_piece, ref);
	struct neuron_claim *claim = piece->claim;
	u32 i;

	for (i = 0; i < piece->nr; i++)
		neuron_binding_put(&piece->binding[i]);
	dma_free_coherent(claim->ndev->drm.dev, neuron_piece_hw_bytes(piece->nr),
			  piece->hw, piece->dma);
	neuron_claim_uncharge(claim, neuron_piece_bytes(piece->nr));
	kvfree(piece);
}

static void neuron_piece_put(struct neuron_piece *piece)
{
	if (piece)
		kref_put(&piece->ref, neuron_piece_release);
}

/* Entry @i, which is empty, shows what @binding shows. */
static void neuron_piece_share_one(struct neuron_piece *piece, u32 i,
				   const struct neuron_binding *binding)
{
	neuron_binding_share(&piece->binding[i], binding);
	piece->hw[i] = binding->hw;
	piece->used += !neuron_binding_is_empty(binding);
}

/* The first @count entries of @from are those of @piece, too. */
static void neuron_piece_share(struct neuron_piece *piece,
			       const struct neuron_piece *from, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		neuron_piece_share_one(piece, i, &from->binding[i]);
}

/* Versions. */

/* With the stream's entry. */
static u32 neuron_table_pieces(u32 nr)
{
	return NEURON_TABLE_PIECES(nr + 1);
}

/* Entries of piece @i of a table of @nr entries and the stream's. */
static u32 neuron_table_piece_nr(u32 nr, u32 i)
{
	return min(NEURON_TABLE_PIECE, nr + 1 - i * NEURON_TABLE_PIECE);
}

static size_t neuron_table_directory_bytes(u32 nr)
{
	return neuron_table_pieces(nr) * sizeof(__le64);
}

/* Without its pieces. */
static size_t neuron_table_bytes(u32 nr)
{
	u32 pieces = neuron_table_pieces(nr);
	size_t bytes = pieces * sizeof(struct neuron_piece *);

	if (pieces > 1)
		bytes += neuron_coherent_bytes(neuron_table_directory_bytes(nr));
	return bytes;
}

const struct neuron_binding *neuron_table_stream(const struct neuron_table *table)
{
	const struct neuron_binding *stream;

	stream = neuron_table_binding(table, NEURON_TABLE_STREAM);
	return stream && !neuron_binding_is_empty(stream) ? stream : NULL;
}

/* Entries for the device: those of the program, and of a stream if there is one. */
static u32 neuron_table_hw_entries(const struct neuron_table *table)
{
	return table->nr + !!neuron_table_stream(table);
}

void neuron_table_describe(const struct neuron_table *table, struct neuron_hw_job *job)
{
	struct neuron_device *ndev = table->claim->ndev;
	u32 entries = neuron_table_hw_entries(table);

	if (table->directory)
		neuron_hw_job_pieces(job, neuron_host_addr(ndev, table->dma),
				     entries);
	else
		neuron_hw_job_windows(job, neuron_host_addr(ndev, table->piece[0]->dma),
				      entries);
}

static void neuron_table_free(struct neuron_table *table)
{
	struct neuron_claim *claim = table->claim;
	u32 i, pieces = neuron_table_pieces(table->nr);

	for (i = 0; table->piece && i < pieces; i++) {
		neuron_piece_put(table->piece[i]);
		cond_resched();
	}
	kvfree(table->piece);
	if (table->directory)
		dma_free_coherent(claim->ndev->drm.dev,
				  neuron_table_directory_bytes(table->nr),
				  table->directory, table->dma);
	neuron_claim_uncharge(claim, neuron_table_bytes(table->nr));
	kfree(table);
	neuron_claim_live_put(claim);
}

static void neuron_table_free_work(struct work_struct *work)
{
	neuron_table_free(container_of(work, struct neuron_table, free_work));
}

static void neuron_table_release(struct kref *ref)
{
	neuron_table_free(container_of(ref, struct neuron_table, ref));
}

static void neuron_table_release_later(struct kref *ref)
{
	struct neuron_table *table = container_of(ref, struct neuron_table,
						  ref);

	INIT_WORK(&table->free_work, neuron_table_free_work);
	queue_work(table->claim->ndev->free_wq, &table->free_work);
}

void neuron_table_put(struct neuron_table *table)
{
	kref_put(&table->ref, neuron_table_release);
}

void neuron_table_put_later(struct neuron_table *table)
{
	kref_put(&table->ref, neuron_table_release_later);
}

/* A directory for several pieces. */
static int neuron_table_alloc_directory(struct neuron_table *table)
{
	if (neuron_table_pieces(table->nr) == 1)
		return 0;
	table->directory = dma_alloc_coherent(table->claim->ndev->drm.dev,
					      neuron_table_directory_bytes(table->nr),
					      &table->dma,
					      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return table->directory ? 0 : -ENOMEM;
}

/* Without pieces. */
static struct neuron_table *neuron_table_create(struct neuron_claim *claim,
						u32 nr)
{
	struct neuron_table *table;

	if (neuron_claim_charge(claim, neuron_table_bytes(nr)))
		return NULL;
	table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table) {
		neuron_claim_uncharge(claim, neuron_table_bytes(nr));
		return NULL;
	}
	kref_init(&table->ref);
	table->claim = claim;
	table->nr = nr;
	neuron_claim_live_get(claim);
	table->piece = kvcalloc(neuron_table_pieces(nr), sizeof(*table->piece),
				GFP_KERNEL_ACCOUNT);
	if (!table->piece || neuron_table_alloc_directory(table)) {
		neuron_table_put(table);
		return NULL;
	}
	return table;
}

/* Piece @i, whose reference the table takes, or NULL. */
static void neuron_table_set(struct neuron_table *table, u32 i,
			     struct neuron_piece *piece)
{
	u64 addr;

	table->piece[i] = piece;
	if (!table->directory)
		return;
	addr = piece ? neuron_host_addr(table->claim->ndev, piece->dma) : 0;
	table->directory[i] = neuron_hw_table_piece(addr);
}

/*
 * Make piece @i one that no other version has, with the same entries. -ENOMEM.
 *
 * The buffers that the old piece shows are those of the new one, so that none is freed here.
 */
static int neuron_table_own(struct neuron_table *table, u32 i)
{
	struct neuron_piece *shared = table->piece[i], *piece;

	if (shared && kref_read(&shared->ref) == 1)
		return 0;
	piece = neuron_piece_create(table->claim,
				    neuron_table_piece_nr(table->nr, i));
	if (!piece)
		return -ENOMEM;
	if (shared)
		neuron_piece_share(piece, shared, shared->nr);
	neuron_table_set(table, i, piece);
	neuron_piece_put(shared);
	return 0;
}

/* Piece @i of @table is that of @from, too. */
static void neuron_table_share(struct neuron_table *table,
			       const struct neuron_table *from, u32 i)
{
	if (!from->piece[i])
		return;
	kref_get(&from->piece[i]->ref);
	neuron_table_set(table, i, from->piece[i]);
}

/*
 * The entries of @from, which is smaller. Its only piece is smaller, too, or all pieces but
 * that of the stream are full and can be shared. The stream moves behind the last entry.
 */
static int neuron_table_grow(struct neuron_table *table, const struct neuron_table *from)
{
	const struct neuron_binding *stream = neuron_table_stream(from);
	u32 i;
	int ret;

	for (i = 0; i < from->nr / NEURON_TABLE_PIECE; i++)
		neuron_table_share(table, from, i);
	if (from->nr < NEURON_TABLE_PIECE) {
		ret = neuron_table_own(table, 0);
		if (ret)
			return ret;
		neuron_piece_share(table->piece[0], from->piece[0], from->nr);
	}
	if (!stream)
		return 0;
	i = table->nr / NEURON_TABLE_PIECE;
	ret = neuron_table_own(table, i);
	if (!ret)
		neuron_piece_share_one(table->piece[i], table->nr % NEURON_TABLE_PIECE, stream);
	return ret;
}

/* The entries of @from, which is as large or smaller. */
static int neuron_table_copy(struct neuron_table *table, const struct neuron_table *from)
{
	u32 i;

	table->nr_extents = from->nr_extents;
	table->nr_peers = from->nr_peers;
	if (table->nr > from->nr)
		return neuron_table_grow(table, from);
	for (i = 0; i < neuron_table_pieces(table->nr); i++)
		neuron_table_share(table, from, i);
	return 0;
}

/* A version of @nr entries with those of @from, which may be NULL. NULL: no memory. */
static struct neuron_table *neuron_table_version(struct neuron_claim *claim,
						 const struct neuron_table *from,
						 u32 nr)
{
	struct neuron_table *table = neuron_table_create(claim, nr);
	int ret = 0;

	if (!table)
		return NULL;
	if (from)
		ret = neuron_table_copy(table, from);
	/* Without a directory the device reads a piece in any case. */
	if (!ret && !table->directory)
		ret = neuron_table_own(table, 0);
	if (!ret)
		return table;
	neuron_table_put_later(table);
	return NULL;
}

bool neuron_table_is_stray(const struct neuron_table *table)
{
	const struct neuron_binding *binding;
	u32 i;

	if (!table->nr_peers || !atomic_read(&table->claim->ndev->nr_gone))
		return false;
	for (i = 0; i < table->nr; i++) {
		binding = neuron_table_binding(table, i);
		if (binding && binding->bo && neuron_bo_is_gone(binding->bo))
			return true;
	}
	return false;
}

/* A window more, or one less, if @binding is one. */
static void neuron_table_count(struct neuron_table *table, struct neuron_piece *piece,
			       const struct neuron_binding *binding, int sign)
{
	if (neuron_binding_is_empty(binding))
		return;
	piece->used += sign;
	table->nr_extents += sign * neuron_binding_extents(binding);
	if (neuron_binding_is_peer(binding))
		table->nr_peers += sign;
}

/*
 * Exchanges the bindings of the entry, in a piece of the table's own, and of @change.
 * Return: the piece has nothing any more.
 */
static bool neuron_table_apply(struct neuron_table *table,
			       struct neuron_change *change)
{
	u32 slot = neuron_table_slot(table, change->index);
	struct neuron_piece *piece = table->piece[slot / NEURON_TABLE_PIECE];
	struct neuron_binding *binding = &piece->binding[slot % NEURON_TABLE_PIECE];

	neuron_table_count(table, piece, binding, -1);
	swap(*binding, change->binding);
	neuron_table_count(table, piece, binding, 1);
	piece->hw[slot % NEURON_TABLE_PIECE] = binding->hw;
	return !piece->used;
}

/* All of @changes; @backwards: undo them, because an entry may have been changed twice. */
static bool neuron_table_apply_all(struct neuron_table *table, struct neuron_change *changes,
				   u32 nr, bool backwards)
{
	bool unused = false;
	u32 i;

	for (i = 0; i < nr; i++)
		unused |= neuron_table_apply(table, &changes[backwards ? nr - 1 - i : i]);
	return unused;
}

static u32 neuron_table_piece_of(const struct neuron_table *table,
				 const struct neuron_change *change)
{
	return neuron_table_slot(table, change->index) / NEURON_TABLE_PIECE;
}

/* Pieces for all of @changes, so that nothing can fail while they are made. */
static int neuron_table_own_changed(struct neuron_table *table,
				    const struct neuron_change *changes, u32 nr)
{
	u32 i, piece, last = U32_MAX;
	int ret = 0;

	for (i = 0; i < nr && !ret; i++) {
		piece = neuron_table_piece_of(table, &changes[i]);
		if (piece != last)
			ret = neuron_table_own(table, piece);
		last = piece;
	}
	return ret;
}

/* Give back the pieces in which @changes, which are made, have left nothing. */
static void neuron_table_trim(struct neuron_table *table,
			      const struct neuron_change *changes, u32 nr)
{
	struct neuron_piece *piece;
	u32 i, index;

	for (i = 0; table->directory && i < nr; i++) {
		index = neuron_table_piece_of(table, &changes[i]);
		piece = table->piece[index];
		if (!piece || piece->used)
			continue;
		neuron_table_set(table, index, NULL);
		neuron_piece_put(piece);
	}
}

/* Few sizes, so that growth is rare. */
u32 neuron_table_entries(const struct neuron_table *table,
			 const struct neuron_change *changes, u32 nr)
{
	u32 entries = table ? table->nr : NEURON_TABLE_MIN;
	u32 i;

	for (i = 0; i < nr; i++)
		if (changes[i].index != NEURON_TABLE_STREAM)
			entries = max(entries, changes[i].index + 1);
	return min_t(u32, roundup_pow_of_two(entries), NEURON_MAX_WINDOWS);
}

struct neuron_table *neuron_table_change(struct neuron_claim *claim,
					 struct neuron_table *table,
					 struct neuron_change *changes,
					 u32 nr_changes)
{
	u32 nr = neuron_table_entries(table, changes, nr_changes);
	struct neuron_table *version = table;
	bool unused;
	int ret;

	if (!table || table->nr < nr || kref_read(&table->ref) > 1)
		version = neuron_table_version(claim, table, nr);
	if (!version)
		return ERR_PTR(-ENOMEM);
	ret = neuron_table_own_changed(version, changes, nr_changes);
	if (ret)
		goto err_version;
	unused = neuron_table_apply_all(version, changes, nr_changes, false);
	if (version->nr_extents <= NEURON_MAX_EXTENTS) {
		if (unused)
			neuron_table_trim(version, changes, nr_changes);
		return version;
	}

	neuron_table_apply_all(version, changes, nr_changes, true);
	ret = -EINVAL;
err_version:
	if (version != table)
		neuron_table_put_later(version);
	else
		/* Pieces that were made for the changes show nothing. */
		neuron_table_trim(table, changes, nr_changes);
	return ERR_PTR(ret);
}

/*
 * Tables as text: core dumps, debugfs. Owners of claims read it, too, so it has no
 * address of host memory.
 */

static const char *neuron_window_kind_name(u32 kind)
{
	static const char * const names[] = {
		[NEURON_WINDOW_EMPTY] = "empty",
		[NEURON_WINDOW_HBM] = "hbm",
		[NEURON_WINDOW_HOST] = "host",
		[NEURON_WINDOW_SBUF] = "sbuf",
		[NEURON_WINDOW_PSUM] = "psum",
		[NEURON_WINDOW_PEER] = "peer",
		[NEURON_WINDOW_SEM] = "sem",
		[NEURON_WINDOW_STREAM] = "stream",
		[NEURON_WINDOW_GRANT] = "grant",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

static void neuron_binding_print_bo(const struct neuron_binding *binding,
				    struct drm_printer *p)
{
	const struct neuron_bo *bo = binding->bo;

	drm_printf(p, " offset %#llx buffer %#zx", binding->offset,
		   bo->base.size);
	if (bo->kind == NEURON_BO_HBM || bo->kind == NEURON_BO_PEER)
		drm_printf(p, " stack %u", bo->stack);
	drm_printf(p, " category %s", neuron_category_name(bo->category));
	if (binding->list)
		drm_printf(p, " pieces %u", neuron_binding_extents(binding));
}

static void neuron_binding_print(const struct neuron_binding *binding,
				 u32 index, struct drm_printer *p)
{
	const struct neuron_hw_window *hw = &binding->hw;
	u32 flags = le32_to_cpu(hw->flags);
	u32 kind = NEURON_GET(NEURON_WINDOW_KIND, flags);
	u64 base = le64_to_cpu(hw->base);

	drm_printf(p, "window %u: %s %s%s length %#llx", index,
		   neuron_window_kind_name(kind),
		   flags & NEURON_WINDOW_READ ? "r" : "-",
		   flags & NEURON_WINDOW_WRITE ? "w" : "-",
		   le64_to_cpu(hw->length));
	if (binding->bo)
		neuron_binding_print_bo(binding, p);
	if (kind == NEURON_WINDOW_SEM)
		drm_printf(p, " first %u", le32_to_cpu(hw->sem_first));
	if (kind == NEURON_WINDOW_SEM || kind == NEURON_WINDOW_GRANT)
		drm_printf(p, " generation %u", le32_to_cpu(hw->generation));
	if (base & NEURON_ADDR_FABRIC)
		drm_printf(p, " chip %llu",
			   NEURON_GET(NEURON_ADDR_FABRIC_CHIP, base));
	drm_printf(p, "\n");
}

void neuron_table_print(const struct neuron_table *table, u32 max,
			struct drm_printer *p)
{
	const struct neuron_binding *binding;
	u32 i, printed = 0, more = 0;

	for (i = 0; i < table->nr; i++) {
		binding = neuron_table_binding(table, i);
		if (!binding || neuron_binding_is_empty(binding))
			continue;
		if (printed == max) {
			more++;
			continue;
		}
		neuron_binding_print(binding, i, p);
		printed++;
	}
	if (more)
		drm_printf(p, "windows: %u more\n", more);
}

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_table.c"
#endif
