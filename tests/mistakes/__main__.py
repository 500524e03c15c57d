"""Write all answers again."""

from tests.mistakes import main

main()
