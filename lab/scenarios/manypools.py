# SPDX-License-Identifier: Apache-2.0
"""The scenarios of many pools: all of them as if rolled out long ago, so that no controller finds anything to do.

Charts are rendered as the release controller renders them; only the writing goes past the API server. Ten thousand pools and
everything around them then take a minute or two instead of an hour.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from lab.api import Api, Key, Object, key_of
from lab.apps_api.apps import APPS, to_release
from lab.chart import ObjectLookups, render_kubernetes, render_pool, render_tenant
from lab.controllers.apply import Manifests, owned
from lab.controllers.objects import conditions, owner
from lab.controllers.releases import FINALIZER, REVISION, digest_of
from lab.controllers.workers.deployments import machine_set
from lab.controllers.workers.rollout import autoscaled
from lab.kinds import KINDS
from lab.scenarios import parts
from lab.scenarios.bigsite import SINCE, stored
from lab.scenarios.parts import Lab
from lab.scenarios.states import enable
from lab.scenarios.store import store
from lab.scenarios.waiting import Seen, healthy, until

_LOOKED_UP = ("DataVolume", "PersistentVolumeClaim", "StorageClass", "VirtualMachineClusterInstancetype")
_SECRET = "cozystack-values"


async def thousand_pools(api: Api, lab: Lab) -> None:
    """1,000 pools without workers in 50 tenants, half of them on the default golden image"""
    await many_pools(api, lab, 50, 20)


async def ten_thousand_pools(api: Api, lab: Lab) -> None:
    """10,000 pools without workers in 500 tenants, half of them on the default golden image"""
    await many_pools(api, lab, 500, 20)


async def many_pools(api: Api, lab: Lab, tenants: int, pools_each: int) -> None:
    """A platform with its catalog, and tenants with one cluster and that many pools each. What is there already stays."""
    await parts.base(api, lab)
    await enable(api, lab, parts.catalog(lab))
    await parts.golden_ready(api)
    await fill(api, lab, tenants, pools_each)


async def fill(api: Api, lab: Lab, tenants: int, pools_each: int) -> None:
    """The tenants, clusters and pools. The golden they boot from has to be there. Errors: Late, aiohttp.ClientError."""
    known = {key_of(one) for one in await api.list("HelmRelease")}
    seen = [one for kind in _LOOKED_UP for one in await api.list(kind)]
    root = await api.get("Secret", _SECRET, parts.ROOT)
    site = _Site(known, [*seen, root] if root else seen, Manifests(lab.home / "volumes" / ".releases"))
    await store(lab.home, site.objects(tenants, pools_each))
    keys = [key_of(one) for namespace in site.namespaces(tenants) for one in site.pools(namespace, pools_each)]

    def left(seen: Seen) -> list[Key]:
        return [key for key in keys if not healthy(seen["HelmRelease"].get(*key))]

    await until(
        api,
        f"{len(keys)} pool releases healthy",
        ["HelmRelease"],
        lambda seen: not left(seen),
        300.0,
        lambda seen: f"{len(left(seen))} are not, for instance {left(seen)[:3]}",
    )


class _Site:
    """Makes the objects. ``known`` are releases that are left as they are, ``seen`` what the charts look up."""

    def __init__(self, known: set[Key], seen: list[Object], manifests: Manifests) -> None:
        self._known, self._seen, self._manifests = known, seen, manifests

    @staticmethod
    def names(tenants: int) -> list[str]:
        width = max(2, len(str(tenants - 1)))
        return [f"t{index:0{width}}" for index in range(tenants)]

    def namespaces(self, tenants: int) -> list[str]:
        return [f"tenant-{name}" for name in self.names(tenants)]

    @staticmethod
    def pools(namespace: str, count: int) -> Iterator[Object]:
        """Releases of pools; every second one is on the golden image."""
        for index in range(count):
            spec: dict[str, Any] = {"cluster": "main", "minReplicas": 0, "maxReplicas": 3}
            spec |= {"osImage": {"builtin": {}}} if index % 2 else {}
            yield release("KubernetesNodes", namespace, f"main-p{index:02}", spec)

    def objects(self, tenants: int, pools_each: int) -> Iterator[Object]:
        """In an order in which owners come first."""
        for name in self.names(tenants):
            yield from self._tenant(name, pools_each)

    def _tenant(self, name: str, pools_each: int) -> Iterator[Object]:
        tenant, lookups = release("Tenant", parts.ROOT, name, {"resourceQuotas": {}}), ObjectLookups(self._seen)
        rendered = render_tenant(parts.ROOT, tenant["metadata"]["name"], tenant["spec"]["values"], lookups)
        yield from self._rolled_out(tenant, rendered, _inherited(self._seen, parts.ROOT))
        namespace, inherited = f"tenant-{name}", _inherited(rendered, f"tenant-{name}")
        shared = inherited.get("_cluster") or {}
        cluster = release("Kubernetes", namespace, "main", {"version": "v1.35"})
        made = render_kubernetes(namespace, cluster["metadata"]["name"], cluster["spec"]["values"], shared, lookups)
        made = [stored(one) for one in made]
        yield from self._rolled_out(cluster, made, inherited)
        lookups = ObjectLookups([*self._seen, *made])
        for pool in self.pools(namespace, pools_each):
            rendered = render_pool(namespace, pool["metadata"]["name"], pool["spec"]["values"], shared, lookups)
            yield from self._rolled_out(pool, _deployed(rendered, made), inherited)

    def _rolled_out(self, app: Object, rendered: list[Object], inherited: dict[str, Any]) -> Iterator[Object]:
        """A healthy release and its objects, with Helm's marks, its manifest and its controllers' reports."""
        if key_of(app) in self._known:
            return
        objects = [owned(one, app) for one in rendered]
        self._manifests.save(key_of(app), objects)
        yield _healthy(app, inherited)
        for one in objects:
            one = stored(one) | _reported(one)
            yield one
            if one["kind"] == "MachineDeployment":
                yield stored(machine_set(one, 1))


def release(kind: str, namespace: str, name: str, spec: dict[str, Any]) -> Object:
    """The HelmRelease behind an app, as the app API stores it and the release controller has marked it."""
    metadata = {"name": name, "namespace": namespace}
    made = to_release(APPS[KINDS[kind].plural], namespace, {"metadata": metadata, "spec": spec})
    made["metadata"]["finalizers"] = [FINALIZER]
    return made


def _inherited(objects: Iterable[Object], namespace: str) -> dict[str, Any]:
    """What the Secret of a namespace hands down to its releases."""
    for one in objects:
        if one["kind"] == "Secret" and key_of(one) == (namespace, _SECRET):
            return yaml.safe_load(base64.b64decode(one["data"]["values.yaml"])) or {}
    return {}


def _healthy(app: Object, inherited: dict[str, Any]) -> Object:
    """With the status that an installation ends with."""
    app, verdict = stored(app), ("True", "InstallSucceeded", "Helm install succeeded")
    meta = app["metadata"]
    entry = {"name": meta["name"], "namespace": meta["namespace"], "version": 1, "status": "deployed"}
    status = {
        "observedGeneration": 1,
        "lastAttemptedConfigDigest": digest_of(app, inherited),
        "lastAttemptedGeneration": 1,
        "lastAttemptedRevision": REVISION,
        "lastAttemptedReleaseAction": "install",
        "history": [entry | {"chartVersion": REVISION}],
        "conditions": _dated(conditions({}, ("Ready", *verdict), ("Released", *verdict), observedGeneration=1)),
    }
    return app | {"status": status}


def _deployed(rendered: list[Object], cluster: list[Object]) -> list[Object]:
    """What Cluster API adds to new objects: the cluster as an owner, the replicas."""
    owners = [owner(one, controller=False) for one in cluster if one["kind"] == "Cluster"]
    found = []
    for one in rendered:
        if one["kind"] in ("MachineDeployment", "KubevirtMachineTemplate"):
            one = one | {"metadata": one["metadata"] | {"ownerReferences": owners}}
        if one["kind"] == "MachineDeployment":
            one = one | {"spec": one["spec"] | {"replicas": autoscaled(one)}}
        found.append(one)
    return found


def _reported(one: Object) -> Object:
    """The status of an object that has no workers, as an addition to it."""
    if one["kind"] == "Namespace":
        return {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    if one["kind"] == "WorkloadMonitor":
        return {"status": {"operational": True, "availableReplicas": 0, "observedReplicas": 0}}
    if one["kind"] != "MachineDeployment":
        return {}
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), 0)
    labels = sorted(one["spec"]["selector"]["matchLabels"].items())
    status = {
        "observedGeneration": 1,
        **counts,
        "unavailableReplicas": 0,
        "phase": "Running",
        "selector": ",".join(f"{key}={value}" for key, value in labels),
        "conditions": _dated(conditions({}, ("Available", "True", "", ""))),
    }
    return {"status": status}


def _dated(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one | {"lastTransitionTime": SINCE} for one in found]
