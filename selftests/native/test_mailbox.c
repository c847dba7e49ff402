// SPDX-License-Identifier: MIT
/*
 * The mailbox of the firmware: reads and posts as public software makes them, and
 * requests that nobody should make.
 */
#include "chip_rig.h"

#include <string.h>
#include <time.h>

#include "state_stream.h"
#include "base/trn_crc32c.h"
#include "soc/trn_firmware.h"
#include "hook/trn_inject.h"
#include "soc/trn_reset.h"

#define BUF_BYTES	65536

/* The driver's side. */
struct mailbox {
	struct rig *rig;
	struct trn_chip *chip;
	uint64_t request_at;
	uint64_t response_at;
	uint8_t *request;
	uint8_t *response;
	uint8_t seq;
};

static void misc_wr(struct mailbox *m, uint32_t offset, uint32_t value)
{
	trn_chip_mmio_write(m->chip, m->chip->gen->misc_bar0 + offset, value, 4);
}

static void mailbox_make(struct mailbox *m, struct rig *rig)
{
	m->rig = rig;
	m->chip = rig->chip[0];
	m->request_at = rig_host(rig, 0, BUF_BYTES);
	m->response_at = rig_host(rig, 0, BUF_BYTES);
	m->request = rig_host_ptr(rig, 0, m->request_at);
	m->response = rig_host_ptr(rig, 0, m->response_at);
	m->seq = 1;
}

static void set_addresses(struct mailbox *m, uint64_t request, uint64_t response)
{
	misc_wr(m, NEURON_MISC_REQUEST_LO, (uint32_t)request);
	misc_wr(m, NEURON_MISC_REQUEST_HI, (uint32_t)(request >> 32));
	misc_wr(m, NEURON_MISC_RESPONSE_LO, (uint32_t)response);
	misc_wr(m, NEURON_MISC_RESPONSE_HI, (uint32_t)(response >> 32));
}

static void set_own_addresses(struct mailbox *m)
{
	set_addresses(m, rig_host_addr(m->rig, 0, m->request_at),
		      rig_host_addr(m->rig, 0, m->response_at));
}

static struct neuron_mailbox_request *header(struct mailbox *m)
{
	return (void *)m->request;
}

static void seal(struct mailbox *m)
{
	header(m)->crc32c = 0;
	header(m)->crc32c = trn_crc32c(m->request, header(m)->size);
}

/* A request with @len bytes of data behind its header. */
static void prepare(struct mailbox *m, uint8_t command, const void *data,
		    size_t len)
{
	struct neuron_mailbox_request *h = header(m);

	if (!++m->seq)
		m->seq = 1;
	*h = (struct neuron_mailbox_request){
		.seq = m->seq,
		.command = command,
		.size = (uint16_t)(sizeof(*h) + len),
	};
	memcpy(h + 1, data, len);
	seal(m);
	memset(m->response, 0xee, BUF_BYTES);
	m->response[0] = 0;
}

static void trigger(struct mailbox *m)
{
	misc_wr(m, NEURON_MISC_TRIGGER, 1);
}

static bool task_quiet(void *arg)
{
	struct mailbox *m = arg;

	return trn_task_quiet(&m->chip->firmware->task);
}

/* Wait for an answer with @error and @len bytes of data. */
static void expect(struct mailbox *m, enum neuron_mailbox_error error, size_t len)
{
	const struct neuron_mailbox_response *r = (void *)m->response;

	assert_true(fake_wait(task_quiet, m));
	assert_int_equal(r->seq, header(m)->seq);
	assert_int_equal(r->error, error);
	assert_int_equal(r->size, sizeof(*r) + len);
	/* Nothing behind it. */
	assert_int_equal(m->response[r->size], 0xee);
}

static void expect_silence(struct mailbox *m, const char *why)
{
	assert_true(fake_wait(task_quiet, m));
	assert_int_equal(m->response[0], 0);
	assert_int_equal(m->response[1], 0xee);
	assert_true(!why || fake_logged(&m->rig->port[0], why));
}

static uint32_t posts(struct mailbox *m)
{
	return (uint32_t)trn_chip_mmio_read(m->chip,
					    neuron_ctl_bar0(m->chip->gen) +
						    NEURON_CTL_POSTS, 4);
}

