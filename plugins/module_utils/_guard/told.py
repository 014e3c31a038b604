# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that are judged elsewhere (the platform Package, the plan of a run); here only what they mean, under their ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._image.golden import CATALOG_PACKAGE
from .rule import Found, Rule, rule


def _elsewhere(case: Any) -> Iterator[Found]:
    return iter(())


package_missing = rule(
    "platform-package-missing",
    chart=False,
    cause="The platform Package does not exist, so nothing could carry the catalog; a tenant cluster has none.",
    example="a kubeconfig of a tenant cluster",
    remedy="Point the connection at the management cluster.",
)(_elsewhere)
variant_without_iaas = rule(
    "platform-variant-without-iaas",
    chart=False,
    cause="Only the variants isp-full and isp-full-generic have the catalog; others ignore its name without an error.",
    example="spec.variant: isp-hosted",
    remedy="Use the catalog on a site of variant isp-full or isp-full-generic.",
)(_elsewhere)
iaas_disabled = rule(
    "platform-iaas-disabled",
    chart=False,
    cause="The catalog belongs to the IaaS bundle, which is switched off.",
    example="bundles: {iaas: {enabled: false}}",
    remedy="Enable the IaaS bundle.",
)(_elsewhere)
package_disabled = rule(
    "package-disabled",
    chart=False,
    cause="The catalog is in bundles.disabledPackages, which wins over enabledPackages.",
    example="the name in both lists",
    remedy=f"Take {CATALOG_PACKAGE} out of bundles.disabledPackages.",
)(_elsewhere)
package_unknown = rule(
    "package-unknown",
    chart=False,
    cause="This platform release does not ship the catalog of worker images.",
    example="a release from before September 2026",
    remedy="Upgrade the platform; until then pools boot over HTTP.",
)(_elsewhere)
defaults_freeze = rule(
    "defaults-freeze",
    refuses=False,
    chart=False,
    cause="The first change of a pool writes today's defaults into it (the API fills them in on read), so it no longer follows the "
    "platform's defaults, its Talos release included.",
    example="a pool that declares nothing but cluster, changed for the first time",
    remedy="Declare what the pool should keep; move its Talos release by its own declaration from now on.",
)(_elsewhere)
pool_of_another_cluster = rule(
    "pool-of-another-cluster",
    chart=False,
    cause="The pool that is to be deleted belongs to another cluster than declared: cluster shop with pool md-0 and cluster shop-md with "
    "pool 0 make the same object name.",
    example="cluster: shop, pool: md-0 for the pool 0 of cluster shop-md",
    remedy="Declare the cluster that spec.cluster of the live pool names, if that pool really is to go.",
)(_elsewhere)
last_ingress_pool = rule(
    "last-ingress-pool",
    refuses=False,
    chart=False,
    cause="The cluster loses its last pool with the role ingress-nginx, so what it serves is no longer reachable.",
    example="state: absent for the only pool with roles: [ingress-nginx]",
    remedy="Give another pool of the cluster the role ingress-nginx first.",
)(_elsewhere)
golden_orphaned = rule(
    "golden-orphaned",
    refuses=False,
    chart=False,
    cause="Entries leave the catalog while their goldens exist. Those stay (they carry a keep policy), but nothing manages them any more.",
    example="entries: exact with a list that lacks a live entry",
    remedy="Keep the entry while pools use the golden; retire the golden once none does.",
)(_elsewhere)
golden_not_rendered = rule(
    "golden-not-rendered",
    refuses=False,
    chart=False,
    cause="A declared golden is gone although the catalog and both releases are settled: a healthy release renders nothing again.",
    example="a golden that was deleted by hand while the catalog lists it",
    remedy="Run image_catalog with force_render: true.",
)(_elsewhere)

TOLD: tuple[Rule, ...] = (
    package_missing,
    variant_without_iaas,
    iaas_disabled,
    package_disabled,
    package_unknown,
    defaults_freeze,
    golden_orphaned,
    golden_not_rendered,
    pool_of_another_cluster,
    last_ingress_pool,
)
