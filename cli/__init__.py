"""The command line: commands, their output, and files for CI builds."""
