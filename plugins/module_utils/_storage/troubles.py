# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What CDI's messages mean: a table of what its controllers and importers write, by version, each with cause and remedy.

Rows are tried from top to bottom; the first that matches counts. A reason says more than words that stand in the message, so reasons come
first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ANEW = "have it imported anew: module golden_image with recreate=stuck, once nothing clones it"
_AGAIN = "CDI's next attempt then finishes by itself, within five minutes"


@dataclass(frozen=True)
class Trouble:
    """One row. ``pattern`` is a regular expression, searched for in "<reason>: <message>" without regard to case.

    ``heals``: CDI tries again by itself and succeeds once the cause is gone. ``since`` is the first CDI release that says so,
    blank for every one we know. ``origin`` tells where the text comes from.
    """

    id: str
    pattern: str
    cause: str
    remedy: str
    heals: bool
    origin: str
    since: str = ""

    def matches(self, said: str) -> bool:
        return bool(self.pattern) and re.search(self.pattern, said, re.IGNORECASE) is not None


_IMPORTER = "CDI 1.64 pkg/importer/http-datasource.go"
_CONDITIONS = "CDI 1.64 pkg/controller/datavolume/conditions.go"
_PODS = "CDI 1.64 pkg/controller/util.go"
_GO = "Go standard library, passed through by CDI's importer"
_KUBELET = "Kubernetes 1.34 kubelet"

TROUBLES: tuple[Trouble, ...] = (
    Trouble(
        "out-of-memory",
        r"^OOMKilled",
        "the importer was killed for using more memory than it may; a half-written volume then keeps the next attempts from succeeding",
        f"raise spec.config.podResourceRequirements of the CDI object, then {_ANEW}",
        False,
        _PODS,
    ),
    Trouble(
        "importer-image",
        r"^(ImagePullFailed|ImagePullBackOff|ErrImagePull)",
        "the node cannot pull CDI's own importer image",
        "make the image reachable from the nodes (registry, mirror, pull secret); the pod starts by itself then",
        True,
        _PODS,
    ),
    Trouble(
        "not-schedulable",
        r"^(Unschedulable|FailedScheduling)",
        "no node takes the importer pod",
        "read what the scheduler says: room, taints, node selectors, or a volume that is only reachable from other nodes",
        True,
        _PODS,
    ),
    Trouble(
        "quota-exceeded",
        r"^ErrExceededQuota",
        "a ResourceQuota of cozy-public does not allow the claim or the importer pod; an import needs the golden, its prime claim and "
        "scratch space at the same time",
        "raise the quota of cozy-public",
        True,
        _PODS,
    ),
    Trouble(
        "claim-exists",
        r"^ErrResourceExists",
        "a claim of this name exists already and belongs to nobody",
        "find out whose the claim is; delete it if it is a leftover, and CDI goes on",
        True,
        "CDI 1.64 pkg/controller/datavolume/controller-base.go",
    ),
    Trouble(
        "claim-not-valid",
        r"^ErrClaimNotValid",
        "CDI cannot make a claim of it: the storage class does not exist, or its StorageProfile states no access mode",
        "create the class or complete its StorageProfile (claimPropertySets); where the golden names no class and there was no default, it "
        f"has to be deleted: {_ANEW}",
        False,
        "CDI 1.64 pkg/controller/datavolume/util.go",
    ),
    Trouble(
        "pod-not-started",
        r"^ErrStartingPod",
        "the importer pod cannot be created",
        "read the message: an admission policy, a missing service account, or a limit of the namespace",
        True,
        _PODS,
    ),
    Trouble(
        "image-too-large",
        r"too small to contain image|larger than (the )?(reported )?available|no space left on device|disk quota exceeded",
        "the image does not fit into the golden's volume",
        f"give the catalog entry or the golden a larger storage (5Gi holds any Talos image since 1.11, 6Gi is the default), then {_ANEW}",
        False,
        _CONDITIONS,
    ),
    Trouble(
        "checksum-mismatch",
        r"^ChecksumError|checksum mismatch",
        "the downloaded file has another checksum than the one declared",
        f"compare the file on the mirror with the declared checksum, correct the one that is wrong, then {_ANEW}",
        False,
        "CDI 1.65 pkg/importer/checksum",
        since="v1.65.0",
    ),
    Trouble(
        "image-not-found",
        r"expected status code 200, got 404",
        "the server has no such image: the schematic is not registered there, or this version is not published",
        "register the schematic with the factory (module schematic), put the file on the mirror, or correct schematicID, version or "
        f"imageFactoryURL (module image_probe_info tells which); {_AGAIN}",
        True,
        _IMPORTER,
    ),
    Trouble(
        "access-refused",
        r"expected status code 200, got (401|403|407)",
        "the server or a proxy refuses access",
        f"give the importer credentials (secretRef), or let the mirror serve the image without; {_AGAIN}",
        True,
        _IMPORTER,
    ),
    Trouble(
        "server-error",
        r"expected status code 200, got 5\d\d",
        "the server fails on its side; a factory answers 500 for a malformed version and 503 or 504 while it is overloaded",
        f"look at the server's log and correct the version if it is malformed (module image_probe_info tells); {_AGAIN}",
        True,
        _IMPORTER,
    ),
    Trouble(
        "unexpected-status",
        r"expected status code 200, got \d+",
        "the server answers with a status that is no success",
        f"ask for the address as the importer does (module image_probe_info) and correct it or the server; {_AGAIN}",
        True,
        _IMPORTER,
    ),
    Trouble(
        "ca-config-map-missing",
        r"configmap .*not found",
        "the ConfigMap that certConfigMap names does not exist in cozy-public, so the importer cannot start",
        "create the ConfigMap in cozy-public; the pod starts by itself then",
        True,
        _KUBELET,
    ),
    Trouble(
        "secret-missing",
        r"secret .*not found",
        "the Secret that secretRef names does not exist in cozy-public, so the importer cannot start",
        "create the Secret (keys accessKeyId and secretKey) in cozy-public; the pod starts by itself then",
        True,
        _KUBELET,
    ),
    Trouble(
        "tls-not-trusted",
        r"x509:|tls: |certificate",
        "the importer does not trust the server's certificate",
        "put the CA into a ConfigMap in cozy-public and import with certConfigMap (module golden_image), use a certificate of a public CA, "
        "or plain http inside the site; the catalog's chart cannot pass a CA",
        True,
        _GO,
    ),
    Trouble(
        "name-not-resolved",
        r"no such host|server misbehaving|temporary failure in name resolution",
        "the name of the server cannot be resolved from namespace cozy-public",
        f"correct imageFactoryURL or the cluster's DNS; {_AGAIN}",
        True,
        _GO,
    ),
    Trouble(
        "server-unreachable",
        r"connection refused|connection reset|no route to host|network is unreachable|i/o timeout|deadline exceeded",
        "the server cannot be reached from namespace cozy-public",
        f"check that the server runs, and firewall, proxy and network policies between cozy-public and it; {_AGAIN}",
        True,
        _GO,
    ),
    Trouble(
        "transfer-cut",
        r"unexpected eof|stream error|broken pipe|connection was closed|context canceled|transfer .*(cancel|stall)",
        "the transfer ends before the image is complete, or stands still until the importer gives up",
        f"compare the length of the file on the server with the original, and look for time limits of proxies on the way; {_AGAIN}",
        True,
        _GO,
    ),
    Trouble(
        "not-an-image",
        r"unable to convert source data|unable to process data|invalid (header|magic)|unexpected format|xz: |gzip: |qemu-img",
        "the server answers 200, but what it sends is not the image: an error or login page, or a damaged file",
        f"look at the file under that address (module image_probe_info shows type, length and first bytes) and replace it; {_AGAIN}",
        True,
        "CDI 1.64 pkg/importer/data-processor.go, pkg/image/qemu.go",
    ),
    Trouble(
        "storage-not-provisioned",
        r"^ProvisioningFailed|\[prime-|failed to provision|error (creating|provisioning)",
        "the storage driver does not provide the volume",
        "read the driver's message: free space, replica count, placement; it tries again by itself",
        True,
        "CDI 1.64 pkg/controller/datavolume/conditions.go; external-provisioner",
    ),
    Trouble(
        "claim-lost",
        r"ClaimLost",
        "the volume behind the claim is gone",
        f"find out who removed the volume, then {_ANEW}",
        False,
        "CDI 1.64 pkg/controller/datavolume/controller-base.go",
    ),
)

