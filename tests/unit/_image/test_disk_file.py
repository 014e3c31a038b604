# SPDX-License-Identifier: Apache-2.0
"""Local disk images: the size of the disk in them is exact, and whatever is cut off, damaged or something else is refused."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.disk_file import (
    PIECE,
    DiskFile,
    WrongFile,
    check_whole,
    inspect,
    sha256_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

CHECKS = [lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256]


def head(sectors: int) -> bytes:
    """A protective MBR and the head of a GPT that knows where the disk ends."""
    table = b"EFI PART".ljust(32, b"\x00") + (sectors - 1).to_bytes(8, "little")
    return bytes(510) + b"\x55\xaa" + table.ljust(512, b"\x00")


def disk(content: bytes = b"", sectors: int = 8) -> bytes:
    """A raw disk."""
    return (head(sectors) + content).ljust(sectors * 512, b"\x00")


def packed(*contents: bytes, padding: int = 0, check: int = lzma.CHECK_CRC64) -> bytes:
    """Streams one behind the other, each followed by ``padding`` zero bytes."""
    return b"".join(lzma.compress(content, check=check, preset=0) + bytes(padding) for content in contents)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("images")


def written(folder: Path, data: bytes) -> str:
    path = folder / "openstack-amd64.raw.xz"
    path.write_bytes(data)
    return str(path)


def qcow2(version: int = 3, backing: int = 0, size: int = 4096) -> bytes:
    start = b"QFI\xfb" + version.to_bytes(4, "big") + backing.to_bytes(8, "big") + bytes(8) + size.to_bytes(8, "big")
    return start.ljust(512, b"\x00")


@pytest.mark.parametrize(
    ("data", "kind", "raw_size"),
    [
        (disk(), "raw", 4096),
        (packed(disk()), "xz", 4096),
        (packed(disk()[:1500], disk()[1500:]), "xz", 4096),
        (packed(disk()[:1500], disk()[1500:], padding=8), "xz", 4096),
        (packed(disk(), padding=70000), "xz", 4096),
        (gzip.compress(disk(), mtime=0), "gz", None),
        (b"\x28\xb5\x2f\xfd" + b"whatever", "zst", None),
        (qcow2(size=5 * 2**40), "qcow2", 5 * 2**40),
    ],
)
def test_formats(folder, data, kind, raw_size):
    path = written(folder, data)
    assert inspect(path) == DiskFile(path, len(data), kind, raw_size)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"<!doctype html>\n<title>404</title>", "a web page or XML ('<!doctype html>')"),
        (b"\xef\xbb\xbf \n<html>", "a web page or XML ('<html>')"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a text ('version https://git-lfs.github.com/spec/v1')"),
        (b'{"error": "not found"}', "a text"),
        (bytes(257) + b"ustar", "a tar archive"),
        (bytes(4096), "nothing but zero bytes"),
        (b"\x7fELF" + bytes(2000), "a program"),
        (b"\x01\x02\x03" * 700, "no partition table, its first bytes are 01 02 03"),
        (disk()[:600], "partition table speaks of 4096"),
        (disk()[:-1], "a disk of 4095 bytes whose partition table speaks of 4096: it is cut off"),
        (packed(b""), "an xz file with nothing in it"),
        (packed(bytes(257) + b"ustar" + bytes(2000)), "inside the xz: a tar archive"),
        (packed(disk()[:-512]), "inside the xz: a disk of 3584 bytes"),
        (gzip.compress(b"<html>" * 200, mtime=0), "inside the gz: a web page"),
        (gzip.compress(disk(), mtime=0)[:20], "begins like a gz file, but cannot be unpacked"),
        (b"\xfd7zXZ\x00", "not a whole xz file of 6 bytes"),
        (
            packed(disk(), check=lzma.CHECK_CRC32)[:12] + packed(disk())[12:],
            "header and footer of the stream at byte 0",
        ),
        (packed(disk()) + b"\x00", "neither the end of a stream nor padding"),
        (b"QFI\xfb", "a qcow2 file cut off after 4 bytes"),
        (qcow2(version=7), "a qcow2 file of version 7"),
        (qcow2(backing=104), "needs a backing file"),
        (qcow2(size=0), "a disk without a byte"),
    ],
)
def test_wrong_files(folder, data, said):
    path = written(folder, data)
    with pytest.raises(WrongFile) as caught:
        inspect(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "; " in str(caught.value)


def test_things_that_are_no_files(folder):
    os.mkfifo(folder / "pipe")
    for name, said in (("none", "there is no such file"), (".", "a folder"), ("pipe", "not a regular file")):
        with pytest.raises(WrongFile, match=said):
            inspect(str(folder / name))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(folder):
    path = written(folder, disk())
    os.chmod(path, 0)
    with pytest.raises(WrongFile, match="Permission denied"):
        inspect(path)


contents = st.binary(max_size=3000).map(disk)


@given(
    content=contents,
    cuts=st.lists(st.integers(0, 4096), max_size=3),
    check=st.sampled_from(CHECKS),
    fours=st.integers(0, 5),
)
def test_the_size_in_the_index_is_the_real_one(folder, content, cuts, check, fours):
    edges = [0, *sorted(cuts), len(content)]
    parts = [content[a:b] for a, b in pairwise(edges)]
    path = written(folder, packed(*parts, padding=4 * fours, check=check))
    assert inspect(path).raw_size == len(content)
    assert check_whole(path) == hashlib.sha256(content).hexdigest()


@settings(max_examples=20)
@given(content=contents, check=st.sampled_from(CHECKS))
def test_every_cut_of_a_stream_is_noticed(folder, content, check):
    whole = packed(content, check=check)
    for length in range(len(whole)):
        path = written(folder, whole[:length])
        with pytest.raises(WrongFile):
            inspect(path)


@settings(max_examples=20)
@given(content=contents, at=st.integers(600, 4095), fours=st.integers(0, 3))
def test_a_cut_between_streams_is_noticed_by_the_partition_table(folder, content, at, fours):
    first, second = packed(content[:at], padding=4 * fours), packed(content[at:])
    for length in range(len(first + second)):
        path = written(folder, (first + second)[:length])
        with pytest.raises(WrongFile):
            inspect(path)


@given(content=contents, check=st.sampled_from(CHECKS[1:]), data=st.data())
def test_every_flipped_bit_is_noticed_when_all_is_unpacked(folder, content, check, data):
    whole = bytearray(packed(content, check=check))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = written(folder, bytes(whole))
    with pytest.raises(WrongFile):
        check_whole(path)


@settings(max_examples=20)
@given(content=contents, data=st.data())
def test_every_flipped_bit_of_header_index_and_footer_is_noticed_at_once(folder, content, data):
    whole = bytearray(packed(content))
    index = len(whole) - 12 - (int.from_bytes(whole[-8:-4], "little") + 1) * 4
    at = data.draw(st.one_of(st.integers(0, 11), st.integers(index, len(whole) - 1)))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    path = written(folder, bytes(whole))
    with pytest.raises(WrongFile):
        inspect(path)


@pytest.mark.skipif(not shutil.which("xz"), reason="the tool xz is not here")
@pytest.mark.parametrize("arguments", [["--block-size=4096"], ["-T2", "--block-size=65536"], ["-9e"]])
def test_files_of_the_tool_with_many_blocks(tmp_path, arguments):
    content = disk(os.urandom(300_000), sectors=2000)
    raw = tmp_path / "openstack-amd64.raw"
    raw.write_bytes(content)
    subprocess.run(["xz", "-k", *arguments, str(raw)], check=True)
    path = f"{raw}.xz"
    assert inspect(path).raw_size == len(content)
    assert check_whole(path) == sha256_of(str(raw)) == hashlib.sha256(content).hexdigest()


def test_sums_tell_how_far_they_are(tmp_path):
    content = disk(os.urandom(2 * PIECE), sectors=5000)
    path, heard = written(tmp_path, content), []
    assert sha256_of(path, lambda done, total: heard.append((done, total))) == hashlib.sha256(content).hexdigest()
    assert heard == [(PIECE, len(content)), (2 * PIECE, len(content)), (len(content), len(content))]


def test_check_whole_of_the_other_formats(folder):
    content = disk(b"content")
    expected = hashlib.sha256(content).hexdigest()
    members = gzip.compress(content[:1000]) + bytes(7) + gzip.compress(content[1000:])
    for data in (content, gzip.compress(content), members):
        assert check_whole(written(folder, data)) == expected
    for data, said in (
        (gzip.compress(content)[:-1], "damaged: it ends in the middle"),
        (gzip.compress(content) + b"rest", "damaged"),
        (qcow2(), "cannot be unpacked here"),
    ):
        path = written(folder, data)
        with pytest.raises(WrongFile, match=said):
            check_whole(path)


def test_a_file_that_wants_too_much_memory_is_refused(folder):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1024 * 1024 * 1024}]
    try:
        data = lzma.compress(disk(), filters=filters)
    except MemoryError:
        pytest.skip("this machine cannot make such a file")
    path = written(folder, data)
    with pytest.raises(WrongFile, match="Memory usage limit"):
        inspect(path)


GROWTH = """
import sys
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.disk_file import check_whole
# Not ru_maxrss: a child inherits the peak of the process that forked it, and would show no growth at all.
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak()
check_whole(sys.argv[1])
print(peak() - before)
"""


def test_unpacking_takes_little_memory(tmp_path):
    """256 MiB of zeros behind a partition table are 40 KiB of xz: one piece of the file unpacks to all of it."""
    path = tmp_path / "openstack-amd64.raw.xz"
    size = 256 * PIECE
    with lzma.open(path, "wb", preset=0) as target:
        target.write(head(size // 512).ljust(PIECE, b"\x00"))
        for _ in range(255):
            target.write(bytes(PIECE))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    assert inspect(str(path)).raw_size == size
    assert int(done.stdout) < 20 * 1024, done.stdout  # KiB
