"""A run of hours in units of learning, restoring and a batch, some of them on dying workers.

``python tests/faults/long_run.py log.jsonl --hours 24``. Each unit adds a line to the log: whether
its results have the right bits, its seconds, the memory of this process and its open files. Begun
again with the same log it goes on with the next unit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil


def main() -> int:
    """Run units until the time is over; 1 if any of them ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--units", type=int, help="end after so many")
    parser.add_argument("--workers-every", type=int, default=10, help="units between clusters")
    given = parser.parse_args()
    done = read_log(given.log)
    known = {line["unit"]: line for line in done}
    number = 1 + max(known, default=-1)
    last = None if given.units is None else number + given.units
    end, is_right = time.monotonic() + 3600 * given.hours, True
    while time.monotonic() < end and number != last:
        facts = run_unit(number, with_workers=number % given.workers_every == 0)
        is_right = is_right and facts["right"]
        with open(given.log, "a") as log:
            log.write(json.dumps(facts) + "\n")
            log.flush()
            os.fsync(log.fileno())
        number += 1
    tell(read_log(given.log))
    return 0 if is_right else 1


def read_log(path: Path) -> list[dict[str, Any]]:
    """The units that are done; a line that was broken off counts for none."""
    if not path.exists():
        return []
    lines = path.read_bytes()
    whole = lines[: lines.rfind(b"\n") + 1]
    if len(whole) < len(lines):
        path.write_bytes(whole)
    return [json.loads(line) for line in whole.splitlines()]


def run_unit(number: int, with_workers: bool) -> dict[str, Any]:
    """Learn, restore and restore files again in other ways, and compare."""
    from napari_scsc import denoise, inpaint, learn, samples
    from napari_scsc.batch.job import iter_batch
    from napari_scsc.batch.request import BatchRequest

    rng, start = random.Random(number), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="unit-"))
    wrong: list[str] = []
    try:
        lengths = rng.randrange(150, 400), rng.randrange(150, 400)
        image = samples.noisy_tissue(lengths, seed=number)
        bank = learn([image], kind="image", tiles=4, n_jobs=2)
        if learn([image], kind="image", tiles=4, n_jobs=1).id != bank.id:
            wrong.append("learn")
        options = {"kind": "image", "quality": rng.choice(["draft", "fast"]), "n_jobs": 2}
        whole = denoise(image, bank=bank, memory="100 MB", **options)
        written = denoise(image, bank=bank, memory="100 MB", out=folder / "a.zarr", **options)
        if not np.array_equal(np.asarray(written), whole):
            wrong.append("restore")
        missing = np.random.default_rng(number).random(lengths) < 0.1
        filled = inpaint(image, missing, **options)
        if not np.array_equal(np.where(missing, image, filled), image):
            wrong.append("inpaint")
        for i in range(3):
            np.save(folder / f"{i}.npy", samples.noisy_tissue((90, 80), seed=number + i))
        request = BatchRequest(
            task="denoise",
            inputs=tuple(str(folder / f"{i}.npy") for i in range(3)),
            out=str(folder / "out/"),
            kind="image",
            options={"quality": "draft", "n_jobs": 2},
        )
        *_, finished = iter_batch(request)
        for i, report in enumerate(finished.reports):
            alone = denoise(np.load(folder / f"{i}.npy"), kind="image", quality="draft")
            made = np.load(report.result) if report.result.exists() else None
            if made is None or not np.array_equal(made, alone):
                wrong.append(f"batch {i}")
        if with_workers:
            wrong += lose_workers(number)
    except Exception as error:
        wrong.append(f"{type(error).__name__}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    process = psutil.Process()
    return {
        "unit": number,
        "right": not wrong,
        "wrong": wrong,
        "seconds": round(time.monotonic() - start, 1),
        "rss": process.memory_info().rss,
        "files": len(process.open_files()),
        "threads": process.num_threads(),
    }


def lose_workers(number: int) -> list[str]:
    """A round on a cluster whose workers die, in a process of its own."""
    import subprocess

    program = Path(__file__).with_name("lost_workers.py")
    arguments = ["--rounds", "3", "--seed", str(number)]
    done = subprocess.run(
        [sys.executable, str(program), *arguments], capture_output=True, text=True, check=False
    )
    return [] if done.returncode == 0 else [f"workers: {done.stdout[-500:]}"]


def tell(lines: list[dict[str, Any]]) -> None:
    """What the log says of all units: memory of both halves, and what went wrong."""
    hours = sum(line["seconds"] for line in lines) / 3600
    wrong = [line for line in lines if not line["right"]]
    print(f"{len(lines)} units in {hours:.2f} hours, {len(wrong)} wrong")
    for line in wrong:
        print(f"unit {line['unit']}: {line['wrong']}")
    for name in ("rss", "files", "threads"):
        halves = [lines[: len(lines) // 2], lines[len(lines) // 2 :]]
        most = [max((line[name] for line in half), default=0) for half in halves]
        print(f"{name}: at most {most[0]} in the first half, {most[1]} in the second")


if __name__ == "__main__":
    sys.exit(main())
