"""Kubernetes 1.36 in memory: API server, admission, controllers, scheduler, kubelets.

The public names are imported when they are first used, so that a part can be loaded without the rest.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whysync.kubernetes.apiserver.protocol import Answer, Request
    from whysync.kubernetes.apiserver.server import ApiServer
    from whysync.kubernetes.clock import Clock
    from whysync.kubernetes.controllers.controller_manager import ControllerManager
    from whysync.kubernetes.timeline import Timeline

__all__ = ["Answer", "ApiServer", "Clock", "ControllerManager", "Request", "Timeline"]

_MODULES = {
    "Answer": "apiserver.protocol",
    "ApiServer": "apiserver.server",
    "Clock": "clock",
    "ControllerManager": "controllers.controller_manager",
    "Request": "apiserver.protocol",
    "Timeline": "timeline",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
