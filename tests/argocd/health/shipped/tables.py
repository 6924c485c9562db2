"""All tables of the shipped health checks."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from whysync.argocd.health import shipped
from whysync.argocd.health.shipped.vocabulary import Check

WITHOUT_TABLES = {"lua", "vocabulary"}


def tables() -> Iterator[tuple[str, str, dict[str, Check]]]:
    """Module, group and checks."""
    for info in pkgutil.iter_modules(shipped.__path__):
        if info.name not in WITHOUT_TABLES:
            module = import_module(f"{shipped.__name__}.{info.name}")
            for group, checks in module.CHECKS.items():
                yield info.name, group, checks
