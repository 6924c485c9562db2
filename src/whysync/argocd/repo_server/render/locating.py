"""The line of a rendered object in the file that it came from: looked up only for what is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whysync.argocd.repo_server.render.origin import Origin, RenderedObject
from whysync.json_tree import Object, fields, text
from whysync.kubernetes.api.manifest_places import ManifestPlace, places_in
from whysync.kubernetes.api.ref import ref_of

_LARGEST = 8 << 20


def located(one: RenderedObject, root: Path) -> Origin:
    """The origin with its line, as far as the file under `root` tells.

    In a List each item has a line of its own. An overlay may have renamed the object: then the one of its
    kind counts whose name is in the new one. A template says nothing about lines.
    """
    origin = one.origin
    if origin.made_by not in ("", "overlay", "crds") or not origin.path.endswith((".yaml", ".yml", ".json")):
        return origin
    file = root / origin.path
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST:
            return origin
        data = file.read_bytes()
    except OSError:
        return origin
    found = _best(one.body, list(places_in(origin.path, data)), exact=origin.made_by != "overlay")
    if found is None:
        return origin
    if not found.inside:
        return replace(origin, line=found.line)
    from whysync.kubernetes.api import yaml
    from whysync.kubernetes.api.pointer import join

    line = yaml.position(data, join(found.inside), document=found.document)
    return replace(origin, line=line or found.line)


def _best(body: Object, places: list[ManifestPlace], *, exact: bool) -> ManifestPlace | None:
    ref = ref_of(body)
    alike = [place for place in places if (place.ref.kind, place.ref.group) == (ref.kind, ref.group)]
    for one in alike:
        if one.ref.name == ref.name and (
            one.ref.namespace == ref.namespace or not exact or not one.ref.namespace
        ):
            return one
    if exact:
        return None
    within = [one for one in alike if one.ref.name and one.ref.name in ref.name]
    # Of `web` and `web-admin`, the longer name fits `prod-web-admin` better.
    return max(within, key=lambda one: len(text(fields(one.body.get("metadata")).get("name"))), default=None)
