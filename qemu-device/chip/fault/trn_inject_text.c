// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "fault/trn_inject_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "isa/trn_isa.h"
#include "neuron/job.h"
#include "time/trn_power.h"

#define KEY_MAX		16
#define VALUE_MAX	32
#define STORM_TIMES	1000	/* if nothing is said */
#define HANG_ENGINES	8	/* units of a core's engines */

/* What the unit of a point is. */
enum unit {
	UNIT_NONE,
	UNIT_QUEUE,
	UNIT_ENGINE,
	UNIT_DOORBELL,
	UNIT_RESET,
	UNIT_OFFSET,
	UNIT_VECTOR,
	UNIT_RECORD,
};

/**
 * struct point - how a point is written
 * @value: key of the rule's value, or NULL
 * @needs: the key must be there
 */
struct point {
	const char *name;
	enum unit unit;
	const char *value;
	bool needs;
};

static const struct point points[TRN_INJECT_POINTS] = {
	[TRN_INJECT_DMA_LOST] = { "dma-lost", UNIT_QUEUE, NULL, false },
	[TRN_INJECT_DMA_LATE] = { "dma-late", UNIT_QUEUE, "delay", true },
	[TRN_INJECT_DMA_DUP] = { "dma-dup", UNIT_QUEUE, NULL, false },
	[TRN_INJECT_DMA_ABORT] = { "dma-abort", UNIT_QUEUE, NULL, false },
	[TRN_INJECT_ENGINE_HANG] = { "engine-hang", UNIT_ENGINE, NULL, false },
	[TRN_INJECT_DOORBELL] = { "doorbell-lost", UNIT_DOORBELL, NULL, false },
	[TRN_INJECT_RESET_FAIL] = { "reset-fail", UNIT_RESET, NULL, false },
	[TRN_INJECT_REG_STUCK] = { "reg-stuck", UNIT_OFFSET, "value", true },
	[TRN_INJECT_REG_FLIP] = { "reg-flip", UNIT_OFFSET, "mask", true },
	[TRN_INJECT_MAILBOX] = { "mailbox-dead", UNIT_NONE, NULL, false },
	[TRN_INJECT_IRQ_LOST] = { "irq-lost", UNIT_VECTOR, NULL, false },
	[TRN_INJECT_IRQ_STORM] = { "irq-storm", UNIT_VECTOR, "times", false },
	[TRN_INJECT_HOST_READ] = { "host-read-fail", UNIT_NONE, NULL, false },
	[TRN_INJECT_HOST_WRITE] = { "host-write-fail", UNIT_NONE, NULL, false },
	[TRN_INJECT_RECORD] = { "record-flip", UNIT_RECORD, "mask", true },
};

/**
 * struct parser - a text that is being read
 * @key, @value: the pair just read
 * @core, @engine: of an engine, -1 until they are said
 * @has_value, @has_offset: the rule's value, the offset of a cell, have been said
 */
struct parser {
	const struct neuron_gen *gen;
	const char *rest;
	char *why;
	struct trn_order *order;
	const struct point *point;
	char name[KEY_MAX];
	char key[KEY_MAX];
	char value[VALUE_MAX];
	int core;
	int engine;
	bool has_value;
	bool has_offset;
};

static int bad(struct parser *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int bad(struct parser *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->why, TRN_FAULT_WHY, format, args);
	va_end(args);
	return -1;
}

/* Copy up to one of @stops or the end; -1: longer than @size. */
static int word(struct parser *p, const char *stops, char *to, size_t size)
{
	size_t n = strcspn(p->rest, stops);

	if (n >= size)
		return bad(p, "'%.40s' is too long", p->rest);
	memcpy(to, p->rest, n);
	to[n] = '\0';
	p->rest += n;
	return 0;
}

/* The next pair; the caller has seen a comma. */
static int next_pair(struct parser *p)
{
	p->rest++;
	if (word(p, ",=", p->key, sizeof(p->key)))
		return -1;
	p->value[0] = '\0';
	if (*p->rest != '=')
		return 0;
	p->rest++;
	return word(p, ",", p->value, sizeof(p->value));
}

static bool is_key(const struct parser *p, const char *key)
{
	return !strcmp(p->key, key);
}

