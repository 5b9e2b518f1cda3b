# SPDX-License-Identifier: GPL-3.0-or-later
"""slurmsim with a trace: the output in the guide is true, bad input is refused, and equal input gives equal bytes."""
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from harness import PREFIX

TOP = pathlib.Path(__file__).parents[2]
DAY = TOP / "examples/simulation"
ENV = {**os.environ, "PATH": f"{PREFIX}/bin:{PREFIX}/sbin:{os.environ['PATH']}"}


def slurmsim(*words, cwd=DAY, env=ENV):
    return subprocess.run(["slurmsim", *map(str, words)], cwd=cwd, env=env, capture_output=True, text=True)


def test_output_of_the_simulation_guide_is_current():
    done = subprocess.run([TOP / "tools/transcript", TOP / "docs/simulation.md", DAY], env=ENV, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("words, status, said", [
    (["none.swf", "--conf=cluster.conf"], 1, "slurmsim: error: cannot open none.swf: No such file or directory"),
    (["day.swf", "--conf=none.conf"], 1, "none.conf"),
    (["day.swf", "--conf=day.swf"], 1, "day.swf"),
    (["cluster.conf", "--conf=cluster.conf"], 1, "slurmsim: error: cluster.conf:1: field 1 (job number): '#' is not a number; no line"),
    (["/dev/null", "--conf=cluster.conf"], 1, "slurmsim: error: /dev/null: no job in the file can run"),
    ([PREFIX / "bin/slurmsim", "--conf=cluster.conf"], 1, "not a text file"),
    (["/dev/urandom", "--conf=cluster.conf"], 1, "slurmsim: error: /dev/urandom: not a text file"),
    (["--plan=/dev/urandom"], 2, "/dev/urandom: not a text file"),
    (["day.swf", "day.swf"], 2, "unexpected argument 'day.swf'"),
    (["day.swf", "--conf=cluster.conf", "--fuzz"], 2, "--fuzz is of random jobs, and a trace is given"),
    (["day.swf", "-s", "3"], 2, "--seed is of random jobs, and a trace is given"),
    (["--compare=cluster.conf"], 2, "--compare is of a trace, and none is given"),
    (["day.swf", "--conf"], 2, "option '--conf' requires an argument"),
    (["day.swf", *["--compare=cluster.conf"] * 8], 2, "--compare is given more than 7 times"),
    (["day.swf", "--conf=cluster.conf", "--gantt=/nowhere/x.svg"], 1, "cannot open directory /nowhere"),
])
def test_invalid_options_are_refused(words, status, said):
    done = slurmsim(*words)
    assert done.returncode == status and said in done.stderr and "slurmsim: " in done.stderr


def test_configuration_of_the_commands(tmp_path):
    """Without --conf: the one that commands use."""
    done = slurmsim("day.swf", env={**ENV, "SLURM_CONF": str(DAY / "cluster.conf")})
    assert done.returncode == 0 and f"example of {DAY}/cluster.conf: 16 nodes" in done.stdout


def test_repeated_simulations_have_equal_output(tmp_path):
    outputs = []
    for name in ("a", "b"):
        place = tmp_path / name
        place.mkdir()
        files = [f"--{what}={place}/{what}" for what in ("gantt", "html", "schedule")]
        done = slurmsim("day.swf", "--conf=cluster.conf", "--compare=builtin.conf", "--json", "--timing", *files)
        assert done.returncode == 0 and re.search(r"s of CPU; \d+ moments planned", done.stderr)
        outputs.append([done.stdout, *(place.joinpath(w).read_bytes() for w in ("gantt", "html", "schedule"))])
    assert outputs[0] == outputs[1]
    figures = json.loads(outputs[0][0])
    assert figures["trace"]["jobs"] == 400 and [r["conf"] for r in figures["runs"]] == ["cluster.conf", "builtin.conf"]
    assert all(r["all"]["jobs"] == 400 == sum(s["jobs"] for s in r["by_nodes"]) for r in figures["runs"])
    assert figures["runs"][0]["all"]["slowdown_mean"] < figures["runs"][1]["all"]["slowdown_mean"]
    xml.etree.ElementTree.fromstring(outputs[0][1])
    page = outputs[0][2].decode()
    assert page.count("<svg") == 2 and "<script" not in page and "bounded slowdown, mean" in page


def test_schedule_is_a_trace(tmp_path):
    """What it writes it reads again: on an empty cluster of the same size jobs run as long as they did."""
    assert slurmsim("day.swf", "--conf=cluster.conf", f"--schedule={tmp_path}/out.swf").returncode == 0
    rows = [line.split() for line in (tmp_path / "out.swf").read_text().splitlines() if not line.startswith(";")]
    assert len(rows) == 400 and all(len(row) == 18 for row in rows)
    waits = [int(row[2]) for row in rows]
    figures = json.loads(slurmsim("day.swf", "--conf=cluster.conf", "--json").stdout)["runs"][0]["all"]
    assert sum(waits) / 400 == pytest.approx(figures["wait_mean_sec"]) and max(waits) == figures["wait_max_sec"]
    again = json.loads(slurmsim(tmp_path / "out.swf", f"--conf={DAY}/cluster.conf", "--json", cwd=tmp_path).stdout)
    assert again["trace"]["bad_lines"] == 0 and again["trace"]["jobs"] == 400


def test_generated_traces_are_reproducible(tmp_path):
    """The output of bench/month is the same each time, and none of it is refused."""
    sys.path.insert(0, str(TOP / "bench"))
    import traces
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        swf, conf = traces.write(tmp_path / name / "t", nodes=64, count=300)
    assert (tmp_path / "a/t.swf").read_bytes() == (tmp_path / "b/t.swf").read_bytes()
    figures = json.loads(slurmsim(swf, f"--conf={conf}", "--json").stdout)
    run = figures["runs"][0]
    assert (figures["trace"]["jobs"], run["all"]["jobs"], run["refused"], figures["trace"]["bad_lines"]) == (300, 300, 0, 0)


def test_recorded_requests_are_replayed(cluster, tmp_path):
    """Requests to a real cluster are replayed on a virtual one; the recording does not contain the users' names."""
    job = cluster.sbatch("-N2", "--exclusive", "-t3", "-J", "confidential", wrap="true # secret")
    narrow = cluster.sbatch("-n3", "-t2", "--mem-per-cpu=10", wrap="exit 3")
    held = cluster.sbatch("-H", "-J", "confidential", wrap="true")
    cluster.wait(job)
    cluster.wait(narrow)
    cluster.run(["sluice", "record", str(tmp_path / "r.swf")]).ok()
    text = (tmp_path / "r.swf").read_text()
    assert not re.search("confidential|secret|root|wrap|true", text)
    rows = {line.split()[0]: line.split() for line in text.splitlines() if not line.startswith(";")}
    assert f"; JobSpec: {job} min_nodes=2 max_nodes=2" in text and "exclusive=1" in text
    assert rows[str(job)][8] == "180" and rows[str(job)][10] == "1" and int(rows[str(job)][3]) >= 0
    assert rows[str(narrow)][7] == "3" and rows[str(narrow)][9] == "10240" and rows[str(narrow)][10] == "0"
    assert rows[str(held)][3] == "-1" and rows[str(held)][10] == "-1"
    done = slurmsim(tmp_path / "r.swf", f"--conf={cluster.conf_file}", "--json", f"--schedule={tmp_path}/out.swf")
    figures = json.loads(done.stdout)
    assert done.returncode == 0 and figures["trace"]["bad_lines"] == 0 and figures["trace"]["left_out"]["no run time"] >= 1
    out = {line.split()[0]: line.split() for line in (tmp_path / "out.swf").read_text().splitlines() if line[0] != ";"}
    assert out[str(job)][4] == rows[str(job)][4] and out[str(narrow)][4] == rows[str(narrow)][4]
    names = cluster.run(["sluice", "record", "-", "--names", "--for=1"]).ok()
    assert re.search(r"^; User: 1 \w+$", names, re.M) and f"\n{job} " in names
    cluster.run(f"scancel {held}").ok()
    cluster.run("sluice record").fails("record: a file is needed, or '-'")
    cluster.run("sluice record /nowhere/x").fails("/nowhere")
    cluster.run("sluice record x --for=0").fails("--for '0' is not a number from 1 to")


def test_pages_tell_every_option():
    text = subprocess.run(["slurmsim", "--help"], env=ENV, capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"--[a-z]+", text))
    page = (PREFIX / "share/man/man1/slurmsim.1").read_text().replace("\\-", "-")
    assert {"--conf", "--compare", "--gantt", "--html", "--json", "--timing"} <= options <= set(re.findall(r"--[a-z]+", page))
