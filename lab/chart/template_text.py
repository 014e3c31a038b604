# SPDX-License-Identifier: Apache-2.0
"""The machine template: one tree, printed byte for byte as the chart prints it, and read as the object it describes.

The template's name ends in a hash of that text, so quoting, key order and one stray line of blanks all matter: a byte
that differs would rename the template and roll every worker.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from lab.chart.guards_sizing import Size
from lab.chart.quantities import go_text
from lab.chart.refusal import dig
from lab.chart.release import PoolRelease
from lab.chart.source import CATALOG_NAMESPACE, GOLDEN_ANNOTATION, POOL_ANNOTATION, Source
from lab.chart.values import Values

Tree = dict[str, Any]

_GIB = 1024**3
_STRAY = "\0stray"  # printed as a line of blanks, no part of the object
_LOOKS_NUMERIC = re.compile(r"[-+]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+")
_LOOKS_SPECIAL = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null|~|)|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass(frozen=True)
class Quoted:
    """A text that the chart prints in double quotes; every other text is printed as it is and read back as YAML."""

    text: str


def machine_template(
    release: PoolRelease, source: Source, size: Size, disk_size: str, disk_class: str
) -> tuple[str, Tree]:
    """The name of the pool's KubevirtMachineTemplate and the value of its ``spec.template``."""
    tree = template_tree(release, source, size, disk_size, disk_class)
    digest = hashlib.sha256(printed(tree).encode()).hexdigest()
    return f"{release.full_name}-{digest[:6]}", read(tree)


def template_tree(release: PoolRelease, source: Source, size: Size, disk_size: str, disk_class: str) -> Tree:
    roles = {f"node-role.kubernetes.io/{role}": Quoted("") for role in release.values["roles"]}
    machine: Tree = {}
    if size.instance_type:
        machine["instancetype"] = {"kind": "VirtualMachineClusterInstancetype", "name": size.instance_type}
    machine["runStrategy"] = "Always"
    machine["dataVolumeTemplates"] = [_boot_disk(release, source, disk_size, disk_class)]
    machine["template"] = {"metadata": _pod_metadata(release, roles), "spec": _pod_spec(release)}
    return {
        "spec": {
            "virtualMachineBootstrapCheck": {"checkStrategy": "none"},
            "virtualMachineTemplate": {
                "metadata": {"namespace": release.namespace, "labels": roles or None},
                "spec": machine,
            },
        }
    }


def _boot_disk(release: PoolRelease, source: Source, disk_size: str, disk_class: str) -> Tree:
    if source.builtin:
        annotations = {GOLDEN_ANNOTATION: Quoted(source.golden), POOL_ANNOTATION: Quoted(release.full_name)}
        origin: Tree = {"pvc": {"namespace": CATALOG_NAMESPACE, "name": Quoted(source.golden)}}
    else:
        annotations = {"cdi.kubevirt.io/storage.usePopulator": Quoted("false")}
        origin = {"http": {"url": source.url}}
    storage: Tree = {"resources": {"requests": {"storage": Quoted(disk_size)}}}
    if disk_class:
        storage["storageClassName"] = Quoted(disk_class)
    return {
        "metadata": {"name": "disk-system", "annotations": annotations},
        "spec": {"source": origin, "storage": storage},
    }


def _pod_metadata(release: PoolRelease, roles: Tree) -> Tree:
    return {
        "annotations": {"kubevirt.io/allow-pod-bridge-network-live-migration": Quoted("true")},
        "labels": {
            "apps.cozystack.io/application.group": "apps.cozystack.io",
            "apps.cozystack.io/application.kind": "Kubernetes",
            "apps.cozystack.io/application.name": Quoted(release.cluster_name.removeprefix("kubernetes-")),
            **roles,
            "cluster.x-k8s.io/deployment-name": release.full_name,
        },
    }


def _pod_spec(release: PoolRelease) -> Tree:
    return {
        **_spread(release),
        "domain": _domain(release),
        "evictionStrategy": "External",
        "volumes": [{"name": "system", "dataVolume": {"name": "disk-system"}}],
        "networks": [{"name": "default", "pod": {}}],
    }


