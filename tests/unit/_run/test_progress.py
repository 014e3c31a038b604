# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from pathlib import Path

from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import (
    VARIABLE,
    Reporter,
    file_writer,
)
from ansible_collections.cozystack.worker_image.plugins.plugin_utils._progress import follow


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def told(*steps: tuple[float, str, str]) -> list[str]:
    """Lines written for (seconds since the start, state, text)."""
    clock, lines = Clock(), []
    reporter = Reporter(lines.append, clock)
    for seconds, state, text in steps:
        clock.now = 100.0 + seconds
        reporter.tell(state, text)
    return lines


def test_a_change_of_state_is_a_line_and_a_repetition_is_not() -> None:
    assert told((0, "a", "importing"), (1, "a", "importing"), (2, "b", "ready")) == [
        "   0 s  importing",
        "   2 s  ready",
    ]


def test_states_that_pass_at_once_are_no_flood() -> None:
    assert told((0, "a", "a"), (0.1, "b", "b"), (0.5, "c", "c"), (1.2, "d", "d")) == ["   0 s  a", "   1 s  d"]


def test_moving_numbers_are_shown_now_and_then() -> None:
    steps = [(second, "importing", f"{second} %") for second in range(100)]
    assert [line.split("  ")[-1].strip() for line in told(*steps)] == [
        "0 %",
        "15 %",
        "30 %",
        "45 %",
        "60 %",
        "75 %",
        "90 %",
    ]


def test_there_is_no_silent_minute() -> None:
    assert len(told(*[(second, "a", "same") for second in range(0, 300, 5)])) == 5


def test_lines_reach_the_screen_whole(tmp_path: Path) -> None:
    path, end, shown = tmp_path / "progress", threading.Event(), []
    path.write_text("")
    write = file_writer({VARIABLE: str(path)})
    write("one\ntwo")
    write("three")
    end.set()
    follow(str(path), shown.append, end)
    assert shown == ["one two", "three"]


def test_without_a_follower_nothing_is_written(tmp_path: Path) -> None:
    file_writer({})("lost")
    file_writer({VARIABLE: str(tmp_path / "gone")})("lost")
    assert list(tmp_path.iterdir()) == []
