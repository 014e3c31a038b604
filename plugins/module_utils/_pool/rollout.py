# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a change rolls a pool's workers, and why (platform rule 3.5)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RollVerdict:
    """``rolls`` is None when it cannot be told. ``fields`` are the changed field paths that matter."""

    rolls: bool | None
    reasons: tuple[str, ...] = ()
    old_template: str = ""
    new_template: str = ""
    fields: tuple[str, ...] = ()
