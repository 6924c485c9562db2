"""Go's `text/template`, Go 1.26: parse and execute templates on decoded JSON.

`parse.py` builds the nodes, `execute.py` runs them, `builtins.py` has the predefined functions, `printf.py`
the formatting of `fmt`, `values.py` the Go types that plain JSON cannot express.
"""
