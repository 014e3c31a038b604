# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A long wait of a module on another machine: it runs for a slice at a time, and what it has to say is shown in between."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.patience import KEY

# Short ones first: most waits are over soon, and whoever looks wants to see that it works.
_FIRST, _LATER = (5.0, 10.0, 20.0), 40.0
# What a later run, which finds the work done, cannot tell any more.
_OF_THE_FIRST = ("plan", "diff", "advice", "refusals", "accepted", "not_judged")
_OF_ITS_POOLS = ("action", "rolls_workers")

Run = Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]


def lengths() -> Iterator[float]:
    """Seconds of one slice after the other."""
    return itertools.chain(_FIRST, itertools.repeat(_LATER))


def in_slices(
    args: Mapping[str, Any], run: Run, show: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> dict[str, Any]:
    """The result of all runs as that of one. ``run(args, share)`` runs the module once; see ``Patience`` for the share."""
    started = clock()
    first: dict[str, Any] | None = None
    told: Mapping[str, Any] = {}
    for length in lengths():
        waited = clock() - started if first is not None else 0.0
        share = {"slice": length, "waited": waited, "whole": told.get("whole", 0.0), "since": told.get("since", {})}
        result = run(args, share)
        told = result.pop(KEY, {})
        for line in told.get("lines", ()):
            show(line)
        if first is None:
            first = result
            if args.get("expected_plan") and isinstance(result.get("plan"), Mapping):
                # It was the approved one. As a whole it lets the next run go on with the rest.
                args = {**args, "expected_plan": result["plan"]}
        else:
            result = merged(first, result)
        if not told.get("over"):
            return result
    raise AssertionError("unreachable")  # there is always a next slice


def merged(first: Mapping[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    """The last result, with what was done by the first."""
    kept = {key: first[key] for key in _OF_THE_FIRST if key in first}
    changed = bool(first.get("changed")) or bool(last.get("changed"))
    result = {**last, **kept, "changed": changed}
    before = {_place(pool): pool for pool in first.get("pools") or ()}
    if before and isinstance(last.get("pools"), list):
        result["pools"] = [{**pool, **_done(before.get(_place(pool), {}))} for pool in last["pools"]]
    return result


def _place(pool: Mapping[str, Any]) -> tuple[Any, Any]:
    return pool.get("namespace"), pool.get("name")


def _done(pool: Mapping[str, Any]) -> dict[str, Any]:
    return {key: pool[key] for key in _OF_ITS_POOLS if key in pool}
