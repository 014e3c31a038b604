# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes pools, several at a time. After the first failure no write begins; what was written is known by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .._kube.client import Client
from .._kube.errors import KubeError
from .._kube.resources import KUBERNETES_NODES
from .._plan.plan import CREATE, Step
from .._plan.pools import dropped_fields
from .._pool.pool import Pool

T = TypeVar("T")


@dataclass
class Written:
    """In the order of the steps: subjects that were written, those that met a conflict (409), and what ended the writing.

    ``lost`` are declared fields that the stored object does not show, by subject.
    """

    done: list[str] = field(default_factory=list)
    conflicts: dict[str, KubeError] = field(default_factory=dict)
    lost: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, KubeError] = field(default_factory=dict)


def write_pools(client: Client, work: Sequence[tuple[Step, Pool]], parallel: int) -> Written:
    """Send the steps of these pools, at most ``parallel`` at a time."""
    written = Written()

    def send(item: tuple[Step, Pool]) -> list[str]:
        step, pool = item
        return dropped_fields(pool, send_pool(client, step, pool))

    answers = in_parallel(work, send, parallel, stops=lambda error: not error.conflict)
    for (_, pool), answer in zip(work, answers, strict=True):
        if isinstance(answer, KubeError):
            (written.conflicts if answer.conflict else written.errors)[pool.subject] = answer
        elif answer is not None:
            written.done.append(pool.subject)
            if answer:
                written.lost[pool.subject] = answer
    return written


def in_parallel(
    work: Sequence[Any],
    act: Callable[[Any], T],
    parallel: int,
    stops: Callable[[KubeError], bool] = lambda error: True,
) -> list[T | KubeError | None]:
    """What each call returned or failed with, in the order of ``work``; None where an earlier failure kept it from being made.

    ``stops`` says which failures do. A truthy answer list of lost fields stops, too: the next object would lose them as well.
    """
    halted = False

    def one(item: Any) -> T | KubeError | None:
        nonlocal halted
        if halted:
            return None
        try:
            answer = act(item)
        except KubeError as error:
            halted = halted or stops(error)
            return error
        halted = halted or (isinstance(answer, list) and bool(answer))
        return answer

    if parallel <= 1 or len(work) <= 1:
        return [one(item) for item in work]
    with ThreadPoolExecutor(max_workers=min(parallel, len(work))) as workers:
        return list(workers.map(one, work))


def send_pool(client: Client, step: Step, pool: Pool) -> Mapping[str, Any]:
    """One write; the aggregated API answers with the object as it is stored, defaults filled in. Errors: KubeError."""
    if step.action != CREATE:
        return client.merge_patch(KUBERNETES_NODES, step.name, step.payload, step.namespace)
    try:
        return client.create(KUBERNETES_NODES, step.payload, step.namespace)
    except KubeError as error:
        if error.status != 500 or "already exists" not in error.cause:
            raise
        # So this API tells a conflict. Somebody was faster, or it was us and the answer got lost: look again, judge again.
        raise KubeError(error.verb, error.subject, error.cause, 409, "AlreadyExists") from error
