# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalog's HelmRelease: a healthy one renders again only when it is forced to (platform rule 1.5)."""

from __future__ import annotations

import time

from .._image.golden import CATALOG_RELEASE
from .._kube.client import Client
from .._kube.resources import HELM_RELEASE
from .._plan.catalog import FORCE_ANNOTATIONS


def force_catalog_release(client: Client, moment: float | None = None) -> None:
    """Ask for one render: both annotations with the same value, which has to be a new one. Errors: KubeError."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() if moment is None else moment))
    value = f"{stamp}.{time.time_ns() % 10**9:09d}Z"
    body = {"metadata": {"annotations": dict.fromkeys(FORCE_ANNOTATIONS, value)}}
    client.merge_patch(HELM_RELEASE, CATALOG_RELEASE[1], body, CATALOG_RELEASE[0])
