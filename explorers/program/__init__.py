"""The front end of all compiled engines, which checks a machine's source text and translates it to a typed program."""
