# SPDX-License-Identifier: Apache-2.0
"""The package operator: a Package and the PackageSource of its name become one HelmRelease per component."""

from __future__ import annotations

import asyncio
from typing import Any

from lab.api import Key, Object
from lab.controllers.objects import condition, conditions, deleting, labels, owned_by, owner, status, three_way
from lab.controllers.runtime import Controller

PACKAGE_LABEL = "cozystack.io/package"
SKIP_VALUES = "operator.cozystack.io/skip-cozystack-values"
_SYSTEM = "cozy-system"
_ACTION = {"timeout": "10m0s", "strategy": {"name": "RetryOnFailure", "retryInterval": "30s"}}


class NotGenerated(Exception):
    """Why a Package is not turned into releases; ``reason`` is the one of its Ready condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def variant_of(package: Object, source: Object | None) -> dict[str, Any]:
    """The variant of the source that the package asks for. Errors: NotGenerated."""
    name = package["metadata"]["name"]
    if source is None:
        raise NotGenerated("PackageSourceNotFound", f"PackageSource {name} not found")
    wanted = package.get("spec", {}).get("variant") or "default"
    for variant in source["spec"].get("variants", []):
        if variant["name"] == wanted:
            return dict(variant)
    raise NotGenerated("VariantNotFound", f"variant {wanted} not found in PackageSource {name}")


def release_of(package: Object, source: Object, variant: str, component: dict[str, Any]) -> Object:
    """The HelmRelease of one component, without what a live one may have beside it (suspend)."""
    name, install = package["metadata"]["name"], component["install"]
    chart = f"{source['metadata']['name']}-{variant}-{component['name']}".replace(".", "-")
    spec: dict[str, Any] = {
        "interval": "5m0s",
        "chartRef": {"kind": "ExternalArtifact", "name": chart, "namespace": _SYSTEM},
        "maxHistory": 5,
        "install": _ACTION,
        "upgrade": _ACTION,
    }
    if (source["metadata"].get("annotations") or {}).get(SKIP_VALUES) != "true":
        spec["valuesFrom"] = [{"kind": "Secret", "name": "cozystack-values"}]
    given = package.get("spec", {}).get("components", {}).get(component["name"], {})
    if given.get("values"):
        spec["values"] = given["values"]
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {
            "name": install.get("releaseName") or component["name"],
            "namespace": install.get("namespace") or _SYSTEM,
            "labels": {PACKAGE_LABEL: name},
            "ownerReferences": [owner(package)],
        },
        "spec": spec,
    }


class Operator(Controller):
    """Keys are ("", package)."""

    name = "operator"
    kind = "Package"

    def setup(self) -> None:
        self.watch("Package", self._package_and_dependents)
        self.watch("PackageSource")
        self.watch(
            "HelmRelease", lambda _, obj: [("", labels(obj)[PACKAGE_LABEL])] if PACKAGE_LABEL in labels(obj) else []
        )

    def _package_and_dependents(self, _: str, package: Object) -> list[Key]:
        name = package["metadata"]["name"]
        waiting = [key for key, obj in self.runtime.cache("Package").objects.items() if name in self._dependencies(obj)]
        return [("", name), *waiting]

    @staticmethod
    def _dependencies(package: Object) -> dict[str, Any]:
        known: dict[str, Any] = status(package).get("dependencies") or {}
        return known

    async def reconcile(self, key: Key) -> float | None:
        package = self.runtime.cache("Package").get(*key)
        if package is None or deleting(package):
            return None
        source = self.runtime.cache("PackageSource").get(*key)
        try:
            self._check_script(key)
            variant = variant_of(package, source)
            await self._check_dependencies(package, variant)
            count = await self._generate(package, source or {}, variant)
        except NotGenerated as trouble:
            await self._report(key, "False", trouble.reason, str(trouble))
            return None
        message = f"reconciliation succeeded, generated {count} helmrelease(s)"
        await self._report(key, "True", "ReconciliationSucceeded", message)
        return None

    def _check_script(self, key: Key) -> None:
        if rule := self.runtime.rules.take(self.name, "fail", key):
            raise NotGenerated(rule.reason or "InternalError", rule.message)

    async def _check_dependencies(self, package: Object, variant: dict[str, Any]) -> None:
        ignored = package.get("spec", {}).get("ignoreDependencies", [])
        ready: dict[str, dict[str, bool]] = {}
        for name in variant.get("dependsOn", []):
            other = self.runtime.cache("Package").get("", name)
            ready[name] = {"ready": other is not None and condition(other, "Ready").get("status") == "True"}
        values = {"dependencies": three_way(self._dependencies(package), ready)}
        await self.write.status("Package", ("", package["metadata"]["name"]), values)
        missing = [name for name, one in ready.items() if not one["ready"] and name not in ignored]
        if missing:
            raise NotGenerated("DependenciesNotReady", f"dependencies not ready: {', '.join(missing)}")

    async def _generate(self, package: Object, source: Object, variant: dict[str, Any]) -> int:
        wanted: dict[Key, Object] = {}
        for component in variant.get("components", []):
            given = package.get("spec", {}).get("components", {}).get(component["name"], {})
            if "install" in component and given.get("enabled", True):
                release = release_of(package, source, variant["name"], component)
                wanted[release["metadata"]["namespace"], release["metadata"]["name"]] = release
        for key, release in wanted.items():
            await self._write(key, release)
        for obj in list(self.runtime.cache("HelmRelease").objects.values()):
            key = obj["metadata"]["namespace"], obj["metadata"]["name"]
            ours = owned_by(obj, package["metadata"]["uid"])
            if labels(obj).get(PACKAGE_LABEL) == package["metadata"]["name"] and ours and key not in wanted:
                await self.write.delete(obj)
        return len(wanted)

    async def _write(self, key: Key, release: Object) -> None:
        """Values are replaced whole, everything that others put beside ours stays."""
        live = self.runtime.cache("HelmRelease").get(*key)
        if live is not None and deleting(live):
            return
        if live is None:
            await asyncio.sleep(self.timings.package_delay)
            live = await self.write.create_once(release)
        patch = {"metadata": release["metadata"], "spec": dict(release["spec"])}
        old = {"values": live["spec"].get("values", {}), "valuesFrom": live["spec"].get("valuesFrom")}
        patch["spec"] = three_way({name: one for name, one in old.items() if one is not None}, patch["spec"])
        patch["metadata"] = {
            "labels": release["metadata"]["labels"],
            "ownerReferences": release["metadata"]["ownerReferences"],
        }
        await self.write.patch("HelmRelease", key, patch)

    async def _report(self, key: Key, value: str, reason: str, message: str) -> None:
        package = self.runtime.cache("Package").get(*key)
        if package is not None:
            await self.write.status(
                "Package", key, {"conditions": conditions(package, ("Ready", value, reason, message))}
            )
