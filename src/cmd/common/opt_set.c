/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Setting one option: values by type, and the options that need a function of their own. */
#include <ctype.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signame.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "cmd/common/opt_priv.h"

#define NICE_MAX 2147483645
#define PRIORITY_TOP 0xfffffffdu
#define USER_ENV_SEC_MAX 65533
#define SIGNAL_SEC_MAX 65535

static const char *const limit_names[] = {"AS",      "CORE",   "CPU",   "DATA", "FSIZE",
                                          "MEMLOCK", "NOFILE", "NPROC", "RSS",  "STACK"};

int opt_bad_spec(struct opt *o, const char *name, const char *arg, struct err *err)
{
    return opt_fail(o, OPT_FAIL_ERROR, 255, err, "Invalid --%s specification: %s", name, arg);
}

void opt_set_string(char **member, const char *value)
{
    free(*member);
    *member = mem_strdup(value);
}

static int set_number(struct opt *o, const struct opt_row *row, long long min, const char *arg,
                      uint32_t *out, struct err *err)
{
    long long n;
    if (str_parse_i64(arg, min, INT32_MAX, &n) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "Invalid numeric value \"%s\" for --%s.", arg,
                        row->name);
    *out = (uint32_t)n;
    return 0;
}

/* Writes once for each option; the place is named where the user may not think of it. */
__attribute__((format(printf, 3, 4))) static void note(struct opt *o, enum opt_id id,
                                                       const char *fmt, ...)
{
    if (o->told[id])
        return;
    o->told[id] = 1;
    str_puts(&o->notes, "warning: ");
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&o->notes, fmt, ap);
    va_end(ap);
    if (o->variable)
        str_printf(&o->notes, " (from %.*s)", (int)strcspn(o->variable, " "), o->variable);
    str_putc(&o->notes, '\n');
}

void opt_note_ignored(struct opt *o, enum opt_id id, const char *arg)
{
    note(o, id, "option --%s=%s is accepted and has no effect", opt_rows[id].name, arg);
}

/* What asks for nothing is done as it is asked. */
static void note_ignored(struct opt *o, const struct opt_row *row, const char *arg)
{
    if (!arg || !str_case_eq(arg, "none"))
        note(o, row->id, "option --%s is accepted and has no effect", row->name);
}

static int refuse(struct opt *o, const struct opt_row *row, struct err *err)
{
    return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                    "option --%s is not available in this version; run again without it",
                    row->name);
}

static int set_size(struct opt *o, const char *name, const char *arg, uint64_t *mib,
                    struct err *err)
{
    int rc = size_parse_mib(arg, mib, NULL);
    if (rc == -ERR_RANGE)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                        "Invalid --%s specification: %s: no node has more than %lluT", name, arg,
                        (unsigned long long)(SIZE_MIB_MAX >> 20));
    return rc < 0 ? opt_bad_spec(o, name, arg, err) : 0;
}

static int set_member(struct opt *o, const struct opt_row *row, const char *arg, struct err *err)
{
    void *member = (char *)o + row->offset;
    switch (row->type) {
    case OPT_T_FLAG:
        *(bool *)member = true;
        return 0;
    case OPT_T_COUNT:
        return set_number(o, row, 1, arg, member, err);
    case OPT_T_NUMBER:
        return set_number(o, row, 0, arg, member, err);
    case OPT_T_STRING:
        opt_set_string(member, arg ? arg : "");
        return 0;
    case OPT_T_MEMORY:
        return set_size(o, row->name, arg, member, err);
    case OPT_T_LIMIT:
        if (time_parse_limit(arg, member, NULL) < 0)
            return opt_bad_spec(o, row->name, arg, err);
        if (*(int64_t *)member == 0)
            *(int64_t *)member = TIME_UNLIMITED;
        return 0;
    case OPT_T_CALL:
        return row->call(o, arg, err);
    case OPT_T_IGNORED:
        note_ignored(o, row, arg);
        return 0;
    case OPT_T_EXTRA: /* has its own way */
        return 0;
    case OPT_T_NONE_ONLY:
        return str_case_eq(arg, "none") || !*arg ? 0 : refuse(o, row, err);
    case OPT_T_REFUSED: /* an empty value asks for nothing */
        return row->argument == OPT_ARG_REQ && !*arg ? 0 : refuse(o, row, err);
    }
    return 0;
}

