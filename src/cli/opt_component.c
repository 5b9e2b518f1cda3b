/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/opt_component.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/job_arg.h"
#include "cli/opt_priv.h"
#include "cluster/job/job_set_text.h"

/* --- the list ----------------------------------------------------------------------------------
 */

static struct opt_component *add_component(struct opt_components *cs, enum opt_command command)
{
    struct opt_component *c = mem_new(struct opt_component);
    opt_init(&c->opt, command);
    c->opt.component = cs->count;
    cs->list[cs->count++] = c;
    return c;
}

/* Adds a component to the end of the list; its command line is empty. */
static struct opt_component *add_later_component(struct opt_components *cs)
{
    const struct opt_component *leader = cs->list[0];
    struct opt_component *c = add_component(cs, leader->opt.command);
    c->opt.now_sec = leader->opt.now_sec;
    if (leader->opt.extras)
        opt_offer(&c->opt, leader->opt.extras);
    return c;
}

void opt_components_init(struct opt_components *cs, enum opt_command command)
{
    *cs = (struct opt_components){0};
    add_component(cs, command);
}

void opt_components_done(struct opt_components *cs)
{
    for (size_t i = 0; i < cs->count; i++) {
        opt_done(&cs->list[i]->opt);
        free(cs->list[i]->argv);
        free(cs->list[i]);
    }
    cs->count = 0;
}

/* Records the failed component and names it in the message. Returns 'code'. */
static int fail_component(struct opt_components *cs, size_t offset, int code, struct err *err)
{
    cs->failed = offset;
    if (err && cs->count > 1) {
        size_t len = strlen(err->text);
        snprintf(err->text + len, sizeof(err->text) - len, " (component %zu)", offset);
    }
    return code;
}

/* --- the command line --------------------------------------------------------------------------
 */

/* Finds the end of the component that starts at 'at': a ":" or argc. *operands is its first
 * operand. */
static int find_end(struct opt *o, int argc, char *const argv[], int at, int *operands, int *end,
                    struct err *err)
{
    struct opt_cursor c = {.argv = argv, .argc = argc, .at = at};
    int r = opt_scan_words(o, &c, err);
    if (r < 0)
        return r;
    *operands = *end = c.at;
    if (o->help || o->usage || o->version)
        *end = argc;
    while (*end < argc && !str_eq(argv[*end], ":"))
        *end = o->command == OPT_SRUN ? *end + 1 : argc;
    return 0;
}

static void keep_words(struct opt_component *c, const char *program, char *const words[], int count,
                       int operands)
{
    c->argc = count + 1;
    c->argv = mem_new_array(char *, (size_t)count + 2);
    c->argv[0] = (char *)program;
    for (int i = 0; i < count; i++)
        c->argv[i + 1] = words[i];
    c->command_argc = count - operands;
    c->command_argv = c->argv + 1 + operands;
}

/* Rejects an empty component at argv[begin]: between two ":", or after the last one. */
static int refuse_empty(struct opt_components *cs, int argc, int begin, struct err *err)
{
    struct opt *o = opt_components_leader(cs);
    size_t offset = cs->count - 1;
    if (begin == argc)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "component %zu is empty: the command line ends with ':' (word %d)", offset,
                        begin - 1);
    if (begin == 1)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "component 0 is empty: the command line begins with ':'");
    return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                    "component %zu is empty: words %d and %d of the command line are ':'", offset,
                    begin - 1, begin);
}

static int refuse_count(struct opt *o, struct err *err, const char *what)
{
    return opt_fail(o, OPT_FAIL_ERROR, 1, err, JOB_SET_TEXT_EXCESS, JOB_SET_MAX, what);
}

/* In srun a component without a program uses the program of the next component that has one. */
static int share_commands(struct opt_components *cs, struct err *err)
{
    const struct opt_component *next = NULL;
    struct opt *leader = opt_components_leader(cs);
    for (size_t i = cs->count; i-- > 0;) {
        struct opt_component *c = cs->list[i];
        if (c->command_argc)
            next = c;
        else if (next)
            c->command_argc = next->command_argc, c->command_argv = next->command_argv;
    }
    if (leader->command != OPT_SRUN || cs->count == 1 || cs->list[cs->count - 1]->command_argc)
        return 0;
    return opt_fail(leader, OPT_FAIL_ERROR, 1, err,
                    "component %zu has no program, and neither has a component after it",
                    cs->count - 1);
}

