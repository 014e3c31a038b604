# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the platform Package emits the catalog at all (platform rule PL1): it ignores the name without an error otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._image.golden import CATALOG_PACKAGE
from .._storage.reading import dig
from .rule import Found, rule, shown

VARIANTS = ("isp-full", "isp-full-generic")


@dataclass(frozen=True)
class PlatformCase:
    """The platform Package: its variant and ``spec.components.platform.values``."""

    variant: str
    values: Mapping[str, Any]

    subject = "cozystack.cozystack-platform"

    def listed(self, name: str) -> bool:
        found = dig(self.values, "bundles", name)
        return isinstance(found, (list, tuple)) and CATALOG_PACKAGE in found


@rule(
    "variant-without-catalog",
    refuses=True,
    chart=False,
    cause="Only the variants isp-full and isp-full-generic have the catalog; others ignore its name without an error.",
    example="spec.variant: isp-hosted",
    remedy="Use the catalog on a site of variant isp-full or isp-full-generic.",
)
def variant_without_catalog(case: PlatformCase) -> Iterator[Found]:
    if case.variant not in VARIANTS:
        yield Found(
            "spec.variant",
            f"spec.variant is {shown(case.variant)}, and only {' and '.join(VARIANTS)} have the catalog of worker images",
            evidence={"variant": case.variant},
        )


@rule(
    "iaas-disabled",
    refuses=True,
    chart=False,
    cause="The catalog belongs to the iaas bundle, which is switched off.",
    example="bundles: {iaas: {enabled: false}}",
    remedy="Enable the iaas bundle.",
)
def iaas_disabled(case: PlatformCase) -> Iterator[Found]:
    if dig(case.values, "bundles", "iaas", "enabled") is False:
        yield Found("bundles.iaas.enabled", "the iaas bundle is switched off, and the catalog is part of it")


@rule(
    "catalog-not-enabled",
    refuses=False,
    chart=False,
    cause="The catalog is an optional package that is not enabled.",
    example="bundles.enabledPackages without the catalog",
    remedy=f"Add {CATALOG_PACKAGE} to bundles.enabledPackages, keeping what is there.",
)
def catalog_not_enabled(case: PlatformCase) -> Iterator[Found]:
    if not case.listed("enabledPackages"):
        yield Found("bundles.enabledPackages", f"{CATALOG_PACKAGE} is not in bundles.enabledPackages")


@rule(
    "catalog-disabled",
    refuses=True,
    chart=False,
    cause="The catalog is in disabledPackages, which wins over enabledPackages.",
    example="the name in both lists",
    remedy=f"Remove {CATALOG_PACKAGE} from bundles.disabledPackages.",
)
def catalog_disabled(case: PlatformCase) -> Iterator[Found]:
    if case.listed("disabledPackages"):
        yield Found(
            "bundles.disabledPackages",
            f"{CATALOG_PACKAGE} is in bundles.disabledPackages, which wins over enabledPackages",
        )
