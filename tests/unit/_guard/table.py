# SPDX-License-Identifier: Apache-2.0
"""Pools and catalogs in their clusters, with exactly what the rules say about them.

Each row differs from a passing one in one term, so that every term of every rule is needed by some row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.catalog import Catalog
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.schema import POOL_SCHEMA

from .build import (
    BETA,
    CLONE,
    GA,
    GOLDEN,
    NAMESPACE,
    POOL,
    SCHEMATIC,
    SIZED,
    VIRT,
    cdi,
    claim,
    control_plane,
    csi_driver,
    deployment,
    disk,
    golden,
    instance_type,
    parent,
    profile,
    release,
    snapshot_class,
    storage_class,
    volume,
)

OLD, NEW = "2025-01-01T00:00:00Z", "2026-06-01T00:00:00Z"
NEWER_SCHEMA = POOL_SCHEMA
OLDER_SCHEMA = {key: value for key, value in POOL_SCHEMA.items() if key not in ("substrate", "osImage")}
SUSPENDED = ("release-suspended",)
NO_SNAPSHOT = "no-snapshot-class"


@dataclass(frozen=True)
class PoolRow:
    """``says`` are the ids of all refusals, ``hints`` those of all advice, in order; ``known`` sets fields of the state."""

    id: str
    spec: Mapping[str, Any]
    objects: tuple[Mapping[str, Any], ...] = ()
    says: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    name: str = "myk8s-md0"
    known: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""

    def state(self) -> ClusterState:
        return ClusterState.from_objects(self.objects, **self.known)


def row(
    row_id: str, spec: Mapping[str, Any], *objects: Mapping[str, Any], says: str = "", hints: str = "", **more: Any
) -> PoolRow:
    return PoolRow(row_id, spec, objects, tuple(says.split()), tuple(hints.split()), **more)


def planned(**entry: Any) -> Mapping[str, Any]:
    values = {"images": [{"schematicID": SCHEMATIC, "version": "v1.13.6", **entry}]}
    return {"planned_goldens": Catalog.from_values(values).by_golden()}


READY = golden()
DEFAULT = storage_class("replicated", GA, created=OLD)
LOCAL = storage_class("local", created=OLD)
TALOS_114 = golden(name=f"talos-worker-{SCHEMATIC}-v1.14.0")
FAILING = {"phase": "ImportInProgress", "restartCount": 3, "running": "False", "message": "404"}

SOURCE = (
    row("malformed-version-of-a-clone", {**SIZED, "osImage": {"builtin": {"version": "v1.13"}}}, says="version-format"),
    row("omitted", SIZED),
    row("null-image", {**SIZED, "osImage": None}),
    row("builtin", CLONE, READY),
    row("both-empty", {**SIZED, "osImage": {"builtin": {}, "factory": {}}}, says="source-ambiguous"),
    row("null-builtin", {**SIZED, "osImage": {"builtin": None}}, READY, says="values-schema null-source"),
    row("null-factory", {**SIZED, "osImage": {"factory": None}}, says="values-schema null-source"),
    row("malformed-pair-of-a-clone", {**SIZED, "osImage": {"builtin": {"schematicID": "A"}}}, says="schematic-format"),
    row(
        "both-malformed",
        {**SIZED, "talos": {"schematicID": "A", "version": "1"}},
        says="schematic-format version-format",
    ),
    row("short-schematic", {**SIZED, "osImage": {"factory": {"schematicID": "abc"}}}, hints="schematic-not-hex"),
    row("schematic-hex-upper", {**SIZED, "talos": {"schematicID": SCHEMATIC.upper()}}, says="schematic-format"),
    row("url-query", {**SIZED, "talos": {"imageFactoryURL": "https://m/?x=1"}}, hints="factory-url-query"),
    row("url-fragment", {**SIZED, "talos": {"imageFactoryURL": "http://m/#x"}}, hints="factory-url-query"),
    row("url-query-of-clone", {**CLONE, "talos": {"imageFactoryURL": "https://m/?x=1"}}, READY),
    row("url-junk-query", {**SIZED, "talos": {"imageFactoryURL": "ftp://m/?x"}}, says="factory-url-format"),
    row("proxmox-omitted", {**SIZED, "substrate": "proxmox"}),
    row("proxmox-empty-image", {**SIZED, "substrate": "proxmox", "osImage": {}}),
    row("proxmox-builtin", {**CLONE, "substrate": "proxmox"}, READY, says="substrate-without-source"),
    row(
        "proxmox-builtin-newer",
        {**CLONE, "substrate": "proxmox"},
        READY,
        says="substrate-without-source",
        known={"pool_schema": NEWER_SCHEMA},
    ),
    row(
        "proxmox-on-a-platform-without-it",
        {**SIZED, "substrate": "proxmox", "osImage": {}},
        says="unknown-field",
        known={"pool_schema": OLDER_SCHEMA},
    ),
    row(
        "proxmox-builtin-on-a-platform-without-substrate",
        {**CLONE, "substrate": "proxmox"},
        READY,
        says="unknown-field",
        known={"pool_schema": {key: value for key, value in POOL_SCHEMA.items() if key != "substrate"}},
    ),
    row("kubevirt-named", {**CLONE, "substrate": "kubevirt"}, READY),
)

WINDOW = (
    row("lagging-minor-unlisted", {**SIZED, "talos": {"version": "v1.14.0"}, "version": "v1.32"}),
    row(
        "unlisted-out-of-window",
        {**SIZED, "talos": {"version": "v1.14.0"}, "version": "v1.31"},
        hints="talos-window-unlisted",
    ),
    row(
        "unlisted-above-window",
        {**SIZED, "talos": {"version": "v1.8.4"}, "version": "v1.35"},
        hints="talos-window-unlisted",
    ),
    row("unlisted-upper-bound", {**SIZED, "talos": {"version": "v1.12.4"}, "version": "v1.35"}),
    row("unlisted-without-version", {**SIZED, "talos": {"version": "v1.14.0"}, "version": None}, says="values-schema"),
    row("unlisted-other-major", {**SIZED, "talos": {"version": "v1.14.0"}, "version": "v2.31"}, says="values-schema"),
    row("unknown-minor", {**SIZED, "talos": {"version": "v1.99.0"}}),
    row(
        "default-and-override-out",
        {**SIZED, "talos": {"version": "v1.13.6"}, "osImage": {"factory": {"version": "v1.13.7"}}, "version": "v1.30"},
        says="talos-kubernetes-window talos-kubernetes-window values-schema",
    ),
    row(
        "override-same-as-default",
        {**SIZED, "osImage": {"factory": {"version": "v1.13.6"}}, "version": "v1.30"},
        says="talos-kubernetes-window values-schema",
    ),
    row(
        "override-out-only",
        {**SIZED, "talos": {"version": "v1.12.0"}, "osImage": {"factory": {"version": "v1.14.0"}}, "version": "v1.31"},
        hints="talos-window-unlisted",
    ),
    row(
        "v1.36-by-the-published-schema",
        {**SIZED, "version": "v1.36"},
        known={"pool_schema": {**NEWER_SCHEMA, "version": {"type": "string", "enum": ["v1.36"]}}},
    ),
    row("no-version", {**SIZED, "version": None}, says="talos-kubernetes-window values-schema"),
    row("parent-behind", SIZED, control_plane("v1.34.9"), says="version-ahead-of-parent"),
    row("parent-equal", SIZED, control_plane("1.35.0")),
    row(
        "parent-behind-two-digits",
        {**SIZED, "version": "v1.35"},
        control_plane("v1.9.0"),
        says="version-ahead-of-parent",
    ),
    row("parent-ahead", {**SIZED, "version": "v1.31"}, control_plane("v1.35.0")),
    row(
        "parent-known-version-not",
        {**SIZED, "version": None},
        control_plane("v1.35.0"),
        says="talos-kubernetes-window values-schema",
    ),
    row("parent-of-other-namespace", SIZED, control_plane("v1.31.0", namespace="other")),
    row("parent-without-version", SIZED, control_plane("")),
)

CLONED = (
    row("absent", CLONE, says="golden-absent"),
    row("claim-only", CLONE, claim()),
    row("claim-elsewhere", CLONE, claim(namespace=NAMESPACE), says="golden-absent"),
    row("golden-elsewhere", CLONE, golden(namespace=NAMESPACE), says="golden-absent"),
    row("cloned-golden-gone", CLONE, disk(), hints="golden-unusable-for-new-workers"),
    row("cloned-wrong-pool", CLONE, disk(pool=f"{POOL}-gpu"), says="golden-absent"),
    row("cloned-wrong-golden", CLONE, disk(source="talos-worker-x-v1.0.0"), says="golden-absent"),
    row("cloned-not-finished", CLONE, disk("CSICloneInProgress"), says="golden-absent"),
    row("cloned-elsewhere", CLONE, disk(namespace="other"), says="golden-absent"),
    row("cloned-failed-golden", CLONE, golden("Failed"), disk(), hints="golden-unusable-for-new-workers"),
    row("cloned-failing-golden", CLONE, golden(**FAILING), disk(), hints="golden-unusable-for-new-workers"),
    row("failed", CLONE, golden("Failed"), says="golden-failed"),
    row("failed-of-factory-pool", {**SIZED, "osImage": {"factory": {}}}, golden("Failed")),
    row("failing", CLONE, golden(**FAILING), says="golden-import-failing"),
    row("two-restarts", CLONE, golden(**{**FAILING, "restartCount": 2}), hints="golden-not-ready"),
    row("running-again", CLONE, golden(**{**FAILING, "running": "True"}), hints="golden-not-ready"),
    row("running-unknown", CLONE, golden(**{**FAILING, "running": "Unknown"}), hints="golden-not-ready"),
    row("failing-of-factory-pool", {**SIZED, "osImage": {"factory": {}}}, golden(**FAILING)),
    row("restarts-then-succeeded", CLONE, golden(**{**FAILING, "phase": "Succeeded"})),
    row("importing", CLONE, golden("ImportInProgress"), hints="golden-not-ready"),
    row("waiting-for-consumer", CLONE, golden("WaitForFirstConsumer"), hints="golden-will-not-finish"),
    row("no-status", CLONE, golden(None), hints="golden-will-not-finish"),
    row("lost-claim", CLONE, golden("ImportInProgress"), claim(phase="Lost"), hints="golden-will-not-finish"),
    row("importing-of-factory-pool", {**SIZED, "osImage": {"factory": {}}}, golden("ImportInProgress")),
    row("planned", CLONE, says="", hints="golden-planned", known=planned()),
    row("planned-for-factory-pool", {**SIZED, "osImage": {"factory": {}}}, known=planned()),
    row("cloned-before-now-factory", {**SIZED, "osImage": {"factory": {}}}, disk()),
    row("planned-but-there", CLONE, READY, known=planned()),
    row("planned-for-cloned-pool", CLONE, disk(), known=planned()),
    row(
        "planned-other-class",
        CLONE,
        says="storage-class-mismatch",
        hints="golden-planned",
        known=planned(storageClass="local"),
    ),
    row(
        "planned-too-large",
        CLONE,
        says="disk-smaller-than-golden",
        hints="golden-planned",
        known=planned(storage="30Gi"),
    ),
    row(
        "planned-class-from-default",
        {**CLONE, "storageClass": "local"},
        DEFAULT,
        LOCAL,
        says="storage-class-mismatch",
        hints="golden-planned",
        known={"planned_goldens": Catalog.from_values({"storageClass": ""}).by_golden()},
    ),
)

CLASSES = (
    row(
        "claim-without-class-default-differs",
        CLONE,
        golden(storage_class=None),
        claim(storage_class=None),
        storage_class("local", GA),
        storage_class("replicated"),
        says="storage-class-mismatch",
    ),
    row(
        "golden-gone-default-differs",
        CLONE,
        disk(),
        storage_class("local", GA),
        storage_class("replicated"),
        hints="golden-unusable-for-new-workers",
    ),
    row("copy-by-profile-override-unread", CLONE, READY, profile("replicated", strategy="copy")),
    row("copy-no-profiles", CLONE, READY, cdi("")),
    row(
        "mode-profile-without-sets",
        CLONE,
        READY,
        claim(mode="Block"),
        {"kind": "StorageProfile", "metadata": {"name": "replicated"}},
        says="profile-incomplete",
    ),
    row("differ", {**CLONE, "storageClass": "local"}, READY, LOCAL, DEFAULT, says="storage-class-mismatch"),
    row(
        "differ-for-cloned-pool",
        {**CLONE, "storageClass": "local"},
        READY,
        LOCAL,
        DEFAULT,
        disk(),
        says="storage-class-mismatch",
    ),
    row("differ-factory", {**SIZED, "storageClass": "local", "osImage": {"factory": {}}}, READY, LOCAL, DEFAULT),
    row("default-equal", {**CLONE, "storageClass": ""}, READY, DEFAULT, LOCAL),
    row(
        "default-differs",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("replicated"),
        storage_class("local", GA),
        says="storage-class-mismatch",
    ),
    row("no-default", {**CLONE, "storageClass": ""}, READY, storage_class("replicated"), LOCAL),
    row(
        "golden-and-claim-without-class",
        CLONE,
        golden(storage_class=None),
        storage_class("local", GA),
        storage_class("replicated"),
        says="storage-class-mismatch",
    ),
    row(
        "golden-and-claim-without-class-no-default",
        CLONE,
        golden(storage_class=None),
        LOCAL,
        storage_class("replicated"),
    ),
    row(
        "claim-beats-default",
        CLONE,
        golden(storage_class=None),
        claim(),
        storage_class("local", GA),
        storage_class("replicated"),
    ),
    row(
        "claim-differs",
        {**CLONE, "storageClass": ""},
        golden(storage_class=None),
        claim(),
        storage_class("local", GA),
        says="storage-class-mismatch",
    ),
    row("spec-beats-claim", CLONE, READY, claim(storage_class="local")),
    row(
        "named-claim",
        CLONE,
        golden(storage_class=None, claimName="other"),
        claim(storage_class="local", name="other"),
        claim(),
        says="storage-class-mismatch",
    ),
    row(
        "cloned-on-old-default",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("fast", GA),
        storage_class("replicated"),
        disk(),
        claim(name="d1", namespace=NAMESPACE),
    ),
    row(
        "cloned-without-claim",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("fast", GA),
        disk(),
        says="storage-class-mismatch",
    ),
    row(
        "cloned-claim-without-class",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("fast", GA),
        disk(),
        claim(None, name="d1", namespace=NAMESPACE),
        says="storage-class-mismatch",
    ),
    row(
        "cloned-second-disk-tells",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("fast", GA),
        disk(),
        disk(name="d2"),
        claim(name="d2", namespace=NAMESPACE),
    ),
    row(
        "virt-default-wins",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("replicated", VIRT, created=OLD),
        storage_class("local", GA, created=NEW),
    ),
    row(
        "two-defaults",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("replicated", GA, created=NEW),
        storage_class("local", GA, created=OLD),
        hints="default-class-ambiguous",
    ),
    row(
        "beta-default",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("replicated", BETA),
        hints="default-class-ambiguous",
    ),
    row(
        "two-defaults-of-factory",
        {**SIZED, "storageClass": ""},
        storage_class("a", GA),
        storage_class("b", GA),
        hints="default-class-ambiguous",
    ),
    row("two-defaults-not-asked", SIZED, storage_class("replicated", GA), storage_class("b", GA)),
    row(
        "two-defaults-cloned",
        {**CLONE, "storageClass": ""},
        READY,
        storage_class("replicated", GA),
        storage_class("b", GA),
        disk(),
        claim(name="d1", namespace=NAMESPACE),
    ),
    row("unknown-class", {**SIZED, "storageClass": "replicted"}, DEFAULT, hints="storage-class-unknown"),
    row("no-classes-known", {**SIZED, "storageClass": "replicted"}),
    row(
        "expansion-golden-and-claim-unsized",
        CLONE,
        golden(size=None),
        claim(size=None),
        storage_class("replicated", expandable=False),
    ),
    row("expansion-needed", CLONE, READY, storage_class("replicated", expandable=False), hints="class-not-expandable"),
    row("expansion-allowed", CLONE, READY, storage_class("replicated", expandable=True)),
    row("expansion-not-needed", {**CLONE, "diskSize": "6Gi"}, READY, storage_class("replicated", expandable=False)),
    row("expansion-of-factory", SIZED, READY, storage_class("replicated", expandable=False)),
    row("expansion-golden-unsized", CLONE, golden(size=None), storage_class("replicated", expandable=False)),
    row(
        "expansion-golden-absent",
        CLONE,
        disk(),
        storage_class("replicated", expandable=False),
        hints="golden-unusable-for-new-workers",
    ),
    row("copy-by-override", CLONE, READY, cdi("copy"), hints="clone-strategy-copy"),
    row("copy-override-of-factory", SIZED, cdi("copy")),
    row("override-beats-profile", CLONE, READY, cdi("csi-clone"), profile("replicated", strategy="copy")),
    row(
        "copy-by-profile", CLONE, READY, cdi(None), profile("replicated", strategy="copy"), hints="clone-strategy-copy"
    ),
    row("copy-by-other-profile", CLONE, READY, cdi(""), profile("local", strategy="copy")),
    row("copy-class-unresolved", {**CLONE, "storageClass": ""}, READY, cdi(""), profile("", strategy="copy")),
    row("mode-differs", CLONE, READY, claim(mode="Filesystem"), profile("replicated"), hints="volume-mode-differs"),
    row("mode-equal", CLONE, READY, claim(mode="Block"), profile("replicated")),
    row("mode-unknown", CLONE, READY, claim(), profile("replicated")),
    row("mode-profile-silent", CLONE, READY, claim(mode="Block"), profile("replicated", mode="")),
    row("mode-of-factory", SIZED, READY, claim(mode="Filesystem"), profile("replicated")),
    row("mode-other-class", CLONE, READY, claim(mode="Filesystem"), profile("local")),
    row(
        "mode-of-planned-files",
        CLONE,
        READY,
        claim(mode="Filesystem", size="7Gi"),
        profile("replicated", mode="Filesystem"),
    ),
    row("drivers-equal", CLONE, READY, claim(), DEFAULT, volume()),
    row("drivers-differ", CLONE, READY, claim(), DEFAULT, volume("ebs.csi.aws.com"), hints="drivers-differ"),
    row("drivers-of-other-volume", CLONE, READY, claim(), DEFAULT, volume("ebs.csi.aws.com", name="talos-other")),
    row(
        "drivers-differ-by-class",
        {**CLONE, "storageClass": "local"},
        READY,
        DEFAULT,
        storage_class("local", driver="local.csi"),
        says="storage-class-mismatch",
        hints="drivers-differ",
    ),
    row(
        "snapshot-without-class", CLONE, READY, DEFAULT, cdi("snapshot"), snapshot_class(driver="x"), hints=NO_SNAPSHOT
    ),
    row("snapshot-with-class", CLONE, READY, DEFAULT, cdi("snapshot"), snapshot_class()),
    row("snapshot-classes-unknown", CLONE, READY, DEFAULT, cdi("snapshot")),
    row("snapshot-not-asked", CLONE, READY, DEFAULT, cdi("csi-clone"), snapshot_class(driver="x")),
    row(
        "snapshot-named-class-missing",
        CLONE,
        READY,
        DEFAULT,
        cdi("snapshot"),
        snapshot_class(),
        profile("replicated", snapshots="gone"),
        hints=NO_SNAPSHOT,
    ),
    row("csi-driver-there", CLONE, READY, DEFAULT, csi_driver()),
    row("csi-driver-missing", CLONE, READY, DEFAULT, csi_driver("x"), hints="csi-driver-missing"),
    row("csi-driver-missing-of-factory", SIZED, READY, DEFAULT, csi_driver("x")),
    row("profile-incomplete", CLONE, READY, profile("replicated", access=False), says="profile-incomplete"),
    row("profile-incomplete-of-factory", SIZED, profile("replicated", access=False), says="profile-incomplete"),
    row("profile-incomplete-other", CLONE, READY, profile("local", access=False)),
    row(
        "profile-incomplete-default-class",
        {**CLONE, "storageClass": ""},
        READY,
        DEFAULT,
        profile("replicated", access=False),
        says="profile-incomplete",
    ),
    row(
        "expansion-by-capacity",
        {**CLONE, "diskSize": "7Gi"},
        READY,
        claim(capacity="8Gi"),
        storage_class("replicated", expandable=False),
        hints="disk-smaller-than-capacity",
    ),
)

SIZES = (
    row("equal", {**CLONE, "diskSize": "6144Mi"}, READY),
    row("decimal", {**CLONE, "diskSize": "6G"}, READY, says="disk-smaller-than-golden"),
    row("smaller-for-cloned-pool", {**CLONE, "diskSize": "5Gi"}, READY, disk(), says="disk-smaller-than-golden"),
    row("smaller-of-factory", {**SIZED, "diskSize": "1Gi"}, READY),
    row("default-too-small", CLONE, golden(size="21Gi"), says="disk-smaller-than-golden"),
    row("claim-size", {**CLONE, "diskSize": "1Gi"}, golden(size=None), claim(), says="disk-smaller-than-golden"),
    row("spec-size-beats-claim", {**CLONE, "diskSize": "10Gi"}, READY, claim(size="21Gi")),
    row("no-size", {**CLONE, "diskSize": "1Gi"}, golden(size=None)),
    row("golden-gone", {**CLONE, "diskSize": "1Gi"}, disk(), hints="golden-unusable-for-new-workers"),
    row(
        "unreadable",
        {**CLONE, "diskSize": "1e1.5"},
        READY,
        says="disk-smaller-than-golden",
        hints="disk-size-unreadable",
    ),
    row("unreadable-of-factory", {**SIZED, "diskSize": "1e1.5"}, hints="disk-size-unreadable"),
    row("zero-text", {**SIZED, "diskSize": "0"}, hints="disk-size-unreadable"),
    row("zero-number", {**CLONE, "diskSize": 0}, READY),
    row(
        "capacity-larger",
        {**CLONE, "diskSize": "6Gi"},
        READY,
        claim(capacity="6443851776"),
        hints="disk-smaller-than-capacity",
    ),
    row("capacity-equal", {**CLONE, "diskSize": "6Gi"}, READY, claim(capacity="6Gi")),
    row("capacity-of-factory", {**SIZED, "diskSize": "6Gi"}, READY, claim(capacity="8Gi")),
    row("capacity-default-disk", CLONE, READY, claim(capacity="8Gi")),
    row(
        "capacity-and-request-larger",
        {**CLONE, "diskSize": "5Gi"},
        READY,
        claim(capacity="8Gi"),
        says="disk-smaller-than-golden",
    ),
    row(
        "capacity-only",
        {**CLONE, "diskSize": "5Gi"},
        golden(size=None),
        claim(size=None, capacity="8Gi"),
        hints="disk-smaller-than-capacity",
    ),
)

IDENTITY = (
    row("no-cluster", {**SIZED, "cluster": ""}, says="cluster-required"),
    row("wrong-prefix", {**SIZED, "cluster": "other"}, says="pool-name-prefix"),
    row("prefix-without-dash", {**SIZED, "cluster": "myk8s-md"}, says="pool-name-prefix"),
    row("upper-case", {**SIZED, "cluster": "myk8s"}, name="myk8s-MD0", says="pool-name-format"),
    row("digit-first", {**SIZED, "cluster": "1k"}, name="1k-md0", says="pool-name-format"),
    row("longest", {**SIZED, "cluster": "myk8s"}, name="myk8s-" + "a" * 30),
    row("too-long", {**SIZED, "cluster": "myk8s"}, name="myk8s-" + "a" * 31, says="pool-name-format"),
    row("owned-by-other-release", SIZED, deployment("kubernetes-myk8s"), says="pool-owned-elsewhere"),
    row("owned-by-nobody", SIZED, deployment("")),
    row("owned-by-this", SIZED, deployment()),
    row("other-deployment", SIZED, deployment("x", "y", name=f"{POOL}-gpu")),
    row("cluster-edited", SIZED, deployment(cluster="kubernetes-my"), says="cluster-changed"),
    row("cluster-unset", SIZED, deployment(cluster="")),
    row("parent-there", SIZED, parent()),
    row("parent-missing", SIZED, parent("other"), says="parent-absent"),
    row("parent-in-other-namespace", SIZED, parent(namespace="other"), says="parent-absent"),
    row("parent-of-wrapped-pool", {**SIZED, "clusterReleaseName": "computeplane-cluster"}, parent("other")),
    row("parent-missing-no-cluster", {**SIZED, "cluster": ""}, parent("other"), says="cluster-required"),
    row("parent-other-talos", SIZED, parent(talos={"version": "v1.13.7", "extra": 1}), hints="parent-talos-differs"),
    row("parent-same-talos", SIZED, parent(talos={"version": "v1.13.6"})),
    row(
        "parent-talos-junk",
        {**SIZED, "talos": None},
        parent(talos={"version": "v1.13.7"}),
        says="schematic-format version-format factory-url-format",
    ),
    row("release-of-pool", SIZED, release()),
    row("release-of-cluster", SIZED, release("Kubernetes", "nodes-myk8s-md0"), says="release-name-clash"),
    row("release-of-another", SIZED, {**release("Kubernetes"), "metadata": {"name": "x", "namespace": NAMESPACE}}),
    row("release-unlabelled", SIZED, release("", "")),
    row("release-suspended", SIZED, release(suspend=True), hints="release-suspended"),
)

BY_TYPE = {"cluster": "myk8s"}
SIZING = (
    row("instance-type", BY_TYPE, instance_type()),
    row("instance-type-missing", BY_TYPE, says="instance-type-missing"),
    row("instance-type-other", BY_TYPE, instance_type("u1.large"), says="instance-type-missing"),
    row("instance-type-displaced", {**SIZED, "instanceType": "gone"}),
    row("only-cpu", {**BY_TYPE, "resources": {"cpu": 2}}, instance_type(), says="resources-incomplete"),
    row("only-memory", {**BY_TYPE, "resources": {"memory": "4Gi"}}, instance_type(), says="resources-incomplete"),
    row(
        "only-cpu-and-type-missing",
        {**BY_TYPE, "resources": {"cpu": 2}},
        says="resources-incomplete instance-type-missing",
    ),
    row(
        "only-memory-and-type-missing",
        {**BY_TYPE, "resources": {"memory": "4Gi"}},
        says="resources-incomplete instance-type-missing",
    ),
    row("only-cpu-without-type", {**SIZED, "resources": {"cpu": 2}}),
    row("nothing", {**SIZED, "resources": {}}),
    row("cpu-half", {**SIZED, "resources": {"cpu": "0.5", "memory": "4Gi"}}, hints="cpu-not-whole"),
    row(
        "cpu-half-on-newer",
        {**SIZED, "resources": {"cpu": "0.5", "memory": "4Gi"}},
        says="cpu-not-whole",
        known={"pool_schema": NEWER_SCHEMA},
    ),
    row(
        "cpu-half-on-older",
        {**SIZED, "resources": {"cpu": "0.5", "memory": "4Gi"}},
        hints="cpu-not-whole",
        known={"pool_schema": OLDER_SCHEMA},
    ),
    row("cpu-half-on-proxmox", {**SIZED, "substrate": "proxmox", "resources": {"cpu": "0.5", "memory": "4Gi"}}),
    *(
        row(f"cpu-{cpu}", {**SIZED, "resources": {"cpu": cpu, "memory": "4Gi"}})
        for cpu in ("2", "+2", "2.0", "1e1", 4, "4294967295")
    ),
    *(
        row(f"cpu-{cpu}", {**SIZED, "resources": {"cpu": cpu, "memory": "4Gi"}}, hints="cpu-not-whole")
        for cpu in ("010", "1.5", "4294967296")
    ),
    # The chart counts millicores without a quantity parser, so such a CPU is nothing to it.
    *(
        row(
            f"cpu-{cpu}",
            {**SIZED, "resources": {"cpu": cpu, "memory": "4Gi"}},
            says="reservation-exceeds-node",
            hints="cpu-not-whole",
        )
        for cpu in ("2k", "4Ki", "1.5m")
    ),
    row("pod-limit-with-type", {**BY_TYPE, "podCpuLimit": 2}, instance_type(), says="pod-cpu-with-instance-type"),
    row("pod-request-with-type", {**BY_TYPE, "podCpuRequest": 0}, instance_type(), says="pod-cpu-with-instance-type"),
    row("pod-limit-displaced-type", {**SIZED, "instanceType": "u1.medium", "podCpuLimit": 2}),
    row("pod-limit-no-type", {**SIZED, "podCpuLimit": 2}),
    row("pod-limit-null", {**SIZED, "podCpuLimit": None}),
    row("pod-limit-negative", {**SIZED, "podCpuLimit": "-1"}, says="pod-cpu-negative"),
    row("pod-request-negative", {**SIZED, "podCpuRequest": -1}, says="pod-cpu-negative"),
    row("pod-zero-limit", {**SIZED, "podCpuLimit": 0}, says="pod-cpu-zero-limit"),
    row("pod-zero-both", {**SIZED, "podCpuLimit": "0", "podCpuRequest": 0}),
    row("pod-zero-request-alone", {**SIZED, "podCpuRequest": 0}),
    row("pod-zero-request", {**SIZED, "podCpuLimit": 2, "podCpuRequest": "0m"}, says="pod-cpu-zero-request"),
    row(
        "pod-request-above", {**SIZED, "podCpuLimit": "1", "podCpuRequest": "1500m"}, says="pod-cpu-request-above-limit"
    ),
    row("pod-request-equal", {**SIZED, "podCpuLimit": "1", "podCpuRequest": "1000m"}),
    row("pod-request-below", {**SIZED, "podCpuLimit": "2", "podCpuRequest": "1500m"}),
    *(
        row(f"{name}-bad", {**SIZED, name: value}, says="duration-format")
        for name, value in (
            ("maxNodeProvisionTime", "0m"),
            ("readyUnknownTimeout", "30"),
            ("readyFalseTimeout", "1h30m\n"),
        )
    ),
    row("duration-null", {**SIZED, "maxNodeProvisionTime": None}, says="duration-format"),
    row("duration-not-judged", {**SIZED, "nodeStartupTimeout": "soon"}),
    row("max-unhealthy-null", {**SIZED, "maxUnhealthy": None}, says="max-unhealthy-format"),
    row("max-unhealthy-bad", {**SIZED, "maxUnhealthy": "50%\n"}, says="max-unhealthy-format"),
    row("max-unhealthy-number", {**SIZED, "maxUnhealthy": "1"}),
)


def kubelet(
    row_id: str, says: str = "", spec: Mapping[str, Any] = SIZED, *objects: Mapping[str, Any], **values: Any
) -> PoolRow:
    return row(f"kubelet-{row_id}", {**spec, "kubelet": values}, *objects, says=says)


TINY = {**SIZED, "resources": {"cpu": "100m", "memory": "550Mi"}}
UNSIZED = {**SIZED, "resources": {}}
KUBELET = (
    kubelet("memory-bad", "reservation-format", systemReservedMemory="128mb"),
    kubelet("memory-newline", "reservation-format", kubeReservedMemory="128Mi\n"),
    kubelet("cpu-bad", "reservation-format", systemReservedCpu="1.5m"),
    kubelet("kube-cpu-bad", "reservation-format", kubeReservedCpu="x"),
    kubelet("blank", systemReservedMemory="", systemReservedCpu=""),
    kubelet("memory-zero", "reservation-not-positive", kubeReservedMemory="0"),
    kubelet("cpu-zero", "reservation-not-positive", kubeReservedCpu="0"),
    kubelet("cpu-below-one", "reservation-not-positive", systemReservedCpu="0.0005"),
    kubelet("cpu-one", systemReservedCpu="1m"),
    kubelet("memory-number", "values-schema", systemReservedMemory=0),
    kubelet("hard-bad-soft-zero", "eviction-format eviction-range", evictionHardMemory="x%", evictionSoftMemory="0%"),
    kubelet(
        "memory-exactly-all",
        "reservation-exceeds-node",
        systemReservedMemory="1Gi",
        kubeReservedMemory="1Gi",
        evictionHardMemory="2Gi",
        evictionSoftMemory="3Gi",
    ),
    kubelet("hard-bad", "eviction-format", evictionHardMemory="x"),
    kubelet("soft-bad", "eviction-format", evictionSoftMemory="abc%"),
    kubelet("hard-zero", "eviction-range", evictionHardMemory="0%"),
    kubelet("soft-zero", "eviction-range eviction-order", evictionSoftMemory="0%"),
    kubelet("soft-above", "eviction-range", evictionSoftMemory="101%"),
    kubelet("soft-hundred", evictionSoftMemory="100%"),
    kubelet("range-only-for-percents", "eviction-mixed-units", evictionHardMemory="0%", evictionSoftMemory="1Gi"),
    kubelet("order-equal", "eviction-order", evictionHardMemory="10%"),
    kubelet("order-reversed", "eviction-order", evictionHardMemory="12%"),
    kubelet("order-below", evictionHardMemory="9.5%"),
    kubelet("order-absolute", "eviction-order", evictionHardMemory="500Mi", evictionSoftMemory="200Mi"),
    kubelet("order-absolute-below", evictionHardMemory="200Mi", evictionSoftMemory="500Mi"),
    kubelet("order-absolute-equal", "eviction-order", evictionHardMemory="1Gi", evictionSoftMemory="1024Mi"),
    kubelet("mixed", "eviction-mixed-units", evictionHardMemory="500Mi"),
    kubelet("mixed-other-way", "eviction-mixed-units", evictionSoftMemory="500Mi"),
    kubelet("memory-all", "reservation-exceeds-node", systemReservedMemory="4Gi"),
    kubelet("memory-most", systemReservedMemory="3Gi"),
    kubelet("memory-by-eviction", "reservation-exceeds-node", evictionHardMemory="3600Mi", evictionSoftMemory="3700Mi"),
    kubelet("memory-below-by-eviction", evictionHardMemory="3500Mi", evictionSoftMemory="3700Mi"),
    kubelet("cpu-all", "reservation-exceeds-node", systemReservedCpu="1950m"),
    kubelet("cpu-most", systemReservedCpu="1899m"),
    row("node-tiny", TINY, says="reservation-exceeds-node reservation-exceeds-node", hints="cpu-not-whole"),
    row("node-tiny-cpu", {**TINY, "resources": {"cpu": "101m", "memory": "4Gi"}}, hints="cpu-not-whole"),
    row("node-tiny-memory", {**TINY, "resources": {"cpu": 1, "memory": "551Mi"}}),
    row("node-large", {**SIZED, "resources": {"cpu": 64, "memory": "256Gi"}}),
    kubelet("by-type", "reservation-exceeds-node", BY_TYPE, instance_type(), systemReservedMemory="4Gi"),
    kubelet("by-type-cpu", "reservation-exceeds-node", BY_TYPE, instance_type(), systemReservedCpu="1"),
    kubelet("by-type-fits", "", BY_TYPE, instance_type(), systemReservedMemory="1Gi"),
    kubelet("without-size", "reservation-without-size", UNSIZED, systemReservedMemory="1Gi"),
    kubelet("eviction-without-size", "reservation-without-size", UNSIZED, evictionHardMemory="5%"),
    kubelet("cpu-without-size", "reservation-without-size", UNSIZED, kubeReservedCpu="100m"),
    kubelet(
        "both-without-size",
        "reservation-without-size reservation-without-size",
        UNSIZED,
        kubeReservedCpu="1m",
        kubeReservedMemory="1Mi",
    ),
    kubelet("blank-without-size", "", UNSIZED, kubeReservedCpu="", evictionHardMemory=""),
    kubelet("type-without-cpu", "reservation-without-size", BY_TYPE, instance_type(cpu=None), kubeReservedCpu="100m"),
    kubelet(
        "type-without-memory",
        "reservation-without-size",
        BY_TYPE,
        instance_type(memory=None),
        kubeReservedMemory="100Mi",
    ),
)

KEYS = (
    row("typo", {**SIZED, "osImage": {"builtIn": {}}}, hints="unknown-field"),
    row(
        "typo-published",
        {**SIZED, "osImage": {"builtIn": {}}},
        says="unknown-field",
        known={"pool_schema": NEWER_SCHEMA},
    ),
    row("old-name", {**SIZED, "image": {"builtin": {}}}, hints="unknown-field"),
    row("newer-key-published", {**SIZED, "novelty": 1}, known={"pool_schema": {**NEWER_SCHEMA, "novelty": {}}}),
    row("newer-key-unpublished", {**SIZED, "novelty": 1}, hints="unknown-field"),
    row(
        "feature-missing",
        {**SIZED, "osImage": {"factory": {}}},
        says="feature-missing",
        known={"pool_schema": OLDER_SCHEMA},
    ),
    row("feature-missing-not-used", {**SIZED, "osImage": {}}, known={"pool_schema": OLDER_SCHEMA}),
    row(
        "whole-schema-object",
        {**SIZED, "osImage": {"builtIn": {}}},
        says="unknown-field",
        known={"pool_schema": {"type": "object", "properties": NEWER_SCHEMA}},
    ),
    row("internal", {**SIZED, "clusterReleaseName": "kubernetes-myk8s"}),
    row("type", {**SIZED, "minReplicas": "3"}, says="values-schema"),
    row(
        "published-default-pair",
        CLONE,
        TALOS_114,
        known={"pool_schema": {**NEWER_SCHEMA, "talos": {**NEWER_SCHEMA["talos"], "default": {"version": "v1.14.0"}}}},
    ),
)

POOL_ROWS: tuple[PoolRow, ...] = tuple(
    PoolRow(f"{part}/{item.id}", item.spec, item.objects, item.says, item.hints, item.name, item.known)
    for part, rows in (
        ("source", SOURCE),
        ("window", WINDOW),
        ("golden", CLONED),
        ("class", CLASSES),
        ("size", SIZES),
        ("identity", IDENTITY),
        ("sizing", SIZING),
        ("kubelet", KUBELET),
        ("keys", KEYS),
    )
    for item in rows
)
assert len({item.id for item in POOL_ROWS}) == len(POOL_ROWS)
assert GOLDEN.startswith("talos-worker-")
