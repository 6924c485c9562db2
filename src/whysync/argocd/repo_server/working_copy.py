"""A temporary copy of a checkout, whose files can be edited and rendered again."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from whysync.argocd.repo_server.git.tree import tree_of_folder
from whysync.argocd.repo_server.render import RenderOptions, render
from whysync.argocd.repo_server.render.options import RenderedObject
from whysync.argocd.repo_server.render.paths import app_folder
from whysync.argocd.repo_server.render.rendering import environment_of
from whysync.argocd.repo_server.render.values_files import ValuesFiles
from whysync.files import write_file
from whysync.json_tree import Object, fields, items, text


class WorkingCopy:
    """All paths are relative to the root of the checkout."""

    def __init__(self, checkout: Path) -> None:
        self.tree = tree_of_folder(checkout)

    def __enter__(self) -> WorkingCopy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.tree.close()

    def has(self, path: str) -> bool:
        return (self.tree.root / path).is_file()

    def read(self, path: str) -> str:
        """The text of a file; empty if it does not exist."""
        return (self.tree.root / path).read_text(encoding="utf-8") if self.has(path) else ""

    def names_in(self, folder: str) -> Sequence[str]:
        return sorted(path.name for path in (self.tree.root / folder).iterdir())

    def write(self, changes: Mapping[str, str]) -> None:
        for path, content in changes.items():
            write_file(self.tree.root / path, content.encode())

    @contextmanager
    def written(self, changes: Mapping[str, str]) -> Generator[None]:
        """The files with these texts, and afterwards as they were."""
        before = {path: self.read(path) for path in changes}
        try:
            self.write(changes)
            yield
        finally:
            self.write(before)

    def values_files(self, app: Object, source: Object, options: RenderOptions) -> list[str]:
        """The values files of a Helm source in the order in which Helm reads them. Raises `RenderProblem`."""
        helm = fields(source.get("helm"))
        folder = app_folder(self.tree, text(source.get("path")))
        env = environment_of(app, source, "", options)
        paths = ValuesFiles(folder, self.tree.root, env, options).all(
            [text(name) for name in items(helm.get("valueFiles"))],
            ignore_missing=helm.get("ignoreMissingValueFiles") is True,
        )
        return [str(Path(path).relative_to(self.tree.root)) for path in paths]

    def render(self, app: Object, source: Object, options: RenderOptions) -> tuple[RenderedObject, ...]:
        """Raises `RenderProblem` and `CannotRender`."""
        return render(app, source, self.tree, commit="", options=options).objects
