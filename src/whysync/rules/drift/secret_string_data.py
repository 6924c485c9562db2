"""A Secret declares values in `stringData`, or the same key in `stringData` and `data`.

## What happens
The API server stores `stringData` as base64 in `data` and drops `stringData`. Argo CD does the same before it
compares, but not in every version and diff strategy. A key in both maps has two values in Git, and
`stringData` wins in the cluster. A value that is already base64 and is written to `stringData` (or encoded
twice by a plugin) is stored encoded twice.

## How whysync knows
The field that differs is in `stringData`, or its key is in both maps of the manifest in Git. Values are
masked: whysync sees that they differ, not what they are.

## Fix
Declare each key once: base64 in `data`, or plain text in `stringData`.

## When it is something else
A value in `data` that is not base64 fails the sync. A random value is rendered differently each time.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, rule
from whysync.json_tree import fields
from whysync.kubernetes.api.pointer import join
from whysync.queries.commands import kubectl
from whysync.queries.drift import drift_finding


@rule(cause="secret-encoding", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def secret_string_data(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.ENCODING):
        first = drifts[0]
        twice = sorted(_keys_in_both(first))
        verdict = (
            f"{first.ref} declares {', '.join(twice)} in data and stringData: stringData wins in the cluster"
            if twice
            else f"{first.ref} declares values in stringData, which the API server stores as base64 in data"
        )
        yield drift_finding(
            *drifts,
            confidence=Confidence.HIGH if twice else Confidence.MEDIUM,
            verdict=verdict,
            fixes=(
                Fix.remove(
                    first.ref,
                    *(join(("data", key)) for key in twice),
                    title="Declare each key once: delete it from data, because stringData wins",
                )
                if twice
                else Fix.run(_encoded(drifts), title="Declare the values as base64 in data"),
            ),
        )


def _encoded(drifts: tuple[Drift, ...]) -> str:
    """Prints the Secret with its values encoded; the values themselves are masked."""
    ref = drifts[0].ref
    keys = sorted(fields(drifts[0].desired.body.get("stringData"))) or ["KEY"]
    values = (f"--from-literal={quote(key)}=VALUE" for key in keys)
    return kubectl(
        "create",
        "secret",
        "generic",
        ref.name,
        *values,
        "--dry-run=client",
        "-o",
        "yaml",
        namespace=ref.namespace,
    )


def _keys_in_both(drift: Drift) -> set[str]:
    body = drift.desired.body
    return set(fields(body.get("data"))) & set(fields(body.get("stringData")))
