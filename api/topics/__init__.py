"""The shelf of topics: losses that the settings of a topic allow, from measured figures."""
