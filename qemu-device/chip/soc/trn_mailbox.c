// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The mailbox of the firmware: a request and its response in host memory.
 *
 * The request is copied once and looked at in the copy only. There is no answer
 * to a request that cannot be read, or that has been answered already.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_crc32c.h"
#include "base/trn_state.h"
#include "hook/trn_inject.h"
#include "mem/trn_bus.h"
#include "soc/trn_bar.h"
#include "soc/trn_firmware.h"

#define SHOWN_BYTES	32	/* of a post, in its log line */

/**
 * struct exchange - a request in work
 * @header: as it was read first, CRC included
 * @request, @size: the whole request, in a copy
 * @response, @used: the answer so far
 */
struct exchange {
	struct trn_chip *chip;
	uint64_t request_addr;
	uint64_t response_addr;
	struct neuron_mailbox_request header;
	uint8_t *request;
	size_t size;
	uint8_t *response;
	size_t used;
};

/* Take the pending request; false: there is none. */
static bool mailbox_take(struct trn_chip *chip, struct exchange *x)
{
	struct trn_mailbox *mailbox = &chip->firmware->mailbox;
	bool pending;

	pthread_mutex_lock(&mailbox->lock);
	pending = mailbox->pending;
	mailbox->pending = false;
	*x = (struct exchange) {
		.chip = chip,
		.request_addr = mailbox->request,
		.response_addr = mailbox->response,
	};
	pthread_mutex_unlock(&mailbox->lock);
	return pending;
}

/* Host memory only; other places would let the firmware write anywhere. */
static bool host_access(struct trn_chip *chip, uint64_t addr, void *buf,
			size_t len, bool write)
{
	struct trn_loc loc;

	if (addr & (NEURON_ADDR_WINDOW | NEURON_ADDR_FABRIC) ||
	    trn_bus_locate(chip, addr, &loc) ||
	    loc.place != TRN_PLACE_HOST || len > loc.len)
		return false;
	return write ? !trn_bus_host_write(chip, loc.offset, buf, len) :
		       !trn_bus_host_read(chip, loc.offset, buf, len);
}

static void ignored(const struct exchange *x, const char *why)
{
	trn_log(x->chip, TRN_LOG_GUEST_ERROR,
		"firmware mailbox: request at %#" PRIx64 " not answered: %s",
		x->request_addr, why);
}

/* Has the request's sequence number been seen, with the same addresses? */
static bool seen_before(const struct exchange *x)
{
	struct trn_mailbox *mailbox = &x->chip->firmware->mailbox;
	bool seen;

	pthread_mutex_lock(&mailbox->lock);
	seen = !mailbox->fresh && mailbox->seq == x->header.seq;
	mailbox->fresh = false;
	mailbox->seq = x->header.seq;
	pthread_mutex_unlock(&mailbox->lock);
	return seen;
}

/* False: nobody to answer. */
static bool read_header(struct exchange *x)
{
	if (!host_access(x->chip, x->request_addr, &x->header,
			 sizeof(x->header), false)) {
		ignored(x, "its header is not in readable host memory");
		return false;
	}
	if (!x->header.seq) {
		ignored(x, "sequence number 0");
		return false;
	}
	if (seen_before(x)) {
		ignored(x, "its sequence number has been answered");
		return false;
	}
	return true;
}

static bool read_body(struct exchange *x)
{
	const size_t head = sizeof(x->header);

	x->size = x->header.size;
	if (x->size < head)
		return false;
	x->request = malloc(x->size);
	if (!x->request)
		return false;
	memcpy(x->request, &x->header, head);
	return x->size == head ||
	       host_access(x->chip, x->request_addr + head, x->request + head,
			   x->size - head, false);
}

static bool crc_ok(struct exchange *x)
{
	memset(x->request + offsetof(struct neuron_mailbox_request, crc32c), 0,
	       sizeof(x->header.crc32c));
	return trn_crc32c(x->request, x->size) == x->header.crc32c;
}

