# SPDX-License-Identifier: Apache-2.0
"""What Helm does with rendered objects: create, patch three ways, remove what is no longer rendered, remember."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.api import Api, ApiError, Key, Object
from lab.controllers.objects import annotations, deleting, labels, owner, three_way
from lab.controllers.runtime import Writer
from lab.controllers.workers.rollout import autoscaled
from lab.kinds import KINDS

KEEP = "helm.sh/resource-policy"
# Written by a job of the release on a platform, and its spec cannot be changed there.
_WRITTEN_ONCE = ("TalosConfigTemplate",)
# Helm compares what it adopts with its own manifest instead of the live object, so it changes nothing of it.
_ADOPTED_AS_THEY_ARE = ("DataVolume",)
_FIRST = ("Namespace", "ResourceQuota", "Secret", "ConfigMap", "PackageSource", "Package", "Cluster")
Identity = tuple[str, str, str]  # kind, namespace, name


def identity(obj: Object) -> Identity:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def owned(obj: Object, release: Object) -> Object:
    """The object with Helm's marks, and monitors with the marks of the app, as the platform's webhook sets them."""
    meta, name, namespace = obj["metadata"], release["metadata"]["name"], release["metadata"]["namespace"]
    marks = {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}
    tags = {"app.kubernetes.io/managed-by": "Helm"}
    if obj["kind"] == "WorkloadMonitor":
        tags |= {
            key: value for key, value in labels(release).items() if key.startswith("apps.cozystack.io/application.")
        }
    meta = meta | {"annotations": annotations(obj) | marks, "labels": tags | labels(obj)}
    if KINDS[obj["kind"]].namespaced:
        meta.setdefault("namespace", namespace)
    return obj | {"metadata": meta}


class Manifests:
    """The last manifest of each release. Helm keeps it in a Secret; files spare two requests per release."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, release: Key) -> Path:
        return self._folder / release[0] / f"{release[1]}.json"

    def load(self, release: Key) -> dict[Identity, Object] | None:
        """None when nothing was ever applied."""
        try:
            objects = json.loads(self._path(release).read_text())
        except FileNotFoundError:
            return None
        return {identity(obj): obj for obj in objects}

    def save(self, release: Key, objects: list[Object]) -> None:
        path = self._path(release)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(objects))
        temporary.replace(path)

    def remove(self, release: Key) -> None:
        self._path(release).unlink(missing_ok=True)


class Applier:
    """Writes the objects of one release after another."""

    def __init__(self, write: Writer) -> None:
        self._write, self.manifests = write, Manifests(write.runtime.volumes / ".releases")

    async def live(self, obj: Object) -> Object | None:
        kind, namespace, name = identity(obj)
        cache = self._write.runtime.caches.get(kind)
        if cache is not None and kind != "Secret":
            return cache.get(namespace, name)
        return await self._write.api.get(kind, name, namespace or None)

    async def apply(self, release: Object, rendered: list[Object], old: dict[Identity, Object] | None) -> list[Object]:
        """Make the cluster hold the rendered objects. Errors: ApiError of the first object that is refused."""
        key = release["metadata"]["namespace"], release["metadata"]["name"]
        before, objects = old or {}, [owned(obj, release) for obj in rendered]
        objects.sort(key=lambda obj: _FIRST.index(obj["kind"]) if obj["kind"] in _FIRST else len(_FIRST))
        wanted = {identity(obj) for obj in objects}
        dropped = [obj for one, obj in before.items() if one not in wanted]
        # Remembered before anything is written: a killed controller must know what it may have to remove.
        if list(before.values()) != [*objects, *dropped] or old is None:
            self.manifests.save(key, [*objects, *dropped])
        for obj in objects:
            await self._put(obj, before.get(identity(obj)), objects)
        if dropped:
            await self.remove(dropped)
            self.manifests.save(key, objects)
        return objects

    async def _put(self, obj: Object, old: Object | None, siblings: list[Object]) -> None:
        kind, namespace, name = identity(obj)
        live = await self.live(obj)
        if live is not None and kind in _WRITTEN_ONCE:
            return
        if live is not None and old is None and kind in _ADOPTED_AS_THEY_ARE:
            return
        if live is not None and await self._patch((kind, namespace, name), _fields(old or {}), _fields(obj)):
            return
        try:
            await self._write.create(self._defaulted(obj, siblings))
        except ApiError as error:
            # Somebody was faster, or the cache is behind. A release takes over what it finds.
            if error.status != 409 or error.body.get("reason") != "AlreadyExists":
                raise
            await self._patch((kind, namespace, name), _fields(old or {}), _fields(obj))

    def _defaulted(self, obj: Object, siblings: list[Object]) -> Object:
        """What Cluster API's webhook and controller add to new objects at once, added here to spare three writes."""
        deployment = next((one for one in siblings if one["kind"] == "MachineDeployment"), None)
        if deployment is None or obj["kind"] not in ("MachineDeployment", "KubevirtMachineTemplate"):
            return obj
        namespace, name = obj["metadata"]["namespace"], deployment["spec"]["clusterName"]
        cluster = self._write.runtime.cache("Cluster").get(namespace, name)
        if cluster:
            obj = obj | {"metadata": obj["metadata"] | {"ownerReferences": [owner(cluster, controller=False)]}}
        if obj["kind"] == "MachineDeployment":
            return obj | {"spec": obj["spec"] | {"replicas": autoscaled(obj)}}
        return obj

    async def _patch(self, one: Identity, old: dict[str, Any], new: dict[str, Any]) -> bool:
        return await self._write.patch(one[0], one[1:], three_way(old, new)) is not None

    async def remove(self, objects: list[Object]) -> None:
        """Delete what exists, unless its live annotations say that it is kept."""
        for obj in reversed(objects):
            live = await self.live(obj)
            if live is not None and not deleting(live) and annotations(live).get(KEEP) != "keep":
                await self._write.delete(Api.typed(obj["kind"], live))


def _fields(obj: Object) -> dict[str, Any]:
    """What a patch may speak about."""
    if not obj:
        return {}
    meta = {key: value for key, value in obj["metadata"].items() if key in ("labels", "annotations", "ownerReferences")}
    return {"metadata": meta} | {
        key: value for key, value in obj.items() if key not in ("metadata", "kind", "apiVersion")
    }
