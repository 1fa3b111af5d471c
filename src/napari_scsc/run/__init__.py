"""Who computes, where, and how it ends."""
