"""Watching a fleet: sources that are polled, the current diagnosis of every app, and its history."""