static bool parse_number(const char *text, char **end, uint64_t *number)
{
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, end, 0);
	return !errno;
}

/* The value as a number of @min to @max, with one of the @units behind it. */
static int scaled(struct parser *p, const char *const units[],
		  const uint64_t scale[], uint64_t min, uint64_t max,
		  uint64_t *number)
{
	unsigned int i;
	char *end;

	if (!parse_number(p->value, &end, number))
		goto wrong;
	for (i = 0; units[i] && strcmp(end, units[i]); i++)
		;
	if (!units[i] || *number > UINT64_MAX / scale[i])
		goto wrong;
	*number *= scale[i];
	if (*number >= min && *number <= max)
		return 0;
wrong:
	return bad(p, "%s: %s='%s' is not a number of %" PRIu64 " to %#" PRIx64,
		   p->name, p->key, p->value, min, max);
}

static int number(struct parser *p, uint64_t min, uint64_t max, uint64_t *value)
{
	static const char *const units[] = { "", "K", "M", "G", NULL };
	static const uint64_t scale[] = { 1, 1 << 10, 1 << 20, 1 << 30 };

	return scaled(p, units, scale, min, max, value);
}

static int duration(struct parser *p, uint64_t *ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s", "", NULL };
	static const uint64_t scale[] = { 1, 1000, 1000000, 1000000000, 1 };

	return scaled(p, units, scale, 1, TRN_TIMER_MAX_NS, ns);
}

static bool names_core(const struct parser *p)
{
	return is_key(p, "core") || is_key(p, "cc");
}

/* A place in trn_chip.core. */
static int parse_core(struct parser *p, uint32_t base, uint32_t *unit)
{
	bool cc = is_key(p, "cc");
	uint64_t core;

	if (number(p, 0, (cc ? p->gen->nr_top_sp_ids : p->gen->nr_cores) - 1u, &core))
		return -1;
	*unit = base + (cc ? NEURON_MAX_CORES : 0) + (uint32_t)core;
	return 0;
}

/* ENGINE:QUEUE */
static int parse_queue(struct parser *p, uint32_t *unit)
{
	uint64_t engine, queue;
	char *end;

	if (!parse_number(p->value, &end, &engine) || *end != ':' ||
	    !parse_number(end + 1, &end, &queue) || *end ||
	    engine >= p->gen->nr_dma || queue >= NEURON_UDMA_QUEUES)
		return bad(p, "%s: queue='%s' is not ENGINE:QUEUE, up to %u:%u",
			   p->name, p->value, p->gen->nr_dma - 1,
			   NEURON_UDMA_QUEUES - 1);
	*unit = (uint32_t)(engine * NEURON_UDMA_QUEUES + queue);
	return 0;
}

static int parse_engine(struct parser *p)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		if (strcmp(p->value, trn_isa_engine_name(e)))
			continue;
		p->engine = (int)e;
		return 0;
	}
	return bad(p, "%s: engine='%s' is none of tensor, vector, scalar, gpsimd, sync",
		   p->name, p->value);
}

/* Of a register, or of a word of a completion record: the last is at @max. */
static int parse_offset(struct parser *p, uint64_t max, uint32_t *unit)
{
	uint64_t offset;

	if (number(p, 0, max, &offset))
		return -1;
	if (offset % 4)
		return bad(p, "%s: offset=%s is not a multiple of 4", p->name,
			   p->value);
	*unit = (uint32_t)offset;
	return 0;
}

static int parse_vector(struct parser *p, uint32_t *unit)
{
	uint64_t vector;

	if (number(p, 0, p->gen->nr_cores, &vector))
		return -1;
	*unit = (uint32_t)vector;
	return 0;
}

static int unknown_key(struct parser *p)
{
	return bad(p, "%s has no '%s'", p->name, p->key);
}

