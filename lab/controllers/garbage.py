# SPDX-License-Identifier: Apache-2.0
"""What a controller-manager does on a real cluster: objects without owners go, namespaces that are deleted empty."""

from __future__ import annotations

from typing import Any

from lab.api import Api, ApiError, Cache, Key, Object, key_of
from lab.controllers.objects import deleting
from lab.controllers.runtime import Controller, Runtime
from lab.kinds import KINDS

_UNCACHED = ("Secret", "ConfigMap", "Service", "ServiceAccount", "Role", "RoleBinding", "ResourceQuota", "Event")


def _owner_key(dependent: Object, reference: dict[str, Any]) -> Key:
    kind = KINDS.get(reference["kind"])
    namespaced = kind is None or kind.namespaced
    return (dependent["metadata"].get("namespace", "") if namespaced else "", reference["name"])


class Garbage(Controller):
    """Keys are (kind, "namespace/name") of dependents."""

    name = "garbage"

    def __init__(self, runtime: Runtime, api: Api) -> None:
        super().__init__(runtime, api)
        self._dependents: dict[str, set[Key]] = {}

    def setup(self) -> None:
        for cache in self.runtime.caches.values():
            cache.listeners.append(self._heard)

    def _heard(self, event: str, key: Key, obj: Object) -> None:
        own = (obj["kind"], "/".join(key))
        references = obj["metadata"].get("ownerReferences", [])
        if event == "DELETED":
            for reference in references:
                self._dependents.get(reference["uid"], set()).discard(own)
            for dependent in self._dependents.pop(obj["metadata"]["uid"], set()):
                self.enqueue(dependent)
            return
        for reference in references:
            self._dependents.setdefault(reference["uid"], set()).add(own)
        if references and not any(self._known(obj, reference) for reference in references):
            self.enqueue(own)

    def _known(self, dependent: Object, reference: dict[str, Any]) -> bool:
        cache: Cache | None = self.runtime.caches.get(reference["kind"])
        found = cache.get(*_owner_key(dependent, reference)) if cache else None
        return found is not None and found["metadata"]["uid"] == reference["uid"]

    async def _lives(self, dependent: Object, reference: dict[str, Any]) -> bool:
        """Asked from the server: a cache may hear of a dependent before it hears of the owner."""
        if reference["kind"] not in KINDS or self._known(dependent, reference):
            return True
        namespace, name = _owner_key(dependent, reference)
        found = await self.write.api.get(reference["kind"], name, namespace or None)
        return found is not None and found["metadata"]["uid"] == reference["uid"]

    async def reconcile(self, key: Key) -> float | None:
        namespace, _, name = key[1].partition("/")
        obj = self.runtime.caches[key[0]].get(namespace, name)
        if obj is None or deleting(obj):
            return None
        for reference in obj["metadata"].get("ownerReferences", []):
            if await self._lives(obj, reference):
                return None
        if obj["metadata"].get("ownerReferences"):
            await self.write.delete(obj)
        return None


class Namespaces(Controller):
    """Keys are ("", namespace). Releases go first: they take their objects along, as far as those may go."""

    name = "namespaces"

    def setup(self) -> None:
        self.watch("Namespace", lambda _, obj: [key_of(obj)] if deleting(obj) else [])
        for kind in list(self.runtime.caches):
            if KINDS[kind].namespaced:
                self.watch(kind, self._namespace_of_deleted)

    def _namespace_of_deleted(self, event: str, obj: Object) -> list[Key]:
        name = obj["metadata"]["namespace"]
        namespace = self.runtime.cache("Namespace").get("", name)
        return [("", name)] if event == "DELETED" and namespace and deleting(namespace) else []

    async def reconcile(self, key: Key) -> float | None:
        namespace = self.runtime.cache("Namespace").get(*key)
        if namespace is None or not deleting(namespace):
            return None
        releases = self.runtime.cache("HelmRelease").in_namespace(key[1])
        left = releases or [
            obj
            for kind, cache in self.runtime.caches.items()
            if KINDS[kind].namespaced
            for obj in cache.in_namespace(key[1])
        ]
        for obj in left:
            if not deleting(obj):
                await self.write.delete(obj)
        if left:
            return 0.0 if not any(cache.in_namespace(key[1]) for cache in self._namespaced()) else None
        for kind in _UNCACHED:
            await self.write.api.request("DELETE", KINDS[kind].path(key[1]))
        return await self._finalize(namespace)

    def _namespaced(self) -> list[Cache]:
        return [cache for kind, cache in self.runtime.caches.items() if KINDS[kind].namespaced]

    async def _finalize(self, namespace: Object) -> None:
        namespace = namespace | {"spec": {"finalizers": []}}
        try:
            await self.write.api.replace(namespace, "finalize")
        except ApiError as error:
            if error.status != 404:
                raise
