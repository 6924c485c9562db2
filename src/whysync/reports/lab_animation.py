"""The animation of `lab run`: phases and waves, their progress, and the simulated clock.

It is fed with trace events of Argo CD and can be drawn at any time: repeatedly on a terminal, otherwise once
at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd import hooks
from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.argocd.hooks import SyncPhase
from whysync.json_tree import dig, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.reports.terminal import Terminal, one_line

_ORDER: Final = tuple(SyncPhase)
_FAILED: Final = ("Failed", "Error", "SyncFailed")
_DONE: Final = ("Succeeded", "Synced", "Pruned", "PruneSkipped")
_COLORS: Final = {"good": "green", "bad": "red", "hourglass": "yellow", "dot": "dim"}


class PicturePlace(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """The position of an object in a sync: its phase, wave and kind."""

    phase: int
    wave: int
    kind: int
    ref: Ref


class WaveProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One wave of a sync: its objects, each with a mark (`good`, `bad`, `hourglass`, `dot`) and a name."""

    phase: SyncPhase
    number: int
    objects: tuple[tuple[str, str], ...]


_Key = tuple[int, Ref]
"""The index of a phase, and an object without version and namespace."""


class Progress:
    """The progress of one app's sync."""

    def __init__(self, name: str, desired: Iterable[Manifest]) -> None:
        self.name = name
        self.sync = self.health = ""
        self.phase = self.message = ""
        self._states: dict[_Key, str] = {}
        self._planned: dict[_Key, int] = {}
        self._retained: set[_Key] = set()  # objects of an earlier successful sync, which still exist
        self._nameless: set[_Key] = set()  # manifests with generateName; the ref has the prefix as its name
        for manifest in desired:
            self._plan(manifest)
        self._waves = dict(self._planned)

    def _plan(self, manifest: Manifest) -> None:
        ref = _bare(manifest.ref)
        prefix = "" if ref.name else text(dig(manifest.body, "metadata", "generateName"))
        for phase in hooks.sync_phases(manifest.body):
            if phase in _ORDER:
                key = _ORDER.index(phase), replace(ref, name=prefix) if prefix else ref
                self._planned[key] = hooks.wave_of(manifest.body)
                if prefix:
                    self._nameless.add(key)

    def feed(self, event: TraceEvent) -> None:
        match event.kind:
            case TraceKind.STATUS:
                self.sync, _, self.health = event.text.partition(", ")
            case TraceKind.STARTED:
                previous = dict.fromkeys(self._retained, "Synced") | self._states
                retained = [
                    key
                    for key, state in (previous if self.phase == "Succeeded" else {}).items()
                    if state != "Pruned" and not self._plan_of(key)
                ]
                self._retained, self._states = set(retained), {}
                self._waves = {key: self._waves[key] for key in retained} | self._planned
                self.phase, self.message = "Running", ""
            case TraceKind.RESULT if event.about is not None:
                phase = _ORDER.index(SyncPhase(event.phase)) if event.phase in _NAMES else 1
                key = phase, _bare(event.about)
                plan = self._plan_of(key)
                if plan is None:
                    self._waves.setdefault(key, event.wave or 0)
                else:
                    self._waves[key] = self._planned[plan]
                    self._waves.pop(plan, None)
                self._states[key] = "Pruned" if event.text == "pruned" else event.status
            case TraceKind.STEP | TraceKind.RETRY | TraceKind.ENDED:
                self.phase, self.message = event.phase, event.text
            case _:
                pass

    def _plan_of(self, key: _Key) -> _Key | None:
        """The planned manifest with generateName that this object was created from."""
        phase, ref = key
        for plan in self._nameless:
            if plan[0] == phase and plan[1].kind == ref.kind and ref.name.startswith(plan[1].name):
                return plan
        return None

    @property
    def has_synced(self) -> bool:
        return bool(self.phase)

    def state_line(self, terminal: Terminal) -> str:
        states = f"{self.sync or 'never compared'} {terminal.mark('dot')} {self.health or 'health unknown'}"
        if not self.phase:
            return f"{self.name}   {states}"
        message = f": {one_line(self.message)}" if self.message else ""
        return f"{self.name}   {states}   sync {self.phase}{message}"

    def waves(self, terminal: Terminal) -> Iterator[str]:
        """One line for each wave: phase, number, its objects with their marks."""
        shown_phase: SyncPhase | None = None
        for wave in self.wave_progress():
            head = f"  {wave.phase if wave.phase is not shown_phase else '':<9}{wave.number:>3}  "
            shown_phase = wave.phase
            yield from _wrapped(head, list(wave.objects), terminal)

    def wave_progress(self) -> Iterator[WaveProgress]:
        """The waves in the order of the sync."""
        groups: dict[tuple[int, int], list[PicturePlace]] = {}
        for (phase, ref), wave in self._waves.items():
            position = PicturePlace(phase=phase, wave=wave, kind=hooks.kind_rank(ref.kind), ref=ref)
            groups.setdefault((phase, wave), []).append(position)
        for phase, wave in sorted(groups):
            positions = sorted(groups[phase, wave])
            marks = [self._mark(position) for position in positions]
            labels = [self._label(position) for position in positions]
            if _ORDER[phase] is SyncPhase.SYNC_FAIL and all(mark == "dot" for mark in marks):
                continue
            objects = tuple(zip(marks, labels, strict=True))
            yield WaveProgress(phase=_ORDER[phase], number=wave, objects=objects)

    def _label(self, position: PicturePlace) -> str:
        pruned = self._states.get((position.phase, position.ref)) == "Pruned"
        suffix = "…" if (position.phase, position.ref) in self._nameless else " (pruned)" if pruned else ""
        return f"{position.ref.kind} {position.ref.name}{suffix}"

    def _mark(self, position: PicturePlace) -> str:
        """A wave that was followed by another one is done, even if Argo CD no longer reports every object.

        An object of an earlier sync that this one has not reached is not done yet.
        """
        state = self._states.get((position.phase, position.ref), "")
        if state in _FAILED:
            return "bad"
        finished = self.phase == "Succeeded" or (position.phase, position.wave) < self._farthest()
        finished = finished or position.ref.kind == "Namespace"  # which has no health to wait for
        if state in _DONE or (state == "Running" and finished):
            return "good"
        if not state and finished and (position.phase, position.ref) in self._retained:
            return "good"
        return "hourglass" if state else "dot"

    def _farthest(self) -> tuple[int, int]:
        return max(((key[0], self._waves[key]) for key in self._states), default=(-1, 0))


