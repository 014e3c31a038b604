# SPDX-License-Identifier: Apache-2.0
"""The prediction of clones against the lab's CDI, which shares no line with it, on generated sites.

Two differences are CDI's own and not imitated by the lab: of two drivers CDI says that no snapshot class serves both, and it compares
the sizes of claims for file systems as well.
"""

from __future__ import annotations

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.case import PoolCase
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.clone_facts import (
    COPY,
    REFUSED,
    UNKNOWN,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.controllers.cdi import claims as lab_claims
from lab.controllers.cdi import strategy as lab_strategy
from lab.controllers.objects import size

from .build import (
    CLONE,
    DRIVER,
    GOLDEN,
    NAMESPACE,
    OTHER,
    cdi,
    cdi_config,
    claim,
    csi_driver,
    golden,
    profile,
    snapshot_class,
    storage_class,
    volume,
)


class Cache:
    """Objects of one kind by (namespace, name), as the lab's controllers see them."""

    def __init__(self, objects):
        self.objects = {(obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in objects}

    def get(self, namespace, name):
        return self.objects.get((namespace, name))


class Site:
    """The part of the lab's runtime that its decision looks at."""

    def __init__(self, objects):
        self.raw = objects

    def cache(self, kind):
        return Cache([obj for obj in self.raw if obj["kind"] == kind])


def lab_says(objects, disk_class, disk_size):
    """(method, words), or REFUSED."""
    site = Site(objects)
    wanted = {"resources": {"requests": {"storage": disk_size}}} | (
        {"storageClassName": disk_class} if disk_class else {}
    )
    disk = {"metadata": {"name": "d", "namespace": NAMESPACE}, "spec": {"storage": wanted}}
    source = site.cache("PersistentVolumeClaim").get("cozy-public", GOLDEN)
    try:
        target = lab_claims.plan(disk, site, source)
    except lab_claims.ClaimInvalid:
        return REFUSED, ""
    if size(target.request) < lab_claims.size(source["spec"]["resources"]["requests"]["storage"]):
        return REFUSED, ""
    method, words = lab_strategy.choose(source, target, lab_claims.populated(disk, site, target), site)
    drivers_differ = lab_strategy.driver_of(source, site) != target.driver
    if method == COPY and words == lab_strategy.OTHER_DRIVER and drivers_differ and asked(site, target) == "snapshot":
        words = lab_strategy.NO_SNAPSHOT_CLASS
    return method, words or ""


def asked(site, target):
    given_override = site.cache("CDI").get("", "cdi")["spec"].get("cloneStrategyOverride")
    found = site.cache("StorageProfile").get("", target.class_name) or {"status": {}}
    return given_override or found["status"].get("cloneStrategy") or "snapshot"


def live(obj):
    """As an API server gives it, so that what is left out counts."""
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": "1"}}


def we_say(objects, disk_class, disk_size):
    spec = {**CLONE, "storageClass": disk_class, "diskSize": disk_size}
    state = ClusterState.from_objects([live(obj) for obj in objects])
    found = PoolCase(Pool.named(NAMESPACE, "myk8s-md0", spec), state).clone
    assert found is not None
    return found


MARK = "storageclass.kubernetes.io/is-default-class"
STRATEGIES = [None, "", "copy", "snapshot", "csi-clone"]
names = ("replicated", "local")
drivers = st.sampled_from([DRIVER, DRIVER, OTHER])
a_class = {
    name: st.builds(
        storage_class,
        st.just(name),
        *([st.just(MARK)] if name == "replicated" else []),
        expandable=st.sampled_from([True, True, False, None]),
        driver=drivers,
    )
    for name in names
}
a_profile = {
    name: st.builds(
        profile,
        st.just(name),
        st.sampled_from(["Block", "Block", "Filesystem"]),
        st.sampled_from(["", "copy", "snapshot", "csi-clone"]),
        minimum=st.sampled_from(["", "", "", "8Gi"]),
        access=st.sampled_from([True, True, True, True, False]),
    )
    for name in names
}
SIZES = ["6Gi", "6442450944", "6G", "8Gi", "20Gi", "6144Mi", "6828998001"]
sites = st.tuples(
    *a_class.values(),
    *a_profile.values(),
    st.builds(cdi, st.sampled_from(STRATEGIES)),
    st.builds(cdi_config, st.sampled_from(["0.06", "0"])),
    st.builds(snapshot_class, driver=drivers),
    st.builds(csi_driver, drivers),
    st.builds(
        claim,
        st.sampled_from(names),
        st.sampled_from(SIZES),
        capacity=st.sampled_from(SIZES),
        mode=st.sampled_from(["Block", "Block", "Filesystem"]),
    ),
    st.just(golden()),
)
volumes = st.one_of(st.just(()), st.builds(lambda driver: (volume(driver),), drivers))


def with_volume(objects, extra):
    """The golden's claim names its volume, when the site has it."""
    found = [
        {**obj, "spec": {**obj["spec"], "volumeName": extra[0]["metadata"]["name"]}}
        if extra and obj["kind"] == "PersistentVolumeClaim"
        else obj
        for obj in objects
    ]
    return [*found, *extra]


@settings(deadline=None, max_examples=400)
@given(sites, volumes, st.sampled_from(["replicated", "local", "gone", ""]), st.sampled_from(SIZES))
def test_the_lab_clones_as_predicted(objects, extra, disk_class, disk_size):
    objects = with_volume(objects, extra)
    found = we_say(objects, disk_class, disk_size)
    assert found.method != UNKNOWN
    assert (found.method, found.fallback) == lab_says(objects, disk_class, disk_size)


def test_the_comparison_can_fail():
    """The lab's answers are the different ones that they should be."""
    rows = {
        "csi-clone": [cdi("csi-clone"), storage_class("replicated", expandable=True)],
        "copy": [cdi("csi-clone"), storage_class("replicated", expandable=False)],
    }
    for method, more in rows.items():
        objects = [profile("replicated"), csi_driver(), cdi_config(), claim(capacity="6Gi", mode="Block"), *more]
        assert lab_says(objects, "replicated", "20Gi")[0] == method
