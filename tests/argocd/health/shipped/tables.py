"""All tables that there are."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from whysync.argocd.health import shipped
from whysync.argocd.health.shipped.vocabulary import Check

WORDS = {"lua", "vocabulary"}


def group_modules() -> Iterator[tuple[str, str, dict[str, Check]]]:
    """Module, group and checks; modules that only help others have no group."""
    for module in pkgutil.iter_modules(shipped.__path__):
        if module.name in WORDS or module.name.startswith("family_"):
            continue
        found = import_module(f"{shipped.__name__}.{module.name}")
        yield module.name, found.GROUP, found.CHECKS
