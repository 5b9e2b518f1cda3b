/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signal names in commands: "KILL", "sigusr1", "10". */
#pragma once

/* Returns the number, or -1 if unknown. */
int signame_parse(const char *text);

/* "TERM"; "Unknown" for a number without a name. Static storage. */
const char *signame_format(int number);
