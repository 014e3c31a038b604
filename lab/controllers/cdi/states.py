# SPDX-License-Identifier: Apache-2.0
"""What a DataVolume says about itself: phase, progress, and exactly three conditions."""

from __future__ import annotations

from typing import Any

from lab.api import Object
from lab.controllers.objects import now, status

Verdict = tuple[str, str, str]  # status, reason, message

RUNNING_POD: Verdict = ("True", "Pod is running", "")
NOT_RUNNING: Verdict = ("False", "", "")


def bound_of(claim: Object | None, name: str) -> Verdict:
    """Condition Bound as it follows from the claim."""
    if claim is None:
        return "False", "NotFound", "No PVC found"
    phase = status(claim).get("phase", "Pending")
    if phase == "Lost":
        return "False", "ClaimLost", "Claim Lost"
    return "True" if phase == "Bound" else "False", phase, f"PVC {name} {phase}"


def _condition(old: dict[str, Any], kind: str, verdict: Verdict) -> dict[str, Any]:
    wanted = {"type": kind, "status": verdict[0], "reason": verdict[1], "message": verdict[2]}
    if all(old.get(key) == value for key, value in wanted.items()):
        return old
    moment = now()
    since = old.get("lastTransitionTime", moment) if old.get("status") == verdict[0] else moment
    return wanted | {"lastTransitionTime": since, "lastHeartbeatTime": moment}


def status_of(disk: Object, bound: Verdict, running: Verdict | None = None, **values: Any) -> dict[str, Any]:
    """The new status; ``values`` are phase, progress, claimName, restartCount. Ready follows from the phase."""
    known = status(disk)
    phase = values.get("phase", known.get("phase", ""))
    ready = {"Succeeded": "True", "Unknown": "Unknown"}.get(phase, "False")
    old = {one["type"]: one for one in known.get("conditions") or []}
    if running is None:
        last = old.get("Running", {})
        running = (last.get("status", "False"), last.get("reason", ""), last.get("message", ""))
    verdicts = {"Bound": bound, "Ready": (ready, "", ""), "Running": running}
    # A restart count of zero is left out, as Go leaves it out.
    values = {key: value for key, value in values.items() if value is not None and (key, value) != ("restartCount", 0)}
    return values | {"conditions": [_condition(old.get(kind, {}), kind, verdict) for kind, verdict in verdicts.items()]}
