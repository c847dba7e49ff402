// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers: the checks of what a user asks for, and the list of moves made of it.
 */
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "drm/neuron_accel.h"
#include "neuron_gem.h"
#include "neuron_hw.h"
#include "neuron_transfer.h"

/* The most that a fill has of its pattern in memory: few pages are found easily. */
#define NEURON_PATTERN_BYTES	SZ_32K

/**
 * struct neuron_plan - a transfer that is being made
 * @ndev: device
 * @args: as asked for, with all counts at least 1
 * @dst: buffer that is written, referenced
 * @src: buffer that is read, referenced; NULL: it fills
 * @pattern_size: bytes of the pattern
 * @pattern: device address of it, or 0: the moves are only counted
 * @desc: moves, or NULL: they are only counted
 * @nr: moves so far
 */
struct neuron_plan {
	struct neuron_device *ndev;
	struct drm_neuron_transfer args;
	struct neuron_bo *dst;
	struct neuron_bo *src;
	size_t pattern_size;
	u64 pattern;
	struct neuron_copy_desc *desc;
	unsigned int nr;
};

static int neuron_plan_refuse(const struct neuron_plan *plan, int error,
			      const char *why)
{
	drm_dbg(&plan->ndev->drm, "transfer: %s\n", why);
	return error;
}

static int neuron_plan_check_fields(const struct neuron_plan *plan)
{
	const struct drm_neuron_transfer *args = &plan->args;
	bool fill = args->flags & DRM_NEURON_TRANSFER_FILL;
	unsigned int i;

	if (args->flags & ~DRM_NEURON_TRANSFER_FILL)
		return neuron_plan_refuse(plan, -EINVAL, "unknown flags");
	if (!args->bytes)
		return neuron_plan_refuse(plan, -EINVAL, "no bytes");
	if (!fill && args->fill)
		return neuron_plan_refuse(plan, -EINVAL,
					  "a value to fill with, without its flag");
	if (!fill)
		return 0;
	if (args->src || args->src_offset)
		return neuron_plan_refuse(plan, -EINVAL,
					  "a source beside a value to fill with");
	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		if (args->src_step[i])
			return neuron_plan_refuse(plan, -EINVAL,
						  "a source beside a value to fill with");
	return 0;
}

/* Where the last run ends; -EINVAL: beyond @size, or no number. */
static int neuron_plan_end(const struct drm_neuron_transfer *args, bool dst,
			   u64 size, u64 *end)
{
	const u64 *step = dst ? args->dst_step : args->src_step;
	unsigned int i;
	u64 span;

	*end = dst ? args->dst_offset : args->src_offset;
	if (check_add_overflow(*end, args->bytes, end))
		return -EINVAL;
	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		if (check_mul_overflow(args->count[i] - 1, step[i], &span) ||
		    check_add_overflow(*end, span, end))
			return -EINVAL;
	return *end <= size ? 0 : -EINVAL;
}

static int neuron_plan_check_bo(const struct neuron_plan *plan, bool dst)
{
	struct neuron_bo *bo = dst ? plan->dst : plan->src;
	u64 end;

	if (neuron_bo_is_gone(bo))
		return neuron_plan_refuse(plan, -ENODEV,
					  "the chip of a buffer is gone");
	if (neuron_bo_is_lost(bo))
		return neuron_plan_refuse(plan, neuron_hw_error(plan->ndev),
					  "a buffer was lost in a device reset");
	if (neuron_bo_is_stream(bo))
		return neuron_plan_refuse(plan, -EPERM,
					  "transfers do not reach streams");
	if (dst && neuron_bo_is_read_only(bo))
		return neuron_plan_refuse(plan, -EPERM,
					  "the destination is read-only");
	if (neuron_plan_end(&plan->args, dst, bo->base.size, &end))
		return neuron_plan_refuse(plan, -EINVAL, dst ?
					  "a run ends behind the destination" :
					  "a run ends behind the source");
	return 0;
}

/*
 * Refuse a single run whose source and destination overlap. With dimensions an overlap is not
 * looked for: that would take long.
 */
static int neuron_plan_check_overlap(const struct neuron_plan *plan, u64 runs)
{
	const struct drm_neuron_transfer *args = &plan->args;

	if (plan->src != plan->dst || runs > 1 ||
	    args->dst_offset >= args->src_offset + args->bytes ||
	    args->src_offset >= args->dst_offset + args->bytes)
		return 0;
	return neuron_plan_refuse(plan, -EINVAL,
				  "source and destination overlap");
}

/* Each run is at least one move, so there are at most as many runs as moves. */
static int neuron_plan_check_runs(const struct neuron_plan *plan, u64 *runs)
{
	unsigned int i;

	*runs = 1;
	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		if (check_mul_overflow(*runs, plan->args.count[i], runs) ||
		    *runs > NEURON_TRANSFER_PIECES)
			return neuron_plan_refuse(plan, -E2BIG, "too many runs");
	return 0;
}

static int neuron_plan_check(struct neuron_plan *plan)
{
	u64 runs;
	int ret;

	ret = neuron_plan_check_bo(plan, true);
	if (!ret && plan->src)
		ret = neuron_plan_check_bo(plan, false);
	if (!ret)
		ret = neuron_plan_check_runs(plan, &runs);
	return ret ?: neuron_plan_check_overlap(plan, runs);
}

/* The next bytes of a run with @left bytes left, and where they come from. */
static u64 neuron_plan_source(const struct neuron_plan *plan,
			      const struct neuron_cursor *src, u64 left,
			      u64 *addr)
{
	u64 phase = (plan->args.bytes - left) % sizeof(plan->args.fill);

	if (plan->src) {
		*addr = neuron_cursor_addr(src);
		return min3(left, neuron_cursor_room(src),
			    (u64)NEURON_UDMA_DESC_MAX_BYTES);
	}
	*addr = plan->pattern + phase;
	return min(left, plan->pattern_size - phase);
}

