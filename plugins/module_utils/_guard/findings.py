# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings of the rules and the verdict they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One finding. ``subject`` is ``namespace/name`` and field path; ``evidence`` holds the compared values and where each came from."""

    id: str
    subject: str
    message: str
    remedy: str
    evidence: dict[str, Any] = field(default_factory=dict, hash=False)

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "subject": self.subject,
            "message": self.message,
            "remedy": self.remedy,
            "evidence": dict(self.evidence),
        }

    def text(self) -> str:
        """A few readable lines for an error message."""
        return f"{self.subject}: {self.message} [{self.id}]\n    What to do: {self.remedy}"


@dataclass(frozen=True)
class Verdict:
    """Everything the rules found. ``accepted`` are refusals that the caller let pass; ``not_judged`` names rules and why."""

    refusals: tuple[Finding, ...] = ()
    advice: tuple[Finding, ...] = ()
    not_judged: tuple[Finding, ...] = ()
    accepted: tuple[Finding, ...] = ()

    @property
    def refused(self) -> bool:
        return bool(self.refusals)

    def refusal_text(self) -> str:
        """All refusals, one after another; blank when there are none."""
        return "\n".join(finding.text() for finding in self.refusals)

    def as_dict(self) -> dict[str, list[dict[str, Any]]]:
        """The result keys ``refusals``, ``advice``, ``not_judged`` and ``accepted``."""
        return {
            "refusals": [finding.as_dict() for finding in self.refusals],
            "advice": [finding.as_dict() for finding in self.advice],
            "not_judged": [finding.as_dict() for finding in self.not_judged],
            "accepted": [finding.as_dict() for finding in self.accepted],
        }

    def plus(self, other: Verdict) -> Verdict:
        """Both verdicts in one."""
        return Verdict(
            self.refusals + other.refusals,
            self.advice + other.advice,
            self.not_judged + other.not_judged,
            self.accepted + other.accepted,
        )


def settle(verdict: Verdict, refuse_on: Sequence[str] = (), accept: Sequence[str] = ()) -> Verdict:
    """Let ``refuse_on`` turn advice into refusals and ``accept`` let refusals pass; ``accept`` wins over ``refuse_on``.

    Accepted findings stay visible in ``accepted``. Raises ValueError for an id that no rule has, naming the nearest one.
    """
    from .table import known_ids

    check_ids(refuse_on, known_ids(), "refuse_on")
    check_ids(accept, known_ids(), "accept")
    raised = tuple(finding for finding in verdict.advice if finding.id in refuse_on)
    refusals = verdict.refusals + raised
    return Verdict(
        refusals=tuple(finding for finding in refusals if finding.id not in accept),
        advice=tuple(finding for finding in verdict.advice if finding.id not in refuse_on),
        not_judged=verdict.not_judged,
        accepted=verdict.accepted + tuple(finding for finding in refusals if finding.id in accept),
    )


def check_ids(given: Iterable[str], known: Sequence[str], option: str) -> None:
    """Raise ValueError for the first id that is not known."""
    for item in given:
        if item not in known:
            near = get_close_matches(item, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{option}: there is no rule with the id {item!r}{hint}")
