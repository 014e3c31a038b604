# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on where a single golden comes from: checksum, CA and credentials of an address, or a file to upload."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._image.golden import GOLDEN_NAMESPACE
from .._storage.quantity import bytes_of
from .import_case import ImportCase
from .rule import Found, NotRead, rule, shown

CHECKSUM_DIGITS = {"md5": 32, "sha1": 40, "sha256": 64, "sha512": 128}


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
    needed, given = case.raw_size, bytes_of(size)
    if needed is not None and given is not None and 0 < given < needed:
        yield Found(
            "storage",
            f"storage {size} ({given} bytes, from {where}) is smaller than the disk in the file to upload, which has {needed} bytes",
            evidence={"storage": size, "storage_bytes": given, "image_bytes": needed},
        )


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
