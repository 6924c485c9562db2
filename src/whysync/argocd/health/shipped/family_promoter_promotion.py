"""GitOps Promoter: where a commit stands on its way through the environments."""

from __future__ import annotations

from dataclasses import dataclass, field

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def policy(obj: Object, _it: Json = None, /) -> HealthVerdict:
    """A ChangeTransferPolicy that is ready: one environment."""
    status = lua.at(obj, "status")
    active = _active(status)
    if active is None:
        return HealthVerdict(PROGRESSING, "The active commit DRY SHA is missing or empty.")
    proposed = _given(status, "proposed", "dry", "sha")
    if proposed is None:
        return HealthVerdict(PROGRESSING, "The proposed commit DRY SHA is missing or empty.")
    if not lua.same(proposed, active):
        tally = _tally(lua.at(status, "proposed"))
        said = f"Promotion in progress from '{_short(active)}' to '{_short(proposed)}': {tally.text()}"
        return HealthVerdict(PROGRESSING, said)
    tally = _tally(lua.at(status, "active"))
    if tally.is_settled():
        return HealthVerdict(HEALTHY, f"Environment is up-to-date on commit {_short(active)}.")
    but = "Environment is up-to-date, but there are non-successful active commit statuses: "
    return HealthVerdict(HEALTHY, but + tally.text())


def strategy(obj: Object, _it: Json = None, /) -> HealthVerdict:
    """A PromotionStrategy that is ready: all environments, in order."""
    listed = lua.named(obj, "status", "environments")
    if not lua.truthy(listed) or lua.length(listed) == 0:
        return HealthVerdict(DEGRADED, "Promotion strategy has no environments configured")
    environments = list(lua.ipairs(listed))
    for environment in environments:
        for side, sha_of in (("active", _active), ("proposed", _hydrated)):
            if sha_of(environment) is None:
                where = lua.concat("environment '", lua.at(environment, "branch"), "'.")
                return HealthVerdict(PROGRESSING, f"The {side} commit DRY SHA is missing or empty in {where}")
    first = environments[0]
    if not all(lua.same(_hydrated(environment), _hydrated(first)) for environment in environments):
        return HealthVerdict(
            PROGRESSING,
            "Not all environments have the same proposed commit SHA. "
            "This likely means the hydrator has not run for all environments yet.",
        )
    return _under_way(environments) or _up_to_date(environments)


def _under_way(environments: list[Json]) -> HealthVerdict | None:
    """The first environment with something to promote: a note of the hydrator alone is nothing to promote."""
    for environment in environments:
        proposed, active = lua.named(environment, "proposed", "dry", "sha"), _active(environment)
        if lua.same(proposed, active):
            continue
        tally = _tally(lua.at(environment, "proposed"))
        said = lua.concat(
            "Promotion in progress for environment '",
            lua.at(environment, "branch"),
            f"' from '{_short(active)}' to '{_short(proposed)}': {tally.text()}",
            f"Hydrator has processed dry commit '{_short(_hydrated(environment))}'. ",
        )
        return HealthVerdict(PROGRESSING, said)
    return None


def _up_to_date(environments: list[Json]) -> HealthVerdict:
    unsettled: dict[str, str] = {}
    for environment in environments:
        tally = _tally(lua.at(environment, "active"))
        if not tally.is_settled():
            branch = lua.concat(lua.at(environment, "branch"))
            unsettled[branch] = f"{branch} ({tally.failed} failed, {tally.pending} pending)"
    if unsettled:
        but = "Environments are up-to-date, but some environments have non-successful commit statuses: "
        return HealthVerdict(HEALTHY, f"{but}{', '.join(unsettled.values())}.")
    active, hydrated = _short(_active(environments[0])), _short(_hydrated(environments[0]))
    return HealthVerdict(
        HEALTHY,
        f"All environments are up-to-date on commit '{active}'. "
        f"Hydrator has processed dry commit '{hydrated}'.",
    )


@dataclass(slots=True)
class _Tally:
    """The commit statuses of one side, counted; those without a key are counted but not named."""

    pending: int = 0
    succeeded: int = 0
    failed: int = 0
    pending_keys: list[Json] = field(default_factory=list[Json])
    failed_keys: list[Json] = field(default_factory=list[Json])

    def is_settled(self) -> bool:
        return self.pending == self.failed == 0

    def text(self) -> str:
        said = f"{self.pending} pending, {self.succeeded} successful, {self.failed} failed. "
        if self.pending:
            said += f"Pending commit statuses: {lua.joined(self.pending_keys, ', ')}. "
        if self.failed:
            said += f"Failed commit statuses: {lua.joined(self.failed_keys, ', ')}. "
        return said


def _tally(side: Json) -> _Tally:
    entries, tally = lua.at(side, "commitStatuses"), _Tally()
    for entry in lua.ipairs(entries) if lua.truthy(entries) else ():
        match lua.at(entry, "phase"):
            case "pending":
                tally.pending += 1
                tally.pending_keys.append(lua.at(entry, "key"))
            case "success":
                tally.succeeded += 1
            case "failure":
                tally.failed += 1
                tally.failed_keys.append(lua.at(entry, "key"))
            case _:
                pass
    return tally


def _active(environment: Json) -> Json:
    return _given(environment, "active", "dry", "sha")


def _hydrated(environment: Json) -> Json:
    """The commit that the hydrator has come to: its note, else what is proposed."""
    noted = _given(environment, "proposed", "note", "drySha")
    return noted if noted is not None else _given(environment, "proposed", "dry", "sha")


def _given(value: Json, *keys: str) -> Json:
    """The value at the end, or `None` when anything on the way is nil or false, or the end is empty."""
    for key in keys:
        value = lua.at(value, key)
        if not lua.truthy(value):
            return None
    return None if value == "" else value


def _short(sha: Json) -> str:
    if not lua.truthy(sha):
        return ""
    if not isinstance(sha, str) and not lua.is_number(sha):
        raise lua.LuaError(f"bad argument #1 to len (string expected, got {lua.type_name(sha)})")
    return lua.concat(sha).encode(errors="replace")[:7].decode(errors="replace")
