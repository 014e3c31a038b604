# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.disk_report import disk_report, summary
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Claim, DataVolume

NOW = 1767225600.0  # 2026-01-01T00:00:00Z
MINUTES_AGO = {0: "2026-01-01T00:00:00Z", 14: "2025-12-31T23:46:00Z", 15: "2025-12-31T23:45:00Z"}


def volume(phase="Succeeded", age=0, size="20Gi", conditions=(), name="d1", notes=None):
    return DataVolume.from_api(
        {
            "metadata": {
                "name": name,
                "namespace": "t",
                "creationTimestamp": MINUTES_AGO.get(age, ""),
                "annotations": {"kubernetes-worker-image.cozystack.io/golden": "g", **(notes or {})},
            },
            "spec": {"storage": {"resources": {"requests": {"storage": size}}}},
            "status": {"phase": phase, "conditions": list(conditions)},
        }
    )


def claim(capacity="20Gi", phase="Bound", **notes):
    annotations = {f"cdi.kubevirt.io/{key}": value for key, value in notes.items()}
    return Claim.from_api(
        {
            "metadata": {"name": "d1", "namespace": "t", "annotations": annotations},
            "status": {"phase": phase, "capacity": {"storage": capacity}},
        }
    )


def report(disk, its_claim=None):
    return disk_report(disk, its_claim, NOW, 900)


def test_a_finished_clone_tells_how_it_was_made():
    done = report(volume(), claim(cloneType="copy", cloneFallbackReason="No volume expansion is possible"))
    assert (done.state, done.clone_type, done.fallback_reason) == ("ready", "copy", "No volume expansion is possible")
    assert (done.golden, done.size, done.capacity, done.undersized) == ("g", "20Gi", "20Gi", False)
    assert (done.message, done.age, done.stalled) == ("", 0, False)


def test_the_disk_tells_its_clone_type_when_the_claim_was_not_read():
    found = report(volume(notes={"cdi.kubevirt.io/cloneType": "snapshot"}))
    assert (found.clone_type, found.capacity, found.undersized) == ("snapshot", None, None)
    assert report(volume(notes={"cdi.kubevirt.io/cloneType": "snapshot"}), claim(cloneType="copy")).clone_type == "copy"


@pytest.mark.parametrize(
    ("phase", "age", "state"),
    [
        ("CSICloneInProgress", 14, "running"),
        ("CSICloneInProgress", 15, "stalled"),
        ("", 15, "stalled"),
        ("CSICloneInProgress", None, "running"),
        ("Succeeded", 15, "ready"),
        ("Failed", 15, "failed"),
    ],
)
def test_state(phase, age, state):
    found = report(volume(phase, age))
    assert (found.state, found.stalled) == (state, state == "stalled")


def test_a_lost_claim_is_told_whatever_the_phase():
    assert report(volume("RebindInProgress"), claim(phase="Lost")).state == "lost"
    assert report(volume("Succeeded"), claim(phase="Lost")).state == "lost"


@pytest.mark.parametrize(
    ("capacity", "phase", "size", "undersized"),
    [
        ("6Gi", "Bound", "20Gi", True),
        ("21474836479", "Bound", "20Gi", True),
        ("21474836480", "Bound", "20Gi", False),
        ("6Gi", "Pending", "20Gi", None),
        ("", "Bound", "20Gi", None),
        ("6Gi", "Bound", None, None),
    ],
)
def test_a_clone_that_was_not_grown_is_flagged(capacity, phase, size, undersized):
    assert report(volume(size=size), claim(capacity, phase)).undersized is undersized


def test_what_a_stuck_disk_says():
    bound = {"type": "Bound", "status": "False", "message": "PVC d1 Pending"}
    error = {"type": "Running", "status": "False", "message": "source claim does not exist"}
    running = {"type": "Running", "status": "True", "message": "ignored"}
    stuck = report(
        volume("CloneScheduled", 15, conditions=[bound, error]), claim(clonePhase="Error", cloneError="gone")
    )
    assert (stuck.message, stuck.clone_phase, stuck.clone_error) == ("source claim does not exist", "Error", "gone")
    assert report(volume("CSICloneInProgress", conditions=[bound, running])).message == "PVC d1 Pending"
    assert report(volume("CSICloneInProgress", conditions=[running])).message == ""


def test_summary_counts_and_names():
    reports = [
        report(volume(), claim(cloneType="csi-clone")),
        report(volume(name="d2"), claim("6Gi", cloneType="copy")),
        report(volume("Failed", name="d3")),
        report(volume("RebindInProgress", name="d4"), claim(phase="Lost", cloneType="csi-clone")),
        report(volume("CSICloneInProgress", 15, name="d5"), claim(phase="Pending", cloneType="csi-clone")),
        report(volume("", name="d6")),
    ]
    assert summary(reports) == {
        "total": 6,
        "phases": {"CSICloneInProgress": 1, "Failed": 1, "RebindInProgress": 1, "Succeeded": 2, "none": 1},
        "clone_types": {"copy": 1, "csi-clone": 3, "none": 2},
        "failed": ["t/d3", "t/d4"],
        "stalled": ["t/d5"],
        "undersized": ["t/d2"],
    }
    assert summary([])["total"] == 0
