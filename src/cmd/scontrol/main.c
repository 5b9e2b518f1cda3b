/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scontrol: shows and changes the state of the cluster, one command at a time or interactively.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cmd/scontrol/scontrol.h"
#include "show/names.h"

#define LINE_BYTES_MAX 65536
#define WORDS_MAX 1024
#define HELP_WIDTH 78
#define WORD_LEAST 3 /* minimum length of an abbreviated command that is not unique */

struct scontrol scontrol;

#define ARGS_DEF "cmd/scontrol/scontrol.def"
#include "cli/args_rows.h"

static const struct args_table table = ARGS_TABLE("scontrol", "[COMMAND [ARGUMENTS]]");

static scontrol_run run_all, run_cluster, run_details, run_hide, run_oneliner, run_quiet,
    run_repeat, run_verbose;

static const struct command {
    const char *word;
    scontrol_run *run; /* NULL: not available */
    int least, most;
    /* For an unavailable command, 'arguments' names the alternative. */
    const char *arguments, *help;
    bool is_session; /* only when commands are read from standard input */
} commands[] = {
#define COMMAND(id, word, least, most, arguments, help)                                            \
    {word, run_##id, least, most, arguments, help, false},
#define SESSION(id, word, least, most, arguments, help)                                            \
    {word, run_##id, least, most, arguments, help, true},
#define NOT_YET(word, instead) {word, NULL, 0, ARGS_MANY, instead, "", false},
#include "cmd/scontrol/commands.def"
#undef COMMAND
#undef SESSION
#undef NOT_YET
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void put_missing(struct str *out)
{
    size_t column = HELP_WIDTH;
    str_puts(out, "\nCommands of Slurm's that are not available in this version:");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (commands[i].run)
            continue;
        column += strlen(commands[i].word) + 2;
        if (column > HELP_WIDTH) {
            str_puts(out, "\n ");
            column = strlen(commands[i].word) + 3;
        }
        str_printf(out, " %s", commands[i].word);
    }
    str_putc(out, '\n');
}

int run_help(int argc, char **argv)
{
    struct str *out = cmd_out();
    args_format_help(&table, out);
    str_puts(out, "Commands (without one they are read from standard input):\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command *c = &commands[i];
        if (!*c->help)
            continue;
        size_t start = out->len;
        str_printf(out, "  %s %s", c->word, c->arguments);
        do
            str_putc(out, ' ');
        while (out->len - start < 36);
        if (str_eq(c->help, "@entities"))
            show_put_entities(out);
        else
            str_puts(out, c->help);
        str_puts(out, c->is_session ? " (not on the command line)\n" : "\n");
    }
    put_missing(out);
    return 0;
}

int run_version(int argc, char **argv)
{
    str_puts(cmd_out(), "slurm " SLURM_VERSION "\n");
    return 0;
}

int run_quit(int argc, char **argv)
{
    scontrol.leave = true;
    return 0;
}

static int run_all(int argc, char **argv)
{
    scontrol.all = true;
    return 0;
}

static int run_hide(int argc, char **argv)
{
    scontrol.all = false;
    return 0;
}

static int run_details(int argc, char **argv)
{
    scontrol.details = true;
    return 0;
}

static int run_oneliner(int argc, char **argv)
{
    scontrol.oneliner = true;
    return 0;
}

static int run_quiet(int argc, char **argv)
{
    scontrol.quiet = true;
    cmd_set_level(true, 0);
    return 0;
}

static int run_verbose(int argc, char **argv)
{
    scontrol.quiet = false;
    cmd_set_level(false, 1);
    return 0;
}

static int run_cluster(int argc, char **argv)
{
    struct err err = {0};
    if (cmd_check_clusters(argv[0], &err) == 0)
        return 0;
    cmd_error("%s", err.text);
    return 1;
}

/* Called only without an earlier command: the interactive loop repeats the others. */
static int run_repeat(int argc, char **argv)
{
    cmd_line("no previous command to repeat");
    return 1;
}

/* Of several commands that begin with the word, the first one is meant. */
static const struct command *find_command(const char *word)
{
    const struct command *near = NULL;
    bool unique = true;
    size_t len = strlen(word);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (commands[i].is_session && !scontrol.is_session)
            continue;
        if (strncasecmp(commands[i].word, word, len) != 0)
            continue;
        if (!commands[i].word[len])
            return &commands[i];
        unique = unique && (!near || near->run == commands[i].run);
        near = near ? near : &commands[i];
    }
    return unique || len >= WORD_LEAST ? near : NULL;
}

static int run_command(int argc, char **argv)
{
    const struct command *c = find_command(argv[0]);
    int count = argc - 1;
    if (!c) {
        cmd_line("invalid keyword: %s", argv[0]);
        return 1;
    }
    if (!c->run) {
        cmd_error("%s is not available in this version%s%s", c->word, *c->arguments ? "; see " : "",
                  c->arguments);
        return 1;
    }
    if (count < c->least || count > c->most) {
        cmd_line("too %s arguments for keyword:%s", count < c->least ? "few" : "many", c->word);
        return 1;
    }
    if ((scontrol.json || scontrol.yaml) && c->run != run_show && c->run != run_ping)
        cmd_error("--%s has no effect on '%s'", scontrol.json ? "json" : "yaml", c->word);
    return c->run(count, argv + 1);
}

/* --uid: only the user who runs scontrol is accepted. */
static int check_user(const char *name)
{
    uint32_t uid;
    if (names_find_user(name, &uid) < 0) {
        cmd_error("invalid --uid '%s': there is no such user", name);
        return 2;
    }
    if (uid == getuid())
        return 0;
    cmd_error("--uid=%s is not supported: run scontrol as that user", name);
    return 2;
}

static int set_scontrol_option(void *ctx, int id, const char *value)
{
    switch (id) {
    case ID_uid:
        return check_user(value);
    case ID_all:
        scontrol.all = true;
        break;
    case ID_hide:
        scontrol.all = false;
        break;
    case ID_details:
        scontrol.details = true;
        break;
    case ID_dry_run:
        scontrol.dry_run = true;
        break;
    case ID_future:
        scontrol.future = true;
        break;
    case ID_json:
        scontrol.json = true;
        break;
    case ID_yaml:
        scontrol.yaml = true;
        break;
    case ID_oneliner:
        scontrol.oneliner = true;
        break;
    case ID_quiet:
        scontrol.quiet = true;
        break;
    default:
        break;
    }
    return 0;
}

/* Splits a line into words, without quotes: "a b" is one word. Changes the line. */
static int split_words(char *line, char **words)
{
    int count = 0;
    char *out = line;
    for (char *in = line; count < WORDS_MAX;) {
        in += strspn(in, " \t\n");
        if (!*in)
            break;
        char quote = 0;
        words[count++] = out;
        for (; *in && (quote || !strchr(" \t\n", *in)); in++) {
            if (quote ? *in == quote : *in == '"' || *in == '\'')
                quote = quote ? 0 : *in;
            else
                *out++ = *in;
        }
        bool last = !*in;
        in += !last;
        *out++ = 0;
        if (last)
            break;
    }
    return count;
}

static int run_dialogue(void)
{
    static char line[LINE_BYTES_MAX], last[LINE_BYTES_MAX];
    static char *words[WORDS_MAX];
    int status = 0;
    scontrol.is_session = true;
    while (!scontrol.leave) {
        if (isatty(STDIN_FILENO)) {
            fputs("scontrol: ", stdout);
            fflush(stdout);
        }
        if (!fgets(line, sizeof(line), stdin))
            break;
        char *text = line + strspn(line, " \t");
        if (!strncmp(text, "!!", 2) && !text[2 + strspn(text + 2, " \t\n")] && *last)
            memcpy(line, last, sizeof line);
        else if (text[strspn(text, "\n")])
            memcpy(last, line, sizeof last);
        int count = split_words(line, words);
        if (count > 0 && run_command(count, words))
            status = 1;
        if (cmd_flush())
            return 1;
    }
    return status;
}

/* "setdebugflags -Backfill": the words after the command are no options. The texts stay the
 * caller's. */
static char **end_options_at_flags(int *argc, char **argv)
{
    char **copy = mem_new_array(char *, (size_t)*argc + 2);
    int count = 0;
    bool ended = false;
    for (int i = 0; i < *argc; i++) {
        copy[count++] = argv[i];
        if (i > 0 && !ended && str_case_eq(argv[i], "setdebugflags")) {
            copy[count++] = (char *)"--";
            ended = true;
        }
    }
    *argc = count;
    return copy;
}

int main(int argc, char **argv)
{
    _cleanup_free_ char **line = end_options_at_flags(&argc, argv);
    argv = line;
    struct args_common common = {0};
    struct err err = {0};
    int first;
    cmd_start("scontrol");
    if (args_parse(&table, argc, argv, set_scontrol_option, NULL, &common, &first))
        return 1;
    if (args_is_info(&common)) {
        common.help ? run_help(0, NULL) : run_version(0, NULL);
        return cmd_flush();
    }
    cmd_set_level(scontrol.quiet, common.verbose);
    if (common.clusters && cmd_check_clusters(common.clusters, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    if (first >= argc)
        return run_dialogue();
    int status = run_command(argc - first, argv + first);
    int written = cmd_flush();
    return status ? status : written;
}