int opt_components_scan(struct opt_components *cs, int argc, char *const argv[], struct err *err)
{
    struct opt *leader = opt_components_leader(cs);
    int begin = 1, end, operands;
    cs->failed = 0;
    for (;;) {
        struct opt_component *c = cs->list[cs->count - 1];
        int r = find_end(&c->opt, argc, argv, begin, &operands, &end, err);
        if (r < 0)
            return fail_component(cs, cs->count - 1, r, err);
        keep_words(c, argv[0], argv + begin, end - begin, operands - begin);
        leader->help |= c->opt.help;
        leader->usage |= c->opt.usage;
        leader->version |= c->opt.version;
        if (leader->help || leader->usage || leader->version)
            return 0;
        if (end == begin && (end < argc || cs->count > 1))
            return refuse_empty(cs, argc, begin, err);
        if (end == argc)
            return share_commands(cs, err);
        if (cs->count == JOB_SET_MAX) {
            char what[64];
            snprintf(what, sizeof what, "':' (word %d of the command line)", end);
            return refuse_count(leader, err, what);
        }
        begin = end + 1;
        add_later_component(cs);
    }
}

/* --- sources -----------------------------------------------------------------------------------
 */

/* Applies a source to one component: 0, or -ERR_PARSE. */
typedef int apply_source_fn(struct opt_component *c, void *ctx, struct err *err);

static int inherit_options(struct opt *o, enum opt_source source, const struct opt_propagated *from,
                           struct err *err)
{
    int r = 0;
    o->source = source;
    for (size_t i = 0; r == 0 && i < from->list.len; i++)
        r = opt_set(o, from->list.data[i].row, from->list.data[i].arg, err);
    return r;
}

static void free_propagated(struct opt_propagated *p)
{
    vec_foreach (&p->list, inherited)
        free(inherited->arg);
    vec_done(&p->list);
}

/* A note that was written for one component is not repeated for the next. */
static void copy_note_marks(struct opt_components *cs, size_t offset)
{
    struct opt *o = &cs->list[offset]->opt;
    for (size_t id = 0; offset && id < OPT_ID_COUNT; id++)
        o->noted[id] |= cs->list[offset - 1]->opt.noted[id];
}

/* Applies a source to all components in order; it may add components. before: the source of the
 * values that a component inherits in this pass; OPT_FROM_NONE: nothing is inherited. */
static int apply_source(struct opt_components *cs, enum opt_source before, apply_source_fn *apply,
                        void *ctx, struct err *err)
{
    _cleanup_(free_propagated) struct opt_propagated propagated = {0};
    cs->failed = 0;
    for (size_t i = 0; i < cs->count; i++) {
        struct opt_component *c = cs->list[i];
        copy_note_marks(cs, i);
        int r = before ? inherit_options(&c->opt, before, &propagated, err) : 0;
        c->opt.propagated = before ? &propagated : NULL;
        r = r < 0 ? r : apply(c, ctx, err);
        c->opt.propagated = NULL;
        if (r < 0)
            return fail_component(cs, i, r, err);
    }
    return 0;
}

struct script_reader {
    struct opt_components *cs;
    struct opt_place place;
    bool ended;
    const char *name; /* of the next component; NULL: not given */
    int excess_line;  /* the line that starts one component too many; 0: none */
};

/* Sets the name that was given on the line before the component's section. */
static int name_section(struct script_reader *s, struct opt *o, struct err *err)
{
    const char *name = s->name;
    if (!name)
        return 0;
    s->name = NULL;
    o->source = OPT_FROM_SCRIPT;
    return opt_set(o, &opt_rows[OPT_ID_component], name, err);
}

static int apply_defaults(struct opt_component *c, void *ctx, struct err *err)
{
    const struct opt_defaults *defaults = ctx;
    c->opt.source = OPT_FROM_DEFAULTS;
    return defaults->apply(defaults->ctx, &c->opt, err);
}

int opt_components_apply_defaults(struct opt_components *cs, const struct opt_defaults *defaults,
                                  struct err *err)
{
    cs->defaults = defaults;
    return defaults ? apply_source(cs, OPT_FROM_NONE, apply_defaults, (void *)defaults, err) : 0;
}

void opt_components_restart(struct opt_components *cs)
{
    for (size_t i = 0; i < cs->count; i++)
        opt_restart(&cs->list[i]->opt);
}

