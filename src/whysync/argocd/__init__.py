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
    from whysync.argocd.simulation.sources import repositories_of
    from whysync.argocd.simulation.world import World, WorldCluster

__all__ = [
    "AppProject",
    "Application",
    "Settings",
    "Simulation",
    "World",
    "WorldCluster",
    "health_of",
    "repositories_of",
]

_MODULES = {
    "AppProject": "api.project",
    "Application": "api.application",
    "Settings": "settings.settings",
    "Simulation": "simulation.simulation",
    "World": "simulation.world",
    "WorldCluster": "simulation.world",
    "health_of": "health.assess",
    "repositories_of": "simulation.sources",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
