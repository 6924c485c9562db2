"""Renders sources as Argo CD's repo-server does: directories, Helm, Kustomize, Jsonnet."""

from __future__ import annotations

from whysync.argocd.repo_server.render.options import (
    CannotRender,
    Origin,
    RefSource,
    RenderedObject,
    RenderOptions,
    RenderProblem,
    ToolMissing,
)
from whysync.argocd.repo_server.render.rendering import RenderedSource, render

__all__ = [
    "CannotRender",
    "Origin",
    "RefSource",
    "RenderOptions",
    "RenderProblem",
    "RenderedObject",
    "RenderedSource",
    "ToolMissing",
    "render",
]
