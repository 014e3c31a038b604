# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moments as the API writes them (RFC 3339, UTC)."""

from __future__ import annotations

from datetime import datetime


def seconds_of(written: str) -> float | None:
    """Seconds since the epoch; None for a blank or unreadable moment."""
    try:
        return datetime.fromisoformat(written.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def age_of(written: str, now: float | None) -> float | None:
    """Seconds between a moment and now, never negative (clocks differ); None when either is unknown."""
    then = seconds_of(written)
    return None if then is None or now is None else max(0.0, now - then)
