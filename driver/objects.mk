# SPDX-License-Identifier: GPL-2.0-only
#
# What the module is made of, layer by layer (driver/layers): the base,
neuron-y := driver/neuron_device.o \
	driver/neuron_irq.o \
	driver/neuron_ioctl.o \
	driver/neuron_account.o \
	driver/neuron_event.o \
	driver/neuron_listener.o

# memory,
neuron-y += driver/neuron_hbm.o \
	driver/neuron_gem.o \
	driver/neuron_userptr.o \
	driver/neuron_prime.o \
	driver/neuron_usage.o

# engines,
neuron-y += driver/neuron_result.o \
	driver/neuron_fence.o \
	driver/neuron_copy.o \
	driver/neuron_copy_reset.o \
	driver/neuron_copy_ioctl.o \
	driver/neuron_core.o

# contexts,
neuron-y += driver/neuron_claim.o \
	driver/neuron_grant.o \
	driver/neuron_list.o \
	driver/neuron_table.o \
	driver/neuron_window.o

# jobs,
neuron-y += driver/neuron_job.o \
	driver/neuron_submit.o \
	driver/neuron_transfer.o \
	driver/neuron_transfer_file.o \
	driver/neuron_wait.o

# policy,
neuron-y += driver/neuron_coredump.o \
	driver/neuron_watch.o

# views,
neuron-y += driver/neuron_monitor.o \
	driver/neuron_query.o \
	driver/neuron_sysfs.o \
	driver/neuron_debugfs.o \
	driver/neuron_public.o

# life.
neuron-y += driver/neuron_reset.o \
	driver/neuron_drv.o

# The public interface includes "drm.h".
ccflags-y += -I$(srctree)/include/uapi/drm

# NEURON_KUNIT=1: with the unit tests in driver/tests, which run when the module is
# loaded. NEURON_COVERAGE=1: count the lines that are run (CONFIG_GCOV_KERNEL).
ifeq ($(NEURON_KUNIT),1)
ccflags-y += -DNEURON_KUNIT
endif
ifeq ($(NEURON_COVERAGE),1)
GCOV_PROFILE := y
ccflags-y += -g
endif

# NEURON_KCOV=1: tell a process which parts of the driver its calls run (CONFIG_KCOV). The
# fuzzer of the ioctls lives on it.
ifeq ($(NEURON_KCOV),1)
KCOV_INSTRUMENT := y
endif

include $(src)/driver/probes.mk
