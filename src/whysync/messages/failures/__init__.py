"""The typed failures that messages can report."""
