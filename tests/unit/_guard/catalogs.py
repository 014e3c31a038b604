# SPDX-License-Identifier: Apache-2.0
"""Catalogs in their clusters, with exactly what the rules say about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .build import BETA, GA, SCHEMATIC, cdi, cdi_config, golden, profile, storage_class
from .table import FAILING

HEX = "a" * 64
PAIR = {"schematicID": HEX, "version": "v1.13.6"}
DEFAULT = {"schematicID": SCHEMATIC, "version": "v1.13.6"}
URL = f"https://factory.talos.dev/image/{HEX}/v1.13.6/openstack-amd64.raw.xz"
NAME = f"talos-worker-{HEX}-v1.13.6"
REPLICATED = storage_class("replicated", GA)


@dataclass(frozen=True)
class CatalogRow:
    """``says`` and ``hints`` as for pools; the default pair is added as a last entry unless ``alone``."""

    id: str
    values: Mapping[str, Any]
    objects: tuple[Mapping[str, Any], ...]
    says: tuple[str, ...]
    hints: tuple[str, ...]


def row(
    row_id: str,
    values: Mapping[str, Any],
    *objects: Mapping[str, Any],
    says: str = "",
    hints: str = "",
    alone: bool = False,
) -> CatalogRow:
    images = values.get("images")
    known = {**values, "images": [*images, DEFAULT]} if isinstance(images, list) and not alone else values
    return CatalogRow(row_id, known, objects, tuple(says.split()), tuple(hints.split()))


def entry(**change: Any) -> dict[str, Any]:
    return {"images": [{**PAIR, **change}]}


def live(**change: Any) -> dict[str, Any]:
    return golden(**{"name": NAME, "url": URL, **change})


def default(**change: Any) -> dict[str, Any]:
    return {"images": [{**DEFAULT, **change}]}


FILES = profile("replicated", mode="Filesystem")

CATALOG_ROWS: tuple[CatalogRow, ...] = (
    row("defaults", {}),
    row("one", entry()),
    row("empty", {"images": []}, hints="default-pair-missing", alone=True),
    row("null", {"images": None}, hints="default-pair-missing", alone=True),
    row("without-default-pair", entry(), hints="default-pair-missing", alone=True),
    row(
        "default-pair-other-version",
        {"images": [{**DEFAULT, "version": "v1.13.7"}]},
        hints="default-pair-missing",
        alone=True,
    ),
    row("default-pair-other-schematic", entry(), hints="default-pair-missing", alone=True),
    row(
        "default-pair-other-class",
        {"images": [{**DEFAULT, "storageClass": "local"}]},
        hints="default-class-differs",
        alone=True,
    ),
    row("other-pair-other-class", entry(storageClass="local")),
    row("default-pair-no-class", {"storageClass": ""}),
    row("not-a-list", {"images": "x"}, says="values-schema", hints="default-pair-missing", alone=True),
    row("not-a-mapping", {"images": ["x"]}, says="values-schema"),
    row("no-schematic", entry(schematicID=None), says="entry-schematic-required"),
    row("blank-schematic", entry(schematicID=""), says="entry-schematic-required"),
    row("no-version", entry(version=None), says="entry-version-required"),
    row("neither", entry(version="", schematicID=""), says="entry-schematic-required entry-version-required"),
    row(
        "two-without-version",
        {"images": [{"schematicID": HEX}, {"schematicID": HEX}]},
        says="entry-version-required entry-version-required",
    ),
    row(
        "two-without-schematic",
        {"images": [{"version": "v1.13.6"}, {"version": "v1.13.6"}]},
        says="entry-schematic-required entry-schematic-required",
    ),
    row("storage-zero", entry(storage="0"), says="storage-format"),
    row("schematic-upper", entry(schematicID="A" * 64), says="schematic-format"),
    row("schematic-newline", entry(schematicID=HEX + "\n"), says="schematic-format"),
    row("schematic-number", entry(schematicID=12345), says="schematic-format", hints="schematic-not-hex"),
    row("schematic-63", entry(schematicID=HEX[1:]), hints="schematic-not-hex"),
    row("schematic-65", entry(schematicID=HEX + "a"), hints="schematic-not-hex"),
    row("version-minor", entry(version="v1.13"), says="version-format"),
    row("version-float", entry(version=1.13), says="version-format"),
    row("version-beta", entry(version="v1.14.0-beta.1")),
    row("url-ftp", entry(imageFactoryURL="ftp://m"), says="factory-url-format"),
    row("url-global-bad", {"imageFactoryURL": "m", **entry()}, says="factory-url-format factory-url-format"),
    row(
        "url-global-bad-hidden",
        {"imageFactoryURL": "m", "images": [{**PAIR, "imageFactoryURL": "http://m"}]},
        says="",
        alone=True,
        hints="default-pair-missing",
    ),
    row(
        "url-blank",
        {"imageFactoryURL": "", "images": [PAIR]},
        says="factory-url-format",
        alone=True,
        hints="default-pair-missing",
    ),
    row("url-scheme-and-slash", entry(imageFactoryURL="http:///"), says="factory-url-format"),
    row("url-scheme-only", entry(imageFactoryURL="http://"), says="factory-url-format"),
    row("url-query", entry(imageFactoryURL="http://m/?x=1"), hints="factory-url-query"),
    row("duplicate", {"images": [PAIR, PAIR]}, says="entry-duplicate"),
    row("duplicate-other-class", {"images": [PAIR, {**PAIR, "storageClass": "local"}]}, says="entry-duplicate"),
    row("triplicate", {"images": [PAIR, PAIR, PAIR]}, says="entry-duplicate entry-duplicate"),
    row("same-schematic", {"images": [PAIR, {**PAIR, "version": "v1.13.7"}]}),
    row("same-version", {"images": [PAIR, {**PAIR, "schematicID": "b" * 64}]}),
    row("live-equal", entry(), live()),
    row("live-storage", entry(storage="10Gi"), live(), says="golden-immutable"),
    row("live-storage-other-words", entry(storage="6144Mi"), live()),
    row("live-storage-unstated", entry(storage="10Gi"), live(size=None)),
    row("live-class", entry(storageClass="local"), live(), says="golden-immutable"),
    row("live-class-unstated", entry(storageClass="local"), live(storage_class=None)),
    row("live-class-blank", entry(storageClass="local"), live(storage_class="")),
    row("live-url", entry(imageFactoryURL="http://m"), live(), says="golden-immutable"),
    row("live-url-slashes", entry(imageFactoryURL="https://factory.talos.dev//"), live()),
    row("live-uploaded", entry(imageFactoryURL="http://m"), live(url="")),
    row("live-elsewhere", entry(storage="10Gi"), live(namespace="tenant-test")),
    row(
        "live-global-class",
        {"storageClass": "local", **entry()},
        live(),
        says="golden-immutable",
        hints="default-class-differs",
    ),
    row(
        "live-global-class-pinned",
        {"storageClass": "local", "images": [{**PAIR, "storageClass": "replicated"}]},
        live(),
        alone=True,
        hints="default-pair-missing",
    ),
    row("unknown-key", {"storageclass": "x"}, says="unknown-field"),
    row("unknown-entry-key", entry(schematicId="x"), says="unknown-field"),
    row("storage-bad", entry(storage="6 Gi"), says="storage-format"),
    row("storage-negative", entry(storage="-6Gi"), says="storage-format"),
    row("storage-small", entry(storage="4Gi"), hints="golden-too-small"),
    row("storage-small-for-any-bootloader", entry(storage="2245Mi"), says="golden-too-small"),
    row("storage-fits-one-bootloader", entry(storage="2246Mi"), hints="golden-too-small"),
    row("storage-small-default", default(storage="4246Mi"), says="golden-too-small", alone=True),
    row("storage-exact-default", default(storage="4247Mi"), alone=True),
    row(
        "storage-small-importing",
        default(storage="4Gi"),
        golden("ImportInProgress", size="4Gi"),
        hints="golden-too-small",
        alone=True,
    ),
    row("storage-small-yet-ready", default(storage="4Gi"), golden(size="4Gi"), alone=True),
    row("storage-small-files", default(storage="4246Mi"), FILES, says="golden-too-small", alone=True),
    row("storage-exact-files", default(storage="4247Mi"), FILES, hints="golden-too-small", alone=True),
    row("storage-just-short-files", default(storage="4262Mi"), FILES, hints="golden-too-small", alone=True),
    row("storage-just-enough-files", default(storage="4263Mi"), FILES, alone=True),
    row("storage-files-other-class", default(storage="4247Mi"), profile("local", mode="Filesystem"), alone=True),
    row(
        "storage-files-default-class",
        {**default(storage="4247Mi"), "storageClass": ""},
        REPLICATED,
        FILES,
        hints="golden-too-small",
        alone=True,
    ),
    row("storage-files-no-overhead", default(storage="4247Mi"), FILES, cdi_config("0"), alone=True),
    row("storage-files-overhead-of-class", default(storage="4247Mi"), FILES, cdi_config(replicated="0"), alone=True),
    row(
        "storage-files-overhead-of-other-class",
        default(storage="4247Mi"),
        FILES,
        cdi_config(local="0"),
        hints="golden-too-small",
        alone=True,
    ),
    row("storage-small-raised", default(storage="4Gi"), profile("replicated", minimum="10Gi"), alone=True),
    row(
        "storage-small-raised-too-little",
        default(storage="4Gi"),
        profile("replicated", minimum="4246Mi"),
        says="golden-too-small",
        alone=True,
    ),
    row(
        "profile-incomplete", entry(), profile("replicated", access=False), says="profile-incomplete profile-incomplete"
    ),
    row("profile-incomplete-live", entry(), live(), golden(), profile("replicated", access=False)),
    row("profile-incomplete-other", entry(), profile("local", access=False)),
    row("scratch-configured", default(), REPLICATED, storage_class("fast"), cdi("", scratch="fast"), alone=True),
    row(
        "scratch-configured-missing",
        default(),
        REPLICATED,
        cdi("", scratch="fast"),
        hints="scratch-class-unresolved",
        alone=True,
    ),
    row("scratch-default", default(), REPLICATED, cdi(""), alone=True),
    row("scratch-of-golden", default(), storage_class("replicated"), cdi(""), alone=True),
    row(
        "scratch-none",
        {**default(), "storageClass": ""},
        storage_class("x"),
        cdi(""),
        says="storage-class-unknown",
        hints="scratch-class-unresolved",
        alone=True,
    ),
    row("scratch-configured-missing-live", default(), REPLICATED, golden(), cdi("", scratch="fast"), alone=True),
    row("scratch-classes-unknown", default(), cdi("", scratch="fast"), alone=True),
    row("storage-exact", entry(storage="4247Mi")),
    row("storage-small-old-talos", entry(storage="2Gi", version="v1.9.6")),
    row("storage-small-unknown-talos", entry(storage="1Gi", version="v2.0.0")),
    row("class-unknown", entry(storageClass="replicted"), REPLICATED, says="storage-class-unknown"),
    row(
        "class-unknown-live",
        entry(storageClass="replicted"),
        live(storage_class="replicted"),
        REPLICATED,
        hints="storage-class-unknown",
    ),
    row("class-known", entry(), REPLICATED),
    row("classes-unknown", entry(storageClass="replicted")),
    row(
        "no-class-no-default",
        {"storageClass": "", "images": [DEFAULT]},
        storage_class("x"),
        says="storage-class-unknown",
        alone=True,
    ),
    row("no-class-default", {"storageClass": "", "images": [DEFAULT]}, REPLICATED, alone=True),
    row(
        "no-class-two-defaults",
        {"storageClass": "", "images": [DEFAULT]},
        REPLICATED,
        storage_class("x", GA),
        alone=True,
        hints="default-class-ambiguous",
    ),
    row(
        "no-class-beta",
        {"storageClass": "", "images": [DEFAULT]},
        storage_class("x", BETA),
        alone=True,
        hints="default-class-ambiguous",
    ),
    row("class-two-defaults", entry(), REPLICATED, storage_class("x", GA)),
    row("live-failed", entry(), live(phase="Failed"), hints="golden-in-trouble"),
    row("live-failing", entry(), live(**FAILING), hints="golden-in-trouble"),
    row("live-importing", entry(), live(phase="ImportInProgress")),
    row("live-other-failed", entry(), golden("Failed", name="talos-worker-x-v1.0.0")),
)
assert len({item.id for item in CATALOG_ROWS}) == len(CATALOG_ROWS)
