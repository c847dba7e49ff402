// SPDX-License-Identifier: MIT
/*
 * Mesh. Every member writes to every other one. A block is reduced by its owner, in the order of
 * the team; the parts of the others wait in scratch, one place for each.
 *
 * Each pair of members has one semaphore on either side. Everything that tells it goes by one
 * queue, so its posts have an order: READY, then DATA for each step.
 */
#include "plan/stage.h"

#define MIN(a, b)	((a) < (b) ? (a) : (b))

/* Bytes from which a block is reduced by several queues. */
#define PART_BYTES	4096

/**
 * struct mesh - the mesh as this rank sees it
 * @me: this rank
 * @queues: of all that goes to others
 * @sem: @sem + i: from member i
 * @landed: LANDED of the queues
 * @slot: bytes of a place in @scratch
 */
struct mesh {
	struct nrt_build *build;
	const struct nrt_stage *stage;
	unsigned int me;
	unsigned int queues;
	unsigned int sem;
	unsigned int landed;
	uint64_t slot;
	struct nrt_zone scratch;
	struct nrt_zone sum;
};

/* Member that comes @d after this one. */
static unsigned int member(const struct mesh *mesh, unsigned int d)
{
	return (mesh->stage->me + d) % mesh->stage->n;
}

/* Posts member @i behind what the step moved. */
static void tell(const struct mesh *mesh, unsigned int i)
{
	nrt_build_post(mesh->build, mesh->stage->rank[i], mesh->sem + mesh->stage->me, 1);
}

static void wait_for(const struct mesh *mesh, unsigned int i)
{
	nrt_build_wait(mesh->build, mesh->stage->rank[i], mesh->sem + i, 1);
}

/* A step to the member that comes @d after this one. */
static unsigned int step_to(const struct mesh *mesh, unsigned int d)
{
	nrt_build_step(mesh->build, (d - 1) % mesh->queues);
	return member(mesh, d);
}

static void wait_for_all(const struct mesh *mesh)
{
	unsigned int i;

	for (i = 0; i < mesh->stage->n; i++)
		if (i != mesh->stage->me)
			wait_for(mesh, i);
}

static void begin(struct mesh *mesh, uint64_t slot)
{
	const struct nrt_stage *stage = mesh->stage;
	struct nrt_build *build = mesh->build;
	unsigned int rights = NRT_PLAN_WRITES(stage->to[0].space), i, d;

	mesh->me = stage->rank[stage->me];
	mesh->queues = MIN(stage->queues, stage->n - 1);
	mesh->sem = nrt_build_sems(build, stage->n + mesh->queues);
	mesh->landed = mesh->sem + stage->n;
	mesh->slot = (slot + 63) / 64 * 64;
	if (slot) {
		mesh->scratch = nrt_zone(NRT_PLAN_SCRATCH, 0, mesh->slot * (stage->n - 1));
		mesh->scratch.offset = nrt_build_scratch(build, mesh->scratch.run);
		rights |= NRT_PLAN_WRITES(NRT_PLAN_SCRATCH);
	}
	if (slot && stage->n > NRT_PLAN_MAX_SRC) {
		mesh->sum = nrt_zone(NRT_PLAN_SCRATCH, 0, mesh->slot);
		mesh->sum.offset = nrt_build_scratch(build, mesh->slot);
	}
	build->phase = NRT_PLAN_BEGIN;
	for (i = 0; i < stage->n; i++) {
		if (i == stage->me)
			continue;
		nrt_build_sem(build, mesh->sem + i, stage->rank[i], NRT_PLAN_BOTH);
		nrt_build_allow(build, stage->rank[i], rights);
	}
	for (d = 1; d < stage->n; d++)
		tell(mesh, step_to(mesh, d));
	build->number++;
}

/* Where what member @i sends to member @j waits. */
static uint64_t place_of(const struct mesh *mesh, unsigned int i, unsigned int j)
{
	return (i - (i > j)) * mesh->slot;
}

/* Block i of this rank goes to the scratch of member i; with @whole all get block 0. */
static void scatter(const struct mesh *mesh, bool whole)
{
	const struct nrt_stage *stage = mesh->stage;
	unsigned int d, i;

	mesh->build->phase = NRT_PLAN_SCATTER;
	for (d = 1; d < stage->n; d++) {
		const struct nrt_zone *zone;
		struct nrt_side to;

		i = step_to(mesh, d);
		zone = &stage->from[whole ? 0 : i];
		to = (struct nrt_side){ stage->rank[i], &mesh->scratch,
					place_of(mesh, stage->me, i) };
		wait_for(mesh, i);
		nrt_build_copy(mesh->build, (struct nrt_side){ mesh->me, zone, 0 }, &to, 1,
			       nrt_zone_bytes(zone));
		tell(mesh, i);
	}
	mesh->build->number++;
}

