"""The command line: commands, views and outputs for builds."""
