/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The fabric: it joins chips of one process. Links and routes follow from the places of the
 * chips (trn_chip_config.position) and the topology.
 */
#ifndef TRN_API_FABRIC_H
#define TRN_API_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

struct trn_fabric;
struct trn_state;

enum trn_topology {
	TRN_TOPOLOGY_AUTO,	/* what the public instances have, else a ring */
	TRN_TOPOLOGY_RING,
	TRN_TOPOLOGY_CHAIN,
	TRN_TOPOLOGY_TORUS2D,	/* 4x4 on each server */
	TRN_TOPOLOGY_TORUS3D,	/* the same, and a ring of the servers */
	TRN_TOPOLOGY_SWITCH,
	TRN_TOPOLOGIES
};

/**
 * trn_topology_name() - the name of a topology
 * @kind: below TRN_TOPOLOGIES
 *
 * Return: "auto", "ring", "chain", "torus2d", "torus3d" or "switch".
 */
const char *trn_topology_name(enum trn_topology kind);
/**
 * trn_topology_by_name() - the other way
 * @name: such a name
 *
 * Return: the topology, or TRN_TOPOLOGIES: none has that name.
 */
enum trn_topology trn_topology_by_name(const char *name);

/**
 * trn_fabric_new() - make a fabric without chips
 *
 * A chip joins when it is built (trn_chip_config.fabric) and has a reference as long as it is on
 * the fabric.
 *
 * Return: the fabric with a reference of the caller's, or NULL: no memory.
 */
struct trn_fabric *trn_fabric_new(void);
/**
 * trn_fabric_unref() - give a reference up; the last one frees the fabric
 * @fabric: the fabric, or NULL. Any thread
 */
void trn_fabric_unref(struct trn_fabric *fabric);

/**
 * trn_fabric_configure() - say how chips are linked, before the first one joins
 * @fabric: the fabric
 * @kind: the topology
 * @link_mbps: MB/s of a link each way; 0: what the generation has
 *
 * Return: 0, or -1: there are chips.
 */
int trn_fabric_configure(struct trn_fabric *fabric, enum trn_topology kind,
			 uint32_t link_mbps);

/**
 * trn_fabric_topology() - how chips are linked now
 * @fabric: the fabric. Any thread
 *
 * Return: the topology; TRN_TOPOLOGY_AUTO only as long as there is no chip.
 */
enum trn_topology trn_fabric_topology(struct trn_fabric *fabric);

/**
 * trn_fabric_set_link() - change the links between two chips
 * @fabric: the fabric
 * @a: fabric ids of its ends, in any order
 * @b: see @a
 * @up: false: nothing passes
 * @mbps: most MB/s each way; 0: what the link has
 * @why: out, on an error: a static string
 *
 * Accesses that begin afterwards go by the new state. A DMA packet that is under way
 * over a link that goes down fails. The chips at the ends get the interrupt cause LINK. Any
 * thread. A chip that is not there yet has the link so when it comes.
 *
 * Return: 0, or -1: there is no such link, or there are too many faults.
 */
int trn_fabric_set_link(struct trn_fabric *fabric, uint32_t a, uint32_t b,
			bool up, uint32_t mbps, const char **why);

/**
 * trn_fabric_set_links() - change links by a text
 * @fabric: the fabric. Any thread
 * @text: "A-B=STATE" (fabric ids) or "A:LINK=STATE" with STATE up, down, slow:PERCENT or
 *	mbps:MB/s, and several with ";" between them
 * @why: out, on an error: a static string
 *
 * As trn_fabric_set_link(). All of them take effect, or none.
 *
 * Return: 0, or -1.
 */
int trn_fabric_set_links(struct trn_fabric *fabric, const char *text,
			 const char **why);

#define TRN_LINK_TEXT	8192	/* room for all of them */
/**
 * trn_fabric_print_links() - the faults that there are, in that form
 * @fabric: the fabric. Any thread
 * @text: out
 */
void trn_fabric_print_links(struct trn_fabric *fabric,
			    char text[TRN_LINK_TEXT]);

/**
 * trn_fabric_state() - save or load the link faults
 * @fabric: the fabric; its chips are stopped, and get no interrupt
 * @st: the stream; after a failure @st->why says why
 */
void trn_fabric_state(struct trn_fabric *fabric, struct trn_state *st);

#endif /* TRN_API_FABRIC_H */
