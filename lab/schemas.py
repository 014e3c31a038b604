# SPDX-License-Identifier: Apache-2.0
"""The published ``spec`` schemas of the app kinds, and the defaults that the platform fills in when it is read.

The schemas are structural (OpenAPI v3) and open: the real ones carry no ``additionalProperties: false``, so an unknown
key, a misspelt one included, passes everywhere. Values live here only once: the lab's charts validate with the same
dictionaries as the lab's API publishes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

VERSIONS = ["v1.35", "v1.34", "v1.33", "v1.32", "v1.31"]
DEFAULT_SCHEMATIC_ID = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
DEFAULT_TALOS_VERSION = "v1.13.6"

# The exponent part admits a fraction upstream; such a value passes here and fails as a Kubernetes quantity.
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY_PATTERN = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"

_UNSET: Any = object()


def _field(schema: Schema, default: Any = _UNSET) -> Schema:
    return schema if default is _UNSET else {**schema, "default": default}


def _string(default: Any = _UNSET, **more: Any) -> Schema:
    return _field({"type": "string", **more}, default)


def _integer(default: Any = _UNSET) -> Schema:
    return _field({"type": "integer"}, default)


def _boolean(default: Any = _UNSET) -> Schema:
    return _field({"type": "boolean"}, default)


def _list(items: Schema, default: Any = _UNSET) -> Schema:
    return _field({"type": "array", "items": items}, default)


def _map(values: Schema, default: Any = _UNSET) -> Schema:
    return _field({"type": "object", "additionalProperties": values}, default)


def _object(properties: Schema, default: Any = _UNSET, required: list[str] | None = None) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return _field(schema, default)


def _free(default: Any = _UNSET) -> Schema:
    return _field({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, default)


def _quantity(default: Any = _UNSET) -> Schema:
    # No "type" beside x-kubernetes-int-or-string: structural schemas forbid it.
    schema: Schema = {
        "pattern": QUANTITY_PATTERN,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    }
    return _field(schema, default)


def _frozen(schema: Schema, name: str) -> Schema:
    # Only the dashboard evaluates this rule; the API stores an edit all the same.
    return {**schema, "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": f"{name} is immutable"}]}


def _sizes(default: Any = _UNSET) -> Schema:
    return _object({"cpu": _quantity(), "memory": _quantity()}, default)


def _talos() -> Schema:
    properties = {
        "imageFactoryURL": _string("https://factory.talos.dev"),
        "installerRepository": _string("factory.talos.dev/installer"),
        "registryMirrors": _free({}),
        "schematicID": _string(DEFAULT_SCHEMATIC_ID),
        "version": _string(DEFAULT_TALOS_VERSION),
    }
    return _object(properties, {}, required=sorted(properties))


# Neither osImage nor its two forms have a default: an absent key and an empty map mean different things.
OS_IMAGE = _object(
    {
        "builtin": _object({"schematicID": _string(), "version": _string()}),
        "factory": _object({"imageFactoryURL": _string(), "schematicID": _string(), "version": _string()}),
    }
)

_KUBELET = _object(
    {
        "evictionHardMemory": _string("7%"),
        "evictionSoftMemory": _string("10%"),
        "kubeReservedCpu": _string(),
        "kubeReservedMemory": _string(),
        "systemReservedCpu": _string(),
        "systemReservedMemory": _string(),
    },
    {},
)

_TAINT = _object(
    {"key": _string(), "value": _string(), "effect": _string(enum=["NoSchedule", "PreferNoSchedule", "NoExecute"])},
    required=["effect", "key"],
)

_PROXMOX = _object(
    {
        "templateTags": _list(_string()),
        "full": _boolean(),
        "storage": _string(),
        "pool": _string(),
        "network": _object({"bridge": _string(), "vlan": _integer(), "mtu": _integer()}),
        "dnsServers": _list(_string()),
    }
)

KUBERNETES_NODES: Schema = _object(
    {
        "cluster": _frozen(_string(""), "cluster"),
        "storageClass": _frozen(_string("replicated"), "storageClass"),
        "minReplicas": _integer(0),
        "maxReplicas": _integer(10),
        "instanceType": _string("u1.medium"),
        "diskSize": _quantity("20Gi"),
        "roles": _list(_string(), []),
        "resources": _sizes({}),
        "podCpuLimit": _quantity(),
        "podCpuRequest": _quantity(),
        "gpus": _list(_object({"name": _string()}, required=["name"]), []),
        "kubelet": _KUBELET,
        "logSerialConsole": _boolean(False),
        "maxUnhealthy": _string("50%"),
        "nodeStartupTimeout": _string("20m"),
        "readyUnknownTimeout": _string("5m"),
        "readyFalseTimeout": _string("10m"),
        "maxNodeProvisionTime": _string("30m"),
        "version": _string("v1.35", enum=VERSIONS),
        "talos": _talos(),
        "images": _object({"kubectl": _string("")}, {}),
        "osImage": OS_IMAGE,
        # Newer upstream fields; a read of today's platform shows no default for them.
        "labels": _map(_string()),
        "taints": _list(_TAINT),
        "kernelModules": _list({"x-kubernetes-preserve-unknown-fields": True}),
        "substrate": _string(enum=["kubevirt", "proxmox"]),
        "proxmox": _PROXMOX,
    }
)


def _addon(*, switch: bool = True, values: bool = True, **more: Schema) -> Schema:
    properties: Schema = {"enabled": _boolean(False)} if switch else {}
    properties.update(more)
    if values:
        properties["valuesOverride"] = _free({})
    return _object(properties, {})


def _component(preset: str) -> Schema:
    return _object({"resources": _sizes({}), "resourcesPreset": _string(preset)}, {})


_ADDONS = _object(
    {
        "certManager": _addon(),
        "cilium": _addon(switch=False),
        "coredns": _addon(switch=False),
        "fluxcd": _addon(),
        "gatewayAPI": _addon(values=False),
        "gpuOperator": _addon(),
        "ingressNginx": _addon(
            exposeMethod=_string("Proxied", enum=["Proxied", "LoadBalancer"]), hosts=_list(_string(), [])
        ),
        "monitoringAgents": _addon(),
        "velero": _addon(),
        "verticalPodAutoscaler": _addon(switch=False),
    },
    {},
)

_CONTROL_PLANE = _object(
    {
        "apiServer": _component("c1.medium"),
        "controllerManager": _component("micro"),
        "konnectivity": _object({"server": _component("micro")}, {}),
        "replicas": _integer(2),
        "scheduler": _component("micro"),
    },
    {},
)

# nodeGroups is absent on purpose: since pools are objects of their own it is stored and ignored.
KUBERNETES: Schema = _object(
    {
        "storageClass": _string("replicated"),
        "version": _string("v1.35", enum=VERSIONS),
        "host": _string(""),
        "talos": _talos(),
        "addons": _ADDONS,
        "controlPlane": _CONTROL_PLANE,
        "images": _object({"kubectl": _string("")}, {}),
    }
)

TENANT: Schema = _object(
    {
        "etcd": _boolean(False),
        "gateway": _boolean(False),
        "host": _string(""),
        "ingress": _boolean(False),
        "monitoring": _boolean(False),
        "resourceQuotas": _map(_quantity(), {}),
        "seaweedfs": _boolean(False),
    }
)

SCHEMAS: dict[str, Schema] = {"Kubernetes": KUBERNETES, "KubernetesNodes": KUBERNETES_NODES, "Tenant": TENANT}

Filler = Callable[[Any], Any]


def _clone(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clone(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clone(item) for item in value]
    return value


def _object_filler(schema: Schema) -> Filler:
    known = schema.get("properties", {})
    children = [(name, child.get("default"), filler(child)) for name, child in known.items()]
    values = schema.get("additionalProperties")
    others = filler(values) if isinstance(values, dict) else None
    default = schema.get("default", {})

    def fill(value: Any) -> Any:
        # A value of another type counts as absent, which turns a null into the default, and without one into {}.
        filled = dict(value) if isinstance(value, dict) else _clone(default)
        for name, preset, child in children:
            if name in filled:
                filled[name] = child(filled[name])
            elif preset is not None:
                filled[name] = child(_clone(preset))
        if others:
            for name in filled.keys() - known.keys():
                filled[name] = others(filled[name])
        return filled

    return fill


def _list_filler(schema: Schema) -> Filler:
    item = filler(schema["items"])
    default = schema.get("default", [])

    def fill(value: Any) -> Any:
        return [item(entry) for entry in (value if isinstance(value, list) else _clone(default))]

    return fill


def filler(schema: Schema) -> Filler:
    """A function that returns a value with the schema's defaults filled in as a read of the API does; the input stays
    as it is. Compile once, use often: a list of pools calls it a thousand times."""
    if schema.get("type") == "object":
        return _object_filler(schema)
    if schema.get("type") == "array":
        return _list_filler(schema)
    default = schema.get("default")
    if default is None:
        return lambda value: value
    return lambda value: default if value is None else value


FILLERS: dict[str, Filler] = {kind: filler(schema) for kind, schema in SCHEMAS.items()}
