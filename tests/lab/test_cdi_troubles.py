# SPDX-License-Identifier: Apache-2.0
"""What an import in trouble looks like: phases, conditions, pods, claims and Events of each scripted trouble."""

from __future__ import annotations

from typing import Any

import pytest

from lab.api import Object
from lab.controllers.misbehave import Rule, Rules
from lab.scenarios.waiting import condition, object_until, phase, until
from tests.lab.helpers import Bench, imported, live, raw

pytestmark = pytest.mark.lab
POD_PHASE = "cdi.kubevirt.io/storage.pod.phase"


def running(disk: Object) -> tuple[str, str, str]:
    found = condition(disk, "Running")
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


async def event(bench: Bench, namespace: str, reason: str, count: int = 1) -> Object:
    """The Event with this reason, as soon as it was counted so often."""

    def look(seen: Any) -> Object | None:
        found = [one for one in seen["Event"].in_namespace(namespace) if one["reason"] == reason]
        return found[0] if found and found[0]["count"] >= count else None

    found: Object = await until(bench.api, f"event {reason}", ["Event"], look)
    return found


async def script(bench: Bench, namespace: str, action: str, **more: Any) -> None:
    await bench.lab.misbehave("cdi", {"action": action, "match": f"^{namespace}/"} | more)


async def start(bench: Bench, namespace: str, action: str, **more: Any) -> str:
    """A golden in a namespace of its own, with a scripted trouble."""
    await bench.namespace(namespace)
    await script(bench, namespace, action, **more)
    await bench.api.create(imported(bench, namespace, "golden", namespace))
    return namespace


async def prime(bench: Bench, namespace: str) -> str:
    claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
    assert claim is not None
    return f"prime-{claim['metadata']['uid']}"


def test_a_rule_is_looked_at_without_being_spent() -> None:
    rules = Rules()
    rules.add("cdi", Rule.parse({"action": "evict", "times": 1}))
    assert rules.applies("cdi", "evict", ("n", "d")) is rules.applies("cdi", "evict", ("n", "d"))
    assert rules.take("cdi", "evict", ("n", "d")) is not None
    assert rules.take("cdi", "evict", ("n", "d")) is None
    assert Rule.parse({"action": "unschedulable"}).message.startswith("0/3 nodes are available")
    assert Rule.parse({"action": "fail"}).message == "scripted failure"


@live
async def test_helpers_of_an_import(bench: Bench) -> None:
    """Prime and scratch claim, as they are while the transfer runs."""
    namespace = await start(bench, "troubles-hang", "hang")
    await bench.disk(namespace, "golden", lambda one: phase(one) == "ImportInProgress")
    name = await prime(bench, namespace)
    await object_until(bench.api, "PersistentVolumeClaim", namespace, f"{name}-scratch", lambda one: one, "there")
    claims = {one["metadata"]["name"]: one for one in await bench.api.list("PersistentVolumeClaim", namespace)}
    assert claims.keys() == {"golden", name, f"{name}-scratch"}
    marks = claims[name]["metadata"]["annotations"]
    assert marks["cdi.kubevirt.io/storage.import.importPodName"] == f"importer-{name}"
    assert marks["cdi.kubevirt.io/storage.import.endpoint"] == bench.url("troubles-hang")
    assert marks["cdi.kubevirt.io/storage.import.requiresScratch"] == "true"
    assert claims["golden"]["metadata"]["annotations"]["cdi.kubevirt.io/storage.populator.pvcPrime"] == name
    owners = [claims[one]["metadata"]["ownerReferences"][0]["name"] for one in (name, f"{name}-scratch")]
    assert owners == ["golden", name]
    assert claims[f"{name}-scratch"]["metadata"]["labels"]["velero.io/exclude-from-backup"] == "true"
    reference = claims["golden"]["spec"]["dataSourceRef"]
    assert await bench.api.get("VolumeImportSource", reference["name"], namespace)
    await bench.lab.misbehave("cdi", None)
    await bench.succeeded(namespace, "golden")


@live
async def test_evicted_pod_is_left_alone_until_it_is_deleted(bench: Bench) -> None:
    namespace = await start(bench, "troubles-evict", "evict", times=1)
    await event(bench, namespace, "ImportFailed")
    disk = await bench.disk(namespace, "golden", lambda one: phase(one) == "ImportScheduled")
    assert condition(disk, "Running")["status"] == "False"
    claim = await bench.api.get("PersistentVolumeClaim", "golden", namespace)
    assert claim is not None
    assert claim["metadata"]["annotations"][POD_PHASE] == "Failed"
    [pod] = await bench.api.list("Pod", namespace)
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Evicted")
    # The trouble is spent, and a restarted CDI looks again: it still does nothing.
    await bench.lab.misbehave("cdi", None)
    await event(bench, namespace, "ImportFailed", 2)
    [still] = await bench.api.list("Pod", namespace)
    assert still["metadata"]["uid"] == pod["metadata"]["uid"]
    assert phase(await bench.disk(namespace, "golden", lambda one: True)) == "ImportScheduled"
    await bench.api.delete("Pod", pod["metadata"]["name"], namespace)
    await bench.succeeded(namespace, "golden")
    assert bench.volume(namespace, "golden").read_bytes() == raw(namespace)


