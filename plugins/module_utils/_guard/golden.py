# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on the golden image that a builtin pool clones: there at all, and importable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._image.golden import CATALOG_PACKAGE, CATALOG_RELEASE, GOLDEN_NAMESPACE
from .._storage.golden import (
    ABSENT,
    DELETING,
    FAILED,
    FAILING,
    IN_TROUBLE,
    LOST,
    READY,
    RESTART_LIMIT,
    STUCK,
    golden_state,
)
from .._storage.objects import Condition, DataVolume, condition
from .case import PoolCase
from .rule import Found, rule

FORCE_RENDER = (
    f"force the catalog's HelmRelease {CATALOG_RELEASE[0]}/{CATALOG_RELEASE[1]} with the annotations "
    "reconcile.fluxcd.io/forceAt and reconcile.fluxcd.io/requestedAt of the same value, since nothing else recreates a golden"
)


@rule(
    "golden-absent",
    cause="The pool clones a golden image that does not exist, and none of its workers has been cloned from it yet.",
    example="osImage: {builtin: {}} before the catalog was enabled",
    remedy=f"Enable package {CATALOG_PACKAGE} (bundles.enabledPackages of the platform Package), add a matching entry to "
    "kubernetesWorkerImage.images and wait for the golden; or boot over HTTP with osImage.factory.",
)
def golden_absent(case: PoolCase) -> Iterator[Found]:
    if not case.clones or case.golden_exists or case.planned is not None or case.cloned_disks:
        return
    golden = case.source.golden
    yield Found(
        "osImage.builtin",
        f"golden image {golden} is neither a DataVolume nor a claim in {GOLDEN_NAMESPACE}, and no worker disk of this pool has been "
        f"cloned from it ({_pair(case)})",
        f"Enable package {CATALOG_PACKAGE} (bundles.enabledPackages of the platform Package), add an entry with schematicID "
        f"{case.source.schematic_id} and version {case.source.version} to kubernetesWorkerImage.images and wait for the golden; or "
        "boot this pool over HTTP with osImage.factory.",
        _evidence(case),
    )


@rule(
    "golden-failed",
    cause="The golden's DataVolume is in phase Failed: CDI gave up, and a clone of it would wait for ever.",
    example="DataVolume talos-worker-... with status.phase Failed",
    remedy=f"Find the cause at the importer pod in {GOLDEN_NAMESPACE}, delete the DataVolume, then {FORCE_RENDER}.",
)
def golden_failed(case: PoolCase) -> Iterator[Found]:
    if not case.clones or case.volume is None or case.volume.phase != "Failed" or case.cloned_disks:
        return
    golden = case.source.golden
    reason = golden_state(case.volume, None).reason
    yield Found(
        "osImage.builtin",
        f"golden image {golden} in {GOLDEN_NAMESPACE} failed to import (phase Failed: {reason}), so its clones would wait for ever",
        f"Look at the importer pod in {GOLDEN_NAMESPACE} for the cause, fix it, delete DataVolume {GOLDEN_NAMESPACE}/{golden} so that "
        f"it is imported again, then {FORCE_RENDER}.",
        _evidence(case) | {"phase": case.volume.phase, "reason": reason},
    )


@rule(
    "golden-import-failing",
    cause=f"The import of the golden has failed {RESTART_LIMIT} times or more and no attempt is running. CDI never calls that Failed.",
    example="status.restartCount 5 with condition Running False",
    remedy="Repair what the last error names (mirror, address, network, size). CDI keeps trying, and the refusal lifts by itself once "
    "an attempt succeeds.",
)
def golden_import_failing(case: PoolCase) -> Iterator[Found]:
    if not case.clones or case.volume is None:
        return
    stopped = failed_attempt(case.volume)
    if stopped is None or case.cloned_disks:
        return
    golden, error = case.source.golden, f"{stopped.reason}: {stopped.message}" if stopped.message else stopped.reason
    yield Found(
        "osImage.builtin",
        f"the import of golden image {golden} in {GOLDEN_NAMESPACE} keeps failing: {case.volume.restarts} restarts, last error: {error}",
        too_small_remedy(golden) if "too small to contain image" in error else "",
        _evidence(case) | {"phase": case.volume.phase, "restarts": case.volume.restarts, "last_error": error},
    )


@rule(
    "golden-planned",
    refuses=False,
    chart=False,
    cause="The golden is not there yet, but an earlier step of the same run brings it. The pool is judged against its catalog entry.",
    example="check mode of a run that adds a catalog entry and a pool on it",
    remedy="Nothing to do; the run waits for the golden before it touches the pool.",
)
def golden_planned(case: PoolCase) -> Iterator[Found]:
    if case.clones and case.planned is not None and not case.cloned_disks:
        yield Found(
            "osImage.builtin",
            f"golden image {case.source.golden} is not there yet; catalog entry {case.planned.subject} of this run brings it",
            evidence=_evidence(case) | {"entry": case.planned.subject},
        )


