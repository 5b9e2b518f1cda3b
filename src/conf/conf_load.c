/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/trust.h"
#include "conf/conf_burst_file.h"
#include "conf/conf_extra.h"
#include "conf/conf_internal.h"
#include "conf/conf_topo_file.h"

int conf_fail(struct conf_place at, struct err *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err_vset(err, -ERR_CONFIG, fmt, ap);
    va_end(ap);
    if (at.column)
        err_prefix(err, "%s:%d:%d", at.file, at.line, at.column);
    else
        err_prefix(err, "%s:%d", at.file, at.line);
    return -ERR_CONFIG;
}

static void add_warning(struct conf_loader *l, struct conf_place at, bool fault, const char *fmt,
                        va_list ap)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct conf_warning warning = {.line = at.line, .fault = fault};

    if (!l->report)
        return;
    str_vprintf(&text, fmt, ap);
    warning.place = at.column ? mem_printf("%s:%d:%d", at.file, at.line, at.column)
                              : mem_printf("%s:%d", at.file, at.line);
    warning.text = str_take(&text);
    vec_push(&l->report->warnings, warning);
}

void conf_warn(struct conf_loader *l, struct conf_place at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_warning(l, at, false, fmt, ap);
    va_end(ap);
}

void conf_fault(struct conf_loader *l, struct conf_place at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_warning(l, at, true, fmt, ap);
    va_end(ap);
}

void conf_report_add(struct conf_report *report, bool fault, const char *text)
{
    vec_push(&report->warnings, ((struct conf_warning){.text = mem_strdup(text), .fault = fault}));
}

int conf_go_on(struct conf_loader *l, int rc, struct err *err)
{
    if (rc >= 0 || !l->report || !l->report->every_error)
        return rc;
    if (l->first.code && str_eq(vec_last(&l->report->warnings).text, err->text))
        return 1; /* the step fails because one of its items did */
    conf_report_add(l->report, true, err->text);
    if (!l->first.code)
        l->first = *err;
    return 1;
}

bool conf_report_fails(const struct conf_report *report)
{
    bool fails = false;

    vec_foreach (&report->warnings, w)
        fails = fails || w->fault;
    return fails;
}

void conf_warn_no_effect(struct conf_loader *l, struct conf_place at, const char *key,
                         const char *of)
{
    conf_warn(l, at, "%s%s%s is accepted for compatibility, has no effect", key, of ? " of " : "",
              of ? of : "");
    if (l->report)
        vec_last(&l->report->warnings).no_effect = true;
}

void conf_report_format(const struct conf_report *report, struct str *out)
{
    size_t idle = 0;

    vec_foreach (&report->warnings, w) {
        idle += w->no_effect;
        if (!w->no_effect)
            str_printf(out, "warning: %s: %s\n", w->place, w->text);
    }
    if (idle)
        str_printf(out, "warning: %zu key%s no effect; 'slurmctld --check' names %s\n", idle,
                   idle > 1 ? "s have" : " has", idle > 1 ? "them" : "it");
}

void conf_report_done(struct conf_report *report)
{
    vec_foreach (&report->warnings, w) {
        free(w->place);
        free(w->text);
    }
    vec_done(&report->warnings);
}

/* Returns the kind of a line that begins with one of these keys. A client needs no such lines, and
 * a node daemon only those of nodes. */
static struct conf_rows *rows_of(struct conf_loader *l, const char *line, bool *skip)
{
    const struct {
        struct conf_rows *rows;
        bool on_nodes;
    } all[] = {
#define CONF_ROWS(member, kind, on_nodes) {&l->member, on_nodes},
#include "conf/conf_file.def"
    };
    size_t len = 0;

    while (isalnum((unsigned char)line[len]) || line[len] == '_')
        len++;
    *skip = false;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *name = all[i].rows->kind->keys[0].name;
        if (strlen(name) != len || strncasecmp(name, line, len) != 0)
            continue;
        *skip = l->scope == CONF_CLIENT || (l->scope == CONF_NODE && !all[i].on_nodes);
        return all[i].rows;
    }
    return NULL;
}

/* Whether the kind of line is known and has no effect. */
static bool is_ignored(struct conf_loader *l, const char *line, struct conf_place at)
{
    static const struct {
        const char *key, *what;
    } kinds[CONF_IGNORED_KINDS] = {
        {"FrontendName", "front end nodes are not supported"},
        {"PowerAction", "power actions are not supported"},
    };
    for (size_t i = 0; i < CONF_IGNORED_KINDS; i++) {
        if (strncasecmp(line, kinds[i].key, strlen(kinds[i].key)) != 0)
            continue;
        if (!l->ignored_warned[i])
            conf_warn(l, at, "%s; %s lines are ignored", kinds[i].what, kinds[i].key);
        l->ignored_warned[i] = true;
        return true;
    }
    return false;
}

