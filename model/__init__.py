"""The protocols. Each is written once, as guarded actions on a state record."""