/* The run whose first bytes are @dst_at and @src_at; -E2BIG. */
static int neuron_plan_run(struct neuron_plan *plan, u64 dst_at, u64 src_at)
{
	struct neuron_cursor dst, src = { };
	u64 left = plan->args.bytes;
	u64 addr, len;
	int ret;

	ret = neuron_bo_cursor(plan->dst, dst_at, &dst);
	if (!ret && plan->src)
		ret = neuron_bo_cursor(plan->src, src_at, &src);
	if (ret)
		return ret;
	for (; left; left -= len) {
		if (plan->nr == NEURON_TRANSFER_PIECES)
			return neuron_plan_refuse(plan, -E2BIG,
						  "too many pieces");
		len = neuron_plan_source(plan, &src, left, &addr);
		len = min(len, neuron_cursor_room(&dst));
		if (plan->desc)
			plan->desc[plan->nr] = (struct neuron_copy_desc){
				.src = addr,
				.dst = neuron_cursor_addr(&dst),
				.len = len,
			};
		plan->nr++;
		neuron_cursor_advance(&dst, len);
		if (plan->src)
			neuron_cursor_advance(&src, len);
	}
	return 0;
}

/* All runs; neuron_plan_check_runs() has bounded their number. */
static int neuron_plan_walk(struct neuron_plan *plan)
{
	const struct drm_neuron_transfer *args = &plan->args;
	u64 i, j, k;
	int ret;

	plan->nr = 0;
	for (k = 0; k < args->count[2]; k++)
		for (j = 0; j < args->count[1]; j++)
			for (i = 0; i < args->count[0]; i++) {
				ret = neuron_plan_run(plan,
						      args->dst_offset +
						      i * args->dst_step[0] +
						      j * args->dst_step[1] +
						      k * args->dst_step[2],
						      args->src_offset +
						      i * args->src_step[0] +
						      j * args->src_step[1] +
						      k * args->src_step[2]);
				if (ret)
					return ret;
			}
	return 0;
}

static void neuron_plan_fill(struct neuron_plan *plan,
			     struct neuron_transfer *transfer)
{
	__le64 *pattern = transfer->pattern;
	size_t i;

	if (!pattern)
		return;
	for (i = 0; i < plan->pattern_size / sizeof(*pattern); i++)
		pattern[i] = cpu_to_le64(plan->args.fill);
	plan->pattern = neuron_host_addr(plan->ndev, transfer->pattern_dma);
}

/* The references of the buffers go to the transfer. */
static struct neuron_transfer *neuron_plan_make(struct neuron_plan *plan,
						struct neuron_transfers *of)
{
	struct neuron_transfer *transfer;
	unsigned int i;
	int ret;

	ret = neuron_plan_walk(plan);
	if (ret)
		return ERR_PTR(ret);
	transfer = neuron_transfer_create(of, plan->args.queue, plan->nr,
					  plan->pattern_size);
	if (IS_ERR(transfer))
		return transfer;
	plan->desc = transfer->desc;
	neuron_plan_fill(plan, transfer);
	/* The buffers are as they were: it gives as many moves as before. */
	neuron_plan_walk(plan);
	for (i = 0; i < plan->nr; i++)
		transfer->req.bytes += plan->desc[i].len;
	transfer->dst = plan->dst;
	transfer->src = plan->src;
	plan->dst = NULL;
	plan->src = NULL;
	return transfer;
}

static int neuron_plan_lookup(struct neuron_plan *plan, struct drm_file *file)
{
	struct neuron_bo *bo = neuron_bo_lookup(file, plan->args.dst);

	if (IS_ERR(bo))
		return neuron_plan_refuse(plan, PTR_ERR(bo), "no such destination");
	plan->dst = bo;
	if (plan->args.flags & DRM_NEURON_TRANSFER_FILL) {
		plan->pattern_size = min_t(u64, NEURON_PATTERN_BYTES,
					   round_up(min_t(u64, plan->args.bytes,
							  NEURON_PATTERN_BYTES),
						    sizeof(plan->args.fill)));
		return 0;
	}
	bo = neuron_bo_lookup(file, plan->args.src);
	if (IS_ERR(bo))
		return neuron_plan_refuse(plan, PTR_ERR(bo), "no such source");
	plan->src = bo;
	return 0;
}

struct neuron_transfer *
neuron_transfer_build(struct neuron_transfers *of, struct drm_file *file,
		      const struct drm_neuron_transfer *args)
{
	struct neuron_plan plan = { .ndev = of->ndev, .args = *args };
	/* Before the buffers are looked at: what they hold ends with it. */
	u32 epoch = READ_ONCE(of->ndev->epoch);
	struct neuron_transfer *transfer;
	unsigned int i;
	int ret;

	for (i = 0; i < DRM_NEURON_TRANSFER_DIMS; i++)
		plan.args.count[i] = plan.args.count[i] ?: 1;
	ret = neuron_plan_check_fields(&plan);
	if (!ret)
		ret = neuron_plan_lookup(&plan, file);
	if (!ret)
		ret = neuron_plan_check(&plan);
	transfer = ret ? ERR_PTR(ret) : neuron_plan_make(&plan, of);
	if (!IS_ERR(transfer))
		transfer->req.epoch = epoch;
	if (plan.dst)
		neuron_bo_put(plan.dst);
	if (plan.src)
		neuron_bo_put(plan.src);
	return transfer;
}
