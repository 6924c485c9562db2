"""The SVG diagram of a sync: lanes for phases, a line from wave to wave, a box for each resource.

Text is monospaced, so that boxes fit whatever the font. The number of boxes per wave is limited; resources
that fail are drawn first.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from whysync.plan.plan import Change, ChangeKind, Item, Run, State, Step
from whysync.reports.plan_text import MARKS, took
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, tag

WIDTH: Final = 1040
_LETTER: Final = 7.25
_SPINE: Final = 156
_LEFT: Final = 196
_RIGHT: Final = WIDTH - 118
_CHIP: Final = 28
_GAP: Final = 8
_LINE: Final = 17
_MOST_CHIPS: Final = 24
_MOST_WAVES: Final = 40
_LONGEST: Final = 52
STATE_WORDS: Final = {
    State.DONE: "done",
    State.FAILED: "fails",
    State.WAITING: "is waited for",
    State.NOT_REACHED: "not reached",
}
_ICONS: Final = {
    State.DONE: "M-4.5 .5l3 3 6-7",
    State.FAILED: "M-4-4l8 8m0-8l-8 8",
    State.WAITING: "M0-2.5v3h2.5M0-6a6 6 0 1 0 .01 0",
    State.NOT_REACHED: "M-3 0h6",
}
_COLOURS: Final = {
    ChangeKind.CREATE: "good",
    ChangeKind.CHANGE: "wait",
    ChangeKind.RECREATE: "bad",
    ChangeKind.PRUNE: "bad",
    ChangeKind.KEEP: "soft",
    ChangeKind.HOOK: "news",
}
Marks = Mapping[tuple[str, str], ChangeKind]


class Drawing(msgspec.Struct, kw_only=True):
    """SVG markup and its height."""

    height: int = 0
    parts: list[Xml] = msgspec.field(default_factory=list[Xml])

    def text(self, x: int, y: int, text: str, css_class: str = "", **more: str | int) -> None:
        self.parts.append(
            tag("text", one_line(text, 2_000), x=x, y=y, **{"class": css_class} if css_class else {}, **more)
        )


def marks_of(changes: tuple[Change, ...]) -> dict[tuple[str, str], ChangeKind]:
    return {(change.ref.kind, change.ref.name): change.sort for change in changes}


def colour_of(sort: ChangeKind) -> str:
    return _COLOURS[sort]


def draw(run: Run, marks: Marks, *, top: int = 0) -> Drawing:
    return _Picture(run, marks).draw(top)


def step_lines(step: Step) -> Iterator[str]:
    """A line for each resource of a wave, as the text alternative of the diagram."""
    visible = visible_items(step)
    for item in visible:
        name = f"{item.ref.kind} {item.ref.name}{' (hook)' if item.hook else ''}"
        yield f"{name}: {STATE_WORDS[item.state]}{f', {item.note}' if item.note else ''}"
    if len(visible) < len(step.items):
        yield f"and {len(step.items) - len(visible):,} more"


def visible_items(step: Step) -> list[Item]:
    """The items to draw, in order; if there are too many, failed and waiting ones are preferred."""
    if len(step.items) <= _MOST_CHIPS:
        return list(step.items)
    failing = [item for item in step.items if item.state in (State.FAILED, State.WAITING)][:_MOST_CHIPS]
    rest = (item for item in step.items if item.state not in (State.FAILED, State.WAITING))
    chosen_ids = {id(entry) for entry in failing} | {
        id(entry) for entry, _ in zip(rest, range(_MOST_CHIPS - len(failing)), strict=False)
    }
    return [item for item in step.items if id(item) in chosen_ids]


def time_range(step: Step) -> str:
    """`0 s … 10 min 1 s`, on the virtual clock."""
    if step.began is None or step.ended is None:
        return ""
    start, end = took(step.began), took(step.ended)
    return end if start == end else f"{start} … {end}"


class _Picture:
    def __init__(self, run: Run, marks: Marks) -> None:
        self.run = run
        self.marks = marks
        self.places: dict[tuple[str, str], tuple[int, int, int, int]] = {}
        self.above = Drawing()
        self.lanes: list[Xml] = []
        self.stops: list[tuple[int, State, int]] = []

    def draw(self, top: int) -> Drawing:
        y = top
        steps = _chosen(self.run.steps)
        last = max((n for n, step in enumerate(steps) if step.began is not None), default=-1)
        lane_top = y
        for number, step in enumerate(steps):
            if number == 0 or steps[number - 1].phase != step.phase:
                lane_top = y
                self.above.text(24, y + 31, step.phase, "phase")
            y = self._wave(step, y + 12)
            if number + 1 == len(steps) or steps[number + 1].phase != step.phase:
                self.lanes.append(
                    tag(
                        "rect",
                        x=8,
                        y=lane_top,
                        width=WIDTH - 16,
                        height=y - lane_top + 4,
                        rx=10,
                        class_="lane",
                    )
                )
                y += 14
            if number == last and not self.run.passed:
                y = self._end(y, between=number + 1 < len(steps) and steps[number + 1].phase == step.phase)
        if len(steps) < len(self.run.steps):
            self.above.text(_LEFT, y + 12, f"and {len(self.run.steps) - len(steps)} more waves", "soft")
            y += 26
        return Drawing(height=y - top, parts=[*self.lanes, *self._spine(), *self.above.parts, *self._needs()])

    def _wave(self, step: Step, y: int) -> int:
        """Boxes from left to right; a resource that failed gets its own row, with the reason."""
        state = _worst(step)
        self.stops.append((y + _CHIP // 2, state, step.wave))
        x, top = _LEFT, y
        visible = visible_items(step)
        for item in visible:
            label = _short(f"{item.ref.kind} {item.ref.name}")
            notes = textwrap.wrap(one_line(item.note, 400), int((_RIGHT - _LEFT - 40) / _LETTER))
            width = self._width(item, label, notes)
            if x > _LEFT and (notes or x + width > _RIGHT):
                x, top = _LEFT, top + _CHIP + _GAP
            height = _CHIP + len(notes) * _LINE
            self._chip(item, label, notes, (x, top, width, height))
            if notes:
                x, top = _LEFT, top + height + _GAP
            else:
                x += width + _GAP
        if len(visible) < len(step.items):
            more = f"and {len(step.items) - len(visible):,} more"
            if x > _LEFT and x + len(more) * _LETTER > _RIGHT:
                x, top = _LEFT, top + _CHIP + _GAP
            self.above.text(x + 4, top + 18, more, "soft")
            x += 1
        bottom = top + _CHIP if x > _LEFT else top - _GAP
        self.above.text(
            WIDTH - 24,
            y + 18,
            time_range(step) if step.began is not None else "not reached",
            "soft",
            text_anchor="end",
        )
        return bottom + _GAP

    def _width(self, item: Item, label: str, notes: list[str]) -> int:
        badge = 20 if self._mark(item) is not None else 0
        hook = 46 if item.hook else 0
        line = 34 + _size(label) + badge + hook
        return min(max(line, *(34 + _size(note) for note in notes)) if notes else line, _RIGHT - _LEFT)

    def _mark(self, item: Item) -> ChangeKind | None:
        """The kind of change to mark; hooks have a label of their own."""
        sort = self.marks.get((item.ref.kind, item.ref.name))
        return None if sort is ChangeKind.HOOK else sort

    def _chip(self, item: Item, label: str, notes: list[str], box: tuple[int, int, int, int]) -> None:
        x, y, width, height = box
        self.places.setdefault((item.ref.kind, item.ref.name), box)
        css_class = item.state.value
        kind, _, name = label.partition(" ")
        nodes = [
            tag(
                "title",
                one_line(f"{item.ref.kind} {item.ref.name}: {STATE_WORDS[item.state]} {item.note}", 600),
            ),
            tag("rect", x=x, y=y, width=width, height=height, rx=7, class_=f"chip {css_class}"),
            tag(
                "path",
                d=_ICONS[item.state],
                transform=f"translate({x + 15} {y + 14})",
                class_=f"mark {css_class}",
            ),
            tag(
                "text",
                tag("tspan", one_line(kind), class_="soft"),
                f" {one_line(name)}",
                x=x + 28,
                y=y + 18,
                **{"class": "soft"} if item.state is State.NOT_REACHED else {},
            ),
        ]
        offset = x + 28 + _size(label) + 8
        if item.hook:
            nodes.append(tag("rect", x=offset, y=y + 6, width=38, height=16, rx=8, class_="tag"))
            nodes.append(tag("text", "hook", x=offset + 19, y=y + 18, class_="news", text_anchor="middle"))
            offset += 46
        sort = self._mark(item)
        if sort is not None:
            nodes.append(tag("text", MARKS[sort], x=offset, y=y + 18, class_=_COLOURS[sort], font_weight=700))
        for number, note in enumerate(notes):
            css = "bad" if item.state is State.FAILED else "wait" if item.state is State.WAITING else "soft"
            nodes.append(tag("text", one_line(note), x=x + 28, y=y + 18 + (number + 1) * _LINE, class_=css))
        self.above.parts.append(tag("g", *nodes))

    def _end(self, y: int, *, between: bool) -> int:
        """Draw where the sync stops."""
        states = {item.state for step in self.run.steps for item in step.items}
        applied = states.isdisjoint({State.FAILED, State.NOT_REACHED})
        text = "all is applied, and not healthy" if applied else "the sync ends here,"
        text += f" after {took(self.run.seconds)}"
        y += 2 if between else -8
        self.above.parts.append(
            tag("path", d=f"M{_SPINE + 22} {y + 10}H{WIDTH - 36 - _size(text)}", class_="end")
        )
        self.above.text(WIDTH - 24, y + 14, text, "bad", text_anchor="end")
        return y + 24 if between else y + 28

    def _spine(self) -> Iterator[Xml]:
        for (y, _, _), (below, state, _) in zip(self.stops, self.stops[1:], strict=False):
            css_class = "spine not-reached" if state is State.NOT_REACHED else "spine"
            yield tag("path", d=f"M{_SPINE} {y}V{below}", class_=css_class)
        for y, state, wave in self.stops:
            label = str(wave).replace("-", "−")
            half = max(14, _size(label) // 2 + 7)
            yield tag(
                "g",
                tag("title", one_line(f"wave {wave}: {STATE_WORDS[state]}")),
                tag(
                    "rect",
                    x=_SPINE - half,
                    y=y - 13,
                    width=2 * half,
                    height=26,
                    rx=13,
                    class_=f"stop {state.value}",
                ),
                tag("text", one_line(label), x=_SPINE, y=y + 4, text_anchor="middle"),
            )

    def _needs(self) -> Iterator[Xml]:
        """Arrows from waiting resources to those they wait for, if these come later."""
        for step in self.run.steps:
            for item in step.items:
                box = self.places.get((item.ref.kind, item.ref.name))
                if item.waits_for is None or box is None or item.state is State.DONE:
                    continue
                target_box = self.places.get((item.waits_for.kind, item.waits_for.name))
                if target_box is None or target_box[1] <= box[1]:
                    continue
                target_x, end = target_box[0] + target_box[2] // 2, target_box[1] - 3
                x, y = min(max(target_x, box[0] + 24), box[0] + box[2] - 24), box[1] + box[3]
                middle = (y + end) // 2
                yield tag(
                    "path", d=f"M{x} {y}C{x} {middle} {target_x} {middle} {target_x} {end}", class_="needs"
                )
                yield tag("path", d=f"M{target_x} {end + 2}l-4.5-8h9z", class_="head")


def _chosen(steps: tuple[Step, ...]) -> list[Step]:
    if len(steps) <= _MOST_WAVES:
        return list(steps)
    failing = {n for n, step in enumerate(steps) if _worst(step) in (State.FAILED, State.WAITING)}
    chosen = {*sorted(failing)[: _MOST_WAVES // 2]}
    for number in range(len(steps)):
        if len(chosen) >= _MOST_WAVES:
            break
        chosen.add(number)
    return [steps[number] for number in sorted(chosen)]


def _worst(step: Step) -> State:
    states = {item.state for item in step.items}
    for state in (State.FAILED, State.WAITING):
        if state in states:
            return state
    return State.NOT_REACHED if states == {State.NOT_REACHED} else State.DONE


def _short(text: str) -> str:
    """A label with its middle omitted: the start and the end of names are distinctive."""
    flat = one_line(text, len(text))
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 16]}…{flat[-15:]}"


def _size(text: str) -> int:
    """The width in pixels; East Asian characters are twice as wide."""
    wide = sum(1 for letter in text if unicodedata.east_asian_width(letter) in "WF")
    return round((len(text) + wide) * _LETTER)
