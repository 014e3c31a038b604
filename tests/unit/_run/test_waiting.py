# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.objects import HelmRelease
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.waiting import (
    goldens,
    hopeless,
    pending_text,
    release_state,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Claim, DataVolume


def release(ready: str | None, generation: int = 2, observed: int = 2, suspend: bool = False) -> HelmRelease:
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "reason": "R", "message": "m"}]
    return HelmRelease.from_api(
        {
            "metadata": {"name": "x", "namespace": "n", "generation": generation},
            "spec": {"suspend": suspend},
            "status": {"observedGeneration": observed, "conditions": conditions},
        }
    )


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (None, "missing"),
        (release("True"), "ready"),
        (release("False"), "failed"),
        (release("Unknown"), "progressing"),
        (release(None), "progressing"),
        (release("True", generation=3), "progressing"),
        (release("False", generation=3), "progressing"),
        (release("True", suspend=True), "failed"),
    ],
)
def test_release_state_counts_only_the_present_generation(found: HelmRelease | None, state: str) -> None:
    assert release_state(found).state == state


def volume(phase: str, name: str = "g", **more: Any) -> DataVolume:
    status = {"phase": phase, **more.pop("status", {})}
    return DataVolume.from_api({"metadata": {"name": name, "namespace": "cozy-public", **more}, "status": status})


def test_goldens_keep_the_order_asked_for_and_tell_what_is_missing() -> None:
    found = goldens(["b", "a"], [volume("Succeeded", "a")])
    assert [(golden.name, golden.state.state) for golden in found] == [("b", "absent"), ("a", "ready")]
    assert pending_text(found).startswith("1 of 2 goldens ready; b: absent")


def test_a_claim_alone_is_a_golden() -> None:
    claim = Claim.from_api({"metadata": {"name": "g", "namespace": "cozy-public"}, "status": {"phase": "Bound"}})
    assert goldens(["g"], [], [claim])[0].state.ready


@pytest.mark.parametrize(
    ("found", "waited", "expected"),
    [
        (volume(""), 5, False),
        (volume(""), 90, True),
        (volume("ImportInProgress"), 900, False),
        (volume("Failed"), 0, True),
        (
            volume(
                "ImportInProgress",
                status={
                    "restartCount": 3,
                    "conditions": [{"type": "Running", "status": "False", "reason": "Error", "message": "404"}],
                },
            ),
            0,
            True,
        ),
    ],
)
def test_hopeless_tells_trouble_from_slowness(found: DataVolume, waited: float, expected: bool) -> None:
    assert hopeless(goldens(["g"], [found])[0], waited) is expected
