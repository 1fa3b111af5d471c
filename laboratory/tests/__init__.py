"""Tests of the laboratory: a package, so that their names may be those of other tests."""
