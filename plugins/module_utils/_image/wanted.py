# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A golden that is declared on its own, without the catalog: what it becomes, and how a live one differs from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._storage.objects import Claim, DataVolume
from .._storage.printed import printed
from .._storage.quantity import same_quantity
from .._storage.reading import text
from .catalog import CATALOG_DEFAULTS, DEFAULT_STORAGE, CatalogEntry
from .golden import CATALOG_RELEASE, DEFAULT_FACTORY
from .keep import Drift, drift_of
from .render import render_golden

RELEASE_NAME, RELEASE_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
MANAGED_BY = "app.kubernetes.io/managed-by"
# CDI may be set to collect finished DataVolumes; a golden has to stay visible.
_NO_COLLECTION = "cdi.kubevirt.io/storage.deleteAfterCompletion"
# What was uploaded: CDI keeps no trace of it.
UPLOADED_ANNOTATION = "worker-image.cozystack.io/uploaded-sha256"
# Options in the platform's words -> where CDI has them below spec.source.http.
SOURCE_SETTINGS = ("certConfigMap", "secretRef", "checksum")


@dataclass(frozen=True)
class WantedGolden:
    """A declared golden. What is None or blank is not declared: it has a default when the golden is made, and is not compared later.

    ``upload`` says that the image comes from a local file instead of an address; ``settings`` maps SOURCE_SETTINGS to values.
    """

    schematic_id: str
    version: str
    image_factory_url: str | None = None
    storage: str | int | None = None
    storage_class: str | None = None
    settings: Mapping[str, str] | None = None
    upload: bool = False

    @property
    def name(self) -> str:
        return self.entry.golden

    @property
    def entry(self) -> CatalogEntry:
        """The golden as a catalog's entry, with the chart's defaults; ``origins`` name the options."""
        stated = {
            "imageFactoryURL": self.image_factory_url,
            "storage": self.storage,
            "storageClass": self.storage_class,
        }
        origins = {key: key if value is not None else f"the default of {key}" for key, value in stated.items()}
        default_class = str(CATALOG_DEFAULTS["storageClass"])
        return CatalogEntry(
            schematic_id=self.schematic_id,
            version=self.version,
            image_factory_url=(self.image_factory_url or DEFAULT_FACTORY).rstrip("/"),
            storage=printed(self.storage) if self.storage is not None else DEFAULT_STORAGE,
            storage_class=default_class if self.storage_class is None else self.storage_class,
            index=-1,
            origins=origins | {"schematicID": "schematicID", "version": "version"},
        )


def drift_of_wanted(
    wanted: WantedGolden, live: DataVolume, claim: Claim | None, checksum: str = ""
) -> tuple[Drift, ...]:
    """Declared fields that a live golden does not have. Sizes by number, addresses without regard to slashes.

    ``checksum`` is that of the file to upload (``sha256:<hex>``), blank when it is not known. A live golden that states nothing to compare
    with passes: an uploaded one has no address, and one made without a class got it from its claim.
    """
    declared = {
        "storage": wanted.storage,
        "storageClass": wanted.storage_class,
        "imageFactoryURL": wanted.image_factory_url,
    }
    found = [drift for drift in drift_of(wanted.entry, live) if declared.get(drift.field) is not None]
    if claim is not None:
        found += _claim_drift(wanted, live, claim)
    for key, value in (wanted.settings or {}).items():
        present = text(live.spec, "source", "http", key)
        if live.http_url and not wanted.upload and present != value:
            found.append(Drift(key, present, value, key))
    uploaded = live.meta.annotations.get(UPLOADED_ANNOTATION, "")
    if uploaded and checksum and uploaded != checksum:
        found.append(Drift("src", uploaded, checksum, "the checksum of src"))
    return tuple(found)


def _claim_drift(wanted: WantedGolden, live: DataVolume, claim: Claim) -> list[Drift]:
    """What the DataVolume leaves open stands in its claim, where CDI may have rounded the size up."""
    found = []
    if wanted.storage_class and not live.storage_class and claim.storage_class not in ("", wanted.storage_class):
        found.append(Drift("storageClass", claim.storage_class, wanted.storage_class, "storageClass"))
    unstated = live.storage_request is None and claim.storage_request is not None
    if wanted.storage is not None and unstated and not same_quantity(wanted.storage, claim.storage_request):
        found.append(Drift("storage", printed(claim.storage_request), printed(wanted.storage), "storage"))
    return found


def ownership(wanted: WantedGolden) -> dict[str, Any]:
    """The metadata with which the catalog's Helm release takes a golden over instead of stumbling over it."""
    plain = render_golden(wanted.entry)["metadata"]
    marks = {RELEASE_NAME: CATALOG_RELEASE[1], RELEASE_NAMESPACE: CATALOG_RELEASE[0]}
    return {"annotations": {**plain["annotations"], **marks}, "labels": {MANAGED_BY: "Helm"}}


def render_wanted(wanted: WantedGolden, checksum: str = "") -> dict[str, Any]:
    """The DataVolume to create. ``checksum`` of the file goes into an annotation for an upload."""
    body = render_golden(wanted.entry)
    marks = ownership(wanted)
    annotations = {**marks["annotations"], _NO_COLLECTION: "false"}
    if wanted.upload:
        body["spec"]["source"] = {"upload": {}}
        annotations |= {UPLOADED_ANNOTATION: checksum} if checksum else {}
    else:
        body["spec"]["source"]["http"] |= {key: value for key, value in (wanted.settings or {}).items() if value}
    body["metadata"] |= {"annotations": annotations, "labels": marks["labels"]}
    return body


def adoption(wanted: WantedGolden, live: DataVolume) -> dict[str, Any]:
    """Metadata that a matching live golden lacks: the chart's annotations, and Helm's marks if it belongs to no release at all."""
    marks = ownership(wanted)
    annotations, labels = live.meta.annotations, live.meta.labels
    wanted_marks = {key: value for key, value in marks["annotations"].items() if key not in annotations}
    if annotations.get(RELEASE_NAME):
        wanted_marks.pop(RELEASE_NAMESPACE, None)
        missing_labels = {}
    else:
        missing_labels = {key: value for key, value in marks["labels"].items() if labels.get(key) != value}
    return {key: value for key, value in (("annotations", wanted_marks), ("labels", missing_labels)) if value}
