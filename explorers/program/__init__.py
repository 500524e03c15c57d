"""The front end of every compiled engine: a machine as checked source text, and as a typed program."""