/* The script starts a component that is missing in the command line, or one too many. */
static int begin_section(struct script_reader *s, const struct opt *o, struct err *err)
{
    const size_t offset = s->cs->count;
    if (&s->cs->list[offset - 1]->opt != o)
        return 0;
    if (offset < JOB_SET_MAX) {
        struct opt_component *c = add_later_component(s->cs);
        keep_words(c, s->cs->list[0]->argv[0], NULL, 0, 0);
        return s->cs->defaults ? apply_defaults(c, (void *)s->cs->defaults, err) : 0;
    }
    s->excess_line = s->place.line;
    s->ended = true;
    return 0;
}

/* Reports one component too many as an error of the job, since the last component itself is valid.
 */
static int refuse_excess(const struct script_reader *s, struct err *err)
{
    struct opt *leader = opt_components_leader(s->cs);
    leader->script = s->place.script->name;
    leader->line = s->excess_line;
    int r = refuse_count(leader, err, "this line");
    leader->script = NULL;
    leader->line = 0;
    return r;
}

static int apply_script(struct opt_component *c, void *ctx, struct err *err)
{
    struct script_reader *s = ctx;
    struct opt *o = &c->opt;
    bool is_leader = c == s->cs->list[0];
    int r = s->ended ? 0 : name_section(s, o, err);
    if (r == 0 && !s->ended)
        r = opt_apply_section(o, &s->place, err);
    s->name = r > 0 ? o->next_component : NULL;
    s->ended = s->ended || r == 0;
    if (r >= 0 && is_leader && !s->place.script->ignore_pbs && !o->ignore_pbs) {
        int of_pbs = opt_apply_pbs(o, s->place.script, err);
        r = of_pbs < 0 ? of_pbs : r;
    }
    return r > 0 ? begin_section(s, o, err) : r;
}

int opt_components_apply_script(struct opt_components *cs, const struct opt_script *script,
                                struct err *err)
{
    struct script_reader s = {.cs = cs, .place.script = script};
    int r = apply_source(cs, OPT_FROM_SCRIPT_BEFORE, apply_script, &s, err);
    return r >= 0 && s.excess_line ? refuse_excess(&s, err) : r;
}

static int apply_env(struct opt_component *c, void *ctx, struct err *err)
{
    return opt_apply_env(&c->opt, ctx, err);
}

int opt_components_apply_env(struct opt_components *cs, char *const envp[], struct err *err)
{
    return apply_source(cs, OPT_FROM_NONE, apply_env, (void *)envp, err);
}

static int apply_argv(struct opt_component *c, void *ctx, struct err *err)
{
    return opt_apply_argv(&c->opt, c->argc, c->argv, err);
}

/* --- the job as a whole ------------------------------------------------------------------------
 */

/* Options of the command as a whole, which may be given in any component. */
static const struct {
    enum opt_id id;
    unsigned commands;
    bool once;
} of_command[] = {
    {OPT_ID_wrap, OPT_SBATCH, true},          {OPT_ID_test_only, OPT_ALL, false},
    {OPT_ID_wait, OPT_SBATCH, false},         {OPT_ID_parsable, OPT_SBATCH, false},
    {OPT_ID_ignore_pbs, OPT_SBATCH, false},   {OPT_ID_no_shell, OPT_SALLOC, false},
    {OPT_ID_bell, OPT_SALLOC, false},         {OPT_ID_no_bell, OPT_SALLOC, false},
    {OPT_ID_kill_command, OPT_SALLOC, false}, {OPT_ID_x11, OPT_SALLOC, false},
    {OPT_ID_immediate, OPT_SALLOC, false},    {OPT_ID_clusters, OPT_ALL, false},
    {OPT_ID_quiet, OPT_ALL, false},           {OPT_ID_verbose, OPT_ALL, false},
};

/* Options that only the leader's script or command uses: another value in a later component has no
 * effect. Mail is also sent for the leader only, but there is no note about --mail-type. */
static const struct {
    enum opt_id id;
    unsigned commands;
} of_script[] = {
    {OPT_ID_std_out, OPT_SBATCH},    {OPT_ID_std_err, OPT_SBATCH},
    {OPT_ID_std_in, OPT_SBATCH},     {OPT_ID_open_mode, OPT_SBATCH},
    {OPT_ID_export, OPT_SBATCH},     {OPT_ID_export_file, OPT_SBATCH},
    {OPT_ID_propagate, OPT_SBATCH},  {OPT_ID_get_user_env, OPT_SBATCH},
    {OPT_ID_batch_host, OPT_SBATCH}, {OPT_ID_chdir, OPT_SBATCH | OPT_SALLOC},
};

