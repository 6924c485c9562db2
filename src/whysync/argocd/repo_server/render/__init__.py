"""Sources rendered as Argo CD renders them: directories, Helm, Kustomize, Jsonnet."""

from __future__ import annotations

from whysync.argocd.repo_server.render.locating import located
from whysync.argocd.repo_server.render.options import RefSource, RenderOptions
from whysync.argocd.repo_server.render.origin import Origin, RenderedObject
from whysync.argocd.repo_server.render.problem import CannotRender, RenderProblem
from whysync.argocd.repo_server.render.rendering import RenderedSource, render
from whysync.argocd.repo_server.render.steadiness import UnstableField, rendered_twice

__all__ = [
    "CannotRender",
    "Origin",
    "RefSource",
    "RenderOptions",
    "RenderProblem",
    "RenderedObject",
    "RenderedSource",
    "UnstableField",
    "located",
    "render",
    "rendered_twice",
]
