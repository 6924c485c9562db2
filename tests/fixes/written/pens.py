"""Writes random objects as people write them: block and flow, indented lists or not, comments everywhere."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from hypothesis import strategies as st

from whysync.json_tree import Json
from whysync.kubernetes.api.yaml import dump


@dataclass
class Pen:
    """`choose` answers how the next thing is written; `comments` are all that were put in."""

    choose: st.DrawFn | None
    hang: bool
    comments: list[str] = field(default_factory=list[str])

    def comment(self) -> str:
        self.comments.append(f"# note {len(self.comments)} of the author: it's [here]")
        return self.comments[-1]

    def pick(self, *ways: str) -> str:
        return self.choose(st.sampled_from(ways)) if self.choose else ways[0]

    def lines(self, value: Json) -> list[str]:
        if isinstance(value, dict) and value:
            return [line for key, item in value.items() for line in self._entry(_key(key), item)]
        if isinstance(value, list) and value:
            return [line for item in value for line in self._item(item)]
        return [self._scalar(value)]

    def _entry(self, key: str, value: Json) -> list[str]:
        above = [self.comment()] if self.pick("no", "yes") == "yes" else []
        if isinstance(value, dict | list) and value and self.pick("block", "flow") == "block":
            head = f"{key}:" + (f" {self.comment()}" if self.pick("no", "yes") == "yes" else "")
            indent = "" if isinstance(value, list) and not self.hang else "  "
            return [*above, head, *(indent + line for line in self.lines(value))]
        return [*above, f"{key}: {self._inline(value)}"]

    def _item(self, value: Json) -> list[str]:
        above = [self.comment()] if self.pick("no", "yes") == "yes" else []
        if isinstance(value, dict | list) and value and self.pick("block", "flow") == "block":
            first, *rest = self.lines(value)
            if first.startswith("#"):
                return [*above, "-", "  " + first, *("  " + line for line in rest)]
            return [*above, f"- {first}", *("  " + line for line in rest)]
        return [*above, f"- {self._inline(value)}"]

    def _inline(self, value: Json) -> str:
        text = json.dumps(value) if isinstance(value, dict | list) else self._scalar(value)
        return text + (f"   {self.comment()}" if self.pick("no", "yes") == "yes" else "")

    def _scalar(self, value: Json) -> str:
        if isinstance(value, str) and "\n" not in value and self.pick("plain", "quoted") == "quoted":
            return json.dumps(value) if self.pick('"', "'") == '"' else "'" + value.replace("'", "''") + "'"
        return json.dumps(value) if isinstance(value, str) else dump(value).rstrip("\n")


def _key(key: str) -> str:
    return dump({key: 1}).removesuffix(": 1\n")


@st.composite
def written(draw: st.DrawFn, value: Json) -> tuple[str, tuple[str, ...]]:
    """A text for this value, and all its comments."""
    way = draw(st.sampled_from(["people", "people", "people", "json", "pretty json", "kubectl"]))
    if way == "json":
        return json.dumps(value), ()
    if way == "pretty json":
        return json.dumps(value, indent=4) + "\n", ()
    if way == "kubectl":
        return dump(value), ()
    pen = Pen(draw, hang=draw(st.booleans()))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return newline.join(pen.lines(value)) + draw(st.sampled_from([newline, ""])), tuple(pen.comments)
