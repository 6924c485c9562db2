"""What Argo CD reports about an Application, in a form in which the model and a real one can be equal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from whysync.json_tree import Object, dig, fields, items, text

_NORMALIZED: Final = (
    (re.compile(r"/(?:dev/shm|tmp)/\S*?\d{4,}(?=[\"\s:]|$)"), "/dev/shm/*"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "COMMIT"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "TIME"),
    (re.compile(r"(?<=sync-)1\d{9}\b|(?<=presync-)1\d{9}\b"), "SECONDS"),
)


class AppState(msgspec.Struct, frozen=True, kw_only=True):
    """The values that are compared; each part is keyed, so that a difference names its place."""

    values: Mapping[str, str]

    @property
    def summary(self) -> tuple[str, str, str]:
        return self.values["sync"], self.values["health"], self.values["operation phase"]

    def differences(self, other: AppState) -> Iterator[tuple[str, str, str]]:
        """Place, value here, value there."""
        for place in sorted(self.values.keys() | other.values.keys()):
            here, there = self.values.get(place, "(none)"), other.values.get(place, "(none)")
            if here != there:
                yield place, here, there


def state_of(application: Object | None) -> AppState:
    """The state of an Application as it is stored; one that does not exist has no values."""
    if application is None:
        return AppState(values={"sync": "(deleted)", "health": "(deleted)", "operation phase": "(deleted)"})
    status = fields(application.get("status"))
    operation = fields(status.get("operationState"))
    values = {
        "sync": text(dig(status, "sync", "status")) or "None",
        "health": text(dig(status, "health", "status")) or "None",
        "operation phase": text(operation.get("phase")) or "None",
        "operation message": text(operation.get("message")),
        "retry count": str(operation.get("retryCount") or 0),
    }
    for condition in items(status.get("conditions")):
        values[f"condition {text(dig(condition, 'type'))}"] = text(dig(condition, "message"))
    for row in items(status.get("resources")):
        place = _place(fields(row))
        values[f"{place} sync"] = text(dig(row, "status"))
        if dig(row, "requiresPruning") is True:
            values[f"{place} requires pruning"] = "true"
        if health := text(dig(row, "health", "status")):
            # Argo CD stores health in the Application only if it is told to; the model never does.
            values.setdefault(f"{place} health", health)
    for result in items(dig(operation, "syncResult", "resources")):
        place = f"result of {_place(fields(result))} {text(dig(result, 'syncPhase'))}"
        values[f"{place} status"] = text(dig(result, "status"))
        values[f"{place} phase"] = text(dig(result, "hookPhase"))
        values[f"{place} message"] = text(dig(result, "message"))
    return AppState(values={normalized(place): normalized(value) for place, value in values.items()})


def normalized(value: str) -> str:
    for pattern, replacement in _NORMALIZED:
        value = pattern.sub(replacement, value)
    return value


def _place(row: Object) -> str:
    kind, space, name = text(row.get("kind")), text(row.get("namespace")), text(row.get("name"))
    return f"{kind} {space}/{name}" if space else f"{kind} {name}"
