"""What a chart says about itself: the charts that it depends on, and where they come from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from whysync.argocd.repo_server.render.problem import RenderProblem
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken


class Dependency(NamedTuple):
    name: str
    url: str

    def is_local(self, folder: Path, root: Path) -> bool:
        """Lies it in the repository, where no network is needed?"""
        if not self.url:
            return True
        if not self.url.startswith("file://"):
            return False
        path = self.url.removeprefix("file://")
        full = os.path.realpath(path if path.startswith("/") else folder / path)
        return full.startswith(f"{root}/")


def dependencies_of(folder: Path, shown: Callable[[str], str]) -> list[Dependency]:
    """Mirrors `getHelmDependencyRepos`, Argo CD 3.6: a chart without Chart.yaml ends here."""
    file = folder / "Chart.yaml"
    where = shown(str(file))
    prefix = "error getting helm repos: error retrieving helm dependency repos: "
    try:
        data = file.read_bytes()
    except OSError as problem:
        why = (problem.strerror or str(problem)).lower()
        raise RenderProblem(f"{prefix}error reading helm chart from {where}: open {where}: {why}") from None
    for document in yaml.documents(data):
        if isinstance(document, Broken):
            raise RenderProblem(
                f"{prefix}error unmarshalling the helm chart while getting helm dependency repos: "
                f"error converting YAML to JSON: yaml: line {document.line}: {document.problem}"
            )
        return [
            Dependency(text(one.get("name")), text(one.get("repository")))
            for one in map(fields, items(fields(document.body).get("dependencies")))
        ]
    return []
