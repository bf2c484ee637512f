"""Hashing as switches do it: keys, functions, selection of a member."""
