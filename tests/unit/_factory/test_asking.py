# SPDX-License-Identifier: Apache-2.0
"""Patience, probing and registering against a scripted server; time passes only when something sleeps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.facts import Answer, NoAnswer
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.patience import (
    LEAST_SECONDS,
    LONGEST_PAUSE,
    persistently,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.probe import Probe, Target, probe
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.registration import (
    FactoryError,
    Registrar,
    Stored,
)

from tests.unit._factory.scripted import IMAGE, Scripted, Time, text

ID = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
FILE = "openstack-amd64.raw.xz"
BUSY, RESET, SILENT = text(503, "busy"), NoAnswer("reset", "reset by peer"), NoAnswer("silence", "read timed out")
NOT_FOUND = text(404, f'schematic ID "{ID}" not found\n')
MISSING = text(404, "gone\n")
VERSIONS = text(200, '["v1.13.5", "v1.13.6"]', "application/json")
Script = dict[tuple[str, str], Sequence[Answer | NoAnswer]]


def ask(
    answers: list[Answer | NoAnswer], seconds: float = 60
) -> tuple[Answer | NoAnswer, Time, list[str], list[float]]:
    time, told, given = Time(), list[str](), list[float]()

    def attempt(left: float) -> Answer:
        given.append(left)
        answer = answers[min(len(given), len(answers)) - 1]
        if isinstance(answer, NoAnswer):
            raise answer
        return answer

    return persistently(attempt, time.budget(seconds), told.append), time, told, given


def test_transient_answers_are_asked_again_with_growing_pauses() -> None:
    answer, time, told, given = ask([BUSY, RESET, BUSY, IMAGE])
    assert answer is IMAGE
    assert time.slept == [0.5, 1.0, 2.0]
    assert told == ["status 503, asking again", "reset by peer, asking again", "status 503, asking again"]
    assert given == [60, 59.5, 58.5, 56.5]


def test_the_budget_ends_it_with_the_last_answer() -> None:
    answer, time, _, given = ask([BUSY], seconds=600)
    assert answer is BUSY
    assert max(time.slept) == LONGEST_PAUSE
    assert 600 - LONGEST_PAUSE <= time.now < 600
    assert min(given) >= LEAST_SECONDS


@pytest.mark.parametrize("last", [MISSING, SILENT, NoAnswer("refused", ""), NoAnswer("dns", ""), NoAnswer("tls", "")])
def test_final_answers_are_not_asked_again(last: Answer | NoAnswer) -> None:
    answer, time, _, given = ask([last])
    assert (answer, time.slept, len(given)) == (last, [], 1)


def test_retry_after_is_kept_and_no_reason_to_wait_longer_than_the_budget() -> None:
    later = Answer(503, {"retry-after": "7"})
    assert ask([later, IMAGE])[1].slept == [7.0]
    answer, time, _, _ = ask([Answer(503, {"retry-after": "700"})])
    assert (isinstance(answer, Answer), time.slept) == (True, [])


def probed(script: Script, version: str = "v1.13.6", seconds: float = 60) -> tuple[Probe, Scripted, list[str]]:
    server, told = Scripted(script), list[str]()
    return (
        probe(server, Target("https://f.example/talos//", ID, version), Time().budget(seconds), told.append),
        server,
        told,
    )


def test_probe_asks_head_then_the_first_bytes() -> None:
    found, server, told = probed({("HEAD", FILE): [IMAGE], ("GET", FILE): [IMAGE]})
    url = f"https://f.example/talos/image/{ID}/v1.13.6/{FILE}"
    assert server.asked == [("HEAD", url), ("GET", url)]
    assert told[-1] == "ready"
    shown = found.as_dict()
    assert (shown["class"], shown["length"], shown["magic"], shown["attempts"]) == ("ok", 200000000, "fd377a585a00", 2)


def test_probe_waits_for_a_build_that_a_proxy_cuts_off() -> None:
    cut = text(504, "gateway timeout")
    found, _, told = probed({("HEAD", FILE): [cut, cut, RESET, IMAGE], ("GET", FILE): [IMAGE]}, seconds=1500)
    assert found.verdict.ok
    assert (found.attempts, found.seconds) == (5, 3.5)
    assert "status 504, asking again" in told


def test_probe_does_not_ask_again_for_a_malformed_version() -> None:
    broken = text(500, "internal server error")
    found, server, _ = probed({("HEAD", FILE): [broken], ("GET", FILE): [broken]}, "v1.13.06")
    assert (found.verdict.kind, len(server.asked), found.seconds) == ("malformed", 2, 0)


def test_probe_hangs_up_when_nothing_answers_to_head() -> None:
    found, server, _ = probed({("HEAD", FILE): [NoAnswer("refused", "Connection refused")]})
    assert (found.verdict.kind, len(server.asked), found.as_dict()["status"]) == ("not_reachable", 1, 0)


@pytest.mark.parametrize(
    ("schematics", "versions", "version", "kind"),
    [
        (NOT_FOUND, VERSIONS, "v1.13.6", "unknown_schematic"),
        (text(200, "customization: {}\n", "application/yaml"), VERSIONS, "v1.13.99", "unknown_version"),
        (text(404, "404 page not found\n"), VERSIONS, "v1.13.6", "unknown_schematic"),
        (text(404, "404 page not found\n"), VERSIONS, "v1.13.99", "unknown_version"),
        (text(404, "<h1>404</h1>", "text/html"), text(404, "", "text/html"), "v1.13.6", "not_published"),
        (text(200, "<h1>Welcome</h1>", "text/html"), text(200, "<h1>Welcome</h1>", "text/html"), "v1.13.6", "not_published"),
        (SILENT, SILENT, "v1.13.6", "not_published"),
    ],
)  # fmt: skip
def test_probe_asks_further_to_tell_404s_apart(
    schematics: Answer | NoAnswer, versions: Answer | NoAnswer, version: str, kind: str
) -> None:
    script: Script = {
        ("HEAD", FILE): [MISSING],
        ("GET", FILE): [MISSING],
        ("GET", f"/schematics/{ID}"): [schematics],
        ("GET", "/versions"): [versions],
    }
    assert probed(script, version)[0].verdict.kind == kind


# --- registering

YAML = "customization: {}\n"
EMPTY = hashlib.sha256(YAML.encode()).hexdigest()
CREATED = Answer(201, {"content-type": "application/json"}, json.dumps({"id": EMPTY, "schematic": YAML}).encode())


def registrar(script: Script) -> tuple[Registrar, Scripted]:
    server = Scripted(script)
    return Registrar(server, "https://f.example/", Time().budget(30), lambda _: None), server


def test_look_up_finds_what_is_stored() -> None:
    found, server = registrar({("GET", EMPTY): [BUSY, text(200, YAML, "application/yaml")]})
    assert found.look_up(EMPTY) == Stored(EMPTY, YAML)
    assert server.asked == [("GET", f"https://f.example/schematics/{EMPTY}")] * 2


@pytest.mark.parametrize(("answer", "expected"), [(NOT_FOUND, False), (text(404, "404 page not found\n"), None)])
def test_look_up_tells_unknown_from_an_old_factory(answer: Answer, expected: bool | None) -> None:
    assert registrar({("GET", EMPTY): [answer]})[0].look_up(EMPTY) is expected


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (text(200, "<h1>Welcome</h1>", "text/html"), "unexpected"),
        (text(401, "unauthorized"), "unauthorized"),
        (text(502, "bad gateway"), "server_error"),
        (NoAnswer("dns", "unknown"), "not_reachable"),
    ],
)
def test_look_up_fails(answer: Answer | NoAnswer, kind: str) -> None:
    with pytest.raises(FactoryError, match="What to do: ") as caught:
        registrar({("GET", EMPTY): [answer]})[0].look_up(EMPTY)
    assert caught.value.about["class"] == kind


@pytest.mark.parametrize(
    ("answer", "mirror"),
    [
        (VERSIONS, False), (text(404, ""), True), (text(405, ""), True), (text(200, "<h1>", "text/html"), True),
        (text(200, "{}"), True), (text(401, ""), False), (text(503, ""), False),
    ],
)  # fmt: skip
def test_is_mirror(answer: Answer, mirror: bool) -> None:
    assert registrar({("GET", "/versions"): [answer]})[0].is_mirror() is mirror


def test_register_sends_the_bytes_and_reads_the_id() -> None:
    found, server = registrar({("POST", "/schematics"): [BUSY, CREATED]})
    assert found.register(YAML) == Stored(EMPTY, YAML)
    assert server.sent == [YAML.encode()] * 2


@pytest.mark.parametrize(
    ("answer", "kind", "word"),
    [
        (text(400, "yaml: field nonsense not found\n"), "malformed", "field nonsense not found"),
        (text(405, "not allowed"), "not_a_factory", "plain mirror"),
        (text(404, ""), "not_a_factory", "plain mirror"),
        (text(201, "[]"), "unexpected", "no schematic ID"),
        (text(201, "<h1>"), "unexpected", "no schematic ID"),
        (Answer(301, {"location": "https://f.example/schematics"}), "unexpected", "https://f.example/schematics"),
        (text(403, "no"), "unauthorized", "403: no"),
    ],
)
def test_register_fails(answer: Answer, kind: str, word: str) -> None:
    with pytest.raises(FactoryError) as caught:
        registrar({("POST", "/schematics"): [answer]})[0].register(YAML)
    assert caught.value.about["class"] == kind
    assert word in str(caught.value)
