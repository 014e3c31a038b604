# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shape that every result has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._guard.findings import Verdict, settle
from .._plan.plan import Plan
from .failures import OptionFailure


def outcome(plan: Plan, verdict: Verdict, **about: Any) -> dict[str, Any]:
    """changed, diff, plan, refusals, advice (accepted and not_judged beside them), then what the module is about."""
    return {"changed": bool(plan.steps), "diff": plan.diff(), "plan": plan.as_dict(), **verdict.as_dict(), **about}


def settled_by(params: Mapping[str, Any], verdict: Verdict) -> Verdict:
    """The verdict after options refuse_on and accept have moved ids. Errors: OptionFailure for an id that no rule has."""
    try:
        return settle(verdict, params["refuse_on"], params["accept"])
    except ValueError as error:
        raise OptionFailure("rule ids", str(error)) from error
