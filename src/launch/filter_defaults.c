/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_filter/user_defaults: the user's own defaults, in ~/.slurm/defaults, read line by line:
 *
 *   OPTION=VALUE
 *   COMMAND:CLUSTER:OPTION=VALUE      COMMAND is salloc, sbatch, srun or *, CLUSTER a name or * */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "launch/filter_plugin.h"

#define FILE_MAX (1u << 20)

struct user_defaults {
    const struct filter_site *site;
    struct str text;
    char *path;
};

struct line {
    const char *path;
    unsigned number;
    char *command, *cluster, *option, *value; /* command NULL: for every command and cluster */
};

/* NULL: there is none. */
static const char *find_home(void)
{
    const char *home = getenv("HOME");
    const struct passwd *user = home && *home ? NULL : getpwuid(getuid());

    return user ? user->pw_dir : home;
}

static int read_file(const struct filter_site *site, void **state, struct err *err)
{
    const char *home = find_home();
    struct user_defaults *d = mem_new(struct user_defaults);
    int rc;

    d->site = site;
    d->path = mem_printf("%s/.slurm/defaults", home ? home : "");
    rc = access(d->path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)
             ? 0
             : path_read_file(d->path, FILE_MAX, &d->text, err);
    *state = d;
    return rc;
}

static void close_file(void *state)
{
    struct user_defaults *d = state;

    str_done(&d->text);
    free(d->path);
    free(d);
}

static char *trim_blanks(char *text)
{
    text += strspn(text, " \t\r");
    for (size_t len = strlen(text); len && strchr(" \t\r", text[len - 1]); len--)
        text[len - 1] = '\0';
    return text;
}

/* Splits the line in place. Returns false for an empty line. With only one colon, the text before
 * the value is taken as the option, which no command knows. */
static bool split_line(char *text, struct line *l)
{
    char *equals, *colon, *second;

    text = trim_blanks(text);
    equals = strchr(text, '=');
    if (*text == '#' || !equals)
        return false;
    *equals = '\0';
    l->value = trim_blanks(equals + 1);
    l->option = trim_blanks(text);
    l->command = l->cluster = NULL;
    colon = strchr(text, ':');
    second = colon ? strchr(colon + 1, ':') : NULL;
    if (!second)
        return true;
    *colon = *second = '\0';
    l->command = trim_blanks(text);
    l->cluster = trim_blanks(colon + 1);
    l->option = trim_blanks(second + 1);
    return true;
}

static void report_line(const struct user_defaults *d, const struct line *l, const char *what,
                        const char *word)
{
    _cleanup_free_ char *text = mem_printf("%s:%u: %s%s", l->path, l->number, what, word);

    d->site->say(d->site->ctx, FILTER_ERROR, filter_user_defaults.name, text);
}

/* Whether the line applies to this command and cluster. */
static bool is_for_us(const struct user_defaults *d, const struct line *l)
{
    static const char *const commands[] = {"*", "salloc", "sbatch", "srun"};
    bool known = false;

    if (!l->command)
        return true;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        known = known || str_eq(l->command, commands[i]);
    if (!known)
        report_line(d, l, "unknown command, use salloc, sbatch, srun or *: ", l->command);
    return known && (str_eq(l->command, "*") || str_eq(l->command, d->site->program)) &&
           (str_eq(l->cluster, "*") || str_eq(l->cluster, d->site->cluster));
}

/* As in Slurm, an invalid line is reported and the others apply. An option that only another
 * command has is not an error. */
static int apply_lines(void *state, struct filter_options *o, bool early, struct err *err)
{
    const struct user_defaults *d = state;
    _cleanup_free_ char *text = mem_strdup(str_cstr(&d->text));
    struct line l = {.path = d->path};

    for (char *at = text, *next; at && !early; at = next) {
        struct err why = {0};
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        l.number++;
        if (!split_line(at, &l) || !is_for_us(d, &l))
            continue;
        int rc = o->set(o, l.option, l.value, &why);
        if (rc < 0 && rc != -ERR_NOT_SUPPORTED)
            report_line(d, &l, why.text, "");
    }
    return 0;
}

const struct filter_plugin filter_user_defaults = {
    .name = "user_defaults",
    .open = read_file,
    .close = close_file,
    .set_defaults = apply_lines,
};
