# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine template of a pool, byte for byte, since its name is a hash of its text (platform rule 3.2).

The hash covers text, not data: quoting, blank lines and trailing spaces count, so every line below is laid out as the chart prints it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from .._image.golden import GOLDEN_NAMESPACE
from .._storage.objects import GOLDEN_ANNOTATION, POOL_ANNOTATION
from .._storage.printed import go_quoted, printed
from .._storage.quantity import InvalidQuantity, parse_quantity
from .._storage.reading import dig, is_set, items
from .goyaml import Unprintable, yaml_lines
from .pool import Pool
from .source import Source

USE_POPULATOR = "cdi.kubevirt.io/storage.usePopulator"
_EPHEMERAL_LIMIT = "2Gi"
_DEFAULT_RATIO = Fraction(40)


class TemplateUnknown(ValueError):
    """The template's text cannot be told from here; the message says why."""


def machine_template_name(pool: Pool, cluster_values: Mapping[str, Any], resolved_class: str) -> str:
    """Full name of the pool's KubevirtMachineTemplate. Raises TemplateUnknown."""
    text = render_machine_template(pool, cluster_values, resolved_class)
    return f"{pool.object_name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def render_machine_template(pool: Pool, cluster_values: Mapping[str, Any], resolved_class: str) -> str:
    """The text that the chart hashes, without a trailing newline. Raises TemplateUnknown.

    ``cluster_values`` are the ``_cluster`` values of the pool's namespace; ``resolved_class`` is rule T2's class, which only builtin
    pools state.
    """
    if not on_kubevirt(pool):
        raise TemplateUnknown(f"{pool.subject} is not on the kubevirt substrate, so it has no KubevirtMachineTemplate")
    return "\n".join(_lines(pool, cluster_values, resolved_class))


def on_kubevirt(pool: Pool) -> bool:
    """Whether the pool's workers are KubeVirt machines (the default of the newer ``substrate`` field)."""
    substrate = pool.values.get("substrate")
    return not is_set(substrate) or substrate == "kubevirt"


def boot_disk(pool: Pool, resolved_class: str) -> dict[str, Any]:
    """The boot disk as data: ``annotations``, ``source``, ``storage``, as the template states them."""
    source = pool.source
    storage: dict[str, Any] = {"resources": {"requests": {"storage": pool.disk_size}}}
    if source.clones:
        annotations = {GOLDEN_ANNOTATION: source.golden, POOL_ANNOTATION: pool.object_name}
        origin: dict[str, Any] = {"pvc": {"namespace": GOLDEN_NAMESPACE, "name": source.golden}}
    else:
        annotations = {USE_POPULATOR: "false"}
        origin = {"http": {"url": source.url}}
    if disk_class(pool, source, resolved_class):
        storage["storageClassName"] = disk_class(pool, source, resolved_class)
    return {"annotations": annotations, "source": origin, "storage": storage}


def disk_class(pool: Pool, source: Source, resolved_class: str) -> str:
    """The class the disk states: the resolved one for a clone, so that a default that moves later does not move the pool."""
    return resolved_class if source.clones else pool.storage_class


def _lines(pool: Pool, cluster_values: Mapping[str, Any], resolved_class: str) -> Iterator[str]:
    roles = [f'node-role.kubernetes.io/{printed(role)}: ""' for role in pool.values.get("roles") or ()]
    yield "spec:"
    yield "  virtualMachineBootstrapCheck:"
    yield "    checkStrategy: none"
    yield "  virtualMachineTemplate:"
    yield "    metadata:"
    yield f"      namespace: {pool.namespace}"
    yield "      labels:"
    yield from (f"        {role}" for role in roles)
    yield "    spec:"
    if pool.instance_type and not pool.sized_by_resources:
        yield "      instancetype:"
        yield "        kind: VirtualMachineClusterInstancetype"
        yield f"        name: {pool.instance_type}"
    yield "      runStrategy: Always"
    yield "      dataVolumeTemplates:"
    yield from _disk_lines(pool, resolved_class)
    yield "      template:"
    yield "        metadata:"
    yield "          annotations:"
    yield '            kubevirt.io/allow-pod-bridge-network-live-migration: "true"'
    yield "          labels:"
    yield "            apps.cozystack.io/application.group: apps.cozystack.io"
    yield "            apps.cozystack.io/application.kind: Kubernetes"
    yield f"            apps.cozystack.io/application.name: {go_quoted(pool.cluster_name.removeprefix('kubernetes-'))}"
    yield from (f"            {role}" for role in roles)
    yield f"            cluster.x-k8s.io/deployment-name: {pool.object_name}"
    yield "        spec:"
    yield from _spread_lines(pool, cluster_values)
    yield from _domain_lines(pool, cluster_values)
    yield "          evictionStrategy: External"
    yield "          volumes:"
    yield "          - name: system"
    yield "            dataVolume:"
    yield "              name: disk-system"
    yield "          networks:"
    yield "          - name: default"
    yield "            pod: {}"


