"""Run kubeconform for comparison with `whysync lint`; the program and its schemas are downloaded once.

It checks schemas only; `whysync lint` reads the same files with all its checks.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.real_cluster.binaries import cache_directory
from tools.releases import Definitions, roots, schemas
from whysync.json_tree import Json, fields
from whysync.kubernetes.schema.releases import BASE

MODULE = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"


class NotAvailable(Exception):
    """kubeconform is not available on this machine; the message is the reason."""


def seconds(folder: Path) -> float:
    """Processor time for checking a folder, strictly and on one core; raises `NotAvailable`."""
    home = cache_directory().parent / "kubeconform"
    command = [str(_program(home)), "-strict", "-n", "1", "-summary"]
    command += ["-schema-location", f"{_schemas(home)}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"]
    before = _spent()
    process = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    spent = _spent() - before
    if process.returncode or "Errors: 0, Skipped: 0" not in process.stdout:
        raise NotAvailable(f"kubeconform failed: {(process.stderr or process.stdout).strip()[-200:]}")
    return spent


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _program(home: Path) -> Path:
    program = home / MODULE.rpartition("@")[2] / "kubeconform"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise NotAvailable("kubeconform is not measured: there is no Go to build it with")
    environment = {**os.environ, "GOBIN": str(program.parent), "GOFLAGS": "-mod=mod"}
    built = subprocess.run(
        [go, "install", MODULE], env=environment, capture_output=True, text=True, check=False
    )
    if built.returncode:
        raise NotAvailable(f"kubeconform is not measured: {built.stderr.strip()[-200:]}")
    return program


def _schemas(home: Path) -> Path:
    """One schema file per kind, as kubeconform expects, with all definitions that it references."""
    folder = home / f"schemas-1.{BASE}-strict"
    if folder.exists():
        return folder
    try:
        definitions = schemas(strict=True)[BASE]
    except (OSError, subprocess.CalledProcessError) as problem:
        raise NotAvailable(f"kubeconform is not measured: its schemas cannot be had: {problem}") from problem
    partial = folder.with_suffix(".half")
    partial.mkdir(parents=True, exist_ok=True)
    for api_version, kind, name in roots(definitions):
        group, _, version = api_version.rpartition("/")
        suffix = f"-{group.partition('.')[0]}-{version}" if group else f"-{version}"
        needed = {needed_name: definitions[needed_name] for needed_name in _reached(name, definitions)}
        body = {"$ref": f"#/$defs/{name}", "$defs": needed}
        (partial / f"{kind.lower()}{suffix}.json").write_text(json.dumps(body))
    partial.rename(folder)
    return folder


def _reached(name: str, definitions: Definitions) -> set[str]:
    visited, queue = {name}, [name]
    while queue:
        for other in _refs(definitions[queue.pop()]):
            if other not in visited:
                visited.add(other)
                queue.append(other)
    return visited


def _refs(node: Json) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(ref := node.get("$ref"), str):
            yield ref.removeprefix("#/$defs/")
        below: Iterable[Json] = fields(node).values()
    else:
        below = node if isinstance(node, list) else ()
    for child in below:
        yield from _refs(child)
