# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on the catalog of worker images (platform rule 5.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from .._image.catalog import CATALOG_KEYS, ENTRY_KEYS, Catalog, CatalogEntry
from .._image.golden import GOLDEN_NAMESPACE
from .._image.keep import drift_of
from .._storage.quantity import is_size
from .._storage.reading import is_set
from .rule import Found, NotRead, rule, shown
from .shape import bad_schematic, bad_url, bad_version
from .state import ClusterState


@dataclass(frozen=True)
class CatalogCase:
    """A catalog's values block in its cluster."""

    values: Mapping[str, Any]
    state: ClusterState

    subject = "kubernetesWorkerImage"

    @cached_property
    def catalog(self) -> Catalog:
        return Catalog.from_values(self.values)

    @property
    def entries(self) -> tuple[CatalogEntry, ...]:
        return self.catalog.entries

    def read(self, name: str) -> None:
        """Raise NotRead unless the state knows this field."""
        if getattr(self.state, name) is None:
            raise NotRead(name)


@rule(
    "values-schema",
    chart=False,
    cause="images is not a list, or an entry is not a mapping.",
    example="images: {schematicID: ..., version: ...}",
    remedy="Write images as a list of entries, each with schematicID and version.",
)
def catalog_shape(case: CatalogCase) -> Iterator[Found]:
    for path in case.catalog.malformed:
        yield Found(path, f"{path} has to be a {'list' if path == 'images' else 'mapping'}", evidence={"field": path})


@rule(
    "unknown-field",
    chart=False,
    cause="The chart ignores keys that it does not know, so a misspelt field has no effect.",
    example="images: [{schematicId: ...}]",
    remedy="Correct the key, or remove it.",
)
def catalog_unknown_field(case: CatalogCase) -> Iterator[Found]:
    yield from _unknown("", case.values, CATALOG_KEYS)
    for entry in case.entries:
        yield from _unknown(f"{entry.subject}.", entry.declared, ENTRY_KEYS)


