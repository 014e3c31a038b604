# Copyright (c) 2026, The cozystack.worker_image contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Import, adopt, upload or retire one golden without the catalog."""

from __future__ import annotations

from typing import Any

from .._guard.findings import Verdict
from .._guard.import_case import ImportCase
from .._guard.judge import judge_import, judge_retirement
from .._guard.retire import NEVER_ACCEPTED
from .._guard.state import ClusterState
from .._image.golden import GOLDEN_NAMESPACE
from .._image.wanted import SOURCE_SETTINGS, WantedGolden
from .._kube.errors import KubeError
from .._kube.resources import CONFIG_MAP, DATA_VOLUME, SECRET, STORAGE_CLASS
from .._kube.schema import published_spec
from .._plan.changes import compare, path_text
from .._plan.golden import adopt_step, create_step, delete_step, upload_step
from .._plan.plan import CREATE, DELETE, PATCH, Plan, Step
from .._storage.reading import dig
from .approved import EXPECTED_SPEC, check_approved
from .clone_settings import read_clone_settings
from .entry import POLICY_SPEC, Session
from .failures import Failure, OptionFailure, Refusal
from .golden_retire import delete_golden, retire
from .golden_site import Usage, View, look, read_usage
from .golden_upload import Source, source_of, upload
from .golden_wait import wait_for_goldens
from .results import outcome, settled_by
from .waiting import Golden

GOLDEN_SPEC: dict[str, Any] = {
    "schematicID": {"type": "str", "required": True},
    "version": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "imageFactoryURL": {"type": "str"},
    "storage": {"type": "raw"},
    "storageClass": {"type": "str"},
    "certConfigMap": {"type": "str"},
    "secretRef": {"type": "str", "no_log": False},
    "checksum": {"type": "str"},
    "src": {"type": "path"},
    "upload_proxy_url": {"type": "str"},
    "upload_ca_cert": {"type": "path"},
    "upload_validate_certs": {"type": "bool", "default": True},
    "recreate": {"type": "str", "choices": ["never", "stuck"], "default": "never"},
    "when_free": {"type": "bool", "default": False},
    "force_render": {"type": "bool", "default": False},
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "int"},
    "max_restarts": {"type": "int", "default": 3},
    **POLICY_SPEC,
    **EXPECTED_SPEC,
}
_CONFLICT_ATTEMPTS = 4


def golden_image(session: Session) -> dict[str, Any]:
    """Job of module golden_image."""
    params = session.params
    for rule_id in params["accept"]:
        if rule_id in NEVER_ACCEPTED:
            raise OptionFailure("accept", f"{rule_id} cannot be accepted: a golden that somebody needs is kept")
    wanted = WantedGolden(
        schematic_id=params["schematicID"],
        version=params["version"],
        image_factory_url=params["imageFactoryURL"] or None,
        storage=params["storage"] or None,
        storage_class=params["storageClass"],
        settings={key: params[key] for key in SOURCE_SETTINGS if params[key]},
        upload=bool(params["src"]),
    )
    if params["state"] == "absent":
        return retire(session, wanted)
    for attempt in range(_CONFLICT_ATTEMPTS):
        prepared = _Present(session, wanted)
        if session.check_mode or not prepared.plan.steps:
            return prepared.result(prepared.view.golden)
        try:
            prepared.apply()
            break
        except KubeError as error:
            # Somebody made, changed or removed it meanwhile: look again, judge again.
            if not error.conflict or attempt == _CONFLICT_ATTEMPTS - 1:
                raise
    return prepared.result(prepared.finish())


