# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.errors import KubeError
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.observe import Objects, Target, observe
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.resources import PACKAGE

from tests.unit._kube.script import NOBODY, Script
from tests.unit._kube.scripted import Scripted, answer, refused

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


def test_objects_are_parsed_once_per_change_and_none_is_dropped() -> None:
    parsed: list[str] = []

    def parse(obj: dict[str, Any]) -> bool | None:
        parsed.append(obj["metadata"]["name"])
        return None if obj["metadata"]["name"] == "other" else obj["ready"]

    target, asked = Target(PACKAGE, parse=parse), []

    def judge(state: Mapping[Target, Objects]) -> bool:
        asked.append(dict(state[target]))
        return bool(state[target]) and all(state[target].values())

    news = Script(
        (0, target, "LIST", [item("a"), item("other")]),
        (60, target, "ADDED", item("b", True)),
        (90, target, "MODIFIED", item("a", True)),
    )
    assert observe(NOBODY, [target], judge, 3600, news)
    assert parsed == ["a", "other", "b", "a"]
    assert len(asked) > 4
    assert asked[-1] == {("", "a"): True, ("", "b"): True}


def test_forty_minutes_pass_in_no_time() -> None:
    started, news = (
        time.monotonic(),
        Script((0, TARGET, "LIST", [item("a")]), (2400, TARGET, "MODIFIED", item("a", True))),
    )
    assert observe(NOBODY, [TARGET], all_ready, 3600, news)
    assert (news.now(), news.ended) == (2400, True)
    assert time.monotonic() - started < 1


AWAY = KubeError("list", "Package", "cannot connect")


def test_an_api_server_that_is_away_is_told_now_and_then_and_waited_for() -> None:
    said: list[str] = []
    news = Script(
        (0, TARGET, "LIST", [item("a")]),
        (5, TARGET, "ERROR", KubeError("watch", "Package", "too old", 410)),
        *[(6 + second, TARGET, "ERROR", AWAY) for second in range(200)],
        (300, TARGET, "LIST", [item("a", True)]),
    )
    assert observe(NOBODY, [TARGET], all_ready, 3600, news, said.append)
    assert said[0] == "Failed to list Package: cannot connect; waiting for the API server to answer again"
    assert said[-1] == "the API server answers again"
    assert len(said) == 6  # a line a minute


def test_one_that_never_answers_is_named_at_the_end() -> None:
    news = Script(*[(second, TARGET, "ERROR", AWAY) for second in range(100)])
    with pytest.raises(KubeError, match="cannot connect"):
        observe(NOBODY, [TARGET], all_ready, 60, news, lambda text: None)
    assert news.now() == 60


def test_the_feed_tries_again_by_itself() -> None:
    said: list[str] = []
    transport = Scripted(refused(), answer(503), listed(item("a", True)))
    client = Client(transport, sleep=lambda _: None, note=said.append)
    assert observe(client, [TARGET], all_ready, 20)
    assert len(said) == 2


def test_rights_end_the_wait_at_once_unless_the_target_is_optional() -> None:
    forbidden, said = KubeError("list", "Package", "403 you may not", 403), []
    news = Script((3, TARGET, "ERROR", forbidden))
    with pytest.raises(KubeError, match="you may not"):
        observe(NOBODY, [TARGET], all_ready, 60, news)
    assert news.now() == 3
    helpful = Target(PACKAGE, "x", optional=True)
    news = Script((0, helpful, "ERROR", forbidden), (1, TARGET, "LIST", [item("a", True)]))
    assert observe(NOBODY, [TARGET, helpful], all_ready, 60, news, said.append)
    assert said == ["Failed to list Package: 403 you may not; going on without"]
