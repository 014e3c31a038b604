# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Delete pools. The platform takes release, MachineDeployment, machines and disks with them; goldens stay."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._guard.findings import Finding, Verdict
from .._guard.state import ClusterState
from .._kube.errors import KubeError
from .._kube.resources import DATA_VOLUME, KUBERNETES_NODES, MACHINE_DEPLOYMENT
from .._kube.snapshot import Scope, Snapshot
from .._plan.batches import Key
from .._plan.plan import Plan, Step
from .._plan.pools import LivePool, delete_step
from .._pool.pool import Pool
from .approved import check_approved
from .entry import Session
from .failures import Failure, Refusal
from .pool_wait import wait_gone
from .pool_write import in_parallel
from .results import outcome, settled_by
from .rolling import concerned_by

_INGRESS = "ingress-nginx"


def remove(session: Session, pools: Sequence[Pool], frozen: Collection[str]) -> dict[str, Any]:
    """The module's job for ``state: absent``. Errors: Refusal, Failure, WaitFailure, KubeError."""
    params = session.params
    live, cluster = _read(session, pools)
    found = {(pool.namespace, pool.name): pool for pool in pools}
    gone = {key: live[key] for key, pool in found.items() if key in live and pool.subject not in frozen}
    steps = {key: _step(found[key], one, cluster) for key, one in gone.items()}
    plan = Plan(tuple(steps.values()))
    verdict = settled_by(params, _verdict(found, gone, live))

    def result(done: Plan = plan, **more: Any) -> dict[str, Any]:
        return outcome(done, verdict, pools=[_report(pool, steps, live) for pool in pools], **more)

    if verdict.refused:
        raise Refusal(verdict, **result(Plan()))
    check_approved(params, plan, **{**result(), "changed": False})
    if session.check_mode or not steps:
        return result()
    deleted = _delete(session, plan, result)
    if params["wait"] != "none":
        wait_gone(session, [found[key] for key in steps], params["wait"], float(params["wait_timeout"]))
    return result(written=deleted)


def _read(session: Session, pools: Sequence[Pool]) -> tuple[Mapping[Key, LivePool], ClusterState]:
    names = tuple(sorted({pool.namespace for pool in pools}))
    only = names[0] if len(names) == 1 else None
    scopes = [Scope(kind, only, names) for kind in (KUBERNETES_NODES, MACHINE_DEPLOYMENT, DATA_VOLUME)]
    snapshot = Snapshot(session.client).read(scopes, required=[KUBERNETES_NODES])
    live = [LivePool.from_api(item) for item in snapshot.lists[KUBERNETES_NODES]]
    cluster = ClusterState.from_lists(
        data_volumes=snapshot.items(DATA_VOLUME), machine_deployments=snapshot.items(MACHINE_DEPLOYMENT)
    )
    return {(one.namespace, one.name): one for one in live}, cluster


def _step(pool: Pool, live: LivePool, cluster: ClusterState) -> Step:
    full = pool.with_spec(live.spec)
    concerned = concerned_by(full, cluster)
    disks = len(cluster.disks_of(pool.namespace, full.object_name))
    if disks and concerned.workers is not None and disks > concerned.workers:
        # More boot disks than workers, in the middle of a roll for instance.
        each = concerned.bytes // concerned.workers if concerned.bytes and concerned.workers else None
        concerned = replace(concerned, disks=disks, bytes=each * disks if each else concerned.bytes)
    return replace(
        delete_step(live), concerned=concerned, effect="workers are deleted with their disks; the golden image stays"
    )


def _verdict(found: Mapping[Key, Pool], gone: Mapping[Key, LivePool], live: Mapping[Key, LivePool]) -> Verdict:
    refusals = []
    for key, one in gone.items():
        cluster = one.spec.get("cluster")
        if cluster and cluster != found[key].cluster:
            refusals.append(_foreign(found[key], cluster))
    return Verdict(tuple(refusals), tuple(_without_ingress(gone, live)))


def _foreign(pool: Pool, cluster: Any) -> Finding:
    """shop + md-0 and shop-md + 0 make the same name."""
    return Finding(
        "pool-of-another-cluster",
        f"{pool.subject} spec.cluster",
        f"{pool.subject} belongs to cluster {cluster}, and not to cluster {pool.cluster} as declared",
        f"declare it with cluster {cluster} if it really is to go; else correct the names",
        {"live": cluster, "declared": pool.cluster},
    )


def _without_ingress(gone: Mapping[Key, LivePool], live: Mapping[Key, LivePool]) -> Iterator[Finding]:
    """Clusters that lose their last pool for ingress."""
    lost = {(one.namespace, one.spec.get("cluster")): key for key, one in gone.items() if _ingress(one)}
    for (namespace, cluster), key in lost.items():
        rest = [
            other
            for place, other in live.items()
            if place not in gone
            and (other.namespace, other.spec.get("cluster")) == (namespace, cluster)
            and _ingress(other)
        ]
        if not rest:
            yield Finding(
                "last-ingress-pool",
                f"{namespace}/{gone[key].name} spec.roles",
                f"no other pool of cluster {cluster} has the role {_INGRESS}: what it serves is not reachable without",
                f"give another pool of the cluster the role {_INGRESS} first",
                {"cluster": cluster},
            )


def _ingress(pool: LivePool) -> bool:
    roles = pool.spec.get("roles")
    return isinstance(roles, (list, tuple)) and _INGRESS in roles


def _delete(session: Session, plan: Plan, result: Any) -> list[str]:
    def delete(step: Step) -> bool:
        return session.client.delete(KUBERNETES_NODES, step.name, step.namespace)

    answers = in_parallel(plan.steps, delete, session.params["parallel"])
    done = [
        f"{step.namespace}/{step.name}"
        for step, answer in zip(plan.steps, answers, strict=True)
        if isinstance(answer, bool)
    ]
    for answer in answers:
        if isinstance(answer, KubeError):
            told = f" (deleted so far: {', '.join(done)}; run again to go on)" if done else " (nothing was deleted)"
            raise Failure(f"{answer}{told}", **{**result(written=done), **answer.as_dict(), "changed": bool(done)})
    return done


def _report(pool: Pool, steps: Mapping[Key, Step], live: Mapping[Key, LivePool]) -> dict[str, Any]:
    key = (pool.namespace, pool.name)
    step = steps.get(key)
    concerned = step.concerned.as_dict() if step and step.concerned else None
    action = step.action if step else "frozen" if key in live else "none"
    return {
        "namespace": pool.namespace,
        "name": pool.name,
        "cluster": pool.cluster,
        "pool": pool.pool,
        "action": action,
        "rolls_workers": step is not None,
        "concerned": concerned,
    }
