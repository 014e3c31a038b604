# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and addresses of an image: contracts of the platform's charts."""

from __future__ import annotations

GOLDEN_NAMESPACE = "cozy-public"
CATALOG_PACKAGE = "cozystack.kubernetes-worker-image"
CATALOG_RELEASE = ("cozy-system", "kubernetes-worker-image")
DEFAULT_SCHEMATIC = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
DEFAULT_TALOS = "v1.13.6"
DEFAULT_FACTORY = "https://factory.talos.dev"
DEFAULT_INSTALLER = "factory.talos.dev/installer"
# Only the openstack image reads the config drive that KubeVirt attaches; nocloud ignores it.
IMAGE_FILE = "openstack-amd64.raw.xz"


def golden_name(schematic_id: str, version: str) -> str:
    """Name of the golden DataVolume of a pair. With a factory's ID it has 85 characters, so it fits no label value."""
    return f"talos-worker-{schematic_id}-{version}"


def trim_slashes(base: str) -> str:
    """A base address as we write it: no trailing slash at all."""
    return base.rstrip("/")


def trim_one_slash(base: str) -> str:
    """A base address as the charts read it: one trailing slash less, the others stay."""
    return base.removesuffix("/")


def image_url(base: str, schematic_id: str, version: str) -> str:
    """Address of an image below a base that we write: every trailing slash of the base is dropped."""
    return f"{trim_slashes(base)}/image/{schematic_id}/{version}/{IMAGE_FILE}"


def chart_image_url(base: str, schematic_id: str, version: str) -> str:
    """Address as the charts render it from a declared base: they drop exactly one trailing slash."""
    return f"{trim_one_slash(base)}/image/{schematic_id}/{version}/{IMAGE_FILE}"


def installer_image(repository: str, schematic_id: str, version: str) -> str:
    """The installer reference that workers upgrade with; the chart drops one trailing slash of the repository."""
    return f"{trim_one_slash(repository)}/{schematic_id}:{version}"
