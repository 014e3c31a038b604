# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep the catalog of worker images on the platform Package, and wait until its goldens are imported."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from .._image.catalog import Catalog, CatalogEntry
from .._image.golden import GOLDEN_NAMESPACE
from .._image.keep import drift_of
from .._kube.errors import KubeError
from .._kube.resources import CLAIM, DATA_VOLUME, EVENT, HELM_RELEASE, PACKAGE, POD
from .._kube.snapshot import Scope
from .._plan.plan import Plan
from .._storage.golden import ABSENT, unread_state
from .._storage.objects import Claim
from .._storage.pods import Event, Pod
from .approved import EXPECTED_SPEC, check_approved
from .catalog_removal import prepare_removal
from .catalog_site import Prepared, prepare
from .catalog_wait import CatalogWait
from .entry import POLICY_SPEC, Session
from .failures import OptionFailure, Refusal, WaitFailure
from .options import catalog_option
from .releases import force_catalog_release
from .results import outcome
from .waiting import Golden, absent, goldens

CATALOG_SPEC: dict[str, Any] = {
    "catalog": {"type": "dict"},
    "entries": {"type": "str", "choices": ["merged", "exact"], "default": "merged"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "force_render": {"type": "bool", "default": False},
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "int"},
    "max_restarts": {"type": "int", "default": 3},
    **POLICY_SPEC,
    **EXPECTED_SPEC,
}
_CONFLICT_ATTEMPTS = 4
_DETAILS = (
    Scope(CLAIM, GOLDEN_NAMESPACE, parse=Claim.from_api),
    Scope(POD, GOLDEN_NAMESPACE, parse=Pod.from_api),
    Scope(EVENT, GOLDEN_NAMESPACE, parse=Event.from_api),
)


def image_catalog(session: Session) -> dict[str, Any]:
    """Job of module image_catalog."""
    params = session.params
    declared = catalog_option(params["catalog"])
    removing = params["state"] == "absent"
    if removing and declared:
        raise OptionFailure(
            "catalog", "not used with state=absent, which only takes the package out of the enabled ones"
        )
    for attempt in range(_CONFLICT_ATTEMPTS):
        if removing:
            removal = prepare_removal(session)
            prepared, result = removal.prepared, removal.result()
        else:
            prepared = prepare(session, declared)
            if prepared.verdict.refused:
                raise Refusal(prepared.verdict, **_refused(session, prepared))
            result = _result(prepared, _present_goldens(session, prepared))
        check_approved(params, prepared.plan, **{**result, "changed": False})
        if session.check_mode or not prepared.plan.steps:
            break
        try:
            _apply(session, prepared)
            break
        except KubeError as error:
            if not error.conflict or attempt == _CONFLICT_ATTEMPTS - 1:
                raise
    if not params["wait"] or removing or session.check_mode or _all_there(prepared, result, session):
        return result
    return _waited(session, prepared)


def _all_there(prepared: Prepared, result: dict[str, Any], session: Session) -> bool:
    """Nothing was written, by this run or by one whose wait it continues, and every golden is ready: nothing to wait for."""
    if prepared.plan.steps or session.patience.waited:
        return False
    return all(golden["state"] == "ready" for golden in result["goldens"])


def _waited(session: Session, prepared: Prepared) -> dict[str, Any]:
    wait = CatalogWait(session, prepared)
    try:
        return _result(prepared, wait.run())
    except WaitFailure as error:
        raise WaitFailure(str(error), **{**error.result, **_result(prepared, wait.found)}) from error


def _apply(session: Session, prepared: Prepared) -> None:
    for step in prepared.plan.steps:
        if step.kind == HELM_RELEASE.kind:
            force_catalog_release(session.client)
        else:
            # The version that was judged: a Package changed meanwhile answers 409, is read again and judged again.
            version = prepared.platform.resource_version if prepared.platform else ""
            patch = {**step.payload, "metadata": {"resourceVersion": version}}
            session.client.merge_patch(PACKAGE, step.name, patch)


def _refused(session: Session, prepared: Prepared) -> dict[str, Any]:
    """The result of a refusal: the live catalog, and the goldens with every field in which they differ from the declared one."""
    shown = _result(prepared, _present_goldens(session, prepared))
    live = dict(prepared.platform.catalog) if prepared.platform else {}
    return {**outcome(Plan(), prepared.verdict, catalog=live), "goldens": shown["goldens"]}


def _result(prepared: Prepared, found: Sequence[Golden]) -> dict[str, Any]:
    planned = absent(found) if prepared.plan.steps else []
    entries = Catalog.from_values(prepared.catalog).by_golden()
    shown = []
    for golden in found:
        state = {"state": "planned"} if golden.name in planned else {}
        shown.append({**golden.as_dict(), **state, **_declared(prepared, entries[golden.name])})
    return outcome(prepared.plan, prepared.verdict, catalog=dict(prepared.catalog), goldens=shown)


def _declared(prepared: Prepared, entry: CatalogEntry) -> dict[str, Any]:
    """The entry's pair, and how its live golden differs from it."""
    live = prepared.state.golden(entry.golden)
    drift = drift_of(entry, live) if live is not None else ()
    return {
        "schematicID": entry.schematic_id,
        "version": entry.version,
        "drift": [{"field": one.field, "live": one.live, "wanted": one.wanted, "from": one.origin} for one in drift],
    }


def _present_goldens(session: Session, prepared: Prepared) -> list[Golden]:
    """The wanted goldens as they were read; what is not ready is looked at in detail."""
    names, snapshot = list(prepared.wanted), prepared.snapshot
    if prepared.verdict.refused:
        entries = Catalog.from_values(prepared.catalog).by_golden()
        names += [name for name in entries if name not in names and _declared(prepared, entries[name])["drift"]]
    unread = snapshot.unread.get(DATA_VOLUME)
    if unread is not None:
        return [Golden(name, unread_state(unread.forbidden, unread.cause)) for name in names]
    volumes = snapshot.items(DATA_VOLUME) or []
    found = goldens(names, volumes, snapshot.items(CLAIM) or ())
    if all(golden.state.ready or golden.state.state == ABSENT for golden in found):
        return found
    snapshot.read(_DETAILS)
    claims, pods, events = (snapshot.items(scope.resource) or () for scope in _DETAILS)
    return goldens(names, volumes, claims, pods, events, time.time(), session.params["max_restarts"])
