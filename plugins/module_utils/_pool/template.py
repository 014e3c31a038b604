# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine template of a pool, byte for byte, since its name is a hash of its text (platform rule 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .pool import Pool


def render_machine_template(pool: Pool, cluster_values: Mapping[str, Any], resolved_class: str) -> str:
    """The text that the chart hashes. ``resolved_class`` is rule T2's class; it counts for builtin pools only."""
    raise NotImplementedError


def machine_template_name(pool: Pool, cluster_values: Mapping[str, Any], resolved_class: str) -> str:
    """Full name of the pool's KubevirtMachineTemplate."""
    raise NotImplementedError


def boot_disk(pool: Pool, resolved_class: str) -> dict[str, Any]:
    """The boot disk as the template states it: ``annotations``, ``source``, ``storage``."""
    raise NotImplementedError
