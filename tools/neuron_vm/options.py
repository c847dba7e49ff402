# SPDX-License-Identifier: MIT
"""The options of neuron-vm, each declared once.

The parser, --help, the manual page and the completion of bash are made from this table.
"""

import argparse
import os
import re
import shutil
import textwrap
from dataclasses import dataclass

from . import shapes
from .errors import UsageError

NAME = "neuron-vm"
SUMMARY = "run a command in a virtual machine with virtual Trainium chips"
USAGE = "neuron-vm [OPTION]... [SHAPE] [-- COMMAND ARGUMENT...]"

DESCRIPTION = (
    "Start a virtual machine with virtual Trainium chips, run one command in it, and exit with "
    "the command's exit status. The command's input, output and interrupts are those of "
    "neuron-vm.",
    "SHAPE says what the machine has: an instance by its public name (trn2.48xlarge; --instance "
    "list shows all), TYPE or TYPE:CHIPS (trn1, trn2:4). Without it there is one trn2.",
    "COMMAND sees the host's files, read-only; what it writes to them is lost with the machine. "
    "The folder of --share, by default the current one, is the host's own: what is written there "
    "stays. The tools of the project and the driver are there, too. Without COMMAND the machine "
    "runs --task, by default the task smoke, in a small system of its own.",
    "With a terminal as input and output the command has a terminal, too; Ctrl-A x ends the "
    "machine, Ctrl-A Ctrl-A is one Ctrl-A. Otherwise an interrupt (Ctrl-C) goes to the command, "
    "and a second one ends the machine.",
)

EXIT_STATUS = (
    ("2", "a mistake on the command line of neuron-vm"),
    ("124", "the time limit (--timeout) ended the machine"),
    ("125", "the machine ended without a status: its kernel panicked, or QEMU failed"),
    ("126, 127", "the command cannot be started, or does not exist in the guest"),
    ("130", "interrupted"),
    ("other", "that of the command; 128 and a signal's number when a signal ended it"),
)

