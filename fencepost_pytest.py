"""The pytest plugin as a module of its own beside the package, which is a namespace.

Of a namespace pytest would take the modules inside for what the plugin brings, `__main__` among them, and warn that it was imported.
"""

from fencepost.testing.pytest_plugin import *  # noqa: F403 (all of it, hooks and fixtures)
