// SPDX-License-Identifier: MIT
/*
 * Two chips on a fabric object: its properties, and what chip 0 sees of its links.
 */
#include "machine.h"
#include "qmp.h"

#include "neuron/address.h"
#include "neuron/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MBPS		1000
#define HBM_AT		0x300000u
#define SET		"\"qom-set\",\"arguments\":{\"path\":\"/objects/fab\"," \
			"\"property\":\"%s\",\"value\":%s}"
#define GET		"\"qom-get\",\"arguments\":{\"path\":\"/objects/fab\"," \
			"\"property\":\"%s\"}"

struct links {
	struct machine m;
	struct qmp qmp;
};

static void start(struct links *l, const char *fabric)
{
	char chip[2][96];
	const char *const args[] = {
		"-object", fabric, "-device", chip[0], "-device", chip[1],
		"-chardev", l->qmp.chardev, "-mon", "chardev=mon,mode=control",
		NULL,
	};
	unsigned int i;

	for (i = 0; i < 2; i++)
		snprintf(chip[i], sizeof(chip[i]),
			 "%s,id=chip%u,addr=%u,fabric=fab,chip-id=%u",
			 l->m.gen->name, i, 4 + i, i);
	qmp_prepare(&l->qmp);
	qtest_start(&l->m.qt, args);
	qmp_begin(&l->qmp);
	machine_map(&l->m);
}

static int setup_with(void **state, const struct neuron_gen *gen,
		      const char *fabric)
{
	struct links *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->m.gen = gen;
	start(l, fabric);
	*state = l;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, &neuron_gen_trn2,
			  "neuron-fabric,id=fab,topology=ring,link-mbps=1000,link-fault=0-1=slow:50");
}

static int setup_trn3(void **state)
{
	return setup_with(state, &neuron_gen_trn3, "neuron-fabric,id=fab");
}

static int teardown(void **state)
{
	struct links *l = *state;

	qtest_stop(&l->m.qt);
	qmp_end(&l->qmp);
	free(l);
	return 0;
}

static void get(struct links *l, const char *property, char *answer)
{
	char text[200];

	snprintf(text, sizeof(text), GET, property);
	qmp_execute(&l->qmp, text, answer, QMP_ANSWER);
}

static void expect(struct links *l, const char *property, const char *value)
{
	char answer[QMP_ANSWER];

	get(l, property, answer);
	if (!strstr(answer, value))
		fail_msg("%s is not %s: %s", property, value, answer);
}

static void set(struct links *l, const char *property, const char *value)
{
	char text[200];

	snprintf(text, sizeof(text), SET, property, value);
	qmp_do(&l->qmp, text);
}

static void refuse(struct links *l, const char *property, const char *value,
		   const char *why)
{
	char text[200], answer[QMP_ANSWER];

	snprintf(text, sizeof(text), SET, property, value);
	qmp_execute(&l->qmp, text, answer, sizeof(answer));
	if (!strstr(answer, "\"error\"") || !strstr(answer, why))
		fail_msg("%s=%s: %s", property, value, answer);
}

static uint32_t ctl(struct links *l, uint32_t reg)
{
	return machine_read(&l->m, neuron_ctl_bar0(l->m.gen) + reg);
}

static void expect_links(struct links *l, uint32_t state, uint32_t mbps)
{
	uint32_t nr = ctl(l, NEURON_CTL_NR_LINKS), i;

	assert_in_range(nr, 1, NEURON_CTL_MAX_LINKS);
	for (i = 0; i < nr; i++) {
		const uint32_t link = NEURON_CTL_LINK(i);

		assert_int_equal(ctl(l, link + NEURON_CTL_LINK_PEER), 1);
		assert_int_equal(ctl(l, link + NEURON_CTL_LINK_STATE), state);
		assert_int_not_equal(ctl(l, link + NEURON_CTL_LINK_WIDTH), 0);
		if (state)
			assert_int_equal(ctl(l, link + NEURON_CTL_LINK_MBPS), mbps);
	}
}

static void test_properties(void **state)
{
	struct links *l = *state;

	expect(l, "topology", "\"ring\"");
	expect(l, "link-mbps", "1000");
	expect(l, "link-fault", "0-1=");
	expect_links(l, 1, MBPS / 2);
	set(l, "link-fault", "\"0-1=mbps:123\"");
	expect_links(l, 1, 123);
	set(l, "link-fault", "\"0-1=up\"");
	expect_links(l, 1, MBPS);
	refuse(l, "topology", "\"chain\"", "fixed once it runs");
	refuse(l, "link-mbps", "5", "fixed once it runs");
	refuse(l, "link-fault", "\"0-1=broken\"", "link-fault");
	refuse(l, "link-fault", "\"0=down\"", "link-fault");
	expect_links(l, 1, MBPS);
}

