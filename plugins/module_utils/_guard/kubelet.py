# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on what the kubelet of a worker reserves and when it evicts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from .._storage.printed import printed
from .._storage.quantity import chart_amount, plain_amount
from .._storage.reading import dig, is_set
from .case import PoolCase
from .rule import Found, rule, shown

_MEMORY = r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E)?"
_CPU = r"([0-9]+m|[0-9]+(\.[0-9]+)?)"
_PERCENT = r"[0-9]+(\.[0-9]+)?"
_MEMORY_FIELDS = ("systemReservedMemory", "kubeReservedMemory")
_CPU_FIELDS = ("systemReservedCpu", "kubeReservedCpu")
_HARD, _SOFT = "evictionHardMemory", "evictionSoftMemory"
_FALLBACK = {_HARD: "7%", _SOFT: "10%"}
_MIB = 1024 * 1024


@dataclass(frozen=True)
class NodeSize:
    """What a worker has: texts as given, blank when unknown."""

    memory: str
    cpu: str


def node_size(case: PoolCase) -> NodeSize:
    """Size by resources, else by the instance type; raises NotRead when the latter was not read."""
    memory, cpu = dig(case.values, "resources", "memory"), dig(case.values, "resources", "cpu")
    instance = case.instance
    return NodeSize(
        memory=printed(memory) if is_set(memory) else printed(instance.memory) if instance else "",
        cpu=printed(cpu) if is_set(cpu) else printed(instance.cpu) if instance else "",
    )


@rule(
    "reservation-format",
    cause="A reservation is written into the kubelet's configuration, so only plain quantities are let through.",
    example='kubelet: {systemReservedMemory: "128mb"}',
    remedy='Write memory such as "128Mi" or "1Gi", and CPU such as "100m" or "0.5".',
)
def reservation_format(case: PoolCase) -> Iterator[Found]:
    for name, shape in (*((key, _MEMORY) for key in _MEMORY_FIELDS), *((key, _CPU) for key in _CPU_FIELDS)):
        value = case.kubelet.get(name)
        if is_set(value) and not re.fullmatch(shape, printed(value)):
            kind = "memory" if shape is _MEMORY else "CPU"
            yield _found(name, f"is {shown(value)}, which is not a plain {kind} quantity", value)


@rule(
    "reservation-not-positive",
    cause="A reservation of nothing.",
    example='kubelet: {systemReservedCpu: "0"}',
    remedy="Give a value above zero, or remove the field to let the platform compute it.",
)
def reservation_not_positive(case: PoolCase) -> Iterator[Found]:
    for name in (*_MEMORY_FIELDS, *_CPU_FIELDS):
        value = case.kubelet.get(name)
        shape, amount = (_MEMORY, chart_amount) if name in _MEMORY_FIELDS else (_CPU, millicores)
        if is_set(value) and re.fullmatch(shape, printed(value)) and amount(printed(value)) <= 0:
            yield _found(name, f"is {shown(value)}, which reserves nothing", value)


@rule(
    "eviction-format",
    cause="An eviction threshold is a percentage or a memory quantity.",
    example='kubelet: {evictionHardMemory: "x"}',
    remedy='Write a percentage such as "7%" or a quantity such as "500Mi".',
)
def eviction_format(case: PoolCase) -> Iterator[Found]:
    for name in (_HARD, _SOFT):
        value = _threshold(case, name)
        if not _well_formed(value):
            yield _found(name, f"is {shown(value)}, which is neither a percentage nor a memory quantity", value)


@rule(
    "eviction-range",
    cause="A percentage threshold lies above 0 and at most at 100.",
    example='kubelet: {evictionHardMemory: "0%"}',
    remedy="Give a percentage above 0 and at most 100.",
)
def eviction_range(case: PoolCase) -> Iterator[Found]:
    both = {name: _threshold(case, name) for name in (_HARD, _SOFT)}
    if all(value.endswith("%") for value in both.values()):
        for name, value in both.items():
            if _well_formed(value) and not 0 < _percent(value) <= 100:
                yield _found(name, f"is {value}, which is outside 0% to 100%", value)


@rule(
    "eviction-order",
    cause="The hard threshold has to be below the soft one, else the soft one never acts.",
    example='kubelet: {evictionHardMemory: "12%", evictionSoftMemory: "10%"}',
    remedy="Lower evictionHardMemory or raise evictionSoftMemory.",
)
def eviction_order(case: PoolCase) -> Iterator[Found]:
    hard, soft = _threshold(case, _HARD), _threshold(case, _SOFT)
    if not _well_formed(hard) or not _well_formed(soft) or hard.endswith("%") != soft.endswith("%"):
        return
    amount = _percent if hard.endswith("%") else chart_amount
    if amount(hard) >= amount(soft):
        yield Found(
            f"kubelet.{_HARD}",
            f"kubelet.{_HARD} {hard} is not below kubelet.{_SOFT} {soft}",
            evidence={_HARD: hard, _SOFT: soft},
        )


