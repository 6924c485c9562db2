"""A value in a Secret's `data` is not base64.

## What happens
Every value in `data` must be base64; plain text belongs in `stringData`. A plain value, a placeholder that a
tool should have replaced (`<path:…>`, `${…}`), or a line break inside the value is rejected.

## How whysync knows
`illegal base64 data` from the API server. It does not name the key; if the desired Secret is in the facts,
its keys are listed.

## Fix
Move the value to `stringData`, or encode it. If it is a placeholder, the tool that replaces it did not run.
If it is a real secret, it is in the history of Git now: rotate it.

## When it is something else
Another field of the Secret is wrong: schema-invalid.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import listed
from whysync.json_tree import fields
from whysync.kubernetes.api.pointer import child
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.schema import SecretEncoding
from whysync.queries.commands import comment, sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import find_object, is_unnamed, named_ref, object_text

MOST_KEYS = 6


@rule(cause="secret-encoding", since="0.1")
def secret_value_not_base64(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SecretEncoding, by=lambda failure: failure.resource):
        ref = named_ref(case, group.failure.resource, group.ref)
        keys = _keys(case, ref)
        name = " or ".join(keys) if 0 < len(keys) <= MOST_KEYS else "the plain value"
        name += ", whichever is plain text," if 1 < len(keys) <= MOST_KEYS else ""
        what = object_text(case, ref, "Secret")
        yield Finding(
            about=ref,
            field=None if is_unnamed(case, ref) else child("/data", keys[0]) if len(keys) == 1 else "/data",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{what} has a value in data that is not base64"
            + (f": {keys[0]}" if len(keys) == 1 else f" (one of {listed(keys, MOST_KEYS)})" if keys else ""),
            evidence=group.cited(says="the API server cannot decode it"),
            fixes=(
                Fix.run(
                    *find_object(case, ref),
                    comment(f"in Git: move {name} from data to stringData as it is, or encode it:"),
                    "printf %s 'VALUE' | base64 -w0",
                    comment("commit and push; if the value is a placeholder, run the tool that replaces it"),
                    sync(case),
                    title=f"Move {name} from data to stringData in Git (or encode it), commit, then sync",
                    risk="a real secret in plain text is in the history of Git now: rotate it",
                ),
            ),
        )


def _keys(case: Case, ref: Ref) -> tuple[str, ...]:
    desired = case.desired_of(ref.key)
    return tuple(fields(desired.body.get("data"))) if desired is not None else ()
