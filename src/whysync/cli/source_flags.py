"""The flags that lead another command to the same facts, as a person would type them again."""

from __future__ import annotations

import argparse
import shlex
from typing import Final, cast

# What is given on the line and says where to look. Tokens and headers are left out: they would be shown.
_VALUES: Final = (
    "server", "auth-token-file", "argocd-context", "config", "ca-file", "client-crt", "client-crt-key",
    "root-path", "port-forward-namespace", "kubeconfig", "context", "argocd-namespace",
)  # fmt: skip
_SWITCHES: Final = (
    "insecure", "plaintext", "port-forward", "core", "use-cluster-secrets", "all-namespaces",
)  # fmt: skip
_LISTS: Final = ("bundle", "app-namespace")


def same_place(options: argparse.Namespace) -> str | None:
    """` --bundle end`, or nothing where the usual place is meant; `None` where it cannot be read again."""
    told: dict[str, object] = vars(options)
    words: list[str] = []
    for name in (*_LISTS, *_VALUES, *_SWITCHES):
        value = told.get(name.replace("-", "_"))
        if value is True:
            words.append(f"--{name}")
        elif isinstance(value, list) and "-" in value:
            return None  # standard input is gone
        elif isinstance(value, list):
            words += [word for one in cast("list[str]", value) for word in (f"--{name}", one)]
        elif value:
            words += [f"--{name}", f"{value}"]
    return f" {shlex.join(words)}" if words else ""
