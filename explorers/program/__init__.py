"""The front end of every compiled engine: it checks a machine's source text and translates it to a typed program."""
