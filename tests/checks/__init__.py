"""The checks of a change (`./test`) and of everything (`./test all`). Only the standard library is needed."""