EXAMPLES = (
    ("neuron-vm -- ./my-test", "run a program just built, on one chip"),
    ("neuron-vm trn2.48xlarge -- neuron-ls", "the table of 16 chips"),
    ("neuron-vm --shell", "a shell in the guest"),
    ("neuron-vm --with strace,gdb -- strace ./my-test", "with packages that the host lacks"),
    ("neuron-vm --save ready && neuron-vm --load ready -- ./my-test", "boot once, run often"),
    ("neuron-vm --gdb -- ./my-test", "stop the guest's kernel where gdb wants it"),
)


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes:
        name: with its dashes.
        value: the word for its value in the help; empty: it takes none.
        text: what it does.
        repeated: it may be given several times; its value is a list.
        default: its value when it is not given.
        check: a function that turns the text of the value into what is kept.
        complete: what bash offers: "file", "dir", or a list of words.
    """

    name: str
    value: str
    text: str
    repeated: bool = False
    default: object = None
    check: object = None
    complete: object = None

    @property
    def key(self):
        return self.name.lstrip("-").replace("-", "_")


def number(text):
    if not re.fullmatch(r"\d+", text):
        raise ValueError("a number is needed")
    return int(text, 10)


def key_value(text):
    if not re.fullmatch(r"[A-Za-z0-9_-]+=[^,]*", text):
        raise ValueError("KEY=VALUE is needed")
    return tuple(text.split("=", 1))


def property_or_help(text):
    return text if text == "help" else key_value(text)


def chip_fault(text):
    match = re.fullmatch(r"(\d+):([^;]+)", text)
    if not match:
        raise ValueError("CHIP:TEXT is needed")
    return int(match[1], 10), match[2]


def variable(text):
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(=.*)?", text, re.S):
        raise ValueError("NAME or NAME=VALUE is needed")
    return text


def plain_name(text):
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text):
        raise ValueError("a name is made of letters, digits, '.', '_' and '-'")
    return text


def packages(text):
    names = text.split(",")
    for name in names:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", name):
            raise ValueError("names of Debian packages are needed, with commas between them")
    return names


GROUPS = (
    ("The machine", (
        Option("--instance", "NAME", "an instance by its public name; 'list' shows them",
               complete=[*shapes.INSTANCES, "list"]),
        Option("--chips", "N", f"N chips on one server (default 1); 0 to {shapes.MOST_CHIPS}",
               check=number),
        Option("--type", "TYPE", "their generation: trn1, inf2, trn2 (default), trn3",
               complete=list(shapes.TYPES)),
        Option("--chip-prop", "KEY=VALUE", "a property of every chip; 'help' shows them",
               repeated=True, check=property_or_help),
        Option("--fault", "CHIP:TEXT", "a fault on demand of a chip, from the start on",
               repeated=True, check=chip_fault),
        Option("--fabric-prop", "KEY=VALUE", "a property of the fabric", repeated=True,
               check=key_value),
        Option("--ports", "", "each chip is behind a PCIe root port of its own, for hot plug"),
        Option("--iommu", "", "the machine has an IOMMU, which the guest enforces strictly"),
        Option("--memory", "SIZE", "memory of the guest (default: the instance's, else 2G)"),
        Option("--cpus", "N", "processors of the guest (default: the host's, at most 4)",
               check=number),
        Option("--disk", "FILE", "a disk, raw or qcow2: /dev/vda, the next one /dev/vdb",
               repeated=True, complete="file"),
        Option("--nvme", "FILE", "an NVMe disk with the content of this file: /dev/nvme0n1",
               complete="file"),
        Option("--net", "", "a network of the guest's own, through which it reaches the host's"),
        Option("--ssh", "", "an SSH server in the guest; a line tells how to log in (implies "
               "--net, and --shell without a command)"),
    )),
    ("What runs in it", (
        Option("--shell", "", "an interactive shell with your terminal"),
        Option("--share", "DIR[:ro]", "a folder of the host that the guest sees at the same path "
               "and can write, unless ':ro' follows (default: the current folder)",
               repeated=True, complete="dir"),
        Option("--with", "PACKAGE,...", "Debian packages, unpacked for the guest with what they "
               "depend on; nothing is installed on the host", repeated=True, check=packages),
        Option("--env", "NAME[=VALUE]", "a variable of the command's environment; without a "
               "value that of the host", repeated=True, check=variable),
        Option("--small", "", "run the command in the small system without the host's files"),
        Option("--task", "NAME", "run a task, a script of the small system: run, check, bench, "
               "smoke, list, ...", check=plain_name,
               complete=["run", "check", "bench", "smoke", "list", "idle", "stress", "example"]),
        Option("--args", "WORDS", "arguments of the task"),
        Option("--module", "FILE", "a kernel module to load instead of the project's driver",
               complete="file"),
        Option("--no-driver", "", "load no driver"),
        Option("--out", "DIR", "folder for the guest's kernel log and for what a task leaves in "
               "/out", complete="dir"),
        Option("--timeout", "SECONDS", "end the machine after this time (default 600; a shell: "
               "a day; 0: never)", check=number),
    )),
    ("Snapshots", (
        Option("--save", "NAME", "keep the machine under this name when the command has ended, "
               "instead of switching it off", check=plain_name),
        Option("--load", "NAME", "go on with a machine that was kept; its options are those of "
               "then", check=plain_name),
        Option("--list-saved", "", "print the machines that are kept"),
        Option("--remove-saved", "NAME", "remove a machine that is kept", repeated=True,
               check=plain_name),
        Option("--snapshot-disk", "FILE", "a qcow2 image for QEMU's savevm and loadvm, made when "
               "it does not exist", complete="file"),
    )),
    ("To look inside", (
        Option("--gdb", "", "wait for gdb before the command begins; a line tells how to attach "
               "it with the symbols of kernel and module"),
        Option("--qmp", "SOCKET", "QEMU's control socket, for programs of your own"),
        Option("--trace", "PATTERN", "QEMU's trace events; they go to qemu.log in --out",
               repeated=True),
        Option("--verbose", "", "show the messages of the guest's kernel as they come"),
        Option("--dry-run", "", "print QEMU's command line and exit"),
    )),
    ("What it is made of", (
        Option("--kernel", "FILE", "another kernel; 'debug' is the one of make check-debug",
               complete="file"),
        Option("--append", "WORDS", "more words for the kernel's command line"),
        Option("--initrd", "FILE", "another initramfs", complete="file"),
        Option("--qemu", "FILE", "another QEMU", complete="file"),
        Option("--firmware", "DIR", "another folder of QEMU's firmware", complete="dir"),
        Option("--qemu-option", "WORD", "one more word of QEMU's command line", repeated=True),
        Option("--no-kvm", "", "emulate the processors (TCG); without this KVM is used where a "
               "short probe guest really boots"),
        Option("--kvm", "", "use KVM without a probe"),
    )),
    ("Help", (
        Option("--help", "", "this text"),
        Option("--man", "", "print the manual page (troff)"),
        Option("--completion", "", "print the completion for bash"),
    )),
)

OPTIONS = {option.key: option for _, options in GROUPS for option in options}


class Parser(argparse.ArgumentParser):
    """argparse's parser, with mistakes as exceptions."""

    def error(self, message):
        raise UsageError(f"{message}; see --help")


def checked(option):
    """A converter for argparse that names the option and the value in its message."""
    def convert(text):
        try:
            return option.check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{error}, not '{text}'") from error
    return convert


def build_parser():
    parser = Parser(prog=NAME, add_help=False, allow_abbrev=False)
    for option in OPTIONS.values():
        if not option.value:
            parser.add_argument(option.name, dest=option.key, action="store_true")
            continue
        parser.add_argument(option.name, dest=option.key, default=[] if option.repeated else None,
                            action="append" if option.repeated else "store",
                            type=checked(option) if option.check else str)
    parser.add_argument("shape", nargs="?")
    return parser


