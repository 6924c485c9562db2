"""The result of `diff` for an app: one value for each resource and each changed field."""

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
    """In Git, but not in the cluster."""
    EXTRA = "extra"
    """In the cluster, but not in Git."""
    ERROR = "error"
    """It could not be compared."""
    NOT_PROVIDED = "unseen"
    """One side is not in the facts, although Argo CD has it."""
    EQUAL = "equal"
    IGNORED = "ignored"
    """A hook, or an object that the app does not manage."""


COUNTED = frozenset({State.DIFFERS, State.MISSING, State.EXTRA})


class ChangedField(msgspec.Struct, frozen=True, kw_only=True):
    change: FieldChange
    ownership: Ownership


class ResourceDiff(msgspec.Struct, frozen=True, kw_only=True):
    resource: ComparedResource
    state: State
    argocd_sync: str
    """The sync status in the Application's `status.resources`, or empty."""
    fields: tuple[ChangedField, ...] = ()
    ignored: tuple[IgnoredField, ...] = ()

    @property
    def title(self) -> str:
        """The heading of `argocd app diff`."""
        ref = self.resource.ref
        return f"{ref.group}/{ref.kind} {ref.namespace}/{ref.name}"

    @property
    def disagreement(self) -> str:
        """How the status that Argo CD reports differs from this comparison, if it does."""
        ours, theirs = self.resource.sync, self.argocd_sync
        if not theirs or self.state in (State.NOT_PROVIDED, State.ERROR, State.IGNORED) or ours is None:
            return ""
        if theirs == ours or SyncCode.UNKNOWN in (ours, theirs):
            return ""
        if theirs == SyncCode.OUT_OF_SYNC:
            return "Argo CD reports OutOfSync, but this comparison finds no difference"
        return f"Argo CD reports {theirs}, but this comparison finds a difference"


class AppDiff:
    """The diff of one app, of the resources that `selects` accepts."""

    def __init__(self, case: Case, *, selects: Callable[[ComparedResource], bool]) -> None:
        self.case = case
        comparison = case.comparison
        self.comparison = None if isinstance(comparison, NotCompared) else comparison
        not_compared = comparison if isinstance(comparison, NotCompared) else None
        self.problem = not_compared.problem if not_compared else ""
        self.next = not_compared.next if not_compared else ""
        self._selects = selects
        self._ignored = IgnoredFields(self.comparison) if self.comparison else None

    @property
    def settings_problem(self) -> str:
        """Invalid settings: they make every app Unknown, without a condition."""
        problem = self.comparison.inputs.settings.comparison_problem if self.comparison else None
        return f"{problem.key} cannot be read: {problem.message}" if problem else ""

    @cached_property
    def resources(self) -> tuple[ResourceDiff, ...]:
        resources = self.comparison.resources if self.comparison else ()
        diffs = [self._diff(resource) for resource in resources if self._selects(resource)]
        order = {state: rank for rank, state in enumerate(State)}
        return tuple(sorted(diffs, key=lambda resource: (order[resource.state], resource.resource.key)))

    def in_state(self, *states: State) -> tuple[ResourceDiff, ...]:
        return tuple(resource for resource in self.resources if resource.state in states)

    @cached_property
    def idle_rules(self) -> tuple[IdleRule, ...]:
        return self._ignored.idle_rules() if self._ignored else ()

    @property
    def failed(self) -> bool:
        """Did the comparison fail, as it does in Argo CD?"""
        return self.comparison is not None and self.comparison.sync is SyncCode.UNKNOWN

    @property
    def differs(self) -> bool:
        """Whether anything differs; a change of managedNamespaceMetadata alone differs in no resource."""
        is_out_of_sync = self.comparison is not None and self.comparison.sync is SyncCode.OUT_OF_SYNC
        resources = self.comparison.resources if self.comparison else ()
        has_out_of_sync_resource = any(resource.sync is SyncCode.OUT_OF_SYNC for resource in resources)
        return bool(self.in_state(*COUNTED)) or (is_out_of_sync and not has_out_of_sync_resource)

    def _diff(self, resource: ComparedResource) -> ResourceDiff:
        row = self.case.rows.get(resource.key)
        state = self._state(resource)
        changed: tuple[ChangedField, ...] = ()
        if state is State.DIFFERS and resource.diff is not None and resource.live is not None:
            managed_fields = ManagedFieldsIndex(resource.live)
            changed = tuple(
                ChangedField(change=change, ownership=managed_fields.ownership(change.pointer))
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
            return State.NOT_PROVIDED
        if resource.live is None:
            # The Namespace of CreateNamespace=true may not exist yet.
            return State.EQUAL if resource.sync is SyncCode.SYNCED else State.MISSING
        if resource.target is None:
            return State.EXTRA
        return State.DIFFERS if resource.is_modified else State.EQUAL
