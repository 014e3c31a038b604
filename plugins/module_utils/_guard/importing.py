# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on importing one golden without the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .._image.catalog import CatalogEntry
from .._image.golden import GOLDEN_NAMESPACE
from .._image.keep import Drift
from .._image.wanted import WantedGolden, drift_of_wanted
from .._storage.quantity import is_size
from .catalog import CatalogCase
from .catalog_advice import catalog_default_ambiguous
from .catalog_storage import catalog_profile_incomplete, golden_too_small, scratch_class_unresolved
from .import_case import ImportCase
from .import_source import (
    ca_config_map_missing,
    checksum_format,
    checksum_unsupported,
    file_too_large,
    source_secret_missing,
    upload_file_unusable,
    upload_proxy_unknown,
)
from .rule import Found, NotRead, rule, shown
from .shape import bad_schematic, bad_url, bad_version

_REIMPORT = "golden_image with recreate=stuck deletes it and has it imported anew, once nothing clones it"


@rule(
    "schematic-format",
    chart=False,
    cause="The schematic ID ends up in an object name and in an address.",
    example='schematicID: "ABC"',
    remedy="Use the lower-case ID that the image factory answered, in quotes; it matches [a-z0-9]([-a-z0-9]*[a-z0-9])? as a whole.",
)
def wanted_schematic_format(case: ImportCase) -> Iterator[Found]:
    yield from bad_schematic(case.wanted.schematic_id, "schematicID")


@rule(
    "version-format",
    chart=False,
    cause="The Talos version ends up in an object name and in an address, so it has to be a full release name.",
    example='version: "v1.13"',
    remedy='Write the whole release with its patch number, such as "v1.13.6" or "v1.14.0-beta.1", in quotes.',
)
def wanted_version_format(case: ImportCase) -> Iterator[Found]:
    yield from bad_version(case.wanted.version, "version")


@rule(
    "factory-url-format",
    chart=False,
    cause="The image is fetched from below this address, and only plain http(s) addresses are let through.",
    example="imageFactoryURL: mirror.example.net",
    remedy='Give a plain address such as "https://factory.talos.dev" or "http://mirror.example.net:8080/talos".',
)
def wanted_url_format(case: ImportCase) -> Iterator[Found]:
    if not case.wanted.upload:
        yield from bad_url(case.wanted.entry.image_factory_url, "imageFactoryURL")


@rule(
    "storage-format",
    chart=False,
    cause="The size of a golden is not a Kubernetes quantity, or not above zero, so the API refuses the DataVolume.",
    example="storage: 6 Gi",
    remedy="Write a Kubernetes quantity such as 6Gi.",
)
def wanted_storage_format(case: ImportCase) -> Iterator[Found]:
    if not is_size(case.wanted.entry.storage):
        yield Found(
            "storage",
            f"storage is {shown(case.wanted.entry.storage)}, which is not a size",
            evidence={"storage": case.wanted.storage},
        )


@rule(
    "golden-immutable",
    chart=False,
    cause="A golden of this pair exists with other settings, and those of an existing golden cannot be changed.",
    example="storage: 10Gi where the live golden has 6Gi",
    remedy="Declare what is live, or import a golden of another schematicID or version with the new settings and move the pools to it.",
)
def wanted_differs(case: ImportCase) -> Iterator[Found]:
    if case.volume is None or case.recreate:
        return
    drifted = drift_of_wanted(case.wanted, case.volume, case.claim, case.checksum)
    kind = "upload" if case.wanted.upload else "http"
    live_kinds = case.volume.source_kinds
    if not case.live.ready and live_kinds and kind not in live_kinds:
        drifted = (
            *drifted,
            Drift("source", ", ".join(live_kinds), kind, "source"),
        )
    if drifted:
        what = ", ".join(
            f"{drift.field} is {drift.live or 'not set'} and would become {drift.wanted}" for drift in drifted
        )
        yield Found(
            drifted[0].field if len(drifted) == 1 else "",
            f"it exists and cannot be changed: {what}",
            evidence={
                "fields": [drift.field for drift in drifted],
                "live": {drift.field: drift.live for drift in drifted},
                "wanted": {drift.field: drift.wanted for drift in drifted},
            },
        )


@rule(
    "storage-class-unknown",
    chart=False,
    cause="The golden's storage class does not exist, or none is named and the cluster has no default: the DataVolume "
    "would just sit there.",
    example="storageClass: replicted",
    remedy="Name an existing class.",
)
def wanted_class_unknown(case: ImportCase) -> Iterator[Found]:
    if not case.making:
        return
    if case.classes is None:
        raise NotRead("storage_classes")
    name = case.wanted.entry.storage_class or case.default_class
    if name not in case.classes:
        what = f"storage class {name} does not exist" if name else "no storage class is named and there is no default"
        yield Found(
            "storageClass",
            f"{what}; there are {', '.join(case.classes) or 'none'}",
            evidence={"storageClass": name, "known": list(case.classes)},
        )


@rule(
    "golden-in-trouble",
    refuses=False,
    chart=False,
    cause="The golden exists and will not become ready by waiting.",
    example="a golden whose importer pod has failed",
    remedy=f"Remove the cause. Where CDI does not go on by itself, {_REIMPORT}.",
)
def wanted_in_trouble(case: ImportCase) -> Iterator[Found]:
    if case.live.in_trouble and not case.recreate:
        cause = f"{case.live.state}: {case.live.reason}" + (f" ({case.live.cause})" if case.live.cause else "")
        yield Found("", f"it is {cause}", case.live.remedy, {"state": case.live.state, **case.live.evidence})


@dataclass(frozen=True)
class OneGolden(CatalogCase):
    """A golden as the only entry of a catalog, for the rules on storage that both share; ``values`` stay empty."""

    wanted: WantedGolden | None = None

    @property
    def subject(self) -> str:  # type: ignore[override]
        return f"golden image {GOLDEN_NAMESPACE}/{self.entries[0].golden}" if self.entries else "golden image"

    @property
    def entries(self) -> tuple[CatalogEntry, ...]:
        return (self.wanted.entry,) if self.wanted is not None else ()


# Shared with the catalog; the first one is about the size of a release's image.
STORAGE_RULES = (golden_too_small, catalog_profile_incomplete, scratch_class_unresolved, catalog_default_ambiguous)
IMPORT_RULES = (
    wanted_schematic_format,
    wanted_version_format,
    wanted_url_format,
    wanted_storage_format,
    wanted_differs,
    file_too_large,
    wanted_class_unknown,
    checksum_format,
    checksum_unsupported,
    ca_config_map_missing,
    source_secret_missing,
    upload_file_unusable,
    upload_proxy_unknown,
    wanted_in_trouble,
)