POD_FAILED = Trouble(
    "importer-pod-failed",
    "",
    "the importer pod failed (evicted, or its node went away), and CDI does not replace a failed pod that it still sees",
    "delete the importer pod and CDI starts another one, or " + _ANEW,
    False,
    "CDI 1.64 pkg/controller/import-controller.go",
)
SCRATCH_PENDING = Trouble(
    "scratch-space-pending",
    "",
    "the scratch space that an xz image needs is not provided; on CDI 1.64 it comes from the cluster's default class, not the golden's",
    "give the default class room, or name one in spec.config.scratchSpaceStorageClass of the CDI object",
    True,
    "CDI 1.64 pkg/controller/common/util.go",
)
NO_CONSUMER = Trouble(
    "no-consumer",
    "",
    "the class binds at the first consumer, and a golden has none: the immediate-bind annotation is missing",
    "goldens of the catalog and of module golden_image carry the annotation; a foreign one without it: " + _ANEW,
    False,
    "CDI 1.64 pkg/controller/common/util.go",
)
NOT_STARTED = Trouble(
    "not-started",
    "",
    "CDI has not started on it: no usable class, no access mode in its StorageProfile, or CDI does not run",
    "check that the class exists and that CDI's pods run; a golden without a class, made while there was no default, stays so: "
    + _ANEW,
    False,
    "CDI 1.64 pkg/controller/datavolume/controller-base.go",
)

# Told from what is there rather than from a message.
ALL_TROUBLES = (*TROUBLES, POD_FAILED, SCRATCH_PENDING, NO_CONSUMER, NOT_STARTED)


def trouble_of(reason: str, message: str) -> Trouble | None:
    """The row for a reason and message of a condition, a container or an event; None for what the table does not know."""
    said = f"{reason}: {message}"
    return next((row for row in TROUBLES if row.matches(said)), None)
