# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/test_results: which failures ./run test repeats."""
import json
import pathlib
import subprocess

import pytest

RESULTS = pathlib.Path(__file__).parents[2] / "tools/test_results"
PLAIN = '<failure message="assert 1 == 2">AssertionError</failure>'


def results(tmp_path, verb, *cases, skipped=0):
    """cases: the contents of each test's element"""
    bad = sum("<failure" in case or "<error" in case for case in cases)
    path = tmp_path / "junit.xml"
    path.write_text(f'<testsuites><testsuite tests="{len(cases)}" errors="0" failures="{bad}" skipped="{skipped}">' + "".join(
        f'<testcase classname="tests.system.test_x" name="test_{i}[a-None]">{case}</testcase>' for i, case in enumerate(cases)) +
        "</testsuite></testsuites>")
    return subprocess.run([RESULTS, verb, path], text=True, capture_output=True)


def test_a_few_failures_are_repeated(tmp_path):
    done = results(tmp_path, "again", PLAIN, "", PLAIN, "<skipped/>", PLAIN)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"tests/system/test_x.py::test_{i}[a-None]" for i in (0, 2, 4)]
    assert results(tmp_path, "counts", PLAIN, "", "<skipped/>", skipped=1).stdout == "1 1 1\n"


@pytest.mark.parametrize("sign", (
    "==12==ERROR: AddressSanitizer: heap-use-after-free", "x.c:12:3: runtime error: index 9 out of bounds", "slurmctld was ended by signal 11",
    "slurmctld: x.c:12: end_job: Assertion `job' failed.", "started twice: [7]", "never ended: [7]", "Failed: Timeout &gt;300.0s",
    "skipped, which tests/system/expected_skips.txt does not expect"))
@pytest.mark.parametrize("where", ("failure", "system-out"))
def test_failures_of_programs_are_not_repeated(tmp_path, sign, where):
    cases = [PLAIN + f"<{where}>{sign}</{where}>", PLAIN]
    done = results(tmp_path, "again", *cases)
    assert done.returncode == 1 and done.stdout.strip() == ""
    assert results(tmp_path, "counts", *cases).stdout == "0 2 0\n"


def test_many_failures_errors_and_lost_results_are_not_repeated(tmp_path):
    assert results(tmp_path, "again", *[PLAIN] * 20).returncode == 0
    assert results(tmp_path, "again", *[PLAIN] * 21).returncode == 1
    assert results(tmp_path, "again", '<error message="no port">fixture</error>').returncode == 1
    (tmp_path / "junit.xml").write_text("<testsuites>")
    assert subprocess.run([RESULTS, "again", tmp_path / "junit.xml"], text=True, capture_output=True).returncode == 1
    assert subprocess.run([RESULTS, "counts", tmp_path / "junit.xml"], text=True, capture_output=True).stdout == "0 1 0\n"


def unit_results(tmp_path, *cases):
    """cases: the result and the output of each unit test"""
    path = tmp_path / "testlog.json"
    path.write_text("".join(json.dumps({"name": f"sluice:base / base/test{i}", "result": result, "stdout": said, "stderr": ""}) + "\n"
                            for i, (result, said) in enumerate(cases)))
    return subprocess.run([RESULTS, "again", path], text=True, capture_output=True)


def test_unit_tests_that_fail_by_themselves_are_repeated(tmp_path):
    late = ("ERROR", "[  FAILED  ] ends_in_time\n==7==ERROR: LeakSanitizer: detected memory leaks")
    done = unit_results(tmp_path, ("OK", ""), late, ("SKIP", ""), ("TIMEOUT", ""), ("FAIL", "[  FAILED  ] x"))
    assert done.returncode == 0 and done.stdout.splitlines() == ["base/test1", "base/test3", "base/test4"]
    assert unit_results(tmp_path, *[late] * 21).returncode == 1


@pytest.mark.parametrize("case", (
    ("ERROR", "==7==ERROR: LeakSanitizer: detected memory leaks"), ("FAIL", ""), ("FAIL", "[  FAILED  ] x\nx.c:1: runtime error: index 9 out of bounds"),
    ("FAIL", "Test failed with exception: Segmentation fault(11)\n[  FAILED  ] x"),
    ("ERROR", "[  FAILED  ] x\n==7==ERROR: AddressSanitizer: heap-use-after-free"), ("FAIL", "[  FAILED  ] x\nx: Assertion `job' failed.")))
def test_failures_of_unit_tests_are_not_repeated(tmp_path, case):
    assert unit_results(tmp_path, case).returncode == 1