_NAMES: Final = frozenset(phase.value for phase in SyncPhase)


def _bare(ref: Ref) -> Ref:
    """The ref without version and namespace: a manifest may omit its namespace."""
    return Ref(group=ref.group, version="", kind=ref.kind, namespace="", name=ref.name)


def _wrapped(head: str, marked: list[tuple[str, str]], terminal: Terminal) -> Iterator[str]:
    line, used = head, len(head)
    is_empty = True
    longest = max(terminal.width - len(head) - 5, 10)
    for mark, label in marked:
        label = label if len(label) <= longest else f"{label[: longest - 1]}…"
        size = len(label) + 5  # an hourglass takes two columns
        if not is_empty and used + size > terminal.width:
            yield line.rstrip()
            line, used = " " * len(head), len(head)
        line += f"{terminal.paint(terminal.mark(mark), _COLORS[mark])} {label}  "
        used += size
        is_empty = False
    yield line.rstrip()


class Picture:
    """All apps of a run, and the clock."""

    def __init__(
        self, title: str, start: datetime, duration: timedelta, desired: Mapping[str, Iterable[Manifest]]
    ) -> None:
        self._title = title
        self._start = start
        self._lasts = duration
        self._now = start
        self._last = ""
        self._apps = {
            name: Progress(name.rpartition("/")[2], manifests) for name, manifests in desired.items()
        }

    def feed(self, event: TraceEvent) -> None:
        self._now = max(self._now, event.at)
        if event.app in self._apps:
            self._apps[event.app].feed(event)

    def note(self, at: datetime, text: str) -> None:
        """Show an action of the scenario."""
        self._now = max(self._now, at)
        self._last = f"{elapsed(at - self._start)}  {one_line(text)}"

    def end(self) -> None:
        self._now = self._start + self._lasts

    def frame(self, terminal: Terminal) -> list[str]:
        """All lines of a frame, cut to the width of the terminal."""
        clock = f"{elapsed(self._now - self._start)} of {elapsed(self._lasts)} simulated"
        lines = [
            terminal.paint(_cut(self._title, terminal), "bold"),
            f"  {clock}   {self._bar(terminal)}",
            "",
        ]
        for app in self._apps.values():
            lines.append(_cut(f"  {app.state_line(terminal)}", terminal))
            lines += app.waves(terminal)
            lines.append("")
        if self._last:
            lines += [_cut(f"  {self._last}", terminal), ""]
        return lines

    def ending(self, terminal: Terminal) -> list[str]:
        """Phases and waves of the apps that were synced."""
        lines: list[str] = []
        for app in self._apps.values():
            waves = list(app.waves(terminal)) if app.has_synced else []
            if waves:
                lines += ["", *([f"  {app.name}"] if len(self._apps) > 1 else []), *waves]
        return lines

    def _bar(self, terminal: Terminal) -> str:
        total = self._lasts.total_seconds() or 1.0
        filled = round(24 * min((self._now - self._start).total_seconds() / total, 1.0))
        full, empty = ("━", "─") if terminal.unicode else ("=", "-")
        return full * filled + terminal.paint(empty * (24 - filled), "dim")


def _cut(line: str, terminal: Terminal) -> str:
    return line if len(line) <= terminal.width else f"{line[: terminal.width - 1]}…"


def elapsed(age: timedelta) -> str:
    """`0:05`, `12:30`, `1:02:03`."""
    seconds = int(age.total_seconds())
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
