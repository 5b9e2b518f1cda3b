/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses "scontrol create|update|delete reservation" into a request. */
#pragma once

#include <stdbool.h>

enum resv_how { RESV_CHANGE, RESV_CREATE, RESV_DELETE };

/* Whether an argument names a reservation: "reservation", "ReservationName=...". */
bool resv_is_meant(const char *arg);

/* Returns the exit status, after error messages. */
int resv_command(int argc, char **argv, enum resv_how how);
