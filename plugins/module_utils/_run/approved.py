# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Option expected_plan: execute the approved plan, or say what moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plan.approval import Approved, departures
from .._plan.plan import Plan
from .failures import Failure, OptionFailure
from .options import shown

EXPECTED_SPEC: dict[str, Any] = {"expected_plan": {"type": "raw"}}
_SHOWN = 20


def check_approved(params: Mapping[str, Any], plan: Plan | Mapping[str, Any], /, **result: Any) -> None:
    """Errors: Failure with a line for each departure from the approved plan, OptionFailure for what is no plan."""
    given = params["expected_plan"]
    if given is None or given == "":
        return
    try:
        approved = Approved.of(given)
    except ValueError as error:
        raise OptionFailure("expected_plan", f"{error}, not {shown(given)}") from error
    now = plan.as_dict() if isinstance(plan, Plan) else plan
    moved = departures(approved, now)
    if moved:
        more = [f"and {len(moved) - _SHOWN} more"] if len(moved) > _SHOWN else []
        lines = "\n".join([*moved[:_SHOWN], *more])
        raise Failure(
            "Refused, nothing was written: the plan is no longer the approved one "
            f"(approved {approved.hash}, now {now['hash']}).\n{lines}\n"
            "What to do: look at the new plan, and approve that one.",
            moved=moved,
            **result,
        )