static bool is_own(const struct opt *o, enum opt_id id)
{
    return o->from[id] == OPT_FROM_ARGV || o->from[id] == OPT_FROM_SCRIPT;
}

#define NO_EFFECT "option --%s has no effect here: use it in component 0"

/* Whether the leader has another value of its own, beside which that of a later component has no
 * effect. opt_components_check_clusters() compares clusters. */
static bool has_other_value(const struct opt *leader, const struct opt *o, enum opt_id id)
{
    return is_own(leader, id) && id != OPT_ID_clusters && !str_eq(leader->given[id], o->given[id]);
}

/* Moves an option of the command from a later component to the leader, unless the leader has it
 * from a source of the same rank or a higher one. */
static int promote_to_leader(struct opt_components *cs, struct err *err)
{
    struct opt *leader = opt_components_leader(cs);
    int r = 0;
    for (size_t i = 0; i < sizeof of_command / sizeof of_command[0]; i++) {
        enum opt_id id = of_command[i].id;
        for (size_t k = 1; r == 0 && k < cs->count; k++) {
            struct opt *o = &cs->list[k]->opt;
            if (!(of_command[i].commands & o->command) || !is_own(o, id))
                continue;
            if (of_command[i].once && opt_given(leader, id))
                return opt_fail(leader, OPT_FAIL_ERROR, 1, err,
                                "option --%s is given again in component %zu: a job has one script",
                                opt_rows[id].name, k);
            leader->source = (enum opt_source)o->from[id];
            if (leader->from[id] < o->from[id])
                r = opt_set(leader, &opt_rows[id], o->given[id], err);
            else if (has_other_value(leader, o, id))
                opt_note(o, id, NO_EFFECT, opt_rows[id].name);
        }
    }
    return r;
}

static void note_options_of_script(struct opt_components *cs, size_t offset)
{
    struct opt *o = &cs->list[offset]->opt;
    for (size_t i = 0; i < sizeof of_script / sizeof of_script[0]; i++) {
        enum opt_id id = of_script[i].id;
        if ((of_script[i].commands & o->command) && is_own(o, id))
            opt_note(o, id, NO_EFFECT, opt_rows[id].name);
    }
}

static bool is_of_command(enum opt_id id)
{
    for (size_t i = 0; i < sizeof of_command / sizeof of_command[0]; i++)
        if (of_command[i].id == id)
            return true;
    return false;
}

/* Whether the component is not empty because of this option. of_whole_line: the command line has no
 * ":", so its options that all components inherit, and those of the command, are of the whole job.
 */
static bool fills_component(const struct opt *o, bool of_whole_line, enum opt_id id)
{
    if (!of_whole_line || o->from[id] != OPT_FROM_ARGV)
        return is_own(o, id);
    return !(opt_rows[id].commands & OPT_PROPAGATED) && !is_of_command(id);
}

/* The command line cannot have such a component, but a script can, as in Slurm. */
static void note_empty(struct opt_components *cs, size_t offset)
{
    struct opt *o = &cs->list[offset]->opt;
    bool of_whole_line = !offset && cs->list[1]->argc == 1; /* the script began component 1 */
    for (int id = 0; id < OPT_ID_COUNT; id++)
        if (fills_component(o, of_whole_line, (enum opt_id)id))
            return;
    if (offset)
        opt_note(o, OPT_ID_component,
                 "the component has no #SBATCH options: it requests one task and inherits the "
                 "options of the first component");
    else
        opt_note(o, OPT_ID_component, "component 0 has no #SBATCH options: it requests one task");
}

/* Slurm accepts licences only in component 0. */
static void note_licenses(struct opt_components *cs, size_t offset)
{
    struct opt *o = &cs->list[offset]->opt;
    bool of_job = o->command != OPT_SRUN || !o->in_job;
    if (of_job && is_own(o, OPT_ID_licenses) && o->licenses && *o->licenses)
        opt_note(o, OPT_ID_licenses,
                 "option --licenses beyond component 0: the licenses of all components are added, "
                 "unless HetLimits=licenses in slurm.conf refuses them");
}

