# SPDX-License-Identifier: Apache-2.0
"""What judging 1,000 pools of 50 tenants costs in CPU, as a ratio to parsing the same objects from JSON.

python bench/guards.py [--runs N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".collections"))

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.judge import judge_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.golden import golden_name
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import POOL_DEFAULTS, Pool

SCHEMATIC = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
GOLDEN = golden_name(SCHEMATIC, "v1.13.6")
LIMIT = 5
PREFIX = "kubernetes-worker-image.cozystack.io"


TIME = "2026-09-01T10:00:00Z"
READY = [
    {
        "type": kind,
        "status": "True",
        "reason": "Done",
        "message": "",
        "lastTransitionTime": TIME,
        "lastHeartbeatTime": TIME,
    }
    for kind in ("Bound", "Running", "Ready")
]


def fields_of(value: Any) -> Any:
    """The ``fieldsV1`` tree that an API server keeps for a value."""
    return {f"f:{key}": fields_of(inner) for key, inner in value.items()} if isinstance(value, dict) else {}


def served(
    kind: str, name: str, namespace: str, spec: Any, status: Any, managed: bool = True, **metadata: Any
) -> dict[str, Any]:
    """An object as an API server lists it, with what it adds to what was written."""
    owned = {"f:metadata": fields_of(metadata), "f:spec": fields_of(spec)}
    common = {"operation": "Update", "apiVersion": "v1beta1", "time": TIME, "fieldsType": "FieldsV1"}
    managers = [
        {"manager": "writer", "fieldsV1": owned, **common},
        {"manager": "controller", "subresource": "status", "fieldsV1": {"f:status": fields_of(status)}, **common},
    ]
    added = {
        "uid": "00000000-0000-4000-8000-000000000001",
        "resourceVersion": "123456",
        "generation": 1,
        "creationTimestamp": TIME,
    }
    if managed:
        added["managedFields"] = managers
    found = {"kind": kind, "metadata": {"name": name, **added, **metadata}, "spec": spec, "status": status}
    if namespace:
        found["metadata"]["namespace"] = namespace
    return found


def disk_spec(size: str, source: dict[str, Any]) -> dict[str, Any]:
    storage = {"resources": {"requests": {"storage": size}}, "storageClassName": "replicated"}
    return {"contentType": "kubevirt", "source": source, "storage": storage}


def site(tenants: int = 50, pools: int = 20, workers: int = 2) -> list[dict[str, Any]]:
    """Everything that pools are judged by, as listed: pools, releases, deployments, disks, one golden, two classes."""
    done = {"phase": "Succeeded", "progress": "100.0%", "claimName": GOLDEN, "conditions": READY}
    size = {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}}
    golden = disk_spec(
        "6Gi", {"http": {"url": f"https://factory.talos.dev/image/{SCHEMATIC}/v1.13.6/openstack-amd64.raw.xz"}}
    )
    found = [
        served("DataVolume", GOLDEN, "cozy-public", golden, done),
        served("StorageClass", "replicated", "", {}, {}),
        served("StorageClass", "local", "", {}, {}),
        served("VirtualMachineClusterInstancetype", "u1.medium", "", size, {}),
    ]
    for tenant in range(tenants):
        namespace = f"tenant-{tenant:02}"
        control_plane = {"version": "v1.35.6", "replicas": 2}
        found.append(served("KamajiControlPlane", "kubernetes-c", namespace, control_plane, {"conditions": READY}))
        for number in range(pools):
            found += pool_objects(namespace, f"p{number:02}", workers)
    return found


def pool_objects(namespace: str, pool: str, workers: int) -> list[dict[str, Any]]:
    name, release = f"kubernetes-c-{pool}", f"kubernetes-nodes-c-{pool}"
    declared = {
        **POOL_DEFAULTS,
        "cluster": "c",
        "minReplicas": workers,
        "roles": ["ingress-nginx"],
        "osImage": {"builtin": {}},
    }
    status = {"version": "0.1.0", "conditions": READY}
    identity = {"kind": "KubernetesNodes", "group": "apps.cozystack.io", "name": f"c-{pool}"}
    app = {f"apps.cozystack.io/application.{key}": value for key, value in identity.items()}
    chart = {
        "interval": "5m0s",
        "maxHistory": 5,
        "chartRef": {"kind": "ExternalArtifact", "name": "x", "namespace": "cozy-system"},
    }
    labels = {"cluster.x-k8s.io/cluster-name": "kubernetes-c", "cluster.x-k8s.io/deployment-name": name}
    references = {
        "version": "v1.35.6",
        "clusterName": "kubernetes-c",
        "bootstrap": {"configRef": {"kind": "TalosConfigTemplate", "name": name, "namespace": namespace}},
        "infrastructureRef": {"kind": "KubevirtMachineTemplate", "name": f"{name}-abc123", "namespace": namespace},
    }
    deployment = {
        "clusterName": "kubernetes-c",
        "replicas": workers,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": references},
    }
    source = {"pvc": {"namespace": "cozy-public", "name": GOLDEN}}
    annotations = {f"{PREFIX}/golden": GOLDEN, f"{PREFIX}/pool": name, "cdi.kubevirt.io/allowClaimAdoption": "true"}
    disks = [
        served(
            "DataVolume",
            f"{name}-{index}-disk-system",
            namespace,
            disk_spec("20Gi", source),
            {
                "phase": "Succeeded",
                "progress": "100.0%",
                "claimName": f"{name}-{index}-disk-system",
                "conditions": READY,
            },
            annotations=annotations,
        )
        for index in range(workers)
    ]
    return [
        served("KubernetesNodes", f"c-{pool}", namespace, declared, status, managed=False),
        served("HelmRelease", release, namespace, {**chart, "values": declared}, status, labels=app),
        served(
            "MachineDeployment", name, namespace, deployment, status, annotations={"meta.helm.sh/release-name": release}
        ),
        *disks,
    ]


def cpu(runs: int, work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def measure(runs: int) -> dict[str, Any]:
    text = json.dumps(site())
    objects = json.loads(text)

    def judge() -> Any:
        pools = [Pool.from_api(item) for item in objects if item["kind"] == "KubernetesNodes"]
        return judge_pools(pools, ClusterState.from_objects(objects))

    verdict = judge()
    if verdict.refusals:
        sys.exit(f"bench: the site should be sound: {verdict.refusal_text()[:500]}")
    parse, judged = cpu(runs, lambda: json.loads(text)), cpu(runs, judge)
    return {
        "pools": 1000,
        "objects": len(objects),
        "json_megabytes": round(len(text) / 1e6, 1),
        "judge_cpu_seconds": round(judged, 3),
        "parse_cpu_seconds": round(parse, 3),
        "judge_over_parse": round(judged / parse, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    figures = measure(parser.parse_args().runs)
    print(json.dumps(figures, indent=2))
    if figures["judge_over_parse"] > LIMIT:
        sys.exit(f"bench: judging costs {figures['judge_over_parse']} times the parsing, more than {LIMIT}")


if __name__ == "__main__":
    main()
