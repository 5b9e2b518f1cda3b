# SPDX-License-Identifier: GPL-3.0-or-later
"""CORE-003: ./configure && make && make check && make install, outside of the sources and without changing them."""
import getpass
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import PREFIX

TOP = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("meson", "ninja", "make"))), reason="needs meson and make")


def run(where, *line, **env):
    env = {**{k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "DESTDIR", "ASAN", "UBSAN"))}, **env}
    return subprocess.run(line, cwd=where, env=env, text=True, capture_output=True, timeout=300)


@pytest.mark.slow
def test_configure_and_make(tmp_path):
    """CORE-003."""
    before = sorted(p.name for p in TOP.iterdir())
    done = run(tmp_path, TOP / "configure", "--prefix=/opt/sluice", "--sysconfdir=/etc/sluice", "CFLAGS=-O1")
    assert done.returncode == 0, done.stdout + done.stderr
    options = json.loads(run(tmp_path, "meson", "introspect", "--buildoptions", "build-make").stdout)
    values = {o["name"]: o["value"] for o in options}
    assert (values["prefix"], values["libdir"], values["sysconfdir"], values["c_args"]) == \
        ("/opt/sluice", "lib", "/etc/sluice", ["-O1"])
    for target, wanted in (((), ["ninja -C build-make"]),
                           (("check",), ["ninja -C", "ln -sfn 'stage/opt/sluice' build-make/prefix",
                                         f"'{TOP}/tools/test' quick '{tmp_path}/build-make'"]),
                           (("install", "DESTDIR=/stage"), ["ninja -C", "DESTDIR='/stage' meson install -C build-make"]),
                           (("uninstall",), ["ninja -C build-make uninstall"]),
                           (("distclean",), ["rm -rf build-make"])):
        made = run(tmp_path, "make", "-n", *target)
        assert made.returncode == 0, made.stderr
        for text in wanted:
            assert text in made.stdout, f"make -n {target}: {made.stdout}"
    targets = run(tmp_path, TOP / "tools/installed", "build-make").stdout.split()
    steps = run(tmp_path, "ninja", "-C", "build-make", "-n", *targets).stdout
    assert "src/slurmctld/slurmctld" in steps and not re.search(r"_test\b", steps) and "bench/" not in steps
    assert sorted(p.name for p in tmp_path.iterdir()) == ["Makefile", "build-make"]
    assert sorted(p.name for p in TOP.iterdir()) == before


def test_configure_refuses_unknown_arguments(tmp_path):
    for word, text in (("--nonsense", "unknown option '--nonsense'"), ("foo", "unexpected argument 'foo'")):
        done = run(tmp_path, TOP / "configure", word)
        assert done.returncode == 1 and text in done.stderr
    assert "--prefix=DIR" in run(tmp_path, TOP / "configure", "--help").stdout
    assert not list(tmp_path.iterdir())
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    done = run(tmp_path, TOP / "configure", PATH=str(tmp_path))
    assert done.returncode == 1 and "configure: meson is missing; './run deps'" in done.stderr


def test_installed_tree_names_no_build_directory(tmp_path):
    """The installed tree is copied elsewhere and works: programs find their plugins, and pkg-config the library, relative to their own place."""
    there = tmp_path / "moved"
    shutil.copytree(PREFIX, there, symlinks=True)
    for file in there.rglob("*"):
        if file.is_symlink() or not file.is_file():
            continue
        if file.read_bytes()[:4] == b"\x7fELF":
            subprocess.run(["strip", "--strip-debug", file], check=True)
        assert str(PREFIX).encode() not in file.read_bytes(), file
    (there / "lib/sluice/job_submit_x.so").write_bytes(b"")
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=c\nSlurmctldHost=localhost\nSlurmUser=%s\nSlurmdUser=%s\nJobSubmitPlugins=y\nNodeName=n1\n"
                    "PartitionName=p Nodes=n1\n" % ((getpass.getuser(),) * 2))
    done = subprocess.run([there / "sbin/slurmctld", "--check", "-f", conf], capture_output=True, text=True)
    assert f"there is no job_submit_y.so in PluginDir={there}/lib/sluice" in done.stderr
    conf.write_text(conf.read_text().replace("Plugins=y", "Plugins=x"))
    done = subprocess.run([there / "sbin/slurmctld", "--check", "-f", conf], capture_output=True, text=True)
    assert "there is no job_submit" not in done.stderr


def elf_files():
    return sorted(file for file in PREFIX.rglob("*") if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF")


def test_every_binary_is_hardened():
    """RELIABILITY I6: position independent, read-only relocations bound at the start, no executable stack, no memory both writable and
    executable, no search path, checks of the stack and of copies."""
    files, weak = elf_files(), []
    assert {"slurmctld", "slurmd", "slurmstepd", "srun", "libsluice.so.0.1.0"} <= {file.name for file in files}
    for file in files:
        said = subprocess.run(["readelf", "-hldsW", file], text=True, capture_output=True, check=True).stdout
        is_library, is_sanitized = ".so" in file.name, re.search("__(asan|ubsan|tsan)_init", said)
        checks = {
            "PIE": re.search(r"Type: +DYN", said) and (is_library or "Flags: NOW PIE" in said),
            "RELRO": "GNU_RELRO" in said,
            "BIND_NOW": "BIND_NOW" in said or "Flags: NOW" in said,
            "NX": re.search(r"GNU_STACK .* RW +0x", said),
            "W^X": not re.search(r"LOAD .* RWE", said),
            "no RPATH": "RPATH" not in said and "RUNPATH" not in said,
            "no TEXTREL": "TEXTREL" not in said,
            "stack protector": "__stack_chk_fail" in said,
            "FORTIFY": is_sanitized or re.search(r"__\w+_chk\b", said),
        }
        weak += [f"{file.relative_to(PREFIX)}: {name}" for name, holds in checks.items() if not holds]
    assert not weak


def test_step_daemons_are_static():
    """One starts per step, and so does srun, which is static if srun-dynamic exists: if the libraries of others are linked statically, the C library
    is, too."""
    programs = ["sbin/slurmstepd", "sbin/slurmstepd-cast", *(["bin/srun"] if (PREFIX / "sbin/srun-dynamic").exists() else [])]
    for name in programs:
        said = subprocess.run(["readelf", "-dsW", PREFIX / name], text=True, capture_output=True, check=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
        assert not needed or any("libevent" in name for name in needed) or re.search("__(asan|ubsan|tsan)_init", said), f"{name}: {needed}"


def test_srun_populates_its_pages_at_once():
    """docs/adr/0054: where srun is static its first instructions are ours."""
    said = subprocess.run(["readelf", "-hsW", PREFIX / "bin/srun"], text=True, capture_output=True, check=True).stdout
    entry, ours = re.search("Entry point address: +0x([0-9a-f]+)", said), re.search(r" ([0-9a-f]+) .* start_program$", said, re.M)
    assert bool(ours) == ((PREFIX / "sbin/srun-dynamic").exists() and os.uname().machine == "x86_64")
    assert not ours or int(entry.group(1), 16) == int(ours.group(1), 16)
