# SPDX-License-Identifier: MIT
#
# The front door. The work is done by the scripts in tools/build.

CHIPS ?= 2
PREFIX ?= /usr/local
# What needs no root goes to a folder that needs none.
RUNTIME_PREFIX = $(if $(filter file,$(origin PREFIX)),build/usr,$(PREFIX))
# In place of the shell, so that a signal that ends make reaches it.
RUNNER = exec python3 selftests/runner
DEBUG_STAGES = debug-suite,debug-suite-2,debug-suite-3,debug-fail,debug-hammer,debug-fuzz,debug-jobs

help:
	@echo "make run         build everything, boot a VM with $(CHIPS) chips, run the main job"
	@echo "make shell       the same VM with an interactive shell"
	@echo "make check       unit tests, tests in the VM, style"
	@echo "                 ALL=1 (also what takes long: what .ci/run runs)"
	@echo "                 SUITE=NAME,...  TEST=PROGRAM[:CASE]  LIST=1 (what there is)"
	@echo "make check-long  fuzzing, faults, other generations; one hour, STAGE=NAME,..."
	@echo "make check-nightly  the debug kernel, many chips, hours of fuzzing; STAGE=NAME,..."
	@echo "                 both go on where they were ended; FRESH=1 begins anew"
	@echo "make check-debug the stages of check-nightly that run the debug kernel"
	@echo "make bench       measure; writes build/bench.json (ONLY=NAME,...  BASE=COMMIT)"
	@echo "make coverage    what the tests reach: build/coverage/index.html"
	@echo "make docs        the manual: HTML and man pages in build/docs"
	@echo "make vm          build everything that the VM needs, and do not start it"
	@echo "make install     libnrt, the tools and the VM, below PREFIX=$(PREFIX)"
	@echo "make runtime     libnrt with chips in the process, without VM, kernel or root, in"
	@echo "                 $(RUNTIME_PREFIX) or PREFIX="
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
	@tools/build/deps check
	@$(RUNNER) check --suite "$(SUITE)" --test "$$TEST" --all "$(ALL)" --list "$(LIST)"

check-long check-nightly:
	@tools/build/deps check
	@$(RUNNER) $@ --stage "$(STAGE)" --fresh "$(FRESH)" --list "$(LIST)"

check-debug:
	@tools/build/deps check
	@$(RUNNER) check-nightly --stage $(DEBUG_STAGES) --fresh "$(FRESH)"

bench:
	@ONLY="$(ONLY)" BASE="$(BASE)" tools/build/bench

coverage:
	@tools/build/coverage

docs:
	@tools/build/docs

install:
	@tools/build/install "$(PREFIX)"

runtime:
	@tools/build/runtime "$(RUNTIME_PREFIX)"

dkms:
	@tools/build/dkms "$(DESTDIR)"

clean:
	rm -rf build

.PHONY: help vm run shell check check-long check-nightly check-debug bench coverage docs install runtime dkms clean
