# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rule is: an id, an explanation, and a function that yields what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any


class NotRead(Exception):
    """A rule needs a part of the cluster that was not read. ``needs`` is the field of the state."""

    def __init__(self, needs: str) -> None:
        self.needs = needs
        super().__init__(needs)


@dataclass(frozen=True)
class Found:
    """One hit of a rule: field path below the subject, message, and a remedy if it is better than the rule's general one.

    ``refuses`` overrides the rule's strength for a rule that is sure in some cases only.
    """

    field: str
    message: str
    remedy: str = ""
    evidence: dict[str, Any] = attribute(default_factory=dict)
    refuses: bool | None = None


@dataclass(frozen=True)
class Rule:
    """A rule. ``cause``, ``example`` and ``remedy`` explain it for the documentation; ``chart`` says that the chart refuses it too.

    ``own`` says that it looks at names, or at objects that belong to this very pool or its cluster. What other rules find depends on the
    pool's values and on what all pools share, so it is the same for pools that are alike.
    """

    id: str
    check: Callable[[Any], Iterator[Found]]
    refuses: bool
    chart: bool
    cause: str
    example: str
    remedy: str
    own: bool = False


def rule(
    rule_id: str,
    *,
    cause: str,
    example: str,
    remedy: str,
    refuses: bool = True,
    chart: bool = True,
    own: bool = False,
) -> Callable[[Callable[[Any], Iterator[Found]]], Rule]:
    """Make a rule of a function that takes a case and yields what it found."""

    def make(check: Callable[[Any], Iterator[Found]]) -> Rule:
        return Rule(rule_id, check, refuses, chart, cause, example, remedy, own)

    return make


def shown(value: Any) -> str:
    """A value for a message: text in quotes with control characters made visible, other values as they are."""
    if isinstance(value, str):
        return '"' + value.encode("unicode_escape").decode().replace('"', '\\"') + '"'
    return str(value)
