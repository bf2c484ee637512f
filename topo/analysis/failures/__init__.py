"""What is left after failures: elements, states, degraded capacity, survivability, availability."""
