# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How CDI will clone a golden to a worker disk: the decision of its clone planner (CDI 1.64, platform rules 2.1 and 2.2).

Inputs may be unknown. Then the answer is "unknown" unless it is the same whatever the missing input is: knowing more never
contradicts what was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .clone_facts import (
    COPY,
    CSI_CLONE,
    FALLBACK_WORDS,
    NO_EXPANSION,
    NO_POPULATOR,
    REFUSED,
    SNAPSHOT,
    UNKNOWN,
    Check,
    CloneFacts,
    CloneQuestion,
)

HANG, WAITS, NEVER_STARTS = "hang", "waits", "never_starts"


@dataclass(frozen=True)
class Obstacle:
    """Why a clone inside the storage is not possible. ``sure`` is False while it rests on the golden's declared size."""

    reason: str
    sure: bool = True


@dataclass(frozen=True)
class ClonePrediction:
    """``method`` is csi-clone, snapshot, copy, refused or unknown; ``reason`` says why.

    ``fallback`` holds CDI's own words when it is a copy against the settings, ``strategy`` what the settings ask for (blank when
    not known). ``risks`` maps hang, waits and never_starts to what is meant. ``unknown`` names what could not be told, ``evidence``
    the inputs and where each came from.
    """

    method: str
    reason: str
    strategy: str = ""
    strategy_from: str = ""
    fallback: str = ""
    obstacles: tuple[Obstacle, ...] = ()
    risks: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def obstacle(self, reason: str) -> Obstacle | None:
        return next((item for item in self.obstacles if item.reason == reason), None)

    def as_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "reason": self.reason,
            "fallback_reason": self.fallback,
            "risks": [{"id": risk, "message": words} for risk, words in self.risks.items()],
            "unknown": list(self.unknown),
            "evidence": dict(self.evidence),
        }


def predict_clone(question: CloneQuestion) -> ClonePrediction:
    """Predict the clone of one worker disk."""
    facts = CloneFacts(question)
    strategy, origin = facts.strategy()
    refusal, refusal_open = facts.refusal()
    checks = facts.checks(strategy)
    obstacles = tuple(Obstacle(reason) for reason, found, _ in checks if found)
    if facts.probably_needs_expansion():
        obstacles += (Obstacle(NO_EXPANSION, sure=False),)
    missing = [what for _, found, what in checks if found is None]
    missing += [] if strategy else ["the strategy (CDI's override, else the StorageProfile of the class)"]
    unknown = tuple(dict.fromkeys(refusal_open + tuple(missing)))
    fallback = ""
    if refusal:
        method, reason, unknown = REFUSED, refusal, ()
    elif refusal_open:
        method, reason = UNKNOWN, f"not known: {', '.join(unknown)}"
    elif strategy == COPY or any(item.sure for item in obstacles):
        method = COPY
        fallback, reason = _fallback(checks, strategy, origin)
    elif unknown:
        method, reason = UNKNOWN, f"not known: {', '.join(unknown)}"
    else:
        method, reason = strategy, f"{origin} is {strategy}, and CDI has nothing against it"
    risks = _risks(facts, method)
    evidence = {**_evidence(facts), "strategy": {"value": strategy or None, "from": origin}}
    return ClonePrediction(method, reason, strategy, origin, fallback, obstacles, risks, unknown, evidence)


def _fallback(checks: list[Check], strategy: str, origin: str) -> tuple[str, str]:
    """CDI's words, and ours. The first check that fails counts, so one that is not known before it leaves the words open."""
    first = next((item for item in checks if item[1] is not False), None)
    if first is not None and first[1] and (strategy or first[0] == NO_POPULATOR):
        return FALLBACK_WORDS[first[0]], FALLBACK_WORDS[first[0]]
    if strategy == COPY:
        return "", f"{origin} is copy"
    found = next((reason for reason, stands, _ in checks if stands), "")
    return "", f"it cannot be cloned inside the storage ({FALLBACK_WORDS[found]})"


def _risks(facts: CloneFacts, method: str) -> dict[str, str]:
    found, source, name = {}, facts.source.class_name, facts.question.class_name
    if method in (CSI_CLONE, SNAPSHOT) and source and source != name:
        found[HANG] = (
            f"one driver, but the golden is on class {source} and the disk on {name}: such a clone may never finish"
        )
    if facts.source.ready is False:
        found[WAITS] = "the golden is not ready; the clone waits for it without a limit"
    if method == REFUSED:
        found[NEVER_STARTS] = "nothing is cloned until this is put right"
    elif facts.storage_class is not None and facts.storage_class.binding_mode == "WaitForFirstConsumer":
        found[NEVER_STARTS] = (
            f"class {name} waits for a consumer; the worker's virtual machine is one, nothing else starts it"
        )
    return found


def _evidence(facts: CloneFacts) -> dict[str, Any]:
    question, source, name = facts.question, facts.source, facts.question.class_name
    bounds = facts.request()
    return {
        "disk_class": {"value": name, "from": question.class_from},
        "golden_class": {"value": source.class_name, "from": source.class_from},
        "disk_driver": {"value": facts.driver, "from": f"StorageClass {name}"},
        "golden_driver": {
            "value": facts.source_driver(),
            "from": "the golden's volume" if source.driver is not None else f"StorageClass {source.class_name}",
        },
        "disk_mode": {"value": facts.mode or None, "from": f"StorageProfile {name}"},
        "golden_mode": {"value": source.mode or None, "from": source.facts_from},
        "disk_request": {"value": bounds[0] if bounds is not None else None, "from": "diskSize"},
        "golden_request": {"value": source.request, "from": source.facts_from},
        "golden_capacity": {"value": source.capacity, "from": source.facts_from},
        "expandable": {"value": facts.expandable(), "from": f"StorageClass {name}"},
    }
