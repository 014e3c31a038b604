# SPDX-License-Identifier: Apache-2.0
"""Start, stop, crash and recover a lab."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import instance, processes, servers
from lab import running as running_room
from lab.instance import LabError, Options
from lab.processes import Process, ProcessDied

pytestmark = pytest.mark.lab
BARE = Options(("all",))


def running(home: Path) -> list[int]:
    """Every process of this machine whose command line names the home, except Python's own (the CLI)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        program = Path(words[0]).name
        if program in ("etcd", "kube-apiserver") and any(f"{home}/" in word for word in words):
            found.append(int(path.parent.name))
    return sorted(found)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.005)


def pids(home: Path) -> dict[str, int]:
    return {process.name: process.pid for process in processes.records(home)}


def quiet(_: str) -> None:
    pass


def test_up_twice_down_twice(home: Path, cli: Callable[..., tuple[int, str, str]]) -> None:
    code, _, errors = cli("up", "--home", home, "--without", "all")
    assert code == 0, errors
    first = pids(home)
    assert set(first) == {"etcd", "kube-apiserver"}
    about = json.loads((home / "lab.json").read_text())
    expected = {name: {"pid": pid, "started": processes.start_time(pid)} for name, pid in first.items()}
    assert about["processes"] == expected

    code, _, errors = cli("up", "--home", home, "--without", "all")
    assert (code, pids(home)) == (0, first)
    assert "already up" in errors

    code, _, errors = cli("up", "--home", home)
    assert code == 1
    assert "a lab with --without all runs" in errors

    code, output, _ = cli("status", "--home", home)
    assert code == 0
    assert about["apiserver"] in output
    code, output, _ = cli("env", "--home", home)
    assert f"export KUBECONFIG={home}/kubeconfig" in output.splitlines()

    assert cli("down", "--home", home)[0] == 0
    assert running(home) == []
    assert (home / "audit.log").stat().st_size > 0, "the audit log stays"
    assert cli("down", "--home", home)[0] == 0
    assert cli("status", "--home", home)[0] == 1
    code, _, errors = cli("env", "--home", home)
    assert code == 1
    assert "no lab is up" in errors


@pytest.mark.parametrize("victims", [("kube-apiserver",), ("etcd", "kube-apiserver")])
def test_up_after_a_killed_process(home: Path, victims: tuple[str, ...]) -> None:
    old = instance.up(home, BARE, quiet)["processes"]
    (home / "volumes" / "disk").write_text("of the earlier life")
    for name in victims:
        os.kill(old[name]["pid"], signal.SIGKILL)
    until(lambda: all(processes.start_time(old[name]["pid"]) is None for name in victims))
    text, fine = instance.status(home)
    assert not fine
    assert all(f"{name} ended" in text or f"{name}, " in text for name in victims)

    new = instance.up(home, BARE, quiet)["processes"]
    assert running(home) == sorted(process["pid"] for process in new.values())
    assert not {p["pid"] for p in new.values()} & {p["pid"] for p in old.values()}
    assert not (home / "volumes" / "disk").exists()


MOMENTS = {
    "etcd is there": lambda home: (home / "run" / "etcd.json").exists(),
    "kube-apiserver is there": lambda home: (home / "run" / "kube-apiserver.json").exists(),
    "base objects are written": lambda home: "storageprofiles/local" in read(home / "audit.log"),
}


def read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


@pytest.mark.parametrize("moment", MOMENTS)
def test_up_after_a_killed_up(home: Path, start_cli: Callable[..., subprocess.Popen[str]], moment: str) -> None:
    process = start_cli("up", "--home", home, "--without", "all")
    until(lambda: MOMENTS[moment](home))
    process.kill()
    process.wait()
    left = running(home)
    assert left, "this test wants something to be left over"

    about = instance.up(home, BARE, quiet)
    assert running(home) == sorted(process["pid"] for process in about["processes"].values())
    assert not set(running(home)) & set(left)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_interrupted_up_leaves_nothing(
    home: Path, start_cli: Callable[..., subprocess.Popen[str]], number: int, code: int
) -> None:
    process = start_cli("up", "--home", home, "--without", "all")
    until(lambda: (home / "run" / "kube-apiserver.json").exists())
    process.send_signal(number)
    assert process.wait(30) == code
    assert running(home) == []


