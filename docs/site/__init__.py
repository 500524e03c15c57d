"""The static site, made of prose from docs/ and pages generated from the models, the catalogue and the committed
figures.
"""
