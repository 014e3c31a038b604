# SPDX-License-Identifier: Apache-2.0
"""The app kinds: how each is named, checked, and stored as a HelmRelease."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lab.apps_api.statuses import bad_request, invalid
from lab.kinds import KINDS
from lab.schemas import FILLERS

Object = dict[str, Any]

GROUP, VERSION = "apps.cozystack.io", "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
PREFIX = f"{GROUP}-"  # of user labels and annotations on the HelmRelease
LABEL_KIND, LABEL_GROUP, LABEL_NAME = (f"{GROUP}/application.{part}" for part in ("kind", "group", "name"))
SHARD = "sharding.fluxcd.io/key"

_CONDITION = ("type", "status", "reason", "message", "lastTransitionTime")
_HELM_NAME_LIMIT = 53
_NAMESPACE_LIMIT = 63
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DNS_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_TENANT_NAME = re.compile(r"[a-z][a-z0-9]*")
_TENANT_NAME_RULE = "a tenant name must start with a lower case letter and hold only lower case letters and digits"


@dataclass(frozen=True)
class App:
    """One app kind. ``chart`` names the ExternalArtifact, ``timeout`` is Helm's, ``longest`` limits the CR's name."""

    kind: str
    singular: str
    chart: str
    timeout: str
    prefix: str
    longest: int
    disable_wait: bool = True

    @property
    def plural(self) -> str:
        return KINDS[self.kind].plural

    def release_name(self, name: str) -> str:
        return self.prefix + name

    def owns(self, release: Object) -> bool:
        """A release is an app of this kind by its two labels alone; its name does not count."""
        labels = release["metadata"].get("labels") or {}
        return labels.get(LABEL_KIND) == self.kind and labels.get(LABEL_GROUP) == GROUP


def _app(
    kind: str, chart: str, timeout: str, prefix: str, longest: int | None = None, disable_wait: bool = True
) -> App:
    limit = longest or _HELM_NAME_LIMIT - len(prefix)
    return App(kind, kind.lower(), chart, timeout, prefix, limit, disable_wait)


_ALL = (
    # 32 leaves room for a pool release kubernetes-nodes-<cluster>-md0.
    _app("Kubernetes", "cozystack-kubernetes-application-kubevirt-kubernetes", "20m0s", "kubernetes-", longest=32),
    _app(
        "KubernetesNodes",
        "cozystack-kubernetes-nodes-application-kubevirt-kubernetes-nodes",
        "15m0s",
        "kubernetes-nodes-",
    ),
    _app("Tenant", "cozystack-tenant-application-default-tenant", "15m0s", "tenant-", disable_wait=False),
)
APPS: dict[str, App] = {app.plural: app for app in _ALL}


def tenant_namespace(parent: str, name: str) -> str:
    if parent == "tenant-root":
        return f"tenant-{name}"
    return f"{parent}-{name}"


def check_name(app: App, namespace: str, name: str) -> None:
    """On creation only. Errors: Refused 422."""
    causes = []
    value = f'metadata.name: Invalid value: "{name}": '
    pattern, rule = (_TENANT_NAME, _TENANT_NAME_RULE) if app.kind == "Tenant" else (_DNS_1035, _DNS_1035_RULE)
    if not pattern.fullmatch(name):
        causes.append(value + rule)
    if len(name) > app.longest:
        causes.append(f'{value}must be no more than {app.longest} characters (release prefix "{app.prefix}")')
    result = tenant_namespace(namespace, name)
    if app.kind == "Tenant" and len(result) > _NAMESPACE_LIMIT:
        causes.append(
            f'{value}namespace "{result}" would be {len(result)} characters long, the limit is {_NAMESPACE_LIMIT}'
        )
    if causes:
        raise invalid(app.kind, GROUP, name, causes)


def check_values(spec: Any) -> None:
    """The only look at the values in a write; schema and sense are Helm's business. Errors: Refused 400."""
    for key in spec if isinstance(spec, dict) else ():
        if key.startswith("_"):
            raise bad_request(f"values key \"{key}\" is reserved (keys starting with '_' are not allowed)")


