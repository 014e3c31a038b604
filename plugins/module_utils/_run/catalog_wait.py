# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for a catalog: the platform's release carries it, the catalog's release renders the goldens, CDI imports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._guard.catalog_write import not_rendered
from .._image.catalog import Catalog
from .._image.golden import CATALOG_RELEASE
from .._kube.errors import KubeError
from .._kube.observe import News, Objects, Target, observe
from .._kube.resources import HELM_RELEASE
from .catalog_site import Prepared, still_absent
from .entry import Session
from .failures import WaitFailure
from .golden_wait import TARGETS, GoldenWatch, default_seconds
from .releases import CatalogRelease, stages
from .waiting import FAILED, Golden, absent

RELEASES = Target(HELM_RELEASE, CATALOG_RELEASE[0], parse=CatalogRelease.from_api)
# Time limit that the package operator gives a release, for one that does not exist yet.
_NEW_RELEASE_SECONDS = 600.0


class CatalogWait:
    """Until every wanted golden is ready. ``found`` is what was last seen of them."""

    def __init__(self, session: Session, prepared: Prepared) -> None:
        self.session, self.prepared = session, prepared
        self._news: News = session.news()
        self._watch = GoldenWatch(session, prepared.wanted, session.params["max_restarts"], self._news.now)
        # A run that wrote, or one that goes on with the wait of such a run, looks at both releases before it is content.
        self._written = bool(prepared.plan.steps) or session.patience.waited > 0
        self._release_text = ""

    @property
    def found(self) -> list[Golden]:
        return self._watch.found

    def run(self) -> list[Golden]:
        """Errors: WaitFailure, when waiting cannot help, or the time is over; KubeError."""
        session = self.session
        seconds = session.params["wait_timeout"] or session.patience.share(self._default_seconds())
        watched = (RELEASES, *TARGETS)
        if not observe(session.client, watched, self.judge, float(seconds), self._news, session.reporter.say):
            raise WaitFailure(
                f"Timed out after {session.patience.spent(seconds)} s waiting for the catalog: "
                f"{self._watch.last_seen()}{self._release_text}",
                timed_out=True,
            )
        return self.found

    def judge(self, state: Mapping[Target, Objects]) -> bool:
        """Whether all is there. Errors: WaitFailure naming cause and remedy."""
        found = self._watch.look(state)
        missing = absent(found)
        released = self._released(state[RELEASES], missing) if self._written or missing else True
        self._watch.tell(self._release_text)
        if released and missing:
            lost = self._still_absent(missing)
            if lost:
                raise WaitFailure(not_rendered(lost).text(), not_rendered=list(lost))
        return released and all(golden.state.ready for golden in found)

    def _released(self, releases: Mapping[tuple[str, str], Any], missing: list[str]) -> bool:
        """Whether both releases are settled with this catalog; raises what they report."""
        self._release_text = ""
        for stage in stages(releases, self.prepared.catalog):
            # With its goldens there, the catalog release may well time out on a slow import and retry; CDI goes on.
            if stage.state.state == FAILED and missing and not stage.stale:
                raise WaitFailure(
                    f"The {stage.what} release failed: {stage.state.message} ({stage.state.reason})",
                    release=stage.state.as_dict(),
                )
            if not stage.settled:
                self._release_text = f"; {stage.text()}"
                return False
        return True

    def _still_absent(self, missing: list[str]) -> tuple[str, ...]:
        """None of them while the API server is away: the next change asks again."""
        try:
            return still_absent(self.session, missing)
        except KubeError as error:
            if error.forbidden:
                raise
            return ()

    def _default_seconds(self) -> float:
        """From the sizes of the wanted goldens, and never less than the catalog release's own time limit."""
        entries = Catalog.from_values(self.prepared.catalog).by_golden()
        sizes = [entries[name].storage for name in self.prepared.wanted if name in entries]
        release = self.prepared.releases.get(CATALOG_RELEASE)
        return default_seconds(sizes, release.limit_seconds if release else _NEW_RELEASE_SECONDS)
