# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of the manual pages run, and print the output in the pages, with other numbers."""
import pathlib
import re

import pytest

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs/man"
ESCAPES = {r"\-": "-", r"\e": "\\", r"\(aq": "'", r"\(ga": "`", r"\(ha": "^", r"\(ti": "~", r"\&": ""}


def examples(page):
    """Returns the commands in a page's examples, each with its output."""
    text = (PAGES / f"{page}.1.in").read_text()
    section = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH ", text, re.M | re.S)[1]
    found = []
    for block in re.findall(r"^\.EX\n(.*?)^\.EE\n", section, re.M | re.S):
        for line in re.sub(r"\\(?:\(..|.)", lambda m: ESCAPES[m[0]], block).splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", ["srun", "sbatch", "salloc", "squeue", "scontrol"])
def test_examples_run_and_print_what_is_shown(cluster, page):
    """The output of 'cat FILE' in a page is the contents of the file."""
    shown, lines = [], ["set -e"]
    for command, text in examples(page):
        if re.fullmatch(r"cat \S+", command):
            (cluster.work / command.split()[1]).write_text("\n".join(text) + "\n")
            continue
        shown.append((command, text))
        lines += [f"echo '=== {len(shown)}'", command]
    assert len(shown) > 3
    done = cluster.run(["sh", "-c", "\n".join(lines)])
    parts = re.split(r"^=== \d+\n", done.stdout, flags=re.M)[1:]
    assert done.returncode == 0 and len(parts) == len(shown), f"after {shown[len(parts) - 1][0]}: {done.stderr}"
    for (command, text), part in zip(shown, parts):
        got, want = ([re.sub(r"\d+$", "N", line.rstrip()) for line in some] for some in (part.splitlines(), text))
        assert got == want, command