/* Where the rule strikes. */
static int parse_unit(struct parser *p)
{
	enum unit kind = p->point->unit;
	uint32_t *unit = &p->order->rule.unit;
	uint32_t core;

	if (is_key(p, "queue") && (kind == UNIT_QUEUE || kind == UNIT_DOORBELL))
		return parse_queue(p, unit);
	if (names_core(p) && kind == UNIT_DOORBELL)
		return parse_core(p, TRN_INJECT_CORE, unit);
	if (names_core(p) && kind == UNIT_RESET)
		return parse_core(p, 1, unit);
	if (is_key(p, "device") && kind == UNIT_RESET && !p->value[0]) {
		*unit = 0;
		return 0;
	}
	if (is_key(p, "offset") && kind == UNIT_OFFSET)
		return parse_offset(p, p->gen->bar0_size - 4, unit);
	if (is_key(p, "offset") && kind == UNIT_RECORD)
		return parse_offset(p, sizeof(struct neuron_hw_completion) - 4,
				    unit);
	if (is_key(p, "vector") && kind == UNIT_VECTOR)
		return parse_vector(p, unit);
	if (is_key(p, "engine") && kind == UNIT_ENGINE)
		return parse_engine(p);
	if (!names_core(p) || kind != UNIT_ENGINE)
		return unknown_key(p);
	if (parse_core(p, 0, &core))
		return -1;
	p->core = (int)core;
	return 0;
}

static int parse_rule_key(struct parser *p)
{
	struct trn_inject_rule *rule = &p->order->rule;
	uint64_t chance;

	if (is_key(p, "skip"))
		return number(p, 0, UINT64_MAX, &rule->skip);
	if (is_key(p, "count"))
		return number(p, 1, UINT64_MAX, &rule->count);
	if (is_key(p, "chance")) {
		if (number(p, 1, 1000000, &chance))
			return -1;
		rule->chance = (uint32_t)chance;
		return 0;
	}
	if (!p->point->value || !is_key(p, p->point->value))
		return parse_unit(p);
	p->has_value = true;
	if (is_key(p, "delay"))
		return duration(p, &rule->value);
	return number(p, is_key(p, "times") ? 1 : 0, UINT32_MAX, &rule->value);
}

/* All pairs have been read. */
static int end_rule(struct parser *p)
{
	struct trn_inject_rule *rule = &p->order->rule;

	if (p->point->needs && !p->has_value)
		return bad(p, "%s needs %s=", p->name, p->point->value);
	if ((p->point->unit == UNIT_OFFSET || p->point->unit == UNIT_RECORD) &&
	    rule->unit == TRN_INJECT_ANY)
		return bad(p, "%s needs offset=", p->name);
	/* Both are -1 or neither is. */
	if ((p->core ^ p->engine) < 0)
		return bad(p, "%s needs both core= (or cc=) and engine=, or none of them",
			   p->name);
	if (p->core >= 0)
		rule->unit = (uint32_t)(p->core * HANG_ENGINES + p->engine);
	return 0;
}

static int parse_rule(struct parser *p)
{
	p->order->kind = TRN_ORDER_RULE;
	p->order->rule = (struct trn_inject_rule){
		.point = (enum trn_inject_point)(p->point - points),
		.unit = TRN_INJECT_ANY,
		.value = STORM_TIMES,
	};
	if (!p->point->value)
		p->order->rule.value = 0;
	while (*p->rest)
		if (next_pair(p) || parse_rule_key(p))
			return -1;
	return end_rule(p);
}

static int parse_ecc_key(struct parser *p)
{
	struct trn_ecc_cell *cell = &p->order->cell;
	uint64_t stack;

	if (is_key(p, "stack")) {
		if (number(p, 0, p->gen->nr_hbm - 1, &stack))
			return -1;
		cell->stack = (uint32_t)stack;
		return 0;
	}
	if (is_key(p, "offset")) {
		p->has_offset = true;
		return number(p, 0, p->gen->hbm_window - 1, &cell->offset);
	}
	if (is_key(p, "sram") && !p->value[0]) {
		p->order->kind = TRN_ORDER_SRAM;
		return 0;
	}
	if (is_key(p, "once") && !p->value[0]) {
		cell->once = true;
		return 0;
	}
	if (!is_key(p, "kind"))
		return unknown_key(p);
	cell->correctable = !strcmp(p->value, "correctable");
	if (!cell->correctable && strcmp(p->value, "uncorrectable"))
		return bad(p, "ecc: kind='%s' is neither correctable nor uncorrectable",
			   p->value);
	return 0;
}

