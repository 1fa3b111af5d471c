"""Runs on a cluster whose workers are killed at random moments, round after round.

``python tests/faults/lost_workers.py --rounds 200``. Each round ends in the right bits, or says
that it broke off and ends in the right bits when it is resumed without the cluster.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np


def main() -> int:
    """Run rounds; 1 if any of them ended in a third thing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", help="a line is added for each round")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)

    import dask
    from distributed import Client, LocalCluster

    from napari_scsc.run.executors import ClusterExecutor

    ClusterExecutor._MAX_LOOKS_AT_NONE = 4  # both may be killed for good; no need to wait long
    folder = Path(tempfile.mkdtemp(prefix="workers-"))
    failures, counts = 0, Counter[str]()
    with (
        suppress(KeyError),  # of a cluster that closes, and knows no more of workers it has lost
        dask.config.set({"distributed.scheduler.allowed-failures": 20}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        rounds = Rounds(folder, client)
        for number in range(given.first, given.first + given.rounds):
            how = rounds.round(number, random.Random(f"workers {given.seed} {number}"))
            counts[how] += 1
            if how.startswith("FAILED"):
                failures += 1
                print(f"lost workers, seed {given.seed}, round {number}: {how}", flush=True)
            if given.log:
                with open(given.log, "a") as log:
                    facts = {"kind": "workers", "seed": given.seed, "round": number, "how": how}
                    log.write(json.dumps(facts) + "\n")
    told = ", ".join(f"{count} x {how}" for how, count in sorted(counts.items()))
    print(f"lost workers, seed {given.seed}: {given.rounds} rounds, {failures} failed ({told})")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


class Rounds:
    """What the rounds share: an image on the disk, its right result, and a cluster."""

    options = {"kind": "image", "quality": "draft", "memory": "100 MB", "n_jobs": 1}  # noqa: RUF012

    def __init__(self, folder: Path, client: object) -> None:
        import zarr

        from napari_scsc import denoise, learn, samples

        self.folder, self.client = folder, client
        values = samples.noisy_tissue((1300, 1200))
        zarr.create_array(str(folder / "in.zarr"), data=values, chunks=(256, 256))
        self.image = zarr.open_array(str(folder / "in.zarr"), mode="r")
        self.options = {**self.options, "bank": learn([values], kind="image", tiles=2)}
        self.expected = denoise(values, **self.options)

    def round(self, number: int, rng: random.Random) -> str:
        """One run, of which workers are killed; how it ended."""
        import dask

        from napari_scsc import RunInterrupted, denoise

        out = self.folder / f"{number}.zarr"
        over, killed = threading.Event(), []

        def kill() -> None:
            for _ in range(rng.choice([1, 1, 2])):
                if over.wait(rng.uniform(0, 2.0)):
                    return
                with suppress(Exception):  # a worker that is gone already
                    workers = self.client.scheduler_info()["workers"].values()
                    victim = rng.choice([w["id"] for w in workers])
                    nanny = self.client.cluster.workers[victim]
                    os.kill(nanny.pid, signal.SIGKILL)
                    killed.append(nanny.pid)

        thread = threading.Thread(target=kill)
        thread.start()
        how = "right"
        try:
            try:
                result = denoise(self.image, out=out, **self.options)
            except RunInterrupted:
                how = "broke off, resumed"
                if out.exists():
                    return "FAILED: a result that broke off has its name"
                with dask.config.set(scheduler="threads"):
                    result = denoise(self.image, out=out, resume=True, **self.options)
            if not np.array_equal(np.asarray(result), self.expected):
                return "FAILED: other values"
            left = [p.name for p in self.folder.iterdir() if p.name.startswith(f"{number}.")]
            if left != [out.name]:
                return f"FAILED: the folder holds {left}"
        except Exception as error:
            return f"FAILED: {type(error).__name__}: {error}"
        finally:
            over.set()
            thread.join()
            shutil.rmtree(out, ignore_errors=True)
            self._replace_workers()
        return f"{how}, {len(killed)} lost"

    def _replace_workers(self) -> None:
        """Have two workers again; one that was killed as it began is not begun again by itself."""
        try:
            self.client.wait_for_workers(2, timeout=15)
        except TimeoutError:
            self.client.cluster.scale(0)
            self.client.cluster.scale(2)
            self.client.wait_for_workers(2, timeout=60)


if __name__ == "__main__":
    sys.exit(main())
