/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/opt.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/opt_priv.h"
#include "cluster/job/job_env.h"

#define NO OPT_ARG_NO
#define REQ OPT_ARG_REQ
#define MAY OPT_ARG_MAY
#define SRUN OPT_SRUN
#define SBATCH OPT_SBATCH
#define SALLOC OPT_SALLOC
#define ALL OPT_ALL
#define OLD OPT_OLD
#define TERMINAL OPT_TERMINAL
#define MEMBER(kind, ctype, member)                                                                \
    kind, offsetof(struct opt, member) + 0 * sizeof((ctype *)0 == &((struct opt *)0)->member), NULL
#define FLAG(member) MEMBER(OPT_T_FLAG, bool, member)
#define TRUE(member) MEMBER(OPT_T_TRUE, protobuf_c_boolean, member)
#define COUNT(member) MEMBER(OPT_T_COUNT, uint32_t, member)
#define NUMBER(member) MEMBER(OPT_T_NUMBER, uint32_t, member)
#define STRING(member) MEMBER(OPT_T_STRING, char *, member)
#define MEMORY(member) MEMBER(OPT_T_MEMORY, uint64_t, member)
#define LIMIT(member) MEMBER(OPT_T_LIMIT, int64_t, member)
#define CALL(function) OPT_T_CALL, 0, opt_set_##function
#define IGNORED OPT_T_IGNORED, 0, NULL
#define REFUSED OPT_T_REFUSED, 0, NULL
#define PLANNED OPT_T_PLANNED, 0, NULL
#define INERT OPT_INERT
#define PROPAGATED OPT_PROPAGATED

