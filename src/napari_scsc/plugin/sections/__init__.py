"""The sections of the dock, from top to bottom in the order of work, and its foot."""
