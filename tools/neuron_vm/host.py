# SPDX-License-Identifier: MIT
"""What a machine needs of its host: the files that were built, KVM, modules and packages."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass

from .errors import MachineError, UsageError

PACKAGE = os.path.dirname(os.path.realpath(__file__))
# In the source tree the package is in tools/, installed in PREFIX/lib/neuron-emu/python.
SOURCE = os.path.realpath(os.path.join(PACKAGE, "../.."))
INSTALLED = os.path.realpath(os.path.join(PACKAGE, "../../vm"))
HINT = "'make vm' in the source tree builds what a VM needs, or see --help"
PROBE_S = 15
NO_KVM_S = 6 * 3600


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "neuron-emu")


def build_folder():
    return os.environ.get("BUILD_DIR") or os.path.join(SOURCE, "build")


def vm_folder():
    """Where the kernel, the initramfs and QEMU are."""
    places = [os.environ.get("NEURON_VM_DIR"), os.path.join(build_folder(), "vm"), INSTALLED]
    return next((place for place in places if place and os.path.isdir(place)), places[1])


@dataclass
class Files:
    """What is booted.

    Attributes:
        qemu, kernel, initrd, firmware: paths.
        modules: folder of all modules of the kernel (lib/modules/RELEASE), or None.
        symbols: the kernel's program with debug information, or None.
        driver: the project's driver with its debug information, or None.
    """

    qemu: str
    kernel: str
    initrd: str
    firmware: str
    modules: str = None
    symbols: str = None
    driver: str = None

    def release(self):
        return os.path.basename(os.path.realpath(self.modules)) if self.modules else None


def existing(path):
    return path if path and os.path.exists(path) else None


def find_files(options):
    """The files of a machine with these options. Raises UsageError."""
    folder, build = vm_folder(), build_folder()
    kernel = options.kernel
    qemu = os.path.join(folder, "qemu-system-x86_64")
    firmware = os.path.join(folder, "firmware")
    if kernel == "debug":
        build = os.path.join(build, "debug")
        folder = os.path.join(build, "vm")
        kernel = None
        if not os.path.exists(os.path.join(folder, "initramfs.cpio")):
            raise UsageError("--kernel debug: there is no debug kernel here; "
                             "'tools/build/debug-machine' builds it (15 minutes of two processors)")
    # The unpacked kernel boots faster, where there is one.
    booted = existing(os.path.join(folder, "vmlinux")) or os.path.join(folder, "vmlinuz")
    files = Files(options.qemu or qemu, kernel or booted,
                  options.initrd or os.path.join(folder, "initramfs.cpio"),
                  options.firmware or firmware)
    for path in (files.qemu, files.kernel, files.initrd, files.firmware):
        if not os.path.exists(path):
            raise UsageError(f"{path} does not exist; {HINT}")
    if kernel is None:
        files.modules = existing(os.path.join(folder, "modules"))
        files.symbols = existing(os.path.join(folder, "kdir/vmlinux"))
        files.driver = existing(os.path.join(build, "module/neuron.ko"))
    return files


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def stamp(path):
    status = os.stat(path)
    return f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"


def kvm_boots(files, probe):
    """Whether a guest really boots under KVM: a /dev/kvm that opens proves nothing.

    probe() tries it. The answer is kept until the host reboots or the kernel changes; "no" is
    kept for some hours only, because it may mean that the host was busy.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        key = digest(file.read(), stamp(files.kernel), stamp(files.qemu))
    path = os.path.join(cache_folder(), "kvm-probe", key)
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            answer = file.read()
        if answer == "yes" or time.time() - os.path.getmtime(path) < NO_KVM_S:
            return answer == "yes"
    answer = "yes" if probe() else "no"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False) as file:
            file.write(answer)
        os.replace(file.name, path)
    except OSError:
        pass        # without a cache it is asked again
    return answer == "yes"


