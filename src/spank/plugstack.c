/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spank/plugstack.h"

#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define WORDS_MAX 256 /* words per line */

struct reader {
    const struct conf *conf;
    struct plugstack *out;
    const char *file;
    unsigned line, depth;
};

static int read_file(struct reader *outer, const char *path, bool named, struct err *err);

char *plugstack_path(const struct conf *c)
{
    const char *slash = strrchr(c->path, '/');

    if (c->plugstack_config && *c->plugstack_config)
        return mem_strdup(c->plugstack_config);
    return mem_printf("%.*splugstack.conf", slash ? (int)(slash - c->path + 1) : 0, c->path);
}

void plugstack_done(struct plugstack *p)
{
    vec_foreach (&p->plugins, one)
        pb__spank_plugin__free_unpacked(*one, NULL);
    vec_done(&p->plugins);
}

__attribute__((format(printf, 3, 4))) static int fail(const struct reader *r, struct err *err,
                                                      const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err_vset(err, -ERR_CONFIG, fmt, ap);
    va_end(ap);
    return err_prefix(err, "%s:%u", r->file, r->line);
}

/* Files and plugins used by root may not be writable by other users; a command of a user loads
   them as that user. */
static int check_trust(const struct reader *r, const char *path, struct err *err)
{
    int rc = conf_trust_path(r->conf, r->line ? "plugin" : "PlugStackConfig", path, err);

    return rc < 0 && r->line ? err_prefix(err, "%s:%u", r->file, r->line) : rc;
}

/* Searches PluginDir, unless the name has a directory. NULL: not found. */
static char *find_plugin(const struct reader *r, const char *name)
{
    _cleanup_free_ char *all = conf_plugin_dirs(r->conf);
    const char *dirs = all;

    if (strchr(name, '/'))
        return access(name, F_OK) ? NULL : mem_strdup(name);
    while (*dirs) {
        size_t len = strcspn(dirs, ":");
        _cleanup_free_ char *path = mem_printf("%.*s/%s", (int)len, dirs, name);

        if (len && !access(path, F_OK))
            return take_ptr(path);
        dirs += len + (dirs[len] == ':');
    }
    return NULL;
}

static int add_plugin(struct reader *r, char **words, size_t count, struct err *err)
{
    bool must = str_case_eq(words[0], "required");
    _cleanup_free_ char *path = NULL;
    Pb__SpankPlugin *p;
    int rc;

    if (count < 2)
        return fail(r, err, "%s: the plugin is missing: \"%s PLUGIN [ARGUMENT...]\"", words[0],
                    words[0]);
    if (r->out->plugins.len >= PLUGSTACK_PLUGINS_MAX)
        return fail(r, err, "more than %d plugins", PLUGSTACK_PLUGINS_MAX);
    if (strchr(words[1], '/') && words[1][0] != '/')
        return fail(r, err, "%s is neither an absolute path nor a name in PluginDir", words[1]);
    path = find_plugin(r, words[1]);
    if (!path && !must)
        return 0;
    if (!path) {
        _cleanup_free_ char *dirs = conf_plugin_dirs(r->conf);
        return fail(r, err, "the required plugin %s is not in %s", words[1],
                    strchr(words[1], '/') ? "its place" : dirs);
    }
    rc = check_trust(r, path, err);
    if (rc < 0)
        return rc;
    p = mem_new(Pb__SpankPlugin);
    pb__spank_plugin__init(p);
    p->path = take_ptr(path);
    p->place = mem_printf("%s:%u", r->file, r->line);
    p->has_must = true;
    p->must = must;
    p->n_args = count - 2;
    p->args = mem_new_array(char *, count);
    for (size_t i = 2; i < count; i++)
        p->args[i - 2] = mem_strdup(words[i]);
    vec_push(&r->out->plugins, p);
    return 0;
}

