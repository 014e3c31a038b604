# SPDX-License-Identifier: Apache-2.0
"""Which operating system image a pool boots: the resolution every other rule builds on, and the formats it demands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lab.chart.quantities import go_text
from lab.chart.refusal import Refused
from lab.chart.values import TALOS_WINDOWS, Values

CATALOG_NAMESPACE = "cozy-public"
GOLDEN_ANNOTATION = "kubernetes-worker-image.cozystack.io/golden"
POOL_ANNOTATION = "kubernetes-worker-image.cozystack.io/pool"

_SCHEMATIC = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_VERSION = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?")
_FACTORY_URL = re.compile(r"https?://[A-Za-z0-9._~:/?#\[\]@!&'()*+,;=%-]+")


@dataclass(frozen=True)
class Source:
    """A resolved image. ``builtin`` says that the boot disk is cloned from the golden image of the pair."""

    builtin: bool
    schematic: str
    version: str
    factory_url: str

    @property
    def golden(self) -> str:
        return golden_name(self.schematic, self.version)

    @property
    def url(self) -> str:
        return image_url(self.factory_url, self.schematic, self.version)


def golden_name(schematic: str, version: str) -> str:
    return f"talos-worker-{schematic}-{version}"


def image_url(base: str, schematic: str, version: str) -> str:
    """The raw image below a factory's base URL, of which exactly one trailing slash is dropped."""
    return f"{base.removesuffix('/')}/image/{schematic}/{version}/openstack-amd64.raw.xz"


def resolve(os_image: Any, talos: Values) -> Source:
    """The pool's source. Raises Refused source-ambiguous, schematic-format, version-format, factory-url-format.

    A form is chosen by the presence of its key; inside it a blank override falls back to ``talos``.
    """
    image = os_image or {}
    if "builtin" in image and "factory" in image:
        raise Refused("source-ambiguous", "osImage.builtin and osImage.factory are both set: keep one of them")
    form = next((key for key in ("builtin", "factory") if key in image), "")
    overrides: Values = (image.get(form) or {}) if form else {}

    def pick(field: str) -> tuple[str, str]:
        if overrides.get(field):
            return go_text(overrides[field]), f"osImage.{form}.{field}"
        return go_text(talos.get(field)), f"talos.{field}"

    schematic, version = pick("schematicID"), pick("version")
    factory_url = (
        pick("imageFactoryURL")
        if form == "factory"
        else (go_text(talos.get("imageFactoryURL")), "talos.imageFactoryURL")
    )
    check_schematic(*schematic)
    check_version(*version)
    if form != "builtin":
        check_factory_url(*factory_url)
    return Source(form == "builtin", schematic[0], version[0], factory_url[0])


def check_schematic(value: str, field: str) -> None:
    if not _SCHEMATIC.fullmatch(value):
        raise Refused(
            "schematic-format",
            f"{field}: {value!r} cannot be part of a name; use lower-case letters and digits, dashes only inside",
        )


def check_version(value: str, field: str) -> None:
    if not _VERSION.fullmatch(value):
        raise Refused(
            "version-format",
            f"{field}: {value!r} is not a Talos release such as v1.13.6 or v1.14.0-beta.1; the patch part is needed",
        )


def check_factory_url(value: str, field: str) -> None:
    if not _FACTORY_URL.fullmatch(value):
        raise Refused("factory-url-format", f"{field}: {value!r} is not an http:// or https:// URL in plain characters")


def check_window(talos: str, kubernetes: str, remedy: str) -> None:
    """Raises Refused talos-kubernetes-window when the Talos minor is listed and does not list the Kubernetes minor."""
    minor = re.match(r"v[0-9]+\.[0-9]+", talos)
    row = TALOS_WINDOWS.get(minor[0]) if minor else None
    if row and kubernetes not in row:
        raise Refused(
            "talos-kubernetes-window",
            f"Talos {talos} does not run Kubernetes {kubernetes}, only {', '.join(row)}: {remedy}",
        )