def test_two_ups_at_once_start_one_lab(home: Path, start_cli: Callable[..., subprocess.Popen[str]]) -> None:
    both = [start_cli("up", "--home", home, "--without", "all") for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    assert sum("already up" in text for text in errors) == 1
    assert sum("waiting for another lab command" in text for text in errors) == 1
    assert len(running(home)) == 2


def test_two_labs_at_once(home: Path, bare_lab) -> None:
    other = instance.up(home, BARE, quiet)
    assert other["apiserver"] != bare_lab.about["apiserver"]
    instance.down(home, quiet)
    assert running(home) == []
    assert instance.healthy(bare_lab.home), "stopping one lab must not touch another"


@pytest.fixture
def sleeper(home: Path):
    """A process that is none of the lab's; the function gives it a command line."""
    started = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "import time; time.sleep(600)", *words]
        started.append(subprocess.Popen(command))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("names_home", "shift"),
    [(False, 0), (True, 1)],
    ids=["same pid and start, other command line", "same pid and command line, other start"],
)
def test_foreign_process_with_a_recorded_pid_is_not_touched(home: Path, sleeper, names_home: bool, shift: int) -> None:
    instance.down(home, quiet)
    process = sleeper(*([f"--data-dir={home}/etcd"] if names_home else []))
    until(lambda: b"sleep" in Path(f"/proc/{process.pid}/cmdline").read_bytes())
    started = processes.start_time(process.pid)
    assert started
    with instance.locked(home, quiet):
        record = home / "run" / "etcd.json"
        record.parent.mkdir()
        record.write_text(json.dumps({"name": "etcd", "pid": process.pid, "started": started + shift}))
    assert processes.is_ours(Process("etcd", process.pid, started), home) is names_home
    said: list[str] = []
    instance.down(home, said.append)
    assert said == ["nothing runs"]
    assert process.poll() is None, "a process that is not the lab's was stopped"


def test_own_process_is_stopped_even_if_it_ignores_term(home: Path) -> None:
    with instance.locked(home, quiet):
        code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(99)"
        process = processes.spawn(home, "stubborn", [sys.executable, "-c", code, str(home)])
        until(lambda: "on" in read(processes.log_path(home, "stubborn")))
        assert processes.stop_all(home, grace=0.1) == ["stubborn"]
    assert processes.start_time(process.pid) is None


def test_own_process_is_stopped_without_pidfds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    with instance.locked(home, quiet):
        process = processes.spawn(home, "plain", [sys.executable, "-c", "import time; time.sleep(99)", str(home)])
        assert processes.stop_all(home) == ["plain"]
    assert processes.start_time(process.pid) is None


def test_half_written_record_is_ignored(home: Path) -> None:
    with instance.locked(home, quiet):
        (home / "run").mkdir()
        (home / "run" / "etcd.json").write_text('{"name": "etcd", "pi')
    said: list[str] = []
    instance.down(home, said.append)
    assert said == ["nothing runs"]


@pytest.mark.parametrize("position", [0, 2], ids=["etcd", "kube-apiserver"])
def test_taken_port_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch, position: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        choose, calls = servers.free_ports, []

        def once_taken(count: int) -> list[int]:
            ports = choose(count)
            if not calls:
                ports[position] = taken.getsockname()[1]
            calls.append(ports)
            return ports

        monkeypatch.setattr(servers, "free_ports", once_taken)
        said: list[str] = []
        about = instance.up(home, BARE, said.append)
    assert len(calls) == 2
    assert about["apiserver"].endswith(f":{calls[1][2]}")
    assert "a port was taken meanwhile; trying others" in said
    assert len(running(home)) == 2


def test_home_with_other_files_is_refused(home: Path) -> None:
    (home / "etcd").mkdir(parents=True)
    (home / "etcd" / "mine").write_text("precious")
    with pytest.raises(LabError, match="holds other files and is no lab home"):
        instance.up(home, BARE, quiet)
    assert (home / "etcd" / "mine").read_text() == "precious"