def _domain(release: PoolRelease) -> Tree:
    values = release.values
    domain: Tree = {}
    if values["resources"].get("cpu"):
        domain["cpu"] = {"threads": 1, "cores": go_text(values["resources"]["cpu"]), "sockets": 1}
    domain["devices"] = _devices(values)
    if values["resources"].get("memory"):
        domain["memory"] = {"guest": go_text(values["resources"]["memory"])}
    domain["resources"] = _pod_resources(release)
    return domain


def _devices(values: Values) -> Tree:
    devices: Tree = {}
    if values["gpus"]:
        devices["gpus"] = [
            {"name": f"gpu{number}", "deviceName": gpu["name"]} for number, gpu in enumerate(values["gpus"], start=1)
        ]
    devices["disks"] = [
        {
            "name": "system",
            "disk": {"bus": "virtio", "pciAddress": "0000:07:00.0"},
            "blockSize": {"custom": {"logical": 512, "physical": 4096}},
        }
    ]
    devices["interfaces"] = [{"name": "default", "bridge": {}}]
    if values["logSerialConsole"]:
        devices["logSerialConsole"] = True
    return devices


def _pod_resources(release: PoolRelease) -> Tree:
    ratio = float(release.cluster_values.get("ephemeral-storage-allocation-ratio") or 40)
    sides: Tree = {"limits": {}, "requests": {}}
    for side, field in (("limits", "podCpuLimit"), ("requests", "podCpuRequest")):
        if release.values.get(field) is not None:
            sides[side]["cpu"] = _dumped(go_text(release.values[field]))
    sides["limits"]["ephemeral-storage"] = "2Gi"
    sides["requests"]["ephemeral-storage"] = Quoted(str(int(2 * _GIB / ratio)))
    return {_STRAY: None, **sides}


def _spread(release: PoolRelease) -> Tree:
    text = dig(release.cluster_values, "scheduling", "globalAppTopologySpreadConstraints")
    if not text:
        return {}
    spread = _sorted_tree(_parsed(text))
    # The chart appends the selector below the dumped list, so only its last entry gets one.
    selector = {"matchLabels": {"cluster.x-k8s.io/cluster-name": release.cluster_name}}
    entries = spread["topologySpreadConstraints"]
    return {**spread, "topologySpreadConstraints": [*entries[:-1], {**entries[-1], "labelSelector": selector}]}


@lru_cache(maxsize=16)
def _parsed(text: str) -> Any:
    return yaml.safe_load(text)


def _sorted_tree(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted_tree(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted_tree(item) for item in value]
    return _dumped(value) if isinstance(value, str) else go_text(value)


def _dumped(text: str) -> str | Quoted:
    # toYaml quotes a text that would be read as something else.
    needs_quotes = _LOOKS_NUMERIC.fullmatch(text) or _LOOKS_SPECIAL.fullmatch(text)
    return Quoted(text) if needs_quotes else text


def printed(tree: Tree) -> str:
    """The tree as text, without a final newline."""
    lines: list[str] = []
    _print_map(tree, 0, lines)
    return "\n".join(lines)


def _print_map(tree: Tree, indent: int, lines: list[str]) -> None:
    blank = " " * indent
    for key, value in tree.items():
        if key is _STRAY:
            lines.append(blank)
        elif isinstance(value, dict) and value:
            lines.append(f"{blank}{key}:")
            _print_map(value, indent + 2, lines)
        elif isinstance(value, list):
            lines.append(f"{blank}{key}:")
            _print_list(value, indent, lines)
        else:
            lines.append(f"{blank}{key}:{_scalar(value)}")


def _print_list(items: list[Tree], indent: int, lines: list[str]) -> None:
    for item in items:
        first = len(lines)
        _print_map(item, indent + 2, lines)
        lines[first] = f"{' ' * indent}- {lines[first][indent + 2 :]}"


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Quoted):
        return " " + json.dumps(value.text, ensure_ascii=False)
    return " {}" if value == {} else f" {go_text(value)}"


def read(value: Any) -> Any:
    """The tree as an API server would get it."""
    if isinstance(value, dict):
        return {key: read(item) for key, item in value.items() if key is not _STRAY}
    if isinstance(value, list):
        return [read(item) for item in value]
    if isinstance(value, Quoted):
        return value.text
    return _plain(value) if isinstance(value, str) else value


@lru_cache(maxsize=1024)
def _plain(text: str) -> Any:
    if not _LOOKS_NUMERIC.fullmatch(text):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number