int conf_load_line(struct conf_loader *l, char *line, struct conf_place at, struct err *err)
{
    char *key, *value;
    bool skip;
    struct conf_rows *rows = rows_of(l, line, &skip);
    int rc;

    if (skip || is_ignored(l, line, at))
        return 0;
    if (!strncmp(line, CONF_EXTRA_PREFIX, strlen(CONF_EXTRA_PREFIX)))
        return l->scope == CONF_CLIENT
                   ? 0
                   : conf_extra_line(l, line + strlen(CONF_EXTRA_PREFIX), at, err);
    if (rows)
        return conf_row_take(l, rows, line, at, err);
    while ((rc = conf_token_next(&line, false, at, &key, &value, err)) > 0) {
        if (!strcasecmp(value, "(null)"))
            value = (char *)"";
        conf_scalar_take(l, key, value, at);
    }
    return rc;
}

static void loader_init(struct conf_loader *l, enum conf_scope scope, struct conf_report *report)
{
    *l = (struct conf_loader){.scope = scope, .report = report};
#define CONF_ROWS(member_, kind_, on_nodes) l->member_.kind = &conf_kind_##kind_;
#include "conf/conf_file.def"
    l->conf = mem_new(struct conf);
    l->conf->priv = l->priv = mem_new(struct conf_private);
    arena_init(&l->priv->arena, 0);
    arena_init(&l->priv->units_arena, 0);
    arena_init(&l->scratch, 0);
    l->conf->read_at = l->conf->boot_at = (int64_t)time(NULL);
}

static void loader_done(struct conf_loader *l)
{
    conf_free(l->conf);
    arena_done(&l->scratch);
#define CONF_ROWS(member, kind, on_nodes) vec_done(&l->member.row);
#include "conf/conf_file.def"
    vec_done(&l->hosts);
}

/* Builds what depends on several lines. */
static int build_conf(struct conf_loader *l, const char *node_name, struct err *err)
{
    int rc = conf_scalar_finish(l, err);

    if (rc == 0)
        rc = conf_check(l, err);
    if (rc == 0)
        rc = conf_go_on(l, conf_cgroup_build(l, err), err);
    if (rc >= 0)
        rc = conf_go_on(l, conf_burst_build(l, err), err);
    if (rc >= 0 && l->scope == CONF_NODE)
        rc = conf_node_pick(l, node_name, err);
    if (rc == 0 && l->scope == CONF_NODE)
        rc = conf_gres_build(l, err);
    if (rc < 0 || l->scope != CONF_FULL)
        return rc;
    conf_flat_finish(l);
#define CONF_BUILD(name)                                                                           \
    if (rc == 0)                                                                                   \
        rc = conf_##name(l, err);
#include "conf/conf_file.def"
    return rc;
}

/* Called after all lines are read. */
static int finish_load(struct conf_loader *l, const char *node_name, struct err *err)
{
    int rc = conf_go_on(l, build_conf(l, node_name, err), err);

    if (!l->first.code)
        return rc;
    *err = l->first;
    return err->code;
}

/* Takes the additional lines, after all files. */
static int take_added_lines(struct conf_loader *l, const char *more, struct err *err)
{
    char *copy;

    if (!more || !*more)
        return 0;
    copy = mem_strdup(more);
    vec_push(&l->priv->buffers, copy);
    l->no_include = true;
    l->added_lines = arena_strdup(&l->priv->arena, "nodes that are in no file");
    return conf_lines_text(l, copy, strlen(copy), l->added_lines, err);
}

int conf_load_with(const char *path, const char *more, enum conf_scope scope, const char *node_name,
                   struct conf **out, struct conf_report *report, struct err *err)
{
    _cleanup_(loader_done) struct conf_loader l;
    _cleanup_free_ char *absolute = path_absolute(path, NULL);