def _prefixed(entries: dict[str, str] | None) -> dict[str, str]:
    return {PREFIX + key: value for key, value in (entries or {}).items()}


def _stripped(entries: dict[str, str] | None) -> dict[str, str]:
    return {key.removeprefix(PREFIX): value for key, value in (entries or {}).items() if key.startswith(PREFIX)}


def _helm_action(app: App) -> Object:
    action: Object = {"strategy": {"name": "RetryOnFailure", "retryInterval": "30s"}, "timeout": app.timeout}
    return {"disableWait": True, **action} if app.disable_wait else action


def to_release(app: App, namespace: str, obj: Object, live: Object | None = None) -> Object:
    """The HelmRelease that stores an app. Of ``live``, the stored release, only what controllers own is kept:
    finalizers, owners, unprefixed annotations and the shard. Its spec is rebuilt: for instance ``suspend`` is lost."""
    metadata, old = obj["metadata"], live["metadata"] if live else {}
    shard = (old.get("labels") or {}).get(SHARD, "tenants")
    identity = {SHARD: shard, LABEL_KIND: app.kind, LABEL_GROUP: GROUP, LABEL_NAME: metadata["name"]}
    foreign = {key: value for key, value in (old.get("annotations") or {}).items() if not key.startswith(PREFIX)}
    kept = {key: old[key] for key in ("resourceVersion", "uid", "finalizers", "ownerReferences") if key in old}
    spec: Object = {
        "chartRef": {"kind": "ExternalArtifact", "name": app.chart, "namespace": "cozy-system"},
        "interval": "5m0s",
        "maxHistory": 5,
        "install": _helm_action(app),
        "upgrade": _helm_action(app),
        "valuesFrom": [{"kind": "Secret", "name": "cozystack-values"}],
    }
    if obj.get("spec") is not None:
        spec["values"] = obj["spec"]
    return {
        "apiVersion": KINDS["HelmRelease"].api_version,
        "kind": "HelmRelease",
        "metadata": {
            **kept,
            "name": app.release_name(metadata["name"]),
            "namespace": namespace,
            "labels": {**_prefixed(metadata.get("labels")), **identity},
            "annotations": {**foreign, **_prefixed(metadata.get("annotations"))},
        },
        "spec": spec,
    }


def _without_reserved(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_reserved(item) for key, item in value.items() if not key.startswith("_")}
    if isinstance(value, list):
        return [_without_reserved(item) for item in value]
    return value


def _status(app: App, release: Object, workloads: Object | None) -> Object:
    stored = release.get("status") or {}
    shown = [item for item in stored.get("conditions") or [] if item["type"] in ("Ready", "Released")]
    conditions = [{key: item[key] for key in _CONDITION if key in item} for item in shown]
    if workloads:
        conditions.append(workloads)
    status: Object = {"conditions": conditions} if conditions else {}
    if stored.get("lastAttemptedRevision"):
        status["version"] = stored["lastAttemptedRevision"]
    if app.kind == "Tenant":
        name = release["metadata"]["name"].removeprefix(app.prefix)
        status["namespace"] = tenant_namespace(release["metadata"]["namespace"], name)
    return status


def to_object(app: App, release: Object, workloads: Object | None = None) -> Object:
    """The app as a client reads it: defaults filled in, reserved keys hidden, status copied from the release.
    ``workloads`` is the condition WorkloadsReady, if there is one."""
    stored = release["metadata"]
    metadata = {
        key: stored[key] for key in ("namespace", "uid", "resourceVersion", "creationTimestamp") if key in stored
    }
    metadata["name"] = stored["name"].removeprefix(app.prefix)
    if "deletionTimestamp" in stored:
        metadata["deletionTimestamp"] = stored["deletionTimestamp"]
    for field in ("labels", "annotations"):
        if entries := _stripped(stored.get(field)):
            metadata[field] = entries
    return {
        "apiVersion": API_VERSION,
        "kind": app.kind,
        "metadata": metadata,
        "spec": FILLERS[app.kind](_without_reserved(release["spec"].get("values"))),
        "status": _status(app, release, workloads),
    }
