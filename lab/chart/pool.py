# SPDX-License-Identifier: Apache-2.0
"""The pool chart: every rule in the chart's order, then the objects of one worker pool."""

from __future__ import annotations

from lab.chart import objects
from lab.chart.guards_image import check_golden
from lab.chart.guards_kubelet import check_reservations
from lab.chart.guards_sizing import check_size, check_whole_cores
from lab.chart.guards_timing import check_durations, check_max_unhealthy
from lab.chart.quantities import go_text
from lab.chart.refusal import Lookups, Object, Refused
from lab.chart.release import check_owner, check_parent_version, identify
from lab.chart.source import check_window, resolve
from lab.chart.template_text import machine_template
from lab.chart.values import Values, prepared


def render_pool(
    namespace: str,
    release_name: str,
    values: Values,
    cluster_values: Values,
    lookups: Lookups,
    *,
    whole_cores: bool = False,
) -> list[Object]:
    """The objects of one pool. Raises Refused with the first rule that fires, and then nothing of the pool is applied.

    ``whole_cores`` adds rule cpu-not-whole of a newer platform; the recorded one renders half a core.
    """
    values = prepared("KubernetesNodes", values)
    release = identify(namespace, release_name, values, cluster_values, lookups)
    # Helm executes the template of the reconcile job before the pool's own, so the source is judged first.
    source = resolve(values.get("osImage"), values["talos"])
    _check_substrate(values)
    talos, kubernetes = go_text(values["talos"].get("version")), values["version"]
    check_window(talos, kubernetes, "change version or talos.version")
    check_owner(release)
    check_parent_version(release)
    if whole_cores:
        check_whole_cores(values["resources"].get("cpu"))
    size = check_size(release)
    reserved = check_reservations(values["kubelet"], size)
    if source.version != talos:
        check_window(
            source.version, kubernetes, "the Talos release comes from osImage: change or drop it, or change version"
        )
    # 0, null and an absent value are all blank to the template.
    disk_size = go_text(values.get("diskSize") or "20Gi")
    disk_class = check_golden(release, source, disk_size) if source.builtin else values.get("storageClass") or ""
    check_durations(values, "maxNodeProvisionTime")
    max_unhealthy = check_max_unhealthy(values["maxUnhealthy"])
    check_durations(values, "readyUnknownTimeout", "readyFalseTimeout")
    name, template = machine_template(release, source, size, disk_size, disk_class)
    return [
        *objects.machine_templates(release, name, template),
        objects.machine_deployment(release, source, reserved, name),
        objects.config_template(release, source, reserved),
        objects.health_check(release, max_unhealthy),
        objects.workload_monitor(release),
    ]


def _check_substrate(values: Values) -> None:
    if values.get("substrate", "kubevirt") == "kubevirt":
        return
    if values.get("osImage"):
        raise Refused("substrate-without-source", "osImage has no meaning with substrate proxmox: drop one of them")
    raise Refused("substrate-not-modelled", "the lab has no Proxmox")
