"""What every test runs under: settings of its own, and examples that do not hurry."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings

# napari's test fixtures reset the settings file they find: never the user's. napari reads this
# once, when its settings are first imported, so it must be set before any test module is.
_config = Path(tempfile.mkdtemp(prefix="napari-scsc-tests-"))
atexit.register(shutil.rmtree, _config, ignore_errors=True)
os.environ["NAPARI_CONFIG"] = str(_config / "settings.yaml")

# The first example of a test may compile or plan an FFT, so time says nothing about it. A run of
# continuous integration must be able to fail twice in the same way.
settings.register_profile("scsc", deadline=None)
settings.register_profile("scsc-ci", deadline=None, derandomize=True)
settings.load_profile("scsc-ci" if os.environ.get("CI") else "scsc")

# FFT plans are remembered: the tests have a memory of their own, which lasts one run.
os.environ["NAPARI_SCSC_CACHE"] = str(_config / "cache")
