"""Reports: the output of every command in every `-o` format.

`<verb>_view` has all formats of a verb; `<verb>_text`, `<verb>_markdown`, `<verb>_json`, `<verb>_html` and
`<verb>_svg` have one format each. `diagnose -o markdown` is in `diagnose_markdown`.
"""
