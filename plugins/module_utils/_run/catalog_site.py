# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the jobs of module image_catalog read, and the plan that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._guard.catalog_write import judge_orphans, names_text, not_rendered
from .._guard.findings import Verdict
from .._guard.judge import judge_catalog
from .._guard.package import judge_package
from .._guard.report import written_catalog
from .._guard.state import ClusterState
from .._image.catalog import Catalog
from .._image.golden import CATALOG_PACKAGE, CATALOG_RELEASE, GOLDEN_NAMESPACE
from .._kube.resources import CLAIM, DATA_VOLUME, HELM_RELEASE, PACKAGE, PACKAGE_SOURCE, STORAGE_CLASS
from .._kube.snapshot import Scope, Snapshot
from .._plan.catalog import (
    PLATFORM_PACKAGE,
    PlatformPackage,
    catalog_changes,
    catalog_plan,
    desired_catalog,
    force_step,
)
from .._plan.plan import Plan
from .._storage.objects import Claim, DataVolume, StorageClass
from .._storage.quantity import bytes_of
from .clone_settings import read_clone_settings
from .entry import Session
from .failures import Refusal
from .releases import CatalogRelease, stages
from .results import outcome, settled_by

SCOPES = (
    Scope(PACKAGE),
    Scope(HELM_RELEASE, CATALOG_RELEASE[0], parse=CatalogRelease.from_api),
    Scope(DATA_VOLUME, GOLDEN_NAMESPACE, parse=DataVolume.from_api),
)
_MORE = (Scope(STORAGE_CLASS, parse=StorageClass.from_api), Scope(CLAIM, GOLDEN_NAMESPACE, parse=Claim.from_api))


@dataclass(frozen=True)
class Prepared:
    """What one look at the cluster gives: the plan, the verdict, the goldens to wait for and the catalog after the run."""

    plan: Plan
    verdict: Verdict
    snapshot: Snapshot
    platform: PlatformPackage | None
    wanted: tuple[str, ...]
    catalog: Mapping[str, Any]
    state: ClusterState

    @property
    def releases(self) -> dict[tuple[str, str], CatalogRelease]:
        return {(one.release.namespace, one.release.name): one for one in self.snapshot.items(HELM_RELEASE) or ()}


