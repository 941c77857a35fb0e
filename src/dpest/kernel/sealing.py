"""The digest that a certificate carries of itself."""

from __future__ import annotations

import hashlib
import json

from .fields import loads, mapping
from .invalid import need


def digest(certificate: object) -> str:
    """Of everything in it, so that no part is changed by accident."""
    body = {k: v for k, v in mapping(certificate, "certificate").items() if k != "digest"}
    return sha256(json.dumps(body, sort_keys=True))


def unsealed(text: str) -> dict[str, object]:
    """The certificate in the text of a file, whose digest must be right."""
    certificate = mapping(loads(text), "certificate")
    need("digest" in certificate, "certificate: digest is missing")
    need(certificate["digest"] == digest(certificate), "digest: the certificate was changed")
    return certificate


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
