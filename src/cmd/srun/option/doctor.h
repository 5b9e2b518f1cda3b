/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --mpi=doctor PROGRAM: reports which MPI a program was built for, what this MPI looks for at
 * the start, whether it would find it on this host, and with which --mpi.
 */
#pragma once

/* Prints to standard output; returns srun's exit status: 0: ready to run, 1: not ready. */
int doctor_run(const char *program);
