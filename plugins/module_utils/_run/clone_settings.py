# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings that decide how disks are filled and cloned: one list per kind, whatever the number of pools or images."""

from __future__ import annotations

from dataclasses import replace

from .._guard.state import ClusterState
from .._kube.client import Client
from .._kube.resources import CDI, CDI_CONFIG, CSI_DRIVER, SNAPSHOT_CLASS, STORAGE_PROFILE, Resource
from .._kube.snapshot import Scope, Snapshot

_LISTS: dict[str, Resource] = {
    "cdis": CDI,
    "cdi_configs": CDI_CONFIG,
    "storage_profiles": STORAGE_PROFILE,
    "snapshot_classes": SNAPSHOT_CLASS,
    "csi_drivers": CSI_DRIVER,
}


def read_clone_settings(client: Client, cluster: ClusterState) -> tuple[ClusterState, dict[str, str]]:
    """The state with the settings in it, and why a kind is not among them, by its qualified name.

    What may not be read stays unknown and is marked as denied, so that rules say that they were not judged. Errors: KubeError
    when there is no answer.
    """
    snapshot = Snapshot(client).read(Scope(resource) for resource in _LISTS.values())
    without_api = snapshot.unread.get(SNAPSHOT_CLASS)
    if without_api is not None and without_api.not_found:
        # No such API means no such class: CDI takes it so, too.
        del snapshot.unread[SNAPSHOT_CLASS]
        snapshot.lists[SNAPSHOT_CLASS] = []
    read = ClusterState.from_lists(**{name: snapshot.items(resource) for name, resource in _LISTS.items()})
    denied = frozenset(name for name, resource in _LISTS.items() if resource in snapshot.unread)
    found = {name: getattr(read, name) for name in _LISTS}
    return replace(cluster, **found, denied=cluster.denied | denied), snapshot.causes()
