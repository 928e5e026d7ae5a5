"""The commands of the studies: `sgi card`, `sgi bench-metrics`, `sgi reproduce`."""
