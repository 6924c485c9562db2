"""Stale status: the app was not reconciled, or compared with something else."""
