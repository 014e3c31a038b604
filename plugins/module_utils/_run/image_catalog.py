# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the catalog of worker images on the platform Package, and wait until its goldens are imported."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._guard.findings import Verdict
from .._guard.judge import judge_catalog
from .._guard.package import judge_package
from .._guard.report import written_catalog
from .._guard.state import ClusterState
from .._image.catalog import Catalog
from .._image.golden import CATALOG_PACKAGE, CATALOG_RELEASE, GOLDEN_NAMESPACE
from .._kube.errors import KubeError
from .._kube.observe import Objects, Target, observe
from .._kube.resources import CLAIM, DATA_VOLUME, HELM_RELEASE, PACKAGE, PACKAGE_SOURCE, STORAGE_CLASS
from .._kube.snapshot import Scope, Snapshot
from .._plan.catalog import (
    PLATFORM_PACKAGE,
    PlatformPackage,
    catalog_changes,
    catalog_plan,
    desired_catalog,
    removal_changes,
)
from .._plan.plan import Plan
from .._pool.objects import HelmRelease
from .._storage.objects import Claim, DataVolume
from .entry import Session
from .failures import OptionFailure, Refusal, WaitFailure
from .options import catalog_option
from .progress import Reporter
from .results import outcome, settled_by
from .waiting import (
    FAILED,
    PROGRESSING,
    READY,
    Golden,
    ReleaseState,
    absent,
    goldens,
    hopeless,
    pending_text,
    release_state,
)

SYSTEM_NAMESPACE = "cozy-system"
PLATFORM_RELEASE = "cozystack-platform"
_CONFLICT_ATTEMPTS = 4


@dataclass(frozen=True)
class Prepared:
    """What one look at the cluster gives: the plan, the verdict, and the goldens as they are."""

    plan: Plan
    verdict: Verdict
    snapshot: Snapshot
    platform: PlatformPackage | None
    wanted: tuple[str, ...]
    catalog: Mapping[str, Any]


def image_catalog(session: Session) -> dict[str, Any]:
    """Job of module image_catalog."""
    params = session.params
    declared = catalog_option(params["catalog"])
    absent_wanted = params["state"] == "absent"
    if absent_wanted and declared:
        raise OptionFailure(
            "catalog", "not used with state=absent, which only takes the package out of the enabled ones"
        )
    for attempt in range(_CONFLICT_ATTEMPTS):
        prepared = _prepare(session, declared, absent_wanted)
        if session.check_mode or not prepared.plan.steps:
            break
        try:
            _apply(session, prepared)
            break
        except KubeError as error:
            if not error.conflict or attempt == _CONFLICT_ATTEMPTS - 1:
                raise
    found = _present_goldens(prepared)
    if params["wait"] and not absent_wanted and not session.check_mode:
        found = _wait(session, prepared, float(params["wait_timeout"]))
    return _result(prepared, found)


def _result(prepared: Prepared, found: list[Golden]) -> dict[str, Any]:
    planned = absent(found) if prepared.plan.steps else []
    entries = Catalog.from_values(prepared.catalog).by_golden()
    shown = []
    for golden in found:
        pair = {"schematicID": entries[golden.name].schematic_id, "version": entries[golden.name].version}
        state = {"state": "planned"} if golden.name in planned else {}
        shown.append({**golden.as_dict(), **pair, **state})
    return outcome(prepared.plan, prepared.verdict, catalog=dict(prepared.catalog), goldens=shown)


def _prepare(session: Session, declared: Mapping[str, Any], removing: bool) -> Prepared:
    snapshot = Snapshot(session.client).read(
        [Scope(PACKAGE), Scope(HELM_RELEASE, SYSTEM_NAMESPACE), Scope(DATA_VOLUME, GOLDEN_NAMESPACE)]
    )
    packages = _packages(snapshot)
    found = packages.get(PLATFORM_PACKAGE)
    platform = PlatformPackage.from_api(found) if found else None
    if removing:
        changes = removal_changes(platform) if platform else ()
        reason = "stop managing the catalog; its Package and its goldens stay until they are deleted by hand"
        plan = catalog_plan(platform, changes, reason) if platform else Plan()
        return Prepared(plan, Verdict(), snapshot, platform, (), platform.catalog if platform else {})
    if platform is None:
        verdict = judge_package(None, None)
        raise Refusal(verdict, **outcome(Plan(), verdict))
    known = CATALOG_PACKAGE in packages or session.client.get(PACKAGE_SOURCE, CATALOG_PACKAGE) is not None
    verdict = judge_package(platform, known)
    desired = desired_catalog(declared, platform.catalog, session.params["entries"] == "exact")
    changes = catalog_changes(desired, platform)
    unchanged = not changes and not _some_golden_missing(desired, snapshot)
    if not unchanged:
        snapshot.read([Scope(STORAGE_CLASS), Scope(CLAIM, GOLDEN_NAMESPACE)])
    state = ClusterState.from_lists(
        data_volumes=snapshot.items(DATA_VOLUME),
        claims=[] if unchanged else snapshot.items(CLAIM),
        storage_classes=None if unchanged else snapshot.items(STORAGE_CLASS),
    )
    if changes:
        # The chart compares sizes as text: what is equal to a live golden is written in that golden's spelling.
        desired = written_catalog(desired, state)
        changes = catalog_changes(desired, platform)
    settled = settled_by(session.params, verdict.plus(judge_catalog(desired, state)))
    plan = catalog_plan(platform, changes, _reason(platform))
    prepared = Prepared(plan, settled, snapshot, platform, _wanted(declared, desired), desired)
    if settled.refused:
        raise Refusal(settled, **outcome(Plan(), settled, catalog=dict(platform.catalog)))
    return prepared


