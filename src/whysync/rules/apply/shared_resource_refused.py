"""Another Application manages the object, and `FailOnSharedResource=true` makes that an error.

## What happens
Two Applications declare the same object. With the sync option `FailOnSharedResource=true` Argo CD fails the
sync instead of taking the object over. Auto-sync tries again and fails again.

## How whysync knows
`Shared resource found` in the operation, with the names of both Applications.

## Fix
Decide which Application manages the object, and remove it from the source of the other. Do not just remove
the option: then the two take the object from each other at every sync.

## When it is something else
Without the option, the same situation is only a warning (shared-resource).
"""

from collections.abc import Iterator

from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.kubernetes.api.ref import Key
from whysync.messages.patterns.operations import SharedResource
from whysync.queries.commands import comment, on_object, sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref, placed
from whysync.queries.tracking import drop_from_this_app, kept_from_prune, unmarked


@rule(cause="shared-resource-fail", since="0.1")
def shared_resource_refused(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SharedResource, by=lambda f: (f.resource, f.refused)):
        failure = group.failure
        if not failure.refused:
            continue
        ref = named_ref(case, failure.resource, group.ref)
        others = [app for app in failure.apps if app.rpartition("/")[2] != case.app.name]
        owner = " and ".join(others) or "another Application"
        drop = drop_from_this_app(case, ref)
        keep, release = kept_from_prune(case, ref) if drop is not None else ((), ())
        yield Finding(
            about=ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref} is also managed by {owner}, and FailOnSharedResource=true fails the sync",
            evidence=(*group.cited(says="both Applications declare it"), *_tracking_evidence(case, ref.key)),
            fixes=(
                *((drop,) if drop is not None else ()),
                Fix.run(
                    on_object("get", placed(case, ref), "-o", "yaml")
                    + "   # its tracking-id names the current owner",
                    *keep,
                    comment(
                        f"remove {ref} from the source of the Application that should not manage it; commit"
                        " and push; when it has compared that commit:"
                    ),
                    *(unmarked(case, ref) if drop is not None else ()),
                    sync(case),
                    *release,
                    title=f"Or let {case.app.name} manage it"
                    if drop is not None
                    else f"Let only one of them manage it: {case.app.name} or {owner}",
                    risk="changes of it in Git are not applied until then"
                    if keep
                    else "if the other Application prunes the object, it is deleted and recreated",
                ),
            ),
        )


def _tracking_evidence(case: Case, key: Key) -> Iterator[Evidence]:
    for manifest in case.index.live_by_key.get(key, ()):
        yield cite(manifest, TRACKING_ID_POINTER, says="the Application that applied it last")