def physical_bits():
    """Bits of a physical address of the host's processors."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        match = re.search(r"^address sizes\s*: (\d+) bits", file.read(), re.M)
    return int(match[1]) if match else 39


# --- Kernel modules ---

# The public driver (2.24.7) has one alias only, that of a chip before Trainium. This project's
# driver has the same name and the ids of other chips.
PUBLIC_NAME = "neuron"
PUBLIC_ALIAS = "pci:v00001d0fd00007064"

@dataclass
class Module:
    """A kernel module that is loaded in place of the project's driver.

    Attributes:
        path: the file.
        name: as the kernel knows it.
        depends: names of the modules that it needs.
        public: it is the public Trainium driver.
    """

    path: str
    name: str
    depends: list
    public: bool


def modinfo(path, field):
    done = subprocess.run(["/sbin/modinfo", "-F", field, path], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise UsageError(f"--module {path}: {done.stderr.strip() or 'modinfo fails'}")
    return done.stdout.split()


def find_module(path, release):
    """What a module's file says of itself. Raises UsageError when it cannot be loaded."""
    if not os.path.isfile(path):
        raise UsageError(f"--module {path}: there is no such file")
    path = os.path.realpath(path)
    name = (modinfo(path, "name") or [os.path.basename(path).split(".")[0]])[0]
    built_for = (modinfo(path, "vermagic") or ["?"])[0]
    if release and built_for != release:
        raise UsageError(f"--module {path}: it was built for the kernel {built_for}, the guest's "
                         f"is {release}; build it with make -C build/vm/kdir M=FOLDER")
    depends = [word for word in ",".join(modinfo(path, "depends")).split(",") if word]
    public = name == PUBLIC_NAME and any(alias.lower().startswith(PUBLIC_ALIAS)
                                         for alias in modinfo(path, "alias"))
    return Module(path, name, depends, public)


# --- Debian packages for the guest ---

# Packages that people know by another name.
PACKAGES = {"perf": "linux-perf"}
# Folders of the root that are links into /usr since Debian 12.
LINKED = ("bin", "sbin", "lib", "lib64")


def run_apt(words, cwd=None):
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd,
                          env={**os.environ, "LC_ALL": "C"})
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        raise MachineError("--with: " + (lines[-1][3:] if lines else f"{words[0]} fails")
                           + "; is the list of packages there (apt-get update)?")
    return done.stdout


def plan_packages(names):
    """(packages, folder): these packages and what they need that the host lacks, with their
    versions, and where the cache has them or will have them.
    """
    plan = run_apt(["apt-get", "--simulate", "--no-install-recommends", "install",
                    *(PACKAGES.get(name, name) for name in names)])
    wanted = [f"{name}={version}" for name, version in
              re.findall(r"^Inst (\S+) (?:\[[^]]*\] )?\((\S+)", plan, re.M)]
    return wanted, os.path.join(cache_folder(), "guest-packages", digest("usr", *sorted(wanted)))


def merge_usr(tree):
    """Move what a package has in /bin, /lib, ... below /usr, where the host has links.

    The tree is laid over the host's files: a folder would hide the link of the same name, and
    with it all programs and libraries of the host.
    """
    for name in LINKED:
        folder = os.path.join(tree, name)
        if os.path.islink(f"/{name}") and os.path.isdir(folder) and not os.path.islink(folder):
            shutil.copytree(folder, os.path.join(tree, "usr", name), symlinks=True,
                            dirs_exist_ok=True)
            shutil.rmtree(folder)


def unpack_packages(names, note, dry_run=False):
    """A folder with these packages and what they need that the host lacks.

    It is kept in the cache. note() tells the user what takes time, or would be downloaded.
    """
    wanted, folder = plan_packages(names)
    if os.path.isdir(folder):
        return folder
    if dry_run:
        note(f"would download for the guest: {' '.join(wanted)}")
        return folder
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    if wanted:
        note(f"downloading {len(wanted)} packages for the guest")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as temporary:
        tree = os.path.join(temporary, "tree")
        os.mkdir(tree)
        if wanted:
            run_apt(["apt-get", "download", *wanted], cwd=temporary)
        for file in sorted(os.listdir(temporary)):
            if file.endswith(".deb"):
                run_apt(["dpkg-deb", "--extract", os.path.join(temporary, file), tree])
        merge_usr(tree)
        os.chmod(tree, 0o755)
        try:
            os.rename(tree, folder)
        except OSError:
            pass        # another neuron-vm was faster
    return folder