@rule(
    "eviction-mixed-units",
    cause="One threshold is a percentage and the other a quantity, so they cannot be compared. A threshold left out is a percentage.",
    example='kubelet: {evictionHardMemory: "500Mi"}',
    remedy="Give both thresholds as percentages or both as quantities.",
)
def eviction_mixed_units(case: PoolCase) -> Iterator[Found]:
    hard, soft = _threshold(case, _HARD), _threshold(case, _SOFT)
    if hard.endswith("%") == soft.endswith("%"):
        return
    absolute = soft if hard.endswith("%") else hard
    if _well_formed(absolute):
        yield Found(
            f"kubelet.{_HARD}",
            f"kubelet.{_HARD} {hard} and kubelet.{_SOFT} {soft} are of different kinds",
            evidence={_HARD: hard, _SOFT: soft},
        )


@rule(
    "reservation-exceeds-node",
    cause="What is reserved leaves nothing of the worker for pods.",
    example='kubelet: {systemReservedMemory: "4Gi"} on workers of 4Gi',
    remedy="Lower the reservations, or choose larger workers.",
)
def reservation_exceeds_node(case: PoolCase) -> Iterator[Found]:
    size = node_size(case)
    if size.memory:
        given = (_given(case, name) for name in _MEMORY_FIELDS)
        reserved = all_memory(size.memory, *given, _threshold(case, _HARD))
        if reserved:
            yield _exceeds("memory", (*_MEMORY_FIELDS, _HARD), reserved, size.memory)
    if size.cpu:
        reserved = all_cpu(size.cpu, *(_given(case, name) for name in _CPU_FIELDS))
        if reserved:
            yield _exceeds("CPU", _CPU_FIELDS, reserved, size.cpu)


@rule(
    "reservation-without-size",
    cause="Reservations are given, but nothing says how large the workers are.",
    example='instanceType: "", no resources, kubelet: {systemReservedMemory: 512Mi}',
    remedy="Set resources.cpu and resources.memory, or an instanceType that states both.",
)
def reservation_without_size(case: PoolCase) -> Iterator[Found]:
    size = node_size(case)
    for known, names, what in (
        (size.memory, (*_MEMORY_FIELDS, _HARD, _SOFT), "memory"),
        (size.cpu, _CPU_FIELDS, "CPU"),
    ):
        given = [name for name in names if is_set(case.kubelet.get(name))]
        if given and not known:
            yield Found(
                "kubelet",
                f"kubelet.{', kubelet.'.join(given)} is given, but the {what} of the workers is not known",
                evidence={name: case.kubelet[name] for name in given},
            )


@lru_cache(maxsize=1024)
def millicores(value: str) -> Fraction:
    """CPU as the chart counts it: millicores as written, cores times 1000 without the fraction; other suffixes read as 0."""
    if value.endswith("m"):
        return plain_amount(value.removesuffix("m"))
    return Fraction(int(plain_amount(value) * 1000))


@lru_cache(maxsize=1024)
def all_memory(memory: str, system: str, kube: str, hard: str) -> tuple[Fraction, ...]:
    """Bytes reserved for system, kubelet and hard eviction if they take all of a worker of this memory, else nothing.

    Blank reservations are computed: a twentieth of the memory, at least 256Mi, at most 1Gi.
    """
    computed = Fraction(min(max(int(chart_amount(memory) / _MIB) // 20, 256), 1024) * _MIB)
    reserved = (
        chart_amount(system) if system else computed,
        chart_amount(kube) if kube else computed,
        chart_amount(memory) * _percent(hard) / 100 if hard.endswith("%") else chart_amount(hard),
    )
    return reserved if sum(reserved) >= chart_amount(memory) else ()


@lru_cache(maxsize=1024)
def all_cpu(cpu: str, system: str, kube: str) -> tuple[Fraction, ...]:
    """Millicores reserved for system and kubelet if they take all of a worker of this CPU, else nothing.

    Blank reservations are computed: a twentieth of the CPU, at least 50m, at most 500m.
    """
    computed = Fraction(min(max(int(millicores(cpu)) // 20, 50), 500))
    reserved = (millicores(system) if system else computed, millicores(kube) if kube else computed)
    return reserved if sum(reserved) >= int(millicores(cpu)) else ()


def _exceeds(what: str, names: tuple[str, ...], reserved: tuple[Fraction, ...], size: str) -> Found:
    unit = "bytes" if what == "memory" else "millicores"
    amounts = {name: int(amount) for name, amount in zip(names, reserved, strict=True)}
    parts = " + ".join(f"{name} {amount}" for name, amount in amounts.items())
    return Found(
        "kubelet",
        f"the reserved {what} ({parts} {unit}) takes all of a worker that has {size}",
        evidence={"node": size, **amounts},
    )


def _given(case: PoolCase, name: str) -> str:
    value = case.kubelet.get(name)
    return printed(value) if is_set(value) else ""


def _threshold(case: PoolCase, name: str) -> str:
    return _given(case, name) or _FALLBACK[name]


@lru_cache(maxsize=1024)
def _well_formed(value: str) -> bool:
    if value.endswith("%"):
        return re.fullmatch(_PERCENT, value.removesuffix("%")) is not None
    return re.fullmatch(_MEMORY, value) is not None


@lru_cache(maxsize=1024)
def _percent(value: str) -> Fraction:
    return chart_amount(value.removesuffix("%"))


def _found(name: str, message: str, value: Any) -> Found:
    return Found(f"kubelet.{name}", f"kubelet.{name} {message}", evidence={f"kubelet.{name}": value})
