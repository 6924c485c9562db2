"""How much a pod asks for and how much a node has left, in thousandths."""

from __future__ import annotations

from whysync.golang.quantity import value_or_zero
from whysync.json_tree import Json, Object, fields, items

Amounts = dict[str, int]


def thousandths(value: Json) -> int:
    """The value of a quantity; zero for what is not a quantity."""
    return int(value_or_zero(value) * 1000)


def requests_of(pod: Object) -> Amounts:
    """Main containers and sidecars together, or the largest init container with the sidecars before it."""
    spec = fields(pod.get("spec"))
    total: Amounts = {}
    largest: Amounts = {}
    beside: Amounts = {}
    for raw in items(spec.get("initContainers")):
        container = fields(raw)
        if container.get("restartPolicy") == "Always":
            _add(beside, container)
        else:
            own = dict(beside)
            _add(own, container)
            largest = {key: max(largest.get(key, 0), own.get(key, 0)) for key in {*largest, *own}}
    for raw in items(spec.get("containers")):
        _add(total, fields(raw))
    for key, amount in beside.items():
        total[key] = total.get(key, 0) + amount
    for key, amount in fields(spec.get("overhead")).items():
        total[key] = total.get(key, 0) + thousandths(amount)
    return {key: max(total.get(key, 0), largest.get(key, 0)) for key in sorted({*total, *largest})}


def _add(total: Amounts, container: Object) -> None:
    for key, amount in fields(fields(container.get("resources")).get("requests")).items():
        total[key] = total.get(key, 0) + thousandths(amount)
