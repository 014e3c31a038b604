# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on the pair of Talos and Kubernetes, and on the parent cluster's version."""

from __future__ import annotations

from collections.abc import Iterator

from .._image.versions import chart_row, kubernetes_minor, talos_window
from .._pool.source import Source
from .._storage.printed import printed
from .._storage.reading import dig
from .case import PoolCase
from .rule import Found, rule, shown


@rule(
    "talos-kubernetes-window",
    cause="Each Talos minor supports six Kubernetes minors; outside them workers come up silently broken.",
    example='version: "v1.30" with talos.version "v1.13.6"',
    remedy="Change the pool's version to a supported one, or the Talos release to one that supports it.",
)
def talos_kubernetes_window(case: PoolCase) -> Iterator[Found]:
    for talos, origin in _releases(case):
        row = chart_row(talos)
        kubernetes = case.pool.kubernetes_version
        if row is not None and kubernetes not in row:
            yield Found(
                "version",
                f"Kubernetes {shown(kubernetes)} (version) is not supported by Talos {shown(talos)} ({origin}); it supports "
                f"{row[0]} to {row[-1]}",
                f"Set version to one of {', '.join(row)}, or set {origin} to a Talos release that supports {kubernetes}.",
                {"version": kubernetes, "talos": talos, "talos_from": origin, "supported": list(row)},
            )


@rule(
    "talos-window-unlisted",
    refuses=False,
    chart=False,
    cause="The chart lets a Talos minor pass that it does not list. By Talos' own table this pair does not fit.",
    example='version: "v1.31" with osImage.builtin.version "v1.14.0"',
    remedy="Choose a Kubernetes version inside the window of the Talos release, or another release.",
)
def talos_window_unlisted(case: PoolCase) -> Iterator[Found]:
    kubernetes = kubernetes_minor(case.pool.kubernetes_version)
    for talos, origin in _releases(case):
        window = talos_window(talos, case.state.talos_windows)
        if chart_row(talos) is not None or window is None or kubernetes is None or kubernetes[0] != 1:
            continue
        if not window[0] <= kubernetes[1] <= window[1]:
            yield Found(
                "version",
                f"Kubernetes {case.pool.kubernetes_version} is outside what Talos {talos} ({origin}) supports by Talos' own table, "
                f"1.{window[0]} to 1.{window[1]}; the chart does not list this Talos release and lets the pair pass",
                evidence={
                    "version": case.pool.kubernetes_version,
                    "talos": talos,
                    "talos_from": origin,
                    "supported": [f"v1.{window[0]}", f"v1.{window[1]}"],
                },
            )


@rule(
    "version-ahead-of-parent",
    own=True,
    cause="A kubelet must not be newer than the API server it joins. Lagging behind is fine.",
    example='version: "v1.35" while the parent cluster runs v1.34.0',
    remedy="Upgrade the parent Kubernetes resource first, then the pool.",
)
def version_ahead_of_parent(case: PoolCase) -> Iterator[Found]:
    case.read("control_planes")
    plane = case.state.control_plane(case.pool.namespace, case.pool.cluster_name)
    if plane is None:
        return
    parent, own = kubernetes_minor(plane.version), kubernetes_minor(case.pool.kubernetes_version)
    if parent is not None and own is not None and own > parent:
        yield Found(
            "version",
            f"version {case.pool.kubernetes_version} is ahead of the parent cluster {case.pool.cluster_name}, which runs {plane.version}",
            f"Upgrade the Kubernetes resource {case.pool.namespace}/{case.pool.values_cluster} first, or set version to at most "
            f"v{parent[0]}.{parent[1]}.",
            {
                "version": case.pool.kubernetes_version,
                "parent_version": plane.version,
                "parent_from": f"KamajiControlPlane {case.pool.namespace}/{case.pool.cluster_name}",
            },
        )


def _releases(case: PoolCase) -> Iterator[tuple[str, str]]:
    """The Talos releases that reach a worker: the pool's default, and the resolved one when it differs."""
    source: Source = case.source
    default = printed(dig(case.values, "talos", "version"))
    yield default, "talos.version"
    if source.version != default:
        yield source.version, source.origins["version"]