@rule(
    "entry-schematic-required",
    cause="An entry without schematicID would name its golden talos-worker--<version>, and pools would clone the wrong image.",
    example='images: [{version: "v1.13.6"}]',
    remedy="Add schematicID to the entry.",
)
def entry_schematic_required(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        if not entry.schematic_id:
            yield Found(
                f"{entry.subject}.schematicID",
                f"{entry.subject} has no schematicID",
                evidence={"version": entry.version},
            )


@rule(
    "entry-version-required",
    cause="An entry without version would name its golden talos-worker-<id>-, and pools would clone the wrong image.",
    example="images: [{schematicID: ce4c98...}]",
    remedy='Add version, such as "v1.13.6", to the entry.',
)
def entry_version_required(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        if not entry.version:
            yield Found(
                f"{entry.subject}.version",
                f"{entry.subject} has no version",
                evidence={"schematicID": entry.schematic_id},
            )


@rule(
    "schematic-format",
    cause="The schematic ID ends up in an object name and in an address.",
    example='schematicID: "ABC"',
    remedy="Use the lower-case ID that the image factory answered, in quotes; it matches [a-z0-9]([-a-z0-9]*[a-z0-9])? as a whole.",
)
def catalog_schematic_format(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        where, given = f"{entry.subject}.schematicID", entry.declared.get("schematicID")
        if is_set(given) and not isinstance(given, str):
            yield Found(where, f"{where} is {given} and not a text; put it in quotes", evidence={where: given})
        elif entry.schematic_id:
            yield from bad_schematic(entry.schematic_id, where)


@rule(
    "version-format",
    cause="The Talos version ends up in an object name and in an address, so it has to be a full release name.",
    example='version: "v1.13"',
    remedy='Write the whole release with its patch number, such as "v1.13.6" or "v1.14.0-beta.1", in quotes.',
)
def catalog_version_format(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        where, given = f"{entry.subject}.version", entry.declared.get("version")
        if is_set(given) and not isinstance(given, str):
            yield Found(where, f"{where} is {given} and not a text; put it in quotes", evidence={where: given})
        elif entry.version:
            yield from bad_version(entry.version, where)


@rule(
    "factory-url-format",
    cause="The image is fetched from below this address, and only plain http(s) addresses are let through.",
    example="imageFactoryURL: mirror.example.net",
    remedy='Give a plain address such as "https://factory.talos.dev" or "http://mirror.example.net:8080/talos".',
)
def catalog_url_format(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        for found in bad_url(entry.image_factory_url.removesuffix("/"), entry.origin("imageFactoryURL")):
            yield Found(found.field, f"{found.message} ({entry.subject} uses it)", evidence=found.evidence)


@rule(
    "entry-duplicate",
    cause="Two entries have the same schematicID and version, so they name the same golden and the later one wins in silence. The order "
    "of extensions changes the ID, so such entries are not duplicates.",
    example="two entries of one pair, one per storage class",
    remedy="Remove one of the entries, or give it another version or schematicID.",
)
def entry_duplicate(case: CatalogCase) -> Iterator[Found]:
    first: dict[str, CatalogEntry] = {}
    for entry in case.entries:
        if not entry.schematic_id or not entry.version:
            continue
        if entry.golden in first:
            other = first[entry.golden]
            yield Found(
                entry.subject,
                f"{entry.subject} has the same schematicID {entry.schematic_id} and version {entry.version} as {other.subject}",
                evidence={"entries": [other.subject, entry.subject], "golden": entry.golden},
            )
        first.setdefault(entry.golden, entry)


@rule(
    "golden-immutable",
    cause="The golden of this entry exists, and size, class and address of an existing golden cannot be changed. Equal sizes in other "
    "words are no change.",
    example="storage raised from 6Gi to 10Gi on an entry whose golden exists",
    remedy="Restore the value, and add a NEW entry with another schematicID or version for the other one; move the pools to it, then "
    "retire the old golden.",
)
def golden_immutable(case: CatalogCase) -> Iterator[Found]:
    if not case.entries:
        return
    case.read("data_volumes")
    for entry in case.entries:
        live = case.state.golden(entry.golden)
        drifted = drift_of(entry, live) if live else ()
        if drifted:
            what = ", ".join(
                f"{drift.field} is {drift.live} and would become {drift.wanted} (from {drift.origin})"
                for drift in drifted
            )
            yield Found(
                f"{entry.subject}.{drifted[0].field}" if len(drifted) == 1 else entry.subject,
                f"golden image {GOLDEN_NAMESPACE}/{entry.golden} exists and cannot be changed: {what}",
                f"Restore {', '.join(drift.field for drift in drifted)} for this entry, and add a NEW entry with another schematicID or "
                "version for the new values; move the pools to it, then retire the old golden.",
                {
                    "golden": f"{GOLDEN_NAMESPACE}/{entry.golden}",
                    "fields": [drift.field for drift in drifted],
                    "live": {drift.field: drift.live for drift in drifted},
                    "wanted": {drift.field: drift.wanted for drift in drifted},
                    "wanted_from": {drift.field: drift.origin for drift in drifted},
                },
            )


@rule(
    "storage-format",
    chart=False,
    cause="The size of a golden is not a Kubernetes quantity, or not above zero, so the API refuses the DataVolume.",
    example="storage: 6 Gi",
    remedy="Write a Kubernetes quantity such as 6Gi.",
)
def storage_format(case: CatalogCase) -> Iterator[Found]:
    for entry in case.entries:
        if not is_size(entry.storage):
            where = entry.origin("storage")
            yield Found(
                where, f"{where} is {shown(entry.storage)}, which is not a size", evidence={where: entry.storage}
            )


def _unknown(prefix: str, given: Mapping[str, Any], known: tuple[str, ...]) -> Iterator[Found]:
    for key in given:
        if key in known:
            continue
        folded = {item.lower(): item for item in known}
        close = get_close_matches(str(key).lower(), folded, n=1, cutoff=0.5)
        near = folded[close[0]] if close else ""
        hint = f"; did you mean {near}?" if near else f"; known are {', '.join(known)}"
        yield Found(
            f"{prefix}{key}",
            f"{prefix}{key} is not a field of the catalog, so it has no effect{hint}",
            evidence={"field": f"{prefix}{key}", "nearest": near},
        )
