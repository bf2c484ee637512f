"""One question a file: a Fabric in, a Result out."""
