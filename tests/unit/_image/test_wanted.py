# SPDX-License-Identifier: Apache-2.0
"""A golden that is declared on its own: what is created, and what a live one lacks to be adopted."""

from __future__ import annotations

from ansible_collections.cozystack.worker_image.plugins.module_utils._image.wanted import (
    WantedGolden,
    adoption,
    render_wanted,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._plan.golden import adopt_step, delete_step
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Claim, DataVolume

SHA = "sha256:" + "a" * 64
MARKS = {
    "helm.sh/resource-policy": "keep",
    "cdi.kubevirt.io/storage.bind.immediate.requested": "true",
    "cdi.kubevirt.io/storage.usePopulator": "true",
    "kubernetes-worker-image.cozystack.io/schematic-id": "aa",
    "kubernetes-worker-image.cozystack.io/talos-version": "v1.13.6",
    "meta.helm.sh/release-name": "kubernetes-worker-image",
    "meta.helm.sh/release-namespace": "cozy-system",
}
HELM = {"app.kubernetes.io/managed-by": "Helm"}


def wanted(**change):
    return WantedGolden("aa", "v1.13.6", **change)


def live(annotations, labels=HELM):
    return DataVolume.from_api(
        {"metadata": {"name": "talos-worker-aa-v1.13.6", "uid": "7", "annotations": annotations, "labels": labels}}
    )


def test_an_import_has_the_charts_defaults_and_the_marks_of_its_release():
    assert render_wanted(wanted(settings={"certConfigMap": "ca", "secretRef": ""})) == {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {
            "name": "talos-worker-aa-v1.13.6",
            "namespace": "cozy-public",
            "annotations": {**MARKS, "cdi.kubevirt.io/storage.deleteAfterCompletion": "false"},
            "labels": HELM,
        },
        "spec": {
            "contentType": "kubevirt",
            "source": {
                "http": {
                    "url": "https://factory.talos.dev/image/aa/v1.13.6/openstack-amd64.raw.xz",
                    "certConfigMap": "ca",
                }
            },
            "storage": {"resources": {"requests": {"storage": "6Gi"}}, "storageClassName": "replicated"},
        },
    }


def test_what_is_declared_wins():
    spec = render_wanted(wanted(image_factory_url="http://m//", storage="5Gi", storage_class=""))["spec"]
    assert spec["source"] == {"http": {"url": "http://m/image/aa/v1.13.6/openstack-amd64.raw.xz"}}
    assert spec["storage"] == {"resources": {"requests": {"storage": "5Gi"}}}


def test_an_upload_remembers_what_was_sent():
    body = render_wanted(wanted(upload=True, settings={"checksum": SHA}), SHA)
    assert body["spec"]["source"] == {"upload": {}}
    assert body["metadata"]["annotations"]["worker-image.cozystack.io/uploaded-sha256"] == SHA
    assert (
        "worker-image.cozystack.io/uploaded-sha256" not in render_wanted(wanted(upload=True))["metadata"]["annotations"]
    )


def test_a_golden_of_the_catalog_lacks_nothing():
    assert adoption(wanted(), live(MARKS)) == {}
    assert adoption(wanted(), live(MARKS, {"app.kubernetes.io/managed-by": "cozystack"})) == {}
    assert adopt_step(wanted(), live(MARKS)) is None


def test_a_golden_of_nobody_gets_all_marks():
    assert adoption(wanted(), live({}, {})) == {"annotations": MARKS, "labels": HELM}
    assert adoption(wanted(), live({}, {"app.kubernetes.io/managed-by": "me"}))["labels"] == HELM


def test_only_the_missing_labels_are_written():
    assert "labels" not in adoption(wanted(), live({}, HELM))


def test_a_golden_of_another_release_keeps_its_owner():
    other = {"meta.helm.sh/release-name": "theirs"}
    found = adoption(wanted(), live(other, {}))
    assert found == {"annotations": {key: value for key, value in MARKS.items() if not key.startswith("meta.")}}


def test_the_patch_of_an_adoption_cannot_reach_a_namesake():
    step = adopt_step(wanted(), live({}, {}))
    assert step.payload["metadata"]["uid"] == "7"
    assert {change.path[1] for change in step.changes} == {"annotations", "labels"}


def test_what_is_deleted_is_told_by_its_uid():
    step = delete_step(live(MARKS), "nobody uses it")
    assert (step.kind, step.payload) == ("DataVolume", {"uid": "7"})
    assert step.diff()["before"] == {"metadata": {"name": "talos-worker-aa-v1.13.6"}}
    claim = delete_step(Claim.from_api({"metadata": {"name": "c", "uid": "8"}}), "nobody uses it")
    assert (claim.kind, claim.payload) == ("PersistentVolumeClaim", {"uid": "8"})
