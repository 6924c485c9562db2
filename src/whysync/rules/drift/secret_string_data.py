"""A Secret's values are given in `stringData`, or both there and in `data`.

## What happens
The API server turns `stringData` into base64 under `data` and forgets `stringData`. Argo CD does the same
before it compares, but not in every version and not on every path. A key that stands in both has
two values in Git: `stringData` wins in the cluster. A value that was already base64 and was written
into `stringData` (or encoded twice by a plugin) arrives as the text of its encoding.

## How whysync knows
The field that differs lies under `stringData`, or its key stands in both maps of Git's version. Values are
masked: whysync sees that they differ, not what they are.

## Fix
Say each key once: base64 under `data`, or plain text under `stringData`.

## When it is something else
A value that is no base64 at all fails the sync. A random value comes out differently each time.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, rule
from whysync.json_tree import fields
from whysync.kubernetes.api.pointer import join
from whysync.queries.drift import drift_finding


@rule(cause="secret-encoding", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def secret_string_data(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.ENCODING):
        first = drifts[0]
        twice = sorted(_both(first))
        verdict = (
            f"{first.ref} has {', '.join(twice)} in data and in stringData: stringData wins in the cluster"
            if twice
            else f"{first.ref} gives values as stringData, which the cluster keeps as base64 under data"
        )
        yield drift_finding(
            *drifts,
            confidence=Confidence.HIGH if twice else Confidence.MEDIUM,
            verdict=verdict,
            fixes=(
                Fix.remove(
                    first.ref,
                    *(join(("data", key)) for key in twice),
                    title="Keep each key once: delete it from data, as stringData wins",
                )
                if twice
                else Fix.run(
                    "kubectl create secret generic NAME --from-literal=KEY=VALUE --dry-run=client -o yaml",
                    title="Write the values as base64 under data in Git",
                ),
            ),
        )


def _both(drift: Drift) -> set[str]:
    body = drift.desired.body
    return set(fields(body.get("data"))) & set(fields(body.get("stringData")))
