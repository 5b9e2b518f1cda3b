/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "conf/conf.h"
#include "conf/conf_container.h"

#define FILE_MAX (1u << 20)
#define WAIT_MAX_SEC 3600
#define DIRS_DEFAULT "/tmp,/dev/shm"

struct reader {
    struct conf_container *out;
    const char *file, *node;
    unsigned line;
};

__attribute__((format(printf, 3, 4))) static int fail(const struct reader *r, struct err *err,
                                                      const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err_vset(err, -ERR_CONFIG, fmt, ap);
    va_end(ap);
    return err_prefix(err, "%s:%u", r->file, r->line);
}

bool conf_container_wanted(const struct conf *c)
{
    return str_eq(c->job_container_type, "job_container/tmpfs") ||
           str_eq(c->namespace_type, "namespace/tmpfs");
}

void conf_container_done(struct conf_container *c)
{
    free(c->base_path);
    vec_foreach (&c->dirs, dir)
        free(*dir);
    vec_done(&c->dirs);
    free(c->init_script);
    free(c->clone_script);
    free(c->clone_epilog);
    *c = (struct conf_container){0};
}

/* --- values ----------------------------------------------------------------------------------- */

static int take_path(const struct reader *r, const char *key, const char *value, char **out,
                     struct err *err)
{
    if (value[0] != '/')
        return fail(r, err, "%s=%s: expected an absolute path", key, value);
    free(*out);
    *out = mem_strdup(value);
    return 0;
}

static int take_flag(const struct reader *r, const char *key, const char *value, bool *out,
                     struct err *err)
{
    bool yes = !strcasecmp(value, "true") || !strcasecmp(value, "yes") || str_eq(value, "1");

    if (!yes && strcasecmp(value, "false") != 0 && strcasecmp(value, "no") != 0 &&
        !str_eq(value, "0"))
        return fail(r, err, "%s=%s: expected true or false", key, value);
    *out = yes;
    return 0;
}

static int take_seconds(const struct reader *r, const char *key, const char *value, uint32_t *out,
                        struct err *err)
{
    long long sec;

    if (str_parse_i64(value, 1, WAIT_MAX_SEC, &sec) < 0)
        return fail(r, err, "%s=%s: expected seconds, from 1 to %d", key, value, WAIT_MAX_SEC);
    *out = (uint32_t)sec;
    return 0;
}

static bool has_dir(const struct conf_container *c, const char *dir)
{
    vec_foreach (&c->dirs, known)
        if (str_eq(*known, dir))
            return true;
    return false;
}

/* Paths are normalised, to detect directories inside others. */
static int take_dirs(const struct reader *r, const char *list, struct err *err)
{
    struct conf_container *c = r->out;

    vec_foreach (&c->dirs, dir)
        free(*dir);
    vec_clear(&c->dirs);
    while (*list) {
        size_t len = strcspn(list, ",");
        _cleanup_free_ char *dir = mem_strndup(list, len);

        list += len + (list[len] == ',');
        for (len = strlen(dir); len > 1 && dir[len - 1] == '/'; len--)
            dir[len - 1] = '\0';
        if (dir[0] != '/' || !dir[1] || strstr(dir, "//") || strstr(dir, "/."))
            return fail(r, err, "Dirs: '%s' is not an absolute path", dir);
        if (c->dirs.len == CONF_CONTAINER_DIRS_MAX)
            return fail(r, err, "Dirs: more than %d directories", CONF_CONTAINER_DIRS_MAX);
        if (!has_dir(c, dir))
            vec_push(&c->dirs, take_ptr(dir));
    }
    return c->dirs.len ? 0 : fail(r, err, "Dirs names no directory");
}

