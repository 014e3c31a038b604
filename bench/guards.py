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
from ansible_collections.cozystack.worker_image.plugins.module_utils._pool.pool import Pool

SCHEMATIC = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
GOLDEN = golden_name(SCHEMATIC, "v1.13.6")
PREFIX = "kubernetes-worker-image.cozystack.io"


def site(tenants: int = 50, pools: int = 20, workers: int = 2) -> list[dict[str, Any]]:
    """Objects of a site as the API lists them: pools, their workers' disks, deployments, one golden, two classes."""
    spec = {"storage": {"resources": {"requests": {"storage": "6Gi"}}, "storageClassName": "replicated"}}
    found: list[dict[str, Any]] = [
        {
            "kind": "DataVolume",
            "metadata": {"name": GOLDEN, "namespace": "cozy-public"},
            "spec": spec,
            "status": {"phase": "Succeeded"},
        },
        {"kind": "StorageClass", "metadata": {"name": "replicated"}, "provisioner": "linstor.csi.linbit.com"},
        {"kind": "StorageClass", "metadata": {"name": "local"}, "provisioner": "linstor.csi.linbit.com"},
        {
            "kind": "VirtualMachineClusterInstancetype",
            "metadata": {"name": "u1.medium"},
            "spec": {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}},
        },
    ]
    for tenant in range(tenants):
        namespace = f"tenant-{tenant:02}"
        found.append(
            {
                "kind": "KamajiControlPlane",
                "metadata": {"name": "kubernetes-c", "namespace": namespace},
                "spec": {"version": "v1.35.6"},
            }
        )
        for number in range(pools):
            found += pool_objects(namespace, f"p{number:02}", workers)
    return found


def pool_objects(namespace: str, pool: str, workers: int) -> list[dict[str, Any]]:
    name = f"kubernetes-c-{pool}"
    declared = {
        "cluster": "c",
        "minReplicas": workers,
        "diskSize": "20Gi",
        "storageClass": "replicated",
        "version": "v1.35",
        "instanceType": "u1.medium",
        "roles": ["ingress-nginx"],
        "osImage": {"builtin": {}},
    }
    annotations = {f"{PREFIX}/golden": GOLDEN, f"{PREFIX}/pool": name}
    disk = {
        "source": {"pvc": {"namespace": "cozy-public", "name": GOLDEN}},
        "storage": {"resources": {"requests": {"storage": "20Gi"}}, "storageClassName": "replicated"},
    }
    deployment = {
        "clusterName": "kubernetes-c",
        "template": {"spec": {"version": "v1.35.6", "infrastructureRef": {"name": f"{name}-abc123"}}},
    }
    return [
        {"kind": "KubernetesNodes", "metadata": {"name": f"c-{pool}", "namespace": namespace}, "spec": declared},
        {
            "kind": "MachineDeployment",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "annotations": {"meta.helm.sh/release-name": f"kubernetes-nodes-c-{pool}"},
            },
            "spec": deployment,
        },
        *(
            {
                "kind": "DataVolume",
                "metadata": {"name": f"{name}-{index}-disk-system", "namespace": namespace, "annotations": annotations},
                "spec": disk,
                "status": {"phase": "Succeeded"},
            }
            for index in range(workers)
        ),
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
        "json_megabytes": round(len(text) / 1e6, 2),
        "judge_cpu_seconds": round(judged, 3),
        "parse_cpu_seconds": round(parse, 3),
        "judge_over_parse": round(judged / parse, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    print(json.dumps(measure(parser.parse_args().runs), indent=2))


if __name__ == "__main__":
    main()
