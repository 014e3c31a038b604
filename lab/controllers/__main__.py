# SPDX-License-Identifier: Apache-2.0
"""python -m lab.controllers --home DIR: host the lab's controllers until terminated."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.controllers.host import NAMES, host


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.controllers", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="folder of a lab whose API server runs")
    parser.add_argument("--without", action="append", default=[], choices=NAMES, help="leave a controller out")
    parser.add_argument("--apps-api", metavar="URL", help="register this server for apps.cozystack.io, serve none")
    return parser


async def _main(arguments: argparse.Namespace) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await host(arguments.home.resolve(), arguments.without, arguments.apps_api, stop)


def main(argv: Sequence[str] | None = None) -> int:
    asyncio.run(_main(_parser().parse_args(argv)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
