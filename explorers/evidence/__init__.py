"""What the checks of a protocol are for: guards removed, faults counted, variants compared, empty promises found."""
