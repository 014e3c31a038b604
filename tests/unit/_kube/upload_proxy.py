# SPDX-License-Identifier: Apache-2.0
"""An upload proxy on loopback that does what a script says, byte for byte: a real HTTP server would be too polite."""

from __future__ import annotations

import hashlib
import socket
import ssl
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

ALL = 1 << 62


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    received: int = 0
    digest: str = ""

    @property
    def token(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass
class Step:
    """Take at most ``take`` bytes of the body, then answer with ``status``, or with nothing at all.

    ``pause`` and ``think``: seconds before the first byte is taken, and before the answer.
    """

    status: int = 0
    body: str = ""
    take: int = ALL
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    pause: float = 0
    think: float = 0
    reset: bool = False


class UploadProxy:
    """Steps are used one per request, the last one again and again. ``stop`` frees whoever hangs."""

    def __init__(self, certificates: Path | None, *steps: Step) -> None:
        self.steps, self.requests = list(steps), list[Request]()
        self._context: ssl.SSLContext | None = None
        if certificates:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
        self._released = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self._released.set()
        with suppress(OSError):  # a second time
            self._listener.shutdown(
                socket.SHUT_RDWR
            )  # wakes the thread that accepts; closing alone would go on listening
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with suppress(OSError):
            secured = self._context.wrap_socket(plain, server_side=True) if self._context else plain
            with secured, secured.makefile("rb") as source:
                try:
                    request = self._head(source)
                except ValueError:
                    secured.sendall(_answer(Step(400, "this is not HTTP")))
                    return
                step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
                self.requests.append(request)
                self._released.wait(step.pause)
                self._take(source, request, step.take)
                self._released.wait(step.think)
                if step.hang:
                    self._released.wait(60)
                if step.status:
                    secured.sendall(_answer(step))
                    # As servers in Go and nginx do: an answer that is followed by a reset at once may be lost on its way.
                    self._released.wait(0.1)
                if step.reset:
                    secured.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _head(self, source: BinaryIO) -> Request:
        method, path, _ = source.readline().decode().split(" ")
        lines = iter(source.readline, b"\r\n")
        headers = dict(line.decode().strip().split(": ", 1) for line in lines)
        return Request(method, path, {name.lower(): value for name, value in headers.items()})

    def _take(self, source: BinaryIO, request: Request, most: int) -> None:
        digest, left = hashlib.sha256(), min(most, int(request.headers["content-length"]))
        while left and (piece := source.read(min(left, 65536))):
            digest.update(piece)
            request.received += len(piece)
            left -= len(piece)
        request.digest = digest.hexdigest()


def _answer(step: Step) -> bytes:
    body = step.body.encode()
    lines = [f"HTTP/1.1 {step.status} Whatever", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in step.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