    loader_init(&l, scope, report);
    l.conf->path = arena_strdup(&l.priv->arena, absolute);
    int (*const others[])(struct conf_loader *, const char *, struct err *) = {
#define CONF_READ(name) conf_##name##_read,
#include "conf/conf_file.def"
    };
    int rc = conf_lines_read(&l, absolute, err);
    for (size_t i = 0; rc >= 0 && i < sizeof(others) / sizeof(others[0]); i++)
        rc = conf_go_on(&l, others[i](&l, absolute, err), err);
    if (rc >= 0)
        rc = take_added_lines(&l, more, err);
    if (rc < 0)
        return rc;
    rc = finish_load(&l, node_name, err);
    if (rc == 0 || l.first.code)
        *out = take_ptr(l.conf);
    return rc;
}

int conf_load(const char *path, enum conf_scope scope, const char *node_name, struct conf **out,
              struct conf_report *report, struct err *err)
{
    return conf_load_with(path, NULL, scope, node_name, out, report, err);
}

static int load_text(struct conf_loader *l, const char *text, size_t len, const char *file,
                     const char *more, const char *node_name, struct err *err)
{
    char *copy = mem_alloc(len + 1);

    if (len)
        memcpy(copy, text, len);
    vec_push(&l->priv->buffers, copy);
    l->no_include = true;
    l->conf->path = arena_strdup(&l->priv->arena, file);
    int rc = conf_lines_text(l, copy, len, l->conf->path, err);
    if (rc == 0)
        rc = take_added_lines(l, more, err);
    return rc == 0 ? finish_load(l, node_name, err) : rc;
}

int conf_load_text(const char *text, size_t len, const char *file, enum conf_scope scope,
                   const char *node_name, struct conf **out, struct conf_report *report,
                   struct err *err)
{
    _cleanup_(loader_done) struct conf_loader l;

    loader_init(&l, scope, report);
    int rc = load_text(&l, text, len, file, NULL, node_name, err);
    if (rc == 0 || l.first.code)
        *out = take_ptr(l.conf);
    return rc;
}

int conf_load_again(const char *text, size_t len, const char *path, const char *more,
                    enum conf_scope scope, const char *node_name, struct conf **out,
                    struct err *err)
{
    _cleanup_(loader_done) struct conf_loader l;

    loader_init(&l, scope, NULL);
    int rc = load_text(&l, text, len, path, more, node_name, err);
    if (rc == 0)
        *out = take_ptr(l.conf);
    return rc;
}

void conf_free(struct conf *c)
{
    if (!c)
        return;
    vec_foreach (&c->parts, p)
        bitset_free(p->node_set);
    vec_done(&c->parts);
    vec_foreach (&c->node_sets, set)
        bitset_free(set->nodes);
    vec_done(&c->node_sets);
    vec_done(&c->nodes);
    vec_done(&c->node_rows);
    vec_done(&c->gres_sets);
#define CONF_DONE(call) call;
#include "conf/conf_file.def"
    vec_done(&c->controllers);
    vec_foreach (&c->priv->buffers, buffer)
        free(*buffer);
    vec_done(&c->priv->buffers);
    vec_done(&c->priv->files);
    str_done(&c->priv->flat);
    conf_extra_done(c->priv);
    conf_index_done(&c->priv->node_index);
    conf_index_done(&c->priv->part_index);
    arena_done(&c->priv->arena);
    arena_done(&c->priv->units_arena);
    free(c->priv);
    free(c);
}

void conf_freep(struct conf **c)
{
    conf_free(*c);
}

static int check_owner(const struct conf *c, const char *path, struct err *err)
{
    const uid_t owners[] = {c->slurm_uid, c->slurmd_uid};

    return trust_check(path, owners, 2, err);
}

/* Whether a root process uses the configuration: this process, or node daemons that fetch it from
   this controller. */
static bool root_follows(const struct conf *c)
{
    return geteuid() == 0 || (geteuid() == c->slurm_uid && c->slurmd_uid == 0);
}

int conf_trust_files(const struct conf *c, struct err *err)
{
    if (!root_follows(c))
        return 0;
    vec_foreach (&c->priv->files, file) {
        int rc = check_owner(c, *file, err);
        if (rc < 0)
            return err_prefix(err, "root follows no configuration that others can change");
    }
    return 0;
}

int conf_trust_path(const struct conf *c, const char *key, const char *path, struct err *err)
{
    int rc = path && geteuid() == 0 ? check_owner(c, path, err) : 0;

    return rc < 0 ? err_prefix(err, "%s", key) : 0;
}

char *conf_script_next(const char **rest)
{
    size_t len = *rest ? strcspn(*rest, "\n") : 0;
    char *path = len ? mem_strndup(*rest, len) : NULL;

    if (path)
        *rest += len + ((*rest)[len] == '\n');
    return path;
}
