"""Argo CD's health assessment, as pure functions over raw objects.

`assess.health_of` assesses one object, `application.health_from` an Application. Nothing is imported here, so
that the shipped checks can be loaded separately.
"""
