"""The static site: prose from docs/, and pages generated from models, the catalogue and committed figures."""
