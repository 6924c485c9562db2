"""Argo CD's cluster Secrets, without credentials: name, server, project, namespaces."""

from __future__ import annotations

from base64 import b64decode

from whysync.json_tree import Object, dig, fields, text


def cluster_secret_data(secret: Object) -> dict[str, str]:
    """The decoded data of a cluster Secret, empty for other objects; masked or invalid values are empty."""
    if dig(secret, "metadata", "labels", "argocd.argoproj.io/secret-type") != "cluster":
        return {}
    values = {key: _decoded(text(value)) for key, value in fields(secret.get("data")).items()}
    return values | {key: text(value) for key, value in fields(secret.get("stringData")).items()}


def namespaces_in(secret_data: dict[str, str]) -> tuple[str, ...]:
    """The namespaces that Argo CD manages; empty means all."""
    return tuple(
        namespace for piece in secret_data.get("namespaces", "").split(",") if (namespace := piece.strip())
    )


def _decoded(value: str) -> str:
    try:
        return b64decode(value, validate=True).decode()
    except ValueError:
        return ""
