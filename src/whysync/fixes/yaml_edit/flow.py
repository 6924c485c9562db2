"""Changes inside braces and brackets: JSON, and YAML's flow style."""

from __future__ import annotations

from collections.abc import Callable

from whysync.fixes.yaml_edit.alignment import aligned
from whysync.fixes.yaml_edit.nodes import Node
from whysync.fixes.yaml_edit.rendering import flow_text
from whysync.fixes.yaml_edit.script import Script
from whysync.json_tree import Json, Missing, same

Change = Callable[[Node, Json, Json], None]


class FlowEditing:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.text = script.text

    def map(self, node: Node, before: dict[str, Json], after: dict[str, Json], change: Change) -> None:
        removed: list[int] = []
        counts = {key.value: number for number, (key, _) in enumerate(node.entries)}  # the last of equal keys
        for number, (key, value) in enumerate(node.entries):
            if key.value in before and key.value not in after:
                removed.append(number)
            elif counts[key.value] == number and not same(before[key.value], after[key.value]):
                change(value, before[key.value], after[key.value])
        spans = [(key.start, max(key.end, value.end)) for key, value in node.entries]
        lead = self._lead(node, spans)
        new = [
            f"{flow_text(key)}: {flow_text(value, indent=lead)}"
            for key, value in after.items()
            if key not in before
        ]
        self._remove(spans, removed, new, lead)

    def list(self, node: Node, before: list[Json], after: list[Json], change: Change) -> None:
        spans = [(item.start, item.end) for item in node.items]
        lead = self._lead(node, spans)
        removed: list[int] = []
        new: list[str] = []
        for number, old, values in aligned(before, after):
            if isinstance(old, Missing):
                texts = [flow_text(value, indent=lead) for value in values]
                if number == len(before):
                    new = texts
                else:
                    start = spans[number][0]
                    self.script.replace(start, start, "".join(text + self._comma(lead) for text in texts))
            elif not values:
                removed.append(number)
            else:
                change(node.items[number], old, values[0])
        self._remove(spans, removed, new, lead)

    def replace(self, node: Node, after: Json) -> None:
        """Use several lines only if a line starts there, as such texts are usually formatted."""
        text = flow_text(after)
        self.script.replace(node.start, node.end, f" {text}" if node.start == node.end else text)

    def _lead(self, node: Node, spans: list[tuple[int, int]]) -> str | None:
        """The indentation of elements on their own lines; `None` if they share a line."""
        if "\n" not in self.text[node.start : spans[0][0]]:
            return None
        start = self.script.start_of_line(spans[0][0])
        lead = self.text[start : spans[0][0]]
        return lead if not lead.strip() else None

    def _comma(self, lead: str | None) -> str:
        return ", " if lead is None else f",{self.script.newline}{lead}"

    def _remove(
        self, spans: list[tuple[int, int]], removed: list[int], new: list[str], lead: str | None
    ) -> None:
        """Remove the element with the comma after it; at the end, with the comma before it."""
        remaining = sorted(set(range(len(spans))).difference(removed))
        if not remaining:
            start, end = spans[0][0], spans[-1][1]
            self.script.replace(start, end, self._comma(lead).join(new))
            return
        for number in removed:
            if number < remaining[-1]:
                self.script.replace(spans[number][0], spans[number + 1][0], "")
        last = spans[remaining[-1]][1]
        additions = "".join(self._comma(lead) + text for text in new)
        self.script.replace(last, spans[-1][1], additions)
