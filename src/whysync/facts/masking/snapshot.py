"""Mask a whole Snapshot: no code above `facts/` ever sees a secret."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from whysync.facts.masking.masker import Masker
from whysync.facts.snapshot import Extra, Gap, Snapshot
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.packed_bodies import PackedBodies

_SENSITIVE_ANNOTATIONS = "resource.sensitive.mask.annotations"


def mask_snapshot(snapshot: Snapshot, masker: Masker | None = None) -> Snapshot:
    """The same Snapshot without secret values. Its trees are changed in place: they belong to the source."""
    masker = masker or Masker()
    for setting in snapshot.settings:
        if setting.ref.kind == "ConfigMap" and setting.ref.name == "argocd-cm":
            masker.add_sensitive_annotations(
                text(dig(setting.body, "data", _SENSITIVE_ANNOTATIONS)).split(",")
            )
    manifests = list(_manifests(snapshot))
    for manifest in manifests:
        if not manifest.is_packed:
            masker.mask_object(manifest.body)
        elif masker.has_sensitive_annotations and not masker.is_clean(manifest.body):
            masker.mask_object(manifest.unpack())
    for extra in snapshot.facts:
        masker.mask_object(extra.body)
    # As one text: a private key has many lines.
    logs = [masker.masked_text("\n".join(log.lines)) for log in snapshot.logs]
    heads = [replace(head, repo=masker.masked_text(head.repo)) for head in snapshot.heads]
    gaps = [_gap(gap, masker) for gap in snapshot.gaps]
    unknown = [masker.masked_text(name) for name in snapshot.unknown]
    if masker.finish_first_pass(_public_names(snapshot, manifests)):
        for manifest in (*manifests, *snapshot.facts):
            if isinstance(manifest, Extra) or not manifest.is_packed:
                masker.hide_known(manifest.body)
    if masker.knows_secrets:
        _hide_in_packed(snapshot, manifests, masker)
    for manifest in manifests:
        manifest.origin = masker.hidden_text(manifest.origin)
    return replace(
        snapshot,
        logs=tuple(_log(log, lines, masker) for log, lines in zip(snapshot.logs, logs, strict=True)),
        facts=tuple(replace(extra, origin=masker.hidden_text(extra.origin)) for extra in snapshot.facts),
        heads=tuple(replace(head, repo=masker.hidden_text(head.repo)) for head in heads),
        gaps=tuple(_hidden_gap(gap, masker) for gap in gaps),
        unknown=tuple(masker.hidden_text(name) for name in unknown),
    )


def _hide_in_packed(snapshot: Snapshot, manifests: list[Manifest], masker: Masker) -> None:
    checked: dict[PackedBodies, bool] = {}
    for manifest in manifests:
        packed = manifest.packed
        if packed is None:
            continue
        if packed not in checked:
            checked[packed] = masker.may_contain_known(packed.encoded())
        if checked[packed] and masker.contains_known(manifest.body):
            masker.hide_known(manifest.unpack())
        snapshot.open_packs.close_many()


def _manifests(snapshot: Snapshot) -> Iterator[Manifest]:
    for group in (snapshot.settings, snapshot.applications, snapshot.projects):
        yield from group
    for group in snapshot.desired.values():
        yield from group
    yield from snapshot.live
    yield from snapshot.events


def _public_names(snapshot: Snapshot, manifests: list[Manifest]) -> Iterator[str]:
    """Names that must stay readable even if a Secret contains the same text."""
    for manifest in manifests:
        ref = manifest.ref
        yield from (ref.name, ref.namespace, ref.kind, ref.api_version, manifest.uid)
    for app in snapshot.applications:
        yield from _of_application(app.body)
    for log in snapshot.logs:
        yield from (log.namespace, log.pod, log.container)
    for head in snapshot.heads:
        yield from (head.revision, head.commit)


def _of_application(body: Object) -> Iterator[str]:
    spec = dig(body, "spec")
    for path in (
        ("project",),
        ("destination", "server"),
        ("destination", "name"),
        ("destination", "namespace"),
        ("source", "repoURL"),
        ("source", "path"),
        ("source", "targetRevision"),
        ("source", "chart"),
    ):
        yield text(dig(spec, *path))
    sources = dig(spec, "sources")
    for source in sources if isinstance(sources, list) else ():
        yield from (text(dig(source, key)) for key in ("repoURL", "path", "targetRevision", "chart"))
    yield text(dig(body, "status", "sync", "revision"))


def _log(log: Log, lines: str, masker: Masker) -> Log:
    if not log.lines:
        return log
    return replace(
        log, lines=tuple(masker.hidden_text(lines).split("\n")), origin=masker.hidden_text(log.origin)
    )


def _gap(gap: Gap, masker: Masker) -> Gap:
    mask = masker.masked_text
    return replace(gap, what=mask(gap.what), why=mask(gap.why), how_to_get=mask(gap.how_to_get))


def _hidden_gap(gap: Gap, masker: Masker) -> Gap:
    mask = masker.hidden_text
    return replace(gap, what=mask(gap.what), why=mask(gap.why), how_to_get=mask(gap.how_to_get))
