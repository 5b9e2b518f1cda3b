# SPDX-License-Identifier: GPL-3.0-or-later
"""srun --mpi=doctor prints for which MPI a program was built, and whether it is supported; its output is correct."""
import os
import shutil
import subprocess

import pytest

from harness import PREFIX

DOCTOR = [PREFIX / "bin/srun", "--mpi=doctor"]
SOURCE = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n"
PMIX = (PREFIX / "sbin/slurmstepd-pmix").exists()


def ask(program, status=0, env=None, cwd=None):
    """Without a configuration, and so without a cluster."""
    done = subprocess.run([*DOCTOR, program], capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, "SLURM_CONF": "/nonexistent/slurm.conf", **(env or {})})
    assert done.returncode == status, done.stdout + done.stderr
    return (done.stdout + done.stderr).splitlines()


def compiled(place, compiler, *options, source=SOURCE, name="program"):
    (place / f"{name}.c").write_text(source)
    subprocess.run([compiler, "-o", place / name, place / f"{name}.c", *options], check=True, capture_output=True)
    return place / name


def test_doctor_recognises_mpich(tmp_path):
    program = compiled(tmp_path, "mpicc.mpich")
    said = ask(program)
    assert said[0].startswith(f"{program}: MPICH (/") and "libmpich.so.12" in said[0]
    assert said[1:] == ["looks for: PMI-1", "served here: yes", f"use: srun --mpi=pmi2 {program}"]
    subprocess.run([program], check=True)


@pytest.mark.skipif(not shutil.which("mpicc.openmpi"), reason="needs Open MPI")
def test_doctor_recognises_open_mpi(tmp_path):
    program = compiled(tmp_path, "mpicc.openmpi")
    said = ask(program, 0 if PMIX else 1)
    assert said[0].startswith(f"{program}: Open MPI 4 (/") and said[1] == "looks for: PMIx"
    assert said[2].startswith("served here: yes, by libpmix " if PMIX else "served here: no; it needs libpmix")
    assert said[3] == f"use: srun --mpi=pmix {program}"


def test_doctor_recognises_programs_without_mpi(tmp_path):
    assert ask("true")[1:] == ["looks for: nothing", "use: srun --mpi=none true"]
    assert ask(PREFIX / "bin/srun")[0].endswith("srun: no MPI")  # though it knows their names
    static = compiled(tmp_path, "gcc", "-static", source='#include <stdio.h>\nint main(void) { return puts("MPICH Version:\\t%s"); }\n')
    assert ask(static)[0] == f"{static}: MPICH, built in"


def test_doctor_finds_libraries_as_the_loader(tmp_path):
    """By RUNPATH with $ORIGIN, by LD_LIBRARY_PATH; a library of a library; missing ones are reported."""
    for place in ("deep", "other"):
        (tmp_path / place).mkdir()
    compiled(tmp_path, "gcc", "-shared", "-fPIC", source="int deep(void) { return 0; }\n", name="deep/libdeep.so")
    compiled(tmp_path, "gcc", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", f"-L{tmp_path}/deep", "-ldeep",
             source="int deep(void); int mpi(void) { return deep(); }\n", name="other/libmpi.so.12")
    program = compiled(tmp_path, "gcc", tmp_path / "other/libmpi.so.12", "-Wl,-rpath,$ORIGIN/other",
                       f"-Wl,-rpath-link,{tmp_path}/deep", source="int mpi(void); int main(void) { return mpi(); }\n")
    assert "missing: libdeep.so, which libmpi.so.12 needs" in ask(program, 1)
    assert not any("missing" in line for line in ask(program, env={"LD_LIBRARY_PATH": f"/nonexistent:{tmp_path}/deep"}))
    assert subprocess.run([program], env={"LD_LIBRARY_PATH": f"{tmp_path}/deep"}).returncode == 0
    (tmp_path / "other/libmpi.so.12").write_bytes(b"not a library")
    assert "missing: libmpi.so.12, which " + str(program) + " needs" in ask(program, 1)


def test_doctor_refuses_files_that_are_no_programs(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert "a script: ask about the program that it runs" in ask(script, 1)[0]
    assert "not an ELF file" in ask("/etc/passwd", 1)[0]
    assert "No such file or directory" in ask("/nonexistent/program", 1)[0]
    foreign = tmp_path / "foreign"
    data = bytearray((PREFIX / "bin/srun").read_bytes())
    data[18] ^= 0x55
    foreign.write_bytes(data)
    assert "for another machine" in ask(foreign, 1)[0]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in ask(pipe, 1)[0]
