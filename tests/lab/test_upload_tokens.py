# SPDX-License-Identifier: Apache-2.0
"""UploadTokenRequests: tokens for one claim and a while, asked for through the aggregator, under RBAC."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from lab.api import Api, ApiError, Object
from lab.upload.tokens import Tokens
from tests.lab.helpers import Bench, live

REQUESTS = "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/{}/uploadtokenrequests"


def request_of(name: str) -> Object:
    api = "upload.cdi.kubevirt.io/v1beta1"
    return {"apiVersion": api, "kind": "UploadTokenRequest", "metadata": {"name": name}, "spec": {"pvcName": name}}


def test_token_is_for_one_claim_and_for_a_while(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "key")
    token = tokens.issue(("n", "golden"), 60)
    assert tokens.claim(token) == ("n", "golden")
    assert Tokens(tmp_path / "key").claim(token) == ("n", "golden")
    assert tokens.claim(tokens.issue(("n", "golden"), -1)) is None
    assert Tokens(tmp_path / "other").claim(token) is None
    for broken in ("", "x", "a.b.c", token[:-2], f"{token}x", token.replace(".", "", 1)):
        assert tokens.claim(broken) is None


@pytest.mark.lab
@live
async def test_requests_are_authorized_and_never_stored(bench: Bench) -> None:
    namespace = await bench.namespace("upload-rights")
    for method, path in (("GET", ""), ("GET", "/golden"), ("DELETE", "/golden")):
        with pytest.raises(ApiError, match="405"):
            await bench.api.request(method, REQUESTS.format(namespace) + path)
    with pytest.raises(ApiError, match="pvcName"):
        await bench.api.request("POST", REQUESTS.format(namespace), {"kind": "UploadTokenRequest", "spec": {}})
    kubeconfig = await _stranger(bench, namespace)
    async with Api(kubeconfig, "lab-test") as stranger:
        with pytest.raises(ApiError, match=r"403.*uploadtokenrequests"):
            await stranger.request("POST", REQUESTS.format(namespace), request_of("golden"))
        rules = [{"apiGroups": ["upload.cdi.kubevirt.io"], "resources": ["uploadtokenrequests"], "verbs": ["create"]}]
        meta = {"name": "uploader", "namespace": namespace}
        api = "rbac.authorization.k8s.io"
        await bench.api.create({"apiVersion": f"{api}/v1", "kind": "Role", "metadata": meta, "rules": rules})
        bound = {"roleRef": {"apiGroup": api, "kind": "Role", "name": "uploader"}}
        subjects = [{"kind": "ServiceAccount", "name": "stranger", "namespace": namespace}]
        binding = {"apiVersion": f"{api}/v1", "kind": "RoleBinding", "metadata": meta} | bound
        await bench.api.create(binding | {"subjects": subjects})
        while True:
            try:
                answer = await stranger.request("POST", REQUESTS.format(namespace), request_of("golden"))
                break
            except ApiError:
                await asyncio.sleep(0.05)
        assert answer["status"]["token"]


async def _stranger(bench: Bench, namespace: str) -> Path:
    """A kubeconfig for a service account without any rights."""
    meta = {"name": "stranger", "namespace": namespace}
    await bench.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/stranger/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = await bench.api.request("POST", path, body)
    config = yaml.safe_load((bench.home / "kubeconfig").read_text())
    config["users"][0]["user"] = {"token": answer["status"]["token"]}
    file = bench.home / "stranger.kubeconfig"
    file.write_text(json.dumps(config))
    return file
