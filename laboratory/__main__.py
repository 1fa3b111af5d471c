"""Run an experiment or a check: ``python -m laboratory NAME --data DIR``."""

import os

# One thread in every library, so that like is compared with like. They read this when loaded, and
# the processes of the work units inherit it.
for _threads in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "VECLIB_MAXIMUM"):
    os.environ[f"{_threads}_THREADS"] = "1"

import sys  # noqa: E402

from laboratory.command_line import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
