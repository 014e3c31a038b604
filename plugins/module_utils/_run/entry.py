# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wiring of every module: options in, one job, one way out. The only place that knows AnsibleModule."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._kube.client import Client
from .._kube.connection import connection_argument_spec, resolve
from .._kube.errors import ConnectionOptionError, KubeError
from .._kube.observe import LiveNews, News
from .._kube.transport import CHECK_MODE_USER_AGENT, USER_AGENT, HttpTransport
from .failures import Failure
from .patience import Patience
from .progress import Reporter, file_writer

POLICY_SPEC: dict[str, Any] = {
    "refuse_on": {"type": "list", "elements": "str", "default": []},
    "accept": {"type": "list", "elements": "str", "default": []},
}


# No answer at all, or one that says nothing about the request.
_AWAY = (0, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Session:
    """What a job gets: checked options, a client, and whether it may write; and for waits, how long and where changes come from."""

    params: Mapping[str, Any]
    client: Client
    check_mode: bool
    warn: Callable[[str], None]
    reporter: Reporter
    patience: Patience = field(default_factory=Patience)
    news: Callable[[], News] = LiveNews


@dataclass(frozen=True)
class LocalSession:
    """What a job gets that talks to no API server."""

    params: Mapping[str, Any]
    check_mode: bool
    warn: Callable[[str], None]
    reporter: Reporter


Job = Callable[[Session], dict[str, Any]]
LocalJob = Callable[[LocalSession], dict[str, Any]]


def run_module(job: Job, argument_spec: Mapping[str, Any], **kwargs: Any) -> None:
    """Run a job as an Ansible module; ends the process."""

    def work(module: Any, patience: Patience) -> dict[str, Any]:
        settings = resolve(module.params, os.environ)
        module.no_log_values.update(settings.secrets)
        transport = HttpTransport(settings, CHECK_MODE_USER_AGENT if module.check_mode else USER_AGENT)
        if not transport.verifies:
            module.warn(
                f"the certificate of {transport.host} is not verified; give a CA (ca_cert, K8S_AUTH_SSL_CA_CERT)"
            )
        reporter = _reporter(patience)
        client = Client(transport, note=lambda text: reporter.tell(text, text))
        return job(Session(module.params, client, module.check_mode, module.warn, reporter, patience))

    _run(work, {**connection_argument_spec(), **argument_spec}, "kubernetes", kwargs)


def run_local_module(job: LocalJob, argument_spec: Mapping[str, Any], **kwargs: Any) -> None:
    """Run a job that needs no API server, so no connection option either; ends the process."""

    def work(module: Any, patience: Patience) -> dict[str, Any]:
        return job(LocalSession(module.params, module.check_mode, module.warn, _reporter(patience)))

    _run(work, argument_spec, "urllib3", kwargs)


def _reporter(patience: Patience) -> Reporter:
    """To the action's file; where there is none, the lines go into the result of each slice."""
    write = file_writer(os.environ) if patience.slice is None else patience.lines.append
    return Reporter(write, waited=patience.waited)


def _run(
    work: Callable[[Any, Patience], dict[str, Any]],
    argument_spec: Mapping[str, Any],
    library: str,
    kwargs: Mapping[str, Any],
) -> None:
    """The only place that turns exceptions into fail_json. ``library`` is what an ImportError is about."""
    from ansible.module_utils.basic import AnsibleModule, missing_required_lib

    module = AnsibleModule(argument_spec=dict(argument_spec), supports_check_mode=True, **kwargs)
    patience = Patience.of(os.environ)
    if module.params.get("wait_timeout"):
        module.params["wait_timeout"] = patience.share(float(module.params["wait_timeout"]))
    try:
        result = work(module, patience)
    except ImportError as error:
        module.fail_json(msg=missing_required_lib(library), exception=str(error))
    except Failure as error:
        if error.result.get("timed_out") and patience.more:
            result = {key: value for key, value in error.result.items() if key != "timed_out"}
            module.exit_json(**{"changed": False, **result, **patience.report(over=True)})
        module.fail_json(msg=str(error), **error.result, **patience.report(over=False))
    except (ConnectionOptionError, KubeError) as error:
        about = error.as_dict() if isinstance(error, KubeError) else {}
        # The API server is away between two slices, as it may be within one.
        if about.get("status") in _AWAY and patience.continued:
            patience.lines.append(str(error))
            module.exit_json(changed=False, **patience.report(over=True))
        module.fail_json(msg=str(error), **about, **patience.report(over=False))
    except Exception as error:  # noqa: BLE001 (a defect of ours must still end as one readable message)
        text = f"{type(error).__name__}: {error}; this is a defect of the collection, please report it with the output of -vvv"
        module.fail_json(msg=text, exception=traceback.format_exc())
    module.exit_json(**result, **patience.report(over=False))
