"""Throughput of a demand under a routing: fluid, fair single paths, optimal with both bounds."""
