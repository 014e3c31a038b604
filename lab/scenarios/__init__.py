# SPDX-License-Identifier: Apache-2.0
"""Named states of the platform: python -m lab scenario NAME."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from lab.api import Api, ApiError
from lab.scenarios import bigsite, goldens, manypools, retire, states
from lab.scenarios.parts import Lab
from lab.scenarios.waiting import Late

Scenario = Callable[[Api, Lab], Awaitable[None]]

SCENARIOS: dict[str, Scenario] = {
    "empty": states.empty,
    "demo": states.demo,
    "old-platform": states.old_platform,
    "hosted": states.hosted,
    "disabled-package": states.disabled_package,
    "no-platform": states.no_platform,
    "failing-import": states.failing_import,
    "two-defaults": states.two_defaults,
    "lost-golden": states.lost_golden,
    "class-mismatch": states.class_mismatch,
    "thousand-pools": manypools.thousand_pools,
    "ten-thousand-pools": manypools.ten_thousand_pools,
    "stuck-import": goldens.stuck_import,
    "retrying-import": goldens.retrying_import,
    "too-small": goldens.too_small,
    "oversized": goldens.oversized,
    "html-source": goldens.html_source,
    "truncated-source": goldens.truncated_source,
    "untrusted-source": goldens.untrusted_source,
    "slow-source": goldens.slow_source,
    "waiting-consumer": goldens.waiting_consumer,
    "cdi-1.65": goldens.cdi_165,
    "leftovers": goldens.leftovers,
    "retire": retire.retire,
    "big-site": bigsite.big_site,
}


def summary(name: str) -> str:
    """One line about a scenario."""
    return (SCENARIOS[name].__doc__ or "").strip().splitlines()[0]


async def play(name: str, home: Path) -> None:
    """Put the lab at ``home`` into the named state. Errors: Late, ApiError, FileNotFoundError when no lab runs there."""
    lab = Lab.at(home)
    async with Api(home / "kubeconfig", "lab-scenario") as api:
        await SCENARIOS[name](api, lab)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab scenario", description="Put the platform into a named state.")
    parser.add_argument("name", nargs="?", choices=SCENARIOS, metavar="NAME", help="which one; --list tells them")
    parser.add_argument("--home", type=Path, default=Path(".lab"), help="folder of the lab (default: .lab here)")
    parser.add_argument("--list", action="store_true", help="print all scenarios and what they are")
    arguments = parser.parse_args(argv)
    if arguments.list or arguments.name is None:
        for name in SCENARIOS:
            print(f"{name:<20}{summary(name)}")
        return 0 if arguments.list else 2
    begun = time.monotonic()
    try:
        asyncio.run(play(arguments.name, arguments.home.resolve()))
    except FileNotFoundError:
        print(f"lab: no controllers run in {arguments.home}; start a lab with: python -m lab up", file=sys.stderr)
        return 1
    except (Late, ApiError) as error:
        print(f"lab: scenario {arguments.name}: {error}", file=sys.stderr)
        return 1
    print(f"lab: scenario {arguments.name} reached in {time.monotonic() - begun:.1f} s", file=sys.stderr)
    return 0
