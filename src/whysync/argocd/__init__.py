"""Argo CD 3.6 in memory: what it decides and what it does, on clusters of `whysync.kubernetes`.

The public names are imported when they are first used, so that a part can be loaded without the rest.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whysync.argocd.api.application import Application
    from whysync.argocd.api.project import AppProject
    from whysync.argocd.health.assess import health_of
    from whysync.argocd.settings.settings import Settings
    from whysync.argocd.simulation.simulation import Simulation

__all__ = ["AppProject", "Application", "Settings", "Simulation", "health_of"]

_MODULES = {
    "AppProject": "api.project",
    "Application": "api.application",
    "Settings": "settings.settings",
    "Simulation": "simulation.simulation",
    "health_of": "health.assess",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