/* A register of this chip, by its device address. */
static bool read_register(struct trn_chip *chip, uint64_t addr, uint32_t *value)
{
	struct trn_loc loc;

	if (addr % 4 || addr & (NEURON_ADDR_WINDOW | NEURON_ADDR_FABRIC) ||
	    trn_bus_locate(chip, addr, &loc) || loc.place != TRN_PLACE_REG ||
	    !trn_bar_known(chip, (uint32_t)loc.offset))
		return false;
	*value = (uint32_t)trn_chip_mmio_read(chip, loc.offset, 4);
	return true;
}

static enum neuron_mailbox_error do_read(struct exchange *x)
{
	size_t len = x->size - sizeof(x->header);
	uint64_t addr;
	size_t i;

	if (len % sizeof(addr))
		return NEURON_MAILBOX_FAILED;
	for (i = 0; i < len / sizeof(addr); i++) {
		uint32_t value;

		memcpy(&addr, x->request + sizeof(x->header) +
			      i * sizeof(addr), sizeof(addr));
		if (!read_register(x->chip, addr, &value)) {
			trn_log(x->chip, TRN_LOG_GUEST_ERROR,
				"firmware mailbox: %#" PRIx64 " is no register",
				addr);
			return NEURON_MAILBOX_FAILED;
		}
		memcpy(x->response + x->used, &value, sizeof(value));
		x->used += sizeof(value);
	}
	return NEURON_MAILBOX_OK;
}

