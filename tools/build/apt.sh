# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A private apt configuration in the cache, for packages of another Debian release.
# The mirror is the one the system uses already and so are its proxies and keys; the
# system's own package lists, sources and installed packages are never touched.

APT_DIR=$CACHE/apt${APT_ARCH:+-$APT_ARCH}

apt_codename()
{
	# shellcheck source=/dev/null
	( . /etc/os-release && printf '%s' "${VERSION_CODENAME:-unknown}" )
}

# mirror_of PATTERN: "URI keyring" of the first package list whose release matches.
# The signing key is the one that the system's source entry names, if it names one.
mirror_of()
{
	local uri entry file keys

	# shellcheck disable=SC2016 # apt expands these, not the shell
	read -r uri entry < <(apt-get indextargets --format '$(CREATED_BY) $(RELEASE) $(SITE) $(SOURCESENTRY)' |
		awk -v want="$1" '$1 == "Packages" && $2 ~ want { print $3, $4; exit }') || true
	[ -n "${uri:-}" ] || return 1
	file=${entry%:*}
	keys=$(grep -hoiE 'signed-by[=:] *[^] ]+' "$file" 2>/dev/null | sed -E 's/^[^=:]*[=:] *//' |
		grep '^/' | sort -u | paste -sd, || true)
	printf '%s %s\n' "$uri" "$keys"
}

apt_source()
{
	local uri=$1 keys=$2 suite=$3 kinds=$4 kind

	for kind in $kinds; do
		printf '%s %s%s %s main\n' "$kind" "${keys:+[signed-by=$keys] }" "$uri" "$suite"
	done
}

apt_write_sources()
{
	local uri keys own

	own=$(apt_codename)
	read -r uri keys < <(mirror_of "^($own|stable|oldstable|trixie)\$") || true
	if [ -z "${uri:-}" ]; then
		echo "apt knows no package list of Debian $own; run apt-get update, or set QEMU_SRC= and KERNEL=/KDIR="
		return 1
	fi
	{
		apt_source "$uri" "$keys" trixie "deb deb-src"
		[ "$own" != bookworm ] || apt_source "$uri" "$keys" bookworm-backports deb
		if read -r uri keys < <(mirror_of security); then
			apt_source "$uri" "$keys" trixie-security "deb deb-src"
		fi
	} >"$APT_DIR/sources.list"
}

# Only the transport settings of the system come along: its hooks have no business here.
apt_write_config()
{
	apt-config dump | grep '^Acquire::' |
		grep -vE '^Acquire::(IndexTargets|Languages|CompressionTypes|cdrom|Changelogs)' \
			>"$APT_DIR/conf.d/transport" || true
	cat >"$APT_DIR/apt.conf" <<-END
		Dir::Etc::main "/dev/null";
		Dir::Etc::parts "$APT_DIR/conf.d";
		Dir::Etc::sourcelist "$APT_DIR/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		Dir::State "$APT_DIR";
		Dir::State::lists "$APT_DIR/lists";
		Dir::State::status "$APT_DIR/status";
		Dir::Cache "$APT_DIR/cache";
		Dir::Log "$APT_DIR";
		Acquire::Languages "none";
		Acquire::Retries "3";
		APT::Sandbox::User "$(id -un)";
		APT::Architecture "${APT_ARCH:-amd64}";
		APT::Default-Release "";
	END
	chmod -R go= "$APT_DIR"
}

# private_apt COMMAND...: an apt program that sees only the private configuration.
private_apt()
{
	APT_CONFIG=$APT_DIR/apt.conf "$@"
}

# Fetch the package lists, unless that was done within the last hours: it is called only
# when there is something to download, and mirrors forget old packages.
apt_prepare()
{
	local stamp=$APT_DIR/updated

	if [ -z "${REFRESH:-}" ] && [ -n "$(find "$stamp" -mmin -360 2>/dev/null)" ]; then
		return 0
	fi
	mkdir -p "$APT_DIR"/{conf.d,lists/partial,cache/archives/partial}
	touch "$APT_DIR/status"
	apt_write_sources
	apt_write_config
	private_apt apt-get -o APT::Update::Error-Mode=any update
	touch "$stamp"
}

# fetch_deb PACKAGE[=VERSION] FOLDER: download one package and unpack it.
fetch_deb()
{
	local into=$2 deb

	mkdir -p "$CACHE/download" "$into"
	deb=$(cd "$CACHE/download" && private_apt apt-get download --print-uris "$1" | awk '{ print $2 }')
	[ -n "$deb" ] || { echo "no package $1"; return 1; }
	( cd "$CACHE/download" && private_apt apt-get download "$1" )
	dpkg-deb -x "$CACHE/download/$deb" "$into"
	sha256sum "$CACHE/download/$deb" | awk -v p="$1" '{ print p, $1 }' >>"$into/packages"
	rm -f "$CACHE/download/$deb"
}

# candidate PACKAGE: its newest version.
candidate()
{
	private_apt apt-cache policy "$1" | awk '$1 == "Candidate:" { print $2 }'
}
