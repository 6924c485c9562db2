"""Image tags: another tag of the same image that runs in this cluster and may be the intended one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whysync.diagnosis.evidence import Evidence, cite
from whysync.json_tree import dig, items, text
from whysync.kubernetes.api.manifest import Manifest

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_NEAR: Final = 0.75
_TEMPLATE: Final = "/spec/template/spec"


def runs_elsewhere(case: Case, image: str) -> tuple[str, Evidence] | None:
    """The only other tag that runs, or of several the one that is spelt nearly alike; else nothing."""
    name, tag = _parted(image)
    running: dict[str, Evidence] = {}
    for pod in case.live_of_kind("Pod"):
        for index, raw in enumerate(items(pod.status.get("containerStatuses"))):
            other = text(dig(raw, "image"))
            if dig(raw, "ready") is True and other != image and _parted(other)[0] == name:
                says = "another tag of it runs"
                running.setdefault(other, cite(pod, f"/status/containerStatuses/{index}/image", says=says))
    if len(running) > 1 and tag:
        near = [image_name for image_name in running if _likeness(tag, _parted(image_name)[1]) >= _NEAR]
        running = {image_name: running[image_name] for image_name in near}
    return next(iter(running.items())) if len(running) == 1 else None


def pointers_of(manifest: Manifest | None, image: str) -> Iterator[str]:
    """Where a workload names it."""
    for group in ("initContainers", "containers"):
        at = f"{_TEMPLATE}/{group}"
        for index, raw in enumerate(items(manifest.at(at) if manifest is not None else None)):
            if dig(raw, "image") == image:
                yield f"{at}/{index}/image"


def names_another_tag(desired: Manifest | None, live: Manifest | None, image: str) -> bool:
    """Does Git name another tag by now, where the live workload still names this one?

    Of a Pod alone nothing can be told: its image may have been written anew on the way, by a webhook.
    """
    named = [desired.at(pointer) for pointer in pointers_of(live, image)] if desired is not None else []
    name = _parted(image)[0]
    return bool(named) and all(
        isinstance(image_name, str)
        and image_name != image
        and "@" not in image
        and _parted(image_name)[0] == name
        for image_name in named
    )


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _parted(image: str) -> tuple[str, str]:
    """Name and tag; a colon before the last slash is that of a port."""
    name, _, digest = image.partition("@")
    head, slash, last = name.rpartition("/")
    title, _, tag = last.partition(":")
    return f"{head}{slash}{title}", tag or digest