/* Bytes @at to @at + @bytes of a block: all members in their order, 16 at a time. */
static void reduce_part(const struct mesh *mesh, const struct nrt_zone *from,
			const struct nrt_zone *to, uint64_t at, uint64_t bytes)
{
	const struct nrt_stage *stage = mesh->stage;
	struct nrt_side src[NRT_PLAN_MAX_SRC], dst = { mesh->me, to, at };
	struct nrt_side sum = { mesh->me, &mesh->sum, at };
	unsigned int i, nr = 0;

	for (i = 0; i < stage->n; i++) {
		if (nr == NRT_PLAN_MAX_SRC) {
			nrt_build_combine(mesh->build, src, nr, &sum, 1, bytes);
			src[0] = sum;
			nr = 1;
		}
		if (i == stage->me)
			src[nr++] = (struct nrt_side){ mesh->me, from, at };
		else
			src[nr++] = (struct nrt_side){ mesh->me, &mesh->scratch,
						       place_of(mesh, i, stage->me) + at };
	}
	nrt_build_combine(mesh->build, src, nr, &dst, 1, bytes);
}

/* The queues share the block. Return: how many have a part. */
static unsigned int reduce(const struct mesh *mesh, const struct nrt_zone *from,
			   const struct nrt_zone *to)
{
	uint64_t bytes = nrt_zone_bytes(to), at, next;
	unsigned int parts = (unsigned int)MIN(bytes / PART_BYTES + 1, mesh->queues), k;

	for (k = 0; k < parts; k++) {
		at = nrt_stage_slice(mesh->build->plan, bytes, parts, k);
		next = nrt_stage_slice(mesh->build->plan, bytes, parts, k + 1);
		nrt_build_step(mesh->build, k);
		if (!k)
			wait_for_all(mesh);
		reduce_part(mesh, from, to, at, next - at);
	}
	return parts;
}

/* This rank's block goes to all others. */
static void gather(const struct mesh *mesh, const struct nrt_zone *from, bool first)
{
	const struct nrt_stage *stage = mesh->stage;
	const struct nrt_zone *zone = &stage->to[stage->me];
	unsigned int d, i;

	mesh->build->phase = NRT_PLAN_GATHER;
	for (d = 1; d < stage->n; d++) {
		struct nrt_side to;

		i = step_to(mesh, d);
		to = (struct nrt_side){ stage->rank[i], zone, 0 };
		if (first)
			wait_for(mesh, i);
		nrt_build_copy(mesh->build, (struct nrt_side){ mesh->me, from, 0 }, &to, 1,
			       nrt_zone_bytes(zone));
		tell(mesh, i);
	}
	if (first && !stage->placed) {
		struct nrt_side own = { mesh->me, zone, 0 };

		mesh->build->phase = NRT_PLAN_LOCAL;
		nrt_build_step(mesh->build, 0);
		nrt_build_copy(mesh->build, (struct nrt_side){ mesh->me, from, 0 }, &own, 1,
			       nrt_zone_bytes(zone));
	}
	mesh->build->number++;
	mesh->build->phase = NRT_PLAN_END;
	nrt_build_step(mesh->build, 0);
	wait_for_all(mesh);
	mesh->build->number++;
}

void nrt_mesh_stage(struct nrt_build *build, const struct nrt_stage *stage, enum nrt_plan_op op)
{
	struct mesh mesh = { .build = build, .stage = stage };
	const struct nrt_zone *to = &stage->to[stage->me];
	unsigned int parts;

	if (op == NRT_PLAN_ALL_GATHER) {
		begin(&mesh, 0);
		gather(&mesh, &stage->from[stage->me], true);
		return;
	}
	begin(&mesh, stage->most);
	scatter(&mesh, false);
	parts = reduce(&mesh, &stage->from[stage->me], to);
	if (op == NRT_PLAN_ALL_REDUCE) {
		nrt_build_fence(build, mesh.landed, parts);
		build->number++;
		gather(&mesh, to, false);
	} else {
		build->number++;
	}
}

void nrt_mesh_one_stage(struct nrt_build *build, const struct nrt_stage *stage)
{
	struct mesh mesh = { .build = build, .stage = stage };

	begin(&mesh, stage->most);
	scatter(&mesh, true);
	if (stage->alias)
		nrt_build_fence(build, mesh.landed, mesh.queues);
	reduce(&mesh, &stage->from[0], &stage->to[0]);
	build->number++;
}
