# SPDX-License-Identifier: Apache-2.0
"""What golden_image_info costs on a site with 200 goldens and 5,000 worker disks."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.integration.site import PRODUCT, ROOT, SCHEMATIC, Site

SCENARIO = "big-site"
pytestmark = pytest.mark.lab

# The job in a process of its own: what importing costs is measured first, then what the work adds to the peak.
PROBE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.connection import resolve
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.transport import HttpTransport
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import Session
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.golden_image_info import INFO_SPEC, golden_image_info
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import Reporter
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
client = Client(HttpTransport(resolve({"kubeconfig": os.environ["K8S_AUTH_KUBECONFIG"]}, {})))
before = peak()
params = {name: option.get("default") for name, option in INFO_SPEC.items()}
found = golden_image_info(Session(params, client, False, print, Reporter(lambda line: None)))
print(json.dumps({"before": before, "more": peak() - before, "totals": found["totals"]}))
"""


def test_a_big_site_costs_few_requests_and_little_memory(site: Site) -> None:
    # Trouble and leftovers cost a request each; with both it is still few.
    uid = "0badc0de-0000-4000-8000-000000000009"
    labels = {"app": "containerized-data-importer", "cdi.kubevirt.io/OwnedByUID": uid}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "replicated",
        "resources": {"requests": {"storage": "6Gi"}},
    }
    left = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"tmp-pvc-{uid}", "namespace": "cozy-public", "labels": labels},
        "spec": spec,
    }
    site.api(lambda api: api.create(left))
    site.misbehave({"action": "evict", "match": "v1.13.9", "times": 1})
    pair = {"schematicID": SCHEMATIC, "version": "v1.13.9"}
    assert (
        site.module("golden_image", **pair, imageFactoryURL=site.lab["image_source"])["goldens"][0]["state"] == "stuck"
    )
    mark = site.mark()
    result = site.play({f"{PRODUCT}.golden_image_info": {}}).result
    requests = site.since(mark).count()
    assert result["totals"]["by_state"]["ready"] >= 200
    assert result["totals"]["clones"] >= 5000
    assert requests <= 10
    assert result["totals"]["by_state"]["stuck"] == 1
    assert [one["owner_state"] for one in result["leftovers"] if one["owner"] == uid] == ["gone"]
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(ROOT / ".collections")],
        env=site.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(done.stdout.splitlines()[-1])
    print(
        f"big site: {requests} requests, {measured['more']:.0f} MiB more than the {measured['before']:.0f} MiB before"
    )
    assert measured["more"] < 90
