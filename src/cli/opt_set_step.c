/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of a step with a function of their own. */
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/signame.h"
#include "base/words.h"
#include "cli/job_arg.h"
#include "cli/opt_priv.h"
#include "cluster/job/step_nodes.h"
#include "conf/conf.h"
#include "conf/conf_freq.h"

#define NETWORK_MAX 1024 /* bytes */

int opt_set_bcast(struct opt *o, const char *arg, struct err *err)
{
    opt_set_string(&o->bcast, arg ? arg : "");
    return 0;
}

/* JOB+OFFSET names the component of a job set; JOB_ELEMENT is replaced by the id of its record. */
int opt_set_jobid(struct opt *o, const char *arg, struct err *err)
{
    Pb__StepId id = PB__STEP_ID__INIT;
    struct err why = {0};
    bool ok = job_arg_parse(arg, &id, &why) == 0 && !id.has_step_id;
    bool is_element = ok && id.array_tasks && o->command == OPT_SRUN;
    if (is_element && id.array_tasks[strspn(id.array_tasks, "0123456789")] == '\0' &&
        job_arg_find_record(&id, &id.job_id, &why) == 0)
        id.array_tasks = NULL;
    ok = ok && !id.array_tasks;
    if (why.code && why.code != -ERR_PARSE)
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "--jobid=%s: %s", arg, why.text);
    if (!ok || (id.has_set_offset && o->command != OPT_SRUN))
        return opt_fail(o, OPT_FAIL_ERROR, 1, err, "Invalid numeric value \"%s\" for --jobid.",
                        arg);
    o->job_id = id.job_id;
    o->names_component = id.has_set_offset;
    o->named_component = id.set_offset;
    return 0;
}

int opt_set_compress(struct opt *o, const char *arg, struct err *err)
{
    opt_set_string(&o->compress, arg ? arg : "");
    return 0;
}

int opt_set_send_libs(struct opt *o, const char *arg, struct err *err)
{
    if (arg && *arg && !str_case_eq(arg, "yes") && !str_case_eq(arg, "no"))
        return opt_bad_value(o, "send-libs", arg, "yes or no", err);
    opt_set_string(&o->send_libs, arg ? arg : "");
    return 0;
}

int opt_set_kill_bad_exit(struct opt *o, const char *arg, struct err *err)
{
    long long number = 1;
    if (arg && str_parse_i64(arg, 0, INT32_MAX, &number) < 0)
        return opt_bad_number(o, "--kill-on-bad-exit", arg, err);
    o->kill_on_bad_exit = number != 0;
    return 0;
}

/* An IP network has nothing to allocate. Later commands of the job do not repeat the note. */
int opt_set_network(struct opt *o, const char *arg, struct err *err)
{
    if (strlen(arg) > NETWORK_MAX)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --network specification: it has %zu bytes, and %d is the most",
                        strlen(arg), NETWORK_MAX);
    opt_set_string(&o->network, arg);
    bool known = !*arg || str_case_eq(arg, "none") || str_case_eq(arg, "ip");
    if (!known && !(o->in_job && o->source == OPT_FROM_ENV))
        opt_note(
            o, OPT_ID_network,
            "option --network=%s is for an interconnect that is not here: it is kept and shown, "
            "and nothing is allocated",
            arg);
    return 0;
}

int opt_set_oom_kill_step(struct opt *o, const char *arg, struct err *err)
{
    return opt_read_switch(o, "oom-kill-step", arg ? arg : "1", &o->oom_kill_step, err);
}

/* Stored in one spelling. The controller checks which governors the site allows. */
int opt_set_cpu_freq(struct opt *o, const char *arg, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct conf_freq f;
    struct err why = {0};

    if (conf_freq_parse(arg, &f, &why) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err, "Invalid --cpu-freq specification: %s",
                        why.text);
    conf_freq_format(&f, &text);
    opt_set_string(&o->cpu_freq, str_cstr(&text));
    return 0;
}

