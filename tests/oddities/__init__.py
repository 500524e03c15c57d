"""Small models of what engines get wrong: order, effects, errors that only some ways meet, bags, numbers without an
end."""
