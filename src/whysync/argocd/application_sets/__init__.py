"""ApplicationSets, as the ApplicationSet controller of Argo CD 3.6 expands them.

`expand.py` creates the Applications and `generators.py` the parameters; `render.py` fills templates, and
`functions.py` has the functions of Go templates.
"""
