# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the scripts in this folder; sourced, never run.
#
#   BUILD_DIR        outputs of this checkout            (default: build/)
#   XDG_CACHE_HOME   downloads and what can be shared    (default: ~/.cache)
#   JOBS             parallel compile jobs               (default: the host's CPUs)
#   REFRESH=1        look for newer upstream packages
#   V=1              show the output of each step instead of a progress line

set -euo pipefail

# depmod and modinfo are not on the path of an ordinary user.
PATH=$PATH:/usr/sbin:/sbin

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD_DIR:-$ROOT/build}
CACHE=${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/neuron-emu
LOGS=$BUILD/log
VM=$BUILD/vm
JOBS=${JOBS:-$(nproc)}
# shellcheck disable=SC2034 # used by the scripts that source this file
export ROOT BUILD CACHE LOGS VM JOBS

# One cache of compilations for all checkouts.
export CCACHE_DIR=$CACHE/ccache CCACHE_MAXSIZE=3G

mkdir -p "$LOGS" "$VM" "$CACHE"

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# line NAME TEXT SECONDS: one finished step.
line()
{
	printf '  %-10s %-52s %4d s\n' "$1" "$2" "$3"
}

# The last "[n/m]" that ninja wrote, or nothing.
ninja_progress()
{
	tail -c 4096 "$1" 2>/dev/null | tr '\r' '\n' | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -n 1 || true
}

step_failed()
{
	local name=$1 what=$2 log=$3 hint=$4 why=$5

	{
		printf '\n%s: %s: %s\n' "$name" "$what" "$why"
		if [ -s "$log" ]; then
			printf 'last lines of %s:\n' "$log"
			grep -nE '(^|[^a-z])(error|FAILED|undefined reference)' "$log" | head -n 12 |
				cut -c1-240 | sed 's/^/  ! /' || true
			tail -n 15 "$log" | cut -c1-240 | sed 's/^/  | /'
		fi
		printf 'what to do: %s\n' "$hint"
	} >&2
}

# step NAME WHAT LIMIT HINT COMMAND...: run COMMAND (a program or a function) with its
# output in build/log/NAME.log, showing progress; after LIMIT seconds, or when it
# fails, say what failed and HINT, and end the script.
step()
{
	local name=$1 what=$2 limit=$3 hint=$4 begin=$SECONDS
	local log=$LOGS/$1.log rc=0 pid shown=0 spent tty=0 progress
	shift 4

	[ -t 1 ] && tty=1
	: >"$log"
	set -m
	( set -e; "$@" ) >"$log" 2>&1 </dev/null &
	pid=$!
	set +m
	trap 'kill -TERM -- -'"$pid"' 2>/dev/null; exit 130' INT TERM
	while kill -0 "$pid" 2>/dev/null; do
		spent=$((SECONDS - begin))
		if [ "$spent" -ge "$limit" ]; then
			kill -TERM -- "-$pid" 2>/dev/null || true
			sleep 1
			kill -KILL -- "-$pid" 2>/dev/null || true
			rc=124
			break
		fi
		if [ "$tty" = 1 ]; then
			progress=$(ninja_progress "$log")
			printf '\r\033[K  %-10s %-52s %4d s' "$name" "$what${progress:+ $progress}" "$spent"
		elif [ $((spent - shown)) -ge 20 ]; then
			shown=$spent
			progress=$(ninja_progress "$log")
			line "$name" "$what${progress:+ $progress} ..." "$spent"
		fi
		sleep 0.1
	done
	[ "$rc" = 124 ] || wait "$pid" || rc=$?
	trap - INT TERM
	[ "$tty" = 0 ] || printf '\r\033[K'
	[ -z "${V:-}" ] || cat "$log"
	if [ "$rc" = 124 ]; then
		step_failed "$name" "$what" "$log" "$hint" "not done after $limit s"
		exit 1
	elif [ "$rc" != 0 ]; then
		step_failed "$name" "$what" "$log" "$hint" "failed (exit status $rc)"
		exit 1
	fi
	line "$name" "$what" $((SECONDS - begin))
}

# as_root COMMAND...: run it as root, through sudo where needed.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

can_be_root()
{
	[ "$(id -u)" = 0 ] || command -v sudo >/dev/null
}

# cache_lock NAME: hold the lock of one part of the shared cache until the script ends.
cache_lock()
{
	exec 9>"$CACHE/$1.lock"
	flock -w 3600 9 || die "another build has held $CACHE/$1.lock for an hour"
}

# build_lock NAME: one script at a time works on a part of build/: "vm" is what the machine is
# made of, others are folders of their own. Two "make" in one checkout take turns.
build_lock()
{
	exec 8>"$BUILD/lock-$1"
	flock -w 3600 8 || die "another build has held $BUILD/lock-$1 for an hour"
}

# tap STATUS NAME: one line of TAP; tap_end: the plan, and the exit status of the script. What
# explains a failure is printed before it, in lines that begin with "# ".
TAP_NUMBER=0 TAP_FAILED=0
tap()
{
	local word=ok

	[ "$1" = 0 ] || word="not ok" TAP_FAILED=1
	TAP_NUMBER=$((TAP_NUMBER + 1))
	printf '%s %d - %s\n' "$word" "$TAP_NUMBER" "$2"
}

tap_end()
{
	echo "1..$TAP_NUMBER"
	return "$TAP_FAILED"
}

# put FROM TO: copy only when the content differs, so that time stamps stay.
put()
{
	cmp -s "$1" "$2" || { mkdir -p "$(dirname "$2")" && cp "$1" "$2.new" && mv "$2.new" "$2"; }
}

# record KEY TEXT...: one line of build/vm/versions, which names what the VM is made of.
record()
{
	local key=$1 file=$VM/versions
	shift

	touch "$file"
	{ grep -v "^$key " "$file" || true; printf '%s %s\n' "$key" "$*"; } | sort >"$file.new"
	mv "$file.new" "$file"
}
