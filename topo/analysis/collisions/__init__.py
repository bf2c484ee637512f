"""ECMP collisions: exact, bracketed or sampled laws of the load of links and the rate of flows."""
