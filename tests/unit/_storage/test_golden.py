# SPDX-License-Identifier: Apache-2.0
"""State of a golden from its DataVolume, its claim, or both."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.golden import (
    golden_state,
    progress_of,
    unread_state,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import (
    IMMEDIATE_BIND_ANNOTATION,
    Claim,
    DataVolume,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.pods import Event, Pod
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.scene import Sightings
from hypothesis import given
from hypothesis import strategies as st

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
    assert answer.in_trouble is (state in {"failing", "stuck", "failed", "lost", "will_not_finish", "not_progressing"})
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


def pod(name="importer-prime-1", phase="Running", claims=("prime-1",), restarts=0, ended="", label=True, **status):
    containers = [
        {"restartCount": restarts, "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": ended}}}
    ]
    return Pod.from_api(
        {
            "metadata": {"name": name, "labels": {"app": "containerized-data-importer"} if label else {}},
            "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": claim}} for claim in claims]},
            "status": {"phase": phase, "containerStatuses": containers if ended or restarts else [], **status},
        }
    )


def event(reason, message, name="g", kind="DataVolume", last="2026-01-01T00:00:00Z", type="Warning"):
    return Event.from_api(
        {
            "metadata": {"namespace": "cozy-public"},
            "involvedObject": {"kind": kind, "name": name},
            "type": type,
            "reason": reason,
            "message": message,
            "lastTimestamp": last,
        }
    )


def work(name, phase="Pending", **annotations):
    return Claim.from_api({"metadata": {"name": name, "annotations": annotations}, "status": {"phase": phase}})


# The claim's uid is 1, so its prime is prime-1.
TARGET = Claim.from_api({"metadata": {"name": "g", "uid": "1"}, "status": {"phase": "Pending"}})
RUNNING = ("Running", "True", "Pod is running", "")
OOM = ("Running", "False", "OOMKilled", "")
SEEN = [
    # An attempt runs and CDI has blanked the message: the container still knows the last error.
    (
        "retrying",
        "image-not-found",
        volume(restarts=2, conditions=[RUNNING]),
        Sightings(pods=(pod(restarts=2, ended="expected status code 200, got 404"),)),
    ),
    ("retrying", "", volume(conditions=[RUNNING]), Sightings(pods=(pod(restarts=1),))),
    ("importing", "", volume(conditions=[RUNNING]), Sightings(pods=(pod(restarts=4, claims=("prime-2",)),))),
    ("importing", "", volume(conditions=[RUNNING]), Sightings(pods=(pod(restarts=4, label=False),))),
    (
        "stuck",
        "importer-pod-failed",
        volume("ImportScheduled"),
        Sightings(pods=(pod(phase="Failed", reason="Evicted"),)),
    ),
    (
        "stuck",
        "importer-pod-failed",
        volume("ImportScheduled"),
        Sightings(claims=(work("prime-1", **{"cdi.kubevirt.io/storage.pod.phase": "Failed"}),)),
    ),
    (
        "not_progressing",
        "quota-exceeded",
        volume("ImportScheduled", conditions=[("Running", "False", "ErrExceededQuota", "Error starting pod 'x'")]),
        Sightings(claims=(work("prime-1", **{"cdi.kubevirt.io/storage.pod.phase": "Failed"}),)),
    ),
    # Not any more: CDI has started another pod, and the annotation lags behind.
    (
        "importing",
        "",
        volume("ImportScheduled"),
        Sightings(
            pods=(pod(phase="Pending"),), claims=(work("prime-1", **{"cdi.kubevirt.io/storage.pod.phase": "Failed"}),)
        ),
    ),
    ("ready", "", volume("Succeeded"), Sightings(pods=(pod(phase="Failed"),))),
    ("retrying", "out-of-memory", volume(restarts=1, conditions=[OOM]), Sightings()),
    ("stuck", "out-of-memory", volume(restarts=3, conditions=[OOM]), Sightings()),
    (
        "stuck",
        "checksum-mismatch",
        volume(conditions=[("Running", "False", "ChecksumError", "checksum mismatch")]),
        Sightings(claims=(work("prime-1", **{"cdi.kubevirt.io/storage.import.fatalError": "true"}),)),
    ),
    (
        "not_progressing",
        "not-schedulable",
        volume("ImportScheduled"),
        Sightings(
            pods=(
                pod(
                    phase="Pending",
                    conditions=[
                        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
                    ],
                ),
            )
        ),
    ),
    (
        "not_progressing",
        "importer-image",
        volume("ImportScheduled", conditions=[("Running", "False", "ImagePullFailed", "failed to pull image")]),
        Sightings(),
    ),
    (
        "not_progressing",
        "ca-config-map-missing",
        volume("ImportScheduled"),
        Sightings(
            pods=(pod(phase="Pending"),),
            events=(event("FailedMount", 'configmap "ca" not found', "importer-prime-1", "Pod"),),
        ),
    ),
    ("importing", "", volume("ImportScheduled"), Sightings(claims=(work("prime-1-scratch"),), age=299.0)),
    (
        "not_progressing",
        "scratch-space-pending",
        volume("ImportScheduled"),
        Sightings(claims=(work("prime-1-scratch"),), age=300.0),
    ),
    ("importing", "", volume("ImportScheduled"), Sightings(claims=(work("prime-1-scratch", "Bound"),), age=900.0)),
    ("importing", "", volume("ImportScheduled"), Sightings(claims=(work("prime-2-scratch"),), age=900.0)),
    (
        "retrying",
        "storage-not-provisioned",
        volume("ImportScheduled", conditions=[("Bound", "False", "Pending", "PVC g Pending and [prime-1] : no space")]),
        Sightings(age=299.0),
    ),
    (
        "not_progressing",
        "storage-not-provisioned",
        volume("ImportScheduled", conditions=[("Bound", "False", "Pending", "PVC g Pending and [prime-1] : no space")]),
        Sightings(age=300.0),
    ),
    ("waiting", "", volume(""), Sightings(age=59.0)),
    ("not_progressing", "not-started", volume(""), Sightings(age=60.0)),
    ("waiting", "", volume("UploadReady"), Sightings()),
    ("will_not_finish", "no-consumer", volume("PendingPopulation"), Sightings()),
    (
        "will_not_finish",
        "image-too-large",
        volume(restarts=1, conditions=[RUNNING]),
        Sightings(pods=(pod(restarts=1, ended="DataVolume too small to contain image"),)),
    ),
    ("lost", "claim-lost", volume("Failed", conditions=[("Bound", "False", "ClaimLost", "Claim Lost")]), Sightings()),
    (
        "failed",
        "checksum-mismatch",
        volume("Failed", conditions=[("Running", "False", "ChecksumError", "")]),
        Sightings(),
    ),
]


@pytest.mark.parametrize(("state", "trouble", "found", "seen"), SEEN)
def test_pods_claims_and_events_tell_more(state, trouble, found, seen):
    answer = golden_state(found, TARGET, seen)
    assert (answer.state, answer.trouble) == (state, trouble)
    assert bool(answer.cause) is bool(answer.remedy) is bool(trouble)
    assert answer.reason or state == "ready"


def test_the_limit_of_attempts_is_the_callers():
    failing = volume(restarts=2, conditions=[FAILED_404])
    assert [golden_state(failing, None, limit=limit).state for limit in (1, 2, 3)] == ["failing", "failing", "retrying"]


def test_evidence_names_what_was_seen():
    seen = Sightings(
        pods=(pod(restarts=2, ended="expected status code 200, got 404"),),
        events=(
            event("ImportFailed", "old", last="2026-01-01T00:00:01Z"),
            event("ImportFailed", "new", last="2026-01-01T00:00:02Z"),
            event("ImportFailed", "another's", "h", last="2026-01-01T00:00:03Z"),
            event("ImportInProgress", "normal", last="2026-01-01T00:00:04Z", type="Normal"),
        ),
        age=75.0,
    )
    assert golden_state(volume(restarts=1, conditions=[RUNNING]), TARGET, seen).evidence == {
        "phase": "ImportInProgress",
        "restarts": 2,
        "running": "True Pod is running",
        "claim": "Pending",
        "pods": ["importer-prime-1: Running, 2 restarts"],
        "last_error": "Error: expected status code 200, got 404",
        "event": "DataVolume g: ImportFailed: new",
        "age": 75.0,
    }


@pytest.mark.parametrize(("forbidden", "state"), [(True, "forbidden"), (False, "api_missing")])
def test_what_cannot_be_read_is_not_absent(forbidden, state):
    answer = unread_state(forbidden, "403 no" if forbidden else "404 no")
    assert answer.state == state
    assert answer.remedy
    assert not answer.ready


PHASES = [
    "",
    "Pending",
    "PendingPopulation",
    "ImportScheduled",
    "ImportInProgress",
    "UploadReady",
    "Succeeded",
    "Failed",
    "New",
]
TEXTS = st.sampled_from(
    ["", "Error", "Pending", "OOMKilled", "x509:", "got 404", "[prime-1]", "too small to contain image", "\u0000"]
)
CONDITIONS = st.lists(
    st.tuples(
        st.sampled_from(["Running", "Bound", "Ready"]), st.sampled_from(["True", "False", "Unknown", ""]), TEXTS, TEXTS
    ),
    max_size=3,
)


@given(
    phase=st.sampled_from(PHASES),
    restarts=st.integers(0, 9),
    conditions=CONDITIONS,
    pods=st.lists(
        st.builds(
            pod, phase=st.sampled_from(["Running", "Failed", "Pending"]), restarts=st.integers(0, 9), ended=TEXTS
        ),
        max_size=2,
    ),
    events=st.lists(st.builds(event, TEXTS, TEXTS, st.sampled_from(["g", "prime-1", "h"])), max_size=3),
    age=st.one_of(st.none(), st.floats(0, 10000)),
    limit=st.integers(1, 5),
)
def test_any_sighting_gives_a_state(phase, restarts, conditions, pods, events, age, limit):
    found = volume(phase, restarts, conditions)
    answer = golden_state(found, TARGET, Sightings(tuple(pods), tuple(events), (), age), limit)
    assert answer.ready is (phase == "Succeeded")
    assert answer.reason or answer.ready
    # More attempts never make it look better, and what is called failing has used up its attempts.
    if answer.state == "failing":
        assert answer.restarts >= limit
    if answer.state == "retrying" and not any(one.restarts for one in pods):
        assert restarts < limit or not any(
            kind == "Running" and status == "False" for kind, status, _, _ in conditions[:1]
        )