@rule(
    "golden-not-ready",
    refuses=False,
    chart=False,
    cause="The golden is still being imported, or is on its way to trouble. Worker disks wait for it.",
    example="a golden in phase ImportInProgress",
    remedy="Wait for the golden before rolling the pool, or accept that new workers wait for it.",
)
def golden_not_ready(case: PoolCase) -> Iterator[Found]:
    state = _state_for_advice(case)
    if state is not None and state.state not in {READY, ABSENT, *IN_TROUBLE}:
        yield Found(
            "osImage.builtin",
            f"golden image {case.source.golden} is not ready yet ({state.state}: {state.reason}); new worker disks wait for it",
            evidence=_evidence(case) | {"state": state.state, "phase": state.phase, "restarts": state.restarts},
        )


@rule(
    "golden-will-not-finish",
    refuses=False,
    chart=False,
    cause="The golden is in a state that waiting does not cure, though its phase is not Failed: it waits for a first consumer that "
    "never comes, CDI has not started on it, its volume is lost, or the image does not fit.",
    example="phase WaitForFirstConsumer without the immediate-bind annotation",
    remedy=f"Fix the cause, delete the golden's DataVolume once nothing clones it, then {FORCE_RENDER}.",
)
def golden_will_not_finish(case: PoolCase) -> Iterator[Found]:
    state = _state_for_advice(case)
    if state is not None and state.state in IN_TROUBLE - {FAILED, FAILING}:
        yield Found(
            "osImage.builtin",
            f"golden image {case.source.golden} will not become ready by waiting ({state.state}): {state.reason}",
            evidence=_evidence(case) | {"state": state.state, "phase": state.phase, "reason": state.reason},
        )


@rule(
    "golden-unusable-for-new-workers",
    refuses=False,
    chart=False,
    cause="The pool's workers were cloned long ago, so nothing refuses its changes; but its golden is gone or failing, so the next "
    "worker cannot be created.",
    example="golden deleted after the pool was whole",
    remedy="Bring the golden back before the next scale-up or rollout.",
)
def golden_unusable(case: PoolCase) -> Iterator[Found]:
    if not case.clones or not case.cloned_disks:
        return
    claim = case.claim if case.state.claims is not None else None
    state = golden_state(case.volume, claim)
    if state.state in {ABSENT, FAILED, FAILING, STUCK, LOST, DELETING} and case.planned is None:
        yield Found(
            "osImage.builtin",
            f"this pool's workers are cloned already, but golden image {case.source.golden} is {state.state} ({state.reason}): a new "
            "worker cannot be created from it",
            evidence=_evidence(case)
            | {"state": state.state, "cloned_disks": [disk.name for disk in case.cloned_disks]},
        )


def failed_attempt(volume: DataVolume) -> Condition | None:
    """Condition Running of an import that the chart calls failing: not Succeeded, enough restarts, Running exactly False."""
    running = condition(volume.conditions, "Running")
    if running is None or running.status != "False" or volume.restarts < RESTART_LIMIT or volume.phase == "Succeeded":
        return None
    return running


def too_small_remedy(golden: str) -> str:
    """An image that does not fit never succeeds, so waiting for an attempt is the wrong advice."""
    return (
        f"The image does not fit, so no attempt can succeed: delete DataVolume {GOLDEN_NAMESPACE}/{golden}, give its catalog entry a "
        f"larger storage while the golden is gone, then {FORCE_RENDER}."
    )


def _state_for_advice(case: PoolCase) -> Any:
    if not case.clones:
        return None
    if case.state.data_volumes is None and case.golden_exists:
        # Tenants may read claims in cozy-public but no DataVolumes; a bound claim then is all there is to see.
        return golden_state(None, case.claim)
    return golden_state(case.volume, case.claim if case.state.claims is not None else None)


def _pair(case: PoolCase) -> str:
    origins = case.source.origins
    return f"schematicID {case.source.schematic_id} from {origins['schematicID']}, version {case.source.version} from {origins['version']}"


def _evidence(case: PoolCase) -> dict[str, Any]:
    return {
        "golden": f"{GOLDEN_NAMESPACE}/{case.source.golden}",
        "schematicID": case.source.schematic_id,
        "schematicID_from": case.source.origins["schematicID"],
        "version": case.source.version,
        "version_from": case.source.origins["version"],
    }
