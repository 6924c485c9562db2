"""A list in Git has two elements with the same name; the cluster keeps one.

## What happens
Two elements of a list, for example two environment variables, have the same name: a chart sets one and the
values add it again. The API server accepts this with a warning, but an apply merges such lists by name, so
that only one of the two is stored: in a short list, the first one of Git. If the cluster has the other one,
the object is OutOfSync; if it has the first one, Argo CD reports Synced although Git has two.

## How whysync knows
A list in Git has a name twice. The live list has the same names, each of them once.

## Fix
Keep one of them in Git; keeping the live one changes nothing in the cluster. If a chart adds the other one,
set the value through the chart's own values.

## When it is something else
If one source renders the same object twice, Argo CD reports RepeatedResourceWarning. The same elements in
another order are equivalent.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, Set, cite, rule
from whysync.diagnosis.drift.equivalent_values import duplicate_keys, list_with_duplicate_keys, merge_key
from whysync.json_tree import Json, fields, items, text
from whysync.queries.drift import drift_finding, drifts_by_list


@rule(cause="normalisation", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def duplicate_list_key(case: Case) -> Iterator[Finding]:
    for around, drifts in drifts_by_list(case, Mechanism.MERGED, list_with_duplicate_keys):
        first, ref, key = drifts[0], drifts[0].ref, merge_key(around)
        names = ", ".join(duplicate_keys(first.desired.at(around), key))
        yield drift_finding(
            *drifts,
            field=around,
            confidence=Confidence.HIGH,
            verdict=f"{around} of {ref} has {names} more than once in Git; the cluster keeps only one",
            evidence=(
                cite(first.desired, around, says="a name is repeated in Git"),
                cite(first.live, around, says="live list: each name once"),
            ),
            fixes=(
                Fix.change(
                    ref,
                    Set(
                        pointer=around,
                        value=_without_duplicates(
                            items(first.desired.at(around)), items(first.live.at(around)), key
                        ),
                    ),
                    title="Keep only the element that the cluster keeps",
                ),
            ),
        )


def _without_duplicates(desired: list[Json], live: list[Json], key: str) -> list[Json]:
    """Git's list with one element per name: the live element if Git has two, else Git's own."""
    live_by_name = {text(fields(element).get(key)): element for element in live}
    repeated = duplicate_keys(desired, key)
    by_name: dict[str, Json] = {}
    for element in desired:
        name = text(fields(element).get(key))
        by_name.setdefault(name, live_by_name.get(name, element) if name in repeated else element)
    return list(by_name.values())
