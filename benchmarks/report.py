"""What a benchmark found: a table, a CSV, a picture, and its bars, met or missed."""

import csv
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@dataclass
class Report:
    """The rows and bars of one benchmark, written to ``out`` when it is finished."""

    name: str
    out: Path
    rows: list = field(default_factory=list)
    bars: list = field(default_factory=list)
    extras: dict = field(default_factory=dict)

    def add(self, **row):
        """Keep a row, and show it at once: a benchmark is long."""
        self.rows.append(row)
        print("  " + ", ".join(f"{key} {_text(value)}" for key, value in row.items()), flush=True)

    def extra(self, name, rows):
        """Keep a second table, written to NAME-``name``.csv."""
        self.extras[name] = rows

    def at_least(self, what, value, bar):
        self._bar(what, value, f">= {bar:g}", value >= bar)

    def at_most(self, what, value, bar):
        self._bar(what, value, f"<= {bar:g}", value <= bar)

    def _bar(self, what, value, bar, met):
        # A comparison with NaN is False: what could not be measured counts as missed.
        outcome = "met" if met else "MISSED"
        self.bars.append({"what": what, "value": value, "bar": bar, "outcome": outcome})

    def figure(self, columns=1, rows=1):
        """A figure and its axes, saved by ``finish``."""
        figure, axes = plt.subplots(
            rows, columns, figsize=(5.5 * columns, 4 * rows), layout="constrained"
        )
        self._figure = figure
        return axes

    def finish(self):
        """Print and write everything; return the bars that were missed."""
        self.out.mkdir(parents=True, exist_ok=True)
        for part, rows in {"": self.rows, **self.extras, "bars": self.bars}.items():
            if rows:
                print("\n" + table(rows))
                name = f"{self.name}-{part}" if part else self.name
                write_csv(self.out / f"{name}.csv", rows)
        self._figure.savefig(self.out / f"{self.name}.png", dpi=120)
        plt.close(self._figure)
        return [
            f"{self.name}: {bar['what']} is {_text(bar['value'])}, bar {bar['bar']}"
            for bar in self.bars
            if bar["outcome"] == "MISSED"
        ]


def columns_of(rows):
    """Names of all columns, in the order in which they first appear."""
    return list(dict.fromkeys(key for row in rows for key in row))


def table(rows):
    """Rows as text in aligned columns."""
    header = columns_of(rows)
    lines = [header] + [[_text(row.get(key, "")) for key in header] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns_of(rows))
        writer.writeheader()
        writer.writerows(rows)


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
