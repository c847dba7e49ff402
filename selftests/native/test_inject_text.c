// SPDX-License-Identifier: MIT
/*
 * Faults on demand: the text of orders, what each means, and what is said of a wrong one.
 */
#include <stdio.h>
#include <string.h>

#include "job_rig.h"

#include "fault/trn_inject_text.h"

static void parse(const char *text, struct trn_order *order)
{
	char why[TRN_FAULT_WHY];

	if (trn_inject_parse(&neuron_gen_trn2, text, order, why))
		fail_msg("%s: %s", text, why);
}

static void every_rule_has_a_text(void **state)
{
	static const char *const texts[] = {
		"dma-lost,queue=2:3,skip=10,count=1",
		"dma-late,queue=35:15,delay=0xf4240",
		"dma-dup,chance=1000",
		"dma-abort",
		"engine-hang,core=7,engine=gpsimd,skip=5",
		"engine-hang,cc=15,engine=sync",
		"doorbell-lost,core=3,count=2", "doorbell-lost,cc=0",
		"doorbell-lost,queue=32:0",
		"reset-fail,device",
		"reset-fail,core=0", "reset-fail,cc=4",
		"reset-fail",
		"reg-stuck,offset=0x1000,value=0xffffffff",
		"reg-flip,offset=0x1004,mask=0x1,count=3",
		"mailbox-dead",
		"irq-lost,vector=8",
		"irq-storm,vector=0,times=0x64",
		"host-read-fail,skip=1",
		"host-write-fail,count=18446744073709551615",
	};
	char again[TRN_FAULT_TEXT];
	struct trn_order order;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		parse(texts[i], &order);
		assert_int_equal(order.kind, TRN_ORDER_RULE);
		trn_inject_format(&order.rule, again);
		assert_string_equal(again, texts[i]);
	}
}

static void texts_mean_what_they_say(void **state)
{
	struct trn_order o;

	(void)state;
	parse("dma-late,queue=2:3,delay=5ms", &o);
	assert_int_equal(o.rule.point, TRN_INJECT_DMA_LATE);
	assert_int_equal(o.rule.unit, 2 * 16 + 3);
	assert_int_equal(o.rule.value, 5000000);
	parse("engine-hang,engine=vector,core=1", &o);
	assert_int_equal(o.rule.unit, 8 + NEURON_ENGINE_VECTOR);
	parse("irq-storm", &o);
	assert_true(o.rule.value > 1);
	assert_int_equal(o.rule.unit, TRN_INJECT_ANY);
	parse("ecc,stack=1,offset=2M,kind=correctable,once", &o);
	assert_int_equal(o.kind, TRN_ORDER_ECC);
	assert_int_equal(o.cell.stack, 1);
	assert_int_equal(o.cell.offset, NEURON_MIB(2));
	assert_true(o.cell.correctable && o.cell.once);
	parse("clear,fault=dma-dup", &o);
	assert_int_equal(o.kind, TRN_ORDER_CLEAR);
	assert_int_equal(o.point, TRN_INJECT_DMA_DUP);
}

/* So whoever tries all kinds leaves none out. */
static void kinds_have_names(void **state)
{
	struct trn_order order;
	char why[TRN_FAULT_WHY];
	const char *name;
	unsigned int n;

	(void)state;
	for (n = 0; (name = trn_fault_name(n)); n++) {
		if (!trn_inject_parse(&neuron_gen_trn2, name, &order, why))
			assert_int_not_equal(order.kind, TRN_ORDER_CLEAR);
		else
			assert_non_null(strstr(why, " needs "));
	}
	assert_int_equal(n, TRN_INJECT_POINTS + 2);
	assert_null(trn_fault_name(n + 1));
}

static void bad_texts_are_explained(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} bad[] = {
		{ "", "no fault ''" },
		{ "dma-lots", "no fault 'dma-lots'" },
		{ "a-name-that-has-no-end", "too long" },
		{ "dma-lost,", "no ''" },
		{ "dma-lost,queue=2", "ENGINE:QUEUE" },
		{ "dma-lost,queue=200:1", "ENGINE:QUEUE" },
		{ "dma-lost,queue=2:16", "ENGINE:QUEUE" },
		{ "dma-lost,queue=2:1x", "ENGINE:QUEUE" },
		{ "dma-lost,core=1", "no 'core'" },
		{ "dma-lost,delay=1", "no 'delay'" },
		{ "dma-lost,skip=", "skip=''" },
		{ "dma-lost,skip=-1", "skip='-1'" },
		{ "dma-lost,count=0", "count='0'" },
		{ "dma-lost,count=99999999999999999999", "not a number" },
		{ "dma-lost,skip=0xffffffffffffffffK", "not a number" },
		{ "dma-lost,chance=1000001", "chance='1000001'" },
		{ "dma-late", "needs delay=" },
		{ "dma-late,delay=5h", "delay='5h'" },
		{ "dma-late,delay=3601s", "delay='3601s'" },
		{ "engine-hang,core=0", "both" },
		{ "engine-hang,engine=sync", "both" },
		{ "engine-hang,core=8,engine=sync", "core='8'" },
		{ "engine-hang,core=0,engine=cook", "engine='cook'" },
		{ "reset-fail,device=1", "no 'device'" },
		{ "reg-stuck,value=1", "needs offset=" },
		{ "reg-stuck,offset=4", "needs value=" },
		{ "reg-stuck,offset=6,value=1", "multiple of 4" },
		{ "reg-stuck,offset=0xfffffffff,value=1", "offset=" },
		{ "reg-flip,offset=4,mask=0x100000000", "mask=" },
		{ "irq-lost,vector=9", "vector='9'" },
		{ "irq-storm,vector=0,times=0", "times='0'" },
		{ "ecc", "needs offset=" },
		{ "ecc,offset=1,stack=4", "stack='4'" },
		{ "ecc,offset=1,kind=bad", "kind='bad'" },
		{ "ecc,offset=1000G", "offset=" },
		{ "throttle", "needs percent=" },
		{ "throttle,percent=0", "percent='0'" },
		{ "throttle,percent=50,core=1", "core" },
		{ "throttle,reason=power", "needs percent=" },
		{ "throttle,percent=50,reason=wet", "neither thermal nor power" },
		{ "clear,fault=nothing", "'nothing'" },
		{ "clear,dma-lost", "nothing else" },
	};
	char why[TRN_FAULT_WHY];
	struct trn_order order;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(why, 0, sizeof(why));
		if (!trn_inject_parse(&neuron_gen_trn2, bad[i].text, &order, why))
			fail_msg("'%s' was taken", bad[i].text);
		if (!strstr(why, bad[i].why))
			fail_msg("'%s' is explained by: %s", bad[i].text, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_has_a_text),
		cmocka_unit_test(texts_mean_what_they_say),
		cmocka_unit_test(kinds_have_names),
		cmocka_unit_test(bad_texts_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
