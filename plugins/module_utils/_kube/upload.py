# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A local file into a claim, through CDI's upload proxy (CDI doc/upload.md, pkg/uploadproxy, pkg/uploadserver).

POST <proxy>/v1beta1/upload-async with the file as the body and a token that is good for one claim and five minutes. The
asynchronous path answers when the bytes are in, and CDI converts them afterwards; the synchronous one keeps the idle connection
open for the minutes that takes, longer than most ingresses allow. It is the fallback where the other is not known (404).
CDI cannot resume: each attempt begins with a new token and the first byte.

http.client and not a pool of connections: whether the last byte left before the connection broke decides what may be done next,
and a proxy that refuses early answers while bytes are still being sent.
"""

from __future__ import annotations

import html
import http.client
import os
import random
import re
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from .client import Client, subject_of
from .errors import KubeError
from .resources import UPLOAD_TOKEN_REQUEST
from .transport import USER_AGENT
from .upload_target import UploadTarget, tls_context, upload_target

__all__ = [
    "Ambiguous",
    "End",
    "Patience",
    "UploadError",
    "UploadTarget",
    "judge",
    "send_file",
    "upload_target",
    "upload_token",
]

_PIECE = 1024 * 1024
_ASYNC, _SYNC = "/v1beta1/upload-async", "/v1beta1/upload"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_HINTS = {
    400: "CDI cannot use this file for this claim",
    401: "the token was refused twice; do the clocks of the cluster's nodes agree?",
    403: "what stands before CDI's upload proxy refuses; give upload_proxy_url an address past it",
    404: "no upload proxy of CDI answers there; check upload_proxy_url",
    413: "what stands before CDI's upload proxy limits the size of a request (ingress-nginx: proxy-body-size)",
    503: "is the upload pod of the claim ready, and no other upload running?",
}


class UploadError(KubeError):
    """The file is not in the claim, and sending it again as it is would not help. Reads "Failed to upload <path> to <proxy>: ..."."""

    def __init__(self, target: UploadTarget, path: str, cause: str, status: int = 0) -> None:
        super().__init__("upload", f"{path} to {target.url}", cause, status)


class Ambiguous(UploadError):
    """CDI may have the whole file, or not: look at the DataVolume.

    It stays in phase UploadReady while CDI works on the bytes as well as while it waits for some, so give it time to succeed.
    Sending again is safe even then: CDI answers 503 while it works, and that it has finished (Ambiguous again) afterwards.
    """


class SizedFile(Protocol):
    """A file that was found to be a disk image; ``size`` in bytes."""

    @property
    def path(self) -> str: ...

    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class Patience:
    """Seconds: to connect, without a byte being taken, and for the answer after the last byte.

    CDI unpacks while it receives, so a proxy takes nothing while a long run of zeros is written, and answers after the last of it.
    """

    connect: float = 10
    stall: float = 300
    answer: float = 900


@dataclass(frozen=True)
class End:
    """How one attempt ended. ``status`` 0: no answer, ``text`` says why. ``whole``: the last byte had left this machine."""

    status: int
    text: str
    sent: int
    whole: bool
    retry_after: str = ""


def upload_token(client: Client, namespace: str, claim: str) -> str:
    """A new token for one claim. Errors: KubeError (403 without ``create`` on uploadtokenrequests)."""
    body = {
        "apiVersion": UPLOAD_TOKEN_REQUEST.api_version,
        "kind": UPLOAD_TOKEN_REQUEST.kind,
        "metadata": {"name": claim, "namespace": namespace},
        "spec": {"pvcName": claim},
    }
    status = client.create(UPLOAD_TOKEN_REQUEST, body, namespace).get("status")
    token = status.get("token") if isinstance(status, dict) else None
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise KubeError(
            "create", subject_of(UPLOAD_TOKEN_REQUEST, namespace, claim), "the answer carries no usable token"
        )
    return token


def judge(end: End) -> str:
    """What an end means: done, again, renew (a new token), sync (the other path), ambiguous, or final."""
    if 200 <= end.status < 300:
        return "done" if end.whole else "ambiguous"
    if end.status == 409 or (end.status == 503 and "already finished" in end.text):
        return "ambiguous"
    if end.status in (0, 502, 504):
        return "ambiguous" if end.whole else "again"
    if end.status == 503:
        return "final" if "doesn't exist" in end.text else "again"
    if end.status == 500 and not end.text and not end.whole:
        return "again"  # the proxy did not reach the upload pod; when the pod itself fails, it says why
    return {401: "renew", 404: "sync", 429: "again"}.get(end.status, "final")


def send_file(
    target: UploadTarget,
    token_source: Callable[[], str],
    file: SizedFile,
    tell: Callable[[int, int], None],
    note: Callable[[str], None] = lambda text: None,
    attempts: int = 6,
    sleep: Callable[[float], None] = time.sleep,
    patience: Patience = Patience(),
) -> None:
    """Send a file; returns when CDI has all of it, which is before the golden is ready.

    ``token_source`` is asked before each attempt; ``tell`` hears bytes sent and bytes in all, from 0 again after a break; ``note``
    hears why something is tried again. Memory: one piece of 1 MiB. Errors: UploadError, Ambiguous, and what token_source raises.
    """
    path, attempt, renewed = _ASYNC, 0, False
    while True:
        attempt += 1
        end = _attempt(target, path, token_source(), file, tell, patience)
        verdict = judge(end)
        if verdict == "done":
            return
        said = f"{end.status} {end.text}".strip() if end.status else end.text
        said = f"{said} (after {end.sent} of {file.size} bytes)"
        hint = f"; {_HINTS[end.status]}" if end.status in _HINTS else ""
        if verdict == "ambiguous":
            raise Ambiguous(target, file.path, f"{said}; whether CDI has the file is not known", end.status)
        if verdict == "sync" and path == _ASYNC:
            path, attempt = _SYNC, attempt - 1
            continue
        if verdict in ("final", "sync") or (verdict == "renew" and renewed):
            raise UploadError(target, file.path, f"{said}{hint}", end.status)
        if attempt >= attempts:
            raise UploadError(target, file.path, f"{said}; given up after {attempts} attempts{hint}", end.status)
        renewed = renewed or verdict == "renew"
        note(f"upload of {file.path}: {said}; sending it from its start ({attempt + 1} of {attempts})")
        sleep(_delay(attempt, end.retry_after))


def _delay(attempt: int, retry_after: str) -> float:
    """Seconds: what Retry-After says (at most 60), else 1, 2, 4 ... 30, with jitter."""
    base = min(float(retry_after), 60.0) if retry_after.isdigit() else min(2.0 ** (attempt - 1), 30.0)
    return base * random.uniform(0.8, 1.2)


def _attempt(
    target: UploadTarget, path: str, token: str, file: SizedFile, tell: Callable[[int, int], None], patience: Patience
) -> End:
    with closing(_connection(target, patience)) as connection:
        try:
            connection.connect()
        except ssl.SSLError as error:
            if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
                return End(0, f"the connection broke: {_plain(error)}", 0, False)
            raise UploadError(target, file.path, _tls_trouble(error)) from error
        except OSError as error:
            return End(0, f"cannot connect: {_plain(error)}", 0, False)
        connection.sock.settimeout(patience.stall)
        sent = 0
        tell(0, file.size)
        try:
            connection.putrequest("POST", target.path + path, skip_accept_encoding=True)
            connection.putheader("User-Agent", USER_AGENT)
            connection.putheader("Authorization", f"Bearer {token}")
            connection.putheader("Content-Type", "application/octet-stream")
            connection.putheader("Content-Length", str(file.size))
            connection.putheader("Connection", "close")
            connection.endheaders()
            for piece in _pieces(target, file):
                connection.send(piece)
                sent += len(piece)
                tell(sent, file.size)
        except OSError as error:
            # Who refuses early answers and closes: the answer says more than the broken connection.
            return _answer(connection, token, sent, False, patience.connect, f"the connection broke: {_plain(error)}")
        return _answer(connection, token, sent, True, patience.answer, "")


def _connection(target: UploadTarget, patience: Patience) -> http.client.HTTPConnection:
    context = tls_context(target)
    if context is None:
        return http.client.HTTPConnection(target.host, target.port, timeout=patience.connect)
    return http.client.HTTPSConnection(target.host, target.port, timeout=patience.connect, context=context)


def _pieces(target: UploadTarget, file: SizedFile) -> Iterator[memoryview]:
    """The file through one buffer. Errors: UploadError, so that a failing disk is not taken for a failing network."""
    buffer, done = memoryview(bytearray(_PIECE)), 0
    try:
        with open(file.path, "rb", buffering=0) as source:
            if os.fstat(source.fileno()).st_size != file.size:
                raise UploadError(
                    target, file.path, f"the file has no longer {file.size} bytes; let nobody write to it"
                )
            while done < file.size:
                length = source.readinto(buffer[: file.size - done])
                if not length:
                    raise UploadError(
                        target, file.path, f"the file ended at byte {done} of {file.size} while it was sent"
                    )
                done += length
                yield buffer[:length]
    except OSError as error:
        raise UploadError(target, file.path, f"the file cannot be read: {error.strerror}") from error


def _answer(
    connection: http.client.HTTPConnection, token: str, sent: int, whole: bool, seconds: float, broken: str
) -> End:
    try:
        connection.sock.settimeout(seconds)
        answer = connection.getresponse()
        body = answer.read(4096)
    except (OSError, http.client.HTTPException) as error:
        return End(0, broken or f"no answer: {_plain(error)}", sent, whole)
    text = _first_line(body)
    if 300 <= answer.status < 400:
        text = f"it redirects to {answer.getheader('Location', 'nowhere')}; give upload_proxy_url the final address"
    return End(answer.status, text.replace(token, "***"), sent, whole, answer.getheader("Retry-After", ""))


def _first_line(body: bytes) -> str:
    """What an answer says, in at most 200 characters; the tags of an ingress's error page are no words."""
    text = body.decode(errors="replace").strip()
    if text.startswith("<"):
        text = " ".join(re.sub(r"<[^>]*>", " ", text).split())
    return html.unescape(text.split("\n", 1)[0].strip()[:200])


def _tls_trouble(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        remedy = "give its CA as upload_ca_cert"
        if "mismatch" in error.verify_message:
            remedy = "give upload_proxy_url a name that the certificate carries"
        return f"its certificate is not trusted: {error.verify_message}; {remedy}"
    return f"TLS failed: {_plain(error)}; is this an https address?"


def _plain(error: Exception) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())
