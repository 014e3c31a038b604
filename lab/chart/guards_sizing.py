# SPDX-License-Identifier: Apache-2.0
"""How large a worker is, and the rules about it: instance type, resources, the pod's CPU pair."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lab.chart.quantities import go_text, to_float
from lab.chart.refusal import Refused, dig
from lab.chart.release import PoolRelease
from lab.chart.values import Values

_PAIR = ("podCpuLimit", "podCpuRequest")
_YAML_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Size:
    """Effective size of a worker as text, ``""`` where it is not known; ``instance_type`` only when it is used."""

    cpu: str
    memory: str
    instance_type: str


def check_size(release: PoolRelease) -> Size:
    """Raises Refused resources-incomplete, the pod-cpu rules and instance-type-missing."""
    values = release.values
    cpu, memory = values["resources"].get("cpu"), values["resources"].get("memory")
    instance_type = values.get("instanceType")
    if instance_type and bool(cpu) != bool(memory):
        raise Refused("resources-incomplete", "resources needs both cpu and memory, or neither, beside instanceType")
    # Resources win: KubeVirt refuses a machine with an instance type and sizes of its own.
    used_type = "" if cpu and memory else instance_type or ""
    _check_pod_cpu(values, used_type)
    spec = _instance_type_spec(release, used_type)
    return Size(
        cpu=go_text(cpu or dig(spec, "cpu", "guest") or ""),
        memory=go_text(memory or dig(spec, "memory", "guest") or ""),
        instance_type=used_type,
    )


def _check_pod_cpu(values: Values, used_type: str) -> None:
    # Presence counts, not truth: zero is a value of its own here.
    present = {field: values[field] for field in _PAIR if values.get(field) is not None}
    for field in present:
        if used_type:
            raise Refused(
                "pod-cpu-with-instance-type",
                f"{field} does not go with instanceType {used_type}: set resources.cpu and resources.memory or drop it",
            )
    for field, value in present.items():
        if to_float(value) < 0:
            raise Refused("pod-cpu-negative", f"{field} {go_text(value)} is negative")
    if "podCpuLimit" in present:
        _check_pod_cpu_pair(present["podCpuLimit"], present.get("podCpuRequest"))


def _check_pod_cpu_pair(limit: Any, request: Any) -> None:
    if request is None:
        if to_float(limit) == 0:
            raise Refused("pod-cpu-zero-limit", "podCpuLimit 0 (no ceiling) needs podCpuRequest 0 beside it")
        return
    if to_float(request) == 0 and to_float(limit) != 0:
        raise Refused(
            "pod-cpu-zero-request",
            f"podCpuRequest 0 beside podCpuLimit {go_text(limit)} would reserve the whole limit: give it a value",
        )
    if to_float(request) > to_float(limit):
        raise Refused(
            "pod-cpu-request-above-limit", f"podCpuRequest {go_text(request)} is above podCpuLimit {go_text(limit)}"
        )


def _instance_type_spec(release: PoolRelease, name: str) -> Values:
    if not name:
        return {}
    found = release.lookups.get("VirtualMachineClusterInstancetype", "", name)
    if found is None:
        raise Refused("instance-type-missing", f"instanceType {name}: no such VirtualMachineClusterInstancetype")
    return found.get("spec") or {}


def check_whole_cores(cpu: Any) -> None:
    """Raises Refused cpu-not-whole unless resources.cpu is unset or decodes as YAML to 1 to 4294967295 whole cores."""
    if cpu is None or cpu in (0, ""):
        return
    text = go_text(cpu)
    cores = float(text) if _YAML_NUMBER.fullmatch(text) else 0.0
    if not (cores.is_integer() and 1 <= cores <= 0xFFFFFFFF):
        raise Refused("cpu-not-whole", f"resources.cpu {text} is not a whole number of cores from 1 to 4294967295")
