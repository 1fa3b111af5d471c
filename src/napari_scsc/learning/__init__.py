"""Learn base filters from images: one sampler, one loop."""