@pytest.mark.parametrize(
    ("action", "verdict", "reason"),
    [
        ("unschedulable", ("Unschedulable", "Importer pod cannot be scheduled"), "FailedScheduling"),
        ("no-image", ("ImagePullFailed", "failed to pull image: Back-off pulling image"), "Failed"),
        ("refuse-pod", ("ErrExceededQuota", "Error starting pod 'importer-prime-"), "ErrExceededQuota"),
    ],
)
@live
async def test_pod_that_does_not_start(bench: Bench, action: str, verdict: tuple[str, str], reason: str) -> None:
    namespace = await start(bench, f"troubles-{action}", action)
    disk = await bench.disk(namespace, "golden", lambda one: running(one)[1] == verdict[0])
    assert phase(disk) == "ImportScheduled"
    assert running(disk)[0] == "False"
    assert running(disk)[2].startswith(verdict[1])
    assert (await event(bench, namespace, reason))["type"] == "Warning"
    pods = await bench.api.list("Pod", namespace)
    assert len(pods) == (0 if action == "refuse-pod" else 1)
    if action == "unschedulable":
        assert pods[0]["status"]["conditions"][0]["reason"] == "Unschedulable"
    await bench.lab.misbehave("cdi", None)
    await bench.succeeded(namespace, "golden")


@live
async def test_out_of_memory_again_and_again(bench: Bench) -> None:
    namespace = await start(bench, "troubles-oom", "oom")
    uids = set()

    def looping(disk: Object) -> bool:
        return bool(disk["status"].get("restartCount", 0) >= 3 and running(disk)[1] == "OOMKilled")

    for _ in range(2):
        disk = await bench.disk(namespace, "golden", lambda one: running(one)[1] == "OOMKilled")
        uids |= {pod["metadata"]["uid"] for pod in await bench.api.list("Pod", namespace)}
        disk = await bench.disk(namespace, "golden", looping)
    assert phase(disk) == "ImportInProgress"
    assert running(disk) == ("False", "OOMKilled", "")
    [pod] = await bench.api.list("Pod", namespace)
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137
    await bench.lab.misbehave("cdi", None)
    done = await bench.succeeded(namespace, "golden")
    assert done["status"]["restartCount"] >= 3


@live
async def test_scratch_space_that_is_never_bound(bench: Bench) -> None:
    namespace = await start(bench, "troubles-scratch", "no-scratch")
    name = f"{await _named(bench, namespace)}-scratch"

    def pending(claim: Object | None) -> bool:
        return phase(claim) == "Pending"

    await object_until(bench.api, "PersistentVolumeClaim", namespace, name, pending, "Pending")
    disk = await bench.disk(namespace, "golden", lambda one: phase(one) == "ImportScheduled")
    assert running(disk)[1] in ("ContainerCreating", "Scratch space required")
    await bench.lab.misbehave("cdi", None)
    await bench.succeeded(namespace, "golden")


async def _named(bench: Bench, namespace: str) -> str:
    def uid(claim: Object | None) -> str:
        return claim["metadata"]["uid"] if claim else ""

    claim = "PersistentVolumeClaim"
    return f"prime-{await object_until(bench.api, claim, namespace, 'golden', uid, 'there')}"


@live
async def test_volume_that_the_driver_does_not_provide(bench: Bench) -> None:
    namespace = await start(bench, "troubles-volume", "no-volume", message="rpc error: not enough nodes")
    failed = await event(bench, namespace, "ProvisioningFailed", 2)
    name = await prime(bench, namespace)
    text = 'failed to provision volume with StorageClass "replicated": rpc error: not enough nodes'
    assert failed["message"] == text
    assert failed["involvedObject"]["name"] == name
    disk = await bench.disk(namespace, "golden", lambda one: "[prime-" in condition(one, "Bound").get("message", ""))
    found = condition(disk, "Bound")
    assert (found["status"], found["reason"]) == ("False", "Pending")
    assert found["message"] == f"target PVC golden Pending and [{name}] : {text}"
    await bench.lab.misbehave("cdi", None)
    done = await bench.succeeded(namespace, "golden")
    assert condition(done, "Bound")["message"] == "PVC golden Bound"
