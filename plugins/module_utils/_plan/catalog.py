# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the platform Package and the catalog an operator declares to the one merge patch that brings it about.

The platform Package holds other people's settings: lists are read, extended and written whole, keys beside ours stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._image.golden import CATALOG_PACKAGE, CATALOG_RELEASE
from .._storage.quantity import same_quantity
from .changes import ABSENT, Change, Path, compare, equal, merge_patch
from .plan import PATCH, Plan, Step, fingerprint

PLATFORM_PACKAGE = "cozystack.cozystack-platform"
VALUES_PATH: Path = ("spec", "components", "platform", "values")
# Only these variants carry the IaaS bundle; elsewhere the package name is ignored without an error (platform rule PL1).
IAAS_VARIANTS = ("isp-full", "isp-full-generic")
# A healthy release ignores one of them without the other.
FORCE_ANNOTATIONS = ("reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/requestedAt")
_URL_KEYS = frozenset({"imageFactoryURL"})
_SIZE_KEYS = frozenset({"storage"})


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []


@dataclass(frozen=True)
class PlatformPackage:
    """The platform Package as far as the catalog is concerned."""

    name: str
    resource_version: str
    variant: str
    values: Mapping[str, Any]

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> PlatformPackage:
        metadata, spec = _mapping(obj.get("metadata")), _mapping(obj.get("spec"))
        component = _mapping(_mapping(spec.get("components")).get("platform"))
        return cls(
            name=str(metadata.get("name") or ""),
            resource_version=str(metadata.get("resourceVersion") or ""),
            variant=str(spec.get("variant") or "default"),
            values=_mapping(component.get("values")),
        )

    @property
    def bundles(self) -> Mapping[str, Any]:
        return _mapping(self.values.get("bundles"))

    @property
    def enabled(self) -> list[Any]:
        return _list(self.bundles.get("enabledPackages"))

    @property
    def facts(self) -> dict[str, str]:
        """What a step rests on: the live catalog, and the packages that are enabled beside it."""
        return {"live": fingerprint([self.catalog, self.enabled])}

    @property
    def disabled(self) -> list[Any]:
        return _list(self.bundles.get("disabledPackages"))

    @property
    def iaas_switched_off(self) -> bool:
        return _mapping(self.bundles.get("iaas")).get("enabled") is False

    @property
    def catalog(self) -> Mapping[str, Any]:
        return _mapping(self.values.get("kubernetesWorkerImage"))


def _pair(entry: Any) -> tuple[str, str]:
    entry = _mapping(entry)
    return str(entry.get("schematicID") or ""), str(entry.get("version") or "")


def _same_field(path: Path, declared: Any, live: Any) -> bool:
    """Sizes are equal as numbers, base URLs but for trailing slashes; everything else to the letter."""
    if path[-1] in _SIZE_KEYS:
        return same_quantity(declared, live)
    if path[-1] in _URL_KEYS and isinstance(declared, str) and isinstance(live, str):
        return declared.rstrip("/") == live.rstrip("/")
    return equal(path, declared, live)


def _merged_entry(declared: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """The live entry with declared fields on top; what is equal keeps its live spelling, so the chart sees no drift."""
    merged = dict(live)
    for key, value in declared.items():
        if value is None:
            merged.pop(key, None)
        elif key not in live or not _same_field((key,), value, live[key]):
            merged[key] = value
    return merged


def merge_images(declared: Sequence[Mapping[str, Any]], live: Sequence[Any], exact: bool) -> list[Any]:
    """The whole list to write. Entries are recognised by (schematicID, version), live order is kept, new ones follow."""
    wanted = {_pair(entry): entry for entry in declared}
    merged: list[Any] = []
    seen = set()
    for entry in live:
        pair = _pair(entry)
        if pair in wanted and pair not in seen:
            merged.append(_merged_entry(wanted[pair], _mapping(entry)))
            seen.add(pair)
        elif not exact:
            merged.append(entry)
    merged += [
        {key: value for key, value in entry.items() if value is not None}
        for entry in declared
        if _pair(entry) not in seen
    ]
    return merged


def desired_catalog(declared: Mapping[str, Any], live: Mapping[str, Any], exact: bool) -> dict[str, Any]:
    """kubernetesWorkerImage after the run: what is declared over what is live, foreign keys kept."""
    desired = dict(live)
    for key, value in declared.items():
        if key == "images":
            desired[key] = merge_images(_list(value), _list(live.get("images")), exact)
        elif value is None:
            desired.pop(key, None)
        elif key not in live or not _same_field((key,), value, live[key]):
            desired[key] = value
    return desired


def catalog_changes(desired: Mapping[str, Any], platform: PlatformPackage) -> tuple[Change, ...]:
    """Changes to the platform Package that make its catalog the desired one; paths from the object's root."""
    gone = {key: None for key in platform.catalog if key not in desired}
    wanted: dict[str, Any] = {"kubernetesWorkerImage": {**desired, **gone}} if desired or gone else {}
    if CATALOG_PACKAGE not in platform.enabled:
        wanted["bundles"] = {"enabledPackages": [*platform.enabled, CATALOG_PACKAGE]}
    return compare(wanted, platform.values, equal, VALUES_PATH)


def removal_changes(platform: PlatformPackage) -> tuple[Change, ...]:
    """Stop managing: the name leaves the list, the block stays for whoever wrote it (it is inert without the package)."""
    if CATALOG_PACKAGE not in platform.enabled:
        return ()
    left = [name for name in platform.enabled if name != CATALOG_PACKAGE]
    return compare({"bundles": {"enabledPackages": left}}, platform.values, equal, VALUES_PATH)


def catalog_plan(platform: PlatformPackage, changes: Sequence[Change], reason: str) -> Plan:
    """The plan of one patch, guarded by the resourceVersion that was read (a Package honours it)."""
    if not changes:
        return Plan()
    return Plan((Step(PATCH, "Package", "", platform.name, reason, tuple(changes), merge_patch(changes)),))


def force_step(reason: str) -> Step:
    """One forced render of the catalog. The moment is chosen when it is written, so that the plan has the same hash until then."""
    fields = tuple(Change(("metadata", "annotations", key), ABSENT, "now") for key in FORCE_ANNOTATIONS)
    payload = {"metadata": {"annotations": dict.fromkeys(FORCE_ANNOTATIONS, "now")}}
    return Step(PATCH, "HelmRelease", *CATALOG_RELEASE, reason, fields, payload)
