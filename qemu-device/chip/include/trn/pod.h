/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The other servers of a Trainium2 UltraServer: chips on a fabric that nobody has. Of each
 * there are its links and its MISC RAM, which chips of the machine read through neighbour
 * windows, and nothing else: no memory, no cores, no PCI function.
 *
 * When a driver of the machine elects (Documentation/hardware/fabric.rst), these chips answer
 * as the drivers of their servers would. They run only when the machine reads MISC RAM of one
 * of them, and first do all that they can by then. So what is read depends on the order of the
 * machine's reads and writes, and on no clock.
 */
#ifndef TRN_API_POD_H
#define TRN_API_POD_H

#include <stdbool.h>
#include <stdint.h>

struct trn_fabric;
struct trn_pod;
struct trn_pool;
struct trn_state;

#define TRN_POD_SERVERS	4
#define TRN_POD_PLACES	16	/* chips of each */

/**
 * trn_pod_new() - let the chips of the other servers join a fabric
 * @fabric: a torus3d, without chips; it must not go before the pod, nor any of its chips
 *	after the pod
 * @pool: its pool
 * @servers: of the UltraServer, 2 or 4; server 0 is the machine's own
 * @script: what single words read as in place of what these chips have; NULL or "": none
 * @why: out, on an error: a static string
 *
 * A script is SERVER.CHIP:OFFSET=VALUE, or several with ";" between them: the word of MISC
 * RAM at OFFSET of that chip reads as VALUE. With @READS behind it that ends when the machine
 * has read the word READS times. The other chips of the pod see the same.
 *
 * Return: the pod, which the caller frees with trn_pod_free(), or NULL.
 */
struct trn_pod *trn_pod_new(struct trn_fabric *fabric, struct trn_pool *pool,
			    unsigned int servers, const char *script, const char **why);

/**
 * trn_pod_free() - let its chips leave the fabric, and free them
 * @pod: the pod, or NULL
 */
void trn_pod_free(struct trn_pod *pod);

/**
 * trn_pod_word() - a word of MISC RAM of one of its chips
 * @pod: the pod. Any thread
 * @server: 1 to the number of servers - 1
 * @place: 0 to TRN_POD_PLACES - 1
 * @offset: in MISC RAM, a multiple of 4
 * @value: out: what the machine would read; this does not count as a read of the machine
 *
 * Return: false: there is no such word.
 */
bool trn_pod_word(struct trn_pod *pod, unsigned int server, unsigned int place, uint32_t offset,
		  uint32_t *value);

/**
 * trn_pod_reset() - as when the UltraServer was switched on, script included
 * @pod: the pod. Any thread
 */
void trn_pod_reset(struct trn_pod *pod);

/**
 * trn_pod_state() - save or load the pod
 * @pod: the chips of its fabric are stopped and quiet
 * @st: the stream; after a failure @st->why says why, and nothing has been loaded
 *
 * It is loaded by a pod with as many servers and the same number of words in its script.
 */
void trn_pod_state(struct trn_pod *pod, struct trn_state *st);

#endif /* TRN_API_POD_H */
