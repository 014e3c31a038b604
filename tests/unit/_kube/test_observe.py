# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.errors import KubeError
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.observe import Objects, Target, observe
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.resources import PACKAGE

from tests.unit._kube.scripted import Scripted, answer

TARGET = Target(PACKAGE)


def item(name: str, ready: bool = False) -> dict[str, Any]:
    return {"metadata": {"name": name}, "ready": ready}


def listed(*items: dict[str, Any]) -> Any:
    return answer(200, {"metadata": {"resourceVersion": "5"}, "items": list(items)})


def all_ready(state: Mapping[Target, Objects]) -> bool:
    return bool(state[TARGET]) and all(obj["ready"] for obj in state[TARGET].values())


def run(transport: Scripted, judge: Any = all_ready, seconds: float = 5) -> bool:
    return observe(Client(transport, sleep=lambda _: None), [TARGET], judge, seconds)


def test_what_is_there_already_needs_no_event() -> None:
    assert run(Scripted(listed(item("a", True))))


def test_an_event_ends_the_wait() -> None:
    stream = [("BOOKMARK", item("")), ("ADDED", item("b")), ("MODIFIED", item("a", True)), ("DELETED", item("b"))]
    assert run(Scripted(listed(item("a")), listed(item("a", True)), streams=[stream, []]))


def test_a_watch_that_is_too_old_lists_again() -> None:
    gone = [("ERROR", {"code": 410, "message": "too old resource version"})]
    assert run(Scripted(listed(item("a")), listed(item("a", True)), streams=[gone, []]))


def test_what_the_judge_raises_ends_the_wait() -> None:
    def judge(state: Mapping[Target, Objects]) -> bool:
        raise LookupError("no future")

    with pytest.raises(LookupError, match="no future"):
        run(Scripted(listed(item("a"))), judge)


def test_a_missing_right_is_not_waited_for() -> None:
    with pytest.raises(KubeError, match="403 you may not"):
        run(Scripted(answer(403, {"message": "you may not"})))


def test_time_over_is_false() -> None:
    class Endless(Scripted):
        def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Any:
            import threading

            threading.Event().wait(2)
            yield from ()

    assert run(Endless(listed(item("a"))), seconds=0.2) is False
