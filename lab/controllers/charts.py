# SPDX-License-Identifier: Apache-2.0
"""Which chart a release is of, what it gets as values, and what its lookups see."""

from __future__ import annotations

import base64
from typing import Any

import yaml

from lab.api import Object
from lab.chart import render_catalog, render_kubernetes, render_platform, render_pool, render_tenant
from lab.controllers.objects import labels
from lab.controllers.runtime import Runtime

VALUES_SECRET = "cozystack-values"
KIND_LABEL = "apps.cozystack.io/application.kind"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What the platform chart emits without being asked; the catalog's package depends on it.
_ALWAYS = ("cozystack.networking", "cozystack.cozystack-basics", "cozystack.kubevirt-cdi")


class CacheLookups:
    """The charts' lookups over the controllers' caches. Errors: KeyError for a kind that is not cached."""

    def __init__(self, runtime: Runtime) -> None:
        self._caches = runtime.caches

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        return self._caches[kind].get(namespace or "", name)

    def list(self, kind: str, namespace: str | None) -> list[Object]:
        objects = self._caches[kind].objects
        return [objects[key] for key in sorted(objects) if namespace is None or key[0] == namespace]


def inherited_values(runtime: Runtime, release: Object) -> dict[str, Any]:
    """What ``valuesFrom`` brings in: the Secret of the release's namespace, empty when it is absent."""
    if not any(one["name"] == VALUES_SECRET for one in release["spec"].get("valuesFrom") or []):
        return {}
    secret = runtime.cache("Secret").get(release["metadata"]["namespace"], VALUES_SECRET)
    encoded = ((secret or {}).get("data") or {}).get("values.yaml")
    return (yaml.load(base64.b64decode(encoded), _LOADER) or {}) if encoded else {}


def _always(name: str) -> Object:
    meta = {"name": name, "annotations": {"helm.sh/resource-policy": "keep"}}
    return {"apiVersion": "cozystack.io/v1alpha1", "kind": "Package", "metadata": meta, "spec": {"variant": "default"}}


def _platform(release: Object, values: dict[str, Any]) -> list[Object]:
    """The variant is a part of the chart's name: <source>-<variant>-<component>, dots turned into dashes."""
    chart = release["spec"].get("chartRef", {}).get("name", "")
    variant = chart.removeprefix("cozystack-cozystack-platform-").removesuffix("-platform").removesuffix("-cozystack")
    rendered = render_platform(variant or "default", values)
    names = {package["metadata"]["name"] for package in rendered}
    return [*(_always(name) for name in _ALWAYS if name not in names), *rendered]


def render(runtime: Runtime, release: Object) -> list[Object]:
    """The objects of a release; none for a chart that the lab does not know. Errors: lab.chart.Refused."""
    meta, lookups = release["metadata"], CacheLookups(runtime)
    inherited, given = inherited_values(runtime, release), release["spec"].get("values") or {}
    # Not merged: a null that somebody stored has to reach the chart.
    values = {key: value for key, value in (inherited | given).items() if not key.startswith("_")}
    cluster = inherited.get("_cluster") or {}
    kind = labels(release).get(KIND_LABEL)
    if kind == "KubernetesNodes":
        return render_pool(meta["namespace"], meta["name"], values, cluster, lookups)
    if kind == "Kubernetes":
        return render_kubernetes(meta["namespace"], meta["name"], values, cluster, lookups)
    if kind == "Tenant":
        return render_tenant(meta["namespace"], meta["name"], values, lookups)
    if meta["name"] == "cozystack-platform":
        return _platform(release, values)
    if meta["name"] == "kubernetes-worker-image":
        return render_catalog(values, lookups)
    return []
