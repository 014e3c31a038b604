# SPDX-License-Identifier: Apache-2.0
"""Killed in the middle of an upload, CDI waits for the bytes anew, behind the same address and with the same tokens."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from lab import instance, processes
from lab.instance import Options
from lab.scenarios.waiting import phase
from tests.lab.helpers import Bench, play
from tests.lab.test_upload import RAW, XZ, script, send, target, token

_NAMESPACE = "upload-killed"


async def _interrupted(bench: Bench) -> None:
    namespace, bearer = await target(bench, _NAMESPACE)
    (bench.home / "token").write_text(bearer)
    await script(bench, namespace, "slow", bytes_per_second=100_000)
    sending = asyncio.create_task(send(bench, bearer, XZ))
    while not bench.volume(namespace, "golden").with_suffix(".upload").exists():
        await asyncio.sleep(0.01)  # a file cannot be watched
    os.kill(json.loads((bench.home / "controllers.json").read_text())["pid"], signal.SIGKILL)
    assert (await sending).status == 0


async def _resumed(bench: Bench) -> None:
    await bench.disk(_NAMESPACE, "golden", lambda one: phase(one) == "UploadReady")
    while (answer := await send(bench, (bench.home / "token").read_text(), XZ)).status == 503:
        await asyncio.sleep(0.02)
    assert answer.status == 200
    await bench.succeeded(_NAMESPACE, "golden")
    assert bench.volume(_NAMESPACE, "golden").read_bytes() == RAW
    assert not list(bench.volume(_NAMESPACE, "golden").parent.glob("*.upload"))
    assert await token(bench, _NAMESPACE, "golden")


@pytest.mark.lab
def test_killed_in_the_middle_of_an_upload(home: Path) -> None:
    instance.up(home, Options(), lambda _: None)
    asyncio.run(play(home, _interrupted))
    known = json.loads((home / "controllers.json").read_text())
    (home / "controllers.json").unlink()
    command = [sys.executable, "-m", "lab.controllers", "--home", str(home)]
    processes.spawn(home, "controllers", command, cwd=Path(__file__).parents[2])
    asyncio.run(_until_ready(home))
    again = json.loads((home / "controllers.json").read_text())
    assert (again["pid"] != known["pid"], again["upload_proxy"]) == (True, known["upload_proxy"])
    asyncio.run(play(home, _resumed))


async def _until_ready(home: Path) -> None:
    async with asyncio.timeout(60):
        while not (home / "controllers.json").exists():
            await asyncio.sleep(0.05)
