# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on importing one golden without the catalog."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .._image.catalog import CatalogEntry
from .._image.golden import GOLDEN_NAMESPACE
from .._image.keep import Drift
from .._image.wanted import WantedGolden, drift_of_wanted
from .._storage.golden import GoldenState
from .._storage.objects import Claim, DataVolume
from .._storage.quantity import InvalidQuantity, parse_quantity, to_bytes
from .catalog import CatalogCase
from .catalog_advice import catalog_default_ambiguous
from .catalog_storage import catalog_profile_incomplete, golden_too_small, scratch_class_unresolved
from .rule import Found, NotRead, rule, shown
from .shape import bad_schematic, bad_url, bad_version
from .state import ClusterState

CHECKSUM_DIGITS = {"md5": 32, "sha1": 40, "sha256": 64, "sha512": 128}
_REIMPORT = "golden_image with recreate=stuck deletes it and has it imported anew, once nothing clones it"


@dataclass(frozen=True)
class ImportCase:
    """A golden that is to be there. What is None was not read or not looked at: rules that need it are then not judged.

    ``classes`` are the names of the storage classes. ``raw_size`` and ``file_problem`` tell about the file to upload,
    ``proxy_problem`` why it cannot be sent. ``config_map`` and ``secret`` say whether the named objects exist. ``cluster`` holds classes
    and CDI's settings, and no golden of this name, since it is to be made.
    """

    wanted: WantedGolden
    live: GoldenState
    volume: DataVolume | None = None
    claim: Claim | None = None
    making: bool = True
    recreate: bool = False
    classes: tuple[str, ...] | None = None
    default_class: str = ""
    checksum_known: bool | None = None
    config_map: bool | None = None
    secret: bool | None = None
    checksum: str = ""
    raw_size: int | None = None
    file_problem: str = ""
    proxy_problem: str = ""
    cluster: ClusterState | None = None

    @property
    def subject(self) -> str:
        return f"golden image {GOLDEN_NAMESPACE}/{self.wanted.name}"

    @cached_property
    def settings(self) -> dict[str, str]:
        return dict(self.wanted.settings or {})


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
    try:
        sane = parse_quantity(case.wanted.entry.storage) > 0
    except InvalidQuantity:
        sane = False
    if not sane:
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
    "golden-too-small",
    chart=False,
    cause="The disk in the file to upload does not fit into the golden.",
    example="storage: 4Gi for a file that holds 4247Mi",
    remedy="Give the golden at least 5Gi (6Gi is the platform's default).",
)
def file_too_large(case: ImportCase) -> Iterator[Found]:
    live = case.volume.storage_request if case.volume is not None and not case.making else None
    size, where = (
        (case.wanted.entry.storage, case.wanted.entry.origin("storage")) if live is None else (live, "the golden")
    )
    needed = case.raw_size
    try:
        given = to_bytes(size)
    except InvalidQuantity:
        return
    if needed is not None and 0 < given < needed:
        yield Found(
            "storage",
            f"storage {size} ({given} bytes, from {where}) is smaller than the disk in the file to upload, which has {needed} bytes",
            evidence={"storage": size, "storage_bytes": given, "image_bytes": needed},
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
    "checksum-format",
    chart=False,
    cause="A checksum has an algorithm and the right number of hexadecimal digits; a wrong one stops the import without a useful message.",
    example="checksum: 0123abcd",
    remedy="Write <algorithm>:<hex> with md5, sha1, sha256 or sha512, of the file as it is downloaded (the .xz file).",
)
def checksum_format(case: ImportCase) -> Iterator[Found]:
    given = case.settings.get("checksum", "")
    algorithm, _, digits = given.partition(":")
    length = CHECKSUM_DIGITS.get(algorithm.lower())
    if given and (len(digits) != length or not re.fullmatch("[0-9a-fA-F]+", digits)):
        what = (
            f"{algorithm} has {length} hexadecimal digits"
            if length
            else f"the algorithms are {', '.join(CHECKSUM_DIGITS)}"
        )
        yield Found(
            "checksum",
            f"checksum {shown(given)} is not of the form <algorithm>:<hex>; {what}",
            evidence={"checksum": given},
        )


@rule(
    "checksum-unsupported",
    chart=False,
    cause="This CDI does not know checksums (they came with v1.65.0); its API would drop the field without a word, and "
    "nothing would be checked.",
    example="checksum on CDI 1.64",
    remedy="Leave checksum out and check the file on the mirror (image_probe_info, sha256sum), or upload it with src, which is checked "
    "before it is sent.",
)
def checksum_unsupported(case: ImportCase) -> Iterator[Found]:
    if not case.making or case.wanted.upload or "checksum" not in case.settings:
        return
    if case.checksum_known is None:
        raise NotRead("the schema of DataVolumes")
    if not case.checksum_known:
        yield Found(
            "checksum",
            "the installed CDI does not know checksum and would drop it",
            evidence={"checksum": case.settings["checksum"]},
        )


@rule(
    "ca-config-map-missing",
    chart=False,
    cause="The importer cannot start before the ConfigMap with the CA exists in its namespace.",
    example="certConfigMap: mirror-ca, which is not in cozy-public",
    remedy="Create the ConfigMap in cozy-public first; every key of it is read as PEM.",
)
def ca_config_map_missing(case: ImportCase) -> Iterator[Found]:
    name = case.settings.get("certConfigMap", "")
    if case.making and name:
        if case.config_map is None:
            raise NotRead("ConfigMaps in cozy-public")
        if not case.config_map:
            yield Found(
                "certConfigMap", f"ConfigMap {GOLDEN_NAMESPACE}/{name} does not exist", evidence={"certConfigMap": name}
            )


@rule(
    "source-secret-missing",
    chart=False,
    cause="The importer cannot start before the Secret with the credentials exists in its namespace.",
    example="secretRef: mirror, which is not in cozy-public",
    remedy="Create the Secret in cozy-public first, with keys accessKeyId and secretKey.",
)
def source_secret_missing(case: ImportCase) -> Iterator[Found]:
    name = case.settings.get("secretRef", "")
    if case.making and name:
        if case.secret is None:
            raise NotRead("the names of Secrets in cozy-public")
        if not case.secret:
            yield Found("secretRef", f"Secret {GOLDEN_NAMESPACE}/{name} does not exist", evidence={"secretRef": name})


@rule(
    "upload-file-unusable",
    chart=False,
    cause="The file to upload is missing, damaged, or no disk image.",
    example="src: an error page saved as openstack-amd64.raw.xz",
    remedy="Fetch openstack-amd64.raw.xz of this schematic and version again and check it (xz -t, sha256sum).",
)
def upload_file_unusable(case: ImportCase) -> Iterator[Found]:
    if case.file_problem:
        yield Found("src", case.file_problem, evidence={"problem": case.file_problem})


@rule(
    "upload-proxy-unknown",
    chart=False,
    cause="CDI's upload proxy has no address that is known outside the cluster.",
    example="a CDIConfig without status.uploadProxyURL",
    remedy="Expose the service cdi-uploadproxy of CDI's namespace (ingress, load balancer or kubectl port-forward) and "
    "give upload_proxy_url.",
)
def upload_proxy_unknown(case: ImportCase) -> Iterator[Found]:
    if case.proxy_problem:
        yield Found("upload_proxy_url", case.proxy_problem, evidence={"problem": case.proxy_problem})


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