static int set_extra(struct opt *o, const struct opt_row *row, const char *arg, struct err *err)
{
    struct err why = {0};

    if (!o->extras->set || o->extras->set(o->extras->ctx, row->offset, arg, &why) == 0)
        return 0;
    return opt_fail(o, OPT_FAIL_ERROR, 1, err, "%s", why.text);
}

int opt_set(struct opt *o, const struct opt_row *row, const char *arg, struct err *err)
{
    if (row->type == OPT_T_EXTRA)
        return set_extra(o, row, arg, err);
    int r = set_member(o, row, arg, err);
    if (r < 0)
        return r;
    o->from[row->id] = (uint8_t)o->source;
    free(o->given[row->id]);
    o->given[row->id] = arg ? mem_strdup(arg) : NULL;
    if (row->commands & OPT_INERT)
        note_ignored(o, row, arg);
    return 0;
}

int opt_set_begin(struct opt *o, const char *arg, struct err *err)
{
    if (time_parse_date(arg, o->now_sec, &o->begin_at_sec, NULL) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err, "Invalid --begin specification: %s", arg);
    return 0;
}

int opt_set_bcast(struct opt *o, const char *arg, struct err *err)
{
    opt_set_string(&o->bcast, arg ? arg : "");
    return 0;
}

int opt_set_compress(struct opt *o, const char *arg, struct err *err)
{
    opt_set_string(&o->compress, arg ? arg : "");
    return 0;
}

int opt_set_send_libs(struct opt *o, const char *arg, struct err *err)
{
    opt_set_string(&o->send_libs, arg ? arg : "");
    return 0;
}

int opt_set_deadline(struct opt *o, const char *arg, struct err *err)
{
    if (time_parse_date(arg, o->now_sec, &o->deadline_at_sec, NULL) < 0 || o->deadline_at_sec <= 0)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err, "Invalid --deadline specification: %s", arg);
    return 0;
}

int opt_set_clusters(struct opt *o, const char *arg, struct err *err)
{
    opt_set_string(&o->clusters, arg);
    return 0;
}

/* A word of a colon list, "*" and the empty one meaning "the default". */
static bool is_word(const char *s, size_t len, const char *const *words)
{
    if (len == 0 || (len == 1 && *s == '*'))
        return true;
    for (; *words; words++)
        if (strlen(*words) == len && !strncasecmp(s, *words, len))
            return true;
    return false;
}

/* "plane=4"; a size that is not there is in the environment. */
static int set_plane(struct opt *o, const char *arg, struct err *err)
{
    const char *size = arg[5] == '=' ? arg + 6 : getenv("SLURM_DIST_PLANESIZE");
    size_t digits = size ? strspn(size, "0123456789") : 0;

    if (!digits || digits > 9 || strspn(size, "0") == digits || (arg[5] != '=' && size[digits]))
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "--distribution=%s: a plane needs its size, as in plane=4, or in "
                        "SLURM_DIST_PLANESIZE",
                        arg);
    free(o->distribution);
    o->distribution = mem_printf("plane=%.*s", (int)digits, size);
    return 0;
}

