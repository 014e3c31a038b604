# SPDX-License-Identifier: Apache-2.0
"""A local file becomes a golden through the upload proxy; breaks, wrong files and killed runs included."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.image_content import packed_image, partition_table
from tests.integration.site import BIN, PRODUCT, ROOT, SCHEMATIC, Site, golden, kill_tree

SCENARIO = "demo"
pytestmark = pytest.mark.lab


# The job in a process of its own: the peak of its memory before and after.
PROBE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.connection import resolve
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.transport import HttpTransport
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import Session
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.golden_image import GOLDEN_SPEC, golden_image
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import Reporter
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
client = Client(HttpTransport(resolve({"kubeconfig": os.environ["K8S_AUTH_KUBECONFIG"]}, {})))
params = {name: option.get("default") for name, option in GOLDEN_SPEC.items()} | json.loads(sys.argv[2])
before = peak()
done = golden_image(Session(params, client, False, print, Reporter(lambda line: None)))
print(json.dumps({"before": before, "more": peak() - before, "state": done["golden"]["state"]}))
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("medium") / "openstack-amd64.raw.xz"
    path.write_bytes(packed_image(SCHEMATIC, "v1.13.6"))
    return path


def options(version: str, path: Path, **more: Any) -> dict[str, Any]:
    return {"schematicID": SCHEMATIC, "version": version, "src": str(path), **more}


def ids(result: dict[str, Any]) -> list[str]:
    return [found["id"] for found in result["refusals"]]


def test_a_file_becomes_a_golden(site: Site, image: Path) -> None:
    mark = site.mark()
    check = site.module("golden_image", check=True, **options("v1.13.6", image))
    assert site.since(mark).writes().count() == 0
    before = site.downloads()
    done = site.module("golden_image", **options("v1.13.6", image))
    assert done["golden"]["state"] == "ready"
    assert done["plan"] == check["plan"]
    assert [step["action"] for step in done["plan"]["steps"]] == ["create", "upload"]
    assert site.downloads() == before
    disk = site.get("DataVolume", golden("v1.13.6"), "cozy-public")
    assert disk is not None
    digest = hashlib.sha256(image.read_bytes()).hexdigest()
    assert disk["metadata"]["annotations"]["worker-image.cozystack.io/uploaded-sha256"] == f"sha256:{digest}"


def test_the_file_is_not_needed_once_the_golden_is_ready(site: Site) -> None:
    mark = site.mark()
    again = site.module("golden_image", **options("v1.13.6", Path("/nonexistent/openstack-amd64.raw.xz")))
    assert (again["changed"], again["golden"]["state"]) == (False, "ready")
    assert site.since(mark).writes().count() == 0


def test_the_catalog_takes_an_uploaded_golden_over(site: Site) -> None:
    before = site.downloads()
    images = [{"schematicID": SCHEMATIC, "version": "v1.13.6"}]
    taken = site.module("image_catalog", catalog={"imageFactoryURL": site.lab["image_source"], "images": images})
    assert [item["state"] for item in taken["goldens"]] == ["ready"]
    assert site.downloads() == before


def wrong_files(folder: Path, image: Path) -> list[tuple[str, bytes, dict[str, Any], str]]:
    whole = image.read_bytes()
    large = lzma.compress(partition_table(2**20) + bytes(2**20 - 1024), check=lzma.CHECK_CRC64, preset=0)
    return [
        ("page.raw.xz", b"<!DOCTYPE html><html>Please log in</html>", {}, "upload-file-unusable"),
        ("cut.raw.xz", whole[:-100], {}, "upload-file-unusable"),
        ("large.raw.xz", large, {"storage": "512Ki"}, "golden-too-small"),
        ("other.raw.xz", whole, {"checksum": "sha256:" + "0" * 64}, "upload-file-unusable"),
    ]


def test_a_wrong_file_is_refused_before_anything_is_sent(site: Site, image: Path, tmp_path: Path) -> None:
    mark = site.mark()
    for name, content, more, rule in wrong_files(tmp_path, image):
        (tmp_path / name).write_bytes(content)
        result = site.module("golden_image", **options("v1.13.7", tmp_path / name, **more))
        assert ids(result) == [rule], result["msg"]
    assert site.since(mark).writes().count() == 0


def test_a_broken_connection_begins_anew(site: Site, image: Path) -> None:
    site.misbehave({"action": "upload-drop", "match": "v1.13.8", "bytes": 100_000, "times": 2})
    run = site.play({f"{PRODUCT}.golden_image": options("v1.13.8", image)})
    assert run.result["golden"]["state"] == "ready", run.output
    # A small file has left this machine before the break is seen; a large one is sent anew at once.
    assert re.search("looking at what became of it|sending it from its start", run.output), run.output


def test_a_lost_answer_is_looked_into(site: Site, image: Path) -> None:
    site.misbehave({"action": "upload-mute", "match": "v1.13.9", "times": 1})
    run = site.play({f"{PRODUCT}.golden_image": options("v1.13.9", image)})
    assert run.result["golden"]["state"] == "ready", run.output
    assert "looking at what became of it" in run.output


def test_a_killed_upload_is_continued_by_the_next_run(site: Site, image: Path, tmp_path: Path) -> None:
    site.misbehave({"action": "upload-status", "match": "v1.13.10", "status": 503})
    book = tmp_path / "play.yml"
    task = {"name": "Upload", f"{PRODUCT}.golden_image": options("v1.13.10", image)}
    book.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    command = [
        str(BIN / "ansible-playbook"),
        "-i",
        "localhost,",
        "-c",
        "local",
        "-e",
        f"ansible_python_interpreter={sys.executable}",
        str(book),
    ]
    with subprocess.Popen(
        command, env=site.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        ready = site.wait_for(
            "DataVolume",
            lambda one: (
                one["metadata"]["name"] == golden("v1.13.10") and one.get("status", {}).get("phase") == "UploadReady"
            ),
        )
        kill_tree(process.pid)
    assert ready
    uid = site.get("DataVolume", golden("v1.13.10"), "cozy-public")["metadata"]["uid"]  # type: ignore[index]
    site.misbehave(None)
    done = site.module("golden_image", **options("v1.13.10", image))
    assert [step["action"] for step in done["plan"]["steps"]] == ["upload"]
    assert done["golden"]["state"] == "ready"
    assert site.get("DataVolume", golden("v1.13.10"), "cozy-public")["metadata"]["uid"] == uid  # type: ignore[index]


def test_the_token_never_shows(site: Site, image: Path) -> None:
    run = site.play({f"{PRODUCT}.golden_image": options("v1.13.11", image)}, flags=("-vvv",))
    assert run.result["golden"]["state"] == "ready"
    assert not re.search(r"eyJ|Bearer [A-Za-z0-9]", run.output)


def test_without_an_address_of_the_proxy_the_way_out_is_named(site: Site, image: Path) -> None:
    config = site.get("CDIConfig", "config")
    assert config is not None
    url = config["status"].pop("uploadProxyURL")
    site.api(lambda api: api.patch("CDIConfig", "config", {"status": {"uploadProxyURL": None}}))
    result = site.module("golden_image", **options("v1.13.12", image))
    assert ids(result) == ["upload-proxy-unknown"]
    given = site.module("golden_image", **options("v1.13.12", image, upload_proxy_url=url))
    assert given["golden"]["state"] == "ready"
    site.api(lambda api: api.patch("CDIConfig", "config", {"status": {"uploadProxyURL": url}}))


def test_a_gibibyte_streams_in_little_memory(site: Site, tmp_path: Path) -> None:
    large = tmp_path / "disk.raw"
    with large.open("wb") as file:
        file.write(partition_table(2**30))
        file.truncate(2**30)
    site.misbehave(None)
    options_json = json.dumps(options("v1.13.13", large))
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(ROOT / ".collections"), options_json],
        env=site.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout.splitlines()[-1])
    print(f"upload of 1 GiB: {measured['more']:.0f} MiB more than the {measured['before']:.0f} MiB before")
    assert measured["state"] == "ready"
    assert measured["more"] < 100
