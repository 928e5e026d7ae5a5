"""The commands of the studies: `sgi study card`, `sgi study bench`, `sgi reproduce`."""
