"""One check a module. The name of the file is the id; the docstring says why, and shows bad and good."""
