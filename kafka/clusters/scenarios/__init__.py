"""The scenarios that reproduce findings on clusters."""
