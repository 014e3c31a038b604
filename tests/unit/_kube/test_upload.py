# SPDX-License-Identifier: Apache-2.0
"""A file through the upload proxy: what is sent, what is tried again, what is not, and how little memory it takes."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import os
import subprocess
import sys

import pytest
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.disk_file import PIECE, WrongFile, inspect
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.errors import (
    ConnectionOptionError,
    KubeError,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.upload import (
    Ambiguous,
    End,
    Patience,
    UploadError,
    UploadTarget,
    judge,
    send_file,
    upload_target,
    upload_token,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lab.certs import Authority
from tests.unit._image.test_disk_file import disk, head

from .scripted import Scripted, answer
from .upload_proxy import Step, UploadProxy

SIZE = 24 * PIECE + 77 * 512  # more than any socket buffers
OK = Step(200)
SHORT = Patience(connect=1, stall=0.5, answer=0.5)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    Authority(folder, "other", "another-ca")
    Authority(folder, "ca", "upload-ca").issue("server", "proxy", (ExtendedKeyUsageOID.SERVER_AUTH,), ("127.0.0.1",))
    return folder


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    path = tmp_path_factory.mktemp("images") / "openstack-amd64.raw"
    path.write_bytes(disk(os.urandom(SIZE - 1024), sectors=SIZE // 512))
    return inspect(str(path))


class Run:
    """One upload to a scripted proxy, and everything that was heard of it."""

    def __init__(self, certificates, *steps):
        self.certificates, self.proxy = certificates, UploadProxy(certificates, *steps)
        self.tokens, self.told, self.notes, self.slept = [], [], [], []

    def target(self, **status):
        config = {"status": {"uploadProxyURL": f"127.0.0.1:{self.proxy.port}", **status}}
        return upload_target(config, None, str(self.certificates / "ca.crt"), True)

    def token(self):
        self.tokens.append(f"secret-{len(self.tokens) + 1}")
        return self.tokens[-1]

    def send(self, file, target=None, **options):
        try:
            send_file(
                target or self.target(),
                self.token,
                file,
                lambda done, total: self.told.append((done, total)),
                self.notes.append,
                sleep=self.slept.append,
                **options,
            )
        except UploadError as error:
            self.notes.append(str(error))
            raise
        finally:
            self.proxy.stop()
            assert "secret" not in f"{self.notes}"

    @property
    def paths(self):
        return [request.path.rsplit("/", 1)[-1] for request in self.proxy.requests]


@pytest.fixture
def run(certificates):
    return lambda *steps: Run(certificates, *steps)


def test_what_is_sent(run, image):
    once = run(OK)
    once.send(image)
    (request,) = once.proxy.requests
    assert (request.method, request.path) == ("POST", "/v1beta1/upload-async")
    assert request.headers["content-length"] == str(image.size)
    assert request.headers["content-type"] == "application/octet-stream"
    assert "transfer-encoding" not in request.headers
    assert request.token == "secret-1"
    with open(image.path, "rb") as source:
        assert request.digest == hashlib.file_digest(source, "sha256").hexdigest()
    assert once.told[:2] == [(0, image.size), (PIECE, image.size)]
    assert once.told[-1] == (image.size, image.size)
    assert once.notes == once.slept == []


REPAIRED = {
    "broken after a megabyte": [Step(take=PIECE, reset=True)],
    "closed after a megabyte": [Step(take=PIECE)],
    "broken at once": [Step(take=0, reset=True)],
    "not ready, answered early": [Step(503, "timed out waiting for the condition", take=0)],
    "not ready, answered late": [Step(503, "timed out waiting for the condition")],
    "not ready three times": [Step(503)] * 3,
    "bad gateway early": [Step(502, "<html><h1>502 Bad Gateway</h1></html>", take=PIECE)],
    "gateway timeout early": [Step(504, take=PIECE)],
    "too many requests": [Step(429, headers={"Retry-After": "7"})],
    "token expired": [Step(401)],
    "pod not reached": [Step(500, take=0)],
    "taking nothing": [Step(take=0, hang=True)],
    "different troubles": [Step(take=PIECE, reset=True), Step(401), Step(503), Step(502, take=0)],
}


@pytest.mark.parametrize("steps", REPAIRED.values(), ids=REPAIRED)
def test_what_is_tried_again(run, image, steps):
    again = run(*steps, OK)
    again.send(image, patience=SHORT)
    tries = len(steps) + 1
    assert (
        again.tokens == [request.token for request in again.proxy.requests] == [f"secret-{n + 1}" for n in range(tries)]
    )
    assert set(again.paths) == {"upload-async"}
    assert again.proxy.requests[-1].received == image.size
    assert again.told.count((0, image.size)) == tries
    assert [note.rsplit("(", 1)[1] for note in again.notes] == [f"{n + 2} of 6)" for n in range(len(steps))]
    assert len(again.slept) == len(steps)


@pytest.mark.parametrize(
    ("step", "patience"),
    [
        (Step(200, pause=1.5), Patience(connect=1, stall=30, answer=1)),
        (Step(200, think=1.5), Patience(connect=1, stall=1, answer=30)),
    ],
)
def test_each_kind_of_waiting_has_its_own_patience(run, image, step, patience):
    slow = run(step)
    slow.send(image, patience=patience)
    assert len(slow.proxy.requests) == 1


def test_the_pauses_grow_and_the_proxy_is_listened_to(run, image):
    patient = run(*[Step(503)] * 4, Step(429, headers={"Retry-After": "7"}), OK)
    patient.send(image)
    for slept, base in zip(patient.slept, (1, 2, 4, 8, 7), strict=True):
        assert base * 0.8 <= slept <= base * 1.2


def test_a_dead_address_is_tried_again_and_then_told(run, image):
    lost = run(OK)
    target = lost.target()
    lost.proxy.stop()
    with pytest.raises(UploadError, match=r"cannot connect: Connection refused .*given up after 3 attempts"):
        lost.send(image, target, attempts=3)
    assert len(lost.tokens) == 3


def test_an_older_cdi_gets_the_synchronous_path(run, image):
    older = run(Step(404, take=0), Step(503), OK)
    older.send(image, attempts=2)
    assert older.paths == ["upload-async", "upload", "upload"]


FINAL = {
    "not an image": (
        Step(400, "Saving stream failed: no image\nsecond line"),
        1,
        "400 Saving stream failed: no image (after",
    ),
    "early 400": (Step(400, "too small", take=PIECE), 1, "400 too small (after"),
    "failed in the pod": (Step(500, "Saving stream failed: no space left on device"), 1, "no space left on device"),
    "failed in an older pod": (Step(500), 1, "500 (after"),
    "forbidden": (Step(403, take=0), 1, "what stands before CDI's upload proxy refuses"),
    "too large": (Step(413, "<html>\n<h1>413 Too Large</h1></html>", take=0), 1, "413 413 Too Large (after"),
    "token refused twice": (Step(401, take=0), 2, "the token was refused twice"),
    "no proxy at all": (Step(404, take=0), 2, "check upload_proxy_url"),
    "redirected": (Step(308, take=0, headers={"Location": "https://there/"}), 1, "redirects to https://there/"),
    "claim is gone": (Step(503, "rejecting Upload Request for PVC x that doesn&#39;t exist"), 1, "that doesn't exist"),
    "never ready": (
        Step(503, "timed out waiting for the condition", take=0),
        3,
        "given up after 3 attempts; is the upload pod",
    ),
    "echo of the token": (Step(400, "bad header Bearer secret-1"), 1, "bad header Bearer ***"),
}


@pytest.mark.parametrize(("step", "tries", "said"), FINAL.values(), ids=FINAL)
def test_what_is_final(run, image, step, tries, said):
    final = run(step)
    with pytest.raises(UploadError) as caught:
        final.send(image, attempts=3)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"Failed to upload {image.path} to https://127.0.0.1:{final.proxy.port}: ")
    assert not isinstance(caught.value, Ambiguous)
    assert len(final.proxy.requests) == tries
    assert caught.value.status == step.status


UNCLEAR = {
    "closed after the last byte": Step(),
    "broken after the last byte": Step(reset=True),
    "no answer in time": Step(hang=True),
    "gateway timeout after the last byte": Step(504),
    "upload pod broke after the last byte": Step(502),
    "finished before": Step(409),
    "finished before, says the proxy": Step(
        503, "rejecting Upload Request for PVC x that already finished uploading", take=0
    ),
    "accepted too early": Step(200, take=PIECE),
}


@pytest.mark.parametrize("step", UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_not_sent_again_blindly(run, image, step):
    unclear = run(step)
    with pytest.raises(Ambiguous, match="whether CDI has the file is not known"):
        unclear.send(image, patience=SHORT)
    assert len(unclear.proxy.requests) == 1
    assert unclear.slept == []


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        (End(200, "", 9, True), "done"),
        (End(200, "", 8, False), "ambiguous"),
        (End(0, "reset", 9, True), "ambiguous"),
        (End(0, "reset", 8, False), "again"),
        (End(500, "", 8, False), "again"),
        (End(500, "", 9, True), "final"),
        (End(418, "", 0, False), "final"),
    ],
)
def test_judge(end, verdict):
    assert judge(end) == verdict


def test_certificates_are_verified(run, image, certificates):
    for ca, said in (
        (str(certificates / "other.crt"), "give its CA as upload_ca_cert"),
        (None, "give its CA as upload_ca_cert"),
    ):
        wrong = run(OK)
        target = upload_target({}, f"https://127.0.0.1:{wrong.proxy.port}", ca, True)
        with pytest.raises(UploadError, match="its certificate is not trusted: .*" + said):
            wrong.send(image, target)
        assert wrong.proxy.requests == []
        assert len(wrong.tokens) == 1


def test_the_name_in_the_certificate_counts(run, image):
    named = run(OK)
    target = UploadTarget(f"https://localhost:{named.proxy.port}", named.target().ca)
    with pytest.raises(UploadError, match=r"not valid for 'localhost'.*give upload_proxy_url a name"):
        named.send(image, target)


def test_the_ca_that_cdi_publishes_is_enough(run, image, certificates):
    published = run(OK)
    config = {"status": {"uploadProxyURL": f"127.0.0.1:{published.proxy.port}"}}
    config["status"]["uploadProxyCA"] = (certificates / "ca.crt").read_text()
    published.send(image, upload_target(config, None, None, True))
    assert len(published.proxy.requests) == 1


def test_a_certificate_as_go_programs_make_them(image, tmp_path):
    """One that does not name the key of its issuer: good for virtctl, refused by Python 3.13 on its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("signer", "server")]
    now = datetime.datetime.now(datetime.UTC)
    for file, subject, extension in (
        ("ca", names[0], x509.BasicConstraints(ca=True, path_length=None)),
        ("server", names[1], x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])),
    ):
        builder = x509.CertificateBuilder(names[0], subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(
            now + datetime.timedelta(days=1)
        )
        made = builder.add_extension(extension, critical=False).sign(key, hashes.SHA256())
        (tmp_path / f"{file}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (tmp_path / "server.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    plain = Run(tmp_path, OK)
    plain.send(image)
    assert len(plain.proxy.requests) == 1


def test_verification_can_be_switched_off(run, image):
    careless = run(OK)
    careless.send(image, upload_target(None, f"127.0.0.1:{careless.proxy.port}", None, False))
    assert len(careless.proxy.requests) == 1


def test_a_plain_address_without_verification(image):
    plain = Run(None, OK)
    plain.send(image, upload_target(None, f"http://127.0.0.1:{plain.proxy.port}/base/", None, False))
    assert [request.path for request in plain.proxy.requests] == ["/base/v1beta1/upload-async"]


def test_tls_to_a_port_without_tls(image, certificates):
    plain = Run(None, OK)
    with pytest.raises(UploadError, match="is this an https address"):
        plain.send(image, UploadTarget(f"https://127.0.0.1:{plain.proxy.port}", str(certificates / "ca.crt")))


def test_a_wrong_file_is_refused_before_anything_is_sent(run, tmp_path):
    page = tmp_path / "openstack-amd64.raw.xz"
    page.write_text("<html>It works</html>")
    refused = run(OK)
    with pytest.raises(WrongFile, match="a web page"):
        refused.send(inspect(str(page)))
    assert refused.proxy.requests == refused.tokens == []


def test_a_file_that_changes_is_noticed(run, tmp_path):
    path = tmp_path / "openstack-amd64.raw"
    path.write_bytes(disk(sectors=100))
    found = inspect(str(path))
    path.write_bytes(disk(sectors=99))
    changed = run(OK)
    with pytest.raises(UploadError, match="no longer 51200 bytes"):
        changed.send(found)
    path.unlink()
    with pytest.raises(UploadError, match="the file cannot be read: No such file"):
        run(OK).send(found)


def test_a_file_that_shrinks_while_it_is_sent(run, tmp_path):
    path = tmp_path / "openstack-amd64.raw"
    path.write_bytes(disk(sectors=4 * PIECE // 512))
    shrinking = run(OK)
    with pytest.raises(UploadError, match=f"ended at byte {PIECE} of {4 * PIECE}"):
        send_file(
            shrinking.target(),
            shrinking.token,
            inspect(str(path)),
            lambda done, _: os.truncate(path, PIECE) if done else None,
        )
    shrinking.proxy.stop()


def test_of_a_file_that_grows_only_the_known_part_is_sent(run, tmp_path):
    path, size = tmp_path / "openstack-amd64.raw", PIECE + 512
    path.write_bytes(disk(sectors=size // 512))
    growing = run(OK)
    send_file(
        growing.target(),
        growing.token,
        inspect(str(path)),
        lambda done, _: os.truncate(path, 2 * size) if done else None,
    )
    growing.proxy.stop()
    assert growing.proxy.requests[0].received == size


@pytest.mark.parametrize(
    ("config", "override", "url"),
    [
        ({"status": {"uploadProxyURL": "cdi-uploadproxy.example.org"}}, None, "https://cdi-uploadproxy.example.org"),
        ({"status": {"uploadProxyURL": "https://p:31001/"}}, "", "https://p:31001"),
        ({"status": {"uploadProxyURL": "https://p"}}, "10.0.0.1:8443", "https://10.0.0.1:8443"),
        (None, "https://[::1]:8443/base", "https://[::1]:8443/base"),
    ],
)
def test_where_the_proxy_is(config, override, url):
    assert upload_target(config, override, None, True) == UploadTarget(url, "", True)


@pytest.mark.parametrize(
    ("config", "override", "ca", "said"),
    [
        (None, None, None, "expose the service cdi-uploadproxy"),
        ({"status": {}}, None, None, "or give upload_proxy_url an address"),
        ({}, "https://", None, "upload_proxy_url: 'https://' is not an address"),
        ({}, "ftp://host", None, "upload_proxy_url: 'ftp://host' is not an address"),
        ({}, "https://host:99999", None, "is not an address"),
        ({}, "https://ho st", None, "is not an address"),
        ({}, "https://host/?x", None, "is not an address"),
        (
            {"status": {"uploadProxyURL": "https://h:p"}},
            None,
            None,
            "status.uploadProxyURL of CDIConfig config: 'https://h:p'",
        ),
        ({}, "http://host", None, "would send the upload token unprotected"),
        ({}, "https://host", "/nowhere/ca.crt", "upload_ca_cert: the file '/nowhere/ca.crt' does not exist"),
        ({}, "https://host", __file__, "holds no usable PEM certificate"),
        (
            {"status": {"uploadProxyCA": "text"}},
            "https://host",
            None,
            "status.uploadProxyCA of CDIConfig config is not PEM",
        ),
        ({"status": {"uploadProxyCA": "-----BEGIN CERTIFICATE-----"}}, "h", None, "give upload_ca_cert"),
    ],
)
def test_targets_that_cannot_be_used(config, override, ca, said):
    with pytest.raises(ConnectionOptionError) as caught:
        upload_target(config, override, ca, True)
    assert said in str(caught.value)


def test_a_password_in_an_address_is_not_repeated():
    with pytest.raises(ConnectionOptionError, match="user or a password") as caught:
        upload_target(None, "https://me:hunter2@host:port", None, True)
    assert "hunter2" not in str(caught.value)


def test_token():
    transport = Scripted(answer(201, {"status": {"token": "e30.e30.x-_"}}))
    assert upload_token(Client(transport), "cozy-public", "talos-worker-a") == "e30.e30.x-_"
    assert transport.asked == [
        ("POST", "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/cozy-public/uploadtokenrequests")
    ]


@pytest.mark.parametrize(
    "body", [{}, {"status": None}, {"status": {"token": ""}}, {"status": {"token": "secret\r\nX: y"}}]
)
def test_token_that_is_none(body):
    with pytest.raises(KubeError, match="no usable token") as caught:
        upload_token(Client(Scripted(answer(201, body))), "cozy-public", "talos-worker-a")
    assert "secret" not in str(caught.value)


def test_token_refused():
    refusal = answer(403, {"message": "uploadtokenrequests is forbidden"})
    with pytest.raises(
        KubeError, match="Failed to create UploadTokenRequest cozy-public/a: 403 uploadtokenrequests is forb"
    ):
        upload_token(Client(Scripted(refusal)), "cozy-public", "a")


GROWTH = """
import sys
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.disk_file import inspect
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.upload import UploadTarget, send_file
# Not ru_maxrss: a child inherits the peak of the process that forked it, and would show no growth at all.
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
url, ca, path = sys.argv[1:]
before = peak()
send_file(UploadTarget(url, ca), lambda: "token", inspect(path), lambda done, total: None)
print(before, peak() - before)
"""


def test_a_large_file_takes_little_memory(run, tmp_path):
    """256 MiB, or as many as UPLOAD_MIB says; the file is sparse, so that only the network is slow."""
    size = int(os.environ.get("UPLOAD_MIB", "256")) * PIECE
    path = tmp_path / "openstack-amd64.raw"
    path.write_bytes(head(size // 512))
    os.truncate(path, size)
    once = run(OK)
    target = once.target()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", GROWTH, target.url, target.ca, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    once.proxy.stop()
    before, growth = map(int, done.stdout.split())  # KiB
    print(f"upload of {size // PIECE} MiB: peak memory {before // 1024} MiB before, {growth / 1024:.1f} MiB more")
    assert once.proxy.requests[0].received == size
    assert growth < 20 * 1024