static int take_key(const struct reader *r, const char *key, const char *value, struct err *err)
{
    struct conf_container *c = r->out;

    if (!strcasecmp(key, "BasePath") && !strcasecmp(value, "none")) {
        free(take_ptr(c->base_path));
        return 0;
    }
    if (!strcasecmp(key, "BasePath"))
        return take_path(r, key, value, &c->base_path, err);
    if (!strcasecmp(key, "InitScript"))
        return take_path(r, key, value, &c->init_script, err);
    if (!strcasecmp(key, "CloneNSScript"))
        return take_path(r, key, value, &c->clone_script, err);
    if (!strcasecmp(key, "CloneNSEpilog"))
        return take_path(r, key, value, &c->clone_epilog, err);
    if (!strcasecmp(key, "CloneNSScript_Wait"))
        return take_seconds(r, key, value, &c->clone_script_sec, err);
    if (!strcasecmp(key, "CloneNSEpilog_Wait"))
        return take_seconds(r, key, value, &c->clone_epilog_sec, err);
    if (!strcasecmp(key, "AutoBasePath"))
        return take_flag(r, key, value, &c->auto_base_path, err);
    if (!strcasecmp(key, "Shared"))
        return take_flag(r, key, value, &c->shared, err);
    if (!strcasecmp(key, "EntireStepInNS"))
        return take_flag(r, key, value, &c->entire_step, err);
    if (!strcasecmp(key, "Dirs"))
        return take_dirs(r, value, err);
    return fail(r, err, "unknown key %s", key);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Returns 1 if the line applies to this node, 0 if not. */
static int is_for(const struct reader *r, const char *list, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *nodes = NULL;
    struct err why = {0};

    if (hostlist_parse(list, &nodes, &why) < 0)
        return fail(r, err, "NodeName=%s: %s", list, why.text);
    return hostlist_find(nodes, r->node) >= 0;
}

/* Splits off the next "Key=Value" of the line in place; 0: none is left. */
static int next_word(const struct reader *r, char **at, char **value, struct err *err)
{
    char *key = *at + strspn(*at, " \t\r"), *end;

    if (!*key)
        return 0;
    end = key + strcspn(key, " \t\r");
    *at = *end ? end + 1 : end;
    *end = '\0';
    *value = strchr(key, '=');
    if (!*value || *value == key)
        return fail(r, err, "'%s' is not KEY=VALUE", key);
    *(*value)++ = '\0';
    if (**value == '"' && end[-1] == '"' && end - *value > 1) {
        end[-1] = '\0';
        ++*value;
    }
    if (!**value)
        return fail(r, err, "%s= has no value", key);
    return 1;
}

static int read_line(struct reader *r, char *line, struct err *err)
{
    char *at = line, *value, *key;
    bool first = true, mine = true;
    struct reader other = *r;
    struct conf_container unused = {0};
    int rc;

    line[strcspn(line, "#")] = '\0';
    for (;; first = false) {
        key = at + strspn(at, " \t\r");
        rc = next_word(r, &at, &value, err);
        if (rc <= 0)
            break;
        if (!strcasecmp(key, "NodeName")) {
            rc = first ? is_for(r, value, err)
                       : fail(r, err, "NodeName has to be the first key of its line");
            mine = rc > 0;
            /* Lines for other nodes are parsed as well, so that an error is reported on every node.
             */
        } else {
            other.out = mine ? r->out : &unused;
            rc = take_key(&other, key, value, err);
        }
        if (rc < 0)
            break;
    }
    conf_container_done(&unused);
    return rc;
}

static int check_container(const struct conf_container *c, const char *file, struct err *err)
{
    if (!c->base_path)
        return 0;
    vec_foreach (&c->dirs, dir) {
        size_t len = strlen(*dir);

        if (!strncmp(c->base_path, *dir, len) && (!c->base_path[len] || c->base_path[len] == '/'))
            return err_set(err, -ERR_CONFIG,
                           "%s: BasePath=%s is in %s, of which each job has one of its own: take "
                           "another place, or leave that out of Dirs",
                           file, c->base_path, *dir);
    }
    return 0;
}

int conf_container_load(const struct conf *c, const char *node, struct conf_container *out,
                        struct err *err)
{
    const char *slash = strrchr(c->path, '/');
    _cleanup_free_ char *file =
        mem_printf("%.*sjob_container.conf", slash ? (int)(slash - c->path + 1) : 0, c->path);
    _cleanup_(conf_container_done) struct conf_container read = {0};
    _cleanup_str_ struct str text = STR_INIT;
    struct reader r = {.out = &read, .file = file, .node = node};
    int rc = conf_trust_path(c, "JobContainerType", file, err);

    if (rc == 0)
        rc = path_read_text(file, FILE_MAX, &text, err);
    read.clone_script_sec = read.clone_epilog_sec = CONF_CONTAINER_WAIT_SEC;
    if (rc == 0)
        rc = take_dirs(&r, DIRS_DEFAULT, err);
    _cleanup_free_ char *copy = mem_strdup(str_cstr(&text));
    for (char *at = copy, *next; at && rc == 0; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        r.line++;
        rc = read_line(&r, at, err);
    }
    if (rc == 0)
        rc = check_container(&read, file, err);
    if (rc < 0)
        return rc;
    *out = read;
    read = (struct conf_container){0};
    return 0;
}
