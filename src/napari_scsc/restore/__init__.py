"""Restoration: noise, denoising and inpainting of images of any kind."""
