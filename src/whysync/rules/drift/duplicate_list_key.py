"""Git gives one name twice in a list, and the cluster keeps it once.

## What happens
Two elements of a list, two environment variables for example, have the same name: a chart sets one and the
values add it again. The API server takes it, with no more than a warning; but an apply merges such lists by
their names, so that one of the two is left. Git still holds both, and the object stays OutOfSync.

## How whysync knows
A list in Git has a name twice; the same list in the cluster has the same names, each of them once.

## Fix
Leave one of them in Git: the one that the cluster keeps changes nothing there. Where a chart adds the other
one, set its value in the way that the chart offers.

## When it is something else
The same object twice in one source has its own warning; the same elements in another order differ in nothing.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, Set, cite, rule
from whysync.diagnosis.drift.equivalent_values import duplicate_keys, list_with_duplicate_keys
from whysync.json_tree import Json, fields, items, text
from whysync.queries.drift import drift_finding, drifts_by_list


@rule(cause="normalisation", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def duplicate_list_key(case: Case) -> Iterator[Finding]:
    for around, drifts in drifts_by_list(case, Mechanism.MERGED, list_with_duplicate_keys):
        first, ref = drifts[0], drifts[0].ref
        names = ", ".join(duplicate_keys(first.desired.at(around)))
        yield drift_finding(
            *drifts,
            field=around,
            confidence=Confidence.HIGH,
            verdict=f"{names} stands more than once in {around} of {ref}; the cluster keeps one of them",
            evidence=(
                cite(first.desired, around, says="Git gives a name more than once"),
                cite(first.live, around, says="the cluster has it once"),
            ),
            fixes=(
                Fix.change(
                    ref,
                    Set(
                        pointer=around,
                        value=_once(items(first.desired.at(around)), items(first.live.at(around))),
                    ),
                    title="Leave the one that the cluster keeps",
                ),
            ),
        )


def _once(mine: list[Json], theirs: list[Json]) -> list[Json]:
    """Git's list with one element per name: the cluster's where Git has two, else Git's own."""
    kept = {text(fields(their).get("name")): their for their in theirs}
    twins = duplicate_keys(mine)
    left: dict[str, Json] = {}
    for one in mine:
        name = text(fields(one).get("name"))
        left.setdefault(name, kept.get(name, one) if name in twins else one)
    return list(left.values())
