# SPDX-License-Identifier: Apache-2.0
"""The catalog chart: one golden DataVolume per entry, or a refusal that blocks the whole catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.chart.quantities import go_text
from lab.chart.refusal import Lookups, Object, Refused, dig
from lab.chart.source import (
    CATALOG_NAMESPACE,
    check_factory_url,
    check_schematic,
    check_version,
    golden_name,
    image_url,
)
from lab.chart.values import CATALOG_DEFAULTS, Values, layered


@dataclass(frozen=True)
class Entry:
    """A catalog entry with the catalog's own values filled in; ``storage_class`` may be blank."""

    schematic: str
    version: str
    url: str
    storage: str
    storage_class: str

    @property
    def name(self) -> str:
        return golden_name(self.schematic, self.version)


def render_catalog(values: Values, lookups: Lookups) -> list[Object]:
    """The golden DataVolumes in entry order. Raises Refused (entry, format and golden-immutable rules)."""
    values = layered(CATALOG_DEFAULTS, values)
    entries: dict[str, Entry] = {}
    for index, given in enumerate(values.get("images") or []):
        entry = _entry(index, given or {}, values)
        if entry.name in entries:
            raise Refused(
                "entry-duplicate",
                f"images[{index}]: schematicID {entry.schematic} with version {entry.version} is listed twice",
            )
        _check_unchanged(entry, lookups.get("DataVolume", CATALOG_NAMESPACE, entry.name))
        entries[entry.name] = entry
    return [_golden(entry) for entry in entries.values()]


def _entry(index: int, given: Values, values: Values) -> Entry:
    for field, rule in (("schematicID", "entry-schematic-required"), ("version", "entry-version-required")):
        # A blank part would give two different images one name.
        if not given.get(field):
            raise Refused(rule, f"images[{index}]: {field} is missing")

    def pick(field: str, fallback: str = "") -> str:
        return go_text(given.get(field) or values.get(field) or fallback)

    schematic, version = go_text(given["schematicID"]), go_text(given["version"])
    check_schematic(schematic, f"images[{index}].schematicID")
    check_version(version, f"images[{index}].version")
    base, prefix = pick("imageFactoryURL"), f"images[{index}]." if given.get("imageFactoryURL") else ""
    check_factory_url(base.removesuffix("/"), f"{prefix}imageFactoryURL")
    return Entry(schematic, version, image_url(base, schematic, version), pick("storage", "6Gi"), pick("storageClass"))


def _check_unchanged(entry: Entry, live: Object | None) -> None:
    """A golden image cannot be edited. A live value that is blank says nothing and is left alone."""
    compared: tuple[tuple[str, Any, str], ...] = (
        # As text: 6144Mi is not 6Gi here.
        ("storage", dig(live, "spec", "storage", "resources", "requests", "storage"), entry.storage),
        ("storageClass", dig(live, "spec", "storage", "storageClassName"), entry.storage_class),
        ("imageFactoryURL", dig(live, "spec", "source", "http", "url"), entry.url),
    )
    for field, current, wanted in compared:
        if current and go_text(current) != wanted:
            raise Refused(
                "golden-immutable",
                f"{field}: golden image {entry.name} has {go_text(current)} and cannot change to {wanted or 'none'}:"
                " add a new entry instead",
            )


def _golden(entry: Entry) -> Object:
    storage: Values = {"resources": {"requests": {"storage": entry.storage}}}
    if entry.storage_class:
        storage["storageClassName"] = entry.storage_class
    return {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {
            "name": entry.name,
            "namespace": CATALOG_NAMESPACE,
            "labels": {"app.kubernetes.io/managed-by": "cozystack"},
            "annotations": {
                "helm.sh/resource-policy": "keep",
                "cdi.kubevirt.io/storage.bind.immediate.requested": "true",
                "cdi.kubevirt.io/storage.usePopulator": "true",
                "kubernetes-worker-image.cozystack.io/schematic-id": entry.schematic,
                "kubernetes-worker-image.cozystack.io/talos-version": entry.version,
            },
        },
        "spec": {"contentType": "kubevirt", "source": {"http": {"url": entry.url}}, "storage": storage},
    }
