"""The application controller: refresh, auto-sync, operations, deletion."""
