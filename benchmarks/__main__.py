"""Run a benchmark: ``python -m benchmarks NAME --data DIR``."""

import os

# One thread in every library, so that like is compared with like. They read this when loaded.
for _threads in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "VECLIB_MAXIMUM"):
    os.environ[f"{_threads}_THREADS"] = "1"

import argparse  # noqa: E402
import importlib  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from benchmarks.data import DataError  # noqa: E402
from benchmarks.report import Report  # noqa: E402

BENCHMARKS = {
    "roofline": "one code iteration against its lower bound",
    "group_roofline": "the passes over groups against their lower bounds",
    "conv_speed": "one code iteration against SPORCO's",
    "scaling": "time and memory against K, R, P and N",
    "filters": "convolutional filters: learned from noise, and restoring alone (needs --data)",
    "speed": "restoration beside bm3d and bm4d, in processor time (needs --data; long)",
    "footprint": "memory, growth with the image, compiling, the first look",
    "promise": "the time that is promised beside the time that it takes",
    "qualities": "every quality on every development set (needs --data)",
    "calibration": "how often the truth lies within the standard errors (needs --data)",
    "denoise": "white noise on the ten images, beside bm3d and others (needs --data)",
    "inpaint": "missing pixels of the ten images and of a multispectral cube (needs --data)",
    "multidim": "white noise on a multispectral cube, a light field, a video (needs --data; long)",
    "noise": "the estimated noise level against the known one (needs --data)",
    "hostile_noise": "noise that differs, is shared, or is none",
    "real_noise": "noise that pixels share, simulated on photographs (needs --data; long)",
    "microscopy": "real noise, its level unknown (needs --data; long)",
    "large": "data larger than memory: peak memory, kills, workers, chunks read (long)",
    "workers": "what a block costs; two workers of a cluster predicted and measured",
    "dock": "the dock: opening, first press, GUI thread, leaks (needs a screen or xvfb-run)",
}


def main() -> int:
    arguments = _parser().parse_args()
    names = list(BENCHMARKS) if arguments.name == "all" else [arguments.name]
    missed = []
    for name in names:
        print(f"\n== {name}: {BENCHMARKS[name]}", flush=True)
        report = Report(name, arguments.out)
        module = importlib.import_module(f"benchmarks.{name}")
        try:
            module.run(report, data=arguments.data, quick=arguments.quick)
        except DataError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        missed += report.finish()
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure napari-scsc, one thread, and print the figures beside their bars.",
        epilog="benchmarks:\n"
        + "\n".join(f"  {name:14} {what}" for name, what in BENCHMARKS.items())
        + "\n\nThe experiments of the paper are elsewhere: python -m laboratory --help."
        + "\n\nExit status: 0 all bars met, 1 some missed, 2 the data are not there.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=[*BENCHMARKS, "all"], metavar="NAME", help="see below")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the benchmark data")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent / "results",
        metavar="DIR",
        help="where NAME.csv, NAME-bars.csv and NAME.png go (default: benchmarks/results)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer cases and repeats")
    return parser


if __name__ == "__main__":
    sys.exit(main())
