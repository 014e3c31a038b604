# SPDX-License-Identifier: Apache-2.0
"""What the kubelet keeps for itself: reservations, eviction thresholds, and the rules about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil, floor

from lab.chart.guards_sizing import Size
from lab.chart.quantities import go_text, to_float, to_millicores
from lab.chart.refusal import Refused
from lab.chart.values import Values

_MEMORY = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)?")
_CPU = re.compile(r"[0-9]+m|[0-9]+(\.[0-9]+)?")
_PERCENT = re.compile(r"[0-9]+(\.[0-9]+)?")
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Reservations:
    """Effective kubelet settings, as text; ``free_memory`` and ``free_cpu`` are what pods get, ``""`` when unknown."""

    system_memory: str
    kube_memory: str
    system_cpu: str
    kube_cpu: str
    eviction_hard: str
    eviction_soft: str
    free_memory: str = ""
    free_cpu: str = ""


def check_reservations(kubelet: Values, size: Size) -> Reservations:
    """Raises Refused for the reservation and eviction rules."""
    given = {key: go_text(value) for key, value in kubelet.items() if value}
    _check_overrides(given)
    hard, soft = given.get("evictionHardMemory", "7%"), given.get("evictionSoftMemory", "10%")
    _check_eviction(hard, soft)
    memory, cpu = _automatic_memory(size.memory), _automatic_cpu(size.cpu)
    reserved = Reservations(
        system_memory=given.get("systemReservedMemory", memory),
        kube_memory=given.get("kubeReservedMemory", memory),
        system_cpu=given.get("systemReservedCpu", cpu),
        kube_cpu=given.get("kubeReservedCpu", cpu),
        eviction_hard=hard,
        eviction_soft=soft,
    )
    free_memory, free_cpu = _free_memory(reserved, size.memory), _free_cpu(reserved, size.cpu)
    _check_size_known(given, size)
    return Reservations(**{**vars(reserved), "free_memory": free_memory, "free_cpu": free_cpu})


def _automatic_memory(memory: str) -> str:
    # A twentieth of the worker, at least 256Mi and at most 1Gi, once for the system and once for Kubernetes.
    share = int(int(to_float(memory) / _MIB) * 0.05) if memory else 0
    return f"{min(max(share, 256), 1024)}Mi"


def _automatic_cpu(cpu: str) -> str:
    share = int(int(to_millicores(cpu)) * 0.05) if cpu else 0
    return f"{min(max(share, 50), 500)}m"


def _check_overrides(given: dict[str, str]) -> None:
    memory = [key for key in ("systemReservedMemory", "kubeReservedMemory") if key in given]
    cpu = [key for key in ("systemReservedCpu", "kubeReservedCpu") if key in given]
    for key in memory + cpu:
        if not (_MEMORY if key in memory else _CPU).fullmatch(given[key]):
            raise Refused(
                "reservation-format", f"kubelet.{key}: {given[key]!r} is not a quantity such as 512Mi or 100m"
            )
    for key in memory + cpu:
        if (to_float if key in memory else to_millicores)(given[key]) <= 0:
            raise Refused("reservation-not-positive", f"kubelet.{key}: {given[key]} reserves nothing")


def _check_eviction(hard: str, soft: str) -> None:
    thresholds = {"kubelet.evictionHardMemory": hard, "kubelet.evictionSoftMemory": soft}
    for field, value in thresholds.items():
        if not value.endswith("%") and not _MEMORY.fullmatch(value):
            raise Refused("eviction-format", f"{field}: {value!r} is neither a percentage nor a memory quantity")
    percentages = [value.endswith("%") for value in thresholds.values()]
    if all(percentages):
        _check_percentages(thresholds)
        in_order = float(hard[:-1]) < float(soft[:-1])
    elif any(percentages):
        raise Refused(
            "eviction-mixed-units",
            f"kubelet.evictionHardMemory {hard}, kubelet.evictionSoftMemory {soft}: use percentages or sizes, not both",
        )
    else:
        in_order = to_float(hard) < to_float(soft)
    if not in_order:
        raise Refused(
            "eviction-order", f"kubelet.evictionHardMemory {hard} must be below kubelet.evictionSoftMemory {soft}"
        )


def _check_percentages(thresholds: dict[str, str]) -> None:
    for field, value in thresholds.items():
        if not _PERCENT.fullmatch(value[:-1]):
            raise Refused("eviction-format", f"{field}: {value!r} is not a percentage")
    for field, value in thresholds.items():
        if not 0 < float(value[:-1]) <= 100:
            raise Refused("eviction-range", f"{field}: {value} is not above 0% and up to 100%")


def _free_memory(reserved: Reservations, memory: str) -> str:
    if not memory:
        return ""
    total, hard = to_float(memory), reserved.eviction_hard
    eviction = total * float(hard[:-1]) / 100 if hard.endswith("%") else to_float(hard)
    kept = to_float(reserved.system_memory) + to_float(reserved.kube_memory) + eviction
    if kept >= total:
        raise Refused(
            "reservation-exceeds-node",
            f"systemReservedMemory {reserved.system_memory}, kubeReservedMemory {reserved.kube_memory} and"
            f" evictionHardMemory {hard} leave nothing of the worker's memory ({memory})",
        )
    return go_text(floor((total - kept) / _MIB)) + "Mi"


def _free_cpu(reserved: Reservations, cpu: str) -> str:
    if not cpu:
        return ""
    total, kept = to_millicores(cpu), to_millicores(reserved.system_cpu) + to_millicores(reserved.kube_cpu)
    if kept >= total:
        raise Refused(
            "reservation-exceeds-node",
            f"systemReservedCpu {reserved.system_cpu} and kubeReservedCpu {reserved.kube_cpu} leave nothing of the"
            f" worker's CPU ({cpu} cores)",
        )
    return f"{ceil(total - kept)}m"


def _check_size_known(given: dict[str, str], size: Size) -> None:
    memory = [key for key in given if key.endswith("Memory")]
    cpu = [key for key in given if key.endswith("Cpu")]
    if (memory and not size.memory) or (cpu and not size.cpu):
        what = "memory" if memory and not size.memory else "cpu"
        raise Refused(
            "reservation-without-size",
            f"kubelet.{(memory if what == 'memory' else cpu)[0]} cannot be judged without the worker's {what}:"
            f" set resources.{what} or instanceType",
        )
