/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files beside slurm.conf that other modules read, sent to configless nodes: each of their lines
 * becomes a line of the flat text, after the file's name. A node writes them beside its
 * slurm.conf. Files that are in the text are not read again, so the hash is equal everywhere.
 */
#include <ctype.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "conf/conf_extra.h"

#define EXTRA_MAX (1u << 20)
#define NEST_MAX 8 /* nested includes of plugstack.conf */

static const char *const names[CONF_EXTRA_FILES] = {"plugstack.conf", "job_container.conf"};

static bool is_plain_char(char c)
{
    return isgraph((unsigned char)c) && !strchr("%#\\", c);
}

/* Blanks inside a line stay readable; at its end they would be lost. */
static void put_escaped(const char *line, size_t len, struct str *out)
{
    for (size_t i = 0; i < len; i++)
        if (is_plain_char(line[i]) || (line[i] == ' ' && i + 1 < len))
            str_putc(out, line[i]);
        else
            str_printf(out, "%%%02x", (unsigned char)line[i]);
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static int put_unescaped(const char *text, struct conf_place at, struct str *out, struct err *err)
{
    for (; *text; text++) {
        int high = *text == '%' ? hex_digit(text[1]) : 0,
            low = *text == '%' && high >= 0 ? hex_digit(text[2]) : 0;

        if (high < 0 || low < 0 || (*text == '%' && !high && !low))
            return conf_fail(at, err, "FileConf: a line that was not written by the controller");
        str_putc(out, *text == '%' ? (char)(high << 4 | low) : *text);
        text += *text == '%' ? 2 : 0;
    }
    str_putc(out, '\n');
    return 0;
}

int conf_extra_line(struct conf_loader *l, const char *line, struct conf_place at, struct err *err)
{
    size_t len = strcspn(line, " ");

    for (size_t i = 0; i < CONF_EXTRA_FILES; i++) {
        struct str *file = &l->priv->extra[i];

        if (strlen(names[i]) != len || strncmp(names[i], line, len) != 0)
            continue;
        if (file->len > EXTRA_MAX)
            return conf_fail(at, err, "%s is larger than %u bytes", names[i], EXTRA_MAX);
        return put_unescaped(line + len + (line[len] == ' '), at, file, err);
    }
    return conf_fail(at, err, "FileConf=%.*s: expected %s or %s", (int)len, line, names[0],
                     names[1]);
}

/* --- on the controller ------------------------------------------------------------------------ */

static int read_into(struct conf_loader *l, const char *path, size_t which, int depth,
                     struct err *err);

/* Handles "include PATTERN" of plugstack.conf if the pattern is relative; other patterns are
 * resolved on the node. */
static char *find_included(const char *path, const char *line, size_t len)
{
    _cleanup_free_ char *copy = mem_strndup(line, len);
    char *word = str_trim(copy), *rest = word + strcspn(word, " \t");

    if (!*rest)
        return NULL;
    *rest++ = '\0';
    rest = str_trim(rest);
    if (!str_case_eq(word, "include") || *rest == '/' || strpbrk(rest, " \t\"'#"))
        return NULL;
    return mem_printf("%.*s/%s", (int)(strrchr(path, '/') - path), path, rest);
}

static int read_included(struct conf_loader *l, const char *pattern, size_t which, int depth,
                         struct err *err)
{
    glob_t found = {0};
    int rc = 0;

    if (depth == NEST_MAX)
        return err_set(err, -ERR_CONFIG, "%s: more than %d files that include one another", pattern,
                       NEST_MAX);
    glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = read_into(l, found.gl_pathv[i], which, depth + 1, err);
    globfree(&found);
    return rc;
}

static int take_line(struct conf_loader *l, const char *line, size_t len, size_t which,
                     struct err *err)
{
    _cleanup_str_ struct str row = STR_INIT;
    struct conf_place at = {.file = names[which]};

    str_printf(&row, CONF_EXTRA_PREFIX "%s%s", names[which], len ? " " : "");
    put_escaped(line, len, &row);
    if (row.len > CONF_LINE_MAX)
        return err_set(err, -ERR_CONFIG, "%s: a line is too long", names[which]);
    conf_line_hash(l->conf, row.data, row.len);
    conf_flat_line(l, row.data, row.len);
    return conf_extra_line(l, str_cstr(&row) + strlen(CONF_EXTRA_PREFIX), at, err);
}

static int read_into(struct conf_loader *l, const char *path, size_t which, int depth,
                     struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    int rc = path_read_text(path, EXTRA_MAX, &text, err);
    const char *at = str_cstr(&text);

    vec_push(&l->priv->files, arena_strdup(&l->priv->arena, path));
    while (rc == 0 && *at) {
        size_t len = strcspn(at, "\n");
        _cleanup_free_ char *pattern =
            which == CONF_EXTRA_PLUGSTACK ? find_included(path, at, len) : NULL;

        rc = pattern ? read_included(l, pattern, which, depth, err)
                     : take_line(l, at, len, which, err);
        at += len + (at[len] == '\n');
    }
    return rc;
}

/* Adds the lines if enable_configless is set, unless the text already has them. */
int conf_extra_read(struct conf_loader *l, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *parameters = l->priv->written[CONF_KEY_slurmctld_parameters].text;
    int rc = 0;

    if (l->scope == CONF_CLIENT || !slash || !conf_list_has(parameters, "enable_configless"))
        return 0;
    for (size_t i = 0; i < CONF_EXTRA_FILES && rc == 0; i++) {
        _cleanup_free_ char *file = mem_printf("%.*s/%s", (int)(slash - path), path, names[i]);

        if (!l->priv->extra[i].len && !access(file, F_OK))
            rc = read_into(l, file, i, 0, err);
    }
    return rc;
}

const char *conf_extra_file(const struct conf *c, size_t which, const char **text, size_t *len)
{
    *text = c->priv->extra[which].len ? str_cstr(&c->priv->extra[which]) : NULL;
    *len = c->priv->extra[which].len;
    return names[which];
}

void conf_extra_done(struct conf_private *p)
{
    for (size_t i = 0; i < CONF_EXTRA_FILES; i++)
        str_done(&p->extra[i]);
}
