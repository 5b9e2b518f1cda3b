/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of a job's request with a function of their own. */
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/idset.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/signame.h"
#include "base/size.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "base/words.h"
#include "cli/opt_priv.h"
#include "cluster/job/request.h"
#include "cluster/resource/dist.h"

#define NICE_MAX 2147483645
#define PRIORITY_TOP 0xfffffffdu
#define USER_ENV_SEC_MAX 65533
#define SIGNAL_SEC_MAX 65535

int opt_set_begin(struct opt *o, const char *arg, struct err *err)
{
    if (time_parse_date(arg, o->now_sec, &o->begin_at_sec, NULL) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --begin specification: %s", arg);
    return 0;
}

int opt_set_deadline(struct opt *o, const char *arg, struct err *err)
{
    if (time_parse_date(arg, o->now_sec, &o->deadline_at_sec, NULL) < 0 || o->deadline_at_sec <= 0)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --deadline specification: %s", arg);
    return 0;
}

int opt_set_clusters(struct opt *o, const char *arg, struct err *err)
{
    opt_set_string(&o->clusters, arg);
    return 0;
}

/* For "plane": the size is in the environment. */
static uint32_t plane_of_environment(void)
{
    const char *text = getenv("SLURM_DIST_PLANESIZE");
    long long size = 0;

    return text && str_parse_i64(text, 1, DIST_PLANE_MAX, &size) == 0 ? (uint32_t)size : 0;
}

int opt_set_distribution(struct opt *o, const char *arg, struct err *err)
{
    struct dist d;
    _cleanup_str_ struct str text = STR_INIT;

    if (!*arg || dist_parse(arg, &d) < 0)
        return opt_bad_spec(o, "distribution", arg, err);
    if (d.nodes == DIST_PLANE && (d.sockets || d.cores || d.pack))
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "--distribution=%s: nothing can be said beside a plane", arg);
    if (d.nodes == DIST_PLANE && !d.plane)
        d.plane = plane_of_environment();
    if (d.nodes == DIST_PLANE && !d.plane)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "--distribution=%s: a plane needs its size, as in plane=4, or in "
                        "SLURM_DIST_PLANESIZE",
                        arg);
    dist_format(&d, &text);
    free(o->distribution);
    o->distribution = text.len ? str_take(&text) : NULL;
    return 0;
}

bool opt_is_arbitrary(const struct opt *o)
{
    struct dist d;

    return dist_parse(o->distribution, &d) == 0 && d.nodes == DIST_ARBITRARY;
}

int opt_set_exclusive(struct opt *o, const char *arg, struct err *err)
{
    bool user = arg && str_case_eq(arg, "user");
    bool allocation = arg && o->command == OPT_SRUN && str_case_eq(arg, "allocation");
    bool plain =
        !arg || (o->source == OPT_FROM_ENV && (str_case_eq(arg, "yes") || str_eq(arg, "1")));
    bool topo = arg && str_case_eq(arg, "topo");
    bool mcs = arg && str_case_eq(arg, "mcs");
    if (!plain && !user && !allocation && !topo && !mcs)
        return opt_bad_spec(o, "exclusive", arg, err);
    if (mcs && o->source != OPT_FROM_ENV)
        opt_note(o, OPT_ID_exclusive,
                 "option --exclusive=%s keeps all other jobs away, as --exclusive does", arg);
    o->exclusive_user = user;
    o->exclusive_topo = topo;
    o->exclusive = !user;
    o->exclusive_is_exact = plain;
    return 0;
}

int opt_set_oversubscribe(struct opt *o, const char *arg, struct err *err)
{
    o->oversubscribe = true;
    return 0;
}

/* Minutes, in the format of a time limit; nodes are never booted for a job. */
int opt_set_delay_boot(struct opt *o, const char *arg, struct err *err)
{
    int64_t sec;
    return time_parse_limit(arg, &sec, NULL) < 0 ? opt_bad_spec(o, "delay-boot", arg, err) : 0;
}

/* Types of profile data; "all" and "none" must be alone. */
int opt_set_profile(struct opt *o, const char *arg, struct err *err)
{
    static const char *const types[] = {"all",    "none",       "energy", "task",
                                        "lustre", "filesystem", "network"};
    size_t count = 0, alone = 0;
    words_foreach (arg, w) {
        size_t i = 0;
        while (i < sizeof(types) / sizeof(types[0]) && !word_case_eq(w, types[i]))
            i++;
        if (i == sizeof(types) / sizeof(types[0]))
            return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                            "invalid --profile=%s option", arg);
        alone += i < 2;
        count++;
    }
    if (alone && count > 1)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "invalid --profile=%s option: all and none stand alone", arg);
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

int opt_set_wait_all_nodes(struct opt *o, const char *arg, struct err *err)
{
    long long number;
    if (*arg && str_parse_i64(arg, 0, INT32_MAX, &number) < 0)
        return opt_bad_number(o, "--wait-all-nodes", arg, err);
    return opt_read_switch(o, "wait-all-nodes", arg, &o->wait_all_nodes, err);
}

int opt_set_kill_command(struct opt *o, const char *arg, struct err *err)
{
    const bool is_named = arg && *arg;
    const int number = is_named ? signame_parse(arg) : OPT_KILL_AS_FITS;
    if (is_named && number <= 0)
        return opt_bad_spec(o, "kill-command", arg, err);
    o->kill_signal = number;
    return 0;
}

/* Memory can be requested in three ways: the one from the highest source is used; two from the same
 * source are an error, but two variables only if no other source requests memory (opt_conflict.c).
 */
