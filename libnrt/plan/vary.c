// SPDX-License-Identifier: MIT
/*
 * Every rank writes to every other one, as in a mesh: the semaphores are those of mesh.c. The
 * sender knows how much it sends and where it lies. Where it goes to is known by the receiver,
 * which, with receive displacements, writes them into the scratch of senders that are READY, and
 * is READY a second time. A sender then waits for all of them before it sends: so it can judge all
 * numbers before anybody has got anything.
 *
 * What is reduced lies in scratch, a block for each rank, this one too: so the sources of a
 * reduction are at places that are known before, and only its length is not.
 */
#include "plan/choose.h"
#include "plan/vary.h"

#define MIN(a, b)	((a) < (b) ? (a) : (b))

#define WORD	sizeof(uint32_t)

/**
 * struct vary - the operation as this rank sees it
 * @sem: @sem + i: rank i
 * @mail: displacements that receivers have written, a word for each
 * @parts: REDUCE_SCATTER_V: what comes in, a block for each rank, and one for a sum so far
 */
struct vary {
	struct nrt_build *build;
	const struct nrt_plan *plan;
	unsigned int n;
	unsigned int me;
	unsigned int queues;
	unsigned int sem;
	struct nrt_zone mail;
	struct nrt_zone parts;
	struct nrt_zone meta;
	struct nrt_zone in;
	struct nrt_zone out;
};

static uint64_t cell(const struct vary *vary, enum nrt_plan_row row, unsigned int column)
{
	return ((uint64_t)row * vary->n + column) * WORD;
}

static unsigned int meta_value(const struct vary *vary, enum nrt_plan_row row, unsigned int column)
{
	return nrt_build_value(vary->build, NRT_PLAN_META, cell(vary, row, column));
}

/* Which column says what goes to rank @i. */
static unsigned int column_of(const struct vary *vary, unsigned int i)
{
	return vary->plan->op == NRT_PLAN_ALL_GATHER_V ? 0 : i;
}

static unsigned int queue_to(const struct vary *vary, unsigned int i)
{
	return (i + vary->n - vary->me - 1) % vary->n % vary->queues;
}

/* Is a receiver asked where a block goes to? */
static bool has_mail(const struct vary *vary)
{
	return vary->plan->has_rdispls && vary->plan->op != NRT_PLAN_REDUCE_SCATTER_V;
}

static void begin(struct vary *vary)
{
	struct nrt_build *build = vary->build;
	const struct nrt_plan *plan = vary->plan;
	unsigned int rights = 0, i;

	vary->sem = nrt_build_sems(build, vary->n);
	vary->meta = nrt_zone(NRT_PLAN_META, 0, plan->bytes[NRT_PLAN_META]);
	vary->in = nrt_zone(NRT_PLAN_INPUT, 0, plan->bytes[NRT_PLAN_INPUT]);
	vary->out = nrt_zone(NRT_PLAN_OUTPUT, 0, plan->bytes[NRT_PLAN_OUTPUT]);
	if (plan->op == NRT_PLAN_REDUCE_SCATTER_V) {
		vary->parts = nrt_zone(NRT_PLAN_SCRATCH, 0, (vary->n + 1) * plan->block);
		vary->parts.offset = nrt_build_scratch(build, vary->parts.run);
		rights = NRT_PLAN_WRITES(NRT_PLAN_SCRATCH);
	} else {
		rights = NRT_PLAN_WRITES(NRT_PLAN_OUTPUT);
		if (nrt_plan_counts(plan->op, plan->recv_counts_known))
			rights |= NRT_PLAN_WRITES(NRT_PLAN_META);
		if (has_mail(vary))
			rights |= NRT_PLAN_WRITES(NRT_PLAN_SCRATCH);
	}
	vary->mail = nrt_zone(NRT_PLAN_SCRATCH, 0, vary->n * WORD);
	vary->mail.offset = nrt_build_scratch(build, vary->mail.run);
	build->phase = NRT_PLAN_BEGIN;
	for (i = 0; i < vary->n; i++) {
		if (i == vary->me)
			continue;
		nrt_build_sem(build, vary->sem + i, i, NRT_PLAN_BOTH);
		nrt_build_allow(build, i, rights);
		nrt_build_step(build, queue_to(vary, i));
		nrt_build_post(build, i, vary->sem + vary->me, 1);
	}
	build->number++;
}

/* Tell each sender, who has begun, where its block goes to; and learn the same. */
static void send_mail(const struct vary *vary)
{
	struct nrt_build *build = vary->build;
	unsigned int i;

	for (i = 0; i < vary->n; i++) {
		struct nrt_side from = { vary->me, &vary->meta,
					 cell(vary, NRT_PLAN_RECV_DISPLS, i) };
		struct nrt_side to = { i, &vary->mail, vary->me * WORD };

		if (i == vary->me)
			continue;
		nrt_build_step(build, queue_to(vary, i));
		nrt_build_wait(build, i, vary->sem + i, 1);
		nrt_build_copy(build, from, &to, 1, WORD);
		nrt_build_post(build, i, vary->sem + vary->me, 1);
	}
	build->number++;
	nrt_build_step(build, 0);
	for (i = 0; i < vary->n; i++)
		if (i != vary->me)
			nrt_build_wait(build, i, vary->sem + i, 1);
	build->number++;
}

