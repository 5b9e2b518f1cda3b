/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of signals as the commands take them: "KILL", "sigusr1", "10". */
#pragma once

/* The number, or -1 when unknown. */
int signame_parse(const char *text);

/* "TERM"; "Unknown" for a number without a name. Static storage. */
const char *signame_format(int number);
