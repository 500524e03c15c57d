"""The protocols. Each protocol is written once, as guarded actions on a state record."""
