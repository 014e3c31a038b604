# SPDX-License-Identifier: Apache-2.0
"""Jobs of modules, run in the process of the test against a lab: a few dozen runs then take seconds, not minutes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.client import Client
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.connection import Settings
from ansible_collections.cozystack.worker_image.plugins.module_utils._kube.transport import (
    CHECK_MODE_USER_AGENT,
    USER_AGENT,
    HttpTransport,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.entry import Session
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.failures import Failure
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.node_pools import POOLS_SPEC, node_pools
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.node_pools_info import (
    INFO_SPEC,
    node_pools_info,
)
from ansible_collections.cozystack.worker_image.plugins.module_utils._run.progress import Reporter

Job = Callable[[Session], dict[str, Any]]


def session(kubeconfig: str, spec: dict[str, Any], check: bool = False, **params: Any) -> Session:
    """What a module with these options gets."""
    client = Client(HttpTransport(Settings(kubeconfig=kubeconfig), CHECK_MODE_USER_AGENT if check else USER_AGENT))
    given = {name: option.get("default") for name, option in spec.items()} | params
    return Session(given, client, check, print, Reporter(lambda line: None))


def run(job: Job, found: Session) -> dict[str, Any]:
    """The result; of a failure with ``failed`` and ``msg``, as Ansible returns it."""
    try:
        return job(found)
    except Failure as error:
        return {"failed": True, "msg": str(error), **error.result}


def pools_job(kubeconfig: str, check: bool = False, **params: Any) -> dict[str, Any]:
    return run(node_pools, session(kubeconfig, POOLS_SPEC, check, **params))


def info_job(kubeconfig: str, **params: Any) -> dict[str, Any]:
    return run(node_pools_info, session(kubeconfig, INFO_SPEC, **params))


def _child(kubeconfig: str, params: dict[str, Any]) -> None:
    pools_job(kubeconfig, **params)


def pools_process(kubeconfig: str, **params: Any) -> multiprocessing.process.BaseProcess:
    """node_pools in a process of its own, to be killed."""
    process = multiprocessing.get_context("spawn").Process(target=_child, args=(kubeconfig, params))
    process.start()
    return process


def kill(process: multiprocessing.process.BaseProcess) -> None:
    if process.pid is not None and process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join(30)
