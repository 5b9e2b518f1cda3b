# SPDX-License-Identifier: GPL-3.0-or-later
"""Script for gdb: a debugger of srun, by the MPIR interface. Prints the table and the state of each process, then detaches."""
import pathlib

import gdb


def value(name):
    return gdb.parse_and_eval(name)


def state(pid):
    """T, as soon as the signal has reached it, which was sent before the table was whole."""
    for _ in range(100000):
        now = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if now == "T":
            break
    return now


def program(pid):
    return str(pathlib.Path(f"/proc/{pid}/exe").resolve())


for line in ("set pagination off", "set breakpoint pending on", "set debuginfod enabled off", "break main", "run",
             "set var MPIR_being_debugged = 1", "break MPIR_Breakpoint", "continue"):
    gdb.execute(line, to_string=True)
print("DEBUG state", int(value("MPIR_debug_state")), "size", int(value("MPIR_proctable_size")))
for symbol in ("MPIR_i_am_starter", "MPIR_partial_attach_ok", "MPIR_acquired_pre_main", "MPIR_force_to_main"):
    value(symbol)
for i in range(int(value("MPIR_proctable_size"))):
    row = value(f"MPIR_proctable[{i}]")
    pid = int(row["pid"])
    print("TASK", i, row["host_name"].string(), row["executable_name"].string(), state(pid), program(pid))
gdb.execute("delete", to_string=True)
gdb.execute("continue", to_string=False)
