# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The golden DataVolume as the catalog chart renders it."""

from __future__ import annotations

from typing import Any

from .._storage.objects import IMMEDIATE_BIND_ANNOTATION
from .catalog import Catalog, CatalogEntry
from .golden import GOLDEN_NAMESPACE

KEEP_ANNOTATION = "helm.sh/resource-policy"
SCHEMATIC_ANNOTATION = "kubernetes-worker-image.cozystack.io/schematic-id"
VERSION_ANNOTATION = "kubernetes-worker-image.cozystack.io/talos-version"
_USE_POPULATOR = "cdi.kubevirt.io/storage.usePopulator"


def render_golden(entry: CatalogEntry) -> dict[str, Any]:
    """The DataVolume of one entry (platform rule 4.2); the class is left out when none resolves."""
    storage: dict[str, Any] = {"resources": {"requests": {"storage": entry.storage}}}
    if entry.storage_class:
        storage["storageClassName"] = entry.storage_class
    return {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {
            "name": entry.golden,
            "namespace": GOLDEN_NAMESPACE,
            "annotations": {
                KEEP_ANNOTATION: "keep",
                IMMEDIATE_BIND_ANNOTATION: "true",
                _USE_POPULATOR: "true",
                SCHEMATIC_ANNOTATION: entry.schematic_id,
                VERSION_ANNOTATION: entry.version,
            },
            "labels": {"app.kubernetes.io/managed-by": "cozystack"},
        },
        "spec": {"contentType": "kubevirt", "source": {"http": {"url": entry.url}}, "storage": storage},
    }


def render_goldens(catalog: Catalog) -> list[dict[str, Any]]:
    """The DataVolumes of a whole catalog, in the order of its entries."""
    return [render_golden(entry) for entry in catalog.entries]
