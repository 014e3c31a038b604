# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a write of the catalog leaves behind, and goldens that nothing brings any more: advice with a way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._image.catalog import Catalog
from .._image.golden import CATALOG_RELEASE, GOLDEN_NAMESPACE
from .._storage.printed import printed
from .findings import Finding, Verdict
from .state import ClusterState

_SUBJECT = "kubernetesWorkerImage.images"
_SHOWN = 5


def names_text(names: Iterable[str]) -> str:
    """Names for a message, the first few of many."""
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def judge_orphans(live: Mapping[str, Any], desired: Mapping[str, Any], state: ClusterState) -> Verdict:
    """Advice on goldens that exist and lose their entry when the live catalog becomes the desired one."""
    kept = Catalog.from_values(desired).by_golden()
    lost = [name for name in Catalog.from_values(live).by_golden() if name not in kept]
    found = [volume for volume in map(state.golden, lost) if volume is not None]
    if not found:
        return Verdict()
    told = names_text(f"{volume.name} ({printed(volume.storage_request)})" for volume in found)
    finding = Finding(
        "golden-orphaned",
        _SUBJECT,
        f"{len(found)} of the goldens in {GOLDEN_NAMESPACE} lose their entry and stay, unmanaged: {told}",
        "Keep the entry while pools use the golden; retire the golden (role retire, or module golden_image with state=absent) once "
        "none does.",
        {"goldens": [{"name": volume.name, "size": volume.storage_request} for volume in found]},
    )
    return Verdict(advice=(finding,))


def not_rendered(names: Sequence[str]) -> Finding:
    """The catalog lists these goldens, everything is settled, and they are not there: a healthy release renders nothing again."""
    namespace, release = CATALOG_RELEASE
    return Finding(
        "golden-not-rendered",
        _SUBJECT,
        f"the catalog lists {names_text(names)}, and HelmRelease {namespace}/{release} is settled with these very values, but there is no "
        f"such golden in {GOLDEN_NAMESPACE}: somebody deleted it, and a settled release does not bring it back",
        "Run again with force_render=true, which has the release render once more; the image is then imported anew.",
        {"goldens": list(names), "release": f"{namespace}/{release}"},
    )
