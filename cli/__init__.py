"""The command line: commands, what they print, and files for CI builds."""
