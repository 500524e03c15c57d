"""The static site: prose from docs/, and pages made from the models, the catalogue and the committed figures."""
