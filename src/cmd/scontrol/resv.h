/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol create|update|delete reservation": the arguments as a request. */
#pragma once

#include <stdbool.h>

enum resv_how { RESV_CHANGE, RESV_CREATE, RESV_DELETE };

/* Whether an argument says that a reservation is meant: "reservation", "ReservationName=...". */
bool resv_is_meant(const char *arg);

/* The status to exit with; what is wrong has been said. */
int resv_command(int argc, char **argv, enum resv_how how);