static int set_memory(struct opt *o, enum opt_id id, const char *name, const char *arg,
                      uint64_t *member, struct err *err)
{
    static const enum opt_id ways[] = {OPT_ID_mem, OPT_ID_mem_per_cpu, OPT_ID_mem_per_gpu};
    uint64_t mib;
    int rc = opt_read_size(o, name, arg, &mib, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < 3; i++)
        if (ways[i] != id && o->from[ways[i]] == o->source && o->source != OPT_FROM_ENV)
            return opt_fail(o, OPT_FAIL_FATAL, 1, err,
                            "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
    for (size_t i = 0; i < 3; i++)
        if (ways[i] != id && o->from[ways[i]] != o->source)
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
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --nice value, out of range (+/- %d): %s", NICE_MAX, arg);
    if (r < 0)
        return opt_bad_spec(o, "nice", arg, err);
    o->nice = (int32_t)nice;
    return 0;
}

int opt_set_no_kill(struct opt *o, const char *arg, struct err *err)
{
    bool off = arg && (str_case_eq(arg, "off") || str_case_eq(arg, "no"));
    if (arg && !off && !str_case_eq(arg, "set") && !str_case_eq(arg, "yes") && !str_eq(arg, "1"))
        return opt_bad_spec(o, "no-kill", arg, err);
    o->no_kill = !off;
    return 0;
}

int opt_set_requeue(struct opt *o, const char *arg, struct err *err)
{
    bool expedite = arg && str_case_eq(arg, "expedite");
    if (arg && !expedite)
        return opt_bad_spec(o, "requeue", arg, err);
    if (expedite)
        opt_note(o, OPT_ID_requeue,
                 "option --requeue=expedite: the job is requeued at its usual place in the queue");
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

static int bad_node_count(struct opt *o, const char *text, const char *arg, struct err *err)
{
    return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                    "\"%s\" is not a valid node count (-N %s)", text, arg);
}

/* Parses an entry of a list: "3", "5-9" or "1-15:4"; numbers may have the suffixes k and m. */
static int read_node_counts(const char *word, struct str *out)
{
    _cleanup_free_ char *first = mem_strndup(word, strcspn(word, "-:"));
    uint64_t min, max, step = 1;
    if (size_parse_count(first, INT32_MAX - 1, &min, NULL) < 0 || min == 0)
        return -ERR_PARSE;
    word += strlen(first);
    str_printf(out, "%s%llu", out->len ? "," : "", (unsigned long long)min);
    if (!*word)
        return 0;
    _cleanup_free_ char *last = mem_strndup(word + 1, strcspn(word + 1, ":"));
    if (*word != '-' || size_parse_count(last, INT32_MAX - 1, &max, NULL) < 0 || max < min)
        return -ERR_PARSE;
    word += 1 + strlen(last);
    if (*word && (size_parse_count(word + 1, INT32_MAX - 1, &step, NULL) < 0 || step == 0))
        return -ERR_PARSE;
    if (max > min)
        str_printf(out, "-%llu", (unsigned long long)(max - (max - min) % step));
    if (max > min && step > 1)
        str_printf(out, ":%llu", (unsigned long long)step);
    return 0;
}

static int set_node_list(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct idset counts = {0};
    for (const char *at = arg;; at++) {
        _cleanup_free_ char *word = mem_strndup(at, strcspn(at, ","));
        if (read_node_counts(word, &text) < 0)
            return bad_node_count(o, word, arg, err);
        at += strlen(word);
        if (!*at)
            break;
    }
    struct err why = {0};
    if (request_parse_sizes(str_cstr(&text), &counts, &why) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err, "%s (-N %s)", why.text, arg);
    o->min_nodes = idset_first(&counts);
    o->max_nodes = idset_last(&counts);
    idset_done(&counts);
    opt_set_string(&o->node_counts, str_cstr(&text));
    return 0;
}

int opt_set_nodes(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_free_ char *min_text = mem_strndup(arg, strcspn(arg, "-"));
    const char *max_text = arg[strlen(min_text)] ? arg + strlen(min_text) + 1 : NULL;
    uint64_t min = 1, max = 0;
    free(take_ptr(o->node_counts));
    if (strpbrk(arg, ",:"))
        return set_node_list(o, arg, err);
    if (!(max_text && !*min_text) && size_parse_count(min_text, INT32_MAX, &min, NULL) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "\"%s\" is not a valid node count", arg);
    if (max_text && size_parse_count(max_text, INT32_MAX, &max, NULL) < 0)
        return bad_node_count(o, max_text, arg, err);
    if (max_text && max < min)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Maximum node count %llu is less than minimum node count %llu (-N %s)",
                        (unsigned long long)max, (unsigned long long)min, arg);
    o->min_nodes = (uint32_t)min;
    o->max_nodes = (uint32_t)(max_text ? max : min);
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

int opt_set_mail_type(struct opt *o, const char *arg, struct err *err)
{
    unsigned mail;
    if (!*arg || !request_parse_mail(arg, &mail))
        return opt_bad_spec(o, "mail-type", arg, err);
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

/* "count[@time]"; variables such as SLURM_WAIT4SWITCH have only the time. */
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
        return opt_bad_number(o, "--switches", count, err);
    int r = arg[len] ? set_switch_wait(o, arg + len + 1, arg, err) : 0;
    if (r == 0)
        o->switches = (uint32_t)switches;
    return r;
}

/* [{R|B}:]signal[@seconds] */
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

#define FILE_MAX (256u << 10)

/* --bbf: treats the lines of the file like the value of --bb. */
int opt_set_bbf(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct err why = {0};
    if (path_read_text(arg, FILE_MAX, &text, &why) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "Invalid --bbf specification: %s", why.text);
    while (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    opt_set_string(&o->job.burst_buffer, str_cstr(&text));
    return 0;
}