int opt_components_apply_argv(struct opt_components *cs, struct err *err)
{
    int r = apply_source(cs, OPT_FROM_ARGV_BEFORE, apply_argv, NULL, err);
    return r < 0 ? r : promote_to_leader(cs, err);
}

/* --- groups ------------------------------------------------------------------------------------
 */

/* %s is the text of --het-group. */
#define NO_JOB                                                                                     \
    "--het-group=%s names a component of a heterogeneous job: start srun in one, or name one "     \
    "with --jobid"

int opt_components_check_groups(const struct opt_components *cs, bool has_job, struct err *err)
{
    const char *named = NULL;
    for (size_t i = 0; i < cs->count; i++)
        named = cs->list[i]->opt.component_list ? cs->list[i]->opt.component_list : named;
    if (named && !has_job)
        return err_set(err, -ERR_PARSE, NO_JOB, named);
    return named != NULL;
}

static int refuse_groups(struct opt *o, struct err *err)
{
    return opt_bad_value(o, "het-group", o->component_list,
                         "use numbers from 0 to 127, names, lists and ranges, as in 0,io,2-4", err);
}

static int read_component_number(const char **text, uint32_t *out)
{
    size_t digits = strspn(*text, "0123456789");
    long long n;
    _cleanup_free_ char *word = mem_strndup(*text, digits);
    if (!digits || str_parse_i64(word, 0, JOB_SET_MAX - 1, &n) < 0)
        return -ERR_PARSE;
    *text += digits;
    *out = (uint32_t)n;
    return 0;
}

/* Parses a name of --component, which the controller resolves. */
static int read_component_name(struct opt *o, const char **text, uint32_t *out, struct err *err)
{
    size_t len = strcspn(*text, ",");
    _cleanup_free_ char *name = mem_strndup(*text, len);
    struct err why = {0};
    if (job_set_check_name(name, &why) != 0)
        return refuse_groups(o, err);
    if (!o->job_id)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, NO_JOB, o->component_list);
    if (job_arg_find_component(o->job_id, name, out, &why) != 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "--het-group=%s: %s", o->component_list,
                        why.text);
    *text += len;
    return 0;
}

/* Parses "2", "2-4" or "io". */
static int read_range(struct opt *o, const char **text, uint32_t *first, uint32_t *last,
                      struct err *err)
{
    if (isalpha((unsigned char)**text)) {
        int r = read_component_name(o, text, first, err);
        *last = r == 0 ? *first : 0;
        return r;
    }
    if (read_component_number(text, first) < 0)
        return refuse_groups(o, err);
    *last = *first;
    if (**text == '-' && (++*text, read_component_number(text, last) < 0 || *last < *first))
        return refuse_groups(o, err);
    return 0;
}

/* taken[]: groups of this and earlier components. */
static int add_group(struct opt *o, uint32_t group, bool taken[], struct err *err)
{
    if (taken[group])
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "Duplicate het groups in single srun not supported: %u", group);
    taken[group] = true;
    return 0;
}

static int read_groups(struct opt *o, bool taken[], struct err *err)
{
    const char *at = o->component_list;
    for (;; at++) {
        uint32_t first = 0, last = 0;
        int r = read_range(o, &at, &first, &last, err);
        if (r < 0)
            return r;
        for (uint32_t g = first; g <= last; g++)
            if (add_group(o, g, taken, err) < 0)
                return -ERR_PARSE;
        if (!*at)
            return 0;
        if (*at != ',')
            return refuse_groups(o, err);
    }
}

/* --het-group and --jobid=JOB+OFFSET may only name the same component. */
static int check_named(struct opt_component *c, struct err *err)
{
    struct opt *o = &c->opt;
    bool same = c->group_count == 1 && c->groups[0] == o->named_component;
    if (!o->names_component || same)
        return 0;
    return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                    "--jobid=%u+%u names component %u, and --het-group=%s names others: use one of "
                    "the two options",
                    o->job_id, o->named_component, o->named_component, o->component_list);
}

/* With --jobid=JOB+OFFSET, a later component without --het-group runs in the named component too.
 */
static void share_group(struct opt_component *c, const struct opt_component *leader)
{
    c->opt.component_list = mem_strdup(leader->opt.component_list);
    memcpy(c->groups, leader->groups, sizeof c->groups);
    c->group_count = leader->group_count;
}

