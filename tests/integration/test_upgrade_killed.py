# SPDX-License-Identifier: Apache-2.0
"""An upgrade of 40 pools in batches of 5, killed at random moments ten times and restarted each time. Run with SLOW=1."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.site import ROOT, Site, golden
from tests.integration.upgrading import (
    NEW,
    NODES,
    OLD,
    boot_seconds,
    bring,
    furnish,
    images,
    kill,
    recorded,
    upgrade,
    upgrade_command,
    versions,
)

SCENARIO = "demo"
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.environ.get("SLOW") != "1", reason="takes minutes; SLOW=1 runs it"),
]

POOLS, BATCH, KILLS = 40, 5, 10
ACME = [("tenant-acme", "shop", f"p{index:02}") for index in range(POOLS // 2)]
GLOBEX = [("tenant-globex", "web", f"p{index:02}") for index in range(POOLS // 2)]


def test_ends_with_all_pools_moved_and_never_moves_more_than_a_batch(site: Site, tmp_path: Path) -> None:
    bring(site, OLD)
    furnish(site, ACME + GLOBEX)
    boot_seconds(site, 4.0)
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    moments = random.Random(seed)
    # The expression no longer holds for pools that were moved: the runs have to know them all the same.
    data: dict[str, Any] = {
        "catalog_values": {"images": images(NEW)},
        "upgrade_select": {"where": f"source.version == '{OLD}'"},
        "upgrade_batch_size": BATCH,
        "upgrade_canary": ["tenant-acme/shop-p00"],
        "upgrade_retire": "delete_free",
        "upgrade_retire_accept": ["golden-in-idle-template"],
    }
    command = upgrade_command(site, tmp_path, data)
    mark = site.mark()
    progress: list[int] = []
    with recorded(site) as recorder:
        for _ in range(KILLS):
            process = subprocess.Popen(
                command, cwd=ROOT, env=site.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            begun, wait = len([1 for found in versions(site).values() if found == NEW]), moments.uniform(0.2, 10.0)
            # Half of them while pools are written and rolled, the others at any moment from the start on.
            if moments.random() < 0.5:
                deadline = time.monotonic() + 60
                while process.poll() is None and time.monotonic() < deadline:
                    if len([1 for found in versions(site).values() if found == NEW]) > begun:
                        break
                    time.sleep(0.05)
                wait = moments.uniform(0.0, 1.0)
            time.sleep(wait)
            kill(process)
            progress.append(len([1 for found in versions(site).values() if found == NEW]))
        done = upgrade(site, tmp_path, data)
    print(f"moved when killed: {progress}")
    assert done.code == 0, done.output
    assert set(versions(site).values()) == {NEW}
    assert len(versions(site)) == POOLS
    assert recorder.most() <= BATCH
    assert max(len(wave) for wave in recorder.waves()) <= BATCH
    assert recorder.waves()[0] == {"tenant-acme/shop-p00"}
    moved = [item.name for item in site.since(mark).writes() if item.resource == NODES]
    assert sorted(moved) == sorted(versions(site)), "each pool is written once"
    gone = recorder.deleted_goldens()
    assert [name for _, name in gone] == [golden(OLD)]
    last = max(version for version, away in recorder.moving() if away)
    assert gone[0][0] > last, "the old golden was retired while pools were still leaving it"
    assert site.get("DataVolume", golden(NEW), "cozy-public") is not None
