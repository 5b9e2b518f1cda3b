/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "#SBATCH", "#PBS" and "#BSUB" lines: options between the interpreter line and the first command
 * of a script. Words are split as in a shell: blanks, single and double quotes, backslash; "#"
 * starts a comment. Options of qsub and of LSF's bsub are accepted if they have an equivalent.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/opt_priv.h"
#include "cluster/job/job_set_text.h"

#define SBATCH_PREFIX "#SBATCH"
#define PBS_PREFIX "#PBS"
#define BSUB_PREFIX "#BSUB"
#define NO_ARGUMENT "hVzIX" /* letters of qsub without an argument; all others have one */

/* Returns 1 to stop reading lines. */
typedef int apply_words_fn(struct opt *o, int argc, char *const *argv, struct err *err);

struct words {
    VEC(char *) list; /* words point into text */
    char *text;
};

static void free_words(struct words *w)
{
    free(w->text);
    vec_done(&w->list);
}

/* Splits in place: the result is never longer than the text. Returns a quote that was not closed,
 * or 0. */
static char split_words(char *text, struct words *w)
{
    char *in = text, *out = text;
    for (;;) {
        in += strspn(in, " \t\r");
        if (!*in || *in == '#')
            return 0;
        char *word = out;
        char quote = 0;
        for (; *in && (quote || !strchr(" \t\r", *in)); in++) {
            if (*in == '\\' && quote != '\'') {
                if (in[1])
                    *out++ = *++in;
            } else if (quote ? *in == quote : *in == '"' || *in == '\'') {
                quote = quote ? 0 : *in;
            } else {
                *out++ = *in;
            }
        }
        if (quote)
            return quote;
        bool last = !*in; /* before the NUL may overwrite it */
        in += !last;
        *out++ = 0;
        if (w->list.len < OPT_WORDS_MAX)
            vec_push(&w->list, word);
        if (last)
            return 0;
    }
}

static bool begins_component(const char *word)
{
    return job_set_text_separates(word, strlen(word));
}

static int apply_sbatch_words(struct opt *o, int argc, char *const *argv, struct err *err)
{
    struct opt_cursor c = {.argv = argv, .argc = argc};
    struct opt_word word;
    int r;
    bool begins = argc && begins_component(argv[0]),
         has_name = begins && argc == 2 && str_starts(argv[1], "name=");
    if (has_name)
        opt_set_string(&o->next_component, argv[1] + strlen("name="));
    if (has_name || (begins && argc == 1))
        return 1;
    while ((r = opt_next(o, &c, &word, err)) > 0) {
        r = opt_set(o, word.row, word.arg, err);
        if (r < 0)
            return r;
    }
    if (r == 0 && c.at < c.argc)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                        "Invalid directive found in batch script: %s%s", c.argv[c.at],
                        begins_component(c.argv[c.at]) ? " is not alone on its line" : "");
    return r;
}

static int apply_line(struct opt *o, const char *line, size_t len, apply_words_fn *apply,
                      struct err *err)
{
    _cleanup_(free_words) struct words w = {.text = mem_strndup(line, len)};
    _cleanup_free_ char *whole = mem_strdup(w.text);
    char quote = split_words(w.text, &w);
    if (quote) {
        int number = o->line;
        o->line = 0; /* the text already has the position */
        return opt_fail(o, OPT_FAIL_FATAL, 1, err, "%s: line %d: Unmatched `%c` in [%s]", o->script,
                        number, quote, whole);
    }
    return apply(o, (int)w.list.len, w.list.data, err);
}

/* Applies each line that starts with 'prefix', up to the first command. */
static int apply_directives(struct opt *o, struct opt_place *place, const char *prefix,
                            apply_words_fn *apply, struct err *err)
{
    const char *text = place->script->data, *end = text + place->script->len;
    const char *at = text + place->at;
    size_t prefix_len = strlen(prefix);
    o->source = OPT_FROM_SCRIPT;
    o->script = place->script->name;
    o->line = place->line;
    int r = 0;
    while (at < end && r == 0) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((eol ? eol : end) - at);
        const char *first = at;
        while (first < at + line_len && (*first == ' ' || *first == '\t' || *first == '\r'))
            first++;
        o->line++;
        if (first < at + line_len && *first != '#')
            break;
        if (line_len > prefix_len && !memcmp(at, prefix, prefix_len))
            r = apply_line(o, at + prefix_len, line_len - prefix_len, apply, err);
        at = eol ? eol + 1 : end;
    }
    place->at = (size_t)(at - text);
    place->line = o->line;
    o->script = NULL;
    o->line = 0;
    return r;
}

