# SPDX-License-Identifier: MIT
#
# The front door. The work is done by the scripts in tools/build.

CHIPS ?= 2
PREFIX ?= /usr/local

help:
	@echo "make run         build everything, boot a VM with $(CHIPS) chips, run the main job"
	@echo "make shell       the same VM with an interactive shell"
	@echo "make check       unit tests, tests in the VM, style"
	@echo "make check-long  fuzzing, snapshots, faults, many chips, stress (some hours)"
	@echo "make check-debug the driver in a kernel with every checker (part of check-long)"
	@echo "make bench       measure; writes build/bench.json"
	@echo "make vm          build everything that the VM needs, and do not start it"
	@echo "make install     libnrt, the tools and the VM, below PREFIX=$(PREFIX)"
	@echo "make dkms        the driver's source for DKMS, below DESTDIR=$(DESTDIR)"
	@echo "make clean       remove build/; downloads stay in the cache"
	@echo
	@echo "CHIPS=N  JOBS=N  V=1  REFRESH=1 (newer packages)  QEMU_SRC=  KERNEL= KDIR="
	@echo "See tools/neuron-vm --help for other machines."

vm:
	@tools/build/all

run:
	@tools/build/run $(CHIPS) run

shell:
	@tools/build/run $(CHIPS) shell

check:
	@tools/build/check

check-long:
	@tools/build/check-long

check-debug:
	@tools/build/check-debug

bench:
	@tools/build/bench

install:
	@tools/build/install "$(PREFIX)"

dkms:
	@tools/build/dkms "$(DESTDIR)"

clean:
	rm -rf build

.PHONY: help vm run shell check check-long check-debug bench install dkms clean
