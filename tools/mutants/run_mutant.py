"""Run the tests of a module in a forked child process in which a mutant replaces the module.

Everything is imported once, before the fork, so a child starts in milliseconds, and no file is changed.
Packages that have imported the module are removed from `sys.modules` in the child and imported again.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from types import ModuleType


class Outcome(StrEnum):
    KILLED = "killed"
    TIMED_OUT = "timed out"  # counts as killed: an endless loop
    SURVIVED = "survived"


class _MutantLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module from the mutant's source."""

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, f"<mutant of {self.name}>", "exec"), module.__dict__)


def run_mutant(
    name: str, source: str, *, reload: Sequence[str], passes: Callable[[], bool], seconds: int
) -> Outcome:
    """Test this source of the module; `reload` are the packages that import it."""
    child = os.fork()
    if not child:
        _run_in_child(name, source, reload=reload, passes=passes, seconds=seconds)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return (
            Outcome.TIMED_OUT if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM) else Outcome.KILLED
        )
    return Outcome.KILLED if os.WEXITSTATUS(status) else Outcome.SURVIVED


def _run_in_child(
    name: str, source: str, *, reload: Sequence[str], passes: Callable[[], bool], seconds: int
) -> None:
    code = 1
    try:
        # Processor time, because the machine may be busy. The alarm is for a mutant that sleeps.
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        signal.alarm(seconds * 20)
        devnull = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(devnull, stream)
        for loaded in tuple(sys.modules):
            if any(loaded == package or loaded.startswith(f"{package}.") for package in reload):
                del sys.modules[loaded]
        sys.meta_path.insert(0, _MutantLoader(name, source))
        importlib.import_module(name)
        code = 0 if passes() else 1
    except BaseException:  # any failure kills the mutant
        code = 1
    finally:
        os._exit(code)
