"""The state of an ApplicationSet: its conditions, its generators, and how its rollout waits.

The rollout mirrors `buildAppDependencyList`, `buildAppSyncMap` and
`updateApplicationSetApplicationStatusProgress` of the ApplicationSet controller, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.report import AppReport
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, owner_of_kind

APPLICATION_SET: Final = "ApplicationSet"
_DONE: Final = "Healthy"
_RUNNING: Final = ("Pending", "Progressing")
_COMBINING: Final = ("matrix", "merge")


class SetCondition(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    status: str
    reason: str
    message: str
    pointer: str


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """An Application of a set. `step` counts from 1, 0 without a rolling sync and -1 if no step selects it.

    `status` is that of the rollout, and `waits` why the rollout does not sync it now.
    """

    name: str
    namespace: str
    sync: str = ""
    health: str = ""
    step: int = 0
    status: str = ""
    message: str = ""
    waits: str = ""

    @property
    def is_done(self) -> bool:
        return self.status == _DONE


class Step(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    selects: str
    max_update: int | None
    """How many of its Applications are updated at once; `None` if there is no limit."""
    members: tuple[str, ...]


def conditions_of(application_set: Manifest) -> tuple[SetCondition, ...]:
    return tuple(
        SetCondition(
            type=text(condition.get("type")),
            status=text(condition.get("status")),
            reason=text(condition.get("reason")),
            message=text(condition.get("message")),
            pointer=f"/status/conditions/{index}",
        )
        for index, condition in enumerate(map(fields, items(application_set.status.get("conditions"))))
    )


def generators_of(application_set: Manifest) -> tuple[str, ...]:
    """Each generator in words: `git files envs/*.yaml of URL at main`."""
    generators = items(application_set.spec.get("generators"))
    return tuple(_generator(fields(generator)) for generator in generators)


def _generator(generator: Object) -> str:
    kind = next((name for name in generator if name not in ("selector", "template")), "(empty)")
    options = fields(generator.get(kind))
    if kind in _COMBINING:
        inner = (_generator(fields(one)) for one in items(options.get("generators")))
        return f"{kind} of ({'; '.join(inner)})"
    if kind == "list":
        return f"list of {len(items(options.get('elements')))} elements"
    if kind == "git":
        what = "files" if options.get("files") else "directories"
        paths = ", ".join(text(fields(entry).get("path")) for entry in items(options.get(what)))
        revision = text(options.get("revision")) or "HEAD"
        return f"git {what} {paths} of {text(options.get('repoURL'))} at {revision}"
    if kind == "clusters":
        labels = fields(dig(options, "selector", "matchLabels"))
        pairs = ", ".join(f"{key}={text(value)}" for key, value in labels.items())
        return f"clusters with {pairs}" if pairs else "clusters"
    return kind


def is_rolling(application_set: Manifest) -> bool:
    return dig(application_set.spec, "strategy", "type") == "RollingSync"


def members_of(
    application_set: Manifest, applications: Sequence[Manifest]
) -> tuple[tuple[Member, ...], tuple[Step, ...]]:
    """The Applications of a set, and the steps of its rolling sync."""
    own = [
        application
        for application in applications
        if application.ref.namespace == application_set.ref.namespace
        and owner_of_kind(application, APPLICATION_SET) == application_set.ref.name
    ]
    by_name = {application.ref.name: application for application in own}
    recorded = {
        text(entry.get("application")): entry
        for entry in map(fields, items(application_set.status.get("applicationStatus")))
    }
    if not is_rolling(application_set):
        return tuple(_member(application_set, name, app, {}) for name, app in sorted(by_name.items())), ()
    steps = tuple(_steps(application_set, own, recorded))
    number_of = {name: step.number for step in reversed(steps) for name in step.members}
    names = sorted({*by_name, *recorded}, key=lambda name: (number_of.get(name, len(steps) + 1), name))
    members = [
        msgspec.structs.replace(
            _member(application_set, name, by_name.get(name), recorded.get(name, {})),
            step=number_of.get(name, -1),
        )
        for name in names
    ]
    return tuple(
        msgspec.structs.replace(member, waits=_waits(member, members, steps)) for member in members
    ), steps


def _member(application_set: Manifest, name: str, application: Manifest | None, entry: Object) -> Member:
    status: Object = application.status if application is not None else {}
    return Member(
        name=name,
        namespace=application_set.ref.namespace,
        sync=text(dig(status, "sync", "status")),
        health=text(dig(status, "health", "status")),
        status=text(entry.get("status")),
        message=text(entry.get("message")),
    )


def _number(entry: Object) -> int:
    step = text(entry.get("step"))
    return int(step) if step.isdecimal() and len(step) < 6 else -1


def _steps(
    application_set: Manifest, applications: Sequence[Manifest], recorded: Mapping[str, Object]
) -> Iterator[Step]:
    """The steps with the Applications that are known; the status may record more of them."""
    taken: set[str] = set()
    steps = items(dig(application_set.spec, "strategy", "rollingSync", "steps"))
    for number, raw in enumerate(map(fields, steps), start=1):
        expressions = list(map(fields, items(raw.get("matchExpressions"))))
        selected = {app.ref.name for app in applications if _matches(app.labels, expressions)}
        selected |= {name for name, entry in recorded.items() if _number(entry) == number}
        members = tuple(sorted(selected - taken))
        taken |= selected
        yield Step(
            number=number,
            selects=" and ".join(map(_in_words, expressions)) or "all",
            max_update=_max_update(raw.get("maxUpdate"), len(selected)),
            members=members,
        )


def _matches(labels: Mapping[str, Json], expressions: Iterable[Object]) -> bool:
    for expression in expressions:
        key, operator = text(expression.get("key")), expression.get("operator")
        values = items(expression.get("values"))
        if operator not in ("In", "NotIn"):
            return False
        if key not in labels:
            if operator == "In":
                return False
        elif (labels[key] in values) != (operator == "In"):
            return False
    return True


def _in_words(expression: Object) -> str:
    values = ", ".join(map(text, items(expression.get("values"))))
    operator = "in" if expression.get("operator") == "In" else "not in"
    return f"{text(expression.get('key'))} {operator} {values}"


def _max_update(limit: Json, total: int) -> int | None:
    """A number or a percentage; more than 0 % is at least one Application."""
    if isinstance(limit, int):
        return limit
    if isinstance(limit, str) and limit.endswith("%") and limit[:-1].isdecimal():
        percent = int(limit[:-1])
        return max(total * percent // 100, 1) if percent else 0
    return int(limit) if isinstance(limit, str) and limit.isdecimal() else None


def _waits(member: Member, members: Sequence[Member], steps: Sequence[Step]) -> str:
    """Why the rollout does not sync an Application now; empty if it does not wait."""
    if member.step == -1:
        return "no step selects it, so the set never syncs it"
    if member.status == "Pending":
        return "its sync is requested and has not begun"
    if member.status != "Waiting":
        return ""
    earlier = [other for other in members if 0 < other.step < member.step and not other.is_done]
    if earlier:
        first = min(other.step for other in earlier)
        names = [f"{other.name} ({other.status or 'no status'})" for other in earlier if other.step == first]
        return f"step {first} is not finished: {_few(names)}"
    step = next((step for step in steps if step.number == member.step), None)
    limit = step.max_update if step is not None else None
    running = [other.name for other in members if other.step == member.step and other.status in _RUNNING]
    if limit == 0:
        return f"maxUpdate of step {member.step} is 0: sync it yourself"
    if limit is not None and len(running) >= limit:
        return f"at most {limit} of step {member.step} at once, and {_few(running)} is not finished"
    return "the ApplicationSet controller starts it next"


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def rollout_of(case: Case) -> Member | None:
    """The part of an app in the rolling sync of its ApplicationSet; `None` if it has none, or is done."""
    name = owner_of_kind(case.application, APPLICATION_SET)
    owner = case.live_named(APPLICATION_SET, case.app.namespace, name) if name else None
    if owner is None or not is_rolling(owner):
        return None
    members, _ = members_of(owner, [manifest for manifest, _ in case.index.decoded])
    return next((one for one in members if one.name == case.app.name and not one.is_done), None)


class SetReport(msgspec.Struct, frozen=True, kw_only=True):
    """The answer about an ApplicationSet; `report` has its findings and gaps, as for an Application."""

    application_set: Manifest
    report: AppReport
    conditions: tuple[SetCondition, ...]
    generators: tuple[str, ...]
    members: tuple[Member, ...]
    steps: tuple[Step, ...]

    @property
    def qualified_name(self) -> str:
        return self.application_set.ref.place
