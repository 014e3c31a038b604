# SPDX-License-Identifier: Apache-2.0
"""Durations and the health check's budget: values whose consumers would accept nonsense in silence."""

from __future__ import annotations

import re

from lab.chart.refusal import Refused
from lab.chart.values import Values

_DURATION = re.compile(r"[1-9][0-9]{0,4}[smh]([0-9]{1,5}[smh]){0,2}")
_BUDGET = re.compile(r"[0-9]+%?")


def check_durations(values: Values, *fields: str) -> None:
    """Raises Refused duration-format: whole positive numbers of s, m or h, such as 30m or 1h30m."""
    for field in fields:
        if not _DURATION.fullmatch(values[field]):
            raise Refused("duration-format", f"{field}: {values[field]!r} is not a duration such as 30m or 1h30m")


def check_max_unhealthy(value: str) -> int | str:
    """An integer, or a percentage as text. Raises Refused max-unhealthy-format."""
    if not _BUDGET.fullmatch(value):
        raise Refused("max-unhealthy-format", f"maxUnhealthy: {value!r} is not a number such as 1 or 50%")
    return value if value.endswith("%") else int(value)