static int include_files(struct reader *r, char **words, size_t count, struct err *err)
{
    const char *slash = strrchr(r->file, '/');
    _cleanup_free_ char *pattern = NULL;
    glob_t found = {0};
    int rc;

    if (count != 2)
        return fail(r, err, "include takes one pattern");
    if (r->depth >= PLUGSTACK_DEPTH_MAX)
        return fail(r, err, "includes are nested more than %d deep", PLUGSTACK_DEPTH_MAX);
    pattern = words[1][0] == '/'
                  ? mem_strdup(words[1])
                  : mem_printf("%.*s%s", slash ? (int)(slash - r->file + 1) : 0, r->file, words[1]);
    rc = glob(pattern, 0, NULL, &found);
    if (rc && rc != GLOB_NOMATCH)
        rc = fail(r, err, "include %s cannot be read", words[1]);
    else
        rc = 0;
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = read_file(r, found.gl_pathv[i], true, err);
    globfree(&found);
    return rc;
}

/* Splits a line at blanks; quotes keep blanks together. */
static int split_words(const struct reader *r, char *line, char **words, size_t *count,
                       struct err *err)
{
    char *in = line, *out = line;

    for (*count = 0;;) {
        char quote = 0;
        bool last;

        in += strspn(in, " \t\r");
        if (!*in || *in == '#')
            return 0;
        if (*count == WORDS_MAX)
            return fail(r, err, "more than %d words", WORDS_MAX);
        words[(*count)++] = out;
        for (; *in && (quote || !strchr(" \t\r#", *in)); in++) {
            if (quote ? *in == quote : *in == '"' || *in == '\'')
                quote = quote ? 0 : *in;
            else
                *out++ = *in;
        }
        if (quote)
            return fail(r, err, "a quote is not closed");
        last = !*in || *in == '#';
        in += !last;
        *out++ = '\0';
        if (last)
            return 0;
    }
}

static int read_line(struct reader *r, char *line, struct err *err)
{
    char *words[WORDS_MAX];
    size_t count;
    int rc = split_words(r, line, words, &count, err);

    if (rc < 0 || !count)
        return rc;
    if (str_case_eq(words[0], "required") || str_case_eq(words[0], "optional"))
        return add_plugin(r, words, count, err);
    if (str_case_eq(words[0], "include"))
        return include_files(r, words, count, err);
    return fail(r, err, "\"%s\" is neither required, optional nor include", words[0]);
}

static int read_lines(struct reader *r, char *text, struct err *err)
{
    int rc = 0;

    for (char *at = text, *next; at && rc == 0; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        r->line++;
        rc = read_line(r, at, err);
    }
    return rc;
}

/* named: a missing file is an error. */
static int read_file(struct reader *outer, const char *path, bool named, struct err *err)
{
    struct reader r = {.conf = outer->conf, .out = outer->out, .file = path};
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *copy = NULL;
    struct stat st;
    int rc;

    r.depth = outer->depth + 1;
    if (!named && access(path, F_OK) && errno == ENOENT)
        return 0;
    rc = check_trust(outer, path, err);
    if (rc == 0 && (stat(path, &st) || !S_ISREG(st.st_mode)))
        rc = outer->line ? fail(outer, err, "%s is not a regular file", path)
                         : err_set(err, -ERR_CONFIG, "%s is not a regular file", path);
    if (rc == 0)
        rc = path_read_text(path, PLUGSTACK_FILE_MAX, &text, err);
    if (rc < 0)
        return rc;
    copy = mem_strdup(str_cstr(&text)); /* modified while it is split into words */
    return read_lines(&r, copy, err);
}

int plugstack_load(const struct conf *c, struct plugstack *out, struct err *err)
{
    _cleanup_free_ char *path = plugstack_path(c);
    struct plugstack read = {0};
    struct reader r = {.conf = c, .out = &read};
    int rc = read_file(&r, path, c->plugstack_config && *c->plugstack_config, err);

    if (rc < 0)
        plugstack_done(&read);
    else
        *out = read;
    return rc;
}