#define OPT_ROW(id, name, letter, argument, action, commands, env, metavar, help)                  \
    {OPT_ID_##id, name, letter, argument, action, commands, env, metavar, help},
const struct opt_row opt_rows[] = {
#define OPT OPT_ROW
#define OPT_ALIAS(name, id, commands)
#include "cli/opt.def"
#undef OPT
#undef OPT_ALIAS
};
const size_t opt_row_count = sizeof(opt_rows) / sizeof(opt_rows[0]);

const struct opt_alias opt_aliases[] = {
#define OPT(id, name, letter, argument, action, commands, env, metavar, help)
#define OPT_ALIAS(name, id, commands) {name, OPT_ID_##id, commands},
#include "cli/opt.def"
#undef OPT
#undef OPT_ALIAS
};
const size_t opt_alias_count = sizeof(opt_aliases) / sizeof(opt_aliases[0]);

void opt_init(struct opt *o, enum opt_command command)
{
    *o = (struct opt){.command = command, .now_sec = time(NULL)};
}

void opt_offer(struct opt *o, const struct opt_extras *extras)
{
    static const enum opt_argument arguments[] = {OPT_ARG_NO, OPT_ARG_REQ, OPT_ARG_MAY};

    free(o->extra_rows);
    o->extras = extras;
    o->extra_rows = mem_new_array(struct opt_row, extras->count + 1);
    for (size_t i = 0; i < extras->count; i++)
        o->extra_rows[i] = (struct opt_row){.id = OPT_ID_COUNT,
                                            .name = extras->list[i].name,
                                            .argument = arguments[extras->list[i].has_arg],
                                            .type = OPT_T_EXTRA,
                                            .offset = i,
                                            .commands = OPT_ALL,
                                            .env = "",
                                            .metavar = extras->list[i].arginfo,
                                            .help = extras->list[i].usage};
}

void opt_restart(struct opt *o)
{
    struct opt fresh = {.command = o->command,
                        .component = o->component,
                        .now_sec = o->now_sec,
                        .quiet = o->quiet,
                        .is_reread = true};

    memcpy(fresh.noted, o->noted, sizeof fresh.noted);
    memcpy(fresh.decided, o->decided, sizeof fresh.decided);
    fresh.extras = o->extras;
    fresh.extra_rows = take_ptr(o->extra_rows);
    fresh.notes = o->notes;
    o->notes = (struct str)STR_INIT;
    opt_done(o);
    *o = fresh;
}

static void *member_of(struct opt *o, const struct opt_row *row)
{
    return (char *)o + row->offset;
}

void opt_done(struct opt *o)
{
    for (size_t i = 0; i < opt_row_count; i++) {
        if (opt_rows[i].type != OPT_T_STRING)
            continue;
        char **member = member_of(o, &opt_rows[i]);
        free(*member);
        *member = NULL;
    }
    for (size_t i = 0; i < OPT_ID_COUNT; i++) {
        free(o->given[i]);
        o->given[i] = NULL;
    }
    char **called[] = {&o->x11,
                       &o->gres,
                       &o->gpus,
                       &o->gpus_per_node,
                       &o->gpus_per_socket,
                       &o->gpus_per_task,
                       &o->tres_per_task,
                       &o->node_gres,
                       &o->task_gres,
                       &o->clusters,
                       &o->distribution,
                       &o->job_list,
                       &o->exclude,
                       &o->mail_type,
                       &o->nodelist,
                       &o->propagate,
                       &o->acctg_freq,
                       &o->network,
                       &o->signal,
                       &o->gres_flags,
                       &o->bcast,
                       &o->compress,
                       &o->send_libs,
                       &o->cpu_freq,
                       &o->tres_bind,
                       &o->tres_bind_gpu,
                       &o->gpu_freq,
                       &o->node_counts,
                       &o->task_licenses,
                       &o->next_component};
    for (size_t i = 0; i < sizeof(called) / sizeof(called[0]); i++) {
        free(*called[i]);
        *called[i] = NULL;
    }
    str_done(&o->notes);
    free(take_ptr(o->extra_rows));
}

const char *opt_program(const struct opt *o)
{
    return o->command == OPT_SRUN ? "srun" : o->command == OPT_SBATCH ? "sbatch" : "salloc";
}

int opt_fail(struct opt *o, enum opt_failure how, int status, struct err *err, const char *fmt, ...)
{
    o->failure = how;
    o->exit_status = status;
    va_list ap;
    va_start(ap, fmt);
    err_vset(err, -ERR_PARSE, fmt, ap);
    va_end(ap);
    if (err && o->source == OPT_FROM_SCRIPT && o->line > 0) {
        size_t len = strlen(err->text);
        snprintf(err->text + len, sizeof(err->text) - len, " (%s, line %d)", o->script, o->line);
    }
    return -ERR_PARSE;
}

/* A syntax error with getopt_long()'s message. */
static int bad_syntax(struct opt *o, struct err *err, const char *fmt, const char *a, const char *b)
{
    opt_fail(o, OPT_FAIL_SYNTAX, 255, err, fmt, a, b);
    return -ERR_PARSE;
}

static const struct opt_row *find_letter(const struct opt *o, char letter)
{
    for (size_t i = 0; i < opt_row_count; i++)
        if (opt_rows[i].letter == letter && (opt_rows[i].commands & o->command))
            return &opt_rows[i];
    return NULL;
}

/* The names of all options of this command: rows, aliases, those of plugins; NULL after the last.
 */
static const char *nth_name(const struct opt *o, size_t i, const struct opt_row **row)
{
    if (i < opt_row_count) {
        *row = &opt_rows[i];
        return (*row)->commands & o->command ? (*row)->name : "";
    }
    i -= opt_row_count;
    if (i >= opt_alias_count) {
        i -= opt_alias_count;
        if (!o->extras || i >= o->extras->count)
            return NULL;
        *row = &o->extra_rows[i];
        return (*row)->name;
    }
    *row = &opt_rows[opt_aliases[i].id];
    return opt_aliases[i].commands & o->command ? opt_aliases[i].name : "";
}

const struct opt_row *opt_find_row(enum opt_command command, const char *name)
{
    const struct opt o = {.command = command};
    const struct opt_row *row;
    const char *known;

    for (size_t i = 0; *name && (known = nth_name(&o, i, &row)); i++)
        if (str_eq(known, name))
            return row;
    return NULL;
}

bool opt_knows(enum opt_command command, const char *name)
{
    return opt_find_row(command, name) != NULL;
}

/* Finds an option by its full name or by a unique abbreviation. */
static int find_name(struct opt *o, const char *name, size_t len, const struct opt_row **found,
                     struct err *err)
{
    const struct opt_row *row, *near = NULL;
    const char *candidate;
    bool ambiguous = false;
    _cleanup_str_ struct str possible = STR_INIT;
    for (size_t i = 0; (candidate = nth_name(o, i, &row)); i++) {
        if (!*candidate || strncmp(candidate, name, len) != 0)
            continue;
        if (!candidate[len]) {
            *found = row;
            return 0;
        }
        ambiguous = ambiguous || (near && near != row);
        near = row;
        str_printf(&possible, " '--%s'", candidate);
    }
    _cleanup_free_ char *word = mem_strndup(name, len);
    if (ambiguous)
        return bad_syntax(o, err, "option '--%s' is ambiguous; possibilities:%s", word,
                          str_cstr(&possible));
    if (!near)
        return bad_syntax(o, err, "unrecognized option '--%s'%s", word, "");
    *found = near;
    return 0;
}

static int next_long(struct opt *o, struct opt_cursor *c, struct opt_word *word, struct err *err)
{
    const char *name = c->argv[c->at] + 2;
    size_t len = strcspn(name, "=");
    int r = find_name(o, name, len, &word->row, err);
    if (r < 0)
        return r;
    c->at++;
    word->arg = name[len] == '=' ? name + len + 1 : NULL;
    if (word->arg && word->row->argument == OPT_ARG_NO)
        return bad_syntax(o, err, "option '--%s' doesn't allow an argument%s", word->row->name, "");
    if (!word->arg && word->row->argument == OPT_ARG_REQ) {
        if (c->at >= c->argc)
            return bad_syntax(o, err, "option '--%s' requires an argument%s", word->row->name, "");
        word->arg = c->argv[c->at++];
    }
    return 1;
}

static int next_letter(struct opt *o, struct opt_cursor *c, struct opt_word *word, struct err *err)
{
    char letter[2] = {*c->cluster++, 0};
    word->row = letter[0] == ':' ? NULL : find_letter(o, letter[0]);
    if (!word->row)
        return bad_syntax(o, err, "invalid option -- '%s'%s", letter, "");
    word->arg = NULL;
    if (word->row->argument != OPT_ARG_NO && *c->cluster) {
        word->arg = c->cluster;
        c->cluster = "";
    }
    if (!*c->cluster) {
        c->cluster = NULL;
        c->at++;
    }
    if (word->row->argument == OPT_ARG_REQ && !word->arg) {
        if (c->at >= c->argc)
            return bad_syntax(o, err, "option requires an argument -- '%s'%s", letter, "");
        word->arg = c->argv[c->at++];
    }
    return 1;
}

int opt_next(struct opt *o, struct opt_cursor *c, struct opt_word *word, struct err *err)
{
    if (c->cluster)
        return next_letter(o, c, word, err);
    if (c->at >= c->argc)
        return 0;
    const char *arg = c->argv[c->at];
    if (arg[0] != '-' || !arg[1])
        return 0;
    if (arg[1] != '-') {
        c->cluster = arg + 1;
        return next_letter(o, c, word, err);
    }
    if (!arg[2]) {
        c->at++;
        return 0;
    }
    return next_long(o, c, word, err);
}

int opt_scan_words(struct opt *o, struct opt_cursor *c, struct err *err)
{
    struct opt_word word;
    int r;
    o->source = OPT_FROM_ARGV;
    while ((r = opt_next(o, c, &word, err)) > 0) {
        switch (word.row->id) {
        case OPT_ID_help:
            o->help = true;
            break;
        case OPT_ID_usage:
            o->usage = true;
            break;
        case OPT_ID_version:
            o->version = true;
            break;
        case OPT_ID_quiet:
            o->quiet = true;
            break;
        default:
            break;
        }
        if (o->help || o->usage || o->version)
            return 0; /* printed at once, independent of later options */
    }
    return r;
}

int opt_scan(struct opt *o, int argc, char *const argv[], int *operands, struct err *err)
{
    struct opt_cursor c = {.argv = argv, .argc = argc, .at = 1};
    int r = opt_scan_words(o, &c, err);
    if (r < 0)
        return r;
    *operands = c.at;
    return 0;
}

int opt_apply_argv(struct opt *o, int argc, char *const argv[], struct err *err)
{
    struct opt_cursor c = {.argv = argv, .argc = argc, .at = 1};
    struct opt_word word;
    int r;
    o->source = OPT_FROM_ARGV;
    while ((r = opt_next(o, &c, &word, err)) > 0) {
        r = opt_set(o, word.row, word.arg, err);
        if (r < 0)
            return r;
    }
    return r;
}

/* For input variables of flags: empty, "yes" or a nonzero number enables the flag. */
static bool env_enables(const char *value)
{
    long long number;
    return !*value || str_case_eq(value, "yes") ||
           (str_parse_i64(value, -1000000, 1000000, &number) == 0 && number != 0);
}

static unsigned env_command(const char *name)
{
    if (str_starts(name, "SBATCH_"))
        return OPT_SBATCH;
    if (str_starts(name, "SALLOC_"))
        return OPT_SALLOC;
    if (str_starts(name, "SLURM_HINT") || str_starts(name, "SLURM_CLUSTERS"))
        return OPT_ALL; /* sbatch and salloc read them too */
    return OPT_SRUN;
}

/* Environment variables that may be options, with the set of name lengths, since hundreds of names
 * are looked up. */
struct env {
    VEC(const char *) vars;
    VEC(size_t) lens;
    uint64_t has_length; /* bit N: some name has N modulo 64 characters */
};

static void env_open(struct env *e, char *const envp[])
{
    *e = (struct env){0};
    for (; envp && *envp; envp++) {
        const char *eq = **envp == 'S' ? strchr(*envp, '=') : NULL;

        if (!eq)
            continue;
        vec_push(&e->vars, *envp);
        vec_push(&e->lens, (size_t)(eq - *envp));
        e->has_length |= UINT64_C(1) << (eq - *envp) % 64;
    }
}

static void env_close(struct env *e)
{
    vec_done(&e->vars);
    vec_done(&e->lens);
}

static const char *env_value(const struct env *e, const char *name, size_t len)
{
    if (!(e->has_length >> len % 64 & 1))
        return NULL;
    for (size_t i = 0; i < e->vars.len; i++)
        if (e->lens.data[i] == len && !memcmp(e->vars.data[i], name, len))
            return e->vars.data[i] + len + 1;
    return NULL;
}

static int apply_variable(struct opt *o, const struct opt_row *row, const char *value,
                          struct err *err)
{
    if (row->id == OPT_ID_verbose)
        return *value ? opt_set(o, row, value, err) : 0;
    if (row->id == OPT_ID_requeue && str_case_eq(value, "expedite"))
        return opt_set(o, row, value, err);
    if (row->argument == OPT_ARG_NO || row->id == OPT_ID_requeue)
        return env_enables(value) ? opt_set(o, row, NULL, err) : 0;
    if (row->argument == OPT_ARG_MAY && !*value)
        value = NULL;
    /* An empty value of an option that needs one is ignored: launchers export empty variables. */
    if (row->argument == OPT_ARG_REQ && !*value)
        return 0;
    return opt_set(o, row, value, err);
}

static int apply_row(struct opt *o, const struct opt_row *row, const struct env *env,
                     struct err *err)
{
    for (const char *name = row->env; *name;) {
        size_t len = strcspn(name, " ");
        const char *value = env_value(env, name, len);
        if (value && env_command(name) & o->command) {
            o->variable = name;
            int r = apply_variable(o, row, value, err);
            if (r < 0 && err) {
                size_t end = strlen(err->text);
                snprintf(err->text + end, sizeof(err->text) - end, " (from %.*s)", (int)len, name);
            }
            if (r < 0)
                return r;
        }
        name += len + strspn(name + len, " ");
    }
    return 0;
}

static int apply_env(struct opt *o, char *const envp[], const struct env *env, struct err *err)
{
    o->in_job = env_value(env, "SLURM_JOB_ID", strlen("SLURM_JOB_ID"));
    for (size_t i = 0; i < opt_row_count; i++) {
        int r = opt_rows[i].commands & o->command ? apply_row(o, &opt_rows[i], env, err) : 0;
        if (r < 0)
            return r;
    }
    o->variable = NULL;
    if (o->extras && o->extras->set && !o->is_reread)
        o->extras->environment(o->extras->ctx, o->component, envp);
    const char *file = env_value(env, "SLURM_HOSTFILE", strlen("SLURM_HOSTFILE"));
    if (file && *file)
        return opt_apply_hostfile(o, file, err);
    opt_set_string(&o->job_list, env_value(env, JOB_ENV_LIST, strlen(JOB_ENV_LIST)));
    return 0;
}

int opt_apply_env(struct opt *o, char *const envp[], struct err *err)
{
    struct env env;
    int r;
    o->source = OPT_FROM_ENV;
    env_open(&env, envp);
    r = apply_env(o, envp, &env, err);
    env_close(&env);
    return r;
}

/* --- converting the command line of one command to that of another ---------------------------
 */

static char *format_word(const struct opt_word *word)
{
    return word->arg ? mem_printf("--%s=%s", word->row->name, word->arg)
                     : mem_printf("--%s", word->row->name);
}

static void note_left_out(struct opt *o, const struct opt_row *row, const char *because)
{
    if (o->noted[row->id])
        return;
    o->noted[row->id] = 1;
    str_printf(&o->notes, "warning: option --%s has no effect with --%s\n", row->name, because);
}

char **opt_translate(struct opt *o, enum opt_id because, enum opt_command to, int argc,
                     char *const argv[], struct err *err)
{
    struct opt_cursor c = {.argv = argv, .argc = argc, .at = 1};
    const char *reason = opt_rows[because].name;
    struct opt_word word;
    VEC(char *) words = {0};
    int r;
    str_clear(&o->notes);
    memset(o->noted, 0, sizeof(o->noted));
    vec_push(&words, mem_strdup(opt_program(&(struct opt){.command = to})));
    while ((r = opt_next(o, &c, &word, err)) > 0) {
        if (word.row->id == OPT_ID_debug) /* an older name of another option */
            word.row = &opt_rows[OPT_ID_verbose];
        if (word.row->id == because)
            continue;
        if (word.row->commands & to)
            vec_push(&words, format_word(&word));
        else
            note_left_out(o, word.row, reason);
    }
    if (r == 0 && c.at < argc && argv[c.at][0] == '-')
        vec_push(&words, mem_strdup("--"));
    for (; r == 0 && c.at < argc; c.at++)
        vec_push(&words, mem_strdup(argv[c.at]));
    vec_push(&words, NULL);
    if (r == 0)
        return words.data;
    opt_free_words(words.data);
    return NULL;
}

void opt_free_words(char **words)
{
    for (char **w = words; w && *w; w++)
        free(*w);
    free(words);
}
