"""Many files, one job: found, restored one after the other, and reported on."""