def packages_of(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Packages by name. An API server that does not even know Packages is no Cozystack: it has none."""
    unread = snapshot.unread.get(PACKAGE)
    if unread is not None and not unread.not_found:
        raise unread
    return {str((item.get("metadata") or {}).get("name")): item for item in snapshot.items(PACKAGE) or []}


def prepare(session: Session, declared: Mapping[str, Any]) -> Prepared:
    """Errors: Refusal, before anything is written; KubeError."""
    snapshot = Snapshot(session.client).read(SCOPES)
    packages = packages_of(snapshot)
    if PLATFORM_PACKAGE not in packages:
        verdict = judge_package(None, None)
        raise Refusal(verdict, **outcome(Plan(), verdict))
    platform = PlatformPackage.from_api(packages[PLATFORM_PACKAGE])
    known = CATALOG_PACKAGE in packages or session.client.get(PACKAGE_SOURCE, CATALOG_PACKAGE) is not None
    desired = desired_catalog(declared, platform.catalog, session.params["entries"] == "exact")
    changes = catalog_changes(desired, platform)
    wanted = _wanted(declared, desired)
    if changes or _some_golden_missing(desired, snapshot):
        snapshot.read(_MORE)
    state = state_of(snapshot)
    if changes:
        # The chart compares sizes as text: what is equal to a live golden is written in that golden's spelling.
        desired = written_catalog(desired, state)
        changes = catalog_changes(desired, platform)
    prepared = Prepared(Plan(), Verdict(), snapshot, platform, wanted, desired, state)
    lost = () if changes else gone_for_good(session, prepared)
    plan = Plan()
    if changes:
        plan = catalog_plan(platform, changes, _reason(platform))
    elif lost and session.params["force_render"]:
        plan = Plan(
            (force_step(f"the catalog lists {names_text(lost)}; deleted goldens come back by a forced render only"),)
        )
    if plan.steps:
        effect = _imports(desired, state)
        plan = Plan(tuple(replace(step, facts=platform.facts, effect=effect) for step in plan.steps))
        state, _ = read_clone_settings(session.client, state)
    verdict = judge_package(platform, known).plus(judge_catalog(desired, state))
    if changes:
        verdict = verdict.plus(judge_orphans(platform.catalog, desired, state))
    elif lost and not plan.steps:
        verdict = verdict.plus(Verdict(advice=(not_rendered(lost),)))
    return replace(prepared, plan=plan, verdict=settled_by(session.params, verdict), state=state)


def gone_for_good(session: Session, prepared: Prepared) -> tuple[str, ...]:
    """Wanted goldens that are absent although both releases are settled with this catalog: nothing will bring them.

    Lists of several kinds are not of one moment. A golden is made before its release is settled, so it is asked for once more.
    """
    if prepared.snapshot.items(DATA_VOLUME) is None or prepared.snapshot.items(CLAIM) is None:
        return ()
    missing = [name for name in prepared.wanted if not _there(name, prepared.state)]
    if not missing or not all(stage.settled for stage in stages(prepared.releases, prepared.catalog)):
        return ()
    return still_absent(session, missing)


def still_absent(session: Session, names: list[str]) -> tuple[str, ...]:
    """Those of the goldens that have neither DataVolume nor claim at this very moment."""
    return tuple(
        name
        for name in names
        if all(session.client.get(kind, name, GOLDEN_NAMESPACE) is None for kind in (DATA_VOLUME, CLAIM))
    )


def _there(name: str, state: ClusterState) -> bool:
    return state.golden(name) is not None or state.golden_claim(name) is not None


def _imports(desired: Mapping[str, Any], state: ClusterState) -> str:
    """What the step brings, in words."""
    if state.data_volumes is None:
        return "imports the goldens that are missing (they could not be read)"
    entries = Catalog.from_values(desired).by_golden()
    new = [entry for name, entry in entries.items() if not _there(name, state)]
    if not new:
        return "imports nothing"
    told = names_text(f"{entry.golden} ({entry.storage})" for entry in new)
    return f"imports {counted(len(new))}, {gib(entry.storage for entry in new)} once: {told}"


def counted(number: int) -> str:
    return f"{number} golden" if number == 1 else f"{number} goldens"


def gib(sizes: Any) -> str:
    """The sum of sizes; those that cannot be read count nothing."""
    return f"{sum(bytes_of(size) or 0 for size in sizes) / 2**30:.4g} GiB"


def state_of(snapshot: Snapshot) -> ClusterState:
    """What was read, for the rules; the rest stays "not read"."""
    kinds = {"data_volumes": DATA_VOLUME, "claims": CLAIM, "storage_classes": STORAGE_CLASS}
    read = {field: snapshot.items(resource) for field, resource in kinds.items()}
    lists: dict[str, Any] = {field: tuple(items) for field, items in read.items() if items is not None}
    return ClusterState(**lists)


def _reason(platform: PlatformPackage) -> str:
    return "the catalog differs" if CATALOG_PACKAGE in platform.enabled else f"{CATALOG_PACKAGE} is not enabled"


def _wanted(declared: Mapping[str, Any], desired: Mapping[str, Any]) -> tuple[str, ...]:
    """Goldens to wait for: the declared entries; all of the catalog when no entry is declared."""
    catalog = Catalog.from_values({**desired, "images": declared["images"]} if declared.get("images") else desired)
    return tuple(dict.fromkeys(entry.golden for entry in catalog.entries))


def _some_golden_missing(desired: Mapping[str, Any], snapshot: Snapshot) -> bool:
    names = {volume.name for volume in snapshot.items(DATA_VOLUME) or ()}
    return any(entry.golden not in names for entry in Catalog.from_values(desired).entries)
