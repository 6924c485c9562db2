"""Argo CD applied, and something refused, failed or never finished."""