int opt_set_distribution(struct opt *o, const char *arg, struct err *err)
{
    static const char *const nodes[] = {"block", "cyclic", "plane", "arbitrary", NULL};
    static const char *const inner[] = {"block", "cyclic", "fcyclic", NULL};
    static const char *const pack[] = {"pack", "nopack", NULL};
    const char *s = arg;
    size_t len = strcspn(s, ":,=");
    bool is_plane = len == 5 && !strncasecmp(s, "plane", 5);
    if (!is_word(s, len, nodes) || !*arg)
        return opt_bad_spec(o, "distribution", arg, err);
    size_t first = len;
    if (is_plane && s[len] == '=') {
        size_t digits = strspn(s + len + 1, "0123456789");
        if (!digits || digits > 9)
            return opt_bad_spec(o, "distribution", arg, err);
        first = len += 1 + digits;
    }
    unsigned levels = 0, order = 0;
    for (s += len; *s == ':'; s += len) {
        s++;
        len = strcspn(s, ":,");
        if (!is_word(s, len, inner) || ++levels > 2)
            return opt_bad_spec(o, "distribution", arg, err);
        if (levels == 1)
            order = tolower((unsigned char)*s) == 'b'   ? 1
                    : tolower((unsigned char)*s) == 'f' ? 2
                                                        : 0;
    }
    if (*s == ',') {
        s++;
        if (!*s || !is_word(s, strlen(s), pack))
            return opt_bad_spec(o, "distribution", arg, err);
    } else if (*s) {
        return opt_bad_spec(o, "distribution", arg, err);
    }
    if (is_plane && (levels || *s))
        return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                        "--distribution=%s: nothing can be said beside a plane", arg);
    if (levels && o->command != OPT_SRUN)
        note(
            o, OPT_ID_distribution,
            "of --distribution=%s what is said of sockets and cores is accepted and has no effect: "
            "it is for srun",
            arg);
    else if (levels == 2)
        note(o, OPT_ID_distribution,
             "of --distribution=%s what is said of cores is accepted and has no effect", arg);
    o->socket_order = order;
    if (is_plane)
        return set_plane(o, arg, err);
    free(o->distribution);
    bool given = first && *arg != '*';
    o->distribution = given || *s ? mem_printf("%.*s%s%s", given ? (int)first : 5,
                                               given ? arg : "block", *s ? "," : "", s)
                                  : NULL;
    for (char *c = o->distribution; c && *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    return 0;
}

int opt_set_exclusive(struct opt *o, const char *arg, struct err *err)
{
    bool user = arg && str_case_eq(arg, "user");
    if (arg && !user && !str_case_eq(arg, "mcs") && !str_case_eq(arg, "topo") &&
        !(o->source == OPT_FROM_ENV && (str_case_eq(arg, "yes") || str_eq(arg, "1"))))
        return opt_bad_spec(o, "exclusive", arg, err);
    if (arg && !user && o->source != OPT_FROM_ENV)
        note(o, OPT_ID_exclusive,
             "option --exclusive=%s keeps all other jobs away, as --exclusive does", arg);
    o->exclusive_user = user;
    o->exclusive = !user;
    o->oversubscribe = false;
    return 0;
}

int opt_set_oversubscribe(struct opt *o, const char *arg, struct err *err)
{
    o->oversubscribe = true;
    o->exclusive = o->exclusive_user = false;
    return 0;
}

int opt_set_immediate(struct opt *o, const char *arg, struct err *err)
{
    long long sec = 0;
    if (arg && str_parse_i64(arg, 0, 86400 * 365, &sec) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "Invalid numeric value \"%s\" for --immediate.",
                        arg);
    o->immediate = true;
    o->immediate_sec = (uint32_t)sec;
    return 0;
}

int opt_set_kill_bad_exit(struct opt *o, const char *arg, struct err *err)
{
    if (arg && !str_eq(arg, "0") && !str_eq(arg, "1"))
        return opt_bad_spec(o, "kill-on-bad-exit", arg, err);
    o->kill_on_bad_exit = !arg || *arg == '1';
    return 0;
}

/* 0 and "off": nobody passes anything on. */
int opt_set_tree_width(struct opt *o, const char *arg, struct err *err)
{
    long long width = 0;

    if (!str_case_eq(arg, "off") && str_parse_i64(arg, 0, OPT_TREE_WIDTH_MAX, &width) < 0)
        return opt_bad_spec(o, "treewidth", arg, err);
    o->tree_width = width ? (uint32_t)width : OPT_TREE_WIDTH_MAX;
    return 0;
}

