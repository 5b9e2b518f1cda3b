# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/compatibility.md is the output of tools/compatibility for the tables, which contain every name of Slurm."""
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]


def test_page_is_generated_from_the_tables():
    done = subprocess.run([TOP / "tools/compatibility"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (TOP / "docs/compatibility.md").read_text(), "run: tools/compatibility docs/compatibility.md"


def test_unknown_names_are_errors(tmp_path):
    (tmp_path / "docs").mkdir()
    for name in ("src", "tools", "proto"):
        (tmp_path / name).symlink_to(TOP / name)
    for name in ("variables.def", "planned.def"):
        (tmp_path / "docs" / name).write_text((TOP / "docs" / name).read_text())
    (tmp_path / "docs/slurm-names.txt").write_text("srun: --nodes --no-such-option\nsbatch variables: SBATCH_NONE_SUCH\n"
                                                  "slurm.conf words of PrologFlags: Alloc NoSuchFlag\n"
                                                  "slurm.conf words of TopologyParam: none_such_is_accepted\n")
    program = (TOP / "tools/compatibility").read_text().replace(
        "pathlib.Path(__file__).resolve().parent.parent", f"pathlib.Path({str(tmp_path)!r})")
    done = subprocess.run(["/usr/bin/python3", "-c", program], capture_output=True, text=True)
    assert done.returncode != 0 and done.stderr.endswith("no table has: option --no-such-option, variable SBATCH_NONE_SUCH, word NoSuchFlag\n"), done.stderr
