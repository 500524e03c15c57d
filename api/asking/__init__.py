"""Questions: a caller's protocol names, constants, arguments and quantities are converted to a question."""
