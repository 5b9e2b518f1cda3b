/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol update StepId=": the time limit of one step, or of all steps of a job. */
#include "cmd/common/cmd.h"
#include "cmd/scontrol/update.h"

int update_step(struct update *u, const char *id_arg)
{
    cmd_error("update StepId= is not available in this version; that of the whole job is "
              "'scontrol update JobId=JOB TimeLimit=TIME'");
    return 1;
}
