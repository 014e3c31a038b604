# SPDX-License-Identifier: Apache-2.0
"""The demonstration: the product's main job on a real Kubernetes API, in figures.

    python demo/run.py [--home DIR] [--keep] [--verbose]

Starts the lab, runs playbooks/site.yml in check mode, for real, a second time, and with HTTP pools for comparison. Prints a table and
writes DIR/demo.json. Exit code 1 when a figure is not what it has to be.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lab.ledger import Ledger

PRODUCT = "cozystack.worker_image"
POOL_ANNOTATION = "kubernetes-worker-image.cozystack.io/pool"


def say(text: str) -> None:
    print(f"demo: {text}", flush=True)


class Demo:
    """One run; ``seconds`` maps the name of a step to its wall time."""

    def __init__(self, home: Path, verbose: bool) -> None:
        self.home, self.verbose = home, verbose
        self.seconds: dict[str, float] = {}
        self.lab: dict[str, Any] = {}
        self.environment = dict(os.environ)

    def lab_command(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "lab", *arguments, "--home", str(self.home)]
        done = subprocess.run(command, cwd=ROOT, capture_output=not self.verbose, text=True, check=False)
        if done.returncode:
            sys.exit(f"demo: lab {arguments[0]} failed: {done.stdout or ''}{done.stderr or ''}")

    def start(self) -> None:
        started = time.monotonic()
        subprocess.run([sys.executable, "-m", "lab", "build"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        say("starting a real etcd and kube-apiserver, with the lab's imitation of the platform")
        self.lab_command("down")
        self.lab_command("up")
        self.lab_command("scenario", "demo")
        self.lab = json.loads((self.home / "lab.json").read_text())
        self.environment |= {
            "K8S_AUTH_KUBECONFIG": self.lab["kubeconfig"],
            "LAB_IMAGE_SOURCE": self.lab["image_source"],
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_INVENTORY": str(ROOT / "demo" / "inventory"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_DEPRECATION_WARNINGS": "false",
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
        }
        self.seconds["start"] = round(time.monotonic() - started, 1)

    def site(self, step: str, *arguments: str) -> str:
        """Run playbooks/site.yml; its output, which is shown only when it fails."""
        say(f"{step}: ansible-playbook cozystack.worker_image.site {' '.join(arguments)}".rstrip())
        started = time.monotonic()
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "cozystack.worker_image.site", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        self.seconds[step] = round(time.monotonic() - started, 1)
        (self.home / f"site-{step}.log").write_text(done.stdout + done.stderr)
        if done.returncode or self.verbose:
            print(done.stdout + done.stderr)
        if done.returncode:
            sys.exit(f"demo: step {step} failed (see above)")
        return done.stdout

    def ledger(self) -> Ledger:
        return Ledger(Path(self.lab["audit_log"]))

    def downloads(self) -> int:
        """Complete downloads of OS images that the image source has answered so far."""
        with urllib.request.urlopen(self.lab["image_source"] + "/_lab/counts", timeout=10) as answer:
            counts = json.load(answer)
        return sum(count["get"] for path, count in counts.items() if path.endswith(".raw.xz"))

    def kubectl(self, path: str) -> Any:
        """GET by the lab's own client, which the ledger tells from the product's."""
        import asyncio

        from lab.api import Api

        async def fetch() -> Any:
            async with Api(self.lab["kubeconfig"], "demo") as api:
                return await api.request("GET", path)

        return asyncio.run(fetch())

    def disks(self) -> tuple[int, bool]:
        """(number of worker disks, whether each is the golden byte for byte)."""
        volumes = self.kubectl("/apis/cdi.kubevirt.io/v1beta1/datavolumes")["items"]
        workers = [item for item in volumes if POOL_ANNOTATION in (item["metadata"].get("annotations") or {})]
        root = Path(self.lab["volumes"])
        golden = {digest(root / "cozy-public" / f"{item['spec']['source']['pvc']['name']}.raw") for item in workers}
        disks = {digest(root / item["metadata"]["namespace"] / f"{item['metadata']['name']}.raw") for item in workers}
        return len(workers), len(golden) == 1 and disks == golden


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def changed(output: str) -> int:
    """The recap's count of changed tasks."""
    found = re.search(r"^lab\s.*\bchanged=(\d+)", output, re.MULTILINE)
    if not found:
        sys.exit("demo: the play recap is missing")
    return int(found.group(1))