def _packages(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Packages by name. An API server that does not even know Packages is no Cozystack: it has none."""
    unread = snapshot.unread.get(PACKAGE)
    if unread is not None and not unread.not_found:
        raise unread
    return {str((item.get("metadata") or {}).get("name")): item for item in snapshot.items(PACKAGE) or []}


def _reason(platform: PlatformPackage) -> str:
    return "the catalog differs" if CATALOG_PACKAGE in platform.enabled else f"{CATALOG_PACKAGE} is not enabled"


def _wanted(declared: Mapping[str, Any], desired: Mapping[str, Any]) -> tuple[str, ...]:
    """Goldens to wait for: the declared entries; all of the catalog when no entry is declared."""
    catalog = Catalog.from_values({**desired, "images": declared["images"]} if declared.get("images") else desired)
    return tuple(dict.fromkeys(entry.golden for entry in catalog.entries))


def _some_golden_missing(desired: Mapping[str, Any], snapshot: Snapshot) -> bool:
    names = {(item.get("metadata") or {}).get("name") for item in snapshot.items(DATA_VOLUME) or []}
    return any(entry.golden not in names for entry in Catalog.from_values(desired).entries)


def _present_goldens(prepared: Prepared) -> list[Golden]:
    volumes = [DataVolume.from_api(item) for item in prepared.snapshot.items(DATA_VOLUME) or []]
    claims = [Claim.from_api(item) for item in prepared.snapshot.items(CLAIM) or []]
    return goldens(prepared.wanted, volumes, claims)


def _apply(session: Session, prepared: Prepared) -> None:
    for step in prepared.plan.steps:
        # The version that was judged: a Package changed meanwhile answers 409, is read again and judged again.
        version = prepared.platform.resource_version if prepared.platform else ""
        patch = {**step.payload, "metadata": {"resourceVersion": version}}
        session.client.merge_patch(PACKAGE, step.name, patch)


def _wait(session: Session, prepared: Prepared, seconds: float) -> list[Golden]:
    """Until every wanted golden is ready; ends early when the platform refuses or an import has no future."""
    watch = _CatalogWait(session.reporter, prepared.wanted, prepared.catalog if prepared.plan.steps else None)
    if not prepared.plan.steps:
        first = {target: _by_key(prepared.snapshot.items(target.resource) or []) for target in watch.targets}
        if watch.judge(first):
            return watch.found
    if not observe(session.client, watch.targets, watch.judge, seconds):
        text = f"Timed out after {seconds:g} s waiting for the catalog: {pending_text(watch.found)}{watch.release_text}"
        raise WaitFailure(text, **{**_result(prepared, watch.found), "timed_out": True})
    return watch.found


def _by_key(items: list[dict[str, Any]]) -> Objects:
    return {(str(item["metadata"].get("namespace") or ""), str(item["metadata"]["name"])): item for item in items}


class _CatalogWait:
    """Judge of the catalog wait. The platform release renders the Package, the catalog release the goldens, CDI imports.

    ``written`` is the catalog that this run wrote: both releases then have to carry it before they count.
    """

    def __init__(self, reporter: Reporter, wanted: tuple[str, ...], written: Mapping[str, Any] | None) -> None:
        self.reporter, self.wanted, self.written = reporter, wanted, written
        self.releases = Target(HELM_RELEASE, SYSTEM_NAMESPACE)
        self.volumes = Target(DATA_VOLUME, GOLDEN_NAMESPACE)
        self.claims = Target(CLAIM, GOLDEN_NAMESPACE)
        self.targets = (self.releases, self.volumes, self.claims)
        self.found: list[Golden] = []
        self.release_text = ""
        self._started = time.monotonic()

    def judge(self, state: Mapping[Target, Objects]) -> bool:
        volumes = [DataVolume.from_api(item) for item in state[self.volumes].values()]
        claims = [Claim.from_api(item) for item in state[self.claims].values()]
        self.found = goldens(self.wanted, volumes, claims)
        waited = time.monotonic() - self._started
        for golden in self.found:
            if hopeless(golden, waited):
                raise WaitFailure(
                    f"Golden {golden.name} will not become ready by waiting: {golden.state.state}, {golden.state.reason}",
                    goldens=[item.as_dict() for item in self.found],
                )
        released = self._released({key: HelmRelease.from_api(item) for key, item in state[self.releases].items()})
        states = [golden.state.state for golden in self.found]
        self.reporter.tell(f"{states} {self.release_text}", pending_text(self.found) + self.release_text)
        return released and all(golden.state.ready for golden in self.found)

    def _released(self, releases: Mapping[tuple[str, str], HelmRelease]) -> bool:
        """Whether both releases are done as far as this run needs them; raises what they report."""
        missing = absent(self.found)
        if self.written is None and not missing:
            return True
        stages = (("platform", (SYSTEM_NAMESPACE, PLATFORM_RELEASE)), ("catalog", CATALOG_RELEASE))
        for what, key in stages:
            release = releases.get(key)
            found = release_state(release)
            values = release.values if release else {}
            carried = values.get("kubernetesWorkerImage") if what == "platform" else values
            stale = self.written is not None and (carried or {}) != self.written
            if stale and found.state != FAILED:
                found = ReleaseState(PROGRESSING, message="the new values have not arrived yet")
            self.release_text = f"; {what} release {found.state}: {found.message}"
            # With its goldens there, the catalog release may well time out on a slow import and retry; CDI goes on.
            if found.state == FAILED and missing and not stale:
                raise WaitFailure(f"The {what} release failed: {found.message} ({found.reason})")
            if found.state != READY:
                return False
        self.release_text = ""
        return True
