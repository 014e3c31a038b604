# SPDX-License-Identifier: Apache-2.0
"""The table of CDI's messages: every row is reached by a text that CDI writes, and says what to do."""

from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.troubles import (
    ALL_TROUBLES,
    TROUBLES,
    trouble_of,
)

_HTTP = "Unable to connect to http data source: "
SAID = [
    ("image-too-large", "Error", "DataVolume too small to contain image"),
    ("image-too-large", "Error", "Unable to process data: write /data/disk.img: no space left on device"),
    ("checksum-mismatch", "ChecksumError", "checksum mismatch: expected sha256:aa, got bb"),
    ("checksum-mismatch", "ChecksumError", ""),
    ("image-not-found", "Error", _HTTP + "expected status code 200, got 404. Status: 404 Not Found"),
    ("access-refused", "Error", _HTTP + "expected status code 200, got 401. Status: 401 Unauthorized"),
    ("server-error", "Error", _HTTP + "expected status code 200, got 503. Status: 503 Service Unavailable"),
    ("unexpected-status", "Error", _HTTP + "expected status code 200, got 204. Status: 204 No Content"),
    ("ca-config-map-missing", "FailedMount", 'MountVolume.SetUp failed: configmap "mirror-certificate" not found'),
    ("secret-missing", "CreateContainerConfigError", 'secret "mirror" not found'),
    (
        "tls-not-trusted",
        "Error",
        _HTTP + 'Get "https://m/": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    ),
    ("name-not-resolved", "Error", _HTTP + 'Get "http://m/": dial tcp: lookup m: no such host'),
    ("server-unreachable", "Error", _HTTP + 'Get "http://m/": dial tcp 10.0.0.1:80: connect: connection refused'),
    ("transfer-cut", "Error", "Unable to process data: unexpected EOF"),
    ("not-an-image", "Error", "Unable to process data: Unable to convert source data to target format"),
    ("not-an-image", "Error", "Unable to process data: xz: invalid header magic bytes"),
    ("out-of-memory", "OOMKilled", ""),
    ("importer-image", "ImagePullFailed", "failed to pull image: not found"),
    ("importer-image", "ImagePullFailed", "failed to pull image: dial tcp: lookup quay.io: no such host"),
    ("quota-exceeded", "ErrExceededQuota", "pods is forbidden: exceeded quota, no space left on device"),
    ("not-schedulable", "Unschedulable", "Importer pod cannot be scheduled"),
    ("quota-exceeded", "ErrExceededQuota", "exceeded quota: storage"),
    ("claim-exists", "ErrResourceExists", "Destination PVC cozy-public/g already exists"),
    ("claim-not-valid", "ErrClaimNotValid", "no accessMode specified in StorageProfile local"),
    ("pod-not-started", "ErrStartingPod", "pods is forbidden"),
    ("storage-not-provisioned", "Pending", "target PVC g Pending and [prime-1] : no space"),
    ("storage-not-provisioned", "ProvisioningFailed", "failed to provision volume: not enough nodes"),
    ("claim-lost", "ClaimLost", "Claim Lost"),
]


@pytest.mark.parametrize(("wanted", "reason", "message"), SAID)
def test_what_cdi_says_finds_its_row(wanted, reason, message):
    row = trouble_of(reason, message)
    assert row is not None
    assert row.id == wanted


def test_every_row_is_reached():
    assert {wanted for wanted, _, _ in SAID} == {row.id for row in TROUBLES}


@pytest.mark.parametrize("row", ALL_TROUBLES, ids=lambda row: row.id)
def test_every_row_tells_cause_remedy_and_origin(row):
    assert row.cause
    assert row.remedy
    assert row.origin
    # What CDI does not repair by itself needs a new import or a hand; the remedy has to say so.
    assert row.heals or "imported anew" in row.remedy


@pytest.mark.parametrize(
    ("reason", "message"), [("", ""), ("Error", ""), ("Error", "something new"), ("Completed", "Import Complete")]
)
def test_what_the_table_does_not_know_is_no_row(reason, message):
    assert trouble_of(reason, message) is None


def test_ids_are_unique():
    ids = [row.id for row in ALL_TROUBLES]
    assert len(ids) == len(set(ids))
