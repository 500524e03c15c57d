"""The former name of `fencepost.api.targets`, which tests import that `fencepost show --format pytest` once wrote."""

from fencepost.api.targets import lookup_in

__all__ = ["lookup_in"]
