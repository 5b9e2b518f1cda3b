/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/vec.h"
#include "cli/opt_priv.h"
#include "launch/filter.h"
#include "launch/filter_plugin.h"

/* --- cli_filter/syslog: one line of JSON in the system log for each submitted component -------
 */

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

#define SLURM_TEXT "cli_filter plugin terminated with error" /* Slurm's text */

struct change {
    const struct opt_row *row;
    char *value; /* NULL: the option is unset */
};

struct answers {
    bool has_defaults;
    VEC(struct change) defaults, changes; /* in the order in which they were set */
};

struct loaded {
    const struct filter_plugin *plugin;
    void *state;
};

struct filter {
    struct filter_site site;
    const struct opt *leader;
    char *script_path;
    VEC(struct loaded) filters; /* in the order of CliFilterPlugins */
    VEC(struct answers) components;
    bool is_decided; /* all filters have seen the request */
};

enum phase { PHASE_EARLY, PHASE_DEFAULTS, PHASE_SUBMIT };

/* A call of the filters for one component. */
struct question {
    struct filter_options options; /* must be the first member */
    struct opt *opt;
    struct answers *answers;
    enum phase phase;
};

/* --- messages ----------------------------------------------------------------------------------
 */

static void print_filter_message(void *ctx, enum filter_level level, const char *filter,
                                 const char *text)
{
    const struct opt *o = ((const struct filter *)ctx)->leader;
    unsigned wanted = level < FILTER_VERBOSE || level == FILTER_PLAIN ? 0 : level - FILTER_INFO;
    _cleanup_str_ struct str line = STR_INIT;

    if (level != FILTER_ERROR && level != FILTER_PLAIN && (o->quiet || o->verbose < wanted))
        return;
    str_printf(&line, "%s: %s", opt_program(o), level == FILTER_ERROR ? "error: " : "");
    if (level != FILTER_PLAIN)
        str_printf(&line, "%s: ", filter);
    text_escape_lines(text, &line);
    str_putc(&line, '\n');
    path_write_all(STDERR_FILENO, line.data, line.len);
}

static void report_filter_failure(struct filter *f, const char *filter, const struct err *why)
{
    print_filter_message(f, FILTER_ERROR, filter, why->text);
}

/* --- filters' access to options ----------------------------------------------------------------
 */

static const struct question *question_of(const struct filter_options *options)
{
    return (const struct question *)(const void *)options;
}

/* NULL: the command has no such option, or the option only prints. */
static const struct opt_row *find_option(const struct question *q, const char *name)
{
    const struct opt_row *row = opt_find_row(q->opt->command, name);

    return row && row->id < OPT_ID_COUNT && !(row->commands & OPT_TERMINAL) ? row : NULL;
}

static int get_option(const struct filter_options *options, const char *name, struct str *out)
{
    const struct question *q = question_of(options);
    const struct opt_row *row = find_option(q, name);

    if (!row)
        return -ERR_NOT_SUPPORTED;
    if (opt_given(q->opt, row->id)) {
        opt_format_value(q->opt, row->id, out);
        return 1;
    }
    if (row->argument == OPT_ARG_NO)
        str_puts(out, "unset");
    return 0;
}

static int refuse_name(const struct question *q, const char *name, struct err *err)
{
    static const enum opt_command commands[] = {OPT_SRUN, OPT_SBATCH, OPT_SALLOC};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (opt_knows(commands[i], name))
            return err_set(err, -ERR_NOT_SUPPORTED, "%s has no option '%s'", opt_program(q->opt),
                           name);
    return err_set(err, -ERR_PARSE, "unknown option '%s'", name);
}

static int set_filter_option(struct filter_options *options, const char *name, const char *value,
                             struct err *err)
{
    const struct question *q = question_of(options);
    const struct opt_row *row = find_option(q, name);
    struct opt *o = q->opt;
    int rc = 0;

    if (!row)
        return refuse_name(q, name, err);
    if (!value && q->phase != PHASE_SUBMIT && opt_given(o, row->id))
        return err_set(err, -ERR_PARSE,
                       "the default of '%s' is set already, it cannot be taken away", name);
    o->source = q->phase == PHASE_SUBMIT ? OPT_FROM_ARGV : OPT_FROM_DEFAULTS;
    if (value)
        rc = opt_set(o, row, row->argument == OPT_ARG_NO ? NULL : value, err);
    else
        o->from[row->id] = OPT_FROM_NONE;
    if (rc < 0)
        return rc;
    struct change change = {row, value ? mem_strdup(value) : NULL};
    if (q->phase == PHASE_SUBMIT)
        vec_push(&q->answers->changes, change);
    else
        vec_push(&q->answers->defaults, change);
    return 0;
}

