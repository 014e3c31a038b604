# SPDX-License-Identifier: Apache-2.0
"""The objects of one worker pool besides the machine template's own text."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import yaml

from lab.chart.guards_kubelet import Reservations
from lab.chart.quantities import go_text
from lab.chart.refusal import Object, annotation, dig
from lab.chart.release import RELEASE_ANNOTATION, PoolRelease
from lab.chart.source import Source
from lab.chart.values import KUBERNETES_RELEASES, Values

_CAPI, _INFRA = "cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1alpha1"
_BOOTSTRAP, _CONTROL_PLANE = "bootstrap.cluster.x-k8s.io/v1alpha3", "controlplane.cluster.x-k8s.io/v1alpha1"
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the C one is several times as fast

# In the cluster's values: config templates are named by a hash of their contents, as newer platforms do.
HASHED = "hashed-config-templates"


def _object(api_version: str, kind: str, namespace: str, name: str, spec: Values, **metadata: Any) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": spec,
    }


def machine_templates(release: PoolRelease, name: str, template: Values) -> list[Object]:
    """The current template, then the earlier ones that are still in use."""
    current = _object(_INFRA, "KubevirtMachineTemplate", release.namespace, name, {"template": template})
    return [current, *_templates_in_use(release, name)]


def _templates_in_use(release: PoolRelease, current: str) -> list[Object]:
    """Earlier templates of this pool that a MachineSet still names; leaving one out would make Helm delete it."""
    owned = [
        template
        for template in release.lookups.list("KubevirtMachineTemplate", release.namespace)
        if annotation(template, RELEASE_ANNOTATION) == release.name
        and template["metadata"]["name"] != current
        and any(
            owner.get("kind") == "Cluster" and owner.get("name") == release.cluster_name
            for owner in template["metadata"].get("ownerReferences") or []
        )
    ]
    if not owned:
        return []
    references = [
        dig(machine_set, "spec", "template", "spec", "infrastructureRef") or {}
        for machine_set in release.lookups.list("MachineSet", release.namespace)
    ]
    used = {each.get("name") for each in references if each.get("kind") == "KubevirtMachineTemplate"}
    return [
        _object(_INFRA, "KubevirtMachineTemplate", release.namespace, template["metadata"]["name"], template["spec"])
        for template in owned
        if template["metadata"]["name"] in used
    ]


def _selector(release: PoolRelease) -> dict[str, str]:
    return {
        "cluster.x-k8s.io/cluster-name": release.cluster_name,
        "cluster.x-k8s.io/deployment-name": release.full_name,
    }


def machine_deployment(release: PoolRelease, source: Source, reserved: Reservations, template: str) -> Object:
    values, autoscaler = release.values, "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
    annotations = {
        f"{autoscaler}-min-size": go_text(values["minReplicas"]),
        f"{autoscaler}-max-size": go_text(values["maxReplicas"]),
        "cluster.x-k8s.io/autoscaling-options-maxnodeprovisiontime": values["maxNodeProvisionTime"],
    }
    for resource, free in (("memory", reserved.free_memory), ("cpu", reserved.free_cpu)):
        if free:
            annotations[f"capacity.cluster-autoscaler.kubernetes.io/{resource}"] = free
    reference = {"namespace": release.namespace}
    machine = {
        "clusterName": release.cluster_name,
        "version": KUBERNETES_RELEASES[values["version"]],
        "bootstrap": {
            "configRef": {
                "apiVersion": _BOOTSTRAP,
                "kind": "TalosConfigTemplate",
                "name": config_name(release, source, reserved),
                **reference,
            }
        },
        "infrastructureRef": {"apiVersion": _INFRA, "kind": "KubevirtMachineTemplate", "name": template, **reference},
    }
    roles = {f"node-role.kubernetes.io/{role}": "" for role in values["roles"]}
    # No replicas: that field belongs to the autoscaler.
    spec = {
        "clusterName": release.cluster_name,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": int(values["maxReplicas"]), "maxUnavailable": 1},
        },
        "selector": {"matchLabels": _selector(release)},
        "template": {"metadata": {"labels": {**_selector(release), **roles}}, "spec": machine},
    }
    return _object(_CAPI, "MachineDeployment", release.namespace, release.full_name, spec, annotations=annotations)


def config_template(release: PoolRelease, source: Source, reserved: Reservations) -> Object:
    """Written by a job of the release on a real platform, where its spec is immutable once it exists."""
    parent = release.lookups.get("KamajiControlPlane", release.namespace, release.cluster_name)
    owner = dig(parent, "metadata", "uid")
    reference = {"apiVersion": _CONTROL_PLANE, "kind": "KamajiControlPlane", "name": release.cluster_name, "uid": owner}
    spec = _config_spec(release, source, reserved)
    metadata = {"ownerReferences": [{**reference, "controller": True}]} if owner else {}
    return _object(
        _BOOTSTRAP,
        "TalosConfigTemplate",
        release.namespace,
        config_name(release, source, reserved),
        {"template": {"spec": spec}},
        **metadata,
    )


def config_name(release: PoolRelease, source: Source, reserved: Reservations) -> str:
    """The plain name of an older platform; with HASHED in the cluster's values, that of a newer one, which follows the contents."""
    if not release.cluster_values.get(HASHED):
        return release.full_name
    text = json.dumps(_config_spec(release, source, reserved), sort_keys=True)
    return f"{release.full_name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _config_spec(release: PoolRelease, source: Source, reserved: Reservations) -> Values:
    data = yaml.dump(_machine_config(release, source, reserved), Dumper=_DUMPER, sort_keys=False)
    return {"generateType": "none", "talosVersion": source.version, "data": data}


