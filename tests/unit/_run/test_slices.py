# SPDX-License-Identifier: Apache-2.0
"""A wait in slices, from the action's side and from the module's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.patience import (
    KEY,
    VARIABLE,
    Patience,
    encoded,
)
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._slices import in_slices

STEP = {"action": "patch"}


class Module:
    """A module that waits for ``whole`` seconds and needs ``needs``; it writes in its first run."""

    def __init__(self, whole: float, needs: float) -> None:
        self.whole, self.needs, self.now, self.shares = whole, needs, 0.0, []
        self.args: list[dict[str, Any]] = []
        self.given: list[dict[str, Any]] = []

    def __call__(self, args: Mapping[str, Any], share: Mapping[str, Any]) -> dict[str, Any]:
        self.args.append(dict(args))
        patience = Patience.of({VARIABLE: encoded(share)})
        self.shares.append(patience)
        self.given.append(dict(patience.since))
        seconds = patience.share(self.whole)
        steps = [STEP] if len(self.shares) == 1 else []
        result: dict[str, Any] = {"changed": bool(steps), "plan": {"steps": steps}, "goldens": len(self.shares)}
        patience.lines.append(f"run {len(self.shares)}")
        if self.now + seconds >= self.needs:
            self.now = self.needs
            return result | patience.report(over=False)
        self.now += seconds
        if patience.more:
            patience.since["g"] = ("importing", self.now)
            return result | patience.report(over=True)
        return {"failed": True, "msg": f"after {patience.spent(seconds)} s", **result, **patience.report(over=False)}


def run(module: Module, **args: Any) -> tuple[dict[str, Any], list[str]]:
    lines: list[str] = []
    return in_slices(args, module, lines.append, lambda: module.now), lines


def test_the_wait_goes_on_until_it_is_over_and_says_so_in_between() -> None:
    module = Module(3600, 300)
    result, lines = run(module)
    assert lines == [f"run {number}" for number in range(1, len(module.shares) + 1)]
    assert [patience.slice for patience in module.shares[:5]] == [5, 10, 20, 40, 40]
    assert module.now == 300
    assert module.given[2] == {"g": ("importing", 15.0)}
    assert module.shares[2].whole == 3600
    assert (result["changed"], result["plan"]["steps"]) == (True, [STEP])
    assert result["goldens"] == len(module.shares)
    assert KEY not in result


def test_the_whole_time_is_kept_to_and_named() -> None:
    module = Module(100, 1e9)
    result, _ = run(module)
    assert module.now == 100
    assert result["msg"] == "after 100 s"
    assert result["changed"] is True


def test_no_minute_is_silent() -> None:
    module = Module(1800, 1e9)
    run(module)
    assert max(patience.slice or 0 for patience in module.shares) < 60


def test_an_approved_plan_is_handed_on_as_a_whole() -> None:
    module = Module(100, 50)
    run(module, expected_plan="sha256:abc", wait_timeout=100)
    assert [args["expected_plan"] for args in module.args[:2]] == ["sha256:abc", {"steps": [STEP]}]


def test_pools_keep_what_was_done_to_them() -> None:
    answers = [
        {"changed": True, "pools": [{"namespace": "t", "name": "a", "action": "create", "rolls_workers": False}]},
        {"changed": False, "pools": [{"namespace": "t", "name": "a", "action": "none", "release": "ready"}]},
    ]

    def module(args: Mapping[str, Any], share: Mapping[str, Any]) -> dict[str, Any]:
        over = len(answers) == 2
        return answers.pop(0) | {KEY: {"over": over, "lines": [], "since": {}, "whole": 60.0}}

    result = in_slices({}, module, print)
    assert result == {
        "changed": True,
        "pools": [{"namespace": "t", "name": "a", "action": "create", "rolls_workers": False, "release": "ready"}],
    }


def test_a_failure_or_a_module_that_tells_nothing_ends_it() -> None:
    assert in_slices({}, lambda args, share: {"failed": True, "msg": "m"}, print) == {"failed": True, "msg": "m"}


@pytest.mark.parametrize("value", ["", "e30", "bm9wZQ==", "%%%"])
def test_without_a_share_a_run_waits_for_all_of_it(value: str) -> None:
    patience = Patience.of({VARIABLE: value})
    assert (patience.share(1800), patience.more, patience.report(over=True)) == (1800, False, {})
