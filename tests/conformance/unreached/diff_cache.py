"""May a comparison reuse the differences it found before? Mirrors `useDiffCache`, Argo CD 3.6.

With server-side diff, a status that is merely old is still good enough: changes that show only on the
server then stay unseen until somebody asks for a refresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from whysync.argocd.hooks import annotations_of
from whysync.json_tree import Json, Object, dig, fields, items

REFRESH = "argocd.argoproj.io/refresh"


def uses_diff_cache(
    app: Object,
    *,
    sources: Sequence[Json],
    manifest_revisions: Sequence[str],
    manifests: int,
    now: datetime,
    refresh_timeout: timedelta,
    server_side_diff: bool,
    no_cache: bool = False,
) -> bool:
    """`app` is raw: any change of its sources counts, also of parts that nothing else reads.

    `manifests` is the number of answers of the repo server, one for each source.
    """
    if no_cache or REFRESH in annotations_of(app):
        return False
    if is_expired(app, now, refresh_timeout) and not server_side_diff:
        return False
    if manifests != len(sources) or list(manifest_revisions) != _revisions(app):
        return False
    return _compared_to(app, sources) == _plain(fields(dig(app, "status", "sync", "comparedTo")))


def is_expired(app: Object, now: datetime, timeout: timedelta) -> bool:
    """Never compared, or too long ago; a timeout of zero means: never too long."""
    reconciled = dig(app, "status", "reconciledAt")
    if not isinstance(reconciled, str):
        return True
    try:
        when = datetime.fromisoformat(reconciled)
    except ValueError:
        return True
    return timeout > timedelta(0) and when + timeout < now


def _revisions(app: Object) -> list[Json]:
    many = items(dig(app, "status", "sync", "revisions"))
    value = dig(app, "status", "sync", "revision")
    return many or ([value] if isinstance(value, str) and value else [])


def _compared_to(app: Object, sources: Sequence[Json]) -> Object:
    spec = fields(app.get("spec"))
    parts: Object = {
        "destination": spec.get("destination"),
        "ignoreDifferences": spec.get("ignoreDifferences"),
    }
    if items(spec.get("sources")):
        parts["sources"] = list(sources)
    elif sources:
        parts["source"] = sources[0]
    return _plain(parts)


def _plain(parts: Object) -> Object:
    """An absent part and an empty one are the same."""
    return {key: value for key, value in parts.items() if value not in (None, {}, [])}