static void format_options(const struct filter_options *options, struct str *out)
{
    const struct question *q = question_of(options);

    str_putc(out, '{');
    for (size_t i = 0; i < opt_row_count; i++) {
        const struct opt_row *row = &opt_rows[i];
        _cleanup_str_ struct str value = STR_INIT;
        if (!(row->commands & q->opt->command) || !opt_given(q->opt, row->id))
            continue;
        opt_format_value(q->opt, row->id, &value);
        filter_put_json(row->name, strlen(row->name), out);
        str_putc(out, ':');
        filter_put_json(str_cstr(&value), value.len, out);
        str_putc(out, ',');
    }
    str_puts(out, "\"argv\":[");
    for (int i = 0; i < options->argc; i++) {
        str_puts(out, i ? "," : "");
        filter_put_json(options->argv[i], strlen(options->argv[i]), out);
    }
    str_puts(out, "]}");
}

static struct answers *answers_of(struct filter *f, size_t component)
{
    while (f->components.len <= component)
        vec_push(&f->components, ((struct answers){0}));
    return &f->components.data[component];
}

/* --- questions ---------------------------------------------------------------------------------
 */

/* Collects the filters' changes in 'answers'; an early call does not keep them. */
static int ask_filters(struct filter *f, const struct opt_component *c, struct answers *answers,
                       enum phase phase, struct err *err)
{
    struct question q = {
        .options = {.component = (uint32_t)c->opt.component,
                    .argc = c->command_argc,
                    .argv = c->command_argv,
                    .get = get_option,
                    .set = set_filter_option,
                    .to_json = format_options},
        .opt = (struct opt *)&c->opt,
        .answers = answers,
        .phase = phase,
    };
    vec_foreach (&f->filters, l) {
        const struct filter_plugin *p = l->plugin;
        struct err why = {0};
        int rc = 0;
        if (phase == PHASE_SUBMIT && p->before_submit)
            rc = p->before_submit(l->state, &q.options, &why);
        else if (phase != PHASE_SUBMIT && p->set_defaults)
            rc = p->set_defaults(l->state, &q.options, phase == PHASE_EARLY, &why);
        if (rc < 0) {
            if (*why.text)
                report_filter_failure(f, p->name, &why);
            return opt_fail(q.opt, OPT_FAIL_ERROR, 1, err, "%s", SLURM_TEXT);
        }
    }
    return 0;
}

/* The component of these options, which are its first member. */
static const struct opt_component *component_of(const struct opt *o)
{
    return (const struct opt_component *)(const void *)o;
}
_Static_assert(offsetof(struct opt_component, opt) == 0, "see component_of()");

static int apply_defaults(void *ctx, struct opt *o, struct err *err)
{
    struct filter *f = ctx;
    struct answers *a = answers_of(f, o->component);
    int rc = 0;

    if (!a->has_defaults) {
        a->has_defaults = true;
        return ask_filters(f, component_of(o), a, PHASE_DEFAULTS, err);
    }
    vec_foreach (&a->defaults, change)
        if (rc == 0 && change->value)
            rc = opt_set(o, change->row, change->row->argument == OPT_ARG_NO ? NULL : change->value,
                         err);
    return rc;
}

static void forget_changes(struct answers *a)
{
    vec_foreach (&a->defaults, d)
        free(d->value);
    vec_foreach (&a->changes, c)
        free(c->value);
    vec_done(&a->defaults);
    vec_done(&a->changes);
}

int filter_ask_early(struct filter *f, struct opt_components *cs, struct err *err)
{
    struct answers unused = {0};
    int rc = f ? ask_filters(f, cs->list[0], &unused, PHASE_EARLY, err) : 0;

    forget_changes(&unused);
    return rc;
}

static int apply_sources(struct filter *f, struct opt_components *cs,
                         const struct opt_script *script, char *const envp[], struct err *err)
{
    const struct opt_defaults defaults = {apply_defaults, f};
    int rc = f ? opt_components_apply_defaults(cs, &defaults, err) : 0;

    if (rc == 0 && script)
        rc = opt_components_apply_script(cs, script, err);
    if (rc == 0)
        rc = opt_components_apply_env(cs, envp, err);
    if (rc == 0)
        rc = opt_components_apply_argv(cs, err);
    cs->defaults = NULL;
    return rc;
}

/* Returns 1 if a filter has changed something, otherwise 0. */
static int decide_request(struct filter *f, struct opt_components *cs, struct err *err)
{
    bool has_changes = false;

    for (size_t i = 0; i < cs->count; i++) {
        struct answers *a = answers_of(f, i);
        cs->failed = i;
        if (!f->is_decided && ask_filters(f, cs->list[i], a, PHASE_SUBMIT, err) < 0)
            return -ERR_PARSE;
        has_changes = has_changes || a->changes.len;
    }
    f->is_decided = true;
    return has_changes;
}

