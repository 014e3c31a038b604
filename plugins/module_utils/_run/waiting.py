# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a wait looks at: releases and goldens. Each judge says "done", "not yet", or why it never will be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._pool.objects import HelmRelease
from .._storage.golden import ABSENT, IMPORTING, NOT_PROGRESSING, RESTART_LIMIT, GoldenState, golden_state
from .._storage.moments import age_of
from .._storage.objects import Claim, DataVolume
from .._storage.pods import Event, Pod
from .._storage.scene import Sightings

READY, PROGRESSING, FAILED, MISSING = "ready", "progressing", "failed", "missing"
# A DataVolume that CDI has not looked at yet has a blank phase too.
BLANK_SECONDS = 60.0
# States that say it all.
_PLAIN = (ABSENT, IMPORTING)


@dataclass(frozen=True)
class ReleaseState:
    """State of a HelmRelease for the generation that was asked for; ``message`` is the controller's, in full."""

    state: str
    reason: str = ""
    message: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"state": self.state, "reason": self.reason, "message": self.message}


def release_state(release: HelmRelease | None) -> ReleaseState:
    """A condition that was written for an older generation says nothing about the present values."""
    if release is None:
        return ReleaseState(MISSING, message="the release does not exist yet")
    if release.suspended:
        return ReleaseState(FAILED, "Suspended", "the release is suspended; nothing is applied until it is resumed")
    ready = release.ready
    if ready is None or release.observed_generation < release.generation:
        return ReleaseState(PROGRESSING, message="the present values have not been applied yet")
    if ready.status == "True":
        return ReleaseState(READY, ready.reason, ready.message)
    return ReleaseState(FAILED if ready.status == "False" else PROGRESSING, ready.reason, ready.message)


@dataclass(frozen=True)
class Golden:
    """A golden by name, with its state."""

    name: str
    state: GoldenState
    url: str = ""

    def as_dict(self) -> dict[str, Any]:
        state = self.state
        return {
            "name": self.name,
            "state": state.state,
            "reason": state.reason,
            "phase": state.phase,
            "progress": state.progress,
            "restarts": state.restarts,
            "size": state.size,
            "capacity": state.capacity,
            "storageClass": state.storage_class,
            "trouble": state.trouble,
            "cause": state.cause,
            "remedy": state.remedy,
            "evidence": dict(state.evidence),
        }


def goldens(
    names: Iterable[str],
    volumes: Iterable[DataVolume],
    claims: Iterable[Claim] = (),
    pods: Iterable[Pod] = (),
    events: Iterable[Event] = (),
    now: float | None = None,
    limit: int = RESTART_LIMIT,
) -> list[Golden]:
    """The named goldens, in that order; the iterables hold the golden namespace only. ``now`` is in seconds since the epoch."""
    by_name = {volume.name: volume for volume in volumes}
    claim_by_name = {claim.name: claim for claim in claims}
    seen = Sightings(tuple(pods), tuple(events), tuple(claim_by_name.values()))
    found = []
    for name in names:
        volume = by_name.get(name)
        claim = claim_by_name.get((volume.claim_name if volume else "") or name)
        age = age_of(volume.meta.created, now) if volume is not None else None
        found.append(Golden(name, golden_state(volume, claim, replace(seen, age=age), limit)))
    return found


def hopeless(golden: Golden, waited: float) -> bool:
    """Whether waiting on is pointless. A blank phase is normal at first, an absent golden may still be rendered."""
    if golden.state.state == NOT_PROGRESSING:
        return waited > BLANK_SECONDS
    return golden.state.in_trouble


def pending_text(found: Sequence[Golden]) -> str:
    """ "2 of 3 goldens ready; talos-worker-...: importing 41 %" for messages."""
    ready = sum(golden.state.ready for golden in found)
    rest = []
    for golden in found:
        if not golden.state.ready:
            progress = f" {golden.state.progress:g} %" if golden.state.progress is not None else ""
            reason = f" ({golden.state.reason})" if golden.state.reason and golden.state.state not in _PLAIN else ""
            rest.append(f"{golden.name}: {golden.state.state}{progress}{reason}")
    return f"{ready} of {len(found)} goldens ready" + "".join(f"; {text}" for text in rest)


def absent(found: Sequence[Golden]) -> list[str]:
    return [golden.name for golden in found if golden.state.state == ABSENT]
