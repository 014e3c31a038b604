# SPDX-License-Identifier: Apache-2.0
"""Approved plans: what may be executed, and what is named when something moved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.approval import Approved, departures
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.changes import Change
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.plan import (
    CREATE,
    DELETE,
    PATCH,
    Concerned,
    Plan,
    Step,
    fingerprint,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.render import (
    as_markdown,
    as_text,
    headline,
    joined,
    totals,
)
from hypothesis import given
from hypothesis import strategies as st


def step(name: str = "a", **change: Any) -> Step:
    known = {
        "action": PATCH,
        "kind": "KubernetesNodes",
        "namespace": "t",
        "reason": "differs",
        "payload": {"spec": {"x": 1}},
    }
    return Step(name=name, **{**known, **change})


ONE, TWO, THREE = step("a"), step("b", facts={"spec": "1"}), step("c", action=DELETE, payload={"uid": "7"})
PLAN = Plan((ONE, TWO, THREE))


@pytest.mark.parametrize("given", [PLAN.hash, PLAN.as_dict()], ids=["hash", "plan"])
@pytest.mark.parametrize("now", [PLAN, Plan()], ids=["same", "nothing left"])
def test_the_approved_plan_and_nothing_are_in_order(given: Any, now: Plan) -> None:
    assert departures(Approved.of(given), now.as_dict()) == []


MOVED = [
    (
        Plan((ONE, replace(TWO, facts={"spec": "2"}), THREE)),
        ["changed, the object or what the step rests on is not what it was: patch KubernetesNodes t/b"],
    ),
    (
        Plan((ONE, replace(TWO, payload={"spec": {"x": 2}}))),
        ["changed, the object or what the step rests on is not what it was: patch KubernetesNodes t/b"],
    ),
    (
        Plan((replace(ONE, rolls_workers=True),)),
        ["changed, the object or what the step rests on is not what it was: patch KubernetesNodes t/a"],
    ),
    (Plan((ONE, step("d"))), ["new: patch KubernetesNodes t/d"]),
    (Plan((replace(ONE, action=CREATE),)), ["new: create KubernetesNodes t/a"]),
    (
        Plan((replace(THREE, payload={"uid": "8"}), step("d"))),
        [
            "changed, the object or what the step rests on is not what it was: delete KubernetesNodes t/c",
            "new: patch KubernetesNodes t/d",
        ],
    ),
]


@pytest.mark.parametrize(("now", "says"), MOVED)
def test_what_moved_is_named(now: Plan, says: list[str]) -> None:
    found = departures(Approved.of(PLAN.as_dict()), now.as_dict())
    assert [line[: len(wanted)] for line, wanted in zip(found, says, strict=True)] == says
    assert departures(Approved.of(PLAN.hash), now.as_dict())


def test_the_rest_of_an_interrupted_run_may_go_on_with_the_whole_plan_alone() -> None:
    rest = Plan((TWO, THREE))
    assert departures(Approved.of(PLAN.as_dict()), rest.as_dict()) == []
    assert departures(Approved.of(PLAN.hash), rest.as_dict()) == [
        "now planned: patch KubernetesNodes t/b (differs)",
        "now planned: delete KubernetesNodes t/c (differs)",
    ]


@pytest.mark.parametrize(
    "given",
    [
        "",
        "sha256:12",
        PLAN.hash + "\n",
        "md5:" + "a" * 64,
        {},
        {"hash": PLAN.hash},
        {"hash": PLAN.hash, "steps": "x"},
        {"hash": PLAN.hash, "steps": ["x"]},
        7,
        None,
    ],
)
def test_anything_else_is_no_approved_plan(given: Any) -> None:
    with pytest.raises(ValueError, match="sha256"):
        Approved.of(given)


def test_reason_and_effect_are_not_part_of_the_hash() -> None:
    other = replace(
        ONE, reason="x", effect="y", roll_reasons=("z",), concerned=Concerned(1, 1, 1), changes=(Change(("a",), 1, 2),)
    )
    assert Plan((other,)).hash == Plan((ONE,)).hash
    assert other.digest == ONE.digest


@given(st.permutations([ONE, TWO, THREE]), st.permutations([ONE, TWO, THREE]))
def test_the_order_of_steps_is_part_of_the_hash(first: list[Step], second: list[Step]) -> None:
    assert (Plan(tuple(first)).hash == Plan(tuple(second)).hash) is (first == second)


def test_equal_values_have_equal_fingerprints() -> None:
    assert fingerprint({"a": 1, "b": [1, "2"]}) == fingerprint({"b": [1, "2"], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": "1"})


ROLLING = step(
    "shop-md0",
    rolls_workers=True,
    roll_reasons=("the machine template changes from x to y (osImage)",),
    concerned=Concerned(3, 3, 60 * 2**30),
    changes=(Change(("spec", "osImage", "builtin", "version"), "v1.13.6", "v1.13.7"),),
    effect="roll back: run again with v1.13.6",
)


def test_a_plan_as_text() -> None:
    plan = Plan(
        (step("p", kind="Package", namespace="", reason="the catalog differs", effect="imports one image"), ROLLING)
    )
    assert as_text(plan.as_dict()) == [
        "2 steps; 1 replaces workers (3 workers, 3 disks, 60 GiB)",
        "  1. change Package p: the catalog differs",
        "       imports one image",
        "  2. change KubernetesNodes t/shop-md0: differs",
        "       spec.osImage.builtin.version: v1.13.6 -> v1.13.7",
        "       replaces workers: 3 workers, 3 disks, 60 GiB",
        "       because the machine template changes from x to y (osImage)",
        "       roll back: run again with v1.13.6",
        f"Plan {plan.hash}",
    ]


def test_an_empty_plan_says_so() -> None:
    assert as_text(Plan().as_dict())[0] == headline(Plan().as_dict()) == "Nothing to do"
    assert "Nothing to do" in as_markdown(Plan().as_dict())


def test_markdown_cannot_be_broken_out_of() -> None:
    plan = Plan((step("a|b", reason="x | y\n| z `code` <b> [l](u)"),))
    (row,) = [line for line in as_markdown(plan.as_dict()).splitlines() if line.startswith("| 1")]
    assert row.replace("\\|", "").count("|") == 7
    assert "<b>" not in row
    assert "`" not in row
    assert "](" not in row.replace("\\[", "") or "\\[l](u)" in row


def test_a_joined_plan_moves_with_each_step() -> None:
    one, two = Plan((ONE, TWO)), Plan((THREE,))
    whole = joined([one.as_dict(), two.as_dict()])
    assert [step["name"] for step in whole["steps"]] == ["a", "b", "c"]
    assert departures(Approved.of(whole), joined([Plan((TWO,)).as_dict(), two.as_dict()])) == []
    moved = joined([Plan((ONE, replace(TWO, facts={"spec": "2"}))).as_dict(), two.as_dict()])
    assert moved["hash"] != whole["hash"]
    assert len(departures(Approved.of(whole), moved)) == 1
    assert joined([])["steps"] == []


def test_totals_count_each_risk() -> None:
    steps = (ROLLING, THREE, step("u", rolls_workers=None), ONE)
    assert totals(Plan(steps).as_dict()) == {
        "steps": 4,
        "rolling": 1,
        "unknown": 1,
        "deleting": 1,
        "workers": 3,
        "disks": 3,
        "bytes": 60 * 2**30,
    }
    assert headline(Plan(steps).as_dict()) == (
        "4 steps; 1 replaces workers; 1 of unknown effect on workers; 1 deletes (3 workers, 3 disks, 60 GiB)"
    )
