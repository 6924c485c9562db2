"""What `diff` has to say of an app, before it is put into words: one value for each resource and field."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import cached_property

import msgspec

from whysync.argocd.api.application import SyncCode
from whysync.argocd.compare.comparison import ComparedResource
from whysync.argocd.compare.ignored_fields import IdleRule, IgnoredField, IgnoredFields
from whysync.argocd.diff.changes import FieldChange
from whysync.diagnosis.case import Case
from whysync.diagnosis.comparison import NotCompared, is_not_provided
from whysync.kubernetes.field_writers import ManagedFieldsIndex, Ownership


class State(StrEnum):
    DIFFERS = "differs"
    MISSING = "missing"
    """Git has it, the cluster does not."""
    EXTRA = "extra"
    """The cluster has it, Git does not."""
    ERROR = "error"
    """It could not be compared."""
    UNSEEN = "unseen"
    """The facts lack one side of it, which Argo CD has seen."""
    EQUAL = "equal"
    IGNORED = "ignored"
    """A hook, or an object that is not the app's own: it does not count."""


COUNTED = frozenset({State.DIFFERS, State.MISSING, State.EXTRA})


class ChangedField(msgspec.Struct, frozen=True, kw_only=True):
    change: FieldChange
    ownership: Ownership


class ResourceDiff(msgspec.Struct, frozen=True, kw_only=True):
    resource: ComparedResource
    state: State
    argocd_sync: str
    """What Argo CD's own row says; empty: it has none, or no status in it."""
    fields: tuple[ChangedField, ...] = ()
    ignored: tuple[IgnoredField, ...] = ()

    @property
    def title(self) -> str:
        """As `argocd app diff` writes it."""
        ref = self.resource.ref
        return f"{ref.group}/{ref.kind} {ref.namespace}/{ref.name}"

    @property
    def disagreement(self) -> str:
        """Where Argo CD's row says something else than this comparison."""
        ours, theirs = self.resource.sync, self.argocd_sync
        if not theirs or self.state in (State.UNSEEN, State.ERROR, State.IGNORED) or ours is None:
            return ""
        if theirs == ours or SyncCode.UNKNOWN in (ours, theirs):
            return ""
        if theirs == SyncCode.OUT_OF_SYNC:
            return "Argo CD says OutOfSync, this comparison finds no difference"
        return f"Argo CD says {theirs}, this comparison finds a difference"


class AppDiff:
    """`wanted` chooses resources, as `--resource` does."""

    def __init__(self, case: Case, *, wanted: Callable[[ComparedResource], bool]) -> None:
        self.case = case
        found = case.comparison
        self.comparison = None if isinstance(found, NotCompared) else found
        self.problem, self.next = (found.problem, found.next) if isinstance(found, NotCompared) else ("", "")
        self._wanted = wanted
        self._ignored = IgnoredFields(self.comparison) if self.comparison else None

    @property
    def settings_problem(self) -> str:
        """Settings that cannot be read leave every app Unknown, and no condition says so."""
        found = self.comparison.inputs.settings.comparison_problem if self.comparison else None
        return f"{found.key} cannot be read: {found.message}" if found else ""

    @cached_property
    def resources(self) -> tuple[ResourceDiff, ...]:
        found = self.comparison.resources if self.comparison else ()
        diffs = [self._diff(one) for one in found if self._wanted(one)]
        order = {state: place for place, state in enumerate(State)}
        return tuple(sorted(diffs, key=lambda one: (order[one.state], one.resource.key)))

    def in_state(self, *states: State) -> tuple[ResourceDiff, ...]:
        return tuple(resource for resource in self.resources if resource.state in states)

    @cached_property
    def idle_rules(self) -> tuple[IdleRule, ...]:
        return self._ignored.idle_rules() if self._ignored else ()

    @property
    def failed(self) -> bool:
        """Argo CD could not compare this app either."""
        return self.comparison is not None and self.comparison.sync is SyncCode.UNKNOWN

    @property
    def differs(self) -> bool:
        """The app is OutOfSync with its rows all Synced where only the namespace's metadata changed."""
        whole = self.comparison is not None and self.comparison.sync is SyncCode.OUT_OF_SYNC
        every = self.comparison.resources if self.comparison else ()
        by_rows = any(one.sync is SyncCode.OUT_OF_SYNC for one in every)
        return bool(self.in_state(*COUNTED)) or (whole and not by_rows)

    def _diff(self, resource: ComparedResource) -> ResourceDiff:
        row = self.case.rows.get(resource.key)
        state = self._state(resource)
        changed: tuple[ChangedField, ...] = ()
        if state is State.DIFFERS and resource.diff is not None and resource.live is not None:
            ledger = ManagedFieldsIndex(resource.live)
            changed = tuple(
                ChangedField(change=change, ownership=ledger.ownership(change.pointer))
                for change in resource.diff.changes
            )
        return ResourceDiff(
            resource=resource,
            state=state,
            argocd_sync=row.status if row else "",
            fields=changed,
            ignored=self._ignored.of(resource) if self._ignored else (),
        )

    def _state(self, resource: ComparedResource) -> State:
        if resource.error:
            return State.ERROR
        if resource.sync is None:
            return State.IGNORED
        if is_not_provided(self.case, resource):
            return State.UNSEEN
        if resource.live is None:
            # A Namespace that the app makes itself may be absent.
            return State.EQUAL if resource.sync is SyncCode.SYNCED else State.MISSING
        if resource.target is None:
            return State.EXTRA
        return State.DIFFERS if resource.is_modified else State.EQUAL
