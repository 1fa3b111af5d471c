"""The tab Batch of the dock: many files, one job."""
