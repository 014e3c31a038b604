# SPDX-License-Identifier: Apache-2.0
"""Scenarios about one golden image: each has a schematic of its own, and is imported anew when it is played again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from lab import seed
from lab.api import Api, Object
from lab.scenarios import cdi_version, parts
from lab.scenarios.parts import Lab
from lab.scenarios.states import enable
from lab.scenarios.waiting import Seen, condition, object_until, phase, until

IMMEDIATE = "cdi.kubevirt.io/storage.bind.immediate.requested"
Check = Callable[[Object], Any]


def schematic(scenario: str) -> str:
    """The schematic of a scenario's golden."""
    return hashlib.sha256(f"lab scenario {scenario}".encode()).hexdigest()


def name(scenario: str) -> str:
    """The name of a scenario's golden."""
    return parts.golden(schematic(scenario))


def _status(disk: Object) -> dict[str, Any]:
    return disk.get("status") or {}


def running(disk: Object) -> tuple[str, str]:
    """Reason and message of condition Running."""
    found = condition(disk, "Running")
    return found.get("reason", ""), found.get("message", "")


def _errs(text: str, restarts: int = 1) -> Check:
    """An attempt failed with this text, after so many restarts."""

    def check(disk: Object) -> bool:
        reason, message = running(disk)
        return reason == "Error" and text in message and _status(disk).get("restartCount", 0) >= restarts

    return check


async def without(api: Api, lab: Lab, *names: str) -> None:
    """The basis of every scenario, and none of these goldens, whatever the catalog listed before."""
    await parts.base(api, lab)
    if [name for name in names if await api.get("DataVolume", name, parts.GOLDENS)]:
        nothing = parts.catalog(lab, images=[])
        await enable(api, lab, nothing)
        await parts.rendered(api, seed.SYSTEM, "kubernetes-worker-image", nothing)
    for name in names:
        await parts.gone(api, "DataVolume", name, parts.GOLDENS)
        claim = "PersistentVolumeClaim"
        await object_until(api, claim, parts.GOLDENS, name, lambda found: found is None, "gone")


async def _golden(
    api: Api, lab: Lab, scenario: str, check: Check, fault: dict[str, Any] | None = None, **catalog: Any
) -> None:
    """The catalog lists the golden, the image source errs, and the golden gets where it gets."""
    if fault:
        path = f"/{schematic(scenario)}/"
        await lab.post(f"{lab.image_source}/_lab/faults", fault | {"path": path})
    entry = {"schematicID": schematic(scenario), "version": parts.VERSION}
    await enable(api, lab, parts.catalog(lab, entry, **catalog))
    await object_until(
        api, "DataVolume", parts.GOLDENS, name(scenario), lambda disk: disk and check(disk), "in its trouble"
    )


async def stuck_import(api: Api, lab: Lab) -> None:
    """the importer pod of a golden was evicted: it stays Failed, and CDI does not replace it"""
    await without(api, lab, name("stuck-import"))
    rule = {"action": "evict", "match": name("stuck-import"), "times": 1}
    await lab.misbehave("cdi", rule)
    await _golden(api, lab, "stuck-import", lambda disk: phase(disk) != "")

    def failed(seen: Seen) -> bool:
        key = (parts.GOLDENS, name("stuck-import"))
        claim = seen["PersistentVolumeClaim"].get(*key) or {"metadata": {}}
        mark = claim["metadata"].get("annotations", {}).get("cdi.kubevirt.io/storage.pod.phase")
        return mark == "Failed" and phase(seen["DataVolume"].get(*key)) == "ImportScheduled"

    await until(api, "the importer pod failed", ["DataVolume", "PersistentVolumeClaim"], failed)


async def retrying_import(api: Api, lab: Lab) -> None:
    """the image source answers 500 twice: the golden is after its first failure, and heals by itself"""
    await without(api, lab, name("retrying-import"))
    fault = {"kind": "status", "status": 500, "count": 2}
    await _golden(api, lab, "retrying-import", _errs("got 500", 0), fault)


async def too_small(api: Api, lab: Lab) -> None:
    """a golden of 1Mi, into which no image fits"""
    await without(api, lab, name("too-small"))
    await _golden(api, lab, "too-small", _errs("DataVolume too small to contain image"), storage="1Mi")


async def oversized(api: Api, lab: Lab) -> None:
    """the image source has a disk of 128 MiB where the golden has room for 64"""
    await without(api, lab, name("oversized"))
    fault = {"kind": "oversize", "size": 128 << 20}
    await _golden(api, lab, "oversized", _errs("DataVolume too small to contain image"), fault, storage="64Mi")


async def html_source(api: Api, lab: Lab) -> None:
    """the image source answers 200 with an error page"""
    await without(api, lab, name("html-source"))
    await _golden(api, lab, "html-source", _errs("Unable to convert source data"), {"kind": "html"})