/* Signals that srun would otherwise handle. */
int opt_set_ignore_signals(struct opt *o, const char *arg, struct err *err)
{
    static const int known[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    uint32_t set = 0;

    words_foreach (arg, w) {
        _cleanup_free_ char *word = word_dup(w);
        int number = signame_parse(word);
        bool valid = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            valid = valid || known[i] == number;
        if (!valid)
            return opt_bad_value(o, "ignore-signals", arg,
                                 "a list of INT, QUIT, TERM, HUP, USR1 and USR2", err);
        set |= 1u << number;
    }
    o->ignored_signals = set;
    return 0;
}

int opt_set_slurmd_debug(struct opt *o, const char *arg, struct err *err)
{
    int level = log_parse_level(arg);

    if (level < 0)
        return opt_fail(o, OPT_FAIL_ERROR, 255, err,
                        "Invalid --slurmd-debug specification: %s: it is quiet, fatal, error, "
                        "info, verbose, debug, debug2, debug3, or a number from 0 to 9",
                        arg);
    o->slurmd_debug = (uint32_t)level;
    return 0;
}

int opt_set_acctg_freq(struct opt *o, const char *arg, struct err *err)
{
    struct err why = {0};

    o->acctg_sec = -1;
    if (conf_gather_parse(arg, &o->acctg_sec, &why) < 0)
        return opt_fail(o, OPT_FAIL_ERROR, OPT_STATUS_BAD_VALUE, err,
                        "Invalid --acctg-freq specification: %s", why.text);
    opt_set_string(&o->acctg_freq, arg);
    return 0;
}

int opt_set_resv_ports(struct opt *o, const char *arg, struct err *err)
{
    long long count = 0;
    if (arg && str_parse_i64(arg, 0, UINT16_MAX, &count) < 0)
        return opt_bad_number(o, "--resv-ports", arg, err);
    o->resv_ports = arg ? (uint32_t)count : STEP_PORTS_EACH;
    return 0;
}

/* 0 and "off": no forwarding. */
int opt_set_tree_width(struct opt *o, const char *arg, struct err *err)
{
    long long width = 0;

    if (!str_case_eq(arg, "off") && str_parse_i64(arg, 0, OPT_TREE_WIDTH_MAX, &width) < 0)
        return opt_bad_spec(o, "treewidth", arg, err);
    o->tree_width = width ? (uint32_t)width : OPT_TREE_WIDTH_MAX;
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

/* Overrides the job's variables; later options override it. */
int opt_set_interactive(struct opt *o, const char *arg, struct err *err)
{
    o->overlap = o->interactive = true;
    o->ntasks = o->min_nodes = o->max_nodes = 1;
    o->relative = 0;
    o->from[OPT_ID_overlap] = o->from[OPT_ID_ntasks] = o->from[OPT_ID_nodes] =
        o->from[OPT_ID_relative] = OPT_FROM_ARGV;
    o->from[OPT_ID_ntasks_per_node] = OPT_FROM_NONE;
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

static const char *const limit_names[] = {"AS",      "CORE",   "CPU",   "DATA", "FSIZE",
                                          "MEMLOCK", "NOFILE", "NPROC", "RSS",  "STACK"};

static const char *limit_plain(const char *name)
{
    return strncasecmp(name, "RLIMIT_", 7) ? name : name + 7;
}

int opt_set_propagate(struct opt *o, const char *arg, struct err *err)
{
    const char *list = arg && *arg ? arg : "ALL";
    words_foreach (list, w) {
        _cleanup_free_ char *word = word_dup(w);
        bool known = str_case_eq(word, "ALL") || str_case_eq(word, "NONE");
        for (size_t i = 0; i < sizeof(limit_names) / sizeof(limit_names[0]); i++)
            known = known || str_case_eq(limit_plain(word), limit_names[i]);
        if (!known)
            return opt_fail(o, OPT_FAIL_ERROR, 1, err,
                            "--propagate=%s is not valid: Bad rlimit name: %s", list, word);
    }
    opt_set_string(&o->propagate, list);
    return 0;
}

bool opt_propagates(const char *list, const char *limit)
{
    if (!list)
        return true;
    words_foreach (list, w) {
        _cleanup_free_ char *word = word_dup(w);
        if (str_case_eq(word, "ALL") || str_case_eq(limit_plain(word), limit))
            return true;
    }
    return false;
}
