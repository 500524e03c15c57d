"""The front end of all compiled engines, which checks a machine's source and translates it to a typed program."""
