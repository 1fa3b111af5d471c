"""Choose what the papers leave open: ``python -m laboratory.systems.choose_constants --data DIR``.

Only training images are read. Each value learns from 48 x 48 crops of some of them, for the same
seconds of processor time, and is judged by the objective of others, coded by the common coder, in
the mean of two starts. The constants of a module are tried one after the other, each with the best
of those before it.
"""

import argparse
import statistics
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from laboratory.data_sets import load_authors_arrays
from laboratory.systems import SYSTEMS
from laboratory.systems.interface import LearningTask, shared_coder

CROP = 48
LEARN, JUDGE = slice(0, 3), slice(3, 6)  # of the training images, of each set
SETS = ("city", "fruit")
CANDIDATES = (
    # system, constant of its module, values
    ("FCSC", "RHO_CODES", (1.0, 3.0, 10.0, 30.0)),
    ("FCSC", "RHO_FILTERS", (1e-4, 1e-3, 1e-2, 1e-1)),
    ("FFCSC", "RHO_CODES", ((0.003, 0.03), (0.01, 0.1), (0.03, 0.3), (0.1, 1.0), (0.3, 3.0))),
    ("FFCSC", "RHO_FILTERS", ((6e-6, 3.0), (6e-5, 3.0), (6e-4, 3.0), (6e-3, 3.0))),
    ("SBCSC", "RHO", (0.3, 1.0, 3.0)),
    ("SBCSC", "CODE_ITERATIONS", (1, 2, 5)),
    ("DeconvNet", "FIRST_WEIGHT", (1, 3, 10, 30)),
    ("DeconvNet", "LAST_WEIGHT", (1000, 3200, 10000)),
    ("CBPDN", "CBPDN_FILTER_STEP", ("ism", "pgm")),
)


def crops(folder, which):
    """The middles of some training images of all sets, (N, CROP, CROP)."""
    images = np.concatenate([load_authors_arrays(folder, name)[0][which] for name in SETS])
    first = (images.shape[-1] - CROP) // 2
    middle = slice(first, first + CROP)
    return np.ascontiguousarray(images[:, middle, middle], np.float32)


def learn_for(seconds, system, task):
    """What the system has after so much processor time: that does not count who else is there."""
    end = time.process_time() + seconds
    steps = SYSTEMS[system](task)
    model = next(steps).model
    while time.process_time() < end and (step := next(steps, None)):
        model = step.model
    return model


def objective(model, samples):
    return sum(model.encode(x, max_iter=200).objective[-1] for x in samples)


def try_values(system, constant, values, tasks, judged, seconds):
    """{value: mean objective}; the constant is left at the best value."""
    module = import_module(f"laboratory.systems.{SYSTEMS[system].module}")
    objectives = {}
    for value in values:
        setattr(module, constant, value)
        objectives[value] = statistics.fmean(
            objective(learn_for(seconds, system, task), judged) for task in tasks
        )
    setattr(module, constant, min(objectives, key=objectives.get))
    return objectives


def main():
    arguments = _parser().parse_args()
    task = LearningTask(
        crops(arguments.data, LEARN), n_filters=arguments.K, support=(11, 11), beta=arguments.beta
    )
    tasks = [replace(task, seed=seed) for seed in range(arguments.seeds)]
    judged = crops(arguments.data, JUDGE)
    print("| system | constant | value | objective | |\n| --- | --- | --- | --- | --- |")
    start = statistics.fmean(objective(shared_coder(t, t.first_filters()), judged) for t in tasks)
    print(f"| none: random filters | | | {start:.1f} | |", flush=True)
    for system, constant, values in CANDIDATES:
        if system not in (arguments.systems or SYSTEMS):
            continue
        objectives = try_values(system, constant, values, tasks, judged, arguments.seconds)
        for value, reached in objectives.items():
            best = "best" if reached == min(objectives.values()) else ""
            print(f"| {system} | `{constant}` | {value} | {reached:.1f} | {best} |", flush=True)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m laboratory.systems.choose_constants", description=__doc__.split("\n")[0]
    )
    parser.add_argument("systems", nargs="*", help="only these (default: all)")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--seconds", type=float, default=5.0, help="of learning a value gets")
    parser.add_argument("--seeds", type=int, default=2, help="starts that are averaged")
    parser.add_argument("-K", type=int, default=20, help="filters (default: 20)")
    parser.add_argument("--beta", type=float, default=0.1)
    return parser


if __name__ == "__main__":
    main()
