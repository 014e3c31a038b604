# SPDX-License-Identifier: Apache-2.0
"""The lab's own certificates: one CA for servers and clients, one for the aggregator's identity."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=365)
_SKEW = datetime.timedelta(hours=1)
_SERVER, _CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
_LOCAL = ("localhost", "127.0.0.1")
# The aggregator dials the external name `localhost`, but verifies the certificate by the name of the Service.
_APPS_API = (*_LOCAL, "cozystack-api.cozy-system.svc")
_CDI_API = (*_LOCAL, "cdi-api.cozy-kubevirt-cdi.svc")
_APISERVER = (*_LOCAL, "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")


def _name(common: str, organization: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    path.touch(mode=0o600)
    path.write_bytes(pem)


class Authority:
    """A certificate authority that writes NAME.crt and NAME.key into one folder."""

    def __init__(self, folder: Path, name: str, common_name: str) -> None:
        self._folder = folder
        self._subject = _name(common_name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(self._subject, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), True
        )
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        self._save(name, builder.add_extension(usage, True), self._key)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self._subject).public_key(key.public_key())
        )
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - _SKEW)
        # Python 3.13 verifies strictly: every certificate has to name its issuer's key.
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        return builder.not_valid_after(now + _LIFETIME).add_extension(own, False).add_extension(authority, False)

    def _save(self, name: str, builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> None:
        certificate = builder.sign(self._key, hashes.SHA256())
        (self._folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(self._folder / f"{name}.key", key)

    def issue(
        self,
        name: str,
        common_name: str,
        usages: tuple[x509.ObjectIdentifier, ...],
        hosts: tuple[str, ...] = (),
        organization: str = "",
    ) -> None:
        """Write a certificate; ``common_name`` is its user name, ``organization`` its group, ``hosts`` its SANs."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(common_name, organization), key)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), False)
        self._save(name, builder, key)


def write(folder: Path) -> None:
    """Fill ``folder``: ca, apiserver, etcd, admin, apps-api, front-proxy-ca, front-proxy-client, image-source-ca, image-source
    (.crt, .key), sa.*."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = Authority(folder, "ca", "lab-ca")
    authority.issue("apiserver", "kube-apiserver", (_SERVER, _CLIENT), _APISERVER)
    authority.issue("etcd", "etcd", (_SERVER, _CLIENT), _LOCAL)
    authority.issue("admin", "lab-admin", (_CLIENT,), organization="system:masters")
    authority.issue("apps-api", "apps-api", (_SERVER,), _APPS_API)
    authority.issue("cdi-api", "cdi-api", (_SERVER,), _CDI_API)
    Authority(folder, "upload-ca", "lab-upload-ca").issue("upload-proxy", "cdi-uploadproxy", (_SERVER,), _LOCAL)
    Authority(folder, "front-proxy-ca", "lab-front-proxy-ca").issue(
        "front-proxy-client", "front-proxy-client", (_CLIENT,)
    )
    # Nobody trusts this one until told to: the private authority of an isolated site.
    Authority(folder, "image-source-ca", "lab-image-source-ca").issue(
        "image-source", "image-source", (_SERVER,), _LOCAL
    )
    signer = ec.generate_private_key(ec.SECP256R1())
    _write_key(folder / "sa.key", signer)
    public = signer.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (folder / "sa.pub").write_bytes(public)
