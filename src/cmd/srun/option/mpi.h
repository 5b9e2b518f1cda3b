/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The values of --mpi: how the processes of an MPI program find each other. The value "doctor"
 * reports which MPI a program was built for, what this MPI looks for at the start, whether it would
 * find it on this host, and with which --mpi.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The kind that --mpi, otherwise MpiDefault, names; static storage. Returns -ERR_PARSE for an
 * unknown kind. */
int mpi_choose(const char *given, const char *by_default, const char **kind, struct err *err);

void mpi_list(void); /* --mpi=list, to standard output */

/* --mpi=doctor: prints to standard output; returns srun's exit status: 0: ready to run, 1: not
 * ready. */
int doctor_run(const char *program);
