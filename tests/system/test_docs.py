# SPDX-License-Identifier: GPL-3.0-or-later
"""The statements of README and the manual pages are true, as are the assumptions of tests."""
import pathlib
import re

import pytest

from harness import DEADLINE, PREFIX, free_ports

TOP = pathlib.Path(__file__).parents[2]


def page(name):
    """The text of an installed page, without roff's marks."""
    text = (PREFIX / f"share/man/man{name[-1]}/{name}").read_text()
    return re.sub(r"\\f[A-Z]", "", text).replace("\\-", "-")


def variables(text):
    return {line.split("=")[0] for line in text.splitlines() if re.match(r"(SLURM\w*|SRUN\w*|PMI\w*|SLUICE_ATTEMPT|SLUICE_UMASK)=", line)}


@pytest.mark.parametrize("name, line", [
    ("sbatch.1", ["sbatch", "--wait", "-o", "/dev/stdout", "--wrap", "env"]),
    ("salloc.1", ["salloc", "-Q", "env"]),
    ("srun.1", ["srun", "-l", "env"]),
])
def test_pages_name_every_variable(cluster, name, line):
    """The pages list every variable that a job gets with many options, and no variable that a job does not get."""
    options = ["-N2", "-n2", "-c2", "--ntasks-per-node=1", "--mem-per-cpu=9", "-t5", "-A", "acc", "-O", "-m", "cyclic"]
    out = str(cluster.work / f"{name}.txt")
    argv = [line[0], *options, *(out if word == "/dev/stdout" else word for word in line[1:])]
    said = cluster.run(argv).ok()
    if name == "sbatch.1":
        said = pathlib.Path(out).read_text()
    found = variables(re.sub(r"^\d: ", "", said, flags=re.M))
    text = page(name)
    given = text[text.index("\n.SH OUTPUT ENVIRONMENT VARIABLES\n") + 5:].split("\n.SH ")[0]
    assert found and not found - set(re.findall(r"\b(?:SLURM|SRUN|PMI|SLUICE)\w+", given)), name
    certain = {head for head, what in re.findall(r"^\.TP\n(\w+)\n(.*)$", given, re.M)
               if not re.search(r"\bif |with --", what)}
    assert not certain - found - {"SLURM_MEM_PER_NODE"}, name


@pytest.mark.slow
@pytest.mark.parametrize("guide", ["running-jobs", "heterogeneous-jobs", "hierarchical-resources"])
def test_transcripts_of_guides(make_cluster, guide):
    """Runs each command when the jobs of the previous one have gone, on a cluster where nothing has run."""
    settled = "while sinfo -h -o %t | grep -qv '^idle$'; do sleep 0.02; done"
    c = make_cluster()
    resources = re.search(r"^```yaml\n(.*?)^```$", (TOP / f"docs/{guide}.md").read_text(), re.M | re.S)
    if resources:
        (c.dir / "resources.yaml").write_text(resources[1])
        c.run("scontrol reconfigure").ok()
    c.run([TOP / "tools/transcript", "--before", settled, TOP / f"docs/{guide}.md", TOP / "examples/jobs"],
          env={"TMPDIR": str(c.work)}, timeout=2 * DEADLINE).ok()


def test_readme_tells_what_scontrol_refuses(cluster):
    help_text = cluster.run("scontrol help").ok()
    missing = help_text.partition("not available in this version:")[2].split()
    assert "power" in missing and missing == page("scontrol.1").partition("refused:\n")[2].partition(".\n")[0].split(", ")
    rows = (TOP / "README.md").read_text().partition("Not supported:")[2].partition("\n\n| ")[2].partition("\n\n")[0]
    row = next(line for line in rows.splitlines() if "scontrol power" in line)
    named = re.findall(r"`(?:scontrol )?(\w+)`", row.partition("are refused")[0])
    assert len(named) >= 2 and set(named) <= set(missing)
    for word in missing:
        cluster.run(f"scontrol {word} 1").fails(f"{word} is not available in this version")


