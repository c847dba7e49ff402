#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A container engine's place in the test of the tutorials, where there is none.

It takes the commands of podman that the tutorials have. "build" makes no image; it refuses a
folder that is no context of the Containerfile. "run" executes the command as a container of
the image would: with the variables of the Containerfile and nothing of the caller's
environment, in its working folder or in a folder that is mounted there. The image has a built
tree at the place that WORKDIR names; here that is the checkout. The image's own command is
"make check", which is left out.

  container.py CHECKOUT build -t NAME FOLDER
  container.py CHECKOUT run [OPTION...] NAME [COMMAND...]
"""

import argparse
import json
import os
import pathlib
import re
import sys

FILE = "Containerfile"
# Of the image that the file begins with.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEFAULT = ["make", "check"]


class Wrong(Exception):
    """What an engine would refuse."""


class Image:
    """What a Containerfile says of the image.

    Attributes:
        folder: WORKDIR.
        env: variables.
        copies: (sources, target) of each COPY.
        commands: the text of each RUN.
        default: the words of CMD.
    """

    def __init__(self, path):
        if not path.exists():
            raise Wrong(f"{path} does not exist: the folder is no context of a build")
        self.folder, self.env, self.copies, self.commands, self.default = "/", {}, [], [], []
        text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.M))
        for line in filter(str.strip, text.splitlines()):
            word, _, rest = line.strip().partition(" ")
            self._instruction(word, rest.strip())

    def _instruction(self, word, rest):
        if word == "WORKDIR":
            self.folder = rest
        elif word == "ENV":
            name, _, value = rest.partition("=")
            self.env[name] = value
        elif word == "COPY":
            self.copies.append((rest.split()[:-1], rest.split()[-1]))
        elif word == "RUN":
            self.commands.append(rest)
        elif word == "CMD":
            self.default = json.loads(rest)
        elif word != "FROM":
            raise Wrong(f"{FILE}: there is no instruction '{word}'")


def build(checkout, arguments):
    """Check that the folder is what the file is made for."""
    parser = argparse.ArgumentParser(prog="build")
    parser.add_argument("-t", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args(arguments).folder
    for sources, _target in Image(folder / FILE).copies:
        for source in sources:
            if not (folder / source).exists():
                raise Wrong(f"{FILE}: COPY {source}: there is no such file")
    if not folder.samefile(checkout):
        raise Wrong(f"{folder.resolve()} is not the top folder of the checkout")


def place(path, mounts, image, checkout):
    """The folder of the host that a folder of the container is here."""
    for target, source in mounts.items():
        if path == target:
            return source
    if path == image.folder:
        return checkout
    raise Wrong(f"the container has no folder {path}")


def run(checkout, arguments):
    """Become the command."""
    parser = argparse.ArgumentParser(prog="run")
    parser.add_argument("--rm", action="store_true")
    parser.add_argument("--security-opt")
    parser.add_argument("-v", action="append", default=[])
    parser.add_argument("-w")
    parser.add_argument("image")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    image = Image(checkout / FILE)
    mounts = {}
    for text in options.v:
        source, _, target = text.partition(":")
        if not pathlib.Path(source).is_dir():
            raise Wrong(f"-v {text}: there is no folder {source}")
        mounts[target] = pathlib.Path(source)
    folder = place(options.w or image.folder, mounts, image, checkout)
    command = options.command or image.default
    if command == DEFAULT:
        return
    env = {"PATH": PATH, "HOME": os.path.expanduser("~"), "LC_ALL": "C.UTF-8"}
    for name, value in image.env.items():
        env[name] = value.replace("$PATH", PATH).replace(image.folder + "/", f"{checkout}/")
    os.chdir(folder)
    os.execvpe(command[0], command, env)


def main():
    """The exit status, if it does not become a command: 125 as the engines have it."""
    checkout, word, arguments = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    try:
        {"build": build, "run": run}[word](checkout, arguments)
    except (Wrong, OSError) as error:
        print(f"container: {error}", file=sys.stderr)
        return 125
    return 0


if __name__ == "__main__":
    sys.exit(main())
