# SPDX-License-Identifier: GPL-2.0-only
#
# What the module is made of, layer by layer (driver/layers). Who includes this says in
# neuron-dir where the files are: empty, or a folder with a slash at its end. The base,
neuron-objects := neuron_device.o \
	neuron_irq.o \
	neuron_ioctl.o \
	neuron_account.o \
	neuron_block.o \
	neuron_event.o \
	neuron_listener.o

# memory,
neuron-objects += neuron_hbm.o \
	neuron_gem.o \
	neuron_userptr.o \
	neuron_prime.o \
	neuron_usage.o

# engines,
neuron-objects += neuron_result.o \
	neuron_fence.o \
	neuron_syncs.o \
	neuron_copy.o \
	neuron_copy_reset.o \
	neuron_copy_ioctl.o \
	neuron_core.o

# contexts,
neuron-objects += neuron_claim.o \
	neuron_grant.o \
	neuron_list.o \
	neuron_table.o \
	neuron_window.o

# jobs,
neuron-objects += neuron_job.o \
	neuron_series.o \
	neuron_times.o \
	neuron_submit.o \
	neuron_transfer.o \
	neuron_transfer_file.o \
	neuron_wait.o

# policy,
neuron-objects += neuron_coredump.o \
	neuron_watch.o

# views,
neuron-objects += neuron_monitor.o \
	neuron_query.o \
	neuron_sysfs.o \
	neuron_debugfs.o
neuron-objects-$(CONFIG_DRM_ACCEL_NEURON_PUBLIC_SYSFS) := neuron_public.o
neuron-objects += $(neuron-objects-y)

# life.
neuron-objects += neuron_reset.o \
	neuron_drv.o

neuron-y := $(addprefix $(neuron-dir),$(neuron-objects))

# The public interface includes "drm.h".
ccflags-y += -I$(srctree)/include/uapi/drm

# NEURON_KUNIT=1: with the unit tests in driver/tests, which run when the module is loaded. In a
# kernel's tree that is an option of Kconfig.
ifeq ($(NEURON_KUNIT),1)
ccflags-y += -DCONFIG_DRM_ACCEL_NEURON_KUNIT_TEST=1
endif

# NEURON_COVERAGE=1: count the lines that are run (CONFIG_GCOV_KERNEL).
ifeq ($(NEURON_COVERAGE),1)
GCOV_PROFILE := y
ccflags-y += -g
endif

# NEURON_KCOV=1: tell a process which parts of the driver its calls run (CONFIG_KCOV). The
# fuzzer of the ioctls lives on it.
ifeq ($(NEURON_KCOV),1)
KCOV_INSTRUMENT := y
endif

include $(src)/$(neuron-dir)probes.mk
