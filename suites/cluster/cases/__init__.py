"""Conversations by hand: each module has a tuple `CASES`."""

from __future__ import annotations

import importlib
import pkgutil

from suites.cluster.steps import Case


def all_cases() -> dict[str, Case]:
    result: dict[str, Case] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        cases: tuple[Case, ...] = importlib.import_module(f"{__name__}.{module.name}").CASES
        for case in cases:
            name = f"{module.name}/{case.id}"
            assert name not in result, f"two cases are called {name}"
            result[name] = Case(name, case.steps)
    return result
