# SPDX-License-Identifier: Apache-2.0
"""State of a golden from its DataVolume, its claim, or both."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.golden import golden_state, progress_of
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import (
    IMMEDIATE_BIND_ANNOTATION,
    Claim,
    DataVolume,
)

CLAIM = {
    "metadata": {"name": "g"},
    "spec": {"storageClassName": "replicated", "resources": {"requests": {"storage": "6Gi"}}},
}


def volume(phase="ImportInProgress", restarts=0, conditions=(), deleted=False, immediate=False, **status):
    metadata = {"name": "g", "annotations": {IMMEDIATE_BIND_ANNOTATION: "false"} if immediate else {}}
    metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    conditions = [
        {"type": kind, "status": state, "reason": reason, "message": message}
        for kind, state, reason, message in conditions
    ]
    return DataVolume.from_api(
        {"metadata": metadata, "status": {"phase": phase, "restartCount": restarts, "conditions": conditions, **status}}
    )


def claim(phase):
    return Claim.from_api({**CLAIM, "status": {"phase": phase, "capacity": {"storage": "6443851776"}}})


FAILED_404 = ("Running", "False", "Error", "Unable to connect to http data source: expected status code 200, got 404")
STATES = [
    ("absent", None, None),
    ("ready", None, claim("Bound")),
    ("lost", None, claim("Lost")),
    ("waiting", None, claim("Pending")),
    ("ready", volume("Succeeded"), None),
    ("ready", volume("Succeeded", restarts=9, conditions=[FAILED_404]), None),
    ("deleting", volume("Succeeded", deleted=True), None),
    ("lost", volume("Failed", conditions=[("Bound", "False", "ClaimLost", "Claim Lost")]), None),
    ("failed", volume("Failed"), None),
    ("failed", volume("Failed", conditions=[("Running", "False", "ChecksumError", "checksum mismatch")]), None),
    ("lost", volume("ImportInProgress"), claim("Lost")),
    ("importing", volume("ImportScheduled"), None),
    ("importing", volume("ImportInProgress"), claim("Pending")),
    (
        "importing",
        volume(
            "ImportInProgress",
            conditions=[("Running", "False", "Scratch space required", "scratch space required and none found")],
        ),
        None,
    ),
    ("importing", volume("ImportInProgress", conditions=[("Bound", "False", "Pending", "PVC g Pending")]), None),
    ("retrying", volume("ImportInProgress", conditions=[FAILED_404]), None),
    ("retrying", volume("ImportInProgress", restarts=1, conditions=[("Running", "True", "Pod is running", "")]), None),
    ("retrying", volume("ImportInProgress", restarts=2, conditions=[FAILED_404]), None),
    ("failing", volume("ImportInProgress", restarts=3, conditions=[FAILED_404]), None),
    ("retrying", volume("ImportInProgress", restarts=5, conditions=[("Running", "True", "Pod is running", "")]), None),
    (
        "retrying",
        volume(
            "ImportInProgress",
            conditions=[("Bound", "False", "Pending", "target PVC g Pending and [prime-1] : no space")],
        ),
        None,
    ),
    (
        "will_not_finish",
        volume("ImportInProgress", conditions=[("Running", "False", "Error", "DataVolume too small to contain image")]),
        None,
    ),
    ("will_not_finish", volume("WaitForFirstConsumer"), None),
    ("will_not_finish", volume("PendingPopulation"), None),
    ("waiting", volume("PendingPopulation", immediate=True), None),
    ("not_progressing", volume(""), None),
    ("not_progressing", volume("", conditions=[("Bound", "False", "ErrClaimNotValid", "no class")]), None),
    ("waiting", volume("Pending"), None),
    ("not_progressing", volume("Pending", conditions=[("Bound", "False", "ErrExceededQuota", "exceeded quota")]), None),
    ("unknown", volume("Unknown"), None),
    ("unknown", volume("Martian"), None),
]


@pytest.mark.parametrize(("state", "found", "behind"), STATES)
def test_golden_state(state, found, behind):
    answer = golden_state(found, behind)
    assert answer.state == state
    assert answer.ready is (state == "ready")
    assert answer.in_trouble is (state in {"failing", "failed", "lost", "will_not_finish", "not_progressing"})
    assert answer.reason or state == "ready"


def test_golden_state_quotes_the_error():
    assert golden_state(volume(restarts=4, conditions=[FAILED_404]), None).reason == (
        "4 attempts failed; the last one: Error: Unable to connect to http data source: expected status code 200, got 404"
    )


def test_golden_state_of_claim_gives_its_sizes():
    answer = golden_state(None, claim("Bound"))
    assert (answer.size, answer.capacity, answer.storage_class) == ("6Gi", "6443851776", "replicated")


def test_golden_state_falls_back_on_the_claim():
    answer = golden_state(volume("Succeeded", progress="100.0%"), claim("Bound"))
    assert (answer.size, answer.capacity, answer.storage_class, answer.progress) == (
        "6Gi",
        "6443851776",
        "replicated",
        100.0,
    )


@pytest.mark.parametrize(
    ("written", "value"), [("45.20%", 45.2), ("N/A", None), ("", None), ("x%", None), ("101%", None), ("12", None)]
)
def test_progress_of(written, value):
    assert progress_of(written) == value