static int parse_ecc(struct parser *p)
{
	p->order->kind = TRN_ORDER_ECC;
	p->order->cell = (struct trn_ecc_cell){ 0 };
	while (*p->rest)
		if (next_pair(p) || parse_ecc_key(p))
			return -1;
	if (p->order->kind == TRN_ORDER_ECC && !p->has_offset)
		return bad(p, "ecc needs offset= in the stack, or sram");
	return 0;
}

static int parse_throttle_key(struct parser *p)
{
	uint64_t percent;

	if (is_key(p, "reason")) {
		p->order->throttle.why = NEURON_THROTTLE_THERMAL;
		if (!strcmp(p->value, "thermal"))
			return 0;
		p->order->throttle.why = NEURON_THROTTLE_POWER;
		if (!strcmp(p->value, "power"))
			return 0;
		return bad(p, "throttle: reason='%s' is neither thermal nor power",
			   p->value);
	}
	if (!is_key(p, "percent"))
		return unknown_key(p);
	if (number(p, 1, 100, &percent))
		return -1;
	p->order->throttle.percent = (unsigned int)percent;
	return 0;
}

static int parse_throttle(struct parser *p)
{
	p->order->kind = TRN_ORDER_THROTTLE;
	p->order->throttle.percent = 0;
	p->order->throttle.why = NEURON_THROTTLE_THERMAL;
	while (*p->rest)
		if (next_pair(p) || parse_throttle_key(p))
			return -1;
	if (!p->order->throttle.percent)
		return bad(p, "throttle needs percent=");
	return 0;
}

static const struct point *find_point(const char *name)
{
	unsigned int i;

	for (i = 0; i < TRN_INJECT_POINTS; i++)
		if (!strcmp(name, points[i].name))
			return &points[i];
	return NULL;
}

/* clear[,fault=NAME] */
static int parse_clear(struct parser *p)
{
	const struct point *point;

	p->order->kind = TRN_ORDER_CLEAR;
	p->order->point = TRN_INJECT_POINTS;
	if (!*p->rest)
		return 0;
	if (next_pair(p))
		return -1;
	if (!is_key(p, "fault") || *p->rest)
		return bad(p, "clear has fault= and nothing else");
	if (!strcmp(p->value, "ecc")) {
		p->order->kind = TRN_ORDER_CLEAR_ECC;
		return 0;
	}
	point = find_point(p->value);
	if (!point)
		return bad(p, "clear: no rule is called '%s'", p->value);
	p->order->point = (enum trn_inject_point)(point - points);
	return 0;
}

/* Orders that are no rules. @is_fault: false: it ends faults. */
static const struct {
	const char *name;
	int (*parse)(struct parser *p);
	bool is_fault;
} others[] = {
	{ "ecc", parse_ecc, true },
	{ "throttle", parse_throttle, true },
	{ "clear", parse_clear, false },
};

#define NR_OTHERS	(sizeof(others) / sizeof(others[0]))

const char *trn_fault_name(unsigned int n)
{
	unsigned int i;

	if (n < TRN_INJECT_POINTS)
		return points[n].name;
	n -= TRN_INJECT_POINTS;
	for (i = 0; i < NR_OTHERS; i++)
		if (others[i].is_fault && !n--)
			return others[i].name;
	return NULL;
}

int trn_inject_parse(const struct neuron_gen *gen, const char *text,
		     struct trn_order *order, char why[TRN_FAULT_WHY])
{
	struct parser p = {
		.gen = gen,
		.rest = text,
		.why = why,
		.order = order,
		.core = -1,
		.engine = -1,
	};
	unsigned int i;

	if (word(&p, ",", p.name, sizeof(p.name)))
		return -1;
	p.point = find_point(p.name);
	if (p.point)
		return parse_rule(&p);
	for (i = 0; i < NR_OTHERS; i++)
		if (!strcmp(p.name, others[i].name))
			return others[i].parse(&p);
	return bad(&p, "there is no fault '%s'", p.name);
}

static void clear(struct trn_chip *chip, enum trn_inject_point point)
{
	trn_inject_clear(chip, point);
	if (point != TRN_INJECT_POINTS)
		return;
	trn_ecc_clear(chip);
	trn_power_throttle(chip, 100, NEURON_THROTTLE_NONE);
}

