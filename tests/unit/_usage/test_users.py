# SPDX-License-Identifier: Apache-2.0
"""Who uses a golden, and whether it may go: a table, and generated sites against a brute-force answer."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.objects import (
    MachineDeployment,
    MachineSet,
    MachineTemplate,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Claim, DataVolume
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.pods import Pod
from ansible_collections.cozystack.worker_image.plugins.module_utils._usage.users import Surroundings, users_of
from hypothesis import given, settings
from hypothesis import strategies as st

IDS = ("aa", "bb")
VERSIONS = ("v1.13.6", "v1.13.7")
GOLDENS = [f"talos-worker-{one}-{version}" for one in IDS for version in VERSIONS]
G = GOLDENS[0]
PUBLIC = "cozy-public"


def pool(name="shop-md0", namespace="tenant-a", image=None, talos=("aa", "v1.13.6"), **spec):
    spec |= {"cluster": "shop", "talos": {"schematicID": talos[0], "version": talos[1]}}
    spec |= {} if image is None else {"osImage": image}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def disk(name="d", namespace="tenant-a", golden=None, source=None, phase="Succeeded", claim=""):
    annotations = {"kubernetes-worker-image.cozystack.io/golden": golden} if golden else {}
    spec = (
        {"source": {"pvc": {"namespace": source[0], "name": source[1]}}}
        if source
        else {"source": {"http": {"url": "u"}}}
    )
    status = {"phase": phase, **({"claimName": claim} if claim else {})}
    return {
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": spec,
        "status": status,
    }


def claim(name, finalizers=(), source="", phase="Bound", key="dataSource"):
    spec = {key: {"kind": "PersistentVolumeClaim", "name": source}} if source else {}
    return {
        "metadata": {"name": name, "namespace": PUBLIC, "finalizers": list(finalizers)},
        "spec": spec,
        "status": {"phase": phase},
    }


def template(name="t", namespace="tenant-a", source=(PUBLIC, G), annotated=None):
    annotations = {"kubernetes-worker-image.cozystack.io/golden": annotated} if annotated else {}
    volume = {
        "metadata": {"annotations": annotations},
        "spec": {"source": {"pvc": dict(zip(("namespace", "name"), source, strict=True))}},
    }
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": {"virtualMachineTemplate": {"spec": {"dataVolumeTemplates": [volume]}}}}},
    }


def workers(name="ms", namespace="tenant-a", template="t", replicas=1, live=0):
    spec = {"replicas": replicas, "template": {"spec": {"infrastructureRef": {"name": template}}}}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec, "status": {"replicas": live}}


def pod(name="p", claims=(G,), phase="Running", cdi=False):
    volumes = [{"persistentVolumeClaim": {"claimName": one}} for one in claims]
    labels = {"app": "containerized-data-importer"} if cdi else {}
    return {
        "metadata": {"name": name, "namespace": PUBLIC, "labels": labels},
        "spec": {"volumes": volumes},
        "status": {"phase": phase},
    }


def site(pools=(), volumes=(), claims=(), pods=(), sets=(), deployments=(), templates=()):
    return Surroundings(
        [Pool.from_api(one) for one in pools],
        [DataVolume.from_api(one) for one in volumes],
        [Claim.from_api(one) for one in claims],
        [Pod.from_api(one) for one in pods],
        [MachineSet.from_api(one) for one in sets],
        [MachineDeployment.from_api(one) for one in deployments],
        [MachineTemplate.from_api(one) for one in templates],
    )


CLONING = "provisioner.storage.kubernetes.io/cloning-protection"
SNAPSHOT = "snapshot.storage.kubernetes.io/pvc-as-source-protection"
# (what is there, how golden G is used)
USES = [
    ("nothing", {}, []),
    ("declared with defaults", {"pools": [pool(image={"builtin": {}})]}, ["declared"]),
    ("declared at zero workers", {"pools": [pool(image={"builtin": {}}, minReplicas=0)]}, ["declared"]),
    (
        "declared by override",
        {"pools": [pool(image={"builtin": {"version": "v1.13.6"}}, talos=("aa", "v9.9.9"))]},
        ["declared"],
    ),
    ("another version", {"pools": [pool(image={"builtin": {"version": "v1.13.7"}})]}, []),
    ("over HTTP", {"pools": [pool(image={"factory": {}})]}, []),
    ("omitted", {"pools": [pool()]}, []),
    ("both forms", {"pools": [pool(image={"builtin": {}, "factory": {}})]}, ["declared"]),
    ("cloning by annotation", {"volumes": [disk(golden=G, phase="CSICloneInProgress")]}, ["cloning"]),
    ("cloning by source", {"volumes": [disk(source=(PUBLIC, G), phase="")]}, ["cloning"]),
    ("one disk by both", {"volumes": [disk(golden=G, source=(PUBLIC, G), phase="Pending")]}, ["cloning"]),
    ("finished", {"volumes": [disk(golden=G)]}, ["cloned"]),
    ("a claim of that name elsewhere", {"volumes": [disk(source=("tenant-b", G), phase="")]}, []),
    ("within the golden namespace", {"volumes": [disk(namespace=PUBLIC, source=("", G), phase="")]}, ["cloning"]),
    (
        "by the name of the golden's claim",
        {"volumes": [disk(name=G, namespace=PUBLIC, claim="other"), disk(source=(PUBLIC, "other"), phase="")]},
        ["cloning"],
    ),
    ("clone of a longer name", {"volumes": [disk(golden=G + "0", phase="")]}, []),
    ("driver's finalizer", {"claims": [claim(G, [CLONING])]}, ["cloning"]),
    ("snapshot's finalizer", {"claims": [claim(G, [SNAPSHOT])]}, ["cloning"]),
    ("protected claim", {"claims": [claim(G, ["kubernetes.io/pvc-protection"])]}, []),
    ("temporary claim", {"claims": [claim("tmp-pvc-1", source=G, phase="Pending")]}, ["cloning"]),
    ("temporary claim by reference", {"claims": [claim("tmp-pvc-1", source=G, key="dataSourceRef")]}, ["cloning"]),
    ("temporary claim of another", {"claims": [claim("tmp-pvc-1", source=GOLDENS[1])]}, []),
    ("template in use", {"templates": [template()], "sets": [workers()]}, ["template"]),
    (
        "template by annotation",
        {"templates": [template(source=("x", "y"), annotated=G)], "sets": [workers()]},
        ["template"],
    ),
    ("template going down", {"templates": [template()], "sets": [workers(replicas=0, live=1)]}, ["template"]),
    ("template at zero", {"templates": [template()], "sets": [workers(replicas=0)]}, ["idle_template"]),
    (
        "template named by a deployment at zero",
        {"templates": [template()], "sets": [workers(replicas=0)], "deployments": [workers("md", replicas=0)]},
        ["template"],
    ),
    ("template of nobody", {"templates": [template()]}, []),
    ("template of another namespace's set", {"templates": [template()], "sets": [workers(namespace="tenant-b")]}, []),
    ("mounted", {"pods": [pod()]}, ["mounted"]),
    ("mounted by CDI", {"pods": [pod(cdi=True)]}, []),
    ("mounted once", {"pods": [pod(phase="Succeeded")]}, []),
    (
        "everything, in order",
        {
            "pods": [pod()],
            "volumes": [disk(golden=G), disk(golden=G, phase="")],
            "pools": [pool(image={"builtin": {}})],
            "templates": [template()],
            "sets": [workers()],
        },
        ["declared", "cloning", "template", "mounted", "cloned"],
    ),
]


@pytest.mark.parametrize(("there", "wanted"), [row[1:] for row in USES], ids=[row[0] for row in USES])
def test_users(there, wanted):
    users = users_of(site(**there)).get(G, [])
    assert [user.how for user in users] == wanted
    assert any(user.blocks for user in users) is bool(set(wanted) - {"cloned"})


def test_pools_whose_names_begin_alike_are_told_apart():
    found = users_of(
        site(pools=[pool("c-md", image={"builtin": {}}), pool("c-md-large", image={"builtin": {"version": "v1.13.7"}})])
    )
    assert [user.name for user in found[G]] == ["c-md"]


def test_what_was_not_read_is_named():
    assert Surroundings().unread() == [
        "pools",
        "volumes",
        "claims",
        "pods",
        "machine_sets",
        "machine_deployments",
        "machine_templates",
    ]
    assert site().unread() == []


NAMES = st.sampled_from(GOLDENS)
SOURCES = st.tuples(st.sampled_from([PUBLIC, "tenant-a"]), NAMES)
IMAGES = st.one_of(
    st.none(),
    st.just({}),
    st.fixed_dictionaries(
        {},
        optional={
            "builtin": st.fixed_dictionaries(
                {}, optional={"schematicID": st.sampled_from([*IDS, ""]), "version": st.sampled_from([*VERSIONS, ""])}
            ),
            "factory": st.just({}),
        },
    ),
)
SITES = st.fixed_dictionaries(
    {
        "pools": st.lists(
            st.builds(
                pool,
                image=IMAGES,
                talos=st.tuples(st.sampled_from(IDS), st.sampled_from(VERSIONS)),
                minReplicas=st.integers(0, 2),
            ),
            max_size=3,
        ),
        "volumes": st.lists(
            st.builds(
                disk,
                golden=st.one_of(st.none(), NAMES),
                source=st.one_of(st.none(), SOURCES),
                phase=st.sampled_from(["Succeeded", "Pending", "", "Failed"]),
            ),
            max_size=4,
        ),
        "claims": st.lists(
            st.builds(
                claim,
                st.one_of(NAMES, st.just("tmp-pvc-1")),
                st.lists(st.sampled_from([CLONING, SNAPSHOT, "x"]), max_size=2),
                st.one_of(st.just(""), NAMES),
            ),
            max_size=3,
        ),
        "pods": st.lists(
            st.builds(
                pod,
                claims=st.lists(NAMES, max_size=2),
                phase=st.sampled_from(["Running", "Succeeded"]),
                cdi=st.booleans(),
            ),
            max_size=2,
        ),
        "sets": st.lists(
            st.builds(
                workers, template=st.sampled_from(["t", "u"]), replicas=st.integers(0, 1), live=st.integers(0, 1)
            ),
            max_size=2,
        ),
        "deployments": st.lists(st.builds(workers, template=st.sampled_from(["t", "u"])), max_size=1),
        "templates": st.lists(
            st.builds(template, st.sampled_from(["t", "u"]), source=SOURCES, annotated=st.one_of(st.none(), NAMES)),
            max_size=2,
            unique_by=lambda one: one["metadata"]["name"],
        ),
    }
)


def must_stay(golden, there):
    """The brute-force answer, from the raw objects, with nothing of the product."""

    def annotated(obj):
        return obj["metadata"].get("annotations", {}).get("kubernetes-worker-image.cozystack.io/golden") == golden

    def from_claim(source):
        return source.get("pvc") == {"namespace": PUBLIC, "name": golden}

    for one in there["pools"]:
        image = one["spec"].get("osImage") or {}
        if "builtin" in image:
            pair = {**one["spec"]["talos"], **{key: value for key, value in image["builtin"].items() if value}}
            if golden == f"talos-worker-{pair['schematicID']}-{pair['version']}":
                return True
    for one in there["volumes"]:
        if one["status"]["phase"] != "Succeeded" and (annotated(one) or from_claim(one["spec"]["source"])):
            return True
    for one in there["claims"]:
        protected = one["metadata"]["name"] == golden and {CLONING, SNAPSHOT} & set(one["metadata"]["finalizers"])
        if protected or one["spec"].get("dataSource", {}).get("name") == golden:
            return True
    for one in there["pods"]:
        mounted = [volume["persistentVolumeClaim"]["claimName"] for volume in one["spec"]["volumes"]]
        if golden in mounted and one["status"]["phase"] == "Running" and not one["metadata"]["labels"]:
            return True
    named = {
        one["spec"]["template"]["spec"]["infrastructureRef"]["name"] for one in [*there["sets"], *there["deployments"]]
    }
    for one in there["templates"]:
        volume = one["spec"]["template"]["spec"]["virtualMachineTemplate"]["spec"]["dataVolumeTemplates"][0]
        if one["metadata"]["name"] in named and (annotated(volume) or from_claim(volume["spec"]["source"])):
            return True
    return False


@settings(max_examples=400, deadline=None)
@given(there=SITES)
def test_a_golden_may_go_exactly_when_brute_force_says_so(there):
    users = users_of(site(**there))
    for golden in GOLDENS:
        blocked = any(user.blocks for user in users.get(golden, []))
        assert blocked or not must_stay(golden, there), f"{golden} would be deleted although it is used"
        assert blocked == must_stay(golden, there), f"{golden} is kept for nobody"
