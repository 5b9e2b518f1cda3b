/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The whole input as one text, which is sent to configless nodes, and from which a configuration
 * with other nodes is built. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "conf/conf_beside.h"
#include "conf/conf_burst_file.h"
#include "conf/conf_extra.h"
#include "conf/conf_internal.h"

/* The line has no comments and continuations; it is escaped so that it parses to the same line. */
void conf_flat_line(struct conf_loader *l, const char *line, size_t len)
{
    struct str *flat = &l->priv->flat;

    if (l->scope != CONF_FULL || l->added_lines)
        return;
    for (size_t at = 0; at < len;) {
        const char *mark = memchr(line + at, '#', len - at);
        size_t end = mark ? (size_t)(mark - line) : len;
        str_append(flat, line + at, end - at);
        str_puts(flat, mark ? "\\#" : "");
        at = end + 1;
    }
    /* A comment at the end keeps a backslash from joining the next line. */
    str_puts(flat, len && line[len - 1] == '\\' ? " #\n" : "\n");
}

void conf_flat_finish(struct conf_loader *l)
{
    if (!l->conf->enable_configless && !l->conf->max_node_count && !l->added_lines)
        str_done(&l->priv->flat);
}

const char *conf_flat_text(const struct conf *c, size_t *len)
{
    *len = c->priv->flat.len;
    return c->priv->flat.len ? str_cstr(&c->priv->flat) : NULL;
}

/* Whether the '"' at 'quote' opens a quoted value, which must be closed on the same line. */
static bool quote_closes(const char *quote, const char *end)
{
    return memchr(quote + 1, '"', (size_t)(end - quote - 1)) != NULL;
}

/* Copies one physical line to 'to' without its comment, and replaces "\#" by "#". Returns the end
 * of the copy; *more: the line ended with a backslash and continues. */
static char *line_strip(const char *from, const char *end, char *to, bool *more)
{
    bool quoted = false, comment = false;
    const char *start = to;
    size_t len = (size_t)(end - from);

    if (!memchr(from, '#', len) && !memchr(from, '\\', len)) { /* true for most lines */
        memmove(to, from, len);
        to += len;
        from = end;
    }
    for (; from < end; from++) {
        if (*from == '"')
            quoted = !quoted && quote_closes(from, end);
        else if (*from == '\\' && from + 1 < end && from[1] == '#')
            from++;
        else if (*from == '#' && !quoted) {
            comment = true;
            break;
        }
        *to++ = *from;
    }
    while (to > start && isspace((unsigned char)to[-1]))
        to--;
    *more = !comment && to > start && to[-1] == '\\';
    if (*more)
        to--;
    return to;
}

/* Adds a line to the hash of all text read, eight bytes at a time. */
void conf_line_hash(struct conf *c, const char *line, size_t len)
{
    const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = c->hash ^ (len * prime), word;

    for (; len >= 8; line += 8, len -= 8) {
        memcpy(&word, line, 8);
        h = (h ^ word) * prime;
        h ^= h >> 29;
    }
    word = 0;
    memcpy(&word, line, len);
    h = (h ^ word) * prime;
    c->hash = h ^ (h >> 32);
}

/* Resolves "Include" with %c (cluster name), relative to the directory of the including file. */
static char *include_path(struct conf_loader *l, const char *name, const char *file)
{
    const char *cluster = l->priv->written[CONF_KEY_cluster_name].text;
    const char *slash = strrchr(file, '/');
    _cleanup_str_ struct str path = STR_INIT;

    if (name[0] != '/' && slash)
        str_append(&path, file, (size_t)(slash - file) + 1);
    for (; *name; name++) {
        if (name[0] == '%' && name[1] == 'c') {
            str_puts(&path, cluster ? cluster : conf_keys[CONF_KEY_cluster_name].def);
            name++;
        } else
            str_putc(&path, *name);
    }
    return str_take(&path);
}

static int include_line(struct conf_loader *l, char *name, struct conf_place at, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    struct err inner = {0};
    size_t len;

    name = str_trim(name);
    len = strlen(name);
    if (len >= 2 && name[0] == '"' && name[len - 1] == '"') {
        name[len - 1] = '\0';
        name++;
    }
    if (!*name)
        return conf_fail(at, err, "Include without the name of a file");
    if (l->no_include)
        return conf_fail(at, err, "Include %s: not allowed here", name);
    path = include_path(l, name, at.file);
    int rc = conf_lines_read(l, path, &inner);
    if (rc < 0 && rc != -ERR_CONFIG) /* an error of the file itself: its place is this line */
        return conf_fail(at, err, "Include: %s", inner.text);
    if (rc < 0 && err)
        *err = inner;
    return rc;
}