/* A copy from guest memory to the other chip's HBM. */
static void copy_to_peer(struct links *l, struct queue *q)
{
	struct machine *m = &l->m;

	queue_copy(q, neuron_fabric_addr(1, machine_hbm(m, 0, HBM_AT)),
		   machine_host(m, RAM_DATA), 64, 0);
	queue_ring(q, 1);
}

static void test_link_down(void **state)
{
	struct links *l = *state;
	struct machine *m = &l->m;
	const unsigned int engine = m->gen->nr_ring;
	const uint32_t cause = neuron_ctl_bar0(m->gen) + NEURON_CTL_CAUSE;
	struct queue q;

	/* An engine whose errors stop a queue only. */
	queue_init(&q, m, engine, 0, 32);
	copy_to_peer(l, &q);
	queue_wait(&q);

	machine_write(m, cause, NEURON_CTL_CAUSE_LINK);
	set(l, "link-fault", "\"0-1=down\"");
	machine_wait(m, cause, NEURON_CTL_CAUSE_LINK, NEURON_CTL_CAUSE_LINK);
	expect_links(l, 0, 0);
	copy_to_peer(l, &q);
	machine_wait(m, neuron_ctl_bar0(m->gen) + NEURON_CTL_DMA(engine) +
		     NEURON_DMA_ERROR(0), 0xff, NEURON_CAUSE_FABRIC);

	machine_write(m, cause, NEURON_CTL_CAUSE_LINK);
	assert_int_equal(machine_read(m, cause) & NEURON_CTL_CAUSE_LINK, 0);
	set(l, "link-fault", "\"0-1=up\"");
	machine_wait(m, cause, NEURON_CTL_CAUSE_LINK, NEURON_CTL_CAUSE_LINK);
	expect_links(l, 1, MBPS);
	queue_init(&q, m, engine, 0, 32);
	copy_to_peer(l, &q);
	queue_wait(&q);
}

static void test_switch(void **state)
{
	struct links *l = *state;
	const uint32_t link = NEURON_CTL_LINK(0);

	expect(l, "topology", "\"switch\"");
	assert_true(ctl(l, link + NEURON_CTL_LINK_PEER) & NEURON_LINK_PEER_SWITCH);
	set(l, "link-fault", "\"0:0=down\"");
	assert_int_equal(ctl(l, link + NEURON_CTL_LINK_STATE), 0);
	set(l, "link-fault", "\"0:0=slow:25\"");
	assert_int_equal(ctl(l, link + NEURON_CTL_LINK_STATE), 1);
	assert_int_equal(ctl(l, link + NEURON_CTL_LINK_MBPS),
			 l->m.gen->link_mbps / 4);
}

/* --- the other servers of an UltraServer --- */

#define POD		"neuron-fabric,id=fab,servers=4,election-script=1.0:0x100=6@1"

static int setup_pod(void **state)
{
	return setup_with(state, &neuron_gen_trn2, POD);
}

/* A word of MISC RAM of chip 0 of server 1. */
static uint32_t neighbour_word(struct links *l, uint32_t offset)
{
	struct machine *m = &l->m;
	const uint64_t misc = m->gen->apb_addr[0] + m->gen->misc_bar0 - m->gen->apb_bar0[0];
	struct queue q;

	queue_init(&q, m, m->gen->nr_ring, 0, 32);
	queue_copy(&q, machine_host(m, RAM_DATA), neuron_neighbour_addr(1, misc + offset), 4, 0);
	queue_ring(&q, 1);
	queue_wait(&q);
	return (uint32_t)qtest_read(&m->qt, RAM_DATA, 4);
}

static void reset_machine(struct links *l)
{
	qmp_do(&l->qmp, "\"system_reset\"");
	while (machine_config_read(&l->m, 0x04) & 0xffff)
		;
	machine_map(&l->m);
}

/* A reset of the machine is one of the UltraServer. */
static void test_pod_reset(void **state)
{
	struct links *l = *state;

	assert_int_equal(neighbour_word(l, 0x100), 6);
	assert_int_equal(neighbour_word(l, 0x100), 0);
	reset_machine(l);
	assert_int_equal(neighbour_word(l, 0x100), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_properties, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_down, setup, teardown),
		cmocka_unit_test_setup_teardown(test_switch, setup_trn3, teardown),
		cmocka_unit_test_setup_teardown(test_pod_reset, setup_pod, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