int opt_apply_section(struct opt *o, struct opt_place *place, struct err *err)
{
    return apply_directives(o, place, SBATCH_PREFIX, apply_sbatch_words, err);
}

/* --- #PBS --------------------------------------------------------------------------------------
 */

/* The word is an option of these lines, with its dash. */
static void note_unused_option(struct opt *o, const char *prefix, const char *word, const char *arg)
{
    str_printf(&o->notes, "warning: %s %s%s%s has no effect (%s, line %d)\n", prefix, word,
               arg ? " " : "", arg ? arg : "", o->script, o->line);
}

static void note_without_effect(struct opt *o, const char *letter, const char *arg)
{
    note_unused_option(o, PBS_PREFIX, letter, arg);
}

/* Sets the option unless a "#SBATCH" line, or an earlier "#PBS" line, has set it. */
static int set_unless_given(struct opt *o, enum opt_id id, const char *arg, struct err *err)
{
    return o->from[id] > OPT_FROM_DEFAULTS ? 0 : opt_set(o, &opt_rows[id], arg, err);
}

/* "4gb" becomes "4g"; a plain number, or one with "b", is in bytes. */
static int set_memory(struct opt *o, enum opt_id id, const char *arg, struct err *err)
{
    size_t digits = strspn(arg, "0123456789"), len = strlen(arg);
    bool byte = len > digits && tolower((unsigned char)arg[len - 1]) == 'b';
    _cleanup_free_ char *size = NULL;
    if (digits && digits < 19 && digits + byte == len)
        size = mem_printf("%lluK", (strtoull(arg, NULL, 10) + 1023) / 1024);
    else
        size = mem_strndup(arg, len - byte);
    return set_unless_given(o, id, size, err);
}

/* "[[HOURS:]MINUTES:]SECONDS" */
static int set_walltime(struct opt *o, const char *arg, struct err *err)
{
    bool seconds = *arg && !arg[strspn(arg, "0123456789")];
    _cleanup_free_ char *limit = mem_printf("%s%s", seconds ? "0:" : "", arg);
    return set_unless_given(o, OPT_ID_time, limit, err);
}

/* One resource of "-l", NAME=VALUE. */
static int set_resource(struct opt *o, const char *name, const char *value, struct err *err)
{
    static const struct {
        const char *name;
        enum opt_id id;
    } known[] = {
        {"nodes", OPT_ID_nodes},         {"select", OPT_ID_nodes},
        {"ppn", OPT_ID_ntasks_per_node}, {"mpiprocs", OPT_ID_ntasks_per_node},
        {"procs", OPT_ID_ntasks},        {"ncpus", OPT_ID_mincpus},
    };
    if (str_eq(name, "walltime"))
        return set_walltime(o, value, err);
    if (str_eq(name, "mem"))
        return set_memory(o, OPT_ID_mem, value, err);
    if (str_eq(name, "pmem"))
        return set_memory(o, OPT_ID_mem_per_cpu, value, err);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_eq(name, known[i].name))
            return set_unless_given(o, known[i].id, value, err);
    _cleanup_free_ char *whole = mem_printf("%s=%s", name, value);
    note_without_effect(o, "-l", whole);
    return 0;
}

/* "nodes=2:ppn=4,walltime=1:00:00": commas separate resources, and a colon does if the name of a
 * resource follows; colons in a time stay. */
static int set_resources(struct opt *o, const char *list, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(list);
    int r = 0;
    for (char *item = copy, *next; item && *item && r == 0; item = next) {
        char *value = item + strcspn(item, "=");
        next = value + strcspn(value, ",:");
        while (*next == ':' && isdigit((unsigned char)next[1]))
            next += 1 + strcspn(next + 1, ",:");
        next = *next ? (*next = 0, next + 1) : NULL;
        if (!*value) {
            note_without_effect(o, "-l", item);
            continue;
        }
        *value++ = 0;
        r = set_resource(o, item, value, err);
    }
    return r;
}

/* "abe" */
static int set_mail(struct opt *o, const char *letters, struct err *err)
{
    _cleanup_str_ struct str types = STR_INIT;
    for (const char *c = letters; *c; c++) {
        const char *type = *c == 'a' ? "FAIL" : *c == 'b' ? "BEGIN" : *c == 'e' ? "END" : NULL;
        if (type)
            str_printf(&types, "%s%s", types.len ? "," : "", type);
    }
    return set_unless_given(o, OPT_ID_mail_type, types.len ? str_cstr(&types) : "NONE", err);
}

/* "host:path" is the path. */
static const char *skip_host(const char *arg)
{
    const char *colon = strchr(arg, ':');
    return colon ? colon + 1 : arg;
}

