"""Questions: protocols, constants, arguments and quantities, from a caller's words to a question."""
