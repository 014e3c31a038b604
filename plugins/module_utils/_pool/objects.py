# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cluster API, Kamaji and Flux objects around a pool, read tolerantly from the API's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._storage.objects import GOLDEN_ANNOTATION, Condition, Meta, condition, conditions_of
from .._storage.reading import dig, items, mapping, number, text, texts

RELEASE_ANNOTATION = "meta.helm.sh/release-name"
DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"
_DISKS = ("spec", "template", "spec", "virtualMachineTemplate", "spec", "dataVolumeTemplates")


@dataclass(frozen=True)
class MachineDeployment:
    """The three references that roll a pool, who owns it, and how far its machines are.

    ``replicas`` are wanted (None: not stated), ``live_replicas`` are there, ``updated_replicas`` are of the present template.
    """

    meta: Meta
    cluster_name: str = ""
    version: str = ""
    template_name: str = ""
    config_name: str = ""
    release_name: str = ""
    replicas: int | None = None
    live_replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    generation: int = 0
    observed_generation: int = 0
    max_surge: int | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def updating(self) -> bool:
        """Whether machines are still being replaced, or the controller has not looked at the present template yet."""
        return self.observed_generation < self.generation or self.updated_replicas != self.live_replicas

    def settled(self, least: int) -> bool:
        """Whether every machine is of the present template and ready, and there are at least that many."""
        return not self.updating and self.ready_replicas == self.live_replicas >= least

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> MachineDeployment:
        meta = Meta.from_api(obj)
        return cls(
            meta=meta,
            cluster_name=text(obj, "spec", "clusterName"),
            version=text(obj, "spec", "template", "spec", "version"),
            template_name=text(obj, "spec", "template", "spec", "infrastructureRef", "name"),
            config_name=text(obj, "spec", "template", "spec", "bootstrap", "configRef", "name"),
            release_name=meta.annotations.get(RELEASE_ANNOTATION, ""),
            replicas=_optional(obj, "spec", "replicas"),
            live_replicas=number(obj, "status", "replicas"),
            generation=number(obj, "metadata", "generation"),
            observed_generation=number(obj, "status", "observedGeneration"),
            ready_replicas=number(obj, "status", "readyReplicas"),
            updated_replicas=number(obj, "status", "updatedReplicas"),
            max_surge=_optional(obj, "spec", "strategy", "rollingUpdate", "maxSurge"),
            conditions=conditions_of(obj),
        )


@dataclass(frozen=True)
class Machine:
    """One worker. ``virtual_machine`` has the name of its KubevirtMachine; ``failure`` is what ended it for good, blank if nothing did."""

    meta: Meta
    deployment: str = ""
    virtual_machine: str = ""
    phase: str = ""
    failure: str = ""

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Machine:
        meta = Meta.from_api(obj)
        phase = text(obj, "status", "phase")
        told = text(obj, "status", "failureMessage") or text(obj, "status", "failureReason")
        return cls(
            meta=meta,
            deployment=meta.labels.get(DEPLOYMENT_LABEL, ""),
            virtual_machine=text(obj, "spec", "infrastructureRef", "name"),
            phase=phase,
            failure=told or ("phase Failed" if phase == "Failed" else ""),
        )


@dataclass(frozen=True)
class MachineSet:
    """A set of machines; it keeps its machine template alive even when scaled to zero."""

    meta: Meta
    cluster_name: str = ""
    template_name: str = ""
    replicas: int = 0
    live_replicas: int = 0

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> MachineSet:
        return cls(
            meta=Meta.from_api(obj),
            cluster_name=text(obj, "spec", "clusterName"),
            template_name=text(obj, "spec", "template", "spec", "infrastructureRef", "name"),
            replicas=number(obj, "spec", "replicas"),
            live_replicas=number(obj, "status", "replicas"),
        )


@dataclass(frozen=True)
class MachineTemplate:
    """KubevirtMachineTemplate: what its boot disk is made from."""

    meta: Meta
    release_name: str = ""
    owner_clusters: tuple[str, ...] = ()
    golden: str = ""
    source_claim: tuple[str, str] | None = None
    http_url: str = ""
    disk: Mapping[str, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> MachineTemplate:
        meta = Meta.from_api(obj)
        disk = next(items(obj, *_DISKS), {})
        source = text(disk, "spec", "source", "pvc", "namespace"), text(disk, "spec", "source", "pvc", "name")
        owners = items(obj, "metadata", "ownerReferences")
        return cls(
            meta=meta,
            release_name=meta.annotations.get(RELEASE_ANNOTATION, ""),
            owner_clusters=tuple(text(owner, "name") for owner in owners if text(owner, "kind") == "Cluster"),
            golden=texts(disk, "metadata", "annotations").get(GOLDEN_ANNOTATION, ""),
            source_claim=source if source[1] else None,
            http_url=text(disk, "spec", "source", "http", "url"),
            disk=disk,
            spec=mapping(obj, "spec"),
        )


@dataclass(frozen=True)
class KamajiControlPlane:
    """The parent cluster's control plane; ``version`` may lack the leading v."""

    meta: Meta
    version: str = ""

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> KamajiControlPlane:
        return cls(meta=Meta.from_api(obj), version=text(obj, "spec", "version"))


@dataclass(frozen=True)
class InstanceType:
    """VirtualMachineClusterInstancetype with its guest size as written (None when it states none)."""

    meta: Meta
    cpu: str | int | None = None
    memory: str | int | None = None

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> InstanceType:
        return cls(
            meta=Meta.from_api(obj), cpu=dig(obj, "spec", "cpu", "guest"), memory=dig(obj, "spec", "memory", "guest")
        )


@dataclass(frozen=True)
class HelmRelease:
    """Flux HelmRelease behind an application or a package."""

    meta: Meta
    app_kind: str = ""
    app_name: str = ""
    package: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    suspended: bool = False
    generation: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    install_timeout: str = ""
    timeout: str = ""

    @property
    def namespace(self) -> str:
        return self.meta.namespace

    @property
    def name(self) -> str:
        return self.meta.name

    @property
    def ready(self) -> Condition | None:
        return condition(self.conditions, "Ready")

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> HelmRelease:
        meta = Meta.from_api(obj)
        return cls(
            meta=meta,
            app_kind=meta.labels.get("apps.cozystack.io/application.kind", ""),
            app_name=meta.labels.get("apps.cozystack.io/application.name", ""),
            package=meta.labels.get("cozystack.io/package", ""),
            values=mapping(obj, "spec", "values"),
            suspended=dig(obj, "spec", "suspend") is True,
            generation=number(obj, "metadata", "generation"),
            observed_generation=number(obj, "status", "observedGeneration"),
            conditions=conditions_of(obj),
            install_timeout=text(obj, "spec", "install", "timeout"),
            timeout=text(obj, "spec", "timeout"),
        )


@dataclass(frozen=True)
class Parent:
    """A Kubernetes application (control plane); ``talos`` is its copy of the pools' Talos defaults."""

    meta: Meta
    version: str = ""
    talos: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> Parent:
        return cls(Meta.from_api(obj), text(obj, "spec", "version"), mapping(obj, "spec", "talos"))


def _optional(obj: Mapping[str, Any], *path: str) -> int | None:
    value = dig(obj, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
