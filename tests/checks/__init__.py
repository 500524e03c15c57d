"""The checks of a change and of everything: `./test` and `./test all` run them. Only the standard library is needed."""
