"""Topics: losses that the settings of a topic allow, from measured figures."""
