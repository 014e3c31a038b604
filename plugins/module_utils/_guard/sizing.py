# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules on the size of workers: resources, instance type, CPU of the pod, time-outs, health."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from .._pool.template import on_kubevirt
from .._storage.printed import printed
from .._storage.quantity import InvalidQuantity, chart_amount, parse_quantity
from .._storage.reading import dig, mapping
from .case import PoolCase
from .rule import Found, rule, shown

_DURATION = r"[1-9][0-9]{0,4}[smh]([0-9]{1,5}[smh]){0,2}"
_LARGEST_CPU = 4294967295
_CPU_FIELDS = ("podCpuLimit", "podCpuRequest")


@rule(
    "cpu-not-whole",
    cause="The CPU of a worker is a number of cores: whole, from 1. Newer platforms refuse anything else; older ones print it and the "
    "machine is refused later.",
    example='resources: {cpu: "500m", memory: 4Gi}',
    remedy="Give a whole number of cores.",
)
def cpu_not_whole(case: PoolCase) -> Iterator[Found]:
    cpu = dig(case.values, "resources", "cpu")
    if not on_kubevirt(case.pool) or not case.has_cpu or _whole_cores(cpu):
        return
    # Releases that know substrate refuse it in the chart; the ones before let it pass.
    knows = case.state.pool_schema is not None and "substrate" in case.state.pool_schema
    yield Found(
        "resources.cpu",
        f"resources.cpu is {shown(cpu)}, which is not a whole number of cores from 1 to {_LARGEST_CPU}",
        evidence={"resources.cpu": cpu},
        refuses=knows,
    )


@rule(
    "resources-incomplete",
    cause="CPU and memory are given together or not at all; one alone conflicts with the instance type.",
    example="instanceType: u1.medium, resources: {cpu: 2}",
    remedy="Set both resources.cpu and resources.memory, or neither.",
)
def resources_incomplete(case: PoolCase) -> Iterator[Found]:
    if case.pool.instance_type and case.has_cpu != case.has_memory:
        given, missing = ("cpu", "memory") if case.has_cpu else ("memory", "cpu")
        yield Found(
            "resources",
            f"resources.{given} is given without resources.{missing}, beside instanceType {case.pool.instance_type}",
            evidence={"instanceType": case.pool.instance_type, "resources": dict(mapping(case.values, "resources"))},
        )


@rule(
    "pod-cpu-with-instance-type",
    cause="KubeVirt refuses a machine that has an instance type and also a CPU limit or request of its pod.",
    example="instanceType: u1.medium, podCpuLimit: 2",
    remedy="Set both resources.cpu and resources.memory, which replace the instance type, or remove the pod's CPU fields.",
)
def pod_cpu_with_instance_type(case: PoolCase) -> Iterator[Found]:
    for name in _CPU_FIELDS:
        if case.values.get(name) is not None and case.by_instance_type:
            yield Found(
                name,
                f"{name} cannot be combined with instanceType {case.pool.instance_type}",
                evidence={name: case.values[name], "instanceType": case.pool.instance_type},
            )


@rule(
    "pod-cpu-negative",
    cause="A CPU limit or request below zero.",
    example='podCpuLimit: "-1"',
    remedy="Give zero or more.",
)
def pod_cpu_negative(case: PoolCase) -> Iterator[Found]:
    for name in _CPU_FIELDS:
        value = case.values.get(name)
        if chart_amount(value) < 0:
            yield Found(name, f"{name} is {shown(value)}, which is negative", evidence={name: value})


@rule(
    "pod-cpu-zero-limit",
    cause="A limit of zero removes the ceiling, but KubeVirt still derives a request, which then is above the limit.",
    example="podCpuLimit: 0 without podCpuRequest",
    remedy="Add podCpuRequest: 0, or give a limit above zero.",
)
def pod_cpu_zero_limit(case: PoolCase) -> Iterator[Found]:
    limit, request = _pod_cpu(case)
    if request is None and limit == 0:
        yield Found(
            "podCpuLimit",
            "podCpuLimit is 0 without a podCpuRequest",
            evidence={"podCpuLimit": case.values["podCpuLimit"]},
        )


