"""Argo CD's sync operation on any cluster: tasks, dry run, waves, hooks, prunes, and its messages.

`step.step(state, request, ground)` takes an operation one step further; `sync_app.sync_app` is the turn of
the controller around it, from the sync window to the history. Nothing is imported here.
"""
