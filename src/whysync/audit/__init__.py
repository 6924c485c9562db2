"""`whysync audit`: settings of running apps that will cause problems later, and how to prevent them."""
