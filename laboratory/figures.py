"""Figures in the manner of the paper: a panel for each set, a line for each system."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from laboratory.evaluation import EQUAL_SIZE_COLUMNS
from laboratory.result_rows import deviation, distinct_labels, final_rows, mean, select_rows
from laboratory.systems import UNTRAINED

STYLES = {
    "SCSC": ("#d62728", "o"),
    "SCSC orthonormal": ("#7b0000", "o"),
    "SCSC orthonormal (shared)": ("#c51b8a", "s"),
    "SCSC-L1": ("#ff9896", "v"),
    "SCSC (shared)": ("#e377c2", "s"),
    "SCSC (ADMM code)": ("#8c564b", "P"),
    "OCSC": ("#1f77b4", "^"),
    "OCSC fine-tuned": ("#17becf", "D"),
    "SEP-TD": ("#2ca02c", "X"),
    "SEP-TD, rescaled": ("#006400", "H"),
    "OCDL-Liu": ("#9467bd", "<"),
    "OCDL-Degraux": ("#c5b0d5", ">"),
    "CBPDN": ("#7f7f7f", "1"),
    "CONSENSUS": ("#bcbd22", "2"),
    "SBCSC": ("#ff7f0e", "p"),
    "FFCSC": ("#aec7e8", "h"),
    "FCSC": ("#98df8a", "*"),
    "DeconvNet": ("#000000", "x"),
    "CCSC": ("#dbdb8d", "d"),
    "no learning (SCSC)": ("#d62728", ""),
    "no learning (SCSC orthonormal)": ("#7b0000", ""),
    "no learning (shared)": ("#7f7f7f", ""),
    "smooth part only": ("#c7c7c7", ""),
}
"""The same colour and marker for a system everywhere."""

TITLES = {
    "fruit": "Fruit",
    "city": "City",
    "cifar10": "CIFAR-10",
    "flower": "Flower",
    "video": "Video",
    "multispectral": "Multispectral",
    "light field": "Light field",
}
PSNR = "testing PSNR (dB)"
OBJECTIVE = "testing objective (sum)"


def style(system):
    """Arguments of a line of a system."""
    colour, marker = STYLES[system]
    return {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.2, "label": system}


def make_panels(columns, rows=1):
    """A figure and its axes, (rows, columns)."""
    figure = Figure(figsize=(4.2 * columns, 3.2 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def plot_against(rows, size, label, constant=()):
    """Quality against a size: above at equal beta, below at each equal size of the code.

    Systems in ``constant`` do not have that size: they are horizontal lines.
    """
    rows = final_rows(rows)
    sets = [data for (data,) in distinct_labels(rows, "data")]
    keys = [
        key
        for key in ("psnr", "psnr_unit", "objective_unit", *EQUAL_SIZE_COLUMNS)
        if any(row.get(key) is not None for row in rows)
    ]
    figure, axes = make_panels(len(sets), len(keys))
    for line, key in zip(axes, keys, strict=True):
        for ax, data in zip(line, sets, strict=True):
            for (system,) in distinct_labels(rows, "system"):
                line_rows = select_rows(rows, system=system, data=data)
                if system in constant:
                    _draw_level(ax, line_rows, key, system)
                else:
                    _draw_points(ax, line_rows, size, key, system)
            quality = OBJECTIVE if key == "objective_unit" else PSNR
            ax.set(title=f"{TITLES[data]}, {_what_is_equal(key)}", xlabel=label, ylabel=quality)
    axes[0, 0].legend(fontsize="small")
    return figure


def _what_is_equal(key):
    unit = "equal beta, length 1"
    names = {"psnr": "equal beta", "psnr_unit": unit, "objective_unit": unit}
    return names.get(key) or f"{key.split('_')[-1]} numbers a pixel"


def _draw_points(ax, rows, size, key, system):
    sizes = sorted(
        x for (x,) in distinct_labels(rows, size) if mean(rows, key, **{size: x}) is not None
    )
    if sizes:
        heights = [mean(rows, key, **{size: x}) for x in sizes]
        spread = [deviation(rows, key, **{size: x}) or 0.0 for x in sizes]
        ax.errorbar(sizes, heights, spread, capsize=2, **style(system))


def _draw_level(ax, rows, key, system, line="--"):
    height = mean(rows, key)
    if height is not None:
        colour, _ = STYLES[system]
        ax.axhline(height, color=colour, linestyle=line, label=system)


def plot_curves(rows):
    """Test PSNR and test objective against learning time; a line for each seed.

    At equal beta, then at the beta that is equal for filters of length one. What was not learned is
    a level.
    """
    sets = [data for (data,) in distinct_labels(rows, "data")]
    figure, axes = make_panels(len(sets), len(_CURVES))
    for line, (key, label) in zip(axes, _CURVES.items(), strict=True):
        for ax, data in zip(line, sets, strict=True):
            set_rows = [row for row in select_rows(rows, data=data) if key in row]
            for (system,) in distinct_labels(set_rows, "system"):
                system_rows = select_rows(set_rows, system=system)
                if system in UNTRAINED:
                    _draw_level(ax, system_rows, key, system, ":")
                else:
                    _draw_curves(ax, system_rows, key, system)
            ax.set(title=TITLES[data], xlabel="processor seconds", ylabel=label)
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.grid(alpha=0.3)
    legend_beside(figure, axes[0, 0])
    return figure


_CURVES = {
    "psnr": f"{PSNR}, equal beta",
    "psnr_unit": f"{PSNR}, length 1",
    "objective_unit": f"{OBJECTIVE}, length 1",
}


def _draw_curves(ax, rows, key, system):
    for number, (seed,) in enumerate(distinct_labels(rows, "seed")):
        line = sorted(select_rows(rows, seed=seed), key=lambda row: row["seconds"])
        look = style(system) | ({"label": None} if number else {})
        ax.semilogx([row["seconds"] for row in line], [row[key] for row in line], **look)


def plot_bars(rows, key, label, cases):
    """A group of bars for each case, a bar for each system."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    ax = figure.subplots()
    draw_bars(ax, rows, key, cases)
    ax.set_ylabel(label)
    legend_beside(figure, ax)
    return figure


def draw_bars(ax, rows, key, cases):
    """The same on given axes."""
    systems = [system for (system,) in distinct_labels(rows, "system")]
    groups = distinct_labels(rows, *cases)
    width = 0.8 / len(systems)
    for number, system in enumerate(systems):
        system_rows = select_rows(rows, system=system)
        bars = [_height_and_spread(system_rows, key, cases, group) for group in groups]
        place = np.arange(len(groups)) + (number - (len(systems) - 1) / 2) * width
        heights, spread = zip(*bars, strict=True)
        colour, _ = STYLES[system]
        ax.bar(place, heights, width, yerr=spread, color=colour, label=system)
    ax.set_xticks(range(len(groups)), [" ".join(map(str, group)) for group in groups])
    for text in ax.get_xticklabels():
        text.set(rotation=30, horizontalalignment="right")


def legend_beside(figure, ax):
    """Put the legend of the axes to the right of the figure."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize="small")


def _height_and_spread(rows, key, cases, group):
    labels = dict(zip(cases, group, strict=True))
    return mean(rows, key, **labels) or 0.0, deviation(rows, key, **labels) or 0.0
