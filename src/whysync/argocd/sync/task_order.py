"""The order of sync tasks: phase, wave, kind, name; Namespaces and CRDs are moved before their first use.

Mirrors gitops-engine `syncTask` and `syncTasks`, Argo CD 3.6; differs: the sort is stable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd.hooks.recognition import SyncPhase, is_hook, wave_of
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.ref import group_of, ref_of

KINDS: Final = (
    "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
    "ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume",
    "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList",
    "ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList",
    "Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment",
    "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
)  # fmt: skip
_RANKS: Final = {kind: index - len(KINDS) for index, kind in enumerate(KINDS)}
_DEFINITION: Final = "CustomResourceDefinition"
_PHASES: Final = {phase.value: index for index, phase in enumerate(SyncPhase)}


class Task(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One object in one phase of a sync; without a target it is a prune."""

    phase: str = SyncPhase.SYNC.value
    target: Object | None = None
    live: Object | None = None
    wave_override: int | None = None
    operation_state: str = ""
    """The phase of its operation; empty before it starts."""

    @property
    def obj(self) -> Object:
        return self.target if self.target is not None else (self.live or {})

    @property
    def is_prune(self) -> bool:
        return self.target is None

    @cached_property
    def wave(self) -> int:
        return wave_of(self.obj) if self.wave_override is None else self.wave_override

    @property
    def hook_type(self) -> str:
        return self.phase if is_hook(self.obj) else ""


def kind_rank(kind: str) -> int:
    """Negative for kinds that come first; zero for all others."""
    return _RANKS.get(kind, 0)


def in_order(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """The ordered tasks; some have another wave and phase."""
    ordered = sorted(tasks, key=_key)
    kinds = {text(task.target.get("kind")) for task in ordered if task.target is not None}
    if "Namespace" in kinds:
        _pull_forward(ordered, _namespace_made, _namespace_used)
    if _DEFINITION in kinds:
        _pull_forward(ordered, _kind_made, _kind_used)
    return tuple(ordered)


def with_prunes_reversed(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Reverses the waves of prunes: the lowest wave is swapped with the highest, and so on."""
    all_tasks = tuple(tasks)
    if not any(task.is_prune for task in all_tasks):
        return all_tasks
    waves = sorted({task.wave for task in all_tasks if task.is_prune})
    mirrored = dict(zip(waves, reversed(waves), strict=True))
    return tuple(
        replace(task, wave_override=mirrored[task.wave]) if task.is_prune else task for task in all_tasks
    )


def with_prune_last(tasks: Iterable[Task], is_last: Callable[[Task], bool]) -> tuple[Task, ...]:
    """`PruneLast=true`: these prunes get a separate last wave of the Sync phase."""
    all_tasks = tuple(tasks)
    if not any(task.is_prune for task in all_tasks):
        return all_tasks
    last = max((0, *(task.wave for task in all_tasks if task.phase == SyncPhase.SYNC))) + 1
    return tuple(
        replace(task, wave_override=last) if task.is_prune and is_last(task) else task for task in all_tasks
    )


def _key(task: Task) -> tuple[int, int, int, str]:
    obj = task.obj
    kind, name = text(obj.get("kind")), text(dig(obj, "metadata", "name"))
    return _PHASES.get(task.phase, 1), task.wave, kind_rank(kind), name


def _pull_forward(
    tasks: list[Task], makes: Callable[[Object], str | None], uses: Callable[[Object], str | None]
) -> None:
    """Moves a Namespace or CRD before its first use, into the wave and phase of that task."""
    first_use: dict[str, int] = {}
    for index in range(len(tasks)):
        task = tasks[index]
        if task.target is None:
            continue
        provided = makes(task.target)
        if provided is None:
            used = uses(task.target)
            if used is not None:
                first_use.setdefault(used, index)
        elif provided in first_use:
            place = first_use[provided]
            user = tasks[place]
            del tasks[index]
            tasks.insert(place, replace(task, wave_override=user.wave, phase=user.phase))
            for key, position in first_use.items():
                if position >= place:
                    first_use[key] = position + 1


def _namespace_made(obj: Object) -> str | None:
    is_namespace = obj.get("kind") == "Namespace" and "/" not in text(obj.get("apiVersion"))
    return ref_of(obj).name if is_namespace else None


def _namespace_used(obj: Object) -> str | None:
    return text(dig(obj, "metadata", "namespace")) or None


def _kind_made(obj: Object) -> str | None:
    if obj.get("kind") != _DEFINITION or ref_of(obj).group != "apiextensions.k8s.io":
        return None
    group, kind = dig(obj, "spec", "group"), dig(obj, "spec", "names", "kind")
    return f"{group}/{kind}" if isinstance(group, str) and isinstance(kind, str) else None


def _kind_used(obj: Object) -> str | None:
    return f"{group_of(text(obj.get('apiVersion')))}/{text(obj.get('kind'))}"
