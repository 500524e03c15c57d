"""The explorer: any protocol step by step in the browser, by the plain semantics. Standard library only."""