@rule(
    "pod-cpu-zero-request",
    cause="KubeVirt replaces a request of zero with the limit, so the worker asks for its whole ceiling instead of nothing.",
    example="podCpuLimit: 2, podCpuRequest: 0",
    remedy="Give podCpuRequest a value above zero, or remove it.",
)
def pod_cpu_zero_request(case: PoolCase) -> Iterator[Found]:
    limit, request = _pod_cpu(case)
    if limit and request == 0:
        yield Found(
            "podCpuRequest",
            f"podCpuRequest is 0 beside podCpuLimit {shown(case.values['podCpuLimit'])}",
            evidence={name: case.values[name] for name in _CPU_FIELDS},
        )


@rule(
    "pod-cpu-request-above-limit",
    cause="A container cannot request more CPU than its limit.",
    example='podCpuLimit: "1", podCpuRequest: "1500m"',
    remedy="Lower podCpuRequest or raise podCpuLimit.",
)
def pod_cpu_request_above_limit(case: PoolCase) -> Iterator[Found]:
    limit, request = _pod_cpu(case)
    if limit is not None and request is not None and request > limit:
        yield Found(
            "podCpuRequest",
            f"podCpuRequest {shown(case.values['podCpuRequest'])} is above podCpuLimit {shown(case.values['podCpuLimit'])}",
            evidence={name: case.values[name] for name in _CPU_FIELDS},
        )


@rule(
    "instance-type-missing",
    cause="The instance type does not exist in the cluster.",
    example="instanceType: u1.medium on a site without the standard instance types",
    remedy="Name an existing VirtualMachineClusterInstancetype, or size the workers by resources.cpu and resources.memory.",
)
def instance_type_missing(case: PoolCase) -> Iterator[Found]:
    if case.by_instance_type and case.instance is None:
        known = case.state.names_of("instance_types")
        yield Found(
            "instanceType",
            f"there is no VirtualMachineClusterInstancetype {case.pool.instance_type}",
            evidence={"instanceType": case.pool.instance_type, "known": known},
        )


@rule(
    "duration-format",
    cause="The autoscaler and the health check take a bad duration in silence; so only whole s, m and h are let through.",
    example='maxNodeProvisionTime: "30"',
    remedy='Write a duration such as "30m", "1h30m" or "20m0s".',
)
def duration_format(case: PoolCase) -> Iterator[Found]:
    for name in ("maxNodeProvisionTime", "readyUnknownTimeout", "readyFalseTimeout"):
        value = printed(case.values.get(name))
        if not re.fullmatch(_DURATION, value):
            yield Found(
                name, f"{name} is {shown(value)}, which is not a positive duration of s, m or h", evidence={name: value}
            )


@rule(
    "max-unhealthy-format",
    cause="The health check accepts a whole number or a whole percentage.",
    example="maxUnhealthy: half",
    remedy='Write a number such as "1" or a percentage such as "50%".',
)
def max_unhealthy_format(case: PoolCase) -> Iterator[Found]:
    value = printed(case.values.get("maxUnhealthy"))
    if not re.fullmatch(r"[0-9]+%?", value):
        yield Found(
            "maxUnhealthy",
            f"maxUnhealthy is {shown(value)}, which is neither a whole number nor a whole percentage",
            evidence={"maxUnhealthy": value},
        )


def _pod_cpu(case: PoolCase) -> tuple[Fraction | None, Fraction | None]:
    """Limit and request of the pod; None when absent or null, since a zero counts as given."""
    limit, request = (case.values.get(name) for name in _CPU_FIELDS)
    return (
        None if limit is None else chart_amount(limit),
        None if request is None else chart_amount(request),
    )


def _whole_cores(value: Any) -> bool:
    """Whether YAML decodes the printed value to a whole number of cores. A leading zero would decode as octal."""
    written = printed(value)
    if re.fullmatch(r"[+]?0[0-9]+", written) or not re.fullmatch(r"[+]?[0-9.]+([eE][+-]?[0-9]+)?", written):
        return False
    try:
        cores = parse_quantity(written)
    except InvalidQuantity:
        return False
    return cores.denominator == 1 and 1 <= cores <= _LARGEST_CPU
