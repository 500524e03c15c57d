"""The protocols, each written once as guarded actions on a state record."""