static uint64_t misc_addr(struct mailbox *m, uint32_t offset)
{
	return m->chip->gen->apb_addr[0] +
	       (m->chip->gen->misc_bar0 - m->chip->gen->apb_bar0[0]) + offset;
}

/* --- What public software does --- */

static void a_post_is_taken(void **state)
{
	static const char text[] = "metrics of one period, some bytes";
	char last[64] = { 0 };
	struct mailbox m;
	unsigned int i;

	mailbox_make(&m, *state);
	for (i = 0; i < 300; i++) {
		set_own_addresses(&m);
		prepare(&m, NEURON_MAILBOX_POST, text, i % sizeof(text));
		trigger(&m);
		expect(&m, NEURON_MAILBOX_OK, 0);
		assert_int_equal(posts(&m), i + 1);
		assert_int_equal(trn_mailbox_last_post(m.chip, last,
						       sizeof(last)),
				 i % sizeof(text));
		assert_memory_equal(last, text, i % sizeof(text));
	}
	assert_true(fake_logged(&m.rig->port[0],
				"post of 2 bytes: 6d65"));
}

static void registers_are_read(void **state)
{
	struct mailbox m;
	uint64_t addr[5];
	uint32_t value[5];

	mailbox_make(&m, *state);
	misc_wr(&m, NEURON_MISC_METRIC, 0xabcd1234);
	addr[0] = misc_addr(&m, NEURON_MISC_API_VERSION);
	addr[1] = misc_addr(&m, NEURON_MISC_SERIAL_LO);
	addr[2] = misc_addr(&m, NEURON_MISC_SERIAL_HI);
	addr[3] = misc_addr(&m, NEURON_MISC_METRIC);
	addr[4] = addr[0];
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_READ, addr, sizeof(addr));
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, sizeof(value));
	memcpy(value, m.response + 4, sizeof(value));
	assert_int_equal(value[0], NEURON_MISC_API_VERSION_VALUE);
	assert_int_equal(value[1], (uint32_t)m.chip->config.serial);
	assert_int_equal(value[2], m.chip->config.serial >> 32);
	assert_int_equal(value[3], 0xabcd1234);
	assert_int_equal(value[4], value[0]);
}

static void the_largest_read(void **state)
{
	static uint64_t addr[(65535 - 8) / 8];
	const size_t nr = sizeof(addr) / sizeof(addr[0]);
	struct mailbox m;
	uint32_t value;
	size_t i;

	mailbox_make(&m, *state);
	for (i = 0; i < nr; i++)
		addr[i] = misc_addr(&m, i % 2 ? NEURON_MISC_ROUTING_ID :
						NEURON_MISC_API_VERSION);
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_READ, addr, sizeof(addr));
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, nr * 4);
	for (i = 0; i < nr; i++) {
		memcpy(&value, m.response + 4 + i * 4, 4);
		assert_int_equal(value, i % 2 ? m.chip->config.routing_id :
						NEURON_MISC_API_VERSION_VALUE);
	}
}

/* --- Requests that end in an error --- */

static void only_registers_can_be_read(void **state)
{
	struct mailbox m;
	uint64_t addr[2];
	uint64_t bad[9];
	unsigned int i;

	mailbox_make(&m, *state);
	bad[0] = rig_hbm_addr(m.rig, 0, 0);
	bad[1] = rig_sbuf_addr(m.rig, 0);
	bad[2] = rig_host_addr(m.rig, 0, m.request_at);
	bad[3] = RIG_NOWHERE;
	bad[4] = misc_addr(&m, 2);
	bad[5] = neuron_fabric_addr(1, misc_addr(&m, 0));
	bad[6] = neuron_fabric_addr(0, misc_addr(&m, 0));
	bad[7] = neuron_window_addr(1, 0);
	/* In a register window, where no register is. */
	bad[8] = m.chip->gen->apb_addr[0] + 0x40;
	set_own_addresses(&m);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		addr[0] = misc_addr(&m, 0);
		addr[1] = bad[i];
		prepare(&m, NEURON_MAILBOX_READ, addr, sizeof(addr));
		trigger(&m);
		expect(&m, NEURON_MAILBOX_FAILED, 0);
	}
	assert_true(fake_logged(&m.rig->port[0], "is no register"));
}

