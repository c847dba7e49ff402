/* SPDX-License-Identifier: MIT */
/*
 * A stream of the collectives of a model, for one rank of a team: the collectives that one CC-core
 * does, one after the other, by one program. What each of them is, is in comm/cc_items.h; when the
 * ranks meet, in comm/cc_model.h.
 */
#ifndef LIBNRT_COMM_CC_STREAM_H
#define LIBNRT_COMM_CC_STREAM_H

#include "comm/cc_items.h"

/**
 * struct nrt_cc_stream - a stream
 * @cc: CC-core
 * @rights: of the ranks of the team, to post to each other's CC-cores of the stream
 * @items: what is done
 * @area: semaphores of the CC-core, or NULL
 * @sem_clear: of its job: what starts the collectives; a program that failed may have left a start
 * @running: the job of the execution under way
 */
struct nrt_cc_stream {
	struct nrt_core *cc;
	struct nrt_cc_rights rights;
	struct nrt_cc_items items;
	struct nrt_cc_area *area;
	uint64_t sem_clear[NEURON_NR_SEMAPHORES / 64];
	struct nrt_running running;
};

/* Stream @number of @model, on CC-core @cc. @stream is zero before. */
void nrt_cc_stream_init(struct nrt_cc_stream *stream, const struct nrt_model *model,
			unsigned int number, struct nrt_core *cc);

/* Forget what was prepared for a world; also if that was nothing. */
void nrt_cc_stream_drop(struct nrt_cc_stream *stream, struct nrt_cc_team *team);

/* Make the plans for the ranks of @team. A failure may leave some. */
NRT_STATUS nrt_cc_stream_plan(struct nrt_cc_stream *stream, struct nrt_cc_team *team,
			      struct nrt_error *error);

/* Take semaphores for what is planned. NRT_RESOURCE: they do not suffice. */
NRT_STATUS nrt_cc_stream_take_area(struct nrt_cc_stream *stream, struct nrt_cc_team *team,
				   struct nrt_error *error);

/* They do not suffice, here or elsewhere: plan anew, with semaphores in common, and take those. */
NRT_STATUS nrt_cc_stream_crowd(struct nrt_cc_stream *stream, struct nrt_cc_team *team,
			       struct nrt_error *error);

/* The program of what is planned, and to whom it posts. */
NRT_STATUS nrt_cc_stream_build(struct nrt_cc_stream *stream, struct nrt_error *error);

/* Offer the items of the stream, from number @first of @offers on. */
void nrt_cc_stream_say(const struct nrt_cc_stream *stream, struct nrt_cc_offers *offers,
		       unsigned int first);

/*
 * In what all ranks of the team have said, the items of the stream begin with number @first. Do
 * the ranks agree?
 */
NRT_STATUS nrt_cc_stream_compare(const struct nrt_cc_stream *stream,
				 const struct nrt_cc_offers *offers, unsigned int first,
				 struct nrt_error *error);

/* The ranks of each item exchange buffers, if somebody has new ones. @model: its number. */
NRT_STATUS nrt_cc_stream_exchange(struct nrt_cc_stream *stream, const struct nrt_cc_offers *offers,
				  unsigned int first, uint64_t model, struct nrt_error *error);

/* With the lock of the CC-core: fill its job. What its window table must show. */
struct nrt_view *nrt_cc_stream_show(struct nrt_cc_stream *stream, struct drm_neuron_job *args);

#endif /* LIBNRT_COMM_CC_STREAM_H */
