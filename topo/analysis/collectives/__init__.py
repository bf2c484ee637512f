"""Collectives: what they cost by closed form, and on a fabric with a placement."""
