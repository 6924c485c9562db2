"""The command line: parse, call the app, choose a report, return an exit code."""
