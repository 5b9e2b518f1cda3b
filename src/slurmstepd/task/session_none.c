/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For slurmstepd, which supports no PAM session. */
#include "slurmstepd/task/session.h"

int session_open(struct step *step, struct err *err)
{
    if (!step->start->has_pam || !step->start->pam)
        return 0;
    return err_set(err, -ERR_NODE_FAULT,
                   "UsePAM: this slurmstepd was built without PAM; build it with libpam0g-dev");
}

void session_limit(const struct step *step)
{
}

void session_close(struct step *step)
{
}