class TestControllers:
    """With stand-ins for the controllers' process."""

    def fake(self, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
        monkeypatch.setattr(
            instance, "controllers_command", lambda home, _: [sys.executable, "-c", code, str(home)]
        )  # fmt: skip

    def test_answer_goes_into_lab_json(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        answer = {
            "image_source": "http://127.0.0.1:1",
            "control": "http://127.0.0.1:2",
            "apps_api": "https://127.0.0.1:3",
        }
        self.fake(
            monkeypatch,
            f"import pathlib, sys, time; pathlib.Path(sys.argv[1], 'controllers.json').write_text('''{json.dumps(answer)}''');"
            " time.sleep(600)",
        )
        about = instance.up(home, Options(), quiet)
        assert {key: about[key] for key in answer} == answer
        assert set(about["processes"]) == {"etcd", "kube-apiserver", "controllers"}
        assert instance.environment(home)["LAB_IMAGE_SOURCE"] == answer["image_source"]
        assert instance.healthy(home)
        os.kill(about["processes"]["controllers"]["pid"], signal.SIGKILL)
        until(lambda: not instance.healthy(home))

    def test_death_is_told_with_the_end_of_the_log(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake(monkeypatch, "raise SystemExit('no luck today')")
        with pytest.raises(ProcessDied, match=r"(?s)controllers ended.*no luck today"):
            instance.up(home, Options(), quiet)
        assert running(home) == []


def test_run_gives_environment_and_exit_code(cli: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    check = "import os, sys; print(os.environ['LAB_HOME']); sys.exit(os.environ['KUBECONFIG'] and 7)"
    code, output, errors = cli("run", "--without", "all", "--", sys.executable, "-c", check, TMPDIR=str(tmp_path))
    assert code == 7, errors
    used = Path(output.strip())
    assert not used.exists()
    assert running(used) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_passes_a_signal_on_and_cleans_up(
    home: Path, start_cli: Callable[..., subprocess.Popen[str]], tmp_path: Path, number: int
) -> None:
    process = start_cli(
        "run", "--home", home, "--without", "all", "--",
        "sh", "-c", f"echo $$ > {tmp_path}/pid; mv {tmp_path}/pid {tmp_path}/on; exec sleep 600",
    )  # fmt: skip
    until((tmp_path / "on").exists)
    process.send_signal(number)
    assert process.wait(30) == 128 + number
    assert processes.start_time(int(read(tmp_path / "on"))) is None, "the command still runs"
    assert running(home) == []


def test_execute_signal_during_the_start_reaches_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen

    def signalled(*arguments, **options) -> subprocess.Popen[bytes]:
        os.kill(os.getpid(), signal.SIGTERM)
        return start(*arguments, **options)

    monkeypatch.setattr(running_room.subprocess, "Popen", signalled)
    assert running_room._execute(["sleep", "60"], dict(os.environ)) == 143


def test_run_leaves_a_lab_that_ran_before(bare_lab, cli: Callable[..., tuple[int, str, str]]) -> None:
    code, output, errors = cli("run", "--home", bare_lab.home, "--without", "all", "--", "printenv", "LAB_HOME")
    assert (code, output.strip()) == (0, str(bare_lab.home)), errors
    assert instance.healthy(bare_lab.home)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frob"], "invalid choice: 'frob'"),
        (["up", "--without", "cdo"], "invalid choice: 'cdo'"),
        (["run"], "run needs a command"),
        (["ledger", "--since", "yesterday"], "'yesterday' is no mark"),
    ],
)
def test_bad_input_is_one_line(cli: Callable[..., tuple[int, str, str]], arguments: list[str], message: str) -> None:
    code, output, errors = cli(*arguments)
    assert (code, output) == (2, "")
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_token_request_and_rbac(bare_lab) -> None:
    """Service-account tokens work, and they may only what a role says."""

    async def ask() -> tuple[bool, bool]:
        async with bare_lab.api() as api:
            account = {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "me", "namespace": "tenant-root"},
            }
            await api.ensure(account)
            path = "/api/v1/namespaces/tenant-root/serviceaccounts/me/token"
            answer = await api.request(
                "POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
            )
            review = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": answer["status"]["token"]},
            }
            known = await api.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
            attributes = {
                "group": "cdi.kubevirt.io", "resource": "datavolumes", "subresource": "source",
                "verb": "create", "namespace": "cozy-public",
            }  # fmt: skip
            groups = ["system:serviceaccounts", "system:serviceaccounts:tenant-root", "system:authenticated"]
            allowed = []
            for user, its_groups in (
                ("system:serviceaccount:tenant-root:me", groups),
                ("jane", ["system:authenticated"]),
            ):
                spec = {"user": user, "groups": its_groups, "resourceAttributes": attributes}
                body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
                answer = await api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
                allowed.append(answer["status"]["allowed"])
            assert allowed == [True, False]
            return known["status"]["authenticated"], known["status"]["user"]["username"]

    assert asyncio.run(ask()) == (True, "system:serviceaccount:tenant-root:me")
