"""Restoration. In the making: what is here works and is tested, but is not a public name yet."""
