"""A fabric to buy and to build: racks, cable schedule, labels, bill of materials, candidates side by side."""
