# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Talos releases and the Kubernetes minors they support.

Two tables, both data: the chart's matrix, which refuses, and Talos' own windows, which the chart does not know and we advise from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

VERSION_SHAPE = r"v[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?"
SCHEMATIC_SHAPE = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
URL_SHAPE = r"https?://[A-Za-z0-9._~:/?#\[\]@!&'()*+,;=%-]+"

CHART_MATRIX: Mapping[str, tuple[str, ...]] = {"v1.13": ("v1.31", "v1.32", "v1.33", "v1.34", "v1.35", "v1.36")}
# First and last supported minor of Kubernetes 1.x by Talos' compatibility tables; 1.7 follows from "always six minors".
TALOS_WINDOWS: Mapping[str, tuple[int, int]] = {
    "v1.7": (25, 30),
    "v1.8": (26, 31),
    "v1.9": (27, 32),
    "v1.10": (28, 33),
    "v1.11": (29, 34),
    "v1.12": (30, 35),
    "v1.13": (31, 36),
    "v1.14": (32, 37),
    "v1.15": (33, 38),
}
# The patch release that the pool chart installs for each minor of its enum.
KUBERNETES_RELEASES: Mapping[str, str] = {
    "v1.35": "v1.35.6",
    "v1.34": "v1.34.9",
    "v1.33": "v1.33.13",
    "v1.32": "v1.32.13",
    "v1.31": "v1.31.14",
}
_MIB = 1024 * 1024

_MINOR = re.compile(r"v?([0-9]+\.[0-9]+)")


@total_ordering
@dataclass(frozen=True)
class TalosVersion:
    """A Talos release; pre-releases order before their release, by number where they end in one."""

    major: int
    minor: int
    patch: int
    pre: str = ""

    @classmethod
    def parse(cls, written: str) -> TalosVersion:
        """Raises ValueError for anything but ``vX.Y.Z`` or ``vX.Y.Z-pre``."""
        if not isinstance(written, str) or not re.fullmatch(VERSION_SHAPE, written):
            raise ValueError(f"{written!r} is not a Talos release (examples: v1.13.6, v1.14.0-beta.1)")
        numbers, _, pre = written[1:].partition("-")
        major, minor, patch = (int(part) for part in numbers.split("."))
        return cls(major, minor, patch, pre)

    @property
    def family(self) -> str:
        """The minor release, such as ``v1.13``."""
        return f"v{self.major}.{self.minor}"

    def __str__(self) -> str:
        return f"{self.family}.{self.patch}" + (f"-{self.pre}" if self.pre else "")

    def __lt__(self, other: TalosVersion) -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]:
        # Semantic versioning: identifiers of digits compare as numbers and come before the others.
        parts = tuple(
            (not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in self.pre.split(".") if self.pre
        )
        return (self.major, self.minor, self.patch, not self.pre, parts)


def minor_of(written: Any) -> str:
    """``v1.13`` of a Talos version, by the chart's rule (a leading ``v1.13``); blank when there is none."""
    match = re.match(r"v[0-9]+\.[0-9]+", written) if isinstance(written, str) else None
    return match.group() if match else ""


def kubernetes_minor(written: Any) -> tuple[int, int] | None:
    """Major and minor of the first version in a text, with or without ``v``; None when there is none."""
    match = _MINOR.search(written) if isinstance(written, str) else None
    if match is None:
        return None
    major, minor = match[1].split(".")
    return int(major), int(minor)


def chart_row(talos: str, matrix: Mapping[str, tuple[str, ...]] | None = None) -> tuple[str, ...] | None:
    """The chart's row for a Talos version: the pool versions it lets pass. None for a minor it does not list."""
    return (CHART_MATRIX if matrix is None else matrix).get(minor_of(talos))


def talos_window(talos: str, windows: Mapping[str, tuple[int, int]] | None = None) -> tuple[int, int] | None:
    """First and last minor of Kubernetes 1.x that a Talos release supports by Talos' own table; None when unlisted."""
    return (TALOS_WINDOWS if windows is None else windows).get(minor_of(talos))


def windows_of(given: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Windows as written, ``{v1.14: [32, 37]}`` in minors of Kubernetes 1.x. Raises ValueError naming the one that is none."""
    windows = {}
    for family, bounds in given.items():
        whole = isinstance(bounds, (list, tuple)) and len(bounds) == 2
        if minor_of(family) != family or not whole or not all(type(bound) is int for bound in bounds):
            raise ValueError(f"windows: {family} needs the first and the last supported minor, such as v1.14: [32, 37]")
        windows[family] = (bounds[0], bounds[1])
    return windows


def supported_pair(talos: str, kubernetes: str, windows: Mapping[str, tuple[int, int]] | None = None) -> bool:
    """Whether a pair is known to fit by Talos' own table. Fails closed: an unlisted Talos minor is not known to fit."""
    window = talos_window(talos if talos.startswith("v") else f"v{talos}", windows)
    minor = kubernetes_minor(kubernetes)
    return window is not None and minor is not None and minor[0] == 1 and window[0] <= minor[1] <= window[1]


def smallest_golden(talos: str, bootloader: str = "") -> int | None:
    """Bytes of the raw openstack image (amd64), which a golden must hold; None for an unknown release.

    ``bootloader`` is that of the schematic. Blank means Talos' default, since 1.10 both of them, which needs room for two; a
    schematic that names one (``sd-boot``, ``grub``) has a smaller image. An embedded image cache adds more, which nobody can tell.
    """
    minor = kubernetes_minor(minor_of(talos))
    if minor is None or minor[0] != 1:
        return None
    boot = 2000 if minor[1] >= 11 else 1000
    both = minor[1] >= 10 and bootloader not in ("sd-boot", "grub")
    return (246 + boot + (1 + boot if both else 0)) * _MIB


def checked_pair(schematic_id: str, version: str) -> tuple[str, str]:
    """The pair, if a golden of it can exist. Raises ValueError naming the malformed one."""
    if not re.fullmatch(SCHEMATIC_SHAPE, schematic_id):
        raise ValueError(f"{schematic_id!r} is not a schematic ID: lower-case letters, digits and inner dashes only")
    TalosVersion.parse(version)
    return schematic_id, version


def checked_base(base: str) -> str:
    """A factory's base address. Raises ValueError for what the charts refuse."""
    if not re.fullmatch(URL_SHAPE, base):
        raise ValueError(f"{base!r} is not a plain http:// or https:// address")
    return base
