# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send a local file into a golden that waits for it, through CDI's upload proxy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._image.disk_file import DiskFile, WrongFile, inspect, sha256_of
from .._image.golden import GOLDEN_NAMESPACE
from .._image.wanted import WantedGolden
from .._kube.errors import ConnectionOptionError, KubeError
from .._kube.observe import Objects, Target, observe
from .._kube.resources import CDI_CONFIG, DATA_VOLUME
from .._kube.upload import Ambiguous, UploadTarget, send_file, upload_target, upload_token
from .._storage.golden import FAILING, IN_TROUBLE, NOT_PROGRESSING, golden_state
from .._storage.objects import DataVolume
from .entry import Session
from .failures import WaitFailure

# CDI makes a claim and starts a pod before it takes a file.
_READY_SECONDS = 600.0
# After an answer that was lost: how long CDI may still be busy with what it has.
_SETTLE_SECONDS = 120.0
_ROUNDS = 3


@dataclass(frozen=True)
class Source:
    """The file to send and where to. Blank everywhere when nothing is sent; a problem is for the rules to report."""

    path: str = ""
    file: DiskFile | None = None
    checksum: str = ""
    target: UploadTarget | None = None
    problem: str = ""
    proxy_problem: str = ""


def source_of(session: Session, wanted: WantedGolden) -> Source:
    """Look at the file and find the proxy, before anything is written. Its whole sum is compared when a checksum is declared."""
    params, path = session.params, str(session.params["src"])
    file, checksum, problem = None, "", ""
    try:
        file = inspect(path)
        digest = sha256_of(path, lambda done, total: _tell(session, "reading", path, done, total))
        checksum = f"sha256:{digest}"
        problem = _differs(path, digest, (wanted.settings or {}).get("checksum", ""))
    except WrongFile as error:
        problem = str(error)
    target, proxy_problem = None, ""
    try:
        config = None if params["upload_proxy_url"] and params["upload_ca_cert"] else _config(session)
        target = upload_target(
            config, params["upload_proxy_url"], params["upload_ca_cert"], params["upload_validate_certs"]
        )
    except ConnectionOptionError as error:
        proxy_problem = str(error)
    return Source(path, file, checksum, target, problem, proxy_problem)


def _differs(path: str, digest: str, declared: str) -> str:
    algorithm, _, wanted = declared.partition(":")
    if not declared or wanted.lower() == digest:
        return ""
    if algorithm.lower() != "sha256":
        return f"{path}: checksum {declared} cannot be compared; for a file that is uploaded write sha256:<hex>"
    return f"{path}: its checksum is sha256:{digest}, and {declared} is declared; it is another file than the one meant"


def _config(session: Session) -> dict[str, Any] | None:
    """CDIConfig, None when it may not be read or is not there: upload_proxy_url then has to be given."""
    try:
        return session.client.get(CDI_CONFIG, "config")
    except KubeError as error:
        if error.forbidden:
            return None
        raise


def upload(session: Session, name: str, source: Source) -> None:
    """Send the file once CDI takes it. Errors: WaitFailure, UploadError, KubeError."""
    for attempt in range(_ROUNDS):
        before = _await(session, name, ("UploadReady", "Succeeded"), _READY_SECONDS)
        if before.phase == "Succeeded" or _sent(session, source, before.claim_name or name):
            return
        try:
            # The upload pod is started anew after a transfer that broke: then nothing more will come of it.
            after = _await(session, name, ("Succeeded",), _SETTLE_SECONDS, before.restarts)
        except WaitFailure:
            if attempt == _ROUNDS - 1:
                raise
        else:
            if after.phase == "Succeeded":
                return


def _sent(session: Session, source: Source, claim: str) -> bool:
    """Whether CDI said that it has the whole file; False when its answer was lost."""
    if source.file is None or source.target is None:
        return True
    try:
        send_file(
            source.target,
            lambda: upload_token(session.client, GOLDEN_NAMESPACE, claim),
            source.file,
            lambda done, total: _tell(session, "sending", source.path, done, total),
            session.reporter.say,
        )
    except Ambiguous as error:
        session.reporter.say(f"{error.cause}; looking at what became of it")
        return False
    return True


def _await(
    session: Session, name: str, phases: tuple[str, ...], seconds: float, restarts: int | None = None
) -> DataVolume:
    """The DataVolume once it is in one of these phases, or has been restarted more than ``restarts`` times. Errors: WaitFailure."""
    volumes = Target(DATA_VOLUME, GOLDEN_NAMESPACE)
    seen: list[DataVolume] = []

    def judge(state: Mapping[Target, Objects]) -> bool:
        found = state[volumes].get((GOLDEN_NAMESPACE, name))
        seen[:] = [DataVolume.from_api(found)] if found else []
        if not seen:
            raise WaitFailure(f"DataVolume {GOLDEN_NAMESPACE}/{name} is gone; somebody deleted it during the upload")
        volume = seen[0]
        now = golden_state(volume, None)
        session.reporter.tell(volume.phase, f"{name}: {now.state}, phase {volume.phase or 'blank'}")
        if volume.phase not in phases and now.state in IN_TROUBLE - {NOT_PROGRESSING, FAILING}:
            raise WaitFailure(f"{name} takes no upload: {now.state}, {now.reason}. What to do: {now.remedy}")
        return volume.phase in phases or (restarts is not None and volume.restarts > restarts)

    if not observe(session.client, (volumes,), judge, seconds):
        phase = seen[0].phase if seen else "unknown"
        raise WaitFailure(
            f"Timed out after {seconds:g} s: {name} is in phase {phase or 'blank'}, not in {' or '.join(phases)}",
            timed_out=True,
        )
    return seen[0]


def _tell(session: Session, what: str, path: str, done: int, total: int) -> None:
    share = f"{100 * done / total:.0f} %" if total else ""
    session.reporter.tell(what, f"{what} {path}: {done >> 20} of {total >> 20} MiB {share}".rstrip())
