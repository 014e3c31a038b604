# SPDX-License-Identifier: Apache-2.0
"""When a pool is done, when it is not yet, and when waiting cannot help."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.objects import (
    HelmRelease,
    Machine,
    MachineDeployment,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.source import resolve_source
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.pool_progress import PoolProgress, Workers
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import DataVolume

NAME = "kubernetes-shop-md0"
PREFIX = "kubernetes-worker-image.cozystack.io"
CLONES = Pool("tenant-a", "shop", "md0", {"cluster": "shop", "minReplicas": 2, "osImage": {"builtin": {}}})
HTTP = Pool("tenant-a", "shop", "md0", {"cluster": "shop", "minReplicas": 2})
GOLDEN = resolve_source(CLONES.values).golden


def release(status: str = "True", observed: int = 2) -> HelmRelease:
    return HelmRelease.from_api(
        {
            "metadata": {"name": "kubernetes-nodes-shop-md0", "namespace": "tenant-a", "generation": 2},
            "status": {
                "observedGeneration": observed,
                "conditions": [{"type": "Ready", "status": status, "reason": "UpgradeFailed", "message": "no golden"}],
            },
        }
    )


def deployment(**status: int) -> MachineDeployment:
    counts = {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, **status}
    return MachineDeployment.from_api(
        {"metadata": {"name": NAME, "namespace": "tenant-a", "generation": 3}, "status": counts}
    )


def disk(name: str, phase: str, pool: str = NAME, golden: str = GOLDEN, owner: str = "", **status: Any) -> DataVolume:
    meta: dict[str, Any] = {"name": name, "namespace": "tenant-a"}
    if owner:
        meta["ownerReferences"] = [{"kind": "VirtualMachine", "name": owner, "uid": "u"}]
    else:
        meta["annotations"] = {f"{PREFIX}/pool": pool, f"{PREFIX}/golden": golden}
    return DataVolume.from_api({"metadata": meta, "status": {"phase": phase, **status}})


def machine(name: str, **status: str) -> Machine:
    labels = {"cluster.x-k8s.io/deployment-name": NAME}
    spec = {"infrastructureRef": {"kind": "KubevirtMachine", "name": f"vm-{name}"}}
    meta = {"name": name, "namespace": "tenant-a", "labels": labels}
    return Machine.from_api({"metadata": meta, "spec": spec, "status": status})


def look(
    pool: Pool = CLONES,
    told: HelmRelease | None = None,
    disks: tuple[DataVolume, ...] = (),
    found: MachineDeployment | None = None,
    machines: tuple[Machine, ...] = (),
    read: bool = True,
) -> PoolProgress:
    deployments = ([found] if found else []) if read else None
    return Workers(disks, deployments, machines).progress(pool, resolve_source(pool.values), told or release())


@pytest.mark.parametrize(
    ("status", "complete", "rolling"),
    [
        ({}, True, False),
        ({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3}, True, False),
        ({"observedGeneration": 2}, False, True),
        ({"updatedReplicas": 1}, False, True),
        ({"replicas": 3}, False, True),  # one old machine is still there
        ({"readyReplicas": 1}, False, False),
        ({"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}, False, False),  # fewer than minReplicas
        ({"replicas": 0, "updatedReplicas": 0, "readyReplicas": 0}, False, False),
    ],
)
@pytest.mark.parametrize("pool", [CLONES, HTTP], ids=["clone", "http"])
def test_a_pool_is_complete_when_every_machine_is_new_and_ready(
    pool: Pool, status: dict[str, int], complete: bool, rolling: bool
) -> None:
    found = look(pool, found=deployment(**status))
    assert (found.complete, found.rolling, found.trouble) == (complete, rolling, "")


def test_neither_without_its_release_nor_without_its_machines() -> None:
    assert not look(told=release("Unknown"), found=deployment()).complete
    assert not look(told=release(observed=1), found=deployment()).complete
    assert not look().complete
    assert "no MachineDeployment yet" in look().text()


def test_machines_that_may_not_be_read_are_replaced_by_disks() -> None:
    done = (disk("1", "Succeeded"), disk("2", "Succeeded"))
    assert look(disks=done, read=False).complete
    assert not look(disks=done[:1], read=False).complete


def test_disks_of_a_sibling_pool_or_another_golden_do_not_count() -> None:
    disks = (
        disk("1", "Succeeded"),
        disk("2", "CSICloneInProgress"),
        disk("3", "ImportInProgress", pool=f"{NAME}-gpu"),
        disk("4", "ImportInProgress", golden="talos-worker-old"),
    )
    found = look(disks=disks, found=deployment())
    assert (found.disks_ready, found.unfinished, found.complete) == (1, ("2",), False)


def test_disks_of_a_pool_over_http_are_those_of_its_machines() -> None:
    mine, other = disk("a", "ImportInProgress", owner="vm-m1"), disk("b", "ImportInProgress", owner="vm-x")
    found = look(HTTP, disks=(mine, other), found=deployment(), machines=(machine("m1"),))
    assert (found.unfinished, found.complete) == (("a",), False)
    assert look(HTTP, disks=(other,), found=deployment(), machines=(machine("m1"),)).complete


def running(reason: str, message: str = "404", **more: Any) -> dict[str, Any]:
    return {"conditions": [{"type": "Running", "status": "False", "reason": reason, "message": message}], **more}


@pytest.mark.parametrize(
    ("status", "phase", "lasting", "fleeting"),
    [
        ({}, "Failed", "disk d failed", ""),
        (running("Error"), "ImportInProgress", "", "disk d: 404"),
        (running("Error", restartCount=2), "ImportInProgress", "", "disk d: 404"),
        (running("Error", restartCount=3), "ImportInProgress", "disk d: 404", ""),
        (running("ImagePullFailed", ""), "ImportScheduled", "disk d: ImagePullFailed", ""),
        (running("Completed"), "CloneInProgress", "", ""),
        (
            {"conditions": [{"type": "Bound", "status": "False", "reason": "ErrExceededQuota", "message": "q"}]},
            "Pending",
            "disk d: q",
            "",
        ),
    ],
)
def test_trouble_of_a_disk_is_what_kubevirt_takes_for_it(
    status: dict[str, Any], phase: str, lasting: str, fleeting: str
) -> None:
    found = look(disks=(disk("d", phase, **status),), found=deployment())
    assert (" ".join(found.lasting), " ".join(found.fleeting)) == (lasting, fleeting)
    assert found.trouble == lasting


def test_a_refused_release_and_a_failed_machine_are_trouble() -> None:
    assert look(told=release("False"), found=deployment()).trouble == "no golden (UpgradeFailed)"
    failed = machine("m1", phase="Failed", failureMessage="no such flavour")
    assert look(found=deployment(), machines=(failed,)).trouble == "machine m1: no such flavour"
    assert look(found=deployment(), machines=(machine("m1", phase="Failed"),)).trouble == "machine m1: phase Failed"
    assert look(found=deployment(), machines=(machine("m1", phase="Running"),)).trouble == ""