async def truncated_source(api: Api, lab: Lab) -> None:
    """the image source has half a file"""
    await without(api, lab, name("truncated-source"))
    await _golden(api, lab, "truncated-source", _errs("unexpected EOF"), {"kind": "truncate"})


async def untrusted_source(api: Api, lab: Lab) -> None:
    """the image source speaks TLS with a certificate of an authority that the importer does not know"""
    await without(api, lab, name("untrusted-source"))
    address = json.loads((lab.home / "controllers.json").read_text())["image_source_tls"]
    await _golden(api, lab, "untrusted-source", _errs("x509: "), imageFactoryURL=address)


async def slow_source(api: Api, lab: Lab) -> None:
    """the image source sends 20 kB a second: the golden makes progress, and takes a minute"""
    await without(api, lab, name("slow-source"))
    fault = {"kind": "slow", "bytes_per_second": 20_000}

    def moving(disk: Object) -> bool:
        progress = str(_status(disk).get("progress", ""))
        return phase(disk) == "ImportInProgress" and progress.endswith("%")

    await _golden(api, lab, "slow-source", moving, fault)


async def waiting_consumer(api: Api, lab: Lab) -> None:
    """a golden made by hand on class local, without the annotation that binds it: nobody ever consumes it"""
    await without(api, lab, name("waiting-consumer"))
    await enable(api, lab, parts.catalog(lab, images=[]))
    await api.create(by_hand(lab, schematic("waiting-consumer"), "local", immediate=False))
    golden = name("waiting-consumer")
    await object_until(
        api, "DataVolume", parts.GOLDENS, golden, lambda disk: phase(disk) == "PendingPopulation", "waiting"
    )


def by_hand(lab: Lab, schematic_id: str, storage_class: str, immediate: bool = True, **http: Any) -> Object:
    """A golden as the chart makes it, but of nobody's release."""
    prefix, url = "kubernetes-worker-image.cozystack.io", f"{lab.image_source}/image/{schematic_id}/{parts.VERSION}"
    marks = {f"{prefix}/schematic-id": schematic_id, f"{prefix}/talos-version": parts.VERSION}
    marks |= {"helm.sh/resource-policy": "keep", "cdi.kubevirt.io/storage.usePopulator": "true"}
    meta = {
        "name": parts.golden(schematic_id),
        "namespace": parts.GOLDENS,
        "annotations": marks | ({IMMEDIATE: "true"} if immediate else {}),
    }
    storage = {"resources": {"requests": {"storage": "6Gi"}}, "storageClassName": storage_class}
    source = {"http": {"url": f"{url}/openstack-amd64.raw.xz"} | http}
    spec = {"contentType": "kubevirt", "source": source, "storage": storage}
    return {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": meta, "spec": spec}


async def cdi_165(api: Api, lab: Lab) -> None:
    """as empty, with CDI 1.65: DataVolumes know a checksum of their source"""
    await parts.base(api, lab)
    await cdi_version.use(api, cdi_version.NEW)
    await parts.platform(api, lab, "isp-full", parts.platform_values())


def _helper(kind: str, leftover: str, uid: str, **spec: Any) -> Object:
    labels = {"app": "containerized-data-importer", "cdi.kubevirt.io/OwnedByUID": uid}
    meta = {"name": leftover, "namespace": parts.GOLDENS, "labels": labels}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec}


async def leftovers(api: Api, lab: Lab) -> None:
    """cozy-public holds a temporary claim and its pod, a prime claim and scratch space whose disks are long gone"""
    await without(api, lab)
    await enable(api, lab, parts.catalog(lab))
    await parts.golden_ready(api)
    uid = "0badc0de-0000-4000-8000-000000000001"
    claim: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": "replicated"}
    claim |= {"resources": {"requests": {"storage": "6Gi"}}}
    names = (f"tmp-pvc-{uid}", f"prime-{uid}", f"prime-{uid}-scratch")
    for one in names:
        await parts.create_once(api, _helper("PersistentVolumeClaim", one, uid, **claim))
    volume = {"name": "vol", "persistentVolumeClaim": {"claimName": names[0]}}
    container = {"name": "dummy", "image": "quay.io/kubevirt/cdi-importer:v1.64.0"}
    pod = _helper("Pod", f"prep-{uid}", uid, containers=[container], volumes=[volume])
    pod["metadata"]["labels"]["cdi.kubevirt.io"] = "cdi-populator-prep"
    await parts.create_once(api, pod)
    kinds = ["PersistentVolumeClaim", "Pod"]
    await until(
        api, "leftovers", kinds, lambda seen: all(seen[kinds[0]].get(parts.GOLDENS, one) for one in names), seconds=10
    )
