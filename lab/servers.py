# SPDX-License-Identifier: Apache-2.0
"""Command lines and configuration files of etcd and kube-apiserver."""

from __future__ import annotations

import base64
import socket
from pathlib import Path
from typing import Any

import yaml

AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*"]},
        {"level": "Metadata"},
    ],
}

# No controller runs that removes the finalizers and tokens of these two.
_DISABLED_ADMISSION = "ServiceAccount,StorageObjectInUseProtection"
# A third less processor time until it is ready, for some memory.
LAZY_COLLECTOR = {"GOGC": "300"}

# Every group costs start-up time; nothing here serves these.
_UNUSED_APIS = ",".join(
    f"{group}=false"
    for group in (
        "autoscaling/v1", "autoscaling/v2", "policy/v1", "flowcontrol.apiserver.k8s.io/v1", "resource.k8s.io/v1",
        "events.k8s.io/v1", "certificates.k8s.io/v1",
    )
)  # fmt: skip


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def etcd_command(binary: Path, home: Path, client_port: int, peer_port: int) -> list[str]:
    """TLS even on loopback: when the port race is lost, nobody must write into another lab's etcd."""
    certs, client, peer = home / "certs", f"https://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    return [
        str(binary), f"--data-dir={home}/etcd", "--name=lab",
        f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=lab={peer}",
        f"--cert-file={certs}/etcd.crt", f"--key-file={certs}/etcd.key",
        f"--trusted-ca-file={certs}/ca.crt", "--client-cert-auth",
        "--unsafe-no-fsync", "--heartbeat-interval=100", "--election-timeout=500", "--log-level=warn",
    ]  # fmt: skip


def apiserver_command(binary: Path, home: Path, port: int, etcd_port: int) -> list[str]:
    certs = home / "certs"
    return [
        str(binary),
        # A loopback advertise address spares the search for an interface, which fails without a network.
        f"--secure-port={port}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
        f"--etcd-servers=https://127.0.0.1:{etcd_port}", f"--etcd-cafile={certs}/ca.crt",
        f"--etcd-certfile={certs}/apiserver.crt", f"--etcd-keyfile={certs}/apiserver.key",
        f"--tls-cert-file={certs}/apiserver.crt", f"--tls-private-key-file={certs}/apiserver.key",
        f"--client-ca-file={certs}/ca.crt", "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={certs}/sa.pub", f"--service-account-signing-key-file={certs}/sa.key",
        f"--requestheader-client-ca-file={certs}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={certs}/front-proxy-client.crt",
        f"--proxy-client-key-file={certs}/front-proxy-client.key",
        f"--disable-admission-plugins={_DISABLED_ADMISSION}",
        f"--audit-policy-file={home}/audit-policy.yaml", f"--audit-log-path={home}/audit.log",
        # Blocking: an entry is on disk before its request is answered. No rotation: marks are offsets.
        "--audit-log-mode=blocking", "--audit-log-format=json", "--audit-log-maxsize=102400",
        "--enable-priority-and-fairness=false", "--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000",
        "--profiling=false", f"--runtime-config={_UNUSED_APIS}", "--v=1",
    ]  # fmt: skip


def kubeconfig(home: Path, port: int) -> dict[str, Any]:
    """Administrator's kubeconfig with everything inside."""

    def data(name: str) -> str:
        return base64.b64encode((home / "certs" / name).read_bytes()).decode()

    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": data("ca.crt")}
    user = {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": "lab-admin", "user": user}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab-admin"}}],
    }


def write_private(path: Path, content: dict[str, Any]) -> None:
    """A YAML file for its owner only, complete or not there."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.touch(mode=0o600)
    temporary.write_text(yaml.safe_dump(content, sort_keys=False))
    temporary.replace(path)
