# SPDX-License-Identifier: Apache-2.0
"""Measures one process, from a process that is small itself; prints one JSON object.

python bench/probe.py run COMMAND...               seconds, processor time, peak memory of the largest process of its tree
python bench/probe.py module NAME ARGUMENTS.json   a module of the collection as its own process: its job, all of it, peak memory
python bench/probe.py raw KUBECONFIG PATH RUNS     one list over HTTP with JSON parsing

Peak memory is what the kernel has seen (VmHWM, ru_maxrss). A child that is started from a large process inherits that process's
figure, which is why the benchmark starts everything from here.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

_MODULES = "ansible_collections.cozystack.worker_image.plugins.modules"


def run(command: list[str]) -> dict[str, Any]:
    """``code``, ``output`` (both streams), ``seconds``, ``cpu_seconds`` of the tree, ``peak_mib``."""
    reading, writing = os.pipe()
    started = time.perf_counter()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, writing, 2), (os.POSIX_SPAWN_CLOSE, reading)]
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        output = stream.read()
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - started
    code, text = os.waitstatus_to_exitcode(status), output.decode(errors="replace")
    cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return {"code": code, "output": text, "seconds": seconds, "cpu_seconds": cpu, "peak_mib": peak}


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _begun() -> float:
    """When this process was started, on the monotonic clock of the kernel."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


def module(name: str, arguments: Path) -> dict[str, Any]:
    """``job_seconds`` is reading, judging, planning and writing; ``seconds`` is the process from its start to its printed answer.

    The arguments reach the module as Ansible gives them, so that checking them and printing the answer are counted.
    """
    from ansible.module_utils import basic

    given = json.dumps({"ANSIBLE_MODULE_ARGS": json.loads(arguments.read_text())}).encode()
    basic._ANSIBLE_ARGS, basic._ANSIBLE_PROFILE = given, "legacy"
    face, took = importlib.import_module(f"{_MODULES}.{name}"), []
    job = getattr(face, name)

    def timed(session: Any) -> Any:
        started = time.perf_counter()
        try:
            return job(session)
        finally:
            took.append(time.perf_counter() - started)

    setattr(face, name, timed)
    answer = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(answer):
        face.main()
    seconds = time.clock_gettime(time.CLOCK_BOOTTIME) - _begun()
    result = json.loads(answer.getvalue())
    kept = {key: result.get(key) for key in ("failed", "msg", "changed")}
    figures = {"seconds": seconds, "cpu_seconds": time.process_time(), "peak_mib": _peak_mib()}
    return {"job_seconds": took[0] if took else 0.0, **figures, **kept}


def raw(kubeconfig: Path, path: str, runs: int) -> dict[str, Any]:
    """``seconds`` of each of the lists, each over a connection of its own, and how many ``items`` and ``bytes`` came."""
    import base64
    import http.client
    import ssl
    import tempfile

    import yaml

    known = yaml.safe_load(kubeconfig.read_text())
    cluster, user = known["clusters"][0]["cluster"], known["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as pem:
        pem.write(b"\n".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
        pem.flush()
        context.load_cert_chain(pem.name)
    host, took, items, size = cluster["server"].removeprefix("https://"), [], 0, 0
    for _ in range(runs):
        started = time.perf_counter()
        connection = http.client.HTTPSConnection(host, context=context)
        connection.request("GET", path, headers={"Accept": "application/json", "User-Agent": "raw-list"})
        body = connection.getresponse().read()
        items, size = len(json.loads(body)["items"]), len(body)
        took.append(time.perf_counter() - started)
        connection.close()
    return {"seconds": took, "items": items, "bytes": size}


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "run":
        found = run(rest)
    elif command == "module":
        found = module(rest[0], Path(rest[1]))
    else:
        found = raw(Path(rest[0]), rest[1], int(rest[2]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
