# SPDX-License-Identifier: Apache-2.0
"""Goldens that are to be imported, adopted or retired, with exactly what the rules say. Each row differs from a passing one in one term."""

from __future__ import annotations

from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.import_case import ImportCase
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.retire import RetireCase
from ansible_collections.cozystack.worker_image.plugins.module_utils._guard.state import ClusterState
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.render import (
    SCHEMATIC_ANNOTATION,
    VERSION_ANNOTATION,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._image.wanted import WantedGolden
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.golden import golden_state
from ansible_collections.cozystack.worker_image.plugins.module_utils._storage.objects import Claim, DataVolume
from ansible_collections.cozystack.worker_image.plugins.module_utils._usage.users import KINDS, User

from .build import GA, GOLDEN, SCHEMATIC, claim, golden, profile, storage_class

PAIR = (SCHEMATIC, "v1.13.6")
MARKS = {SCHEMATIC_ANNOTATION: SCHEMATIC, VERSION_ANNOTATION: "v1.13.6"}
BASE = "http://mirror.example.net"
URL = f"{BASE}/image/{SCHEMATIC}/v1.13.6/openstack-amd64.raw.xz"
CLASSES = ClusterState.from_objects(
    [storage_class("replicated", GA), storage_class("local"), profile("files", "Filesystem")]
)
SHA = "sha256:" + "a" * 64


def wanted(**change):
    return WantedGolden(**{"schematic_id": SCHEMATIC, "version": "v1.13.6", **change})


def importing(want=None, volume=None, behind=None, **known):
    live = DataVolume.from_api(volume) if volume else None
    bound = Claim.from_api(behind) if behind else None
    facts = {
        "making": live is None,
        "classes": ("replicated", "local"),
        "default_class": "replicated",
        "cluster": CLASSES,
        **known,
    }
    return ImportCase(want or wanted(), golden_state(live, bound), live, bound, **facts)


def live(**change):
    return golden(**{"url": URL, "annotations": MARKS, **change})


def http(**settings):
    return wanted(settings=settings)


FAILING = {"phase": "ImportInProgress", "restartCount": 3, "running": "False", "message": "404"}
EMPTY_UPLOAD = {**golden("UploadReady"), "spec": {"source": {"upload": {}}}}


def with_ca(name):
    made = live()
    return {**made, "spec": {**made["spec"], "source": {"http": {"url": URL, "certConfigMap": name}}}}


SMALL = {"source": {"upload": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}
IMPORTS = [
    ("defaults", importing(), ""),
    ("matches", importing(wanted(image_factory_url=BASE, storage="6Gi", storage_class="replicated"), live()), ""),
    ("upper case", importing(wanted(schematic_id="ABC")), "schematic-format"),
    ("short version", importing(wanted(version="v1.13")), "version-format"),
    ("ftp", importing(wanted(image_factory_url="ftp://m")), "factory-url-format"),
    ("ftp of an upload", importing(wanted(image_factory_url="ftp://m", upload=True)), ""),
    ("no size", importing(wanted(storage="6 Gi")), "storage-format"),
    ("size zero", importing(wanted(storage="0")), "storage-format"),
    ("too small", importing(wanted(storage="4Gi")), "golden-too-small"),
    ("just enough", importing(wanted(storage="4247Mi")), ""),
    ("one byte short", importing(wanted(storage=str(4247 * 1024**2 - 1))), "golden-too-small"),
    (
        "a file system takes its share",
        importing(wanted(storage="4247Mi", storage_class="files"), classes=("files",)),
        "golden-too-small",
    ),
    ("old release fits", importing(wanted(version="v1.9.6", storage="2Gi")), ""),
    ("unknown release", importing(wanted(version="v2.0.0", storage="1Mi")), ""),
    ("too small but there", importing(wanted(storage="4Gi"), live(size="4Gi")), ""),
    ("file too large", importing(wanted(upload=True), raw_size=6 * 1024**3 + 1), "golden-too-small"),
    ("file and no size", importing(wanted(upload=True, storage="0"), raw_size=1), "storage-format"),
    ("file and no quantity", importing(wanted(upload=True, storage="6 Gi"), raw_size=1), "storage-format"),
    (
        "file for a golden that is there",
        importing(wanted(upload=True), {**EMPTY_UPLOAD, "spec": SMALL}, raw_size=2 * 1024**3),
        "golden-too-small",
    ),
    (
        "file anew",
        importing(
            wanted(upload=True), {**EMPTY_UPLOAD, "spec": SMALL}, raw_size=2 * 1024**3, making=True, recreate=True
        ),
        "",
    ),
    ("file just fits", importing(wanted(upload=True), raw_size=6 * 1024**3), ""),
    ("small file of a large release", importing(wanted(upload=True, storage="1Gi"), raw_size=1024**2), ""),
    ("other size", importing(wanted(storage="8Gi"), live()), "golden-immutable"),
    ("same size in other words", importing(wanted(storage="6144Mi"), live()), ""),
    ("other class", importing(wanted(storage_class="local"), live()), "golden-immutable"),
    ("other address", importing(wanted(image_factory_url="http://other"), live()), "golden-immutable"),
    ("slashes", importing(wanted(image_factory_url=BASE + "//"), live()), ""),
    ("undeclared differ", importing(wanted(), live(size="8Gi", storage_class="local")), ""),
    ("anew", importing(wanted(storage="8Gi"), live(), recreate=True), ""),
    (
        "class of the claim",
        importing(wanted(storage_class="local"), live(storage_class=None), claim()),
        "golden-immutable",
    ),
    ("class of the claim fits", importing(wanted(storage_class="replicated"), live(storage_class=None), claim()), ""),
    ("size of the claim", importing(wanted(storage="8Gi"), live(size=None), claim()), "golden-immutable"),
    ("size of the claim fits", importing(wanted(storage="6144Mi"), live(size=None), claim()), ""),
    ("any class, claim elsewhere", importing(wanted(storage_class=""), live(storage_class=None), claim("local")), ""),
    (
        "class of the claim counts for nothing",
        importing(wanted(storage_class="replicated"), live(), claim("local")),
        "",
    ),
    ("claim without a size", importing(wanted(storage="6Gi"), live(size=None), claim(size=None)), ""),
    ("no size anywhere", importing(wanted(), live(size=None), claim(size="9Gi")), ""),
    ("rounded claim", importing(wanted(storage="6Gi"), live(), claim(size="7Gi")), ""),
    ("other CA", importing(http(certConfigMap="ca"), live()), "golden-immutable"),
    ("same CA", importing(http(certConfigMap="ca"), with_ca("ca")), ""),
    ("CA of another name", importing(http(certConfigMap="ca"), with_ca("other")), "golden-immutable"),
    ("checksum of an upload over an import", importing(wanted(upload=True, settings={"checksum": SHA}), live()), ""),
    ("CA for what was uploaded", importing(http(certConfigMap="ca"), golden()), ""),
    ("upload of what is ready", importing(wanted(upload=True), live(), checksum=SHA), ""),
    (
        "upload over an import",
        importing(wanted(upload=True), live(phase="ImportInProgress"), checksum=SHA),
        "golden-immutable",
    ),
    ("import over an upload", importing(wanted(), EMPTY_UPLOAD), "golden-immutable"),
    ("no source told", importing(wanted(), golden("ImportInProgress")), ""),
    (
        "imported declaration of what was uploaded",
        importing(
            wanted(),
            golden(annotations={"worker-image.cozystack.io/uploaded-sha256": SHA}),
        ),
        "",
    ),
    ("upload goes on", importing(wanted(upload=True), EMPTY_UPLOAD), ""),
    (
        "another file",
        importing(
            wanted(upload=True),
            {
                **EMPTY_UPLOAD,
                "metadata": {"name": GOLDEN, "annotations": {"worker-image.cozystack.io/uploaded-sha256": "sha256:b"}},
            },
            checksum=SHA,
        ),
        "golden-immutable",
    ),
    (
        "the same file",
        importing(
            wanted(upload=True),
            {
                **EMPTY_UPLOAD,
                "metadata": {"name": GOLDEN, "annotations": {"worker-image.cozystack.io/uploaded-sha256": SHA}},
            },
            checksum=SHA,
        ),
        "",
    ),
    ("unknown class", importing(wanted(storage_class="gone")), "storage-class-unknown"),
    ("unknown class but there", importing(wanted(), live(), classes=()), ""),
    ("default class", importing(wanted(storage_class="")), ""),
    ("no default class", importing(wanted(storage_class=""), default_class=""), "storage-class-unknown"),
    ("bare checksum", importing(http(checksum="a" * 64), checksum_known=True), "checksum-format"),
    ("short checksum", importing(http(checksum="sha256:" + "a" * 63), checksum_known=True), "checksum-format"),
    ("unknown algorithm", importing(http(checksum="crc32:" + "a" * 8), checksum_known=True), "checksum-format"),
    ("checksum", importing(http(checksum=SHA), checksum_known=True), ""),
    ("md5 in capitals", importing(http(checksum="MD5:" + "A" * 32), checksum_known=True), ""),
    (
        "checksum of other letters",
        importing(http(checksum="sha256:" + "g" * 64), checksum_known=True),
        "checksum-format",
    ),
    ("checksum on old CDI", importing(http(checksum=SHA), checksum_known=False), "checksum-unsupported"),
    ("no checksum on old CDI", importing(http(), checksum_known=False), ""),
    ("checksum of an upload", importing(wanted(upload=True, settings={"checksum": SHA}), checksum_known=False), ""),
    ("no CA", importing(http(certConfigMap="ca"), config_map=False), "ca-config-map-missing"),
    ("CA", importing(http(certConfigMap="ca"), config_map=True), ""),
    ("no secret", importing(http(secretRef="s"), secret=False), "source-secret-missing"),
    ("secret", importing(http(secretRef="s"), secret=True), ""),
    ("bad file", importing(wanted(upload=True), file_problem="x: damaged"), "upload-file-unusable"),
    ("no proxy", importing(wanted(upload=True), proxy_problem="unknown"), "upload-proxy-unknown"),
    ("in trouble", importing(wanted(), live(**FAILING)), "golden-in-trouble"),
    ("in trouble, anew", importing(wanted(), live(**FAILING), recreate=True), ""),
    (
        "all at once",
        importing(wanted(schematic_id="A", version="1", storage="x")),
        "schematic-format version-format storage-format",
    ),
]


def retiring(volume=None, behind=None, *hows, **known):
    users = [User(how, "tenant-a", f"u{index}") for index, how in enumerate(hows)]
    facts = {
        "volume": DataVolume.from_api(volume) if volume else None,
        "claim": Claim.from_api(behind) if behind else None,
        "users": users,
        "listed": False,
        **known,
    }
    return RetireCase(GOLDEN, PAIR, **facts)


MARKED_CLAIM = {**claim(), "metadata": {"name": GOLDEN, "annotations": MARKS}}
RETIREMENTS = [
    ("free", retiring(live()), "", ""),
    ("gone", retiring(), "", ""),
    ("gone but declared", retiring(None, None, "declared", listed=True, unread={"x": "403"}), "", ""),
    ("declared", retiring(live(), None, "declared"), "golden-declared", ""),
    ("claim alone, declared", retiring(None, MARKED_CLAIM, "declared"), "golden-declared", ""),
    ("cloning", retiring(live(), None, "cloning"), "golden-being-cloned", ""),
    ("template", retiring(live(), None, "template"), "golden-in-template", ""),
    ("idle template", retiring(live(), None, "idle_template"), "golden-in-idle-template", ""),
    ("mounted", retiring(live(), None, "mounted"), "golden-mounted", ""),
    ("cloned", retiring(live(), None, "cloned"), "", ""),
    (
        "all",
        retiring(live(), None, *KINDS),
        "golden-declared golden-being-cloned golden-in-template golden-in-idle-template golden-mounted",
        "",
    ),
    ("anew", retiring(live(), None, *KINDS, recreated=True), "golden-being-cloned golden-mounted", ""),
    ("unread", retiring(live(), unread={"kubernetesnodeses.apps.cozystack.io": "403"}), "golden-usage-unread", ""),
    ("without marks", retiring(golden()), "golden-foreign", ""),
    ("marks of another", retiring(live(annotations={**MARKS, VERSION_ANNOTATION: "v1.13.7"})), "golden-foreign", ""),
    ("claim without marks", retiring(None, claim()), "golden-foreign", ""),
    ("listed", retiring(live(), listed=True), "", "golden-still-listed"),
    ("listed, anew", retiring(live(), listed=True, recreated=True), "", ""),
    ("catalog not read", retiring(live(), listed=None), "", ""),
]