int opt_set_kill_command(struct opt *o, const char *arg, struct err *err)
{
    int number = arg && *arg ? signame_parse(arg) : SIGTERM;
    if (number <= 0)
        return opt_bad_spec(o, "kill-command", arg, err);
    o->kill_signal = number;
    return 0;
}

/* Three ways to say how much memory: the one from the highest source counts, two from one are an
 * error. */
static int set_memory(struct opt *o, enum opt_id id, const char *name, const char *arg,
                      uint64_t *member, struct err *err)
{
    static const enum opt_id ways[] = {OPT_ID_mem, OPT_ID_mem_per_cpu, OPT_ID_mem_per_gpu};
    uint64_t mib;
    int rc = set_size(o, name, arg, &mib, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < 3; i++)
        if (ways[i] != id && o->from[ways[i]] == o->source && o->source != OPT_FROM_ENV)
            return opt_fail(o, OPT_FAIL_FATAL, 1, err,
                            "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
    for (size_t i = 0; i < 3; i++)
        if (ways[i] != id)
            o->from[ways[i]] = OPT_FROM_NONE;
    o->mem_per_node_mib = o->mem_per_cpu_mib = o->mem_per_gpu_mib = 0;
    *member = mib;
    return 0;
}

int opt_set_mem(struct opt *o, const char *arg, struct err *err)
{
    return set_memory(o, OPT_ID_mem, "mem", arg, &o->mem_per_node_mib, err);
}

int opt_set_mem_per_cpu(struct opt *o, const char *arg, struct err *err)
{
    return set_memory(o, OPT_ID_mem_per_cpu, "mem-per-cpu", arg, &o->mem_per_cpu_mib, err);
}

int opt_set_mem_per_gpu(struct opt *o, const char *arg, struct err *err)
{
    return set_memory(o, OPT_ID_mem_per_gpu, "mem-per-gpu", arg, &o->mem_per_gpu_mib, err);
}

int opt_set_nice(struct opt *o, const char *arg, struct err *err)
{
    long long nice = 100;
    int r = arg ? str_parse_i64(arg, -NICE_MAX, NICE_MAX, &nice) : 0;
    if (r == -ERR_RANGE)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                        "Invalid --nice value, out of range (+/- %d): %s", NICE_MAX, arg);
    if (r < 0)
        return opt_bad_spec(o, "nice", arg, err);
    o->nice = (int32_t)nice;
    return 0;
}

int opt_set_no_kill(struct opt *o, const char *arg, struct err *err)
{
    if (arg && !str_case_eq(arg, "off") && !str_case_eq(arg, "set") && !str_case_eq(arg, "yes") &&
        !str_eq(arg, "1"))
        return opt_bad_spec(o, "no-kill", arg, err);
    o->no_kill = !arg || !str_case_eq(arg, "off");
    return 0;
}

int opt_set_requeue(struct opt *o, const char *arg, struct err *err)
{
    o->requeue = true;
    o->from[OPT_ID_no_requeue] = OPT_FROM_NONE;
    return 0;
}

int opt_set_kill_invalid_dep(struct opt *o, const char *arg, struct err *err)
{
    if (!str_case_eq(arg, "yes") && !str_case_eq(arg, "no"))
        return opt_bad_spec(o, "kill-on-invalid-dep", arg, err);
    o->kill_invalid_dep = str_case_eq(arg, "yes");
    return 0;
}

int opt_set_no_requeue(struct opt *o, const char *arg, struct err *err)
{
    o->requeue = false;
    o->from[OPT_ID_requeue] = OPT_FROM_NONE;
    return 0;
}

int opt_set_x11(struct opt *o, const char *arg, struct err *err)
{
    const char *where = arg && *arg ? arg : "all";
    if (!str_case_eq(where, "all") && !str_case_eq(where, "first") && !str_case_eq(where, "last"))
        return opt_bad_spec(o, "x11", arg, err);
    opt_set_string(&o->x11, where);
    return 0;
}

