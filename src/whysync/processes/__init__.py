"""Child processes with limits: other programs, and code that users wrote."""
