"""Versions of Kubernetes as Argo CD hands them to the tools."""

from __future__ import annotations

import re
from typing import Final

from whysync.argocd.repo_server.render.problem import RenderProblem

_GENERIC: Final = re.compile(r"\s*v?(?P<numbers>[0-9]+(?:\.[0-9]+)*)")


def kube_version(written: str) -> str:
    """`v1.31.4-eks-123` → `1.31.4`. Mirrors `parseKubeVersion`, Argo CD 3.6."""
    if not written:
        return ""
    found = _GENERIC.match(written)
    why = ""
    if found is None:
        why = f'could not parse "{written}" as version'
    else:
        parts = found["numbers"].split(".")
        if len(parts) < 2:
            why = f'illegal version string "{written}"'
        elif any(len(part) > 1 and part.startswith("0") for part in parts):
            why = f'illegal zero-prefixed version component "{written}"'
    if found is None or why:
        raise RenderProblem(f"could not parse kubernetes version {written}: {why}")
    return found["numbers"]