static void log_post(struct trn_chip *chip, const uint8_t *data, size_t len)
{
	size_t shown = len < SHOWN_BYTES ? len : SHOWN_BYTES;
	char text[2 * SHOWN_BYTES + 1];
	size_t i;

	for (i = 0; i < shown; i++) {
		text[2 * i] = "0123456789abcdef"[data[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[data[i] & 15];
	}
	text[2 * shown] = '\0';
	trn_log(chip, TRN_LOG_INFO, "firmware: post of %zu bytes: %s%s", len,
		text, shown < len ? "..." : "");
}

static enum neuron_mailbox_error do_post(struct exchange *x)
{
	struct trn_mailbox *mailbox = &x->chip->firmware->mailbox;
	const uint8_t *data = x->request + sizeof(x->header);
	size_t len = x->size - sizeof(x->header);

	pthread_mutex_lock(&mailbox->lock);
	mailbox->posts++;
	mailbox->post_len = (uint32_t)len;
	memcpy(mailbox->post, data, len < TRN_POST_KEPT ? len : TRN_POST_KEPT);
	pthread_mutex_unlock(&mailbox->lock);
	log_post(x->chip, data, len);
	return NEURON_MAILBOX_OK;
}

static enum neuron_mailbox_error refused(const struct exchange *x,
					 const char *why)
{
	trn_log(x->chip, TRN_LOG_GUEST_ERROR,
		"firmware mailbox: request %u refused: %s", x->header.seq, why);
	return NEURON_MAILBOX_FAILED;
}

static enum neuron_mailbox_error carry_out(struct exchange *x)
{
	if (!read_body(x))
		return refused(x, "too small, or not all in readable host memory");
	if (!crc_ok(x))
		return refused(x, "wrong CRC");
	switch (x->header.command) {
	case NEURON_MAILBOX_READ:
		return do_read(x);
	case NEURON_MAILBOX_POST:
		return do_post(x);
	default:
		trn_log(x->chip, TRN_LOG_GUEST_ERROR,
			"firmware mailbox: unknown command %u",
			x->header.command);
		return NEURON_MAILBOX_UNKNOWN;
	}
}

/* The sequence number last: a reader that finds it finds the rest as well. */
static void respond(struct exchange *x, enum neuron_mailbox_error error)
{
	struct neuron_mailbox_response header = { .error = (uint8_t)error };
	bool ok;

	if (error)
		x->used = sizeof(header);
	header.size = (uint16_t)x->used;
	memcpy(x->response, &header, sizeof(header));
	ok = host_access(x->chip, x->response_addr + 1, x->response + 1,
			 x->used - 1, true);
#ifndef __SANITIZE_THREAD__	/* which cannot follow fences */
	atomic_thread_fence(memory_order_release);
#endif
	ok = ok && host_access(x->chip, x->response_addr, &x->header.seq, 1,
			       true);
	if (!ok)
		trn_log(x->chip, TRN_LOG_GUEST_ERROR,
			"firmware mailbox: response at %#" PRIx64 " is not in writable host memory",
			x->response_addr);
}

static void serve(struct exchange *x)
{
	enum neuron_mailbox_error error;

	if (trn_inject(x->chip, TRN_INJECT_MAILBOX, 0, NULL) || !read_header(x))
		return;
	/* A READ's answer is half of its request, with room for the header. */
	x->response = malloc(sizeof(struct neuron_mailbox_response) +
			     x->header.size / 2);
	if (!x->response) {
		trn_log(x->chip, TRN_LOG_WARN,
			"firmware mailbox: no memory for a response");
		return;
	}
	x->used = sizeof(struct neuron_mailbox_response);
	error = carry_out(x);
	respond(x, error);
	free(x->response);
	free(x->request);
}

enum trn_run trn_mailbox_run(struct trn_task *task, struct trn_budget *budget)
{
	struct trn_firmware *fw = (void *)((char *)task -
				  offsetof(struct trn_firmware, task));
	struct trn_chip *chip = fw->chip;
	struct exchange x;

	if (atomic_load(&chip->stopping))
		return TRN_RUN_IDLE;
	if (!trn_budget_allows(budget, TRN_WORK_LONG))
		return TRN_RUN_AGAIN;
	if (mailbox_take(chip, &x))
		serve(&x);
	return TRN_RUN_IDLE;
}

void trn_mailbox_address(struct trn_chip *chip)
{
	struct trn_mailbox *mailbox = &chip->firmware->mailbox;

	pthread_mutex_lock(&mailbox->lock);
	mailbox->fresh = true;
	pthread_mutex_unlock(&mailbox->lock);
}

static uint64_t ram_address(const struct trn_firmware *fw, uint32_t high,
			    uint32_t low)
{
	return (uint64_t)atomic_load(&fw->ram[high / 4]) << 32 |
	       atomic_load(&fw->ram[low / 4]);
}

void trn_mailbox_trigger(struct trn_chip *chip)
{
	struct trn_firmware *fw = chip->firmware;
	struct trn_mailbox *mailbox = &fw->mailbox;
	uint64_t request = ram_address(fw, NEURON_MISC_REQUEST_HI,
				       NEURON_MISC_REQUEST_LO);
	uint64_t response = ram_address(fw, NEURON_MISC_RESPONSE_HI,
					NEURON_MISC_RESPONSE_LO);

	if (!request || !response) {
		trn_log(chip, TRN_LOG_GUEST_ERROR,
			"firmware: triggered without a reset request or a mailbox");
		return;
	}
	pthread_mutex_lock(&mailbox->lock);
	mailbox->request = request;
	mailbox->response = response;
	mailbox->pending = true;
	pthread_mutex_unlock(&mailbox->lock);
	trn_task_kick(&fw->task);
}

size_t trn_mailbox_last_post(struct trn_chip *chip, void *buf, size_t len)
{
	struct trn_mailbox *mailbox = &chip->firmware->mailbox;
	size_t total, kept;

	pthread_mutex_lock(&mailbox->lock);
	total = mailbox->post_len;
	kept = total < TRN_POST_KEPT ? total : TRN_POST_KEPT;
	memcpy(buf, mailbox->post, len < kept ? len : kept);
	pthread_mutex_unlock(&mailbox->lock);
	return total;
}

uint32_t trn_mailbox_posts(struct trn_chip *chip)
{
	struct trn_mailbox *mailbox = &chip->firmware->mailbox;
	uint32_t posts;

	pthread_mutex_lock(&mailbox->lock);
	posts = mailbox->posts;
	pthread_mutex_unlock(&mailbox->lock);
	return posts;
}

void trn_mailbox_state(struct trn_mailbox *mailbox, struct trn_state *st)
{
	trn_state_u64(st, &mailbox->request);
	trn_state_u64(st, &mailbox->response);
	trn_state_bool(st, &mailbox->pending);
	trn_state_bool(st, &mailbox->fresh);
	trn_state_u8(st, &mailbox->seq);
	trn_state_u32(st, &mailbox->posts);
	trn_state_u32(st, &mailbox->post_len);
	trn_state_bytes(st, mailbox->post, sizeof(mailbox->post));
}
