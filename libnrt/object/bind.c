// SPDX-License-Identifier: MIT
/*
 * The tensors of an execution: found by name, checked, and shown to the core where they
 * are, or copied to where the core can see them.
 */
#include "object/model.h"
#include "object/tensor.h"

static bool is_io(const struct neff_var *var)
{
	return var->type == NEFF_VAR_INPUT || var->type == NEFF_VAR_OUTPUT;
}

static NRT_STATUS explain_missing(const struct neff_var *var, const nrt_tensor_set_t *set,
				  struct nrt_error *error)
{
	const char *kind = var->type == NEFF_VAR_INPUT ? "input" : "output";
	char names[200];

	nrt_set_names(set, names, sizeof(names));
	return nrt_error_set(error, NRT_INVALID,
			     "%s tensor \"%s\" of %llu bytes is missing; the %s set has %s", kind,
			     var->name, (unsigned long long)var->size, kind, names);
}

static NRT_STATUS find_tensor(const struct neff_var *var, const nrt_tensor_set_t *set,
			      struct nrt_tensor **tensor, struct nrt_error *error)
{
	*tensor = nrt_set_find(set, var->name);
	if (!*tensor)
		return explain_missing(var, set, error);
	if ((*tensor)->size != var->size)
		return nrt_error_set(error, NRT_INVALID,
				     "tensor \"%s\" must have %llu bytes; the one given has %zu",
				     var->name, (unsigned long long)var->size, (*tensor)->size);
	return nrt_tensor_check(*tensor, 0, var->size, error);
}

/* Can a window show it as it is? */
static bool can_show(const struct nrt_model *model, const struct nrt_tensor *tensor)
{
	return tensor->storage->bo && tensor->storage->bo->device == model->core->device &&
	       tensor->offset % 4 == 0;
}

static NRT_STATUS get_staging(struct nrt_model *model, size_t i, struct nrt_error *error)
{
	struct nrt_core *core = model->core;

	if (model->staging[i])
		return NRT_SUCCESS;
	return nrt_bo_create(core->device, model->neff->vars[i].size, DRM_NEURON_BO_HBM,
			     core->stack, DRM_NEURON_CATEGORY_DMA_BUFFERS, &model->staging[i],
			     error);
}

static NRT_STATUS stage(struct nrt_model *model, size_t i, const struct nrt_tensor *tensor,
			struct nrt_error *error)
{
	const struct neff_var *var = &model->neff->vars[i];
	const uint8_t *memory = nrt_tensor_memory(tensor);
	const struct nrt_bo *bo = tensor->storage->bo;

	if (!memory && bo->device != model->core->device)
		return nrt_error_set(error, NRT_INVALID,
				     "tensor \"%s\" is in the memory of another chip (core %d); the model runs on core %u",
				     var->name, tensor->storage->vnc, model->core->vnc);
	if (get_staging(model, i, error))
		return error->status;
	model->places[i] = (struct nrt_place){ model->staging[i], 0 };
	if (var->type == NEFF_VAR_OUTPUT)
		return NRT_SUCCESS;
	if (memory)
		return nrt_bo_write(model->staging[i], 0, memory, var->size, error);
	return nrt_bo_copy(model->staging[i], 0, tensor->storage->bo, tensor->offset, var->size,
			   error);
}

static NRT_STATUS bind_var(struct nrt_model *model, size_t i, const nrt_tensor_set_t *set,
			   struct nrt_error *error)
{
	struct nrt_tensor *tensor;

	if (find_tensor(&model->neff->vars[i], set, &tensor, error))
		return error->status;
	if (!can_show(model, tensor))
		return stage(model, i, tensor, error);
	model->places[i] = (struct nrt_place){ tensor->storage->bo, tensor->offset };
	return NRT_SUCCESS;
}

NRT_STATUS nrt_bind(struct nrt_model *model, const nrt_tensor_set_t *inputs,
		    const nrt_tensor_set_t *outputs, struct nrt_error *error)
{
	size_t i;

	for (i = 0; i < model->neff->nr_vars; i++) {
		const struct neff_var *var = &model->neff->vars[i];

		if (is_io(var) &&
		    bind_var(model, i, var->type == NEFF_VAR_INPUT ? inputs : outputs, error))
			return error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS unstage(struct nrt_model *model, size_t i, const struct nrt_tensor *tensor,
			  struct nrt_error *error)
{
	uint64_t size = model->neff->vars[i].size;
	uint8_t *memory = nrt_tensor_memory(tensor);

	if (memory)
		return nrt_bo_read(model->staging[i], 0, memory, size, error);
	return nrt_bo_copy(tensor->storage->bo, tensor->offset, model->staging[i], 0, size, error);
}

NRT_STATUS nrt_bind_finish(struct nrt_model *model, const nrt_tensor_set_t *outputs,
			   struct nrt_error *error)
{
	size_t i;

	for (i = 0; i < model->neff->nr_vars; i++) {
		const struct neff_var *var = &model->neff->vars[i];

		if (var->type != NEFF_VAR_OUTPUT || !model->staging[i] ||
		    model->places[i].bo != model->staging[i])
			continue;
		if (unstage(model, i, nrt_set_find(outputs, var->name), error))
			return error->status;
	}
	return NRT_SUCCESS;
}
