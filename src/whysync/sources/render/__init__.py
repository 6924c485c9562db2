"""Sources rendered as Argo CD renders them: directories, Helm, Kustomize, Jsonnet."""

from __future__ import annotations

from whysync.sources.render.locating import located
from whysync.sources.render.options import RefSource, RenderOptions
from whysync.sources.render.origin import Origin, RenderedObject
from whysync.sources.render.problem import CannotRender, RenderProblem
from whysync.sources.render.rendering import RenderedSource, render
from whysync.sources.render.steadiness import Unsteady, rendered_twice

__all__ = [
    "CannotRender",
    "Origin",
    "RefSource",
    "RenderOptions",
    "RenderProblem",
    "RenderedObject",
    "RenderedSource",
    "Unsteady",
    "located",
    "render",
    "rendered_twice",
]
