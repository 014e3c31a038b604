# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for goldens: every change of state is told, trouble ends the wait early, a time-out says what was last seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._image.golden import GOLDEN_NAMESPACE
from .._kube.observe import Objects, Target, observe
from .._kube.resources import CLAIM, DATA_VOLUME, EVENT, POD
from .._storage.objects import Claim, DataVolume
from .._storage.pods import Event, Pod
from .._storage.quantity import bytes_of
from .entry import Session
from .failures import WaitFailure
from .waiting import Golden, goldens, hopeless, pending_text

VOLUMES = Target(DATA_VOLUME, GOLDEN_NAMESPACE, parse=DataVolume.from_api)
CLAIMS = Target(CLAIM, GOLDEN_NAMESPACE, parse=Claim.from_api)
PODS = Target(POD, GOLDEN_NAMESPACE, parse=Pod.from_api, optional=True)
EVENTS = Target(EVENT, GOLDEN_NAMESPACE, parse=Event.from_api, optional=True)
TARGETS = (VOLUMES, CLAIMS, PODS, EVENTS)

# An image of a few hundred MB is fetched and unpacked within minutes; what is slower than this per GiB of the golden is stuck.
_BASE_SECONDS, _SECONDS_PER_GIB = 600.0, 120.0
_DEFAULT_GIB = 6.0


def default_seconds(sizes: Iterable[Any], release_seconds: float = 0.0) -> float:
    """How long to wait when nobody says: ten minutes and two for each GiB of the largest golden.

    ``release_seconds`` is the catalog release's own time limit: giving up before it would hide what it has to say.
    """
    known = [bytes_of(size) for size in sizes]
    gibs = [_DEFAULT_GIB if size is None else size / 2**30 for size in known]
    return max(_BASE_SECONDS + _SECONDS_PER_GIB * max(gibs, default=_DEFAULT_GIB), release_seconds + 60.0)


@dataclass
class _Since:
    """Since when a golden is in its state, by the clock of the wait."""

    state: str
    moment: float


class GoldenWatch:
    """Judges goldens at every change. ``found`` is what was last seen."""

    def __init__(
        self, session: Session, names: Sequence[str], max_restarts: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.session, self.names, self.limit, self.clock = session, tuple(names), max_restarts, clock
        self.found: list[Golden] = []
        # What the runs before this one have seen counts: the wait may be one of several slices.
        now, patience = clock(), session.patience
        self._since = {name: _Since(state, now - seconds) for name, (state, seconds) in patience.since.items()}

    def look(self, state: Mapping[Target, Objects]) -> list[Golden]:
        """The goldens as they are now. Errors: WaitFailure when one of them will not become ready by waiting."""
        now = self.clock()
        self.found = goldens(
            self.names,
            state[VOLUMES].values(),
            state[CLAIMS].values(),
            state.get(PODS, {}).values(),
            state.get(EVENTS, {}).values(),
            time.time(),
            self.limit,
        )
        for golden in self.found:
            known = self._since.get(golden.name)
            if known is None or known.state != golden.state.state:
                self._since[golden.name] = _Since(golden.state.state, now)
        # A passing complaint of a golden that has just been made is no trouble yet, however long the wait was before.
        lost = [golden for golden in self.found if hopeless(golden, now - self._since[golden.name].moment)]
        if lost:
            raise WaitFailure(
                "\n".join(_trouble(golden) for golden in lost), goldens=[golden.as_dict() for golden in self.found]
            )
        return self.found

    def tell(self, more: str = "") -> None:
        """A line when state, phase, attempts or message of a golden changed."""
        states = [(one.name, one.state) for one in self.found]
        key = "; ".join(f"{name} {found.state} {found.phase} {found.restarts} {found.reason}" for name, found in states)
        self.session.reporter.tell(key + more, pending_text(self.found) + more)

    def last_seen(self) -> str:
        """For a time-out: each golden that is not ready, how long it has been like that, and what that rests on."""
        now = self.clock()
        lines = []
        for golden in self.found:
            if not golden.state.ready:
                since = self._since[golden.name]
                seconds = now - since.moment
                self.session.patience.since[golden.name] = (since.state, seconds)
                seen = ", ".join(f"{key} {value}" for key, value in golden.state.evidence.items() if key != "age")
                reason = f" ({golden.state.reason})" if golden.state.reason else ""
                lines.append(
                    f"{golden.name}: {golden.state.state} for {seconds:.0f} s{reason}; seen: {seen or 'nothing'}"
                )
        return "; ".join(lines) or "all goldens are ready"


def _trouble(golden: Golden) -> str:
    state = golden.state
    cause = f" That means: {state.cause}." if state.cause else ""
    remedy = f" What to do: {state.remedy}." if state.remedy else ""
    return f"Golden {golden.name} will not become ready by waiting: {state.state}, {state.reason}.{cause}{remedy}"


def wait_for_goldens(
    session: Session, names: Sequence[str], *, seconds: float | None = None, max_restarts: int = 3
) -> list[Golden]:
    """Until all of them are ready. Errors: WaitFailure (trouble, or the time is over), KubeError.

    Without ``seconds`` the time follows from the goldens' size. Pods and events help to tell causes; without the right to read them the
    wait goes on with what the DataVolumes say.
    """
    news = session.news()
    watch = GoldenWatch(session, names, max_restarts, news.now)

    def judge(state: Mapping[Target, Objects]) -> bool:
        found = watch.look(state)
        watch.tell()
        return all(golden.state.ready for golden in found)

    limit = float(seconds) if seconds else session.patience.share(default_seconds(_sizes(session, names)))
    if not observe(session.client, TARGETS, judge, limit, news, session.reporter.say):
        raise WaitFailure(
            f"Timed out after {session.patience.spent(limit)} s waiting for goldens: {watch.last_seen()}",
            goldens=[golden.as_dict() for golden in watch.found],
            timed_out=True,
        )
    return watch.found


def _sizes(session: Session, names: Sequence[str]) -> list[Any]:
    wanted = set(names)
    volumes = [DataVolume.from_api(item) for item in session.client.items(DATA_VOLUME, GOLDEN_NAMESPACE)]
    return [one.storage_request for one in volumes if one.name in wanted and one.storage_request is not None]
