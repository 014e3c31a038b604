# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on the form of the boot source: which form, and the shape of its three values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._image.versions import SCHEMATIC_SHAPE, URL_SHAPE, VERSION_SHAPE
from .._pool.source import AMBIGUOUS, BUILTIN
from .._pool.template import on_kubevirt
from .._storage.reading import is_set, mapping
from .case import PoolCase
from .rule import Found, rule, shown


@rule(
    "source-ambiguous",
    cause="Both osImage.builtin and osImage.factory are present. The key decides, not its value, so an empty one counts.",
    example="osImage: {builtin: {}, factory: {}}",
    remedy="Keep one of osImage.builtin and osImage.factory. Declaring just one in node_pools takes the other one out of a live pool.",
)
def source_ambiguous(case: PoolCase) -> Iterator[Found]:
    if case.source.mode == AMBIGUOUS:
        yield Found(
            "osImage",
            "both osImage.builtin and osImage.factory are given, and a pool boots from one of them",
            evidence={"osImage": dict(mapping(case.values, "osImage"))},
        )


@rule(
    "schematic-format",
    cause="The schematic ID ends up in an object name and in an address; upper case, slashes, dots or blanks break both.",
    example='osImage: {builtin: {schematicID: "ABC123"}}',
    remedy="Use the lower-case ID that the image factory answered, in quotes; it matches [a-z0-9]([-a-z0-9]*[a-z0-9])? as a whole.",
)
def schematic_format(case: PoolCase) -> Iterator[Found]:
    yield from bad_schematic(case.source.schematic_id, case.source.origins["schematicID"])


@rule(
    "version-format",
    cause="The Talos version ends up in an object name and in an address, so it has to be a full release name.",
    example='talos: {version: "v1.13"}',
    remedy='Write the whole release with its patch number, such as "v1.13.6" or "v1.14.0-beta.1", in quotes.',
)
def version_format(case: PoolCase) -> Iterator[Found]:
    yield from bad_version(case.source.version, case.source.origins["version"])


@rule(
    "factory-url-format",
    cause="The factory address is printed unquoted into the machine template, so only plain http(s) addresses are let through.",
    example='osImage: {factory: {imageFactoryURL: "ftp://mirror.example.net"}}',
    remedy='Give a plain address such as "https://factory.talos.dev" or "http://mirror.example.net:8080/talos".',
)
def factory_url_format(case: PoolCase) -> Iterator[Found]:
    if case.source.mode not in {AMBIGUOUS, BUILTIN}:
        yield from bad_url(case.source.image_factory_url, case.source.origins["imageFactoryURL"])


@rule(
    "null-source",
    chart=False,
    cause="A form of the boot source is null. The values schema rejects that, yet a read of the API shows an empty form.",
    example="osImage: {builtin: null}",
    remedy="Write `builtin: {}` to clone the default golden, or leave the key out. To switch form, name the new one "
    "only; the other is taken out of a live pool.",
)
def null_source(case: PoolCase) -> Iterator[Found]:
    image = case.pool.spec.get("osImage")
    for key in ("builtin", "factory"):
        if isinstance(image, Mapping) and key in image and image[key] is None:
            yield Found(
                f"osImage.{key}",
                f"osImage.{key} is null, which is neither a request for {key} nor its absence",
                evidence={"osImage": dict(image)},
            )


@rule(
    "substrate-without-source",
    cause="Workers on the proxmox substrate boot from a template there; a boot source applies to kubevirt workers only.",
    example="substrate: proxmox, osImage: {builtin: {}}",
    remedy="Remove osImage, or use the kubevirt substrate.",
)
def substrate_without_source(case: PoolCase) -> Iterator[Found]:
    known = case.state.pool_schema is None or "substrate" in case.state.pool_schema
    if known and not on_kubevirt(case.pool) and is_set(case.values.get("osImage")):
        yield Found(
            "osImage",
            f"osImage is given, but substrate is {shown(case.values.get('substrate'))}, whose workers do not boot from it",
            evidence={"substrate": case.values.get("substrate"), "osImage": case.values.get("osImage")},
        )


def bad_schematic(value: str, origin: str) -> Iterator[Found]:
    """Whatever is wrong with a resolved schematic ID."""
    if not re.fullmatch(SCHEMATIC_SHAPE, value):
        yield Found(
            origin,
            f"{origin} is {shown(value)}, which is not a schematic ID: lower-case letters, digits and inner dashes only",
            evidence=_evidence(origin, value, SCHEMATIC_SHAPE),
        )


def bad_version(value: str, origin: str) -> Iterator[Found]:
    """Whatever is wrong with a resolved Talos version."""
    if re.fullmatch(VERSION_SHAPE, value):
        return
    hint = "" if value.startswith("v") else '; a release starts with "v"'
    if re.fullmatch(r"v?[0-9]+\.[0-9]+", value):
        hint += "; the patch number is needed, and an unquoted one is read as a number"
    yield Found(
        origin,
        f"{origin} is {shown(value)}, which is not a Talos release of the form vMAJOR.MINOR.PATCH{hint}",
        evidence=_evidence(origin, value, VERSION_SHAPE),
    )


def bad_url(value: str, origin: str) -> Iterator[Found]:
    """Whatever is wrong with a resolved factory address."""
    if not re.fullmatch(URL_SHAPE, value):
        what = "blank" if not value else shown(value)
        yield Found(
            origin,
            f"{origin} is {what}, which is not a plain http:// or https:// address",
            evidence=_evidence(origin, value, URL_SHAPE),
        )


def _evidence(origin: str, value: str, shape: str) -> dict[str, Any]:
    return {"field": origin, "value": value, "shape": shape}
