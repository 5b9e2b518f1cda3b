/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/reboot.h"

#include "slurmd/node/script.h"
#include "slurmd/node/scriptenv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

static void on_end(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status, const char *text)
{
    struct slurmd *d = ctx;

    d->rebooting = false;
    if (text)
        log_error("%s: this node does not reboot", text);
}

void reboot_run(struct slurmd *d)
{
    struct script script = {.what = "RebootProgram", .path = d->conf->reboot_program};

    if (d->rebooting)
        return;
    if (!d->conf->reboot_program) {
        log_error(
            "the controller orders a reboot, and RebootProgram is not set in slurm.conf here");
        return;
    }
    log_info("the controller orders a reboot: running %s", d->conf->reboot_program);
    d->rebooting = true;
    script_run(d, &script, scriptenv_health(d), on_end, d);
}