static void malformed_requests_fail(void **state)
{
	uint64_t addr[2];
	struct mailbox m;
	unsigned int i;

	mailbox_make(&m, *state);
	set_own_addresses(&m);
	addr[0] = misc_addr(&m, 0);
	addr[1] = addr[0];
	/* Wrong CRC: each byte counts, also of the header. */
	for (i = 1; i < 24; i++) {
		prepare(&m, NEURON_MAILBOX_READ, addr, sizeof(addr));
		m.request[i] ^= 0x10;
		if (i == 2 || i == 3)
			continue;	/* the size: below */
		trigger(&m);
		expect(&m, NEURON_MAILBOX_FAILED, 0);
	}
	assert_true(fake_logged(&m.rig->port[0], "wrong CRC"));
	/* Too small for its own header. */
	for (i = 0; i < 8; i++) {
		prepare(&m, NEURON_MAILBOX_POST, "x", 1);
		header(&m)->size = (uint16_t)i;
		trigger(&m);
		expect(&m, NEURON_MAILBOX_FAILED, 0);
	}
	/* No whole number of addresses. */
	prepare(&m, NEURON_MAILBOX_READ, addr, 12);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_FAILED, 0);
	assert_int_equal(posts(&m), 0);
	/* None at all is fine. */
	prepare(&m, NEURON_MAILBOX_READ, addr, 0);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
}

static void unknown_commands_say_so(void **state)
{
	static const uint8_t command[] = { 0, 3, 4, 5, 255 };
	struct mailbox m;
	unsigned int i;

	mailbox_make(&m, *state);
	set_own_addresses(&m);
	for (i = 0; i < sizeof(command); i++) {
		prepare(&m, command[i], "abcd", 4);
		trigger(&m);
		expect(&m, NEURON_MAILBOX_UNKNOWN, 0);
	}
}

/* The header is the last memory that there is. */
static void a_request_that_leaves_memory(void **state)
{
	const struct neuron_mailbox_request *head;
	struct mailbox m;
	uint64_t last = RIG_HOST_BYTES - sizeof(*head);

	mailbox_make(&m, *state);
	prepare(&m, NEURON_MAILBOX_POST, "abcdefgh", 8);
	memcpy(rig_host_ptr(m.rig, 0, last), m.request, sizeof(*head));
	set_addresses(&m, rig_host_addr(m.rig, 0, last),
		      rig_host_addr(m.rig, 0, m.response_at));
	trigger(&m);
	expect(&m, NEURON_MAILBOX_FAILED, 0);
	assert_int_equal(posts(&m), 0);
}

/* --- Requests without an answer --- */

static void requests_outside_memory_are_ignored(void **state)
{
	struct mailbox m;
	uint64_t bad[6];
	unsigned int i;

	mailbox_make(&m, *state);
	bad[0] = rig_host_addr(m.rig, 0, RIG_HOST_BYTES);
	bad[1] = rig_host_addr(m.rig, 0, RIG_HOST_BYTES - 4);
	bad[2] = m.request_at;				/* no host bit: HBM */
	bad[3] = RIG_NOWHERE;
	bad[4] = neuron_window_addr(0, 0);
	bad[5] = misc_addr(&m, NEURON_MISC_METRIC);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		prepare(&m, NEURON_MAILBOX_POST, "x", 1);
		set_addresses(&m, bad[i],
			      rig_host_addr(m.rig, 0, m.response_at));
		trigger(&m);
		expect_silence(&m, "not in readable host memory");
	}
	assert_int_equal(posts(&m), 0);
}

