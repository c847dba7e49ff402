# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# Shared by the tasks of the guest.

# shellcheck disable=SC2034 # used by the tasks
SELFTESTS=${SELFTESTS:-/usr/libexec/neuron/selftests}

# title TEXT: a heading in the output of a task.
title()
{
	printf '\n== %s\n' "$*"
}

fail()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

# need PROGRAM: a task that needs it cannot go on without it.
need()
{
	command -v "$1" >/dev/null || fail "$1 is not in this initramfs"
}

# planned NAME...: programs that are to leave TAP in /out/tap; the host misses those that do not.
planned()
{
	printf '%s\n' "$@" >>/out/tap/programs.txt
}

# unload_driver: and wait until its folder is gone: a kernel that looks for errors in the release
# of objects drops it some seconds later, and until then the module cannot be loaded again.
unload_driver()
{
	modprobe -r neuron && [ ! -e /sys/module/neuron ] || return 1
	for _ in $(seq 20); do
		[ -e /sys/bus/pci/drivers/neuron ] || return 0
		sleep 1
	done
	return 1
}

# load_driver: neuron.ko, and its devices.
load_driver()
{
	[ -e "/lib/modules/$(uname -r)/updates/neuron.ko" ] || fail "neuron.ko is not in this initramfs"
	modprobe neuron || fail "modprobe neuron: exit status $?"
	ls /dev/accel/accel* >/dev/null 2>&1 || fail "the driver is loaded but /dev/accel is empty"
}
