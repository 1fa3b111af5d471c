"""The program as a process: what it loads, Ctrl-C, full disks, clusters, and what its page says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_tools import (
    DRAFT,
    PROGRAM,
    interrupt,
    lines_of,
    on_posix,
    open_file,
    run,
    save,
    start,
    succeed,
)
from page_blocks import blocks_of

from napari_scsc import FilterBank, denoise, samples
from napari_scsc.cli.program import INTERRUPTED

PAGE = "docs/command-line.md"


def test_help_loads_nothing_heavy():
    program = (
        "import sys\n"
        "from napari_scsc.cli import main\n"
        "for args in ([], ['denoise'], ['learn'], ['encode']):\n"
        "    main([*args, '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'numba', 'dask', 'zarr', 'tqdm', 'distributed'}\n"
        "print('loaded:', *sorted(heavy & set(sys.modules)))"
    )
    out, errors = start(program=program).communicate()
    assert (out.splitlines()[-1], errors) == ("loaded:", "")


def test_module_is_the_program():
    command = [sys.executable, "-m", "napari_scsc", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("napari-scsc, version ")


@pytest.mark.parametrize(("words", "expected"), [("de", "plain,denoise"), ("info c", "file,c")])
def test_shell_completes_commands_and_files(words, expected, monkeypatch):
    for name, value in {
        "_NAPARI_SCSC_COMPLETE": "bash_complete",
        "COMP_WORDS": f"napari-scsc {words}",
        "COMP_CWORD": str(len(words.split())),
    }.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "napari_scsc"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert expected in done.stdout.splitlines()


@on_posix
def test_closed_pipe_is_no_error_worth_words(folder):
    process = start("info", *["cells.tif"] * 3, "--json")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1
    process.stderr.close()


@on_posix
def test_denoising_that_was_stopped_goes_on_to_the_same_bits(folder, many_blocks):
    tifffile.imwrite("large.tif", samples.noisy_tissue((330, 300)))
    options = ("large.tif", "--quality", "fast", "--memory", "100MB", "--jobs", 1)
    process = start("denoise", *options, "-o", "new.tif")
    said = interrupt(process, lambda: any(folder.glob("new.tif.partial/done-*.txt")))
    assert said == ["napari-scsc: stopped. --resume goes on with what is in new.tif.partial"]
    assert not Path("new.tif").exists()
    again = run("denoise", *options, "-o", "new.tif")
    assert again.exit_code == 1
    assert "--resume" in again.stderr
    other = run("denoise", *options, "-o", "new.tif", "--resume", "--sigma", 3)
    assert other.exit_code == 1
    assert "sigma" in other.stderr
    succeed("denoise", *options, "-o", "new.tif", "--resume")
    succeed("denoise", *options, "-o", "whole.tif")
    np.testing.assert_array_equal(tifffile.imread("new.tif"), tifffile.imread("whole.tif"))
    assert not list(folder.glob("*.partial"))


@on_posix
@pytest.mark.parametrize("model", ["patches", "scsc"])
def test_learning_that_was_stopped_goes_on_to_the_same_bits(folder, model):
    options = ("cells.tif", "--passes", 60, "--model", model, "--size", 5, "--n-base", 4)
    if model == "scsc":
        options = (*options[:2], 6, *options[3:], "--n-filters", 6)
    process = start("learn", *options, "-o", "new.scsc")
    said = interrupt(process, Path("new.scsc.partial").exists)
    assert said == ["napari-scsc: stopped. --resume goes on with what is in new.scsc.partial"]
    assert not Path("new.scsc").exists()
    assert run("learn", *options, "-o", "new.scsc").exit_code == 1
    succeed("learn", *options, "-o", "new.scsc", "--resume")
    succeed("learn", *options, "-o", "whole.scsc")
    assert FilterBank.load("new.scsc").id == FilterBank.load("whole.scsc").id
    assert not list(folder.glob("*.partial"))


@on_posix
def test_learning_does_not_go_on_with_another_image(folder, cells):
    np.save("a.npy", cells)
    process = start("learn", "a.npy", "--passes", 60, "--size", 5, "-o", "new.scsc")
    interrupt(process, Path("new.scsc.partial").exists)
    mixed = np.random.default_rng(0).permuted(cells.ravel()).reshape(cells.shape)
    np.save("a.npy", mixed)
    result = run("learn", "a.npy", "--passes", 60, "--size", 5, "-o", "new.scsc", "--resume")
    assert result.exit_code == 1
    assert "the images differed" in result.stderr


# Blocks that do not listen.
NEVER_STOPS = """
import time
from napari_scsc.run import blocks, cancel
estimate = blocks.estimate_block
cancel.StopFile.check = lambda self: None
def slowly(*arguments):
    time.sleep(0.5)
    return estimate(*arguments)
