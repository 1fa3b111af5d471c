"""Denoising by groups of similar patches."""