int trn_fault_order(struct trn_chip *chip, const char *text,
		    char why[TRN_FAULT_WHY])
{
	const char *refused = NULL;
	struct trn_order order;

	if (trn_inject_parse(chip->gen, text, &order, why))
		return -1;
	switch (order.kind) {
	case TRN_ORDER_RULE:
		if (trn_inject_add(chip, &order.rule))
			refused = "the chip has all the rules it can have; clear some";
		break;
	case TRN_ORDER_ECC:
		if (trn_ecc_add(chip, &order.cell))
			refused = "no populated HBM is there, or too many cells are bad";
		break;
	case TRN_ORDER_SRAM:
		trn_ecc_sram(chip, order.cell.correctable);
		break;
	case TRN_ORDER_THROTTLE:
		if (trn_power_throttle(chip, order.throttle.percent,
				       order.throttle.why))
			refused = "not a percentage";
		break;
	case TRN_ORDER_CLEAR:
		clear(chip, order.point);
		break;
	case TRN_ORDER_CLEAR_ECC:
		trn_ecc_clear(chip);
		break;
	}
	if (refused)
		snprintf(why, TRN_FAULT_WHY, "%.40s: %s", text, refused);
	return refused ? -1 : 0;
}

/* @core: a place in trn_chip.core. */
static int format_core(uint32_t core, char *text, size_t size)
{
	if (core < NEURON_MAX_CORES)
		return snprintf(text, size, ",core=%u", core);
	return snprintf(text, size, ",cc=%u", core - NEURON_MAX_CORES);
}

static int format_unit(const struct trn_inject_rule *rule, char *text,
		       size_t size)
{
	const uint32_t unit = rule->unit;
	int n;

	if (unit == TRN_INJECT_ANY)
		return 0;
	switch (points[rule->point].unit) {
	case UNIT_DOORBELL:
		if (unit >= TRN_INJECT_CORE)
			return format_core(unit - TRN_INJECT_CORE, text, size);
		/* fall through */
	case UNIT_QUEUE:
		return snprintf(text, size, ",queue=%u:%u",
				unit / NEURON_UDMA_QUEUES,
				unit % NEURON_UDMA_QUEUES);
	case UNIT_ENGINE:
		n = format_core(unit / HANG_ENGINES, text, size);
		return n + snprintf(text + n, size - (size_t)n, ",engine=%s",
				    trn_isa_engine_name(unit % HANG_ENGINES));
	case UNIT_RESET:
		if (!unit)
			return snprintf(text, size, ",device");
		return format_core(unit - 1, text, size);
	case UNIT_OFFSET:
	case UNIT_RECORD:
		return snprintf(text, size, ",offset=%#x", unit);
	case UNIT_VECTOR:
		return snprintf(text, size, ",vector=%u", unit);
	case UNIT_NONE:
		break;
	}
	return 0;
}

void trn_inject_format(const struct trn_inject_rule *rule,
		       char text[TRN_FAULT_TEXT])
{
	const struct point *point = &points[rule->point];
	int n = snprintf(text, TRN_FAULT_TEXT, "%s", point->name);

	n += format_unit(rule, text + n, TRN_FAULT_TEXT - n);
	if (point->value)
		n += snprintf(text + n, TRN_FAULT_TEXT - n, ",%s=%#" PRIx64,
			      point->value, rule->value);
	if (rule->skip)
		n += snprintf(text + n, TRN_FAULT_TEXT - n, ",skip=%" PRIu64,
			      rule->skip);
	if (rule->count)
		n += snprintf(text + n, TRN_FAULT_TEXT - n, ",count=%" PRIu64,
			      rule->count);
	if (rule->chance)
		snprintf(text + n, TRN_FAULT_TEXT - n, ",chance=%u",
			 rule->chance);
}

bool trn_fault_read(struct trn_chip *chip, unsigned int n,
		    struct trn_fault_status *status)
{
	struct trn_inject_status found;

	if (!trn_inject_status(chip, n, &found))
		return false;
	trn_inject_format(&found.rule, status->text);
	status->opportunities = found.opportunities;
	status->strikes = found.strikes;
	return true;
}