/* "attribute=value" of -W. */
static int set_attribute(struct opt *o, const char *arg, struct err *err)
{
    if (str_starts(arg, "depend="))
        return set_unless_given(o, OPT_ID_dependency, arg + strlen("depend="), err);
    note_without_effect(o, "-W", arg);
    return 0;
}

static int set_queue(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_free_ char *name = mem_strndup(arg, strcspn(arg, "@"));
    return *name ? set_unless_given(o, OPT_ID_partition, name, err) : 0;
}

static int set_variables(struct opt *o, const char *list, struct err *err)
{
    _cleanup_free_ char *all = mem_printf("ALL,%s", list);
    return set_unless_given(o, OPT_ID_export, all, err);
}

static int apply_letter(struct opt *o, char letter, const char *arg, struct err *err)
{
    const char word[] = {'-', letter, 0};
    switch (letter) {
    case 'A':
        return set_unless_given(o, OPT_ID_account, arg, err);
    case 'N':
        return set_unless_given(o, OPT_ID_job_name, arg, err);
    case 'q':
        return set_queue(o, arg, err);
    case 'o':
        return set_unless_given(o, OPT_ID_std_out, skip_host(arg), err);
    case 'e':
        return set_unless_given(o, OPT_ID_std_err, skip_host(arg), err);
    case 'l':
        return set_resources(o, arg, err);
    case 'm':
        return set_mail(o, arg, err);
    case 'M':
        return set_unless_given(o, OPT_ID_mail_user, arg, err);
    case 'r':
        return set_unless_given(o, *arg == 'n' ? OPT_ID_no_requeue : OPT_ID_requeue, NULL, err);
    case 'h':
        return set_unless_given(o, OPT_ID_hold, NULL, err);
    case 'J':
    case 't':
        return set_unless_given(o, OPT_ID_array, arg, err);
    case 'd':
    case 'w':
        return set_unless_given(o, OPT_ID_chdir, arg, err);
    case 'v':
        return set_variables(o, arg, err);
    case 'j': /* a job has one file for both by default */
        if (!str_eq(arg, "oe"))
            note_without_effect(o, word, arg);
        return 0;
    case 'W':
        return set_attribute(o, arg, err);
    case 'V': /* all variables are exported by default */
        return 0;
    default:
        note_without_effect(o, word, *arg ? arg : NULL);
        return 0;
    }
}

static int apply_pbs_words(struct opt *o, int argc, char *const *argv, struct err *err)
{
    int r = 0;
    for (int i = 0; i < argc && r == 0; i++) {
        const char *word = argv[i], *arg = "";
        if (word[0] != '-' || !isalpha((unsigned char)word[1]))
            return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                            "Invalid #PBS directive found in batch script: %s", word);
        bool alone = strchr(NO_ARGUMENT, word[1]);
        if (!alone)
            arg = word[2] ? word + 2 : i + 1 < argc ? argv[++i] : NULL;
        if (!arg)
            return opt_fail(o, OPT_FAIL_ERROR, 255, err, "#PBS -%c needs an argument", word[1]);
        r = apply_letter(o, word[1], arg, err);
    }
    return r;
}

/* --- #BSUB -------------------------------------------------------------------------------------
 */

/* "name", or "name[1-9]%3" of an array. */
static int set_bsub_name(struct opt *o, const char *arg, struct err *err)
{
    size_t len = strcspn(arg, "[");
    const char *list = arg + len, *end = strchr(list, ']');
    _cleanup_free_ char *name = mem_strndup(arg, len);
    int r = *name ? set_unless_given(o, OPT_ID_job_name, name, err) : 0;
    if (r < 0 || !end)
        return r;
    _cleanup_free_ char *tasks = mem_printf("%.*s%s", (int)(end - list) - 1, list + 1, end + 1);
    return set_unless_given(o, OPT_ID_array, tasks, err);
}

/* "%J" is the job id, and "%I" the index in the array. */
static int set_bsub_file(struct opt *o, enum opt_id id, const char *arg, struct err *err)
{
    _cleanup_free_ char *name = mem_strdup(arg);
    for (char *at = strchr(name, '%'); at && at[1]; at = strchr(at + 2, '%'))
        at[1] = at[1] == 'J' ? 'A' : at[1] == 'I' ? 'a' : at[1];
    return set_unless_given(o, id, name, err);
}

/* "[HOURS:]MINUTES", of a machine that may follow a slash. */
static int set_bsub_limit(struct opt *o, const char *arg, struct err *err)
{
    size_t len = strcspn(arg, "/");
    bool has_hours = memchr(arg, ':', len) != NULL;
    _cleanup_free_ char *limit = mem_printf("%.*s%s", (int)len, arg, has_hours ? ":00" : "");
    return set_unless_given(o, OPT_ID_time, limit, err);
}