class _Present:
    """One look at the golden, what the rules say of it, and the steps that follow."""

    def __init__(self, session: Session, wanted: WantedGolden) -> None:
        self.session, self.wanted, params = session, wanted, session.params
        self.view: View = look(session.client, wanted.name, params["max_restarts"])
        self.recreate = params["recreate"] == "stuck" and self.view.golden.state.in_trouble and self.view.exists
        making = not self.view.exists or self.recreate
        sending = wanted.upload and not self.view.golden.state.ready
        self.source: Source = source_of(session, wanted) if sending else Source()
        self.usage: Usage | None = read_usage(session.client) if self.recreate else None
        verdict = judge_import(self._case(making))
        if self.usage is not None:
            verdict = verdict.plus(judge_retirement(self.usage.case(wanted, recreated=True)))
        self.verdict: Verdict = settled_by(params, verdict)
        if self.verdict.refused:
            raise Refusal(self.verdict, **outcome(Plan(), self.verdict, golden=self.described(self.view.golden)))
        self.plan = Plan(tuple(self._steps(making, sending)))
        check_approved(params, self.plan, **outcome(self.plan, self.verdict, golden=self.described(self.view.golden)))

    def _case(self, making: bool) -> ImportCase:
        client, settings = self.session.client, self.wanted.settings or {}
        facts: dict[str, Any] = {}
        if making:
            classes = _listed(self.session, STORAGE_CLASS)
            if classes is not None:
                known = ClusterState.from_lists(storage_classes=classes, data_volumes=[])
                cluster, _ = read_clone_settings(client, known)
                names = tuple(cluster.names_of("storage_classes"))
                facts = {"classes": names, "default_class": cluster.default_class.name, "cluster": cluster}
        if making and not self.wanted.upload:
            if "checksum" in settings:
                spec = published_spec(client, DATA_VOLUME)
                http = dig(spec, "source", "properties", "http", "properties")
                facts["checksum_known"] = None if http is None else "checksum" in http
            for key, resource, fact in (("certConfigMap", CONFIG_MAP, "config_map"), ("secretRef", SECRET, "secret")):
                if key in settings:
                    found = _names(self.session, resource)
                    facts[fact] = None if found is None else settings[key] in found
        return ImportCase(
            wanted=self.wanted,
            live=self.view.golden.state,
            volume=self.view.volume,
            claim=self.view.claim,
            making=making,
            recreate=self.recreate,
            checksum=self.source.checksum,
            raw_size=self.source.file.raw_size if self.source.file else None,
            file_problem=self.source.problem,
            proxy_problem=self.source.proxy_problem,
            **facts,
        )

    def _steps(self, making: bool, sending: bool) -> list[Step]:
        steps: list[Step] = []
        live = self.view.volume or self.view.claim
        if self.recreate and live is not None:
            state = self.view.golden.state
            steps.append(
                delete_step(live, f"it is {state.state}: {state.reason}; recreate=stuck asks for a new import")
            )
        if making:
            reason = "import it anew" if self.recreate else "the golden does not exist"
            steps.append(create_step(self.wanted, reason, self.source.checksum))
        elif self.view.volume is not None:
            adopt = adopt_step(self.wanted, self.view.volume)
            steps += [adopt] if adopt else []
        if sending:
            steps.append(upload_step(self.wanted, self.source.path, self.source.checksum))
        return steps

    def apply(self) -> None:
        """Write the steps up to the upload. Errors: KubeError, 409 when the golden is no longer what was judged."""
        client = self.session.client
        for step in self.plan.steps:
            if step.action == DELETE and self.usage is not None:
                delete_golden(self.session, step, self.wanted, recreated=True)
            elif step.action == CREATE:
                made = client.create(DATA_VOLUME, step.payload, GOLDEN_NAMESPACE)
                dropped = [path_text(change.path) for change in compare({"spec": step.payload["spec"]}, made)]
                if dropped:
                    raise Failure(
                        f"The API server dropped {', '.join(dropped)} of DataVolume {GOLDEN_NAMESPACE}/{step.name}; this CDI does not know "
                        "it. The golden was created without; delete it (state=absent) or leave the option out.",
                        dropped=dropped,
                    )
            elif step.action == PATCH:
                client.merge_patch(DATA_VOLUME, step.name, step.payload, GOLDEN_NAMESPACE)

    def finish(self) -> Golden:
        """Send the file if there is one, then wait as far as asked. Errors: WaitFailure, Failure."""
        params = self.session.params
        if self.source.file is not None:
            upload(self.session, self.wanted.name, self.source)
        if not params["wait"]:
            return look(self.session.client, self.wanted.name, params["max_restarts"]).golden
        found = wait_for_goldens(
            self.session, [self.wanted.name], seconds=params["wait_timeout"], max_restarts=params["max_restarts"]
        )
        return found[0]

    def described(self, golden: Golden) -> dict[str, Any]:
        pair = {"schematicID": self.wanted.schematic_id, "version": self.wanted.version}
        return {**golden.as_dict(), **pair}

    def result(self, golden: Golden) -> dict[str, Any]:
        shown = self.described(golden)
        if self.session.check_mode and any(step.action == CREATE for step in self.plan.steps):
            shown["state"] = "planned"
        return outcome(self.plan, self.verdict, golden=shown, pending=False, users=[])


def _listed(session: Session, resource: Any) -> list[dict[str, Any]] | None:
    try:
        return session.client.items(resource)
    except KubeError as error:
        if error.forbidden or error.not_found:
            return None
        raise


def _names(session: Session, resource: Any) -> set[str] | None:
    """Names only: the contents of Secrets are never asked for."""
    try:
        items = session.client.metadata_items(resource, GOLDEN_NAMESPACE)
    except KubeError as error:
        if error.forbidden or error.not_found:
            return None
        raise
    return {str(dig(item, "metadata", "name")) for item in items}