def test_scheduling_guide_names_every_reason():
    """Words that squeue shows of waiting jobs: those that the planner and the gates give, and the guide's table."""
    sources = {path: path.read_text() for room in ("control", "sched") for path in (TOP / "src" / room).rglob("*.[ch]")
               if not path.name.endswith("_test.c")}
    rows = dict(re.findall(r'^ *(?:REASON|WAITS)\((\w+), "(\w+)"', (TOP / "src/cluster/job/reason.def").read_text(), re.M))
    waiting = "".join(text for path, text in sources.items() if "sched" in path.parts or path.stem in ("gate", "depend", "submit", "resv_job"))
    words = {rows[name] for name in re.findall(r"\bREASON_(\w+)", waiting) if name in rows}
    table = (TOP / "docs/scheduling.md").read_text().partition("## Why a job waits")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([A-Z]\w+)`", table.partition("|---|---|")[2]))
    assert words and not words - named
    assert named <= set(rows.values())


def test_every_reason_code_has_a_row_and_the_limits_have_gates():
    """HET-125: limits of associations, of the job's QOS and of the partition's QOS are gates of their own, which are open for now.
    tests/golden/reason_codes.txt has the words of Slurm's page on job reason codes."""
    table = (TOP / "src/cluster/job/reason.def").read_text()
    planned = dict(re.findall(r'^PLANNED\(\w+, "(\w+)", (\w+)\)', table, re.M))
    words = set(re.findall(r'^ *(?:REASON|WAITS)\(\w+, "(\w+)"', table, re.M)) | set(planned) | {"None"}
    codes = set((TOP / "tests/golden/reason_codes.txt").read_text().split())
    assert len(codes) == 194 and codes - words == set() and words - codes == {"SystemShutdown"}
    gates = re.findall(r"^GATE_PLANNED\((\w+), (\w+)\)", table, re.M)
    assert [name for name, _ in gates if name.endswith("_limits")] == ["association_limits", "job_qos_limits", "partition_qos_limits"]
    assert {group for _, group in gates} == set(planned.values()) - {"NONE"}
    for word, group in planned.items():
        if re.match("AssocGrp|AssocMax", word):
            assert group == "ASSOCIATION", word
        if re.match("QOSGrp|QOSMax|QOSMin|Max.*PerAccount", word):
            assert group == "QOS", word


def test_the_guide_of_heterogeneous_jobs_states_what_is_missing():
    """HET-73, 105."""
    guide = " ".join((TOP / "docs/heterogeneous-jobs.md").read_text().split())
    assert "There is no Perl API; Slurm's Perl API does not support heterogeneous jobs." in guide
    assert "A stand-alone `:` begins the next component" in guide and "so `srun` cannot pass one to a program" in guide


BATTERY = {"A": 6, "B": 5, "C": 5, "D": 5, "E": 2, "F": 4, "G": 15, "H": 7, "I": 6, "J": 2, "K": 4, "L": 1, "M": 1}  # rows of each letter


def test_every_row_of_the_battery_has_a_status_and_tests_that_exist():
    text = (TOP / "docs/reliability.md").read_text()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if re.match(r"\| [A-M]\d+ \|", line)]
    assert [row[0] for row in rows] == [f"{letter}{i}" for letter, count in BATTERY.items() for i in range(1, count + 1)]
    assert all(re.match(r"done$|partial: .|missing", row[2]) for row in rows), rows
    assert all(row[2].startswith("missing") or "`" in row[3] for row in rows), "a row that is done or partial names its tests"
    assert [name for row in rows for name in re.findall(r"`([^`]+)`", row[3] if len(row) > 3 else "") if not is_test(name)] == []


def is_test(name):
    """A function of a system test, a test of meson, or a program that is not one test."""
    if name == "slurmsim --fuzz":
        return True
    file, _, function = name.partition("::")
    if function:
        path = TOP / "tests/system" / file
        return path.exists() and re.search(rf"^def {function}\(", path.read_text(), re.M) is not None
    room, _, unit = name.partition("/")
    return (TOP / name).exists() or any(TOP.glob(f"src/{room}/**/{unit}_test.c")) or (TOP / f"{room}/{unit}_fuzz.c").exists() or \
        name == "sim/mutants"


def test_expected_skips_are_tests_that_exist():
    for line in (TOP / "tests/system/expected_skips.txt").read_text().splitlines():
        word = line.split()
        if not line.startswith("#"):
            assert len(word) > 2, f"{line}: a name and a reason"
            if word[0] == "unit":
                assert any(f"void {word[1]}(" in file.read_text() for file in TOP.glob("src/**/*_test.c")), line
            else:
                assert is_test(word[0].partition("[")[0]), line


def requirements_in(text):
    """Ids like CORE-114, with the numbers that follow one ("CORE-114 to 116, 120"), and rows like A1 behind RELIABILITY."""
    found = set()
    for group, first, more in re.findall(r"\b([A-Z]{3,})-(\d{2,3})((?:(?:,| and| to) \d{2,3}\b)*)", text):
        last = int(first)
        found.add((group, last))
        for word, number in re.findall(r"(,| and| to) (\d{2,3})", more):
            found |= {(group, i) for i in range(last + 1 if word == " to" else int(number), int(number) + 1)}
            last = int(number)
    return found | set(re.findall(r"\b[A-MP]\d{1,2}\b", text.partition("RELIABILITY ")[2]))


def test_requirements_that_a_file_names_are_named_at_its_tests():
    """A head that claims more than its tests proves nothing."""
    for file in sorted((TOP / "tests/system").glob("*.py")):
        head, _, rest = file.read_text().partition('"""')[2].partition('"""')
        missing = requirements_in(head) - requirements_in(rest) - set(re.findall(r"\b[A-MP]\d{1,2}\b", rest))
        assert not missing, f"{file.name}: no test names {sorted(map(str, missing))}"


def test_free_ports_are_not_reused():
    assert not set(free_ports(300)) & set(free_ports(300))
