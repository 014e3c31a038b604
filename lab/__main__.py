# SPDX-License-Identifier: Apache-2.0
"""Command line of the lab: python -m lab COMMAND."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

try:
    from lab import binaries, instance, ledger, running
    from lab.instance import LabError, Options
    from lab.processes import ProcessDied
except ModuleNotFoundError as error:
    if (error.name or "").startswith("lab"):
        raise
    sys.exit(
        f"lab: the Python module {error.name} is missing here; run `python3 tools/setup.py lab`, "
        "then use `.venv/bin/python -m lab`"
    )


def _say(text: str) -> None:
    print(f"lab: {text}", file=sys.stderr, flush=True)


class UsageError(Exception):
    """The command line makes no sense."""


class _Parser(argparse.ArgumentParser):
    """One line instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        _say(f"{message} (see {self.prog} --help)")
        sys.exit(2)


def _mark(text: str) -> str:
    try:
        ledger.parse_mark(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _add_home(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--home", type=Path, default=Path(".lab"), help="folder of the lab (default: .lab here)")


def _add_options(parser: argparse.ArgumentParser) -> None:
    choices = [*instance.CONTROLLERS, "all"]
    parser.add_argument("--without", action="append", default=[], choices=choices, help="leave this controller out")
    parser.add_argument("--apps-api", metavar="URL", help="register this server for apps.cozystack.io")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m lab", description="A real Kubernetes API on loopback, with a small platform beside it."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("build", help="make etcd and kube-apiserver ready")
    up = commands.add_parser("up", help="start a lab, or find the one that runs")
    _add_home(up)
    _add_options(up)
    for name, text in (("down", "stop it"), ("status", "look"), ("env", "print export lines")):
        _add_home(commands.add_parser(name, help=text))
    run = commands.add_parser("run", help="start a lab, run a command with its environment, stop it")
    run.add_argument("--home", type=Path, help="folder of the lab (default: a temporary one)")
    _add_options(run)
    run.add_argument("argv", nargs="*", metavar="-- CMD")
    book = commands.add_parser("ledger", help="what was asked of the API server")
    _add_home(book)
    book.add_argument("--mark", action="store_true", help="print the present position and nothing else")
    book.add_argument("--since", metavar="MARK", default="0", type=_mark, help="only what came after this position")
    book.add_argument("--user-agent", metavar="PREFIX", default="", help="only requests of these clients")
    book.add_argument("--json", action="store_true", help="one JSON object per request")
    commands.add_parser("scenario", help="put the platform into a named state", add_help=False)
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
    text, healthy = instance.status(_home(arguments))
    print(text)
    return 0 if healthy else 1


def _env(arguments: argparse.Namespace) -> int:
    for name, value in instance.environment(_home(arguments)).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    if not arguments.argv:
        raise UsageError("run needs a command: python -m lab run -- CMD")
    home = Path(arguments.home).resolve() if arguments.home else None
    return running.run(home, _options(arguments), arguments.argv, _say)


def _ledger(arguments: argparse.Namespace) -> int:
    log = _home(arguments) / "audit.log"
    if not log.exists():
        raise LabError(f"there is no audit log in {log.parent}")
    book = ledger.Ledger(log)
    if arguments.mark:
        print(book.mark())
        return 0
    requests = book.since(arguments.since, arguments.user_agent)
    if arguments.json:
        for request in requests:
            print(json.dumps(dataclasses.asdict(request) | {"write": request.is_write, "review": request.is_review}))
    else:
        print(ledger.table(requests))
    return 0


_COMMANDS = {
    "build": _build,
    "up": _up,
    "down": _down,
    "status": _status,
    "env": _env,
    "run": _run,
    "ledger": _ledger,
}


def _terminated(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is ours and, for `run`, the command after the first `--`."""
    if argv[:1] != ["run"] or "--" not in argv:
        return list(argv), []
    position = argv.index("--")
    return list(argv[:position]), list(argv[position + 1 :])


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 could not, 2 bad input, 128 + N ended by signal N."""
    argv = list(sys.argv[1:] if argv is None else argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    try:
        if argv[:1] == ["scenario"]:
            from lab import scenarios

            return int(scenarios.main(argv[1:]) or 0)
        own, command = _split(argv)
        arguments = _parser().parse_args(own)
        if command:
            arguments.argv = command
        return _COMMANDS[arguments.command](arguments)
    except UsageError as error:
        _say(str(error))
        return 2
    except (LabError, binaries.BinariesError, ProcessDied, TimeoutError) as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
