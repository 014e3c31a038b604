# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pool or a catalog would become: verdict, source, disk, template. The same answer stands behind modules and filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._image.catalog import Catalog
from .._image.keep import keep_live_spelling
from .._image.render import render_goldens
from .._pool.pool import Pool
from .._pool.template import TemplateUnknown, boot_disk, machine_template_name
from .case import PoolCase, Resolved
from .findings import settle
from .judge import judge_catalog, judge_pools, with_published
from .rule import NotRead
from .state import ClusterState


def resolved_class(pool: Pool, state: ClusterState) -> Resolved | None:
    """The class of a pool's disks (rule T2) and where it came from; None when the state does not tell. ``value`` may be blank."""
    try:
        return PoolCase(pool, state).pool_class
    except NotRead:
        return None


def template_of(pool: Pool, state: ClusterState) -> tuple[str, str]:
    """Name of the pool's machine template, and when that is blank, why it cannot be told."""
    name, why = "", ""
    found = resolved_class(pool, state) if pool.source.clones else Resolved(pool.storage_class, "storageClass")
    if found is None:
        return "", "the pool's storage class cannot be resolved from what was read"
    try:
        name = machine_template_name(pool, state.values_of(pool.namespace), found.value)
    except TemplateUnknown as error:
        why = str(error)
    return name, why


def describe_pool(pool: Pool, state: ClusterState) -> dict[str, Any]:
    """One pool: names, resolved source, boot disk (null when it cannot be told), template name."""
    found = resolved_class(pool, state) if pool.source.clones else Resolved(pool.storage_class, "storageClass")
    template, why = template_of(pool, state)
    return {
        "namespace": pool.namespace,
        "name": pool.name,
        "cluster": pool.values_cluster,
        "pool": pool.pool,
        "source": pool.source.as_dict(),
        "storage_class": found.value if found else None,
        "storage_class_from": found.origin if found else "",
        "worker_disk": boot_disk(pool, found.value) if found else None,
        "machine_template": template,
        "machine_template_unknown": why,
    }


def report_pools(
    pools: Sequence[Pool], state: ClusterState, refuse_on: Sequence[str] = (), accept: Sequence[str] = ()
) -> dict[str, Any]:
    """``refusals``, ``advice``, ``not_judged``, ``accepted`` of all pools, and ``pools`` with a description of each."""
    judged = settle(judge_pools(pools, state), refuse_on, accept)
    return {**judged.as_dict(), "pools": [describe_pool(pool, state) for pool in with_published(pools, state)]}


def report_catalog(
    values: Mapping[str, Any], state: ClusterState, refuse_on: Sequence[str] = (), accept: Sequence[str] = ()
) -> dict[str, Any]:
    """The verdict of a catalog, the ``golden_images`` it renders (none when refused), and the ``values`` to write.

    The latter keep live spellings, so that the chart sees no false drift.
    """
    judged = settle(judge_catalog(values, state), refuse_on, accept)
    written = written_catalog(values, state)
    goldens = [] if judged.refused else render_goldens(Catalog.from_values(written))
    return {**judged.as_dict(), "values": written, "golden_images": goldens}


def written_catalog(values: Mapping[str, Any], state: ClusterState) -> dict[str, Any]:
    """The values block to write: see ``keep_live_spelling``."""
    entries = Catalog.from_values(values).entries
    goldens = {entry.golden: state.golden(entry.golden) for entry in entries}
    return keep_live_spelling(values, {name: volume for name, volume in goldens.items() if volume is not None})
