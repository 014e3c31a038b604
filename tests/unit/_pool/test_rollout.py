# SPDX-License-Identifier: Apache-2.0
"""Which changes roll workers, and how sure that is."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.objects import MachineDeployment
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.rollout import predict_roll
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.template import machine_template_name

SPEC = {"instanceType": "", "resources": {"cpu": 2, "memory": "4Gi"}}
HASHED, PLAIN = "kubernetes-shop-md0-0a1b2c", "kubernetes-shop-md0"


def pool(**change):
    return Pool("tenant-acme", "shop", "md0", {**SPEC, **change})


def deployment(template=None, config=HASHED, version="v1.35.6"):
    spec = {
        "bootstrap": {"configRef": {"name": config}},
        "infrastructureRef": {"name": template or machine_template_name(pool(), {}, "replicated")},
        "version": version,
    }
    return MachineDeployment.from_api(
        {"metadata": {"name": PLAIN, "namespace": "tenant-acme"}, "spec": {"template": {"spec": spec}}}
    )


def predict(desired, live=None, current=None, values=None, **more):
    return predict_roll(
        desired,
        "replicated",
        {} if values is None else values,
        live or deployment(),
        current or pool(),
        "replicated",
        **more,
    )


@pytest.mark.parametrize(
    ("change", "rolls", "fields"),
    [
        ({}, False, ()),
        ({"minReplicas": 5, "maxReplicas": 9, "maxUnhealthy": "1", "images": {"kubectl": "x"}}, False, ()),
        ({"osImage": {"factory": {}}}, False, ()),
        ({"osImage": {"builtin": {}}}, True, ("osImage",)),
        ({"talos": {"version": "v1.13.7"}}, True, ("talos",)),
        ({"diskSize": "30Gi"}, True, ("diskSize",)),
        ({"storageClass": "local"}, True, ("storageClass",)),
        ({"roles": ["a"]}, True, ("roles",)),
        ({"gpus": [{"name": "a"}]}, True, ("gpus",)),
        ({"podCpuRequest": 0}, True, ("podCpuRequest",)),
        ({"logSerialConsole": True}, True, ("logSerialConsole",)),
        ({"resources": {"cpu": 4, "memory": "4Gi"}}, True, ("resources.cpu",)),
        ({"resources": {}, "instanceType": "u1.large"}, True, ("instanceType", "resources.cpu", "resources.memory")),
        ({"version": "v1.34"}, True, ("version",)),
        ({"kubelet": {"systemReservedMemory": "1Gi"}}, True, ("kubelet",)),
        ({"kubelet": {"evictionHardMemory": "7%", "evictionSoftMemory": "10%"}}, False, ()),
        ({"talos": {"installerRepository": "r.example/installer"}}, True, ("talos.installerRepository",)),
        ({"talos": {"registryMirrors": {"ghcr.io": {}}}}, True, ("talos.registryMirrors",)),
        ({"kernelModules": []}, True, ("kernelModules",)),
        ({"labels": {"a": "b"}}, True, ("labels",)),
        ({"taints": [{"key": "a"}]}, True, ("taints",)),
    ],
)
def test_what_rolls(change, rolls, fields):
    verdict = predict(pool(**change))
    assert verdict.rolls is rolls
    assert set(fields) <= set(verdict.fields)
    assert bool(verdict.reasons) is rolls


@pytest.mark.parametrize(
    "change", [{"kubelet": {"systemReservedMemory": "1Gi"}}, {"talos": {"installerRepository": "x"}}, {"taints": [1]}]
)
def test_older_platforms_do_not_hash_the_config(change):
    verdict = predict(pool(**change), deployment(config=PLAIN))
    assert (verdict.rolls, verdict.reasons) == (False, ())
    assert "reaches no existing worker" in verdict.notes[0]


def test_names_before_and_after():
    verdict = predict(pool(osImage={"builtin": {}}))
    assert verdict.old_template == machine_template_name(pool(), {}, "replicated")
    assert verdict.new_template == machine_template_name(pool(osImage={"builtin": {}}), {}, "replicated")
    assert (
        verdict.reasons[0]
        == f"the machine template changes from {verdict.old_template} to {verdict.new_template} (osImage)"
    )
    assert verdict.as_dict()["rolls_workers"] is True


def test_a_new_pool_and_a_pool_without_deployment_roll_nothing():
    assert predict_roll(pool(), "replicated", {}, None).rolls is False
    assert predict_roll(pool(diskSize="30Gi"), "replicated", {}, None, pool(), "replicated").rolls is False


def test_unread_deployment_is_judged_from_the_stored_pool():
    assert (
        predict_roll(pool(diskSize="30Gi"), "replicated", {}, None, pool(), "replicated", live_read=False).rolls is True
    )
    assert (
        predict_roll(pool(minReplicas=4), "replicated", {}, None, pool(), "replicated", live_read=False).rolls is False
    )
    unsure = predict_roll(pool(taints=[1]), "replicated", {}, None, pool(), "replicated", live_read=False)
    assert unsure.rolls is None


def test_unread_site_settings():
    other = deployment(machine_template_name(pool(), {"ephemeral-storage-allocation-ratio": "10"}, "replicated"))
    unread = predict_roll(pool(), "replicated", None, other, pool(), "replicated")
    assert (unread.rolls, unread.notes) == (
        False,
        ("site-wide settings were not read, so template names are predicted without them",),
    )
    assert predict_roll(pool(diskSize="30Gi"), "replicated", None, other, pool(), "replicated").rolls is True
    assert predict_roll(pool(), "replicated", None, other).rolls is None
    assert (
        predict_roll(
            pool(), "replicated", {"ephemeral-storage-allocation-ratio": "10"}, other, pool(), "replicated"
        ).rolls
        is False
    )


def test_an_unresolved_class_of_a_clone_cannot_be_told():
    clone = pool(osImage={"builtin": {}}, storageClass="")
    verdict = predict_roll(clone, None, {}, deployment(), clone, None)
    assert (verdict.rolls, verdict.new_template) == (None, "")
    assert verdict.reasons == ("the machine template's name cannot be told from here",)
    assert predict_roll(pool(), None, {}, deployment(), pool(), None).rolls is False


def test_a_default_that_moves_does_not_move_a_cloned_pool():
    clone = pool(osImage={"builtin": {}}, storageClass="")
    live = deployment(machine_template_name(clone, {}, "replicated"))
    assert predict_roll(clone, "replicated", {}, live, clone, "replicated").rolls is False
    assert predict_roll(clone, "local", {}, live, clone, "replicated").rolls is True


def test_the_live_version_decides():
    verdict = predict(pool(), deployment(version="v1.34.9"))
    assert verdict.reasons == ("Kubernetes changes from v1.34.9 to v1.35",)
    assert predict(pool(), deployment(version="v1.35.1")).rolls is False


def test_without_the_stored_pool_a_hashed_config_cannot_be_told():
    assert predict_roll(pool(), "replicated", {}, deployment()).rolls is None
    assert predict_roll(pool(), "replicated", {}, deployment(config=PLAIN)).rolls is False


def test_a_stale_template_is_said_to_be_so():
    verdict = predict(pool(), deployment("kubernetes-shop-md0-ffffff"))
    assert verdict.rolls is True
    assert "the stored pool was not rendered yet" in verdict.reasons[0]