/* Where the block for rank @i goes to; *@value is added to it. */
static struct nrt_side target_of(const struct vary *vary, unsigned int i, unsigned int *value)
{
	const struct nrt_plan *plan = vary->plan;
	struct nrt_side to = { i, &vary->out, vary->me * plan->block };

	*value = 0;
	if (plan->op == NRT_PLAN_REDUCE_SCATTER_V) {
		to.zone = &vary->parts;
	} else if (plan->has_rdispls) {
		to.at = 0;
		*value = i == vary->me ? meta_value(vary, NRT_PLAN_RECV_DISPLS, i) :
			 nrt_build_value(vary->build, NRT_PLAN_SCRATCH,
					 vary->mail.offset + i * WORD);
	}
	return to;
}

static void send_block(const struct vary *vary, unsigned int i)
{
	const unsigned int column = column_of(vary, i);
	struct nrt_build *build = vary->build;
	struct nrt_side from = { vary->me, &vary->in, 0 }, to;
	unsigned int offset;

	to = target_of(vary, i, &offset);
	nrt_build_copy(build, from, &to, 1, vary->plan->block);
	nrt_build_vary(build, meta_value(vary, NRT_PLAN_SEND_COUNTS, column),
		       meta_value(vary, NRT_PLAN_SEND_DISPLS, column), offset);
}

/* The receiver learns how much it got. */
static void send_count(const struct vary *vary, unsigned int i)
{
	struct nrt_side from = { vary->me, &vary->meta,
				 cell(vary, NRT_PLAN_SEND_COUNTS, column_of(vary, i)) };
	struct nrt_side to = { i, &vary->meta, cell(vary, NRT_PLAN_RECV_COUNTS, vary->me) };

	if (!nrt_plan_counts(vary->plan->op, vary->plan->recv_counts_known))
		return;
	nrt_build_step(vary->build, i == vary->me ? 0 : queue_to(vary, i));
	nrt_build_copy(vary->build, from, &to, 1, WORD);
}

static void send(const struct vary *vary)
{
	unsigned int d, i;

	vary->build->phase = NRT_PLAN_SEND;
	for (d = 1; d <= vary->n; d++) {
		i = (vary->me + d) % vary->n;
		/* What goes to this rank is before its reduction in the same queue. */
		nrt_build_step(vary->build, i == vary->me ? 0 : queue_to(vary, i));
		if (i != vary->me && !has_mail(vary))
			nrt_build_wait(vary->build, i, vary->sem + i, 1);
		send_block(vary, i);
		send_count(vary, i);
		if (i != vary->me)
			nrt_build_post(vary->build, i, vary->sem + vary->me, 1);
	}
	vary->build->number++;
}

/* In the order of the ranks, 16 at a time. */
static void reduce(const struct vary *vary)
{
	const struct nrt_plan *plan = vary->plan;
	struct nrt_build *build = vary->build;
	struct nrt_side src[NRT_PLAN_MAX_SRC], dst = { vary->me, &vary->out, 0 };
	struct nrt_side sum = { vary->me, &vary->parts, vary->n * plan->block };
	unsigned int length = meta_value(vary, NRT_PLAN_SEND_COUNTS, vary->me);
	unsigned int i, nr = 0;

	for (i = 0; i < vary->n; i++) {
		if (nr == NRT_PLAN_MAX_SRC) {
			nrt_build_combine(build, src, nr, &sum, 1, plan->block);
			nrt_build_vary(build, length, 0, 0);
			nrt_build_step(build, 0);
			src[0] = sum;
			nr = 1;
		}
		src[nr++] = (struct nrt_side){ vary->me, &vary->parts, i * plan->block };
	}
	nrt_build_combine(build, src, nr, &dst, 1, plan->block);
	nrt_build_vary(build, length, 0, 0);
}

void nrt_vary_stage(struct nrt_build *build)
{
	const struct nrt_plan *plan = build->plan;
	struct vary vary = {
		.build = build, .plan = plan, .n = plan->nr_ranks, .me = build->program->rank,
	};
	unsigned int i;

	vary.queues = vary.n > 1 ? MIN(nrt_plan_queues(plan), vary.n - 1) : 1;
	begin(&vary);
	if (has_mail(&vary))
		send_mail(&vary);
	send(&vary);
	build->phase = NRT_PLAN_END;
	nrt_build_step(build, 0);
	for (i = 0; i < vary.n; i++)
		if (i != vary.me)
			nrt_build_wait(build, i, vary.sem + i, 1);
	if (plan->op == NRT_PLAN_REDUCE_SCATTER_V)
		reduce(&vary);
	build->number++;
}
