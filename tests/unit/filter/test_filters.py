# SPDX-License-Identifier: Apache-2.0
"""The faces: what they answer, and how they refuse bad input. The pure rooms behind them have their own tests."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.golden import DEFAULT_SCHEMATIC

PLUGINS = Path(__file__).parents[3] / "plugins"
FILTERS = sorted(path.stem for path in (PLUGINS / "filter").glob("*.py"))
TESTS = sorted(path.stem for path in (PLUGINS / "test").glob("*.py"))
GOLDEN = f"talos-worker-{DEFAULT_SCHEMATIC}-v1.13.6"
SPEC = {"instanceType": "", "resources": {"cpu": 2, "memory": "4Gi"}, "roles": ["ingress-nginx"]}
POOL = {"namespace": "tenant-acme", "cluster": "shop", "pool": "md0", "spec": SPEC}
CLONE = {**POOL, "spec": {**SPEC, "osImage": {"builtin": {}}}}
OBJECT = {
    "kind": "KubernetesNodes",
    "metadata": {"name": "shop-md0", "namespace": "tenant-acme"},
    "spec": {**SPEC, "cluster": "shop"},
}
READY = {
    "kind": "DataVolume",
    "metadata": {"name": GOLDEN, "namespace": "cozy-public"},
    "spec": {"storage": {"resources": {"requests": {"storage": "6Gi"}}, "storageClassName": "replicated"}},
    "status": {"phase": "Succeeded"},
}
DEFAULT_CLASS = {
    "kind": "StorageClass",
    "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
}


def plugin(kind, name):
    module = importlib.import_module(f"ansible_collections.cozystack.worker_image.plugins.{kind}.{name}")
    return module.FilterModule().filters()[name] if kind == "filter" else module.TestModule().tests()[name]


def call(name, *args, **kwargs):
    return plugin("filter", name)(*args, **kwargs)


def ask(name, *args, **kwargs):
    return plugin("test", name)(*args, **kwargs)


def test_every_face_of_the_design_is_there():
    assert FILTERS == [
        "catalog_report",
        "golden_name",
        "image_url",
        "installer_image",
        "machine_template_name",
        "pool_report",
        "quantity_bytes",
        "resolve_os_image",
        "schematic_id",
        "upgrade_pools",
        "worker_disk",
    ]
    assert TESTS == ["golden_ready", "supported_pair"]


@pytest.mark.parametrize(
    ("kind", "name"), [*(("filter", name) for name in FILTERS), *(("test", name) for name in TESTS)]
)
def test_documentation_matches(kind, name):
    module = importlib.import_module(f"ansible_collections.cozystack.worker_image.plugins.{kind}.{name}")
    documented = yaml.safe_load(module.DOCUMENTATION)
    assert documented["name"] == name
    assert documented["version_added"] in ("0.1.0", "0.2.0")
    positional = [item.strip() for item in documented.get("positional", "").split(",") if item.strip()]
    function = getattr(module, name)
    parameters = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    assert set(parameters) == set(documented["options"]) - {"_input"}
    assert list(parameters[: len(positional)]) == positional
    assert f"cozystack.worker_image.{name}" in module.EXAMPLES
    assert "_value" in yaml.safe_load(module.RETURN)
    yaml.safe_load(module.EXAMPLES)


def test_names_and_addresses():
    assert call("golden_name", DEFAULT_SCHEMATIC, "v1.13.6") == GOLDEN
    assert call("image_url", "http://m/t//", "abc", "v1.13.6") == "http://m/t/image/abc/v1.13.6/openstack-amd64.raw.xz"
    assert (
        call("installer_image", "factory.talos.dev/installer", "abc", "v1.13.6")
        == "factory.talos.dev/installer/abc:v1.13.6"
    )
    extension = {"systemExtensions": {"officialExtensions": ["siderolabs/qemu-guest-agent"]}}
    assert call("schematic_id", extension) == DEFAULT_SCHEMATIC
    assert call("quantity_bytes", "6Gi") == call("quantity_bytes", 6442450944) == 6442450944


def test_resolve_os_image():
    found = call("resolve_os_image", {"osImage": {"builtin": {"version": "v1.13.9"}}})
    assert (found["mode"], found["version"], found["origins"]["version"]) == (
        "builtin",
        "v1.13.9",
        "osImage.builtin.version",
    )


@pytest.mark.parametrize("pool", [POOL, OBJECT])
def test_machine_template_name(pool):
    assert call("machine_template_name", pool) == "kubernetes-shop-md0-4f12f8"


def test_machine_template_name_with_site_settings():
    assert (
        call("machine_template_name", POOL, {"ephemeral-storage-allocation-ratio": "10"})
        != "kubernetes-shop-md0-4f12f8"
    )


def test_worker_disk_of_a_clone_needs_its_class():
    assert call("worker_disk", CLONE)["storage"]["storageClassName"] == "replicated"
    blank = {**CLONE, "spec": {**CLONE["spec"], "storageClass": ""}}
    assert call("worker_disk", blank, storage_class="x")["storage"]["storageClassName"] == "x"
    assert call("worker_disk", blank, objects=[DEFAULT_CLASS])["storage"]["storageClassName"] == "fast"
    assert "storageClassName" not in call("worker_disk", {**POOL, "spec": {**SPEC, "storageClass": ""}})["storage"]
    with pytest.raises(
        AnsibleFilterError, match="worker_disk: tenant-acme/shop-md0 declares no storage class; pass storage_class"
    ):
        call("worker_disk", blank)


def test_pool_report_of_one_pool_has_its_description_at_the_top():
    report = call("pool_report", CLONE, [READY])
    assert (report["refusals"], report["source"]["golden"], report["not_judged"]) == ([], GOLDEN, [])
    assert report["pools"][0]["machine_template"] == report["machine_template"]


def test_pool_report_of_many_pools_refuses_all_at_once():
    report = call("pool_report", [CLONE, {**CLONE, "pool": "md1"}], [])
    assert [(finding["id"], finding["subject"]) for finding in report["refusals"]] == [
        ("golden-absent", "tenant-acme/shop-md0 osImage.builtin"),
        ("golden-absent", "tenant-acme/shop-md1 osImage.builtin"),
    ]
    assert "source" not in report


def test_pool_report_without_a_cluster_says_what_it_could_not_judge():
    report = call("pool_report", [CLONE])
    assert report["refusals"] == []
    assert "golden-absent" in {finding["id"] for finding in report["not_judged"]}


def test_pool_report_settles_and_knows_the_schema():
    accepted = call("pool_report", [CLONE], [], accept=["golden-absent"])
    assert (accepted["refusals"], accepted["accepted"][0]["id"]) == ([], "golden-absent")
    unknown = {**POOL, "spec": {**SPEC, "novelty": 1}}
    assert call("pool_report", unknown, [], refuse_on=["unknown-field"])["refusals"][0]["id"] == "unknown-field"
    assert call("pool_report", unknown, [], pool_schema={key: {} for key in [*SPEC, "novelty"]})["advice"] == []
    with pytest.raises(AnsibleFilterError, match="pool_report: accept: there is no rule with the id 'golden-gone'"):
        call("pool_report", [CLONE], [], accept=["golden-gone"])


def test_catalog_report():
    report = call(
        "catalog_report",
        {"images": [{"schematicID": "aaa", "version": "v1.13.6", "storage": "6144Mi"}]},
        [{**READY, "metadata": {"name": "talos-worker-aaa-v1.13.6", "namespace": "cozy-public"}}],
    )
    assert report["refusals"] == []
    assert report["values"]["images"][0]["storage"] == "6Gi"
    assert report["golden_images"][0]["metadata"]["name"] == "talos-worker-aaa-v1.13.6"
    assert [finding["id"] for finding in call("catalog_report", {})["not_judged"]] == ["golden-immutable"]


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("golden_name", (1.13, "v1.13.6"), "golden_name: the schematic ID is the number 1.13; put it in quotes"),
        ("golden_name", ("abc", 1.13), "golden_name: version is the number 1.13; put it in quotes"),
        ("golden_name", ("abc", ""), "golden_name: version is blank"),
        ("golden_name", ("ABC", "v1.13.6"), "golden_name: 'ABC' is not a schematic ID"),
        ("golden_name", ("abc", "v1.13"), "golden_name: 'v1.13' is not a Talos release"),
        ("golden_name", (None, "v1.13.6"), "golden_name: the schematic ID has to be a text, not NoneType"),
        ("image_url", ("ftp://m", "abc", "v1.13.6"), "image_url: 'ftp://m' is not a plain http"),
        ("schematic_id", ("x",), "schematic_id: a schematic has to be a mapping, not str"),
        ("schematic_id", ({"nonsense": 1},), "schematic_id: customization has no key 'nonsense'"),
        ("quantity_bytes", ("6 Gi",), "quantity_bytes: '6 Gi' is not a Kubernetes quantity"),
        ("resolve_os_image", ([],), "resolve_os_image: the spec of a pool has to be a mapping, not list"),
        ("pool_report", ("x",), "pool_report: pools have to be a list, not str"),
        ("pool_report", ([1],), "pool_report: a pool has to be a mapping, not int"),
        ("pool_report", ({"namespace": "t"},), "pool_report: cluster of the pool has to be a text, not NoneType"),
        ("pool_report", ({**POOL, "specs": {}},), "pool_report: a pool has no key 'specs'"),
        ("pool_report", ({**POOL, "spec": "x"},), "pool_report: spec of the pool has to be a mapping, not str"),
        ("pool_report", ({"metadata": {}},), "pool_report: the KubernetesNodes object has no metadata.name"),
        ("pool_report", (POOL, "x"), "pool_report: objects have to be a list, not str"),
        ("pool_report", (POOL, [1]), "pool_report: an object has to be a mapping, not int"),
        ("pool_report", (POOL, [], "x"), "pool_report: cluster_values has to be a mapping, not str"),
        ("catalog_report", ([],), "catalog_report: a catalog has to be a mapping, not list"),
        (
            "machine_template_name",
            ({**POOL, "spec": {"substrate": "proxmox"}},),
            "machine_template_name: tenant-acme/shop-md0 is not on the kubevirt",
        ),
    ],
)
def test_bad_input_is_refused_with_the_name_of_the_filter(name, args, message):
    with pytest.raises(AnsibleFilterError) as caught:
        call(name, *args)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("golden", "claim", "ready"),
    [
        (READY, None, True),
        ({**READY, "status": {"phase": "ImportInProgress"}}, None, False),
        ({**READY, "status": {}}, {"metadata": {}, "status": {"phase": "Bound"}}, False),
        ({"kind": "PersistentVolumeClaim", "metadata": {"name": GOLDEN}, "status": {"phase": "Bound"}}, None, True),
        ({"kind": "PersistentVolumeClaim", "metadata": {"name": GOLDEN}, "status": {"phase": "Pending"}}, None, False),
        ({"name": GOLDEN, "state": "ready"}, None, True),
        ({"name": GOLDEN, "state": "importing"}, None, False),
    ],
)
def test_golden_ready(golden, claim, ready):
    assert ask("golden_ready", golden, claim) is ready


@pytest.mark.parametrize("value", ["x", {}, {"name": "x"}])
def test_golden_ready_refuses_what_is_no_golden(value):
    with pytest.raises(AnsibleFilterError, match="golden_ready: "):
        ask("golden_ready", value)


def test_supported_pair():
    assert ask("supported_pair", "v1.13.6", "v1.35") is True
    assert ask("supported_pair", "1.12.4", "1.36.0") is False
    assert ask("supported_pair", "v1.13.6", "v1.35", {"v1.13": [32, 34]}) is False
    with pytest.raises(AnsibleFilterError, match=r"windows: v1\.13 needs the first and the last supported minor"):
        ask("supported_pair", "v1.13.6", "v1.35", {"v1.13": "31-36"})
    with pytest.raises(AnsibleFilterError, match=r"the Talos release is the number 1\.13; put it in quotes"):
        ask("supported_pair", 1.13, "v1.35")
