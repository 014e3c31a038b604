# SPDX-License-Identifier: Apache-2.0
"""The platform chart, as far as optional packages go: one Package per enabled name."""

from __future__ import annotations

from lab.chart.refusal import Object, dig
from lab.chart.values import Values

WORKER_IMAGE = "cozystack.kubernetes-worker-image"
_CATALOG_VARIANTS = ("isp-full", "isp-full-generic")
# A list set by the operator hides this one: lists are replaced, not merged.
_ENABLED_BY_VARIANT = {"isp-full-generic": ["cozystack.backupstrategy-controller"]}


def render_platform(variant: str, values: Values) -> list[Object]:
    """The child Packages. Each carries ``keep``: taking a name off the list leaves its Package behind.

    The catalog's name is ignored without an error where its bundle is missing.
    """
    bundles = values.get("bundles") or {}
    enabled = bundles.get("enabledPackages")
    names = _ENABLED_BY_VARIANT.get(variant, []) if enabled is None else enabled
    disabled = bundles.get("disabledPackages") or []
    wanted = [name for name in dict.fromkeys(names) if name not in disabled]
    if variant not in _CATALOG_VARIANTS or dig(bundles, "iaas", "enabled") is False:
        wanted = [name for name in wanted if name != WORKER_IMAGE]
    return [_package(name, values) for name in wanted]


def _package(name: str, values: Values) -> Object:
    spec: Values = {"variant": "default"}
    if name == WORKER_IMAGE and values.get("kubernetesWorkerImage"):
        spec["components"] = {"kubernetes-worker-image": {"values": values["kubernetesWorkerImage"]}}
    return {
        "apiVersion": "cozystack.io/v1alpha1",
        "kind": "Package",
        "metadata": {"name": name, "annotations": {"helm.sh/resource-policy": "keep"}},
        "spec": spec,
    }
