# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._factory.facts import Answer, shown_url


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (200, {"content-length": "12"}, 12),
        (200, {}, None),
        (200, {"content-length": "-1"}, None),
        (200, {"content-length": "²"}, None),
        (206, {"content-length": "6", "content-range": "bytes 0-5/1000"}, 1000),
        (206, {"content-length": "6", "content-range": "bytes 0-5/*"}, None),
        (206, {"content-length": "6"}, None),
        (416, {"content-range": "bytes */0", "content-length": "90"}, 0),
    ],
)
def test_length_is_of_the_whole_file(status: int, headers: dict[str, str], expected: int | None) -> None:
    assert Answer(status, headers).length == expected


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b"", "", ""),
        (b"\n\n  schematic not found \nsecond", "text/plain", "schematic not found"),
        (b"<html><head><title>404\r\nNot Found</title></head></html>", "text/html", "404 Not Found"),
        (b"<h1>Gone</h1> away", "text/html; charset=utf-8", "Gone away"),
        (b"<?xml version='1'?><Error><Code>NoSuchKey</Code></Error>", "application/xml", "NoSuchKey"),
        (b"a\x1b[31mb\x00c", "text/plain", "a[31mbc"),
        (b"\xff\xfe", "text/plain", "\ufffd\ufffd"),
        (b"x" * 300, "text/plain", "x" * 197 + "..."),
    ],
)
def test_line_is_short_and_printable(body: bytes, kind: str, expected: str) -> None:
    assert Answer(404, {"content-type": kind}, body).line == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://f.example/image/a", "https://f.example/image/a"),
        ("https://s3.example/b?X-Amz-Signature=abc", "https://s3.example/b?..."),
        ("https://user:pw@f.example:8443/x#y", "https://f.example:8443/x"),
    ],
)
def test_shown_url_holds_neither_signatures_nor_credentials(url: str, expected: str) -> None:
    assert shown_url(url) == expected