/* Whatever the job's variables say; options behind it do as they say. */
int opt_set_interactive(struct opt *o, const char *arg, struct err *err)
{
    o->overlap = true;
    o->ntasks = o->min_nodes = o->max_nodes = 1;
    o->relative = 0;
    o->from[OPT_ID_overlap] = o->from[OPT_ID_ntasks] = o->from[OPT_ID_nodes] =
        o->from[OPT_ID_relative] = OPT_FROM_ARGV;
    o->from[OPT_ID_ntasks_per_node] = OPT_FROM_NONE;
    return 0;
}

int opt_set_nodes(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_free_ char *min_text = mem_strndup(arg, strcspn(arg, "-"));
    const char *max_text = arg[strlen(min_text)] ? arg + strlen(min_text) + 1 : NULL;
    uint64_t min, max = 0;
    if (size_parse_count(min_text, INT32_MAX, &min, NULL) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err, "\"%s\" is not a valid node count", arg);
    if (max_text && size_parse_count(max_text, INT32_MAX, &max, NULL) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err, "\"%s\" is not a valid node count (-N %s)",
                        max_text, arg);
    if (max_text && max < min)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                        "Maximum node count %llu is less than minimum node count %llu (-N %s)",
                        (unsigned long long)max, (unsigned long long)min, arg);
    o->min_nodes = (uint32_t)min;
    o->max_nodes = (uint32_t)(max_text ? max : min);
    return 0;
}

int opt_set_open_mode(struct opt *o, const char *arg, struct err *err)
{
    bool append = *arg == 'a' || *arg == 'A';
    if (!append && *arg != 't' && *arg != 'T')
        return opt_bad_spec(o, "open-mode", arg, err);
    o->open_append = append;
    return 0;
}

int opt_set_priority(struct opt *o, const char *arg, struct err *err)
{
    long long priority = PRIORITY_TOP;
    if (!str_case_eq(arg, "top") && str_parse_i64(arg, 0, PRIORITY_TOP, &priority) < 0)
        return opt_bad_spec(o, "priority", arg, err);
    o->priority = (uint32_t)priority;
    return 0;
}

static const char *limit_plain(const char *name)
{
    return strncasecmp(name, "RLIMIT_", 7) ? name : name + 7;
}

int opt_set_propagate(struct opt *o, const char *arg, struct err *err)
{
    const char *list = arg && *arg ? arg : "ALL";
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, ",");
        _cleanup_free_ char *word = mem_strndup(s, len);
        bool known = str_case_eq(word, "ALL") || str_case_eq(word, "NONE");
        for (size_t i = 0; i < sizeof(limit_names) / sizeof(limit_names[0]); i++)
            known = known || str_case_eq(limit_plain(word), limit_names[i]);
        if (!known)
            return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                            "--propagate=%s is not valid: bad rlimit "
                            "name %s",
                            list, word);
        s += len + (s[len] == ',');
    }
    opt_set_string(&o->propagate, list);
    return 0;
}

bool opt_propagates(const char *list, const char *limit)
{
    if (!list)
        return true;
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, ",");
        _cleanup_free_ char *word = mem_strndup(s, len);
        if (str_case_eq(word, "ALL") || str_case_eq(limit_plain(word), limit))
            return true;
        s += len + (s[len] == ',');
    }
    return false;
}

/* [{R|B}:]signal[@seconds] */
/* The controller knows which words there are. Of what no job of ours does there is no mail. */
int opt_set_mail_type(struct opt *o, const char *arg, struct err *err)
{
    static const char *const idle[] = {"INVALID_DEPEND", "STAGE_OUT"};
    for (const char *s = arg; *s;) {
        size_t len = strcspn(s, ",");
        for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
            if (strlen(idle[i]) == len && !strncasecmp(idle[i], s, len))
                note(o, OPT_ID_mail_type, "--mail-type=%s is accepted and has no effect", idle[i]);
        s += len + (s[len] == ',');
    }
    opt_set_string(&o->mail_type, arg);
    return 0;
}

