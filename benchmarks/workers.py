"""What a block costs, and what that says of more workers: predicted, and for two measured.

One worker process of dask.distributed restores a volume. From the seconds and bytes of its tasks
follow those of any volume on any number of workers: the tasks do not talk to each other, and read
and write for themselves. What is predicted for two workers is then measured.
"""

import math
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr
from distributed import Client, LocalCluster, get_task_stream
from distributed.protocol import serialize

from napari_scsc import denoise, learn, samples
from napari_scsc.run.blocks import _plan_waves

_MEMORY = "1 GB"
_SIGMA = 40.0
_LARGE = 10**12  # bytes of the volume that is predicted
_MANY = 100  # workers
_SHARED = 5e9  # bytes a second of a file system that they share: an assumption, and said to be one


def run(report, *, data, quick):
    repeats = 1 if quick else 3
    with tempfile.TemporaryDirectory(prefix="napari-scsc-workers-") as name:
        folder = Path(name)
        volume = _volume(folder / "volume.zarr", 64 if quick else 128)
        bank = learn([volume], kind="video", sigma=_SIGMA, seed=0)
        ratios = []
        for quality, part in {"draft": volume, "fast": volume[:16, :256, :256]}.items():
            for repeat in range(repeats):
                one, two = (
                    _restore(part, bank, quality, folder / f"{quality}-{repeat}-{n}.zarr", n)
                    for n in (1, 2)
                )
                predicted = one.fixed + one.tasks / 2
                ratios.append((quality, two.seconds / predicted, two.seconds / one.seconds))
                report.add(
                    part="two workers",
                    quality=quality,
                    one_s=one.seconds,
                    tasks_s=one.tasks,
                    predicted_s=predicted,
                    measured_s=two.seconds,
                )
            _report_costs(report, quality, one)
        _task_overhead(report)
    for quality in ("draft", "fast"):
        own = [(error, ratio) for q, error, ratio in ratios if q == quality]
        error, ratio = np.median(own, axis=0)
        report.at_most(f"{quality}: two workers, measured / predicted", error, 1.15)
        report.add(part="two workers / one", quality=quality, ratio=ratio)
    _draw(report)


def _volume(path, frames):
    """A video of cells, 16 bits."""
    clean = samples.video((16, 256, 256), clean=True)
    clean = 1000 * (clean - clean.min()) / np.ptp(clean)
    noise = np.random.default_rng(0).normal(0, _SIGMA, (frames, 512, 512))
    tiled = np.tile(clean, (frames // 16, 2, 2))
    volume = zarr.create_array(
        str(path), shape=tiled.shape, chunks=(16, 256, 256), dtype="u2", compressors=None
    )
    volume[:] = np.clip(tiled + noise + 200, 0, None).astype(np.uint16)
    return zarr.open_array(str(path), mode="r")


class _Measured:
    """A run: seconds in all and in tasks, and how many bytes its blocks read and write."""

    def __init__(self, seconds, stream, run):
        self.seconds = seconds
        self.by_kind = {"block": [], "chunk": []}
        for task in stream:
            kind = next((k for k in self.by_kind if f"_{k}" in task["key"].split("-")[0]), None)
            for span in task["startstops"]:
                if kind and span["action"] == "compute":
                    self.by_kind[kind].append(span["stop"] - span["start"])
        self.tasks = sum(map(sum, self.by_kind.values()))
        self.fixed = max(0.0, seconds - self.tasks)
        grid, image = run.grid, run.source.image
        itemsize, n_joint = image.dtype.itemsize, run.source.n_joint
        points = math.prod(grid.shift) * len(grid.indices)
        self.n_points, self.n_blocks, self.n_chunks = points, grid.n_blocks, grid.n_chunks
        in_blocks = len(grid.indices) * sum(
            math.prod(s.stop - s.start for s in tile.region) for tile in grid.tiles
        )
        self.read = in_blocks * n_joint * itemsize / points
        self.between = 2 * in_blocks * n_joint * 4 / points  # written by blocks, read by chunks
        self.written = n_joint * itemsize
        header, frames = serialize(run)
        self.sent = len(str(header)) + sum(memoryview(f).nbytes for f in frames)


def _restore(volume, bank, quality, path, n_workers):
    kept = []
    waves = _plan_waves

    def remember(run):
        kept.append(run)
        return waves(run)

    _plan_waves = remember
    try:
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(_warm_up)
            with get_task_stream(client) as stream:
                start = time.perf_counter()
                denoise(
                    volume,
                    kind="video",
                    sigma=_SIGMA,
                    bank=bank,
                    quality=quality,
                    out=path,
                    memory=_MEMORY,
                    n_jobs=1,
                )
                seconds = time.perf_counter() - start
    finally:
        _plan_waves = waves
    return _Measured(seconds, stream.data, kept[0])


def _warm_up():
    from napari_scsc.groups import compiling

    compiling.warm_up()


def _report_costs(report, quality, one):
    """What a block costs, and a large volume on many workers."""
    report.add(
        part="costs",
        quality=quality,
        blocks=one.n_blocks,
        chunks=one.n_chunks,
        block_s=float(np.median(one.by_kind["block"])),
        chunk_s=float(np.median(one.by_kind["chunk"])),
        read_bytes_a_point=one.read,
        between_bytes_a_point=one.between,
        written_bytes_a_point=float(one.written),
        sent_kb_a_worker=one.sent / 1e3,
    )
    points = _LARGE / 2  # of 16 bits
    computing = one.tasks / one.n_points * points / _MANY
    moving = (one.read + one.between + one.written) * points
    tasks = (2 * one.n_blocks + one.n_chunks) / one.n_points * points
    report.add(
        part="prediction",
        quality=quality,
        volume_tb=_LARGE / 1e12,
        workers=_MANY,
        computing_hours=computing / 3600,
        moved_tb=moving / 1e12,
        moving_hours=moving / _SHARED / 3600,
        tasks=tasks,
    )


def _task_overhead(report, count=5000):
    """Seconds that the scheduler takes for a task that does nothing."""
    from dask import delayed

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        import dask

        nothing = delayed(_nothing, pure=False)
        dask.compute(*[nothing(i) for i in range(10)])
        start = time.perf_counter()
        dask.compute(*[nothing(i) for i in range(count)])
        report.add(
            part="scheduler", tasks=count, ms_a_task=1e3 * (time.perf_counter() - start) / count
        )


def _nothing(number):
    return number


def _draw(report):
    axes = report.figure()
    rows = [row for row in report.rows if row["part"] == "two workers"]
    axes.plot([row["predicted_s"] for row in rows], [row["measured_s"] for row in rows], "o")
    longest = max(row["measured_s"] for row in rows)
    axes.plot([0, longest], [0, longest], "--", color="grey")
    axes.set(xlabel="predicted seconds, two workers", ylabel="measured")
