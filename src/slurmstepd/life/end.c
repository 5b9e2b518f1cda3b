/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/life/end.h"

#include "base/mem.h"
#include "base/spare_file.h"
#include "slurmstepd/life/control.h"
#include "slurmstepd/life/finish.h"

#define CONFIRM_MS 5000 /* milliseconds; the daemon may be busy or stopped */

static void write_end_file(const struct step *step)
{
    _cleanup_free_ char *path =
        control_file(step->dir, step->job_id, step->restarts, step->step_id, "exit");
    _cleanup_free_ char *spares = mem_printf("%s/spare", step->dir);

    /* the daemon is told as well, so a failure loses nothing */
    spare_file_write(spares, path, step->end.data, step->end.len, true, NULL);
}

static void close_end(struct step *step)
{
    str_done(&step->end);
    loop_timer_free(take_ptr(step->end_timer));
}

bool end_is_open(const struct step *step)
{
    return step->end.len > 0;
}

void end_keep(struct step *step)
{
    if (!end_is_open(step))
        return;
    write_end_file(step);
    close_end(step);
}

static void on_confirm_late(void *ctx)
{
    end_keep(ctx);
    finish_check(ctx);
}

void end_record(struct step *step, const Pb__StepdEnded *m, bool in_file)
{
    pb_pack(&m->base, &step->end);
    step->end_timer = loop_timer_new(step->loop, on_confirm_late, step);
    if (in_file || !step->confirms_end || !step->daemon || step->adopters.len)
        end_keep(step);
    else
        loop_timer_set(step->end_timer, CONFIRM_MS);
    control_tell_ended(step, m);
}

void end_confirmed(struct step *step)
{
    if (!end_is_open(step))
        return;
    close_end(step);
    finish_check(step);
}
