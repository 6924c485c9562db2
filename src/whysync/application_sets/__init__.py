"""What is wrong with an ApplicationSet, and which of its Applications wait."""
