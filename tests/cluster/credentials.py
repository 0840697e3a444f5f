"""Who may talk to the API server: its key for ServiceAccounts, one admin, kubeconfig files."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

ADMIN_TOKEN = "gpuspec-test-admin"
"""Known to all: the API server listens on loopback only and dies with its test."""


def write_service_account_key(path: Path) -> None:
    """A fresh RSA key: the API server signs ServiceAccount tokens with it and checks them."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def write_admin_token_file(path: Path) -> None:
    """The static token of a member of ``system:masters``, in the API server's format."""
    path.write_text(f'{ADMIN_TOKEN},admin,admin,"system:masters"\n')


def write_issuer(chain: Path, to: Path) -> None:
    """The CA at the end of a certificate chain, alone."""
    *_, issuer = x509.load_pem_x509_certificates(chain.read_bytes())
    to.write_bytes(issuer.public_bytes(serialization.Encoding.PEM))


def write_kubeconfig(path: Path, *, server: str, ca_file: Path, token: str) -> Path:
    """A self-contained kubeconfig (JSON is YAML), for kubectl, the product and the components."""
    name = "gpuspec-test"
    ca = base64.b64encode(ca_file.read_bytes()).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": server, "certificate-authority-data": ca}}
        ],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.write_text(json.dumps(document, indent=2))
    return path
