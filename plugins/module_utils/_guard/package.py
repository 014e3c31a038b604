# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Will the platform act on the catalog at all? Outside the right variant the package name is ignored without an error."""

from __future__ import annotations

from .._image.golden import CATALOG_PACKAGE
from .._plan.catalog import IAAS_VARIANTS, PLATFORM_PACKAGE, PlatformPackage
from .findings import Finding, Verdict

_SUBJECT = f"Package {PLATFORM_PACKAGE}"


def judge_package(platform: PlatformPackage | None, catalog_known: bool | None) -> Verdict:
    """Refusals of the platform Package; ``catalog_known`` says whether the catalog's PackageSource exists, None if unread."""
    if platform is None:
        return Verdict((_missing(),))
    found = (_variant(platform), _iaas(platform), _disabled(platform), _unknown(catalog_known))
    return Verdict(tuple(finding for finding in found if finding is not None))


def _missing() -> Finding:
    return Finding(
        "platform-package-missing",
        _SUBJECT,
        "the platform Package does not exist, so there is nothing that could carry the catalog",
        "install Cozystack on this cluster first, or check that the kubeconfig points to the management cluster "
        "(a tenant cluster has no such Package)",
        {"package": PLATFORM_PACKAGE},
    )


def _variant(platform: PlatformPackage) -> Finding | None:
    if platform.variant in IAAS_VARIANTS:
        return None
    return Finding(
        "platform-variant-without-iaas",
        f"{_SUBJECT} spec.variant",
        f"variant {platform.variant!r} has no IaaS bundle; it ignores {CATALOG_PACKAGE} without an error",
        f"use a site whose platform variant is {' or '.join(IAAS_VARIANTS)}; until then pools keep osImage.factory",
        {"spec.variant": platform.variant, "variants with IaaS": list(IAAS_VARIANTS)},
    )


def _iaas(platform: PlatformPackage) -> Finding | None:
    if not platform.iaas_switched_off:
        return None
    return Finding(
        "platform-iaas-disabled",
        f"{_SUBJECT} spec.components.platform.values.bundles.iaas.enabled",
        f"the IaaS bundle is switched off; {CATALOG_PACKAGE} is then ignored without an error",
        "set bundles.iaas.enabled to true in the platform Package, then run again",
        {"bundles.iaas.enabled": False},
    )


def _disabled(platform: PlatformPackage) -> Finding | None:
    if CATALOG_PACKAGE not in platform.disabled:
        return None
    return Finding(
        "package-disabled",
        f"{_SUBJECT} spec.components.platform.values.bundles.disabledPackages",
        f"{CATALOG_PACKAGE} stands in disabledPackages, which wins over enabledPackages",
        "take the name out of bundles.disabledPackages of the platform Package, then run again; "
        "it was put there on purpose, so ask first",
        {"bundles.disabledPackages": platform.disabled},
    )


def _unknown(catalog_known: bool | None) -> Finding | None:
    if catalog_known is not False:
        return None
    return Finding(
        "package-unknown",
        f"PackageSource {CATALOG_PACKAGE}",
        "this platform release does not ship the catalog of worker images",
        "upgrade Cozystack to a release with golden worker images (September 2026 or later); "
        "until then pools keep osImage.factory or omit osImage",
        {"PackageSource": None},
    )
