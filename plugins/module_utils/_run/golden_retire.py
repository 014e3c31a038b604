# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take a golden away: judge who uses it, judge again right before, delete exactly the one that was judged, see it gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._guard.findings import Verdict
from .._guard.judge import judge_retirement
from .._guard.retire import PENDING, RetireCase
from .._image.golden import GOLDEN_NAMESPACE
from .._image.wanted import WantedGolden
from .._kube.errors import KubeError
from .._kube.observe import Objects, Target, observe
from .._kube.resources import CLAIM, DATA_VOLUME
from .._plan.catalog import force_step
from .._plan.golden import CLAIM_KIND, delete_step
from .._plan.plan import DELETE, Plan, Step
from .._storage.reading import dig
from .._usage.users import KINDS
from .approved import check_approved
from .entry import Session
from .failures import Refusal, WaitFailure
from .golden_site import read_usage, unreadable
from .releases import force_catalog_release
from .results import outcome, settled_by

_ATTEMPTS = 4
_GONE_SECONDS = 300.0


def retire(session: Session, wanted: WantedGolden) -> dict[str, Any]:
    """Job of module golden_image with state=absent."""
    try:
        held = [session.client.get(kind, wanted.name, GOLDEN_NAMESPACE) for kind in (DATA_VOLUME, CLAIM)]
    except KubeError as error:
        raise (unreadable(error) if error.forbidden else error) from error
    if held == [None, None]:
        return outcome(Plan(), Verdict(), golden=_described(wanted, "absent"), pending=False, users=[])
    for attempt in range(_ATTEMPTS):
        case = read_usage(session.client).case(wanted, recreated=False)
        verdict, pending = _settled(session, case)
        plan = Plan() if pending else Plan(tuple(_steps(session, case)))
        shown = outcome(
            plan,
            verdict,
            golden=_described(wanted, "pending" if pending else "planned" if plan.steps else "absent", case),
            pending=pending,
            users=[user.as_dict() for user in case.users],
        )
        if verdict.refused:
            raise Refusal(verdict, **{**shown, "golden": _described(wanted, "kept", case)})
        check_approved(session.params, plan, **{**shown, "changed": False})
        if session.check_mode or not plan.steps:
            return shown
        try:
            for step in plan.steps:
                if step.action == DELETE:
                    delete_golden(session, step, wanted, recreated=False)
                else:
                    force_catalog_release(session.client)
            return {**shown, "golden": _described(wanted, "absent", case)}
        except KubeError as error:
            if not error.conflict or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")  # the loop returns or raises


def _settled(session: Session, case: RetireCase) -> tuple[Verdict, bool]:
    """The verdict, and whether the golden merely has to wait for its users to go (when_free)."""
    verdict = settled_by(session.params, judge_retirement(case))
    used = [finding for finding in verdict.refusals if finding.id in PENDING]
    if not session.params["when_free"] or not used or len(used) < len(verdict.refusals):
        return verdict, False
    return Verdict((), verdict.advice + verdict.refusals, verdict.not_judged, verdict.accepted), True


def _steps(session: Session, case: RetireCase) -> list[Step]:
    live = case.volume or case.claim
    if live is None:
        return []
    steps = [delete_step(live, "nobody uses it")]
    if session.params["force_render"] and case.listed:
        steps.append(force_step("the catalog still lists the golden, and imports it anew"))
    return steps


def _described(wanted: WantedGolden, state: str, case: RetireCase | None = None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": wanted.name,
        "schematicID": wanted.schematic_id,
        "version": wanted.version,
        "state": state,
    }
    if case is not None:
        volume, claim = case.volume, case.claim
        shown["size"] = volume.storage_request if volume else claim.storage_request if claim else None
        shown["user_counts"] = {how: len(case.of(how)) for how in KINDS}
        shown["listed"] = case.listed
    return shown


def delete_golden(session: Session, step: Step, wanted: WantedGolden, recreated: bool) -> None:
    """Judge once more, delete by uid, wait for the end. Errors: Refusal, KubeError (409 when it is another object by now)."""
    case = read_usage(session.client).case(wanted, recreated)
    verdict, pending = _settled(session, case)
    if verdict.refused or pending:
        raise Refusal(
            Verdict(verdict.refusals or tuple(one for one in verdict.advice if one.id in PENDING), verdict.advice),
            pending=pending,
            users=[user.as_dict() for user in case.users],
        )
    resource = CLAIM if step.kind == CLAIM_KIND else DATA_VOLUME
    session.client.delete(resource, step.name, GOLDEN_NAMESPACE, uid=str(step.payload["uid"]))
    _gone(session, wanted.name, str(step.payload["uid"]))


def _gone(session: Session, name: str, uid: str) -> None:
    """Until neither the DataVolume nor its claim is there any more. Errors: WaitFailure naming what holds them."""
    volumes, claims = Target(DATA_VOLUME, GOLDEN_NAMESPACE), Target(CLAIM, GOLDEN_NAMESPACE)
    held: list[str] = []

    def judge(state: Mapping[Target, Objects]) -> bool:
        held.clear()
        for target in (volumes, claims):
            found = state[target].get((GOLDEN_NAMESPACE, name))
            # A DataVolume of the same name with another uid is a new import: somebody was faster than this wait.
            if found is not None and not (target is volumes and dig(found, "metadata", "uid") != uid):
                finalizers = ", ".join(dig(found, "metadata", "finalizers") or ())
                held.append(
                    f"{target.resource.kind} {GOLDEN_NAMESPACE}/{name}"
                    + (f" (held by {finalizers})" if finalizers else "")
                )
        if held:
            session.reporter.tell("deleting", f"waiting for the end of {' and '.join(held)}")
        return not held

    if not observe(session.client, (volumes, claims), judge, _GONE_SECONDS):
        raise WaitFailure(
            f"Deleted, but after {_GONE_SECONDS:g} s still there: {' and '.join(held)}", changed=True, timed_out=True
        )
