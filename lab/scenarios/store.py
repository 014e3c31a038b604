# SPDX-License-Identifier: Apache-2.0
"""Objects straight into etcd, by its JSON gateway: ten thousand in seconds, complete with status, past all admission."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path

import aiohttp

from lab.api import Object, key_of
from lab.kinds import KINDS

_OPERATIONS = 100  # etcd takes 128 in one transaction


def _path(obj: Object) -> str:
    kind, (namespace, name) = KINDS[obj["kind"]], key_of(obj)
    return "/".join(part for part in ("/registry", kind.group, kind.plural, namespace, name) if part)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _transactions(objects: Iterable[Object]) -> Iterator[Object]:
    left = list(objects)
    for start in range(0, len(left), _OPERATIONS):
        batch = left[start : start + _OPERATIONS]
        puts = [{"key": _encoded(_path(one)), "value": _encoded(json.dumps(one))} for one in batch]
        yield {"success": [{"requestPut": put} for put in puts]}


async def store(home: Path, objects: Iterable[Object]) -> None:
    """Write objects as they are: with uid, creationTimestamp and status. Errors: aiohttp.ClientError."""
    tls = ssl.create_default_context(cafile=home / "certs" / "ca.crt")
    tls.load_cert_chain(home / "certs" / "apiserver.crt", home / "certs" / "apiserver.key")
    etcd = json.loads((home / "lab.json").read_text())["etcd"]
    async with aiohttp.ClientSession(raise_for_status=True) as session:
        for transaction in _transactions(objects):
            async with session.post(f"{etcd}/v3/kv/txn", json=transaction, ssl=tls) as answer:
                await answer.read()