def _disk_lines(pool: Pool, resolved_class: str) -> Iterator[str]:
    source = pool.source
    storage_class = disk_class(pool, source, resolved_class)
    yield "      - metadata:"
    yield "          name: disk-system"
    yield "          annotations:"
    if source.clones:
        yield f"            {GOLDEN_ANNOTATION}: {go_quoted(source.golden)}"
        yield f"            {POOL_ANNOTATION}: {go_quoted(pool.object_name)}"
    else:
        yield f'            {USE_POPULATOR}: "false"'
    yield "        spec:"
    yield "          source:"
    if source.clones:
        yield "            pvc:"
        yield f"              namespace: {GOLDEN_NAMESPACE}"
        yield f"              name: {go_quoted(source.golden)}"
    else:
        yield "            http:"
        # Unquoted upstream on purpose: quotes would rename the template of every existing pool and roll its workers.
        yield f"              url: {source.url}"
    yield "          storage:"
    yield "            resources:"
    yield "              requests:"
    yield f"                storage: {go_quoted(pool.disk_size)}"
    if storage_class:
        yield f"            storageClassName: {go_quoted(storage_class)}"


def _domain_lines(pool: Pool, cluster_values: Mapping[str, Any]) -> Iterator[str]:
    cpu, memory = dig(pool.values, "resources", "cpu"), dig(pool.values, "resources", "memory")
    yield "          domain:"
    if is_set(cpu):
        yield "            cpu:"
        yield "              threads: 1"
        yield f"              cores: {printed(cpu)}"
        yield "              sockets: 1"
    yield "            devices:"
    gpus = list(items(pool.values, "gpus"))
    if gpus:
        yield "              gpus:"
    for index, gpu in enumerate(gpus, start=1):
        yield f"              - name: gpu{index}"
        yield f"                deviceName: {printed(gpu.get('name'))}"
    yield "              disks:"
    yield "              - name: system"
    yield "                disk:"
    yield "                  bus: virtio"
    yield "                  pciAddress: 0000:07:00.0"
    yield "                blockSize:"
    yield "                  custom:"
    yield "                    logical: 512"
    yield "                    physical: 4096"
    yield "              interfaces:"
    yield "              - name: default"
    yield "                bridge: {}"
    if is_set(pool.values.get("logSerialConsole")):
        yield "              logSerialConsole: true"
    if is_set(memory):
        yield "            memory:"
        yield f"              guest: {printed(memory)}"
    yield "            resources:"
    # A template comment leaves its indentation behind.
    yield " " * 14
    yield from (f"              {line}" for line in yaml_lines(_pod_resources(pool, cluster_values)))


def _pod_resources(pool: Pool, cluster_values: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    limits, requests = (
        {"ephemeral-storage": _EPHEMERAL_LIMIT},
        {"ephemeral-storage": _ephemeral_request(cluster_values)},
    )
    # Presence decides, not truth: a pool can mean a zero.
    if pool.values.get("podCpuLimit") is not None:
        limits["cpu"] = printed(pool.values["podCpuLimit"])
    if pool.values.get("podCpuRequest") is not None:
        requests["cpu"] = printed(pool.values["podCpuRequest"])
    return {"limits": limits, "requests": requests}


def _ephemeral_request(cluster_values: Mapping[str, Any]) -> str:
    """2Gi divided by the platform's ratio, truncated; a ratio of 0 or one that is no number counts as the default."""
    written = cluster_values.get("ephemeral-storage-allocation-ratio")
    try:
        ratio = parse_quantity(printed(written))
    except InvalidQuantity:
        ratio = Fraction(0)
    return str(int(parse_quantity(_EPHEMERAL_LIMIT) / (ratio or _DEFAULT_RATIO)))


def _spread_lines(pool: Pool, cluster_values: Mapping[str, Any]) -> Iterator[str]:
    """The site's spread constraints; the chart adds a selector at an indentation that makes it part of the last one."""
    written = dig(cluster_values, "scheduling", "globalAppTopologySpreadConstraints")
    if not is_set(written):
        return
    try:
        lines = list(yaml_lines(written if isinstance(written, Mapping) else _parsed(printed(written))))
    except Unprintable as error:
        raise TemplateUnknown(
            f"the site's topology spread constraints cannot be laid out as the chart does: {error}"
        ) from error
    yield from (f"          {line}" for line in lines)
    yield "            labelSelector:"
    yield "              matchLabels:"
    yield f"                cluster.x-k8s.io/cluster-name: {pool.cluster_name}"


def _parsed(written: str) -> Any:
    try:
        # Not at the top: a pure room must import everywhere, and only sites with such constraints need it.
        import yaml
    except ImportError as error:
        raise Unprintable("reading them needs the PyYAML library") from error
    try:
        return yaml.safe_load(written)
    except yaml.YAMLError as error:
        raise Unprintable(f"they are not valid YAML ({error})") from error
