"""Command lines that people run, `kubectl …` and `argocd …`, played on a simulation of both."""

from __future__ import annotations

from whysync.engine.commands.actor import Actor, Outcome
from whysync.engine.commands.line import BadCommand, Command, check_command, command_of

__all__ = ["Actor", "BadCommand", "Command", "Outcome", "check_command", "command_of"]