static void responses_outside_memory_are_dropped(void **state)
{
	struct mailbox m;
	uint64_t bad[4];
	unsigned int i;

	mailbox_make(&m, *state);
	bad[0] = rig_host_addr(m.rig, 0, RIG_HOST_BYTES);
	bad[1] = rig_hbm_addr(m.rig, 0, 0x1000);
	bad[2] = misc_addr(&m, NEURON_MISC_METRIC);
	bad[3] = rig_sbuf_addr(m.rig, 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		prepare(&m, NEURON_MAILBOX_POST, "x", 1);
		set_addresses(&m, rig_host_addr(m.rig, 0, m.request_at),
			      bad[i]);
		trigger(&m);
		expect_silence(&m, "is not in writable host memory");
		assert_int_equal(posts(&m), i + 1);
	}
	/* They went nowhere else. */
	assert_int_equal(((uint8_t *)m.chip->hbm[0])[0x1001], 0);
	assert_int_equal(((uint8_t *)m.chip->hbm[0])[0x1002], 0);
	assert_int_equal(m.chip->core[0].sbuf[2], 0);
	assert_int_equal(trn_chip_mmio_read(m.chip, m.chip->gen->misc_bar0 +
					    NEURON_MISC_METRIC, 4), 0);
	/* Its last byte is the last of memory: only that much is written. */
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	set_addresses(&m, rig_host_addr(m.rig, 0, m.request_at),
		      rig_host_addr(m.rig, 0, RIG_HOST_BYTES - 3));
	trigger(&m);
	expect_silence(&m, NULL);
}

static void bus_master_off(void **state)
{
	struct mailbox m;

	mailbox_make(&m, *state);
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	atomic_store(&m.rig->port[0].bus_master, false);
	trigger(&m);
	expect_silence(&m, "not in readable host memory");
	atomic_store(&m.rig->port[0].bus_master, true);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
}

static void a_request_is_answered_once(void **state)
{
	struct mailbox m;

	mailbox_make(&m, *state);
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
	m.response[0] = 0;
	m.response[1] = 0xee;
	trigger(&m);
	expect_silence(&m, "has been answered");
	assert_int_equal(posts(&m), 1);
	/* A driver that starts anew sets its addresses and begins with any number. */
	set_own_addresses(&m);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
	assert_int_equal(posts(&m), 2);
	/* Number 0 is none. */
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	header(&m)->seq = 0;
	seal(&m);
	trigger(&m);
	expect_silence(&m, "sequence number 0");
}

static void without_addresses_a_trigger_does_nothing(void **state)
{
	struct mailbox m;

	mailbox_make(&m, *state);
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	trigger(&m);
	expect_silence(&m, "without a reset request or a mailbox");
	/* Nor does one that asks for a reset touch the mailbox. */
	set_own_addresses(&m);
	misc_wr(&m, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	trigger(&m);
	assert_true(fake_wait_reg(m.chip, m.chip->gen->misc_bar0 +
				  NEURON_MISC_STATUS,
				  NEURON_MISC_STATUS_BUSY, 0));
	expect_silence(&m, NULL);
	/* And a stale mailbox is forgotten by the reset. */
	trigger(&m);
	expect_silence(&m, NULL);
	set_own_addresses(&m);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
}

static void firmware_that_does_not_answer(void **state)
{
	const struct trn_inject_rule rule = {
		.point = TRN_INJECT_MAILBOX, .count = 2,
	};
	struct mailbox m;
	unsigned int i;

	mailbox_make(&m, *state);
	assert_int_equal(trn_inject_add(m.chip, &rule), 0);
	for (i = 0; i < 2; i++) {
		set_own_addresses(&m);
		prepare(&m, NEURON_MAILBOX_POST, "x", 1);
		trigger(&m);
		expect_silence(&m, NULL);
	}
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
}

/* --- Stop, save --- */

static void a_request_waits_for_the_chip(void **state)
{
	struct mailbox m;

	mailbox_make(&m, *state);
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	fake_chip_stop(m.chip);
	trigger(&m);
	expect_silence(&m, NULL);
	trn_chip_resume(m.chip);
	expect(&m, NEURON_MAILBOX_OK, 0);
}

static bool reset_done(void *arg)
{
	return !trn_reset_busy(arg);
}

static void a_device_reset_forgets_a_request(void **state)
{
	struct mailbox m;

	mailbox_make(&m, *state);
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	fake_chip_stop(m.chip);
	trigger(&m);
	trn_reset_request(m.chip);
	assert_true(fake_wait(reset_done, m.chip));
	trn_chip_resume(m.chip);
	assert_true(fake_wait(task_quiet, &m));
	expect_silence(&m, NULL);
	assert_int_equal(posts(&m), 0);
	/* The next one is answered. */
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_POST, "x", 1);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
}

