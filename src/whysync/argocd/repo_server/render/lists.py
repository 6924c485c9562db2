"""Lists among rendered manifests: what they hold counts, they do not.

Mirrors the end of `GenerateManifests` and apimachinery's `IsList`, Argo CD 3.6: anything with a list of
`items` is one, whatever its kind; one within another stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whysync.argocd.repo_server.render.origin import RenderedObject
from whysync.argocd.repo_server.render.problem import RenderProblem
from whysync.golang.fmt import go_type


def unfolded(rendered: Iterable[RenderedObject]) -> Iterator[RenderedObject]:
    for one in rendered:
        held = one.body.get("items")
        if isinstance(held, list):
            for item in held:
                if not isinstance(item, dict):
                    raise RenderProblem(f"items member is not an object: {go_type(item)}")
                yield RenderedObject(body=item, origin=one.origin)
        elif "items" in one.body and held is None and "spec" not in one.body and "status" not in one.body:
            continue  # `kubectl get` writes an empty list so
        else:
            yield one
