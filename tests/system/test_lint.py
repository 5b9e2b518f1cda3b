# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule of tools/lint reports a violation, and nothing when the violation is fixed."""
import inspect
import json
import pathlib
import re
import subprocess
import sys
import types

import pytest

TOP = pathlib.Path(__file__).parents[2]
SPDX = "/* SPDX-License-Identifier: GPL-3.0-or-later */\n"


class Tree:
    """A tree of sources of its own, and the lint that looks at it."""

    def __init__(self, top):
        self.top, self.build, self.commands = top, top / "build", []
        self.reporting = set()  # lines of tools/lint that have reported something
        self.build.mkdir(parents=True)
        self.lint = types.ModuleType("lint")
        self.lint.__file__ = str(top / "tools/lint")
        exec(compile((TOP / "tools/lint").read_text(), "tools/lint", "exec"), self.lint.__dict__)
        report = self.lint.breach

        def note_and_report(*args):
            self.reporting.add(sys._getframe(1).f_lineno)
            report(*args)
        self.lint.breach = note_and_report

    def write(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def compile(self, name, text):
        """As the build does: each function has a section of its own."""
        source = self.write(name, text)
        output = name.replace("/", "_") + ".o"
        subprocess.run(["gcc", "-c", "-O0", "-ffunction-sections", f"-I{self.top}/src", "-o", self.build / output, source], check=True)
        self.commands = [c for c in self.commands if c["output"] != output] + [{"directory": str(self.top), "file": name, "output": output}]
        (self.build / "compile_commands.json").write_text(json.dumps(self.commands))

    def find(self, check, *args):
        """Returns (rule, text) of each report of the check."""
        self.lint.breaches.clear()
        getattr(self.lint, check)(*args)
        return [tuple(line.split(": ", 2)[1:]) for line in self.lint.breaches]

    def find_in(self, check, name, text):
        return self.find(check, self.top / name, text.splitlines())


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def one(found, rule, says):
    assert len(found) == 1 and found[0][0] == rule and says in found[0][1], found


LONG_FUNCTION = "void f(void)\n{\n" + "    g();\n" * 100 + "}\n"
ARENA = "    _cleanup_arena_ struct arena arena;\n"
# Rule and check, the file, what breaks the rule, what is said of it, and what mends it.
FILES = [
    ("layer", "check_layers", "src/base/a.c", '#include "sched/plan.h"', "base (floor 0) may not include sched", '#include "base/mem.h"'),
    ("layer", "check_layers", "src/control/a.c", '#include "rpc/client.h"', "control may not include rpc", '#include "sched/plan.h"'),
    ("layer", "check_layers", "src/rpc/a.c", '#include "store/store.h"', "share a floor", '#include "auth/auth.h"'),
    ("layer", "check_layers", "src/sim/a.c", '#include "slurmd/node.h"', "sim (floor 6) may not include slurmd", '#include "sim/b.h"'),
    ("layer", "check_layers", "src/slurmd/a.c", '#include "cli/opt.h"', "cli is for commands", '#include "rpc/server.h"'),
    ("layer", "check_layers", "src/cmd/sinfo/a.c", '#include "cmd/squeue/b.h"', "may not include cmd/squeue", '#include "cmd/sinfo/b.h"'),
    ("layer", "check_layers", "src/base/a.c", '#include "cellar/a.h"', "unknown room cellar", "#include <stdio.h>"),
    ("store", "check_store", "src/slurmctld/a.c", "    store_get(s, 1);", "store_get() waits", "    store_read(s, 1);"),
    ("form", "check_form", "src/base/a.c", "int a;\n", "not the SPDX line", SPDX),
    ("form", "check_form", "src/base/a.h", SPDX, "without #pragma once", SPDX + "#pragma once\n"),
    ("form", "check_form", "src/base/a.c", SPDX + "\tint a;\n", "a tab", SPDX + "    int a;\n"),
    ("form", "check_form", "src/base/a.c", SPDX + "/*" + "x" * 97 + "*/\n", "101 columns", SPDX + "/*" + "x" * 96 + "*/\n"),
    ("form", "check_form", "src/base/a.c", SPDX + "/* TODO */\n", "left open", SPDX + "/* done */\n"),
    ("form", "check_form", "src/base/a.c", SPDX + "    strcpy(a, b);\n", "banned function strcpy", SPDX + "    str_puts(a, b);\n"),
    ("vocabulary", "check_vocabulary", "src/base/a.c", "/* It can not be. */", "write cannot", "/* It cannot be. */"),
    ("vocabulary", "check_vocabulary", "src/sched/a.c", "int find_prey(void)", "write victim", "int find_victim(void)"),
    ("name", "check_vocabulary", "src/base/a.c", "static int take(int a)", "take() has no object", "static int take_number(int a)"),
    ("const", "check_const", "src/sched/a.c", "void plan(struct job *j);", "a struct job", "void plan(const struct job *j);"),
    ("const", "check_const", "src/sched/a.c", "void plan(const struct job *j)\n{\n    j->attempt->units = 1;\n", "writes what 'j' points to",
     "void plan(const struct job *j)\n{\n    if (j->attempt->units == 1)\n"),
    ("const", "check_const", "src/sched/a.c", "int a(const struct resv *r)\n{\n    use((struct resv *)r);\n", "a cast makes 'r'",
     "int a(const struct resv *r)\n{\n    use((struct resv *)s);\n"),
    ("size", "check_sizes", "src/base/a.c", "int a;\n" * 1001, "1001 lines", "int a;\n" * 1000),
    ("size", "check_sizes", "src/base/a.h", "int a;\n" * 301, "301 lines", "int a;\n" * 300),
    ("size", "check_sizes", "src/base/a.c", LONG_FUNCTION, "a function of 101 lines", LONG_FUNCTION.replace("    g();\n", "", 1)),
    ("arena", "check_arenas", "src/base/a.c", ARENA + "    if (a)\n        return 0;\n    arena_init(&arena, 0);\n", "not made on every way",
     ARENA + "    arena_init(&arena, 0);\n    if (a)\n        return 0;\n"),
]


@pytest.mark.parametrize("rule, check, name, broken, says, mended", FILES)
def test_a_line_that_breaks_a_rule_is_reported(tree, rule, check, name, broken, says, mended):
    one(tree.find_in(check, name, broken), rule, says)
    assert tree.find_in(check, name, mended) == []


def test_a_row_that_no_test_names_is_reported(tree):
    tree.lint.TESTED = {"error": ("src/base/err.def",)}
    tree.write("src/base/err.def", 'ERR(BUSY, 1001, "busy")\nERR(GONE, 1002, "gone")\n')
    test = tree.write("src/base/err_test.c", "/* ERR_GONE in a comment does not count. */\nint a = ERR_BUSY;\n")
    one(tree.find("check_rows"), "test", "no test names ERR_GONE")
    test.write_text("int a = ERR_BUSY, b = ERR_GONE;\n")
    assert tree.find("check_rows") == []


def test_a_function_that_is_not_where_the_map_says_is_reported(tree):
    tree.write("completions/README.md", "")
    tree.write("src/base/mem.c", "void *mem_dup(const void *p)\n{\n}\n")
    page = tree.write("ARCHITECTURE.md", "| `base/mem.c:mem_dup`, `base/mem.c:mem_move` |\n")
    one(tree.find("check_map"), "map", "src/base/mem.c does not define mem_move()")
    page.write_text("| `base/mem.c:mem_dup`, `base/gone.c` |\n")
    one(tree.find("check_map"), "map", "there is no src/base/gone.c")
    page.write_text("Nothing.\n")
    one(tree.find("check_map"), "map", "no way of a job")
    page.write_text("| `base/mem.c:mem_dup` |\n")
    assert tree.find("check_map") == []


def test_an_idle_key_that_a_daemon_reads_is_reported(tree):
    tree.write("src/conf/conf.def", 'CONF("PrologTimeout", prolog_timeout, NUMBER, 2, "0")\n')
    tree.write("src/conf/conf_part.def", "")
    source = tree.write("src/control/a.c", "    return c->conf->prolog_timeout;\n")
    one(tree.find("check_effects"), "effect", "PrologTimeout is said to have none")
    source.write_text("    return c->conf->epilog_timeout;\n")
    assert tree.find("check_effects") == []


def test_a_feature_in_too_many_files_is_reported(tree):
    tree.lint.FEATURES = [("gang scheduling", re.compile("gang", re.I), re.compile("gang"), 1)]
    for name in ("sched/gang/rotation.c", "control/gang.c", "control/a.c", "control/gang_test.c", "control/b_test.c"):
        tree.write(f"src/{name}", "int gang;\n")
    assert tree.find("check_features") == []
    tree.write("src/control/b.c", "/* Gang scheduling. */\n")
    one(tree.find("check_features"), "feature", "gang scheduling in 2 files without its name, at most 1: control/a.c, control/b.c")


def test_a_static_name_in_too_many_files_is_reported(tree):
    for name in ("base/a.c", "rpc/b.c", "sched/c.h", "sched/c_test.c"):
        tree.write(f"src/{name}", "static inline const char *get_name(int a)\n{\n}\nstatic int (*get_other)(void);\nstatic int names[] = {get_more(1)};\n")
    assert tree.find("check_static_names") == []
    other = tree.write("src/sim/d.c", "static const char *get_name(int a);\n")
    one(tree.find("check_static_names"), "name", "get_name() is a static function of 4 files, at most 3")
    other.write_text("static const char *get_plan_name(int a);\n")
    assert tree.find("check_static_names") == []


@pytest.mark.parametrize("text, says", [
    ("long time(long *);\nlong sched_now(void) { return time(0); }\n", "sched asks the C library for time()"),
    ("int sched_count;\n", "sched has writable global state: sched_count"),
    ("static int count; int sched_count(void) { return ++count; }\n", "sched has writable global state: count"),
])
def test_impure_objects_are_reported(tree, text, says):
    for room in ("cluster", "control"):
        tree.compile(f"src/{room}/a.c", f"int {room}_a(void) {{ return 0; }}\n")
    tree.compile("src/sched/a.c", text)
    one(tree.find("check_objects", tree.build), "purity", says)
    tree.compile("src/sched/a.c", "static const int count = 3; int sched_count(void) { return count; }\n")
    assert tree.find("check_objects", tree.build) == []


def test_rooms_without_objects_are_reported(tree):
    tree.write("src/control/meson.build", "")
    tree.compile("src/sched/a.c", "int sched_a;\n")
    tree.commands.clear()
    (tree.build / "compile_commands.json").write_text("[]")
    one(tree.find("check_objects", tree.build), "purity", "no objects of control found")


def test_what_is_impure_over_several_calls_is_reported(tree):
    tree.compile("src/base/clock.c", "long time(long *);\nstatic long read_clock(void) { return time(0); }\n"
                                     "long clock_look(void) { return read_clock(); }\n")
    tree.compile("src/sched/a.c", "long clock_look(void);\nlong sched_a(void) { return clock_look(); }\n")
    one(tree.find("check_reached", tree.build), "purity", "sched_a() reaches time() through clock_look(): read_clock, time")
    tree.lint.IMPURE_BUT["read_clock"] = "for this test"
    assert tree.find("check_reached", tree.build) == []


def test_a_global_function_without_its_room_is_reported(tree):
    for name, function in (("src/base/list.c", "list_add"), ("src/slurmd/job/launch.c", "launch_batch"), ("src/cmd/sinfo/table.c", "any")):
        tree.compile(name, f"int {function}(void) {{ return 0; }}\n")
    assert tree.find("check_objects", tree.build) == []
    tree.compile("src/base/list.c", "int add(void) { return 0; }\n")
    one(tree.find("check_objects", tree.build), "name", "add() begins with neither base_ nor list_")


def test_subdirectories_that_use_each_other_are_reported(tree):
    tree.compile("src/slurmd/node/a.c", "int a(void) { return 0; }\n")
    tree.compile("src/slurmd/job/b.c", "int a(void);\nint b(void) { return a(); }\n")
    assert tree.find("check_cycles", symbols_of(tree)) == []
    tree.compile("src/slurmd/node/c.c", "int b(void);\nint c(void) { return b(); }\n")
    found = tree.find("check_cycles", symbols_of(tree))
    assert {rule for rule, _ in found} == {"cycle"}
    assert any("node and job use each other" in text and "calls b() of job/b.c" in text for _, text in found), found
    (tree.top / "src/slurmd/node/c.c").unlink()
    tree.commands = [c for c in tree.commands if c["file"] != "src/slurmd/node/c.c"]
    (tree.build / "compile_commands.json").write_text(json.dumps(tree.commands))
    tree.write("src/slurmd/job/b.h", "")
    assert tree.find("check_cycles", symbols_of(tree)) == []
    tree.write("src/slurmd/node/a.c", '#include "slurmd/job/b.h"\n')
    assert any("includes slurmd/job/b.h" in text for _, text in tree.find("check_cycles", symbols_of(tree)))


def test_files_that_call_each_other_are_reported(tree):
    tree.compile("src/sim/a.c", "int b(void);\nint a(void) { return b(); }\n")
    tree.compile("src/sim/b.c", "int b(void) { return 0; }\n")
    assert tree.find("check_files", symbols_of(tree)) == []
    tree.compile("src/sim/b.c", "int a(void);\nint b(void) { return a(); }\n")
    found = tree.find("check_files", symbols_of(tree))
    assert len(found) == 2 and all(rule == "cycle" and "this file calls" in text for rule, text in found), found


def symbols_of(tree):
    return tree.lint.check_objects(tree.build)


def test_a_source_that_is_formatted_otherwise_is_reported(tree):
    tree.write(".clang-format", (TOP / ".clang-format").read_text())
    path = tree.write("src/base/a.c", SPDX + "int  a;\n")
    one(tree.find("check_format", [path]), "form", "clang-format would change this")
    path.write_text(SPDX + "int a;\n")
    assert tree.find("check_format", [path]) == []


def test_a_mutant_that_fits_no_source_is_reported(tree):
    script = tree.write("tools/mutants", "#!/bin/sh\necho 'base: the lines of m1 are not there' >&2\n")
    script.chmod(0o755)
    one(tree.find("check_mutants"), "mutants", "the lines of m1 are not there")
    script.write_text("#!/bin/sh\n")
    assert tree.find("check_mutants") == []


def test_a_table_without_the_licence_at_its_head_is_reported(tree):
    path = tree.write("src/base/err.def", "\n\n" + SPDX)
    one(tree.find("check_head", path), "form", "no SPDX line at its head")
    path.write_text("\n" + SPDX)
    assert tree.find("check_head", path) == []


def test_each_report_of_lint_has_a_test(tmp_path):
    """Runs the tests above again: they reach each call of breach()."""
    calls = {number: line.strip() for number, line in enumerate((TOP / "tools/lint").read_text().splitlines(), 1)
             if re.match(r" +breach\(", line)}
    trees = []
    for name, test in globals().items():
        if name.startswith("test_") and "tree" in inspect.signature(test).parameters:
            tables = [mark.args[1] for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
            for row in tables[0] if tables else [()]:
                trees.append(Tree(tmp_path / str(len(trees))))
                test(trees[-1], *row)
    reporting = set().union(*(tree.reporting for tree in trees))
    assert len(calls) > 30 and [line for number, line in calls.items() if number not in reporting] == []
