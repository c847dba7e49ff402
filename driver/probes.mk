# SPDX-License-Identifier: GPL-2.0-only
#
# What neuron_compat.h cannot find out in C: the compiler tries the kernel's headers.

# $(call neuron-probe,MACRO,source): -DMACRO when the source compiles
neuron-probe = $(call try-run,printf '%b' '$(2)' | $(CC) $(LINUXINCLUDE) $(KBUILD_CPPFLAGS) \
	$(KBUILD_CFLAGS) -Werror -c -x c - -o "$$TMP",-D$(1))

# drm_sched_init() took eleven arguments, now a struct
ccflags-y += $(call neuron-probe,NEURON_HAVE_SCHED_INIT_ARGS,\
	\043include <drm/gpu_scheduler.h>\nstruct drm_sched_init_args probe;\n)
# later without the number of run queues
ccflags-y += $(call neuron-probe,NEURON_HAVE_SCHED_NUM_RQS,\
	\043include <drm/gpu_scheduler.h>\nstruct drm_sched_init_args probe = { .num_rqs = 1 };\n)
# drm_sched_job_init() wants the DRM client
ccflags-y += $(call neuron-probe,NEURON_HAVE_SCHED_CLIENT_ID,\
	\043include <drm/gpu_scheduler.h>\nint probe(void);\nint probe(void) { return drm_sched_job_init(0, 0, 1, 0, 0); }\n)
# the buddy allocator moved out of DRM and was renamed
ccflags-y += $(call neuron-probe,NEURON_HAVE_GPU_BUDDY,\
	\043include <linux/gpu_buddy.h>\nstruct gpu_buddy probe;\n)
# is_cow_mapping() took flags and became vma_is_cow_mapping()
ccflags-y += $(call neuron-probe,NEURON_HAVE_VMA_IS_COW_MAPPING,\
	\043include <linux/mm.h>\nint probe(void);\nint probe(void) { return vma_is_cow_mapping(0); }\n)
# work queues that are bound to a processor have to say so
ccflags-y += $(call neuron-probe,NEURON_HAVE_WQ_PERCPU,\
	\043include <linux/workqueue.h>\nint probe = WQ_PERCPU;\n)
# dma_fence_array_init() lost the choice of any fence in place of all
ccflags-y += $(call neuron-probe,NEURON_HAVE_FENCE_ARRAY_ANY,\
	\043include <linux/dma-fence-array.h>\nvoid probe(void);\nvoid probe(void) { dma_fence_array_init(0, 0, 0, 0, 0, false); }\n)
# dma_fence_enable_sw_signaling() was renamed
ccflags-y += $(call neuron-probe,NEURON_HAVE_FENCE_ENABLE_SIGNALING,\
	\043include <linux/dma-fence.h>\nvoid probe(void);\nvoid probe(void) { dma_fence_enable_signaling(0); }\n)