/* A plain number is in KiB; "MB" is "M". */
static int set_bsub_memory(struct opt *o, const char *arg, struct err *err)
{
    size_t digits = strspn(arg, "0123456789"), len = strlen(arg);
    bool byte = len > digits + 1 && tolower((unsigned char)arg[len - 1]) == 'b';
    _cleanup_free_ char *size =
        mem_printf("%.*s%s", (int)(len - byte), arg, digits == len ? "K" : "");
    return set_unless_given(o, OPT_ID_mem_per_cpu, size, err);
}

/* "n1 n2" */
static int set_bsub_hosts(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_free_ char *hosts = mem_strdup(arg);
    for (char *at = strchr(hosts, ' '); at; at = strchr(at, ' '))
        *at = ',';
    return set_unless_given(o, OPT_ID_nodelist, hosts, err);
}

/* "4", or "2,4", of which the most counts. */
static int set_bsub_tasks(struct opt *o, const char *arg, struct err *err)
{
    const char *comma = strchr(arg, ',');
    return set_unless_given(o, OPT_ID_ntasks, comma ? comma + 1 : arg, err);
}

/* Without these conditions a job would run too early. */
static int refuse_bsub_condition(struct opt *o, const char *arg, struct err *err)
{
    return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                    "#BSUB -w %s: write it as a " SBATCH_PREFIX " --dependency line", arg);
}

/* Options that have an equivalent. 'set' NULL: the argument is that of the option with this id. */
static const struct bsub_option {
    const char *name;
    bool is_flag;
    enum opt_id id;
    int (*set)(struct opt *o, const char *arg, struct err *err);
} bsub_options[] = {
    {"J", false, 0, set_bsub_name},      {"W", false, 0, set_bsub_limit},
    {"M", false, 0, set_bsub_memory},    {"m", false, 0, set_bsub_hosts},
    {"n", false, 0, set_bsub_tasks},     {"w", false, 0, refuse_bsub_condition},
    {"o", false, OPT_ID_std_out, NULL},  {"oo", false, OPT_ID_std_out, NULL},
    {"e", false, OPT_ID_std_err, NULL},  {"eo", false, OPT_ID_std_err, NULL},
    {"i", false, OPT_ID_std_in, NULL},   {"q", false, OPT_ID_partition, NULL},
    {"cwd", false, OPT_ID_chdir, NULL},  {"u", false, OPT_ID_mail_user, NULL},
    {"x", true, OPT_ID_exclusive, NULL}, {"H", true, OPT_ID_hold, NULL},
    {"r", true, OPT_ID_requeue, NULL},   {"rn", true, OPT_ID_no_requeue, NULL},
};

static const struct bsub_option *find_bsub_option(const char *name)
{
    for (size_t i = 0; i < sizeof(bsub_options) / sizeof(bsub_options[0]); i++)
        if (str_eq(bsub_options[i].name, name))
            return &bsub_options[i];
    return NULL;
}

static int apply_bsub_option(struct opt *o, const struct bsub_option *b, const char *arg,
                             struct err *err)
{
    if (b->set)
        return b->set(o, arg, err);
    if (b->id == OPT_ID_std_out || b->id == OPT_ID_std_err || b->id == OPT_ID_std_in)
        return set_bsub_file(o, b->id, arg, err);
    return set_unless_given(o, b->id, arg, err);
}

/* An unknown option has the next word as its argument unless that is an option, too. */
static int apply_bsub_words(struct opt *o, int argc, char *const *argv, struct err *err)
{
    int r = 0;
    for (int i = 0; i < argc && r == 0; i++) {
        const char *word = argv[i];
        const struct bsub_option *b = *word == '-' ? find_bsub_option(word + 1) : NULL;
        bool has_next = i + 1 < argc && (b || argv[i + 1][0] != '-');
        const char *arg = has_next && !(b && b->is_flag) ? argv[++i] : NULL;
        if (*word != '-')
            return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                            "Invalid #BSUB directive found in batch script: %s", word);
        if (!b)
            note_unused_option(o, BSUB_PREFIX, word, arg);
        else if (!arg && !b->is_flag)
            return opt_fail(o, OPT_FAIL_ERROR, 255, err, "#BSUB %s needs an argument", word);
        else
            r = apply_bsub_option(o, b, arg, err);
    }
    return r;
}

int opt_apply_pbs(struct opt *o, const struct opt_script *script, struct err *err)
{
    struct opt_place pbs = {.script = script}, bsub = pbs;
    int r = apply_directives(o, &pbs, PBS_PREFIX, apply_pbs_words, err);
    return r < 0 ? r : apply_directives(o, &bsub, BSUB_PREFIX, apply_bsub_words, err);
}
