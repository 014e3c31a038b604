# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""StorageClass, DataVolume and claim as frozen values, read tolerantly from the API's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .reading import dig, items, mapping, number, text, text_in, texts

GOLDEN_ANNOTATION = "kubernetes-worker-image.cozystack.io/golden"
POOL_ANNOTATION = "kubernetes-worker-image.cozystack.io/pool"
IMMEDIATE_BIND_ANNOTATION = "cdi.kubevirt.io/storage.bind.immediate.requested"

VIRT_DEFAULT = "storageclass.kubevirt.io/is-default-virt-class"
GA_DEFAULT = "storageclass.kubernetes.io/is-default-class"
BETA_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"


@dataclass(frozen=True)
class Meta:
    """The parts of ``metadata`` we use; ``created`` is the API's RFC 3339 text, which orders as text."""

    name: str
    namespace: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    deleted: str = ""
    uid: str = ""
    resource_version: str = ""
    finalizers: tuple[str, ...] = ()
    owners: tuple[tuple[str, str, str], ...] = ()  # kind, name, uid

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Meta:
        meta = mapping(obj, "metadata")
        return cls(
            name=text_in(meta, "name"),
            namespace=text_in(meta, "namespace"),
            annotations=texts(meta, "annotations"),
            labels=texts(meta, "labels"),
            created=text_in(meta, "creationTimestamp"),
            deleted=text_in(meta, "deletionTimestamp"),
            uid=text_in(meta, "uid"),
            resource_version=text_in(meta, "resourceVersion"),
            finalizers=_texts_of(meta.get("finalizers")),
            owners=_owners_of(meta.get("ownerReferences")),
        )


def _texts_of(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()


def _owners_of(value: Any) -> tuple[tuple[str, str, str], ...]:
    if not value or not isinstance(value, (list, tuple)):
        return ()
    return tuple(
        (text_in(one, "kind"), text_in(one, "name"), text_in(one, "uid")) for one in value if isinstance(one, dict)
    )


@dataclass(frozen=True)
class Condition:
    """One status condition; ``status`` is "True", "False", "Unknown" or blank."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    changed: str = ""


def conditions_of(obj: Mapping[str, Any]) -> tuple[Condition, ...]:
    """``status.conditions`` of any object."""
    return tuple(
        Condition(
            text_in(item, "type"),
            text_in(item, "status"),
            text_in(item, "reason"),
            text_in(item, "message"),
            text_in(item, "lastTransitionTime"),
        )
        for item in items(obj, "status", "conditions")
    )


def condition(conditions: tuple[Condition, ...], wanted: str) -> Condition | None:
    """The first condition of that type."""
    return next((item for item in conditions if item.type == wanted), None)


def size_text(value: Any) -> str | int | None:
    """A storage request as it was written; absent, blank and foreign types read as None."""
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "" else None


@dataclass(frozen=True)
class StorageClass:
    """``storage.k8s.io/v1`` StorageClass. ``expandable`` and ``binding_mode`` are None and blank when not stated."""

    meta: Meta
    provisioner: str = ""
    binding_mode: str = ""
    expandable: bool | None = None

    @property
    def name(self) -> str:
        return self.meta.name

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> StorageClass:
        expandable = dig(obj, "allowVolumeExpansion")
        return cls(
            meta=Meta.from_api(obj),
            provisioner=text(obj, "provisioner"),
            binding_mode=text(obj, "volumeBindingMode"),
            expandable=expandable if isinstance(expandable, bool) else None,
        )


@dataclass(frozen=True)
class DataVolume:
    """``cdi.kubevirt.io/v1beta1`` DataVolume. ``storage_request`` keeps the spelling of the spec."""

    meta: Meta
    storage_class: str = ""
    storage_request: str | int | None = None
    http_url: str = ""
    source_claim: tuple[str, str] | None = None
    source_kinds: tuple[str, ...] = ()
    phase: str = ""
    progress: str = ""
    restarts: int = 0
    claim_name: str = ""
    conditions: tuple[Condition, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def namespace(self) -> str:
        return self.meta.namespace

    @property
    def golden(self) -> str:
        """The golden this disk was cloned from, by annotation; blank when it says nothing."""
        return self.meta.annotations.get(GOLDEN_ANNOTATION, "")

    @property
    def pool(self) -> str:
        """The pool this disk belongs to (``<clusterName>-<pool>``), by annotation; names are never parsed."""
        return self.meta.annotations.get(POOL_ANNOTATION, "")

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> DataVolume:
        spec, status = mapping(obj, "spec"), mapping(obj, "status")
        source, storage = mapping(spec, "source"), mapping(spec, "storage")
        claim = mapping(source, "pvc")
        return cls(
            meta=Meta.from_api(obj),
            storage_class=text_in(storage, "storageClassName"),
            storage_request=size_text(dig(storage, "resources", "requests", "storage")),
            http_url=text(source, "http", "url"),
            source_claim=(text_in(claim, "namespace"), text_in(claim, "name")) if text_in(claim, "name") else None,
            source_kinds=tuple(sorted(source)),
            phase=text_in(status, "phase"),
            progress=text_in(status, "progress"),
            restarts=number(status, "restartCount"),
            claim_name=text_in(status, "claimName"),
            conditions=conditions_of(obj),
            spec=spec,
        )


@dataclass(frozen=True)
class Claim:
    """PersistentVolumeClaim. ``capacity`` is what the volume really has, which a driver may have rounded up.

    ``data_source`` is the claim of the same namespace that it is cloned from; blank when it is not a clone.
    """

    meta: Meta
    storage_class: str = ""
    storage_request: str | int | None = None
    capacity: str | int | None = None
    volume_mode: str = ""
    phase: str = ""
    data_source: str = ""

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def namespace(self) -> str:
        return self.meta.namespace

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Claim:
        sources = [mapping(obj, "spec", key) for key in ("dataSource", "dataSourceRef")]
        return cls(
            meta=Meta.from_api(obj),
            storage_class=text(obj, "spec", "storageClassName"),
            storage_request=size_text(dig(obj, "spec", "resources", "requests", "storage")),
            capacity=size_text(dig(obj, "status", "capacity", "storage")),
            volume_mode=text(obj, "spec", "volumeMode"),
            phase=text(obj, "status", "phase"),
            data_source=next(
                (text_in(one, "name") for one in sources if text_in(one, "kind") == "PersistentVolumeClaim"), ""
            ),
        )


@dataclass(frozen=True)
class StorageProfile:
    """CDI's StorageProfile of a class: what a claim of that class gets and how it is cloned."""

    meta: Meta
    clone_strategy: str = ""
    volume_modes: tuple[str, ...] = ()
    has_access_modes: bool = False
    snapshot_class: str = ""

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def volume_mode(self) -> str:
        """The mode that a claim gets when it asks for none: the first one."""
        return self.volume_modes[0] if self.volume_modes else ""

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> StorageProfile:
        sets = tuple(items(obj, "status", "claimPropertySets"))
        return cls(
            meta=Meta.from_api(obj),
            clone_strategy=text(obj, "status", "cloneStrategy"),
            volume_modes=tuple(text(entry, "volumeMode") for entry in sets),
            has_access_modes=any(dig(entry, "accessModes") for entry in sets),
            snapshot_class=text(obj, "status", "snapshotClass"),
        )
