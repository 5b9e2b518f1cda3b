/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program with shared libraries. */
#include <sys/prctl.h>

#include "cmd/srun/alone/alone.h"

void alone_begin(char **argv)
{
    (void)argv;
    prctl(PR_SET_NAME, "srun"); /* independent of the file's name */
}

void alone_check(const struct conf *conf)
{
    (void)conf;
}

void alone_forbid_leaving(void)
{
}
