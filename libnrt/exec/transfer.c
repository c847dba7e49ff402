// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "exec/transfer.h"

struct request {
	struct nrt_request request;
	struct nrt_use uses[2];
	struct nrt_transfer transfer;
	struct nrt_async async;
	struct nrt_ended *ended;
};

static NRT_STATUS finish(struct nrt_request *request)
{
	const struct nrt_transfer *move = &((struct request *)request)->transfer;

	if (!move->from.storage)
		return nrt_span_write(&move->to, move->to_offset, move->host, move->size,
				      &request->error);
	if (!move->to.storage)
		return nrt_span_read(&move->from, move->from_offset, move->host, move->size,
				     &request->error);
	return nrt_span_copy(&move->from, move->from_offset, &move->to, move->to_offset,
			     move->size, &request->error);
}

static void failed(struct nrt_request *request)
{
	const struct nrt_async *async = &((struct request *)request)->async;

	async->failed(async->arg, request->seq, &request->error);
}

static void done(struct nrt_request *base)
{
	struct request *request = (struct request *)base;
	struct nrt_async async = request->async;
	struct nrt_ended *ended = request->ended;

	*ended = (struct nrt_ended){ .seq = base->seq, .error = base->error };
	nrt_span_put(&request->transfer.from);
	nrt_span_put(&request->transfer.to);
	if (async.tracker_handle)
		nrt_handle_put(request->transfer.handles, async.tracker_handle);
	free(request);
	async.ended(async.arg, ended);
}

static const struct nrt_request_ops transfer_ops = {
	.finish = finish,
	.failed = failed,
	.done = done,
};

NRT_STATUS nrt_transfer_schedule(const struct nrt_transfer *transfer,
				 const struct nrt_async *async, nrta_seq_t *seq,
				 struct nrt_error *error)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return nrt_error_memory(error);
	request->ended = malloc(sizeof(*request->ended));
	if (!request->ended) {
		free(request);
		return nrt_error_memory(error);
	}
	request->request.ops = &transfer_ops;
	request->request.quick = true;
	request->request.tracker = async->tracker;
	request->transfer = *transfer;
	request->async = *async;
	request->request.ticket.uses = request->uses;
	nrt_span_use(&transfer->from, transfer->from_offset, transfer->size, false,
		     &request->request.ticket);
	nrt_span_use(&transfer->to, transfer->to_offset, transfer->size, true,
		     &request->request.ticket);
	if (!nrt_unit_schedule(transfer->unit, &request->request, seq, error))
		return NRT_SUCCESS;
	free(request->ended);
	free(request);
	return error->status;
}
