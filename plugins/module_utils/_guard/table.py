# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule in the order of the reports: boot source first, then the older pool rules, ours, and advice."""

from __future__ import annotations

from functools import lru_cache

from . import (
    advice,
    catalog,
    catalog_advice,
    catalog_storage,
    cloning,
    golden,
    kubelet,
    ownership,
    schema,
    shape,
    sizing,
    storage,
    window,
)
from .importing import IMPORT_RULES
from .retire import RETIRE_RULES
from .rule import Rule
from .told import TOLD

POOL_RULES: tuple[Rule, ...] = (
    shape.source_ambiguous,
    shape.schematic_format,
    shape.version_format,
    shape.factory_url_format,
    window.talos_kubernetes_window,
    golden.golden_absent,
    golden.golden_failed,
    golden.golden_import_failing,
    storage.storage_class_mismatch,
    storage.disk_smaller_than_golden,
    shape.substrate_without_source,
    sizing.cpu_not_whole,
    ownership.cluster_required,
    ownership.pool_name_prefix,
    ownership.pool_owned_elsewhere,
    ownership.cluster_changed,
    window.version_ahead_of_parent,
    sizing.duration_format,
    schema.values_schema,
    sizing.resources_incomplete,
    sizing.pod_cpu_with_instance_type,
    sizing.pod_cpu_negative,
    sizing.pod_cpu_zero_limit,
    sizing.pod_cpu_zero_request,
    sizing.pod_cpu_request_above_limit,
    sizing.instance_type_missing,
    kubelet.reservation_format,
    kubelet.reservation_not_positive,
    kubelet.eviction_format,
    kubelet.eviction_range,
    kubelet.eviction_order,
    kubelet.eviction_mixed_units,
    kubelet.reservation_exceeds_node,
    kubelet.reservation_without_size,
    sizing.max_unhealthy_format,
    shape.null_source,
    schema.unknown_field,
    schema.feature_missing,
    ownership.pool_name_format,
    ownership.parent_absent,
    ownership.release_name_clash,
    golden.golden_planned,
    golden.golden_not_ready,
    golden.golden_will_not_finish,
    golden.golden_unusable,
    storage.disk_smaller_than_capacity,
    storage.disk_size_unreadable,
    cloning.pool_profile_incomplete,
    cloning.class_not_expandable,
    cloning.clone_strategy_copy,
    cloning.volume_mode_differs,
    cloning.drivers_differ,
    cloning.no_snapshot_class,
    cloning.csi_driver_missing,
    storage.storage_class_unknown,
    storage.default_class_ambiguous,
    window.talos_window_unlisted,
    advice.schematic_not_hex,
    advice.factory_url_query,
    ownership.parent_talos_differs,
    advice.release_suspended,
)

CATALOG_RULES: tuple[Rule, ...] = (
    catalog.catalog_shape,
    catalog.entry_schematic_required,
    catalog.entry_version_required,
    catalog.catalog_schematic_format,
    catalog.catalog_version_format,
    catalog.catalog_url_format,
    catalog.entry_duplicate,
    catalog.golden_immutable,
    catalog.catalog_unknown_field,
    catalog.storage_format,
    catalog_storage.golden_too_small,
    catalog_storage.catalog_class_unknown,
    catalog_storage.catalog_profile_incomplete,
    catalog_storage.scratch_class_unresolved,
    catalog_advice.golden_in_trouble,
    catalog_advice.catalog_schematic_not_hex,
    catalog_advice.catalog_url_query,
    catalog_advice.catalog_default_ambiguous,
    catalog_advice.default_pair_missing,
    catalog_advice.default_class_differs,
)

ALL_RULES: tuple[Rule, ...] = (*POOL_RULES, *CATALOG_RULES, *IMPORT_RULES, *RETIRE_RULES, *TOLD)


@lru_cache(maxsize=1)
def known_ids() -> tuple[str, ...]:
    """Every id, each once, in table order."""
    return tuple(dict.fromkeys(item.id for item in ALL_RULES))


def rule_of(rule_id: str) -> Rule:
    """The first rule with this id. Raises KeyError."""
    for item in ALL_RULES:
        if item.id == rule_id:
            return item
    raise KeyError(rule_id)
