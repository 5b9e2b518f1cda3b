/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_filter/syslog: writes one line of JSON to the system log for each submitted component. */
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "launch/filter_plugin.h"

struct notes {
    const struct filter_site *site;
    VEC(char *) options; /* by component, as JSON */
};

static int open_notes(const struct filter_site *site, void **state, struct err *err)
{
    struct notes *n = mem_new(struct notes);

    n->site = site;
    *state = n;
    return 0;
}

static void close_notes(void *state)
{
    struct notes *n = state;

    vec_foreach (&n->options, text)
        free(*text);
    vec_done(&n->options);
    free(n);
}

static int note_options(void *state, struct filter_options *o, struct err *err)
{
    struct notes *n = state;
    _cleanup_str_ struct str text = STR_INIT;

    o->to_json(o, &text);
    while (n->options.len <= o->component)
        vec_push(&n->options, NULL);
    free(n->options.data[o->component]);
    n->options.data[o->component] = mem_strdup(str_cstr(&text));
    return 0;
}

static int log_submission(void *state, uint32_t component, uint32_t job_id, uint32_t step_id,
                          struct err *err)
{
    const struct notes *n = state;
    _cleanup_str_ struct str line = STR_INIT;

    str_printf(&line, "{\"program\":\"%s\",\"uid\":%u,\"job_id\":%u,", n->site->program,
               (unsigned)getuid(), job_id);
    if (step_id != FILTER_NO_STEP)
        str_printf(&line, "\"step_id\":%u,", step_id);
    str_printf(&line, "\"component\":%u,\"options\":%s,\"environment\":", component,
               component < n->options.len && n->options.data[component] ? n->options.data[component]
                                                                        : "{}");
    filter_put_environment(&line);
    str_putc(&line, '}');
    openlog(n->site->program, LOG_PID, LOG_USER);
    syslog(LOG_INFO, "%s", str_cstr(&line));
    closelog();
    return 0;
}

const struct filter_plugin filter_syslog = {
    .name = "syslog",
    .open = open_notes,
    .close = close_notes,
    .before_submit = note_options,
    .after_submit = log_submission,
};
