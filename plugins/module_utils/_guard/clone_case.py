# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the boot disks of a pool would be cloned, from what is known of its cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from .._image.golden import GOLDEN_NAMESPACE
from .._storage.clone import ClonePrediction, predict_clone
from .._storage.clone_facts import CloneQuestion, CloneSource
from .._storage.objects import StorageProfile
from .._storage.quantity import bytes_of
from .._storage.settings import FILESYSTEM, CdiConfig, claim_request, mode_of, smallest_claim
from .rule import NotRead

if TYPE_CHECKING:
    from .case import PoolCase

T = TypeVar("T")


def clone_of(case: PoolCase) -> ClonePrediction | None:
    """The prediction for a pool that clones a golden; None for other pools. What was not read counts as not known."""
    return predict_clone(question_of(case)) if case.clones else None


def question_of(case: PoolCase) -> CloneQuestion:
    """What is known of the clone of a pool's boot disk."""
    state = case.state
    found = _told(lambda: case.pool_class)
    return CloneQuestion(
        source=_source(case),
        disk_size=bytes_of(case.pool.disk_size),
        class_name=found.value if found is not None else None,
        classes=state.classes_by_name,
        profiles=state.profiles_by_name,
        snapshot_classes=state.snapshot_classes,
        drivers=state.driver_names,
        cdi=state.cdi,
        config=state.cdi_config,
        class_from=found.origin if found is not None else "the pool",
    )


def _source(case: PoolCase) -> CloneSource:
    """The golden as it is, else as its DataVolume or catalog entry says that it will be, else nothing but that it is not there."""
    if _told(lambda: case.golden_exists or case.planned is not None) is not True:
        return CloneSource(ready=_told(lambda: case.golden_exists))
    found, size, claim = _told(lambda: case.golden_class), _told(lambda: case.golden_size), _told(lambda: case.claim)
    name, class_from = (found.value, found.origin) if found is not None else (None, "the golden")
    declared = bytes_of(size.value) if size is not None else None
    ready = _told(lambda: case.planned is None and (case.volume is None or case.volume.phase == "Succeeded"))
    if claim is not None:
        stands = f"its claim in {GOLDEN_NAMESPACE}"
        return CloneSource(
            class_name=claim.storage_class or name,
            size=declared,
            request=bytes_of(claim.storage_request),
            capacity=bytes_of(claim.capacity),
            mode=claim.volume_mode,
            driver=case.state.claims_driver(GOLDEN_NAMESPACE, claim.name),
            ready=ready,
            class_from=stands if claim.storage_class else class_from,
            facts_from=stands,
        )
    profile = case.state.profile(name) if name else None
    return CloneSource(
        class_name=name,
        size=declared,
        request=_future_request(declared, profile, case.state.cdi_config) if declared is not None else None,
        mode=mode_of(profile),
        ready=ready,
        class_from=class_from,
        facts_from=size.origin if size is not None else "the golden",
    )


def _future_request(declared: int, profile: StorageProfile | None, config: CdiConfig | None) -> int | None:
    """What the golden's claim will ask for; None while its volume mode, or the overhead of its file system, is not known."""
    if profile is None or not profile.volume_mode:
        return None
    if config is None:
        return None if profile.volume_mode == FILESYSTEM else max(declared, smallest_claim(profile))
    return claim_request(declared, profile.volume_mode, config.share(profile.name), profile)


def _told(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except NotRead:
        return None
