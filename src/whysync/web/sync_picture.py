"""The last sync as a picture: how far it came, and its phases and waves in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

from whysync.argocd.api.application import OperationState
from whysync.argocd.hooks import SyncPhase
from whysync.diagnosis.case import Case
from whysync.reports.lab_animation import WaveProgress
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, tag
from whysync.wait.progress import progress_of
from whysync.web.page import age, counted, moment, share_bar

_WORDS: Final = {"good": "done", "bad": "failed", "hourglass": "waiting", "dot": "not reached"}
_SIGNS: Final = {"good": "✓", "bad": "✗", "hourglass": "…", "dot": "·"}
_WORST_FIRST: Final = ("bad", "hourglass", "dot", "good")
_BARS: Final = {"good": "good", "bad": "bad", "hourglass": "wait", "dot": "rest"}
_MOST_OBJECTS: Final = 40
_PHASE_BADGES: Final = {"Succeeded": "good", "Running": "run", "Terminating": "run"}


def sync_picture(case: Case, now: datetime) -> tuple[Xml, ...]:
    """Empty if there is nothing to sync."""
    waves = tuple(progress_of(case).wave_progress())
    if not waves:
        return ()
    operation = case.operation
    words = dict(_WORDS)
    if operation is not None and operation.phase == "Succeeded":
        # a sync of selected resources, such as self-heal's, does not reach the others
        words["dot"] = "not part of it" if case.results else "not reported"
    phases = [
        _phase(phase, tuple(group), words) for phase, group in groupby(waves, key=lambda wave: wave.phase)
    ]
    return (
        _state(operation, now),
        _progress(waves, words),
        tag("ol", *phases, class_="phases", tabindex="0", aria_label="Phases and waves of the sync"),
    )


def _state(operation: OperationState | None, now: datetime) -> Xml:
    if operation is None:
        return tag("p", tag("span", "never synced", class_="badge none"))
    badge = _PHASE_BADGES.get(operation.phase, "bad")
    parts: list[Xml | str] = [tag("span", one_line(operation.phase, 40), class_=f"badge big {badge}"), " "]
    if operation.message:
        parts.append(one_line(operation.message, 400))
    times: list[Xml | str] = []
    if operation.started_at is not None:
        times = ["started ", moment(operation.started_at, now)]
        if operation.finished_at is not None:
            times.append(f", took {age(operation.started_at, operation.finished_at)}")
    if operation.retry_count:
        times.append(f"{', ' if times else ''}{counted(operation.retry_count, 'retry', 'retries')}")
    return tag("div", tag("p", *parts), tag("p", *times, "", class_="soft times"), class_="sync-state")


def _progress(waves: Sequence[WaveProgress], words: dict[str, str]) -> Xml:
    """`7 of 12 done · 1 failed · 4 not reached`, and the same as a bar."""
    numbers = Counter(mark for wave in waves for mark, _ in wave.objects)
    total = numbers.total()
    others = [f"{numbers[mark]:,} {words[mark]}" for mark in ("bad", "hourglass", "dot") if numbers[mark]]
    text = " · ".join((f"{numbers['good']:,} of {total:,} done", *others))
    bar = share_bar({_BARS[mark]: numbers[mark] for mark in ("good", "bad", "hourglass", "dot")})
    return tag("div", tag("p", text), bar, class_="sync-progress")


def _phase(phase: SyncPhase, waves: Sequence[WaveProgress], words: dict[str, str]) -> Xml:
    # Argo CD creates the namespace in PreSync
    is_hooks = any(not label.startswith("Namespace ") for wave in waves for _, label in wave.objects)
    title = f"{phase.value} hooks" if is_hooks and phase is not SyncPhase.SYNC else phase.value
    columns = tag("ol", *(_wave(wave, words) for wave in waves), class_="waves")
    return tag("li", tag("h3", title), columns, class_="phase")


def _wave(wave: WaveProgress, words: dict[str, str]) -> Xml:
    marks = Counter(mark for mark, _ in wave.objects)
    worst = next(mark for mark in _WORST_FIRST if marks[mark])
    head = tag(
        "p",
        tag("b", f"wave {wave.number}"),
        tag("span", f"{marks['good']}/{len(wave.objects)}", class_="soft"),
        class_="wave-head",
    )
    return tag("li", head, tag("ul", *_steps(wave, words)), class_=f"wave {worst}")


def _steps(wave: WaveProgress, words: dict[str, str]) -> Iterator[Xml]:
    """The objects that need attention first; of many, the rest is a number."""
    ordered = sorted(wave.objects, key=lambda item: _WORST_FIRST.index(item[0]))
    shown = wave.objects if len(wave.objects) <= _MOST_OBJECTS else ordered[:_MOST_OBJECTS]
    for mark, label in shown:
        kind, _, name = label.partition(" ")
        yield tag(
            "li",
            tag("span", _SIGNS[mark], class_="sign", aria_hidden="true"),
            tag("span", tag("span", one_line(kind, 60), class_="kind"), " ", one_line(name, 80)),
            tag("span", f" ({words[mark]})", class_="visually-hidden"),
            class_=f"step {mark}",
            title=words[mark],
        )
    if len(wave.objects) > len(shown):
        yield tag("li", f"and {len(wave.objects) - len(shown)} more", class_="step dot")
