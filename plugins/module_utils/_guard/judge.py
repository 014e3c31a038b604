# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge a catalog or pools by every rule at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._pool.pool import Pool
from .findings import Verdict
from .state import ClusterState


def judge_catalog(values: Mapping[str, Any], state: ClusterState) -> Verdict:
    """Judge a catalog's values block (``imageFactoryURL``, ``storageClass``, ``storage``, ``images``) against the cluster."""
    raise NotImplementedError


def judge_pools(pools: Sequence[Pool], state: ClusterState) -> Verdict:
    """Judge pools against the cluster: all refusals of all pools, in the order of the pools and of the rule table."""
    raise NotImplementedError
