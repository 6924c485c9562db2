"""Tests against a real Argo CD."""
