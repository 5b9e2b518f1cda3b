/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/whole.h"

#include "base/str.h"
#include "cmd/srun/option/say.h"

/* Without the options that are errors in later components: --mpi, --pty, --multi-prog. */
static const struct whole_option {
    enum opt_id id;
    const char *name;
    bool of_job; /* a component that creates a job of its own may set it */
} options[] = {
    {OPT_ID_label, "label"},
    {OPT_ID_unbuffered, "unbuffered"},
    {OPT_ID_wait_sec, "wait"},
    {OPT_ID_kill_bad_exit, "kill-on-bad-exit"},
    {OPT_ID_quit_on_interrupt, "quit-on-interrupt"},
    {OPT_ID_disable_status, "disable-status"},
    {OPT_ID_prolog, "prolog"},
    {OPT_ID_epilog, "epilog"},
    {OPT_ID_x11, "x11"},
    {OPT_ID_immediate, "immediate"},
    {OPT_ID_jobid, "jobid"},
    {OPT_ID_msg_timeout, "msg-timeout"},
    {OPT_ID_tree_width, "treewidth"},
    {OPT_ID_debugger_test, "debugger-test"},
    {OPT_ID_no_kill, "no-kill", .of_job = true},
    {OPT_ID_time, "time", .of_job = true},
};

static bool differs_from_first(const struct opt *o, const struct opt *first, enum opt_id id)
{
    return o->from[id] == OPT_FROM_ARGV &&
           !(opt_given(first, id) && str_eq(o->given[id], first->given[id]));
}

void whole_warn(const struct opt_components *all, bool in_job)
{
    for (size_t i = 1; i < all->count; i++)
        for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
            const struct whole_option *w = &options[k];

            if ((!w->of_job || in_job) &&
                differs_from_first(&all->list[i]->opt, &all->list[0]->opt, w->id))
                say_info("warning: --%s of component %zu has no effect: it is of the whole step, "
                         "use it in component 0",
                         w->name, i);
        }
}