def _machine_config(release: PoolRelease, source: Source, reserved: Reservations) -> Values:
    talos = release.values["talos"]
    repository = talos["installerRepository"].removesuffix("/")
    machine: Values = {
        "type": "worker",
        "kubelet": {
            "image": f"ghcr.io/siderolabs/kubelet:{KUBERNETES_RELEASES[release.values['version']]}",
            "extraConfig": {
                "systemReserved": {"cpu": reserved.system_cpu, "memory": reserved.system_memory},
                "kubeReserved": {"cpu": reserved.kube_cpu, "memory": reserved.kube_memory},
                "evictionHard": {"memory.available": reserved.eviction_hard},
                "evictionSoft": {"memory.available": reserved.eviction_soft},
            },
        },
        # The pair the disk boots from is the pair the installer puts there at the next upgrade.
        "install": {"disk": "/dev/vda", "image": f"{repository}/{source.schematic}:{source.version}", "wipe": False},
    }
    if release.values["gpus"]:
        machine["nodeLabels"] = {"gpu": "on"}
    if talos["registryMirrors"]:
        machine["registries"] = {"mirrors": talos["registryMirrors"]}
    if release.cluster_values.get(HASHED):
        for field, place in (("labels", "extraLabels"), ("taints", "nodeTaints")):
            if release.values.get(field):
                machine[place] = release.values[field]
        # Absent and an empty list are not the same.
        if release.values.get("kernelModules") is not None:
            machine["kernel"] = {"modules": release.values["kernelModules"]}
    endpoint = f"https://{release.cluster_name}.{release.namespace}.svc:6443"
    cluster = {"clusterName": release.cluster_name, "controlPlane": {"endpoint": endpoint}}
    return {"version": "v1alpha1", "machine": machine, "cluster": cluster}


def health_check(release: PoolRelease, max_unhealthy: int | str) -> Object:
    values = release.values
    unhealthy = [
        {"type": "Ready", "status": status, "timeout": values[field]}
        for status, field in (("Unknown", "readyUnknownTimeout"), ("False", "readyFalseTimeout"))
    ]
    spec = {
        "clusterName": release.cluster_name,
        "maxUnhealthy": max_unhealthy,
        "nodeStartupTimeout": values["nodeStartupTimeout"],
        "selector": {"matchLabels": _selector(release)},
        "unhealthyConditions": unhealthy,
    }
    return _object(_CAPI, "MachineHealthCheck", release.namespace, release.full_name, spec)


def workload_monitor(release: PoolRelease) -> Object:
    spec = {
        "minReplicas": int(release.values["minReplicas"]),
        "kind": "kubernetes",
        "type": "worker",
        "version": "0.0.0",
        "selector": {**_selector(release), "cluster.x-k8s.io/role": "worker"},
    }
    return _object("cozystack.io/v1alpha1", "WorkloadMonitor", release.namespace, release.full_name, spec)