def package_is_intact(demo: Demo, before: Any) -> bool:
    """Whether every foreign entry, key and annotation of the platform Package survived."""
    after = demo.kubectl("/apis/cozystack.io/v1alpha1/packages/cozystack.cozystack-platform")

    def foreign(package: Any) -> Any:
        values = json.loads(json.dumps(package["spec"]["components"]["platform"]["values"]))
        values.pop("kubernetesWorkerImage", None)
        enabled = values["bundles"]["enabledPackages"]
        values["bundles"]["enabledPackages"] = [name for name in enabled if name != "cozystack.kubernetes-worker-image"]
        return values, package["spec"].get("variant"), package["metadata"].get("annotations")

    return bool(foreign(before) == foreign(after))


def perform(demo: Demo) -> dict[str, Any]:
    demo.start()
    package = demo.kubectl("/apis/cozystack.io/v1alpha1/packages/cozystack.cozystack-platform")
    mark = demo.ledger().mark()
    demo.site("check", "--check", "--diff")
    check_writes = len(demo.ledger().since(mark, user_agent=PRODUCT).writes())
    first = demo.site("first")
    workers, identical = demo.disks()
    downloads = demo.downloads()
    mark = demo.ledger().mark()
    second = demo.site("second")
    since = demo.ledger().since(mark, user_agent=PRODUCT)
    intact = package_is_intact(demo, package)
    say("for comparison, the same pools over HTTP")
    demo.site("factory", "-e", "demo_source=factory", "--tags", "pools")
    print("\n".join(summary_lines(first)))
    return {
        "workers": workers,
        "image_downloads": downloads,
        "image_downloads_factory": demo.downloads() - downloads,
        "first_run_changed": changed(first),
        "second_run_changed": changed(second),
        "second_run_writes": len(since.writes()),
        "second_run_requests": since.count(),
        "check_mode_writes": check_writes,
        "disks_identical": identical,
        "foreign_settings_intact": intact,
        "seconds": demo.seconds,
    }


def summary_lines(output: str) -> list[str]:
    """What the first run told its operator at the end."""
    wanted = ("Golden ", "Pool ", "Advice ")
    lines = [line.strip().rstrip(",").strip('"') for line in output.splitlines()]
    return ["", "What the first run says at its end:", *(f"  {line}" for line in lines if line.startswith(wanted)), ""]


def verdict(figures: dict[str, Any]) -> list[str]:
    """The figures that are not what they have to be."""
    wanted = {
        "image_downloads": 1,
        "image_downloads_factory": figures["workers"],
        "second_run_changed": 0,
        "second_run_writes": 0,
        "check_mode_writes": 0,
        "disks_identical": True,
        "foreign_settings_intact": True,
    }
    wrong = [f"{name} is {figures[name]}, not {value}" for name, value in wanted.items() if figures[name] != value]
    if figures["workers"] < 8:
        wrong.append(f"workers is {figures['workers']}, less than 8")
    if figures["second_run_requests"] > 15:
        wrong.append(f"second_run_requests is {figures['second_run_requests']}, more than 15")
    if not figures["first_run_changed"]:
        wrong.append("the first run changed nothing")
    return wrong


def table(figures: dict[str, Any]) -> str:
    explained = {
        "workers": "worker VMs with a boot disk",
        "image_downloads": "downloads of the OS image with golden images",
        "image_downloads_factory": "downloads for the same workers over HTTP",
        "first_run_changed": "tasks changed by the first run",
        "second_run_changed": "tasks changed by the second run",
        "second_run_writes": "writing requests of the second run (audit log)",
        "second_run_requests": "requests of the second run in all",
        "check_mode_writes": "writing requests of the check-mode run",
        "disks_identical": "every worker disk equals the golden",
        "foreign_settings_intact": "other people's settings on the platform Package kept",
    }
    lines = [f"  {name:<26}{figures[name]!s:>7}   {text}" for name, text in explained.items()]
    lines += [f"  {'seconds: ' + name:<26}{value:>7}" for name, value in figures["seconds"].items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--home", type=Path, default=ROOT / ".lab")
    parser.add_argument("--keep", action="store_true", help="leave the lab running")
    parser.add_argument("--verbose", action="store_true", help="show the output of every playbook run")
    arguments = parser.parse_args()
    demo = Demo(arguments.home.resolve(), arguments.verbose)
    try:
        figures = perform(demo)
    finally:
        if not arguments.keep:
            demo.lab_command("down")
    print(table(figures))
    (demo.home / "demo.json").write_text(json.dumps(figures, indent=2) + "\n")
    wrong = verdict(figures)
    say(
        f"figures are in {os.path.relpath(demo.home / 'demo.json')}"
        + ("" if not arguments.keep else "; the lab is still up")
    )
    if wrong:
        sys.exit("demo: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
