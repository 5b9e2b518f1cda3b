/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * squeue: lists jobs and steps.
 */
#include <unistd.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/node_names.h"
#include "cmd/squeue/list.h"
#include "cmd/squeue/options.h"
#include "cmd/squeue/request.h"
#include "show/job_columns.h"
#include "show/json_out.h"

static int list_once(const struct options *o)
{
    struct list l;
    struct err err = {0};
    bool json = o->json || o->yaml;
    list_init(&l, o);
    if (!json && !list_set_format(&l)) {
        list_done(&l);
        return 1;
    }
    int r = o->nodes && !o->nobody ? node_names_check(o->nodes, &err) : 0;
    if (r == 0 && o->priority && !json)
        r = request_tiers(&l, &err);
    if (r == 0 && !o->nobody)
        r = o->steps ? request_steps(&l, &err) : request_jobs(&l, &err);
    if (r == -ERR_NO_NODE) {
        cmd_error("%s", err.text);
    } else if (r < 0) {
        cmd_line("slurm_load_%s error: %s", o->steps ? "job_steps" : "jobs", err.text);
    } else if (json) {
        json_out_print(cmd_source(), o->steps ? "steps" : "jobs", take_ptr(l.json), o->yaml,
                       cmd_out());
    } else {
        if ((o->long_format || o->iterate_sec) && !o->noheader)
            listing_print_date(cmd_out());
        if (!o->noheader) {
            args_print_cluster(&o->common, cmd_out());
            listing_print_header(&l.listing, cmd_out());
        }
        listing_print_rows(&l.listing, cmd_out());
    }
    list_done(&l);
    int status = cmd_flush();
    return r < 0 || l.bad_format ? 1 : status;
}

int main(int argc, char **argv)
{
    static struct options o; /* static: lives until the process ends, also after an early return */
    cmd_start("squeue");
    int status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    if (o.help_format) {
        listing_put_fields(o.steps ? &step_columns : &job_columns, cmd_out());
        options_done(&o);
        return cmd_flush();
    }
    if (o.start && !job_states_given(&o.states))
        o.states.wanted = 1u << PB__JOB_STATE__PENDING;
    status = list_once(&o);
    while (o.iterate_sec) {
        sleep(o.iterate_sec);
        str_putc(cmd_out(), '\n');
        status = list_once(&o);
    }
    options_done(&o);
    return status;
}