/* Applies the sources again, without the options that filters have set, and then the filters'
 * values. */
static int apply_decisions(struct filter *f, struct opt_components *cs,
                           const struct opt_script *script, char *const envp[], struct err *err)
{
    for (size_t i = 0; i < cs->count; i++)
        vec_foreach (&answers_of(f, i)->changes, c)
            cs->list[i]->opt.decided[c->row->id] = true;
    opt_components_restart(cs);
    int rc = apply_sources(f, cs, script, envp, err);
    for (size_t i = 0; rc == 0 && i < cs->count; i++) {
        struct opt *o = &cs->list[i]->opt;
        cs->failed = i;
        memset(o->decided, 0, sizeof o->decided);
        o->source = OPT_FROM_ARGV;
        vec_foreach (&answers_of(f, i)->changes, c) {
            if (rc == 0 && c->value)
                rc = opt_set(o, c->row, c->row->argument == OPT_ARG_NO ? NULL : c->value, err);
            else if (rc == 0)
                o->from[c->row->id] = OPT_FROM_NONE;
        }
    }
    return rc;
}

int filter_read(struct filter *f, struct opt_components *cs, const struct opt_script *script,
                char *const envp[], struct err *err)
{
    int rc = apply_sources(f, cs, script, envp, err);

    if (rc == 0 && f)
        rc = decide_request(f, cs, err);
    if (rc > 0)
        rc = apply_decisions(f, cs, script, envp, err);
    return rc < 0 ? rc : opt_components_finish(cs, err);
}

void filter_submitted(struct filter *f, size_t component, uint32_t job_id, uint32_t step_id)
{
    if (!f)
        return;
    vec_foreach (&f->filters, l) {
        struct err why = {0};
        if (l->plugin->after_submit &&
            l->plugin->after_submit(l->state, (uint32_t)component, job_id, step_id, &why) < 0)
            report_filter_failure(f, l->plugin->name, &why);
    }
}

/* --- start and end -----------------------------------------------------------------------------
 */

/* The script runs as the caller, so only the site's administrators may be able to write it. */
static int check_script(const struct conf *conf, const char *path, struct err *err)
{
    const uid_t owners[] = {conf->slurm_uid, conf->slurmd_uid, getuid()};
    int rc = trust_check(path, owners, sizeof owners / sizeof owners[0], err);

    return rc == -ENOENT ? err_set(err, -ERR_CONFIG, "%s does not exist", path) : rc;
}

static int load_lua(const struct conf *conf, const char *script, const struct filter_plugin **out,
                    struct err *err)
{
    int rc = check_script(conf, script, err);

    return rc < 0 ? rc : filter_load_lua(out, err);
}

static char *find_script(const struct conf *conf)
{
    const char *slash = strrchr(conf->path, '/');
    char *given = conf_list_value(conf->cli_filter_parameters, "cli_filter_lua_path");

    return given ? given
                 : mem_printf("%.*scli_filter.lua", slash ? (int)(slash - conf->path + 1) : 0,
                              conf->path);
}

static int open_filter(struct filter *f, const struct conf *conf, const char *name, struct err *err)
{
    struct loaded l = {0};
    int rc = 0;

    if (str_eq(name, "lua"))
        rc = load_lua(conf, f->script_path, &l.plugin, err);
    else
        l.plugin = str_eq(name, "syslog") ? &filter_syslog : &filter_user_defaults;
    if (rc == 0)
        rc = l.plugin->open(&f->site, &l.state, err);
    if (l.state)
        vec_push(&f->filters, l);
    return rc;
}

struct filter *filter_begin(const struct conf *conf, const struct opt *leader)
{
    const char *list = conf ? conf->cli_filter_plugins : NULL;

    if (!list || !*list)
        return NULL;
    struct filter *f = mem_new(struct filter);
    f->leader = leader;
    f->script_path = find_script(conf);
    f->site = (struct filter_site){.program = opt_program(leader),
                                   .cluster = conf->cluster_name,
                                   .script_path = f->script_path,
                                   .say = print_filter_message,
                                   .ctx = f};
    while (*list) { /* full names, which the configuration has validated */
        size_t len = strcspn(list, ",");
        _cleanup_free_ char *full = mem_strndup(list, len);
        const char *name = strchr(full, '/') + 1;
        struct err why = {0};
        if (open_filter(f, conf, name, &why) < 0) {
            report_filter_failure(f, full, &why);
            exit(1);
        }
        list += len + (list[len] == ',');
    }
    return f;
}

void filter_end(struct filter *f)
{
    if (!f)
        return;
    vec_foreach (&f->filters, l)
        l->plugin->close(l->state);
    vec_foreach (&f->components, a)
        forget_changes(a);
    vec_done(&f->filters);
    vec_done(&f->components);
    free(f->script_path);
    free(f);
}
