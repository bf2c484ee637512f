"""From the wiring as it is to the wiring as it should be: fewest moves, in an order that keeps the fabric alive."""