blocks.estimate_block = slowly
"""


@on_posix
def test_second_ctrl_c_ends_it_at_once_and_loses_nothing(folder, many_blocks):
    tifffile.imwrite("large.tif", samples.noisy_tissue((330, 300)))
    options = ("large.tif", "--quality", "fast", "--memory", "100MB", "--jobs", 1, "-o", "new.tif")
    process = start("denoise", *options, program=NEVER_STOPS + PROGRAM)
    while not any(folder.glob("new.tif.partial/done-*.txt")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out, lines_of(errors)) == (INTERRUPTED, "", [])
    succeed("denoise", *options, "--resume")
    succeed("denoise", *options[:-1], "whole.tif")
    np.testing.assert_array_equal(tifffile.imread("new.tif"), tifffile.imread("whole.tif"))


# What is compiled is kept in files too, and must not be what fails.
LIMITED = """
import resource
from napari_scsc.groups import compiling
compiling.warm_up()
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
"""


@on_posix
def test_full_disk_is_one_line_and_resumed_when_there_is_room(folder, cells):
    np.save("a.npy", cells)
    np.save("b.npy", cells)
    process = start("denoise", "a.npy", "b.npy", "-o", "new", *DRAFT, program=LIMITED + PROGRAM)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    (line,) = lines_of(errors)  # and not one for each input
    assert "--resume goes on" in line
    succeed("denoise", "a.npy", "b.npy", "-o", "new", *DRAFT, "--resume")
    np.testing.assert_array_equal(np.load("new/b.npy"), denoise(cells, quality="draft"))


@pytest.mark.slow
def test_cluster_gives_the_same_bits_and_is_stopped_quietly(folder):
    tifffile.imwrite("large.tif", samples.noisy_tissue((500, 400)))
    options = ("large.tif", "--quality", "fast", "--memory", "100MB")
    on_two = ("--scheduler", "cluster:2")
    if sys.platform != "win32":
        program = "from napari_scsc.cli import main\nif __name__ == '__main__': main()"
        process = start("denoise", *options, *on_two, "-o", "new.tif", program=program)
        said = interrupt(process, lambda: any(folder.glob("new.tif.partial/blocks/*.npy")))
        assert said == ["napari-scsc: stopped. --resume goes on with what is in new.tif.partial"]
    succeed("denoise", *options, *on_two, "-o", "new.tif", "--resume")
    succeed("denoise", *options, "-o", "whole.tif")
    np.testing.assert_array_equal(tifffile.imread("new.tif"), tifffile.imread("whole.tif"))
    succeed("learn", "large.tif", *on_two, "-o", "new.scsc", "--tiles", 4)
    succeed("learn", "large.tif", "-o", "whole.scsc", "--tiles", 4)
    assert FilterBank.load("new.scsc").id == FilterBank.load("whole.scsc").id


@on_posix
@pytest.mark.slow
def test_examples_of_the_page_work_as_written(folder, cells):
    os.mkdir("night1")
    for name in ("a", "b"):
        save(f"night1/{name}.tif", cells, "yx", None, None)
    np.save("embryo.npy", np.stack([samples.noisy_tissue((72, 64), seed=i) for i in range(8)]))
    tifffile.imwrite("dead-pixels.tif", (np.arange(64) == 20) * np.ones(cells.shape, np.uint8))
    examples = [b.code for b in blocks_of(PAGE) if b.language == "sh" and "clone" not in b.code]
    assert len(examples) == 6
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed = []
    for example in examples:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", example],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": path},
        )
        assert done.returncode == 0, example + done.stderr
        printed.append(done.stdout)
    assert sorted(os.listdir("night1-clean")) == ["a.tif", "b.tif"]
    assert open_file("embryo.ome.zarr").labels == ("z", "y", "x")
    assert float(printed[4]) > 0
    for name in ("cells-clean.tif", "cells.npy", "cells.zarr"):
        assert np.asarray(open_file(name).array).std() < cells.std()
    filled = tifffile.imread("cells-filled.tif")
    assert (filled != cells).any(axis=0).nonzero()[0].tolist() == [20]