static int set_switch_wait(struct opt *o, const char *text, const char *arg, struct err *err)
{
    int64_t sec;
    if (time_parse_limit(text, &sec, NULL) < 0)
        return opt_bad_spec(o, "switches", arg, err);
    o->switches_sec = sec;
    return 0;
}

/* "count[@time]"; of SLURM_WAIT4SWITCH and its like the time alone. */
int opt_set_switches(struct opt *o, const char *arg, struct err *err)
{
    static const char wait[] = "WAIT4SWITCH";
    size_t name = o->source == OPT_FROM_ENV ? strcspn(o->variable, " ") : 0, end = sizeof wait - 1;
    if (name > end && memcmp(o->variable + name - end, wait, end) == 0)
        return set_switch_wait(o, arg, arg, err);
    size_t len = strcspn(arg, "@");
    _cleanup_free_ char *count = mem_strndup(arg, len);
    long long switches;
    if (str_parse_i64(count, 0, UINT32_MAX, &switches) < 0)
        return opt_bad_spec(o, "switches", arg, err);
    int r = arg[len] ? set_switch_wait(o, arg + len + 1, arg, err) : 0;
    if (r == 0)
        o->switches = (uint32_t)switches;
    return r;
}

int opt_set_signal(struct opt *o, const char *arg, struct err *err)
{
    const char *s = arg;
    const char *colon = strchr(s, ':');
    for (; colon && s < colon; s++)
        if (!strchr("RrBb", *s))
            return opt_bad_spec(o, "signal", arg, err);
    s = colon ? colon + 1 : s;
    size_t len = strcspn(s, "@");
    _cleanup_free_ char *name = mem_strndup(s, len);
    long long sec;
    if (signame_parse(name) <= 0 ||
        (s[len] && str_parse_i64(s + len + 1, 0, SIGNAL_SEC_MAX, &sec) < 0))
        return opt_bad_spec(o, "signal", arg, err);
    opt_set_string(&o->signal, arg);
    return 0;
}

/* "[SECONDS][L|S]" */
int opt_set_get_user_env(struct opt *o, const char *arg, struct err *err)
{
    const char *mode = arg ? arg + strspn(arg, "0123456789") : "";
    long long sec = 0;
    _cleanup_free_ char *number = mem_strndup(arg ? arg : "", arg ? (size_t)(mode - arg) : 0);
    if ((*number && str_parse_i64(number, 1, USER_ENV_SEC_MAX, &sec) < 0) ||
        (*mode && (!strchr("LlSs", *mode) || mode[1])))
        return opt_bad_spec(o, "get-user-env", arg, err);
    o->user_env_sec = (uint32_t)sec;
    o->user_env_not_login = *mode == 'S' || *mode == 's';
    return 0;
}

static int check_root(struct opt *o, const char *option, struct err *err)
{
    return geteuid() == 0
               ? 0
               : opt_fail(o, OPT_FAIL_ERROR, 1, err, "--%s only permitted by root user", option);
}

int opt_set_uid(struct opt *o, const char *arg, struct err *err)
{
    const struct passwd *user = getpwnam(arg);
    long long number;
    if (check_root(o, "uid", err) < 0)
        return err->code;
    if (!user && str_parse_i64(arg, 0, UINT32_MAX - 1, &number) == 0)
        user = getpwuid((uid_t)number);
    if (!user)
        return opt_bad_spec(o, "uid", arg, err);
    o->uid = user->pw_uid;
    o->gid_of_uid = user->pw_gid;
    return 0;
}

int opt_set_gid(struct opt *o, const char *arg, struct err *err)
{
    const struct group *group = getgrnam(arg);
    long long number;
    if (check_root(o, "gid", err) < 0)
        return err->code;
    if (!group && str_parse_i64(arg, 0, UINT32_MAX - 1, &number) < 0)
        return opt_bad_spec(o, "gid", arg, err);
    o->gid = group ? group->gr_gid : (uint32_t)number;
    return 0;
}

int opt_set_verbose(struct opt *o, const char *arg, struct err *err)
{
    o->verbose++;
    return 0;
}
