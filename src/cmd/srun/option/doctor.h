/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --mpi=doctor PROGRAM: which MPI a program was built for, what that looks for when it is
 * started, whether it would find it here, and by which --mpi.
 */
#pragma once

/* Tells on standard output; returns srun's exit status: 0 fit to run, 1 not. */
int doctor_run(const char *program);
