"""Renders sources as Argo CD's repo-server does: directories, Helm, Kustomize, Jsonnet."""

from __future__ import annotations

from whysync.argocd.repo_server.render.options import RefSource, RenderOptions
from whysync.argocd.repo_server.render.origin import Origin, RenderedObject
from whysync.argocd.repo_server.render.problem import CannotRender, RenderProblem, ToolMissing
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
