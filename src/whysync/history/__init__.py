"""Incident history: what was broken, since when, why, and which notifications are still to be sent.

`history.History.open` opens an SQLite file or a PostgreSQL database; `model.py` has the values that it
stores and returns.
"""
