"""Argo CD's own decisions as pure functions: values in, values out, no I/O, no clock."""
