# SPDX-License-Identifier: Apache-2.0
"""Command line of the lab: python -m lab COMMAND."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from lab import binaries, instance
from lab.instance import LabError, Options
from lab.processes import ProcessDied


def _say(text: str) -> None:
    print(f"lab: {text}", file=sys.stderr, flush=True)


def _add_home(parser: argparse.ArgumentParser, default: str | None = ".lab") -> None:
    parser.add_argument("--home", type=Path, default=default, help="folder of the lab (default: .lab here)")


def _add_options(parser: argparse.ArgumentParser) -> None:
    choices = [*instance.CONTROLLERS, "all"]
    parser.add_argument("--without", action="append", default=[], choices=choices, help="leave a controller out")
    parser.add_argument("--apps-api", metavar="URL", help="register this server for apps.cozystack.io")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab", description="A real Kubernetes API on loopback with a small Cozystack beside it."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("build", help="make etcd and kube-apiserver ready")
    for name, text in (("up", "start"), ("down", "stop"), ("status", "look"), ("env", "print export lines")):
        command = commands.add_parser(name, help=text)
        _add_home(command)
        if name == "up":
            _add_options(command)
    run = commands.add_parser("run", help="start, run a command, stop")
    _add_home(run, None)
    _add_options(run)
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- CMD")
    return parser


def _home(arguments: argparse.Namespace) -> Path:
    return Path(arguments.home).resolve()


def _options(arguments: argparse.Namespace) -> Options:
    return Options(tuple(sorted(set(arguments.without))), arguments.apps_api)


def _build(_: argparse.Namespace) -> int:
    print(binaries.ensure(_say))
    return 0


def _up(arguments: argparse.Namespace) -> int:
    instance.up(_home(arguments), _options(arguments), _say)
    return 0


def _down(arguments: argparse.Namespace) -> int:
    instance.down(_home(arguments), _say)
    return 0


def _status(arguments: argparse.Namespace) -> int:
    home = _home(arguments)
    ok = instance.healthy(home)
    print(f"{home}: {'up' if ok else 'down'}")
    return 0 if ok else 1


def _env(arguments: argparse.Namespace) -> int:
    for name, value in instance.environment(_home(arguments)).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    argv = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not argv:
        raise LabError("run needs a command: python -m lab run -- CMD")
    home = _home(arguments) if arguments.home else Path(tempfile.mkdtemp(prefix="lab-"))
    instance.up(home, _options(arguments), _say)
    try:
        code = subprocess.run(argv, env=os.environ | instance.environment(home), check=False).returncode
    finally:
        instance.down(home, _say)
        if not arguments.home:
            shutil.rmtree(home, ignore_errors=True)
    return code if code >= 0 else 128 - code


_COMMANDS = {"build": _build, "up": _up, "down": _down, "status": _status, "env": _env, "run": _run}


def _terminated(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return _COMMANDS[arguments.command](arguments)
    except (LabError, binaries.BinariesError, ProcessDied, TimeoutError) as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
