"""`whysync mcp`: the answers of whysync as tools of the Model Context Protocol. Every tool only reads."""