static int find_groups(struct opt_components *cs, size_t offset, bool taken[], struct err *err)
{
    struct opt_component *c = cs->list[offset], *leader = cs->list[0];
    bool before[JOB_SET_MAX];
    if (offset && !c->opt.component_list && leader->opt.names_component) {
        share_group(c, leader);
        return 0;
    }
    if (!c->opt.job_id)
        c->opt.job_id = leader->opt.job_id; /* applies to the whole step */
    if (c->opt.names_component && !c->opt.component_list)
        c->opt.component_list = mem_printf("%u", c->opt.named_component);
    memcpy(before, taken, sizeof before);
    int r = c->opt.component_list ? read_groups(&c->opt, taken, err)
                                  : add_group(&c->opt, (uint32_t)offset, taken, err);
    c->group_count = 0;
    for (uint32_t g = 0; r == 0 && g < JOB_SET_MAX; g++)
        if (taken[g] && !before[g])
            c->groups[c->group_count++] = g;
    return r == 0 ? check_named(c, err) : r;
}

static int check_names(struct opt *o, struct err *err)
{
    struct err why = {0};
    if (o->job.dependency && job_arg_name_dependency(&o->job.dependency, &why) != 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "--dependency=%s: %s", o->job.dependency,
                        why.text);
    if (!o->job.component || job_set_check_name(o->job.component, &why) == 0)
        return 0;
    return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err, "%s", why.text);
}

/* Checks one component of srun. */
static int check_step(struct opt_components *cs, struct opt *o, struct err *err)
{
    if (o->no_allocate && (cs->count > 1 || o->component_list))
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, JOB_SET_TEXT_NO_ALLOCATE);
    return 0;
}

int opt_components_finish(struct opt_components *cs, struct err *err)
{
    bool taken[JOB_SET_MAX] = {false};
    for (size_t i = 0; i < cs->count; i++) {
        struct opt_component *c = cs->list[i];
        int r = 0;
        if (c->opt.command == OPT_SRUN)
            r = find_groups(cs, i, taken, err);
        if (r == 0)
            r = check_names(&c->opt, err);
        if (r == 0 && c->opt.command == OPT_SRUN)
            r = check_step(cs, &c->opt, err);
        if (r == 0 && cs->count > 1 && c->opt.command == OPT_SBATCH)
            note_empty(cs, i);
        if (r == 0 && i > 0) {
            note_options_of_script(cs, i);
            note_licenses(cs, i);
        }
        if (r == 0)
            r = opt_finish(&c->opt, err);
        if (r < 0)
            return fail_component(cs, i, r, err);
    }
    return 0;
}

int opt_components_check_clusters(struct opt_components *cs, const char *own, struct err *err)
{
    int r = 0;
    for (size_t i = cs->count; r == 0 && i-- > 0;) {
        const struct opt *o = &cs->list[i]->opt;
        if (i && !is_own(o, OPT_ID_clusters)) /* inherited: component 0 has it, too */
            continue;
        r = opt_check_clusters(o->clusters, own, err);
        if (r < 0 && is_own(o, OPT_ID_clusters))
            r = fail_component(cs, i, r, err);
    }
    return r;
}

/* --- messages to the user ----------------------------------------------------------------------
 */

int opt_components_print_failure(const struct opt_components *cs, const struct err *err)
{
    return opt_print_failure(&cs->list[cs->failed]->opt, err);
}

void opt_components_format_notes(const struct opt_components *cs, struct str *out)
{
    for (size_t i = 0; i < cs->count; i++) {
        struct opt *o = &cs->list[i]->opt;
        _cleanup_str_ struct str notes = STR_INIT;
        for (const char *s = str_cstr(&o->notes); i && *s;) {
            size_t len = strcspn(s, "\n");
            str_printf(&notes, "%.*s (component %zu)\n", (int)len, s, i);
            s += len + (s[len] == '\n');
        }
        if (i)
            opt_format_notes(&(struct opt){.command = o->command,
                                           .quiet = cs->list[0]->opt.quiet,
                                           .notes = notes},
                             out);
        else
            opt_format_notes(o, out);
    }
}

void opt_components_format_defined(const struct opt_components *cs, struct str *out)
{
    for (size_t i = 0; i < cs->count; i++) {
        const struct opt *o = &cs->list[i]->opt;
        if (!o->verbose || o->quiet)
            continue;
        if (cs->count > 1)
            str_printf(out, "%s: component %zu:\n", opt_program(o), i);
        opt_format_defined(o, out);
    }
}