def join_values(words):
    """Options and their values as one word each: argparse takes a value that begins with a dash
    for an option.
    """
    joined, i = [], 0
    while i < len(words):
        option = OPTIONS.get(words[i].removeprefix("--").replace("-", "_"))
        if option and option.name == words[i] and option.value and i + 1 < len(words):
            joined.append(f"{words[i]}={words[i + 1]}")
            i += 1
        else:
            joined.append(words[i])
        i += 1
    return joined


def absolute_words(words):
    """A command line that means the same in any folder."""
    kept = []
    for word in join_values(words):
        name, given, value = word.partition("=")
        option = OPTIONS.get(name.removeprefix("--").replace("-", "_"))
        if given and option and option.complete in ("file", "dir") and os.path.exists(value):
            word = f"{name}={os.path.abspath(value)}"
        kept.append(word)
    return kept


def refuse_command(words):
    """A command without the '--' before it would be taken for a shape and options of ours."""
    if words and not words[0].startswith("-") and not shapes.is_shape(words[0]) and (
            words[0].startswith("neuron-") or "/" in words[0] or shutil.which(words[0])):
        raise UsageError(f"no shape is called '{words[0]}'; did you mean: {NAME} -- "
                         f"{' '.join(words)}?")


def parse(words):
    """The options of a command line, with the command in the attribute command.

    Raises UsageError.
    """
    words, command = list(words), []
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1:]
        if not command:
            raise UsageError("a command is needed after '--'; see --help")
    refuse_command(words)
    options = build_parser().parse_args(join_values(words))
    options.command = command
    return options


def option_head(option):
    return f"{option.name} {option.value}".rstrip()


def help_text():
    lines = [f"Usage: {USAGE}", ""]
    for paragraph in DESCRIPTION:
        lines += textwrap.wrap(paragraph, 90, break_on_hyphens=False) + [""]
    for title, options in GROUPS:
        lines.append(title)
        for option in options:
            text = option.text + ("; may be repeated" if option.repeated else "")
            wrapped = textwrap.wrap(text, 64, break_on_hyphens=False)
            lines.append(f"  {option_head(option):<24} {wrapped[0]}")
            if len(option_head(option)) > 24:
                lines[-1:] = [f"  {option_head(option)}", f"  {'':<24} {wrapped[0]}"]
            lines += [f"  {'':<24} {line}" for line in wrapped[1:]]
        lines.append("")
    lines.append("Exit status")
    lines += [f"  {status:<10} {text}" for status, text in EXIT_STATUS]
    lines += ["", "Examples"]
    width = max(len(command) for command, _ in EXAMPLES)
    lines += [f"  {command:<{width}}  # {text}" for command, text in EXAMPLES]
    return "\n".join(lines) + "\n"


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def man_page():
    """The manual page, section 1."""
    lines = [f".TH {NAME.upper()} 1 \"\" neuron\\-emu \"User commands\"",
             ".SH NAME", troff(f"{NAME} - {SUMMARY}"),
             ".SH SYNOPSIS", troff(USAGE),
             ".SH DESCRIPTION"]
    for paragraph in DESCRIPTION:
        lines += [".PP", troff(paragraph)]
    lines.append(".SH OPTIONS")
    for title, options in GROUPS:
        lines.append(f".SS {troff(title)}")
        for option in options:
            text = option.text + ("; may be repeated" if option.repeated else "")
            lines += [".TP", f"\\fB{troff(option.name)}\\fR \\fI{troff(option.value)}\\fR",
                      troff(text)]
    lines.append(".SH EXIT STATUS")
    for status, text in EXIT_STATUS:
        lines += [".TP", troff(status), troff(text)]
    lines.append(".SH EXAMPLES")
    for command, text in EXAMPLES:
        lines += [".TP", troff(command), troff(text)]
    return "\n".join(lines) + "\n"


def completion():
    """A completion for bash; after '--' it is that of commands and files."""
    words = " ".join(option.name for option in OPTIONS.values())
    cases = []
    for option in OPTIONS.values():
        if option.complete == "file":
            action = 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word")'
        elif option.complete == "dir":
            action = 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word")'
        elif option.complete:
            choice = " ".join(option.complete)
            action = f'mapfile -t COMPREPLY < <(compgen -W "{choice}" -- "$word")'
        else:
            action = "COMPREPLY=()" if option.value else ""
        if action:
            cases.append(f"\t{option.name}) {action}; return ;;")
    shape_words = " ".join([*shapes.INSTANCES, *shapes.TYPES])
    return "\n".join([
        "# bash completion of neuron-vm",
        "_neuron_vm()",
        "{",
        '\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i',
        "\tfor ((i = 1; i < COMP_CWORD; i++)); do",
        "\t\tif [ \"${COMP_WORDS[i]}\" = -- ]; then",
        '\t\t\tcompopt -o filenames; mapfile -t COMPREPLY < <(compgen -c -f -- "$word"); return',
        "\t\tfi",
        "\tdone",
        '\tcase $before in',
        *cases,
        "\tesac",
        f'\tmapfile -t COMPREPLY < <(compgen -W "{words} {shape_words} --" -- "$word")',
        "}",
        "complete -F _neuron_vm neuron-vm",
    ]) + "\n"