static void save_firmware(struct mailbox *m, struct state_stream *stream)
{
	struct trn_state st = state_stream_save(stream);

	trn_firmware_state(m->chip, &st);
	assert_null(st.why);
}

/* What one guest has posted is in no saved state of the next one. */
static void a_reset_leaves_nothing_of_a_post(void **state)
{
	struct state_stream fresh = { 0 }, after = { 0 };
	struct mailbox m;

	mailbox_make(&m, *state);
	save_firmware(&m, &fresh);
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_POST, "mine", 4);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
	fake_chip_stop(m.chip);
	trn_chip_reset(m.chip);
	save_firmware(&m, &after);
	assert_int_equal(after.len, fresh.len);
	assert_memory_equal(after.data, fresh.data, fresh.len);
	trn_chip_resume(m.chip);
}

static void a_pending_request_is_saved(void **state)
{
	struct state_stream stream = { 0 };
	struct trn_state st;
	struct mailbox m;
	uint8_t last[4];

	mailbox_make(&m, *state);
	set_own_addresses(&m);
	prepare(&m, NEURON_MAILBOX_POST, "one", 3);
	trigger(&m);
	expect(&m, NEURON_MAILBOX_OK, 0);
	prepare(&m, NEURON_MAILBOX_POST, "four", 4);
	fake_chip_stop(m.chip);
	trigger(&m);
	assert_true(fake_wait(task_quiet, &m));
	st = state_stream_save(&stream);
	trn_firmware_state(m.chip, &st);
	assert_null(st.why);
	trn_chip_reset(m.chip);
	assert_int_equal(posts(&m), 0);
	st = state_stream_load(&stream);
	trn_firmware_state(m.chip, &st);
	assert_null(st.why);
	assert_int_equal(stream.at, stream.len);
	assert_int_equal(posts(&m), 1);
	assert_int_equal(trn_mailbox_last_post(m.chip, last, 3), 3);
	assert_memory_equal(last, "one", 3);
	trn_chip_resume(m.chip);
	expect(&m, NEURON_MAILBOX_OK, 0);
	assert_int_equal(posts(&m), 2);
}

/* Random bytes as a request: never more than an error. */
static void any_bytes_will_do(void **state)
{
	struct mailbox m;
	unsigned int i;

	mailbox_make(&m, *state);
	for (i = 0; i < 2000; i++) {
		rig_fill(m.rig, m.request, 64);
		if (i % 2)
			header(&m)->command = (uint8_t)(1 + i / 2 % 2);
		if (i % 4 > 1)
			header(&m)->size = (uint16_t)rig_random(m.rig, 64);
		if (i % 8 > 3)
			seal(&m);
		memset(m.response, 0xee, 64);
		m.response[0] = 0;
		set_own_addresses(&m);
		trigger(&m);
		assert_true(fake_wait(task_quiet, &m));
		if (!header(&m)->seq)
			continue;
		assert_int_equal(m.response[0], header(&m)->seq);
		assert_true(m.response[1] <= NEURON_MAILBOX_UNKNOWN);
	}
}

#define RIG(test, how)	cmocka_unit_test_setup_teardown(test, how, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(a_post_is_taken, rig_setup),
		RIG(a_post_is_taken, rig_setup_trn1),
		RIG(registers_are_read, rig_setup),
		RIG(registers_are_read, rig_setup_trn1),
		RIG(the_largest_read, rig_setup),
		RIG(only_registers_can_be_read, rig_setup),
		RIG(malformed_requests_fail, rig_setup),
		RIG(unknown_commands_say_so, rig_setup),
		RIG(a_request_that_leaves_memory, rig_setup),
		RIG(requests_outside_memory_are_ignored, rig_setup),
		RIG(responses_outside_memory_are_dropped, rig_setup),
		RIG(bus_master_off, rig_setup),
		RIG(a_request_is_answered_once, rig_setup),
		RIG(without_addresses_a_trigger_does_nothing, rig_setup),
		RIG(firmware_that_does_not_answer, rig_setup),
		RIG(a_request_waits_for_the_chip, rig_setup),
		RIG(a_device_reset_forgets_a_request, rig_setup),
		RIG(a_reset_leaves_nothing_of_a_post, rig_setup),
		RIG(a_pending_request_is_saved, rig_setup),
		RIG(any_bytes_will_do, rig_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
