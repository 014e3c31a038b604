# SPDX-License-Identifier: Apache-2.0
"""Every field of a pool, edited: what is predicted to roll is what the platform's chart rolls, and nothing else.

The chart is the lab's, which shares no line with the product. It renders the pool before and after; workers roll when the
MachineDeployment's machine spec differs, and each of its three references is compared by itself.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.following import followed_defaults
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.objects import MachineDeployment
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import POOL_DEFAULTS, POOL_KEYS, Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.rollout import RollVerdict, predict_roll

from lab.chart import ObjectLookups, render_pool
from lab.chart import values as chart_values
from lab.chart.objects import HASHED
from tests.unit._guard.build import SCHEMATIC, golden, instance_type

SPACE, NAME = "tenant-test", "myk8s-md0"
OTHER = "f" * 64
OBJECTS = [
    *(
        golden(name=f"talos-worker-{schematic}-{version}")
        for schematic in (SCHEMATIC, OTHER)
        for version in ("v1.13.6", "v1.13.7")
    ),
    instance_type("u1.medium"),
    instance_type("u1.large", 2, "8Gi"),
]
SIZED = {"instanceType": "", "resources": {"cpu": 2, "memory": "4Gi"}}
BUILTIN = {"osImage": {"builtin": {}}}
T, V, C = "template", "version", "config"

# field, spec before, spec after, references that move ("config" counts on newer platforms only)
EDITS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("minReplicas", {}, {"minReplicas": 3}, ""),
    ("maxReplicas", {}, {"maxReplicas": 20}, ""),
    ("maxUnhealthy", {}, {"maxUnhealthy": "30%"}, ""),
    ("nodeStartupTimeout", {}, {"nodeStartupTimeout": "30m"}, ""),
    ("readyUnknownTimeout", {}, {"readyUnknownTimeout": "6m"}, ""),
    ("readyFalseTimeout", {}, {"readyFalseTimeout": "11m"}, ""),
    ("maxNodeProvisionTime", {}, {"maxNodeProvisionTime": "40m"}, ""),
    ("images", {}, {"images": {"kubectl": "registry.example/kubectl:1"}}, ""),
    ("substrate", {}, {"substrate": "kubevirt"}, ""),
    ("storageClass", {}, {"storageClass": "local"}, T),
    ("storageClass", {}, {"storageClass": ""}, T),
    ("diskSize", {}, {"diskSize": "30Gi"}, T),
    ("diskSize", {}, {"diskSize": "20480Mi"}, T),
    ("diskSize", {}, {"diskSize": None}, ""),
    ("roles", {}, {"roles": ["ingress-nginx"]}, T),
    ("roles", {"roles": ["a", "b"]}, {"roles": ["b", "a"]}, T),
    ("gpus", {}, {"gpus": [{"name": "nvidia.com/AD102GL_L40S"}]}, T + C),
    ("gpus", {"gpus": [{"name": "a"}]}, {"gpus": [{"name": "b"}]}, T),
    ("logSerialConsole", {}, {"logSerialConsole": True}, T),
    ("instanceType", {}, {"instanceType": "u1.large"}, T + C),
    ("instanceType", {"resources": {"cpu": 2, "memory": "4Gi"}}, {"instanceType": "u1.large"}, ""),
    ("resources", {}, SIZED, T + C),
    ("resources", SIZED, {"resources": {"cpu": 2, "memory": "8Gi"}}, T + C),
    ("podCpuLimit", SIZED, {"podCpuLimit": 1, "podCpuRequest": 1}, T),
    ("podCpuRequest", {**SIZED, "podCpuLimit": 2, "podCpuRequest": 1}, {"podCpuRequest": 2}, T),
    ("kubelet", {}, {"kubelet": {"systemReservedMemory": "512Mi"}}, C),
    ("kubelet", {}, {"kubelet": {"evictionHardMemory": "8%"}}, C),
    ("kubelet", {}, {"kubelet": {"evictionHardMemory": "7%", "evictionSoftMemory": "10%"}}, ""),
    ("version", {}, {"version": "v1.34"}, V + C),
    ("talos", {}, {"talos": {"version": "v1.13.7"}}, T + C),
    ("talos", {}, {"talos": {"schematicID": OTHER}}, T + C),
    ("talos", {}, {"talos": {"imageFactoryURL": "https://mirror.example"}}, T),
    ("talos", BUILTIN, {"talos": {"imageFactoryURL": "https://mirror.example"}}, ""),
    ("talos", {}, {"talos": {"installerRepository": "mirror.example/installer"}}, C),
    ("talos", {}, {"talos": {"registryMirrors": {"ghcr.io": {"endpoints": ["https://mirror.example"]}}}}, C),
    ("talos", {"osImage": {"builtin": {"version": "v1.13.6"}}}, {"talos": {"version": "v1.13.7"}}, ""),
    ("osImage", {}, BUILTIN, T),
    ("osImage", {}, {"osImage": {"factory": {}}}, ""),
    ("osImage", {}, {"osImage": {}}, ""),
    ("osImage", BUILTIN, {"osImage": {"builtin": {"version": "v1.13.7"}}}, T + C),
    ("osImage", BUILTIN, {"osImage": {"builtin": {"version": "v1.13.6"}}}, ""),
    ("osImage", BUILTIN, {"osImage": {"builtin": {"schematicID": OTHER}}}, T + C),
    ("osImage", {}, {"osImage": {"factory": {"imageFactoryURL": "https://mirror.example"}}}, T),
    ("labels", {}, {"labels": {"tier": "gold"}}, C),
    ("taints", {}, {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}, C),
    ("kernelModules", {}, {"kernelModules": ["nbd"]}, C),
    ("kernelModules", {}, {"kernelModules": []}, C),
]
# A pool is another pool with them, or the lab does not model them.
ELSEWHERE = {"cluster", "proxmox"}


def test_every_field_is_in_the_table() -> None:
    assert {field for field, *_ in EDITS} | ELSEWHERE == set(POOL_KEYS)


def pool(spec: Mapping[str, Any], defaults: Mapping[str, Any] = POOL_DEFAULTS) -> Pool:
    return Pool.named(SPACE, NAME, {"cluster": "myk8s", **spec}).with_defaults(defaults)


def rendered(spec: Mapping[str, Any], hashed: bool) -> MachineDeployment:
    values = {HASHED: True} if hashed else {}
    given = {"cluster": "myk8s", **copy.deepcopy(dict(spec))}
    objects = render_pool(SPACE, f"kubernetes-nodes-{NAME}", given, values, ObjectLookups(OBJECTS))
    return MachineDeployment.from_api(next(one for one in objects if one["kind"] == "MachineDeployment"))


def moved(before: MachineDeployment, after: MachineDeployment) -> dict[str, bool]:
    return {
        T: before.template_name != after.template_name,
        V: before.version != after.version,
        C: before.config_name != after.config_name,
    }


def predicted(before: Pool, after: Pool, live: MachineDeployment) -> RollVerdict:
    classes = [one.storage_class or ("replicated" if one.source.clones else "") for one in (after, before)]
    return predict_roll(after, classes[0], {}, live, before, classes[1])


@pytest.mark.parametrize("hashed", [True, False], ids=["hashed", "plain"])
@pytest.mark.parametrize(
    ("field", "before", "change", "moves"), EDITS, ids=[f"{e[0]}-{i}" for i, e in enumerate(EDITS)]
)
def test_what_is_predicted_to_roll_is_what_rolls(
    field: str, before: dict[str, Any], change: dict[str, Any], moves: str, hashed: bool
) -> None:
    after = {**before, **change}
    live = rendered(before, hashed)
    happens = moved(live, rendered(after, hashed))
    expected = {one: one in moves and (hashed or one != C) for one in (T, V, C)}
    assert happens == expected, "the table"
    found = predicted(pool(before), pool(after), live)
    assert dict(found.moves) == happens
    assert found.rolls is any(happens.values())
    if found.rolls:
        assert field in {name.partition(".")[0] for name in found.fields}


MOVED: list[tuple[str, Any]] = [
    ("talos.version", "v1.13.7"),
    ("talos.schematicID", OTHER),
    ("talos.imageFactoryURL", "https://mirror.example"),
    ("talos.installerRepository", "mirror.example/installer"),
    ("talos.registryMirrors", {"ghcr.io": {"endpoints": ["https://mirror.example"]}}),
    ("version", "v1.34"),
    ("diskSize", "30Gi"),
    ("storageClass", "local"),
    ("instanceType", "u1.large"),
    ("minReplicas", 1),
    ("maxUnhealthy", "10%"),
    ("images.kubectl", "other"),
]
STORED: list[dict[str, Any]] = [
    {},
    {"osImage": {"factory": {}}},
    {"osImage": {"factory": {"version": "v1.13.6", "schematicID": SCHEMATIC}}},
    {"talos": {"version": "v1.13.6"}},
    {"diskSize": "40Gi", "version": "v1.33", "storageClass": "replicated"},
    {"resources": {"cpu": 2, "memory": "4Gi"}},
]


@pytest.mark.parametrize("hashed", [True, False], ids=["hashed", "plain"])
@pytest.mark.parametrize("stored", STORED, ids=str)
@pytest.mark.parametrize(("path", "value"), MOVED, ids=[path for path, _ in MOVED])
def test_a_default_that_moves_rolls_the_pools_that_follow_it(
    monkeypatch: pytest.MonkeyPatch, path: str, value: Any, stored: dict[str, Any], hashed: bool
) -> None:
    """A platform upgrade renders every pool with other defaults; a pool that stores the field, or hides it, stays."""
    live = rendered(stored, hashed)
    follows = followed_defaults(pool(stored), {"cluster": "myk8s", **stored}, hashed)
    defaults = moved_default(POOL_DEFAULTS, path, value)
    monkeypatch.setitem(
        chart_values.DEFAULTS, "KubernetesNodes", moved_default(chart_values.DEFAULTS["KubernetesNodes"], path, value)
    )
    happens = moved(live, rendered(stored, hashed))
    assert any(happens.values()) is (path in follows)
    found = predicted(pool(stored), pool(stored, defaults), live)
    assert dict(found.moves) == happens


def test_a_builtin_pool_without_a_version_of_its_own_moves_to_the_new_golden(monkeypatch: pytest.MonkeyPatch) -> None:
    live = rendered(BUILTIN, True)
    assert "talos.version" in followed_defaults(pool(BUILTIN), {"cluster": "myk8s", **BUILTIN}, True)
    changed = moved_default(chart_values.DEFAULTS["KubernetesNodes"], "talos.version", "v1.13.7")
    monkeypatch.setitem(chart_values.DEFAULTS, "KubernetesNodes", changed)
    after = pool(BUILTIN, moved_default(POOL_DEFAULTS, "talos.version", "v1.13.7"))
    assert after.source.golden == f"talos-worker-{SCHEMATIC}-v1.13.7"
    assert rendered(BUILTIN, True).template_name == predicted(pool(BUILTIN), after, live).new_template


def moved_default(defaults: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(dict(defaults))
    *above, last = path.split(".")
    inner = changed
    for key in above:
        inner = inner.setdefault(key, {})
    inner[last] = value
    return changed
