# SPDX-License-Identifier: GPL-3.0-or-later
"""Times that rows of RELIABILITY bound. Tests measure them everywhere; './run soak' collects them in a part of its own, where these tests run
one after the other, and fails when one is beyond its bound on a machine that had nothing else to do. CPU times bind on a busy machine, too.
"""
import os
import pathlib

import pytest

FILE = os.environ.get("SLUICE_FIGURES")  # where they are collected
BINDING = os.environ.get("SLUICE_FIGURES_BIND") == "1"  # the machine was idle: a figure beyond its bound fails

figure = pytest.mark.figure


def percentile(times):
    """What 99 in 100 do not exceed."""
    return sorted(times)[len(times) * 99 // 100]


def cpu_of_threads(pid):
    """The CPU seconds of the threads that it has now, to the nanosecond."""
    threads = (task / "schedstat" for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    return sum(int(file.read_text().split()[0]) for file in threads) / 1e9


def report(row, what, value, bound, unit="s", at_least=False, cpu=False):
    """Prints a measured figure of that row with the row's limit, which is the largest or the smallest permitted value. 'cpu': a CPU time, which
    other processes of the machine hardly change."""
    kept = value >= bound if at_least else value <= bound
    text = f"{row:<3} {what}: {value:.3f} {unit}, bound {'>=' if at_least else '<='} {bound:g} {unit}{'' if kept else ': NOT KEPT'}"
    print(text)
    if FILE:
        with pathlib.Path(FILE).open("a") as file:
            file.write(text + "\n")
        assert kept or not (BINDING or cpu), text
