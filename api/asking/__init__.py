"""Questions, built from a caller's protocol names, constants, arguments and quantities."""
