"""Find scenarios: built-in ones, a user's file, or a folder of files."""

from __future__ import annotations

import difflib
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from whysync.errors import NotFound, TooLarge, Unreadable
from whysync.files import open_regular
from whysync.lab.parse import LARGEST, scenario_from
from whysync.lab.scenario import Scenario

_MOST: Final = 1_000


def names() -> tuple[str, ...]:
    """Names of the built-in scenarios."""
    folder = files("whysync.lab") / "scenarios"
    return tuple(
        sorted(path.name.removesuffix(".yaml") for path in folder.iterdir() if _is_scenario(path.name))
    )


def _is_scenario(name: str) -> bool:
    return name.endswith(".yaml")


@lru_cache(maxsize=128)
def built_in(name: str) -> Scenario:
    text = (files("whysync.lab") / "scenarios" / f"{name}.yaml").read_text(encoding="utf-8")
    return scenario_from(text, name=name, origin=f"{name}.yaml")


def find(name_or_path: str) -> tuple[Scenario, ...]:
    """Scenarios by name, by file, or all of a folder."""
    known = names()
    if name_or_path in known:
        return (built_in(name_or_path),)
    path = Path(name_or_path)
    try:
        if path.is_dir():
            return _folder(path)
        if path.exists():
            return (_file(path),)
    except (OSError, ValueError) as problem:
        raise Unreadable(what=f"{name_or_path!r} cannot be read", why=str(problem)) from problem
    matches = difflib.get_close_matches(name_or_path, known, n=3, cutoff=0.6)
    raise NotFound(
        what=f"there is no scenario {name_or_path!r}, nor a file of that name",
        why=f"did you mean {', '.join(matches)}?" if matches else "",
        next="whysync lab list shows all of them",
    )


def _folder(path: Path) -> tuple[Scenario, ...]:
    paths = sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml") and file.is_file())
    if not paths:
        raise NotFound(
            what=f"there is no scenario in {path}",
            why="it has no .yaml file",
            next="give a file, or the folder that contains them",
        )
    if len(paths) > _MOST:
        raise TooLarge(what=f"{path} has more than {_MOST} files", next="give a smaller folder")
    return tuple(_file(file) for file in paths)


def _file(path: Path) -> Scenario:
    with open_regular(path) as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise TooLarge(
            what=f"{path} is larger than {LARGEST >> 10} KiB",
            next="keep the manifests in a folder next to it, and name that with git: folder:",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Unreadable(what=f"{path} is not UTF-8 text", next="save it as UTF-8") from problem
    return scenario_from(text, name=path.stem, origin=str(path), folder=path.parent)
