# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two releases that bring a catalog about: the platform's carries the values, the catalog's renders the goldens.

A healthy one renders again only when it is forced to (platform rule 1.5).
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._image.golden import CATALOG_RELEASE
from .._kube.client import Client
from .._kube.resources import HELM_RELEASE
from .._plan.catalog import FORCE_ANNOTATIONS
from .._pool.objects import HelmRelease
from .._storage.reading import text
from .waiting import FAILED, PROGRESSING, READY, ReleaseState, release_state

PLATFORM_RELEASE = (CATALOG_RELEASE[0], "cozystack-platform")
# What Flux takes when a release states no time limit.
_FLUX_SECONDS = 300.0
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|us|µs|ns|h|m|s)")


def go_seconds(written: str) -> float | None:
    """Seconds of a duration as Go writes it ("10m0s", "1.5h"); None when it is none."""
    parts = _PART.findall(written)
    if not parts or "".join(number + unit for number, unit in parts) != written:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


@dataclass(frozen=True)
class CatalogRelease:
    """One of the two. ``force_pending``: a forced render was asked for and has not been taken up yet."""

    release: HelmRelease
    force_pending: bool = False

    @classmethod
    def from_api(cls, obj: Mapping[str, Any]) -> CatalogRelease | None:
        """None for every other release of the namespace."""
        release = HelmRelease.from_api(obj)
        if (release.namespace, release.name) not in (PLATFORM_RELEASE, CATALOG_RELEASE):
            return None
        forced, requested = (release.meta.annotations.get(key, "") for key in FORCE_ANNOTATIONS)
        handled = text(obj, "status", "lastHandledForceAt")
        return cls(release, bool(forced) and forced == requested and forced != handled)

    @property
    def limit_seconds(self) -> float:
        """After this long its controller says what went wrong."""
        return go_seconds(self.release.install_timeout) or go_seconds(self.release.timeout) or _FLUX_SECONDS


@dataclass(frozen=True)
class Stage:
    """How far one of the two is. ``stale``: it does not carry the wanted catalog yet."""

    what: str
    state: ReleaseState
    stale: bool = False

    @property
    def settled(self) -> bool:
        return self.state.state == READY and not self.stale

    def text(self) -> str:
        return f"{self.what} release {self.state.state}: {self.state.message}"


def stages(releases: Mapping[tuple[str, str], CatalogRelease], catalog: Mapping[str, Any]) -> tuple[Stage, Stage]:
    """Platform first, then catalog, judged against the catalog (``kubernetesWorkerImage``) that they are to carry."""
    found = []
    for what, key in (("platform", PLATFORM_RELEASE), ("catalog", CATALOG_RELEASE)):
        one = releases.get(key)
        values = one.release.values if one else {}
        carried = values.get("kubernetesWorkerImage") if what == "platform" else values
        stale = (carried or {}) != catalog
        state = release_state(one.release if one else None)
        if stale and state.state != FAILED:
            state = ReleaseState(PROGRESSING, message="the new values have not arrived yet")
        elif one is not None and one.force_pending and state.state == READY:
            state = ReleaseState(PROGRESSING, message="the forced render has not begun yet")
        found.append(Stage(what, state, stale))
    return found[0], found[1]


def force_catalog_release(client: Client, moment: float | None = None) -> None:
    """Ask for one render: both annotations with the same value, which has to be a new one. Errors: KubeError."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() if moment is None else moment))
    value = f"{stamp}.{time.time_ns() % 10**9:09d}Z"
    body = {"metadata": {"annotations": dict.fromkeys(FORCE_ANNOTATIONS, value)}}
    client.merge_patch(HELM_RELEASE, CATALOG_RELEASE[1], body, CATALOG_RELEASE[0])
