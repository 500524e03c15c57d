"""The protocol, written once as guarded actions on a state record."""
