"""The pages of the documentation that are built from the catalogue, the models and the measured figures."""
