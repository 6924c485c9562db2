"""How much a pod asks for and how much a node has left, in thousandths."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Final

from whysync.golang.quantity import BadQuantity, canonical_quantity
from whysync.json_tree import Json, Object, fields, items

_FACTORS: Final = {
    "n": Decimal("1e-6"), "u": Decimal("1e-3"), "m": Decimal(1), "": Decimal(10**3), "k": Decimal(10**6),
    "M": Decimal(10**9), "G": Decimal(10**12), "T": Decimal(10**15), "P": Decimal(10**18),
    "E": Decimal(10**21),
    "Ki": Decimal(2**10) * 1000, "Mi": Decimal(2**20) * 1000, "Gi": Decimal(2**30) * 1000,
    "Ti": Decimal(2**40) * 1000, "Pi": Decimal(2**50) * 1000, "Ei": Decimal(2**60) * 1000,
}  # fmt: skip

Amounts = dict[str, int]


def thousandths(value: Json) -> int:
    """A quantity; what is none counts for nothing."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return 0
    return _parsed(str(value))


@lru_cache(maxsize=4096)
def _parsed(value: str) -> int:
    try:
        told = canonical_quantity(value)
    except BadQuantity:
        return 0
    number = told.rstrip("numkKMGTPEi")
    suffix = told[len(number) :]
    try:
        return int(Decimal(number) * _FACTORS.get(suffix, Decimal(1000)))
    except (ArithmeticError, ValueError):
        return 0


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
