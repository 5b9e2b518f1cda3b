/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/plugins.h"

#include "spank/stack.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

static void on_say(void *ctx, enum stack_level level, const char *text)
{
    if (level == STACK_ERROR)
        log_error("%s", text);
    else if (level <= STACK_INFO)
        log_info("%s", text);
    else if (level == STACK_VERBOSE)
        log_verbose("%s", text);
    else
        log_debug("%s", text);
}

int plugins_begin(struct slurmd *d, struct err *err)
{
    const struct stack_host host = {.context = S_CTX_SLURMD, .say = on_say};
    struct plugstack rows = {0};
    int rc = plugstack_load(d->conf, &rows, err);

    if (rc == 0)
        rc = stack_open(&rows, &host, &d->plugins, err);
    if (rc == 0 && d->plugins)
        rc = stack_init(d->plugins, err);
    plugstack_done(&rows);
    if (rc < 0)
        stack_close(take_ptr(d->plugins));
    return rc;
}

void plugins_end(struct slurmd *d)
{
    struct err err = {0};

    if (d->plugins && stack_call(d->plugins, STACK_SLURMD_EXIT, NULL, &err) < 0)
        log_error("%s", err.text);
    stack_close(take_ptr(d->plugins));
}

int plugins_fill(struct slurmd *d, Pb__StepdStart *m, struct plugstack *rows, struct err *err)
{
    if (plugstack_load(d->conf, rows, err) < 0) {
        if (err)
            err->code = -ERR_NODE_FAULT;
        return -ERR_NODE_FAULT;
    }
    m->spank_plugins = rows->plugins.data;
    m->n_spank_plugins = rows->plugins.len;
    return 0;
}

int plugins_beside_script(struct slurmd *d, const char **out, struct err *err)
{
    struct plugstack rows = {0};
    int rc = plugstack_load(d->conf, &rows, err);

    *out = rc == 0 && rows.plugins.len ? d->stepd_spank_path : NULL;
    plugstack_done(&rows);
    return rc;
}
