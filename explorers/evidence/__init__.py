"""Evidence on the checks of a protocol: guards removed, faults counted, variants compared, vacuous properties found."""
