// SPDX-License-Identifier: MIT
/*
 * Saving and loading of gangs whose members have not all come. How a gang goes on that is
 * saved while it runs is part of the work of test_state.c.
 */
#include <string.h>

#include "chip_rig.h"
#include "state_rig.h"

static struct trn_chip *other_chip(struct fake_port *port, struct rig *rig)
{
	struct trn_chip_config config;
	struct trn_chip *chip;
	const char *why;

	fake_port_init(port, RIG_HOST_BYTES);
	config = fake_chip_config(port, fake_gen(), rig->pool, NULL, 0);
	chip = trn_chip_new(&config, &why);
	if (!chip)
		fail_msg("no chip: %s", why);
	return chip;
}

/* Chip 0 as it is goes on as another one, which is returned. */
static struct trn_chip *move(struct trn_chip *from, struct fake_port *from_port,
			     struct fake_port *port, struct rig *rig)
{
	struct trn_chip *to = other_chip(port, rig);
	struct stream stream = { 0 };
	const char *why;

	fake_chip_stop(from);
	fake_chip_stop(to);
	stream_put_chip(&stream, from);
	if (!stream_get_chip(&stream, to, &why))
		fail_msg("not loaded: %s", why);
	memcpy(port->host, from_port->host, RIG_HOST_BYTES);
	stream_free(&stream);
	trn_chip_resume(to);
	return to;
}

/* A rig of one chip that is on no fabric. */
static struct trn_chip *alone(struct rig *rig, struct fake_port *port)
{
	struct trn_chip *chip = other_chip(port, rig);

	trn_chip_resume(chip);
	return chip;
}

static void ring(struct trn_chip *chip, unsigned int core, uint64_t block)
{
	uint64_t reg = neuron_ctl_bar0(chip->gen) + NEURON_CTL_CORE(core);

	trn_chip_mmio_write(chip, reg + NEURON_CORE_DOORBELL_LO, (uint32_t)block, 4);
	trn_chip_mmio_write(chip, reg + NEURON_CORE_DOORBELL_HI, block >> 32, 4);
}

static void wait_idle(struct trn_chip *chip, unsigned int core)
{
	uint64_t reg = neuron_ctl_bar0(chip->gen) + NEURON_CTL_CORE(core);

	assert_true(fake_wait_reg(chip, reg + NEURON_CORE_STATUS, ~0u,
				  NEURON_CORE_IDLE));
}

/* A semaphore that a member's job clears when it is latched. */
#define LATCHED	7

struct member {
	struct trn_chip *chip;
	unsigned int core;
};

static bool latched(void *arg)
{
	struct member *member = arg;

	return !trn_sem_value(member->chip->core[member->core].sems, LATCHED);
}

/* Ring and see that the chip has the job. */
static void ring_and_see(struct trn_chip *chip, unsigned int core, uint64_t block)
{
	struct member member = { chip, core };

	trn_chip_mmio_write(chip, neuron_tpb_bar0(chip->gen, core) + NEURON_TPB_SEM +
			    NEURON_SEM_INC(LATCHED), 1, 4);
	ring(chip, core, block);
	assert_true(fake_wait(latched, &member));
}

#define BLOCK_AT(i)	((i) * 0x200)
#define RECORD_AT(i)	(BLOCK_AT(i) + 0x100)

/* Members that do nothing, which is enough to be waited for. */
static void put_block(struct fake_port *port, unsigned int i, uint16_t flags)
{
	*(struct neuron_hw_job *)(void *)(port->host + BLOCK_AT(i)) =
		(struct neuron_hw_job){
			.magic = NEURON_JOB_MAGIC,
			.version = NEURON_JOB_VERSION,
			.flags = flags,
			.job_id = 1 + i,
			.completion = fake_host_addr(port, RECORD_AT(i)),
			.sem_clear = { 1 << LATCHED },
			.gang = 77,
			.gang_size = 3,
			.gang_index = (uint16_t)i,
		};
}

static const struct neuron_hw_completion *record_of(struct fake_port *port,
						    unsigned int i)
{
	return (void *)(port->host + RECORD_AT(i));
}

static void finish(struct trn_chip *chip, struct fake_port *port)
{
	fake_chip_free(chip);
	fake_port_destroy(port);
}

/* Two members wait, the third comes to a chip that was loaded. */
static void a_waiting_gang_is_saved(void **state)
{
	struct rig *rig = *state;
	struct fake_port port, port2;
	struct trn_chip *chip, *moved;
	unsigned int i;

	chip = alone(rig, &port);
	for (i = 0; i < 3; i++)
		put_block(&port, i, 0);
	ring_and_see(chip, 0, fake_host_addr(&port, BLOCK_AT(0)));
	ring_and_see(chip, 1, fake_host_addr(&port, BLOCK_AT(1)));
	moved = move(chip, &port, &port2, rig);
	finish(chip, &port);
	assert_int_equal(record_of(&port2, 0)->status, NEURON_JOB_NONE);
	ring(moved, 2, fake_host_addr(&port2, BLOCK_AT(2)));
	for (i = 0; i < 3; i++) {
		wait_idle(moved, i);
		assert_int_equal(record_of(&port2, i)->status, NEURON_JOB_OK);
	}
	finish(moved, &port2);
}

/* A gang has failed, and the chip that was loaded still knows it. */
static void a_failed_gang_is_saved(void **state)
{
	struct rig *rig = *state;
	struct fake_port port, port2;
	struct trn_chip *chip, *moved;
	unsigned int i;

	chip = alone(rig, &port);
	for (i = 0; i < 3; i++)
		put_block(&port, i, i == 1 ? 0x8000 : 0);
	ring(chip, 1, fake_host_addr(&port, BLOCK_AT(1)));
	wait_idle(chip, 1);
	moved = move(chip, &port, &port2, rig);
	finish(chip, &port);
	assert_int_equal(record_of(&port2, 1)->cause, NEURON_CAUSE_JOB);
	for (i = 0; i < 3; i += 2) {
		ring(moved, i, fake_host_addr(&port2, BLOCK_AT(i)));
		wait_idle(moved, i);
		assert_int_equal(record_of(&port2, i)->cause, NEURON_CAUSE_GANG);
		assert_int_equal(record_of(&port2, i)->pc, 1);
	}
	finish(moved, &port2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_waiting_gang_is_saved, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(a_failed_gang_is_saved, rig_setup,
						rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
