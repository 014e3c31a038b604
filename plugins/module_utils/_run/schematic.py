# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Registers a schematic at a factory. Reads first; the only write is one POST, whose answer is verified."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from .._factory.patience import Budget
from .._factory.registration import FactoryError, Registrar, Stored
from .._guard.findings import Verdict
from .._image.golden import image_url, installer_image
from .._image.schematic import InvalidSchematic, UncomputableSchematic, canonical_schematic, schematic_id
from .._image.versions import SCHEMATIC_SHAPE, checked_pair
from .._plan.changes import ABSENT, Change
from .._plan.plan import CREATE, Plan, Step
from .entry import LocalSession
from .factory import budget_seconds, factory_base, factory_web
from .failures import Failure, OptionFailure
from .options import as_mapping
from .results import outcome

_SECONDS = 60


def schematic(session: LocalSession) -> dict[str, Any]:
    """Job of module schematic."""
    declared = _declared(session.params)
    base = factory_base(session.params)
    canonical, why = _canonical(declared)
    expected = _expected(session.params, declared, canonical)
    _check_version(session.params["version"], expected)
    web = factory_web(session.params, base, session.warn)
    budget = Budget(budget_seconds(session.params, _SECONDS))
    registrar = Registrar(web, base, budget, lambda text: session.reporter.tell(text, f"{base}: {text}"))
    try:
        return _bring(session, registrar, base, declared, canonical, expected, why)
    except FactoryError as error:
        raise Failure(str(error), id=expected, **error.about) from error


def _bring(
    session: LocalSession,
    registrar: Registrar,
    base: str,
    declared: Mapping[str, Any],
    canonical: str,
    expected: str,
    why: str,
) -> dict[str, Any]:
    found = registrar.look_up(expected) if expected else None
    if isinstance(found, Stored):
        if not canonical:
            _compare(found, declared)
        return _result(session, base, Plan(), found, known=True)
    if registrar.is_mirror():
        raise registrar.mirror_error()
    # Where the ID cannot be computed, JSON is sent: a factory reads it as YAML, and quotes as it does.
    body = canonical or json.dumps(declared, ensure_ascii=False) + "\n"
    plan = Plan((_step(base, expected, body, found),))
    stored = Stored(expected, canonical)
    if not session.check_mode:
        stored = registrar.register(body)
        if expected and stored.id != expected:
            raise _differs(base, expected, canonical, stored)
    if found is None:
        hint = f"give schematicID: {stored.id}" if not expected and stored.id else "give schematicID once it is known"
        if expected:
            why, hint = (
                "this factory cannot tell what it knows (it is older than v0.9.0)",
                "the factory stores nothing twice",
            )
        session.warn(f"{why}; so this task says changed each time it registers the schematic: {hint}")
    return _result(session, base, plan, stored, known=found)


def _step(base: str, identity: str, body: str, found: bool | None) -> Step:
    reason = f"{base} does not know it" if found is False else f"whether {base} knows it cannot be told before"
    change = Change(("schematic",), ABSENT, body)
    return Step(CREATE, "Schematic", "", identity, reason, (change,), {"factory": base, "schematic": body})


def _result(session: LocalSession, base: str, plan: Plan, stored: Stored, known: bool | None) -> dict[str, Any]:
    version = session.params["version"]
    with_version = bool(version and stored.id)
    return outcome(
        plan,
        Verdict(),
        id=stored.id,
        known=known,
        schematic=stored.text,
        installer_image=installer_image(f"{urlsplit(base).netloc}/installer", stored.id, version)
        if with_version
        else "",
        image_url=image_url(base, stored.id, version) if with_version else "",
    )


def _declared(params: Mapping[str, Any]) -> dict[str, Any]:
    """The schematic in the factory's words, without what was not given."""
    whole: dict[str, Any] = {}
    if params["owner"]:
        whole["owner"] = params["owner"]
    if params["overlay"]:
        whole["overlay"] = dict(as_mapping(params["overlay"], "overlay"))
    whole["customization"] = dict(as_mapping(params["customization"] or {}, "customization"))
    return whole


def _canonical(declared: Mapping[str, Any]) -> tuple[str, str]:
    """The canonical YAML, or blank and why it is not certain. Errors: OptionFailure."""
    try:
        return canonical_schematic(declared), ""
    except UncomputableSchematic as error:
        return "", str(error).partition("; ")[0]
    except InvalidSchematic as error:
        raise OptionFailure("customization", str(error)) from error


def _expected(params: Mapping[str, Any], declared: Mapping[str, Any], canonical: str) -> str:
    """The ID that the factory has to answer; blank when nobody can tell. Errors: OptionFailure."""
    given = params["schematicID"] or ""
    if given and not re.fullmatch(SCHEMATIC_SHAPE, given):
        raise OptionFailure(
            "schematicID", f"{given!r} is not a schematic ID: lower-case letters, digits and inner dashes only"
        )
    if not canonical:
        return given
    computed = schematic_id(declared)
    if given and given != computed:
        raise OptionFailure("schematicID", f"{given} is not the ID of the declared schematic, which is {computed}")
    return computed


def _check_version(version: str | None, identity: str) -> None:
    if version:
        try:
            checked_pair(identity or "x", version)
        except ValueError as error:
            raise OptionFailure("version", str(error)) from error


def _compare(found: Stored, declared: Mapping[str, Any]) -> None:
    """What is stored under a given ID has to be what is declared: nothing else notices an ID that was left behind."""
    import yaml

    if yaml.safe_load(found.text) != _without_blanks(declared) | {
        "customization": _without_blanks(declared["customization"])
    }:
        text = f"{found.id} is known to the factory, and is another schematic than the declared one:\n{found.text}"
        raise OptionFailure("schematicID", f"{text}leave schematicID out once, and take the id that is returned")


def _without_blanks(value: Any) -> Any:
    if isinstance(value, Mapping):
        inner = {key: _without_blanks(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one not in (None, "", [], {}, False, 0)}
    if isinstance(value, list):
        return [_without_blanks(one) for one in value]
    return value


def _differs(base: str, expected: str, canonical: str, stored: Stored) -> Failure:
    text = (
        f"{base} gave the schematic the ID {stored.id}, and {expected} was computed. The factory stored:\n{stored.text}"
        f"computed from:\n{canonical or '(given as schematicID)'}\n"
        "What to do: nothing boots from the wrong one yet. A factory with authentication adds the owner to the schematic: declare "
        "owner as it is stored there; else use the factory's ID and report this difference"
    )
    return Failure(text, id=stored.id, computed_id=expected, schematic=stored.text)