static bool is_include(const char *line)
{
    return !strncasecmp(line, "include", 7) && isspace((unsigned char)line[7]);
}

/* Whether nodes compare the line. */
static bool is_compared(const char *line)
{
    bool compared = true;
#define CONF_UNCOMPARED(prefix) compared = compared && !str_starts(line, prefix);
#include "conf/conf_file.def"
    return compared;
}

static int line_done(struct conf_loader *l, char *line, char *end, struct conf_place at,
                     struct err *err)
{
    *end = '\0';
    if (strlen(line) != (size_t)(end - line))
        return conf_fail(at, err, "a NUL byte in the line; this is not a text file");
    while (isspace((unsigned char)*line))
        line++;
    if (!*line)
        return 0;
    if (is_include(line))
        return include_line(l, line + 7, at, err);
    if (l->prefix) { /* as in a flat text */
        size_t len = strlen(l->prefix) + (size_t)(end - line);
        char *whole = arena_alloc(&l->priv->arena, len + 1);
        snprintf(whole, len + 1, "%s%s", l->prefix, line);
        line = whole;
        end = whole + len;
    }
    if (!l->added_lines && is_compared(line))
        conf_line_hash(l->conf, line, (size_t)(end - line));
    conf_flat_line(l, line, (size_t)(end - line));
    return conf_load_line(l, line, at, err);
}

int conf_lines_take(struct conf_loader *l, char *line, struct conf_place at, struct err *err)
{
    size_t len = strlen(line);
    if (len > CONF_LINE_MAX)
        return conf_fail(at, err, "the line is longer than %u bytes", CONF_LINE_MAX);
    return line_done(l, line, line + len, at, err);
}

int conf_lines_text(struct conf_loader *l, char *text, size_t len, const char *file,
                    struct err *err)
{
    char *stop = text + len, *from = text, *to, *line;
    struct conf_place at = {.file = file, .line = 0};
    int number = 0;
    bool more;

    while (from < stop) {
        line = to = from;
        at.line = number + 1;
        do {
            char *newline = memchr(from, '\n', (size_t)(stop - from));
            char *end = newline ? newline : stop;
            number++;
            if ((size_t)(end - line) > CONF_LINE_MAX)
                return conf_fail(at, err, "the line is longer than %u bytes", CONF_LINE_MAX);
            to = line_strip(from, end, to, &more);
            from = newline ? newline + 1 : stop;
        } while (more && from < stop);
        /* The output is never longer than the input: *to is at most the line's newline, or the
         * byte after the text. */
        int rc = conf_go_on(l, line_done(l, line, to, at, err), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Marks the file as being read; fails if it is being read already, or if files are nested too
   deeply. */
static int file_enter(struct conf_loader *l, const char *path, struct err *err)
{
    struct stat st;

    int rc = path_check_regular(path, &st, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < l->depth; i++)
        if (l->open_files[i].device == st.st_dev && l->open_files[i].inode == st.st_ino)
            return err_set(err, -ELOOP, "%s: a file that includes itself", path);
    if (l->depth == CONF_DEPTH_MAX)
        return err_set(err, -ELOOP, "%s: more than %d files that include one another", path,
                       CONF_DEPTH_MAX);
    if (++l->files > CONF_FILES_MAX)
        return err_set(err, -ERR_TOO_BIG, "%s: more than %d files", path, CONF_FILES_MAX);
    l->open_files[l->depth].device = st.st_dev;
    l->open_files[l->depth].inode = st.st_ino;
    l->depth++;
    return 0;
}

int conf_lines_read(struct conf_loader *l, const char *path, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    int rc = file_enter(l, path, err);

    if (rc < 0)
        return rc;
    rc = path_read_file(path, CONF_FILE_MAX - l->bytes, &text, err);
    if (rc == 0) {
        size_t len = text.len;
        /* NUL-terminated, so that line_done() may write at its end */
        char *buffer = str_take(&text);
        const char *file = arena_strdup(&l->priv->arena, path);
        vec_push(&l->priv->buffers, buffer);
        vec_push(&l->priv->files, file);
        l->bytes += len;
        rc = conf_lines_text(l, buffer, len, file, err);
    }
    l->depth--;
    return rc;
}

int conf_lines_read_beside(struct conf_loader *l, const char *path, const char *name,
                           const char *prefix, struct err *err)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return 0;
    _cleanup_free_ char *file = mem_printf("%.*s/%s", (int)(slash - path), path, name);
    if (access(file, F_OK) != 0)
        return 0;
    l->prefix = prefix;
    int rc = conf_lines_read(l, file, err);
    l->prefix = NULL;
    return rc;
}
