"""Parameters to Fabric: one family a file, all written over ``assembly.py``."""
