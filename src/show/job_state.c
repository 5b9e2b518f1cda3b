/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/job_state.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hostlist.h"
#include "base/idset.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "base/size.h"
#include "base/step_id.h"
#include "base/timefmt.h"
#include "base/words.h"
#include "cluster/job/burst.h"
#include "cluster/job/request.h"
#include "conf/conf_tres.h"
#include "show/names.h"

static const struct {
    const char *word, *abbreviated;
} states[] = {
    [PB__JOB_STATE__PENDING] = {"PENDING", "PD"},
    [PB__JOB_STATE__RUNNING] = {"RUNNING", "R"},
    [PB__JOB_STATE__SUSPENDED] = {"SUSPENDED", "S"},
    [PB__JOB_STATE__COMPLETED] = {"COMPLETED", "CD"},
    [PB__JOB_STATE__CANCELLED] = {"CANCELLED", "CA"},
    [PB__JOB_STATE__FAILED] = {"FAILED", "F"},
    [PB__JOB_STATE__TIMEOUT] = {"TIMEOUT", "TO"},
    [PB__JOB_STATE__NODE_FAIL] = {"NODE_FAIL", "NF"},
    [PB__JOB_STATE__PREEMPTED] = {"PREEMPTED", "PR"},
    [PB__JOB_STATE__BOOT_FAIL] = {"BOOT_FAIL", "BF"},
    [PB__JOB_STATE__DEADLINE] = {"DEADLINE", "DL"},
    [PB__JOB_STATE__OUT_OF_MEMORY] = {"OUT_OF_MEMORY", "OOM"},
};
#define STATE_COUNT (sizeof(states) / sizeof(states[0]))

/* Slurm's states that Sluice never sets. Filters accept them and match no job. */
static const char *const empty_states[] = {
    "RESIZING",      "RS",        "RESV_DEL_HOLD", "RD",
    "REQUEUED",      "RQ",        "REQUEUE_FED",   "RF",
    "REVOKED",       "RV",        "REQUEUE_HOLD",  "RH",
    "SIGNALING",     "SI",        "LAUNCH_FAILED", "RECONFIG_FAIL",
    "POWER_UP_NODE", "UPDATE_DB", "EXPEDITING",
};

static const char *get_state_word(size_t state, bool abbreviated)
{
    if (state >= STATE_COUNT)
        return abbreviated ? "?" : "UNKNOWN";
    return abbreviated ? states[state].abbreviated : states[state].word;
}

bool job_state_stages_out(const Pb__JobLive *live)
{
    return live->burst && live->burst->phase >= BURST_POST_RUN &&
           live->burst->phase <= BURST_TEST_OUT && job_state_is_final(live);
}

const char *job_state_word(const Pb__JobLive *live)
{
    return job_state_stages_out(live)                                    ? "STAGE_OUT"
           : live->completing                                            ? "COMPLETING"
           : live->configuring                                           ? "CONFIGURING"
           : live->special_exit && live->state == PB__JOB_STATE__PENDING ? "SPECIAL_EXIT"
           : live->stopped && live->state == PB__JOB_STATE__RUNNING
               ? "STOPPED"
               : get_state_word(live->state, false);
}

const char *job_state_short(const Pb__JobLive *live)
{
    return job_state_stages_out(live)                                    ? "SO"
           : live->completing                                            ? "CG"
           : live->configuring                                           ? "CF"
           : live->special_exit && live->state == PB__JOB_STATE__PENDING ? "SE"
           : live->stopped && live->state == PB__JOB_STATE__RUNNING
               ? "ST"
               : get_state_word(live->state, true);
}

bool job_state_is_final(const Pb__JobLive *live)
{
    return live->state > PB__JOB_STATE__SUSPENDED;
}

static bool add_state(struct job_states *s, const char *word)
{
    if (str_case_eq(word, "all")) {
        s->all = true;
        return true;
    }
    if (str_case_eq(word, "COMPLETING") || str_case_eq(word, "CG")) {
        s->completing = true;
        return true;
    }
    if (str_case_eq(word, "STAGE_OUT") || str_case_eq(word, "SO")) {
        s->stage_out = true;
        return true;
    }
    if (str_case_eq(word, "CONFIGURING") || str_case_eq(word, "CF")) {
        s->configuring = true;
        return true;
    }
    if (str_case_eq(word, "SPECIAL_EXIT") || str_case_eq(word, "SE")) {
        s->special_exit = true;
        return true;
    }
    if (str_case_eq(word, "STOPPED") || str_case_eq(word, "ST")) {
        s->stopped = true;
        return true;
    }
    if (str_case_eq(word, "RUN"))
        word = "RUNNING";
    for (size_t i = 0; i < STATE_COUNT; i++) {
        if (str_case_eq(word, states[i].word) || str_case_eq(word, states[i].abbreviated)) {
            s->wanted |= 1u << i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(empty_states) / sizeof(empty_states[0]); i++) {
        if (str_case_eq(word, empty_states[i])) {
            s->wanted |= 1u << 31;
            return true;
        }
    }
    return false;
}

int job_states_parse(const char *list, struct job_states *out, struct err *err)
{
    words_foreach (list, w) {
        _cleanup_free_ char *word = word_dup(w);
        if (w.len && !add_state(out, str_trim(word)))
            return err_set(err, -ERR_PARSE, "Invalid job state specified: %s", str_trim(word));
    }
    return 0;
}

void job_states_list(struct str *out)
{
    for (size_t i = 0; i < STATE_COUNT; i++)
        str_printf(out, "%s,", states[i].word);
    for (size_t i = 0; i < sizeof(empty_states) / sizeof(empty_states[0]); i++)
        if (strlen(empty_states[i]) > 2) /* must not be abbreviated */
            str_printf(out, "%s,", empty_states[i]);
    str_puts(out, "COMPLETING,CONFIGURING,SPECIAL_EXIT,STAGE_OUT,STOPPED");
}

bool job_states_has_flag(const struct job_states *s)
{
    return s->all || s->completing || s->stage_out || s->configuring || s->special_exit ||
           s->stopped;
}

bool job_states_given(const struct job_states *s)
{
    return job_states_has_flag(s) || s->wanted;
}

bool job_states_match(const struct job_states *s, const Pb__JobLive *live)
{
    const struct {
        bool is, wanted;
    } flags[] = {
        {job_state_stages_out(live), s->stage_out},
        {live->completing, s->completing},
        {live->configuring, s->configuring},
        {live->special_exit && live->state == PB__JOB_STATE__PENDING, s->special_exit},
        {live->stopped && live->state == PB__JOB_STATE__RUNNING, s->stopped},
    };
    if (s->all)
        return true;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (flags[i].is)
            return flags[i].wanted;
    return live->state < STATE_COUNT && (s->wanted >> live->state & 1);
}

const char *job_state_sentence(const Pb__JobLive *live)
{
    bool waits = live->state == PB__JOB_STATE__PENDING;
    bool said = waits && live->reason_detail && *live->reason_detail;
    return said ? live->reason_detail : job_state_reason(live);
}

const char *job_state_reservation(const Pb__JobSpec *spec, const Pb__JobLive *live)
{
    return spec->reservation && *spec->reservation ? spec->reservation : live->reservation;
}

const char *job_state_oversubscribe(const Pb__JobSpec *spec, const Pb__JobLive *live)
{
    return request_oversubscribe_word(spec->oversubscribe, live->alone, live->shares);
}

const char *job_state_exclusive(const Pb__JobLive *live)
{
    return request_exclusive_word(live->topo_alone, live->alone, live->user_alone);
}

const char *job_state_licenses(const Pb__JobSpec *spec, const Pb__JobLive *live)
{
    bool holds = live->state == PB__JOB_STATE__RUNNING || live->state == PB__JOB_STATE__SUSPENDED;
    return !holds ? NULL : live->licenses_alloc ? live->licenses_alloc : spec->licenses;
}

const char *job_state_failure(const Pb__JobLive *live)
{
    bool failed = live->state == PB__JOB_STATE__FAILED || live->state == PB__JOB_STATE__CANCELLED ||
                  live->state == PB__JOB_STATE__NODE_FAIL ||
                  live->state == PB__JOB_STATE__OUT_OF_MEMORY;
    return failed && live->reason_detail && *live->reason_detail ? live->reason_detail : NULL;
}

const char *job_state_reason(const Pb__JobLive *live)
{
    return live->reason && *live->reason ? live->reason : "None";
}

int64_t job_state_used_sec(const Pb__JobLive *live, int64_t now)
{
    if (live->state == PB__JOB_STATE__PENDING || !live->start_at)
        return 0;
    int64_t end = job_state_is_final(live)                  ? live->end_at
                  : live->state == PB__JOB_STATE__SUSPENDED ? live->suspended_at
                                                            : now;
    int64_t used = end - live->start_at - live->suspended_sec;
    return used > 0 ? used : 0;
}

int64_t job_state_left_sec(const Pb__JobLive *live, int64_t now)
{
    if (live->time_limit_sec >= TIME_UNLIMITED)
        return TIME_UNLIMITED;
    return live->time_limit_sec - job_state_used_sec(live, now);
}

int64_t job_state_start_at(const Pb__JobRecord *job)
{
    const Pb__JobLive *live = job->live;
    if (live->start_at || live->state != PB__JOB_STATE__PENDING || !live->priority)
        return live->start_at;
    return job->spec->begin_at_sec > live->submit_at ? job->spec->begin_at_sec : 0;
}

int64_t job_state_end_at(const Pb__JobRecord *job)
{
    const Pb__JobLive *live = job->live;
    int64_t start_at = job_state_start_at(job);
    if (live->end_at)
        return live->end_at;
    if (!start_at || job_state_is_final(live) || live->time_limit_sec >= TIME_UNLIMITED)
        return 0;
    return start_at + live->time_limit_sec + live->suspended_sec;
}

int64_t job_state_accrue_at(const Pb__JobLive *live)
{
    bool started = live->start_at && live->state != PB__JOB_STATE__PENDING &&
                   live->state != PB__JOB_STATE__CANCELLED;
    return (live->priority && !live->dependency) || started ? live->eligible_at : 0;
}

int64_t job_state_eligible_at(const Pb__JobRecord *job)
{
    const Pb__JobLive *live = job->live;
    bool begins =
        job->spec->begin_at_sec > 0 && live->state == PB__JOB_STATE__PENDING && !live->dependency;
    return begins ? live->eligible_at : job_state_accrue_at(live);
}

int64_t job_state_step_used_sec(const Pb__StepRecord *step, int64_t now)
{
    int64_t end_at = step->has_end_at ? step->end_at : now;
    int64_t begun_ms = step->has_begun_run_ms ? step->begun_run_ms : 0;
    if (step->has_job_run_ms)
        return step->job_run_ms > begun_ms ? (step->job_run_ms - begun_ms) / 1000 : 0;
    return step->start_at && end_at > step->start_at ? end_at - step->start_at : 0;
}

int64_t job_state_step_limit_sec(const Pb__StepRecord *step)
{
    bool own = step->has_time_limit_sec && step->step_id < STEP_ID_INTERACTIVE;
    return own ? step->time_limit_sec : TIME_UNLIMITED;
}

void job_state_put_exit(int32_t status, struct str *out)
{
    str_printf(out, "%d:%d", WIFEXITED(status) ? WEXITSTATUS(status) : 0,
               WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/* The node where the batch script runs, or NULL. 'name' is a buffer for the result. */
static const char *first_node(const Pb__JobLive *live, char *name)
{
    _cleanup_hostlist_ struct hostlist *nodes = NULL;

    if (live->batch_host)
        return live->batch_host;
    if (live->nodes && hostlist_parse(live->nodes, &nodes, NULL) == 0 && hostlist_count(nodes))
        return hostlist_nth(nodes, 0, name);
    return NULL;
}

static uint32_t first_task(const Pb__JobLive *live)
{
    struct idset tasks = {0};
    uint32_t first = live->array_task_id;
    if (live->array_tasks && idset_parse(live->array_tasks, UINT32_MAX >> 1, &tasks, NULL) == 0)
        first = (uint32_t)idset_first(&tasks);
    idset_done(&tasks);
    return first;
}

/* Expands the pattern as slurmstepd does for the batch script. A record of several array elements
 * has several paths: the letters stay, or JOB_PATH_FIRST expands them for the first element. */
static void put_pattern(const Pb__JobRecord *job, const char *pattern, enum job_path how,
                        struct str *out)
{
    const Pb__JobLive *live = job->live;
    char name[HOSTLIST_NAME_MAX + 1];
    struct pattern_values v = {
        .job_id = live->job_id,
        .submit_at_sec = live->submit_at,
        .step_id = STEP_ID_BATCH,
        .array_id = live->has_array_job_id ? live->array_job_id : live->job_id,
        .array_task = live->has_array_job_id ? first_task(live) : PATTERN_NO_ARRAY,
        .has_restarts = true,
        .restarts = live->restarts,
        .is_open = live->array_tasks != NULL && how != JOB_PATH_FIRST,
        .node = first_node(live, name),
        .user = job->spec->user_name ? job->spec->user_name : names_user(job->spec->uid),
        .job_name = job->spec->name,
    };
    _cleanup_str_ struct str path = STR_INIT;

    str_puts(out, pattern_expand(pattern, &v, &path, NULL) ? pattern : str_cstr(&path));
}

bool job_state_is_batch(const Pb__JobRecord *job)
{
    return job->spec->batch || job->live->script_of_leader;
}

void job_state_put_path(const Pb__JobRecord *job, int stream, enum job_path how, struct str *out)
{
    const Pb__JobSpec *spec = job->spec;
    const char *pattern = stream == 0 ? spec->std_in : stream == 1 ? spec->std_out : spec->std_err;
    if (!pattern && stream == 0)
        pattern = "/dev/null";
    if (!pattern && stream == 2)
        pattern = spec->std_out;
    bool is_given = pattern != NULL;
    if (!pattern)
        pattern = !job_state_is_batch(job)      ? ""
                  : job->live->has_array_job_id ? "slurm-%A_%a.out"
                                                : "slurm-%j.out";
    if (*pattern && *pattern != '/' && spec->work_dir)
        str_printf(out, "%s/", spec->work_dir);
    if (is_given && how == JOB_PATH_GIVEN)
        str_puts(out, pattern);
    else
        put_pattern(job, pattern, how, out);
}

void job_state_put_step_path(const Pb__StepRecord *step, const char *pattern, struct str *out)
{
    char name[HOSTLIST_NAME_MAX + 1];
    _cleanup_hostlist_ struct hostlist *nodes = NULL;
    bool has_nodes = step->nodes && hostlist_parse(step->nodes, &nodes, NULL) == 0;
    struct pattern_values v = {
        .job_id = step->job_id,
        .submit_at_sec = step->submit_at,
        .step_id = step->step_id,
        .array_id = step->has_array_job_id ? step->array_job_id : step->job_id,
        .array_task = step->has_array_job_id ? step->array_task_id : PATTERN_NO_ARRAY,
        .node = has_nodes && hostlist_count(nodes) ? hostlist_nth(nodes, 0, name) : NULL,
        .user = names_user(step->uid),
    };
    _cleanup_str_ struct str path = STR_INIT;

    if (strstr(pattern, "%x")) {
        str_puts(out, pattern);
        return;
    }
    str_puts(out, pattern_expand(pattern, &v, &path, NULL) ? pattern : str_cstr(&path));
}

static uint64_t memory_of(const Pb__JobRecord *job, uint32_t nodes, uint32_t cpus)
{
    const Pb__JobSpec *spec = job->spec;
    if (spec->has_mem_per_node_mib)
        return spec->mem_per_node_mib * nodes;
    return spec->mem_per_cpu_mib * cpus;
}

#define SUMS_MAX 16

struct sums { /* counts of generic resources by name */
    char name[SUMS_MAX][64];
    uint64_t count[SUMS_MAX];
    size_t len;
};

static void add_sum(struct sums *s, const char *name, size_t len, uint64_t count)
{
    size_t i = 0;
    while (i < s->len && (strlen(s->name[i]) != len || memcmp(s->name[i], name, len) != 0))
        i++;
    if (len >= sizeof s->name[0] || i == SUMS_MAX)
        return;
    if (i == s->len) {
        memcpy(s->name[i], name, len);
        s->len++;
    }
    s->count[i] += count;
}

static void sum_allocated(const Pb__JobLive *live, struct sums *s)
{
    for (size_t i = 0; i < live->n_alloc; i++)
        for (size_t k = 0; k < live->alloc[i]->n_gres; k++) {
            const Pb__GresAlloc *g = live->alloc[i]->gres[k];
            add_sum(s, g->name, strlen(g->name), g->count);
        }
}

static void put_sums(const struct sums *s, struct str *out)
{
    for (size_t i = 0; i < s->len; i++)
        str_printf(out, ",gres/%s=%llu", s->name[i], (unsigned long long)s->count[i]);
}

bool job_state_put_step_tres(const Pb__StepRecord *step, struct str *out)
{
    char size[SIZE_TEXT_MAX];
    struct sums sums = {0};
    uint64_t mib = 0;
    if (!step->num_cpus)
        return false;
    for (size_t i = 0; i < step->n_layout; i++)
        mib += step->layout[i]->mem_mib;
    str_printf(out, "cpu=%u", step->num_cpus);
    if (mib)
        str_printf(out, ",mem=%s", size_format_mib(mib, size));
    str_printf(out, ",node=%u", step->num_nodes);
    for (size_t i = 0; i < step->n_layout; i++)
        for (size_t k = 0; k < step->layout[i]->n_gres; k++) {
            const Pb__GresAlloc *g = step->layout[i]->gres[k];
            add_sum(&sums, g->name, strlen(g->name), g->count);
        }
    put_sums(&sums, out);
    return true;
}

/* A step that ended with its job has the word of the job's state. */
static const char *get_ended_word(const Pb__StepRecord *step)
{
    uint32_t with = step->ended_with_job;
    bool alone = !step->has_ended_with_job || with == PB__JOB_STATE__COMPLETED ||
                 with == PB__JOB_STATE__FAILED;
    return !alone ? get_state_word(with, false) : step->exit_status ? "FAILED" : "COMPLETED";
}

const char *job_state_of_step(const Pb__StepRecord *step)
{
    return step->state == PB__STEP_STATE__STEP_ENDED     ? get_ended_word(step)
           : step->suspended                             ? "SUSPENDED"
           : step->state == PB__STEP_STATE__STEP_RUNNING ? "RUNNING"
                                                         : "PENDING";
}

void job_state_put_node_gres(const Pb__NodeAlloc *a, bool devices, struct str *out)
{
    for (size_t i = 0; i < a->n_gres; i++) {
        const Pb__GresAlloc *g = a->gres[i];
        str_printf(out, "%s%s%s%s:%llu", i ? "," : "", g->name, g->type ? ":" : "",
                   g->type ? g->type : "", (unsigned long long)g->count);
        if (devices && g->has_gpu)
            str_printf(out, "(IDX:%u)", g->gpu);
        if (!devices || !g->n_devices)
            continue;
        str_puts(out, "(IDX:");
        for (size_t k = 0; k < g->n_devices; k++) {
            size_t last = k;
            while (last + 1 < g->n_devices && g->devices[last + 1] == g->devices[last] + 1)
                last++;
            str_printf(out, k ? ",%u" : "%u", g->devices[k]);
            if (last > k)
                str_printf(out, "-%u", g->devices[last]);
            k = last;
        }
        str_putc(out, ')');
    }
}

/* Adds the counts of a list as "gres:gpu:a100:2,gres:nic", each multiplied by 'times'. */
static void sum_list(const char *list, uint64_t times, struct sums *s)
{
    words_foreach (list, w) {
        const char *name =
            !strncmp(w.at, "gres:", 5) || !strncmp(w.at, "gres/", 5) ? w.at + 5 : w.at;
        const char *last = w.at + w.len;
        uint64_t count = 1;
        while (last > name && last[-1] != ':')
            last--;
        _cleanup_free_ char *number = mem_strndup(last, (size_t)(w.at + w.len - last));
        if (last > name && size_parse_count(number, UINT64_MAX / 2, &count, NULL) < 0)
            count = 1;
        if (count && !str_eq(list, "none"))
            add_sum(s, name, strcspn(name, ":,"), count * times);
    }
}

static bool has_sum(const struct sums *s, const char *name)
{
    for (size_t i = 0; i < s->len; i++)
        if (str_eq(s->name[i], name))
            return true;
    return false;
}

/* Finds the type of the GPUs in a list, an empty word without a type. False: the list has no GPUs,
 * or several entries of them. */
static bool find_gpu_type(const char *list, struct word_of_list *type)
{
    size_t found = 0;
    words_foreach (list, w) {
        const char *name =
            !strncmp(w.at, "gres:", 5) || !strncmp(w.at, "gres/", 5) ? w.at + 5 : w.at;
        if (strncmp(name, "gpu", 3) != 0 || !strchr(":=,", name[3]))
            continue;
        const char *at = name[3] ? name + 4 : name + 3;
        size_t len = name[3] && name[3] != ',' ? strcspn(at, ":=,") : 0;
        *type = (struct word_of_list){.at = at, .len = isdigit((unsigned char)*at) ? 0 : len};
        found++;
    }
    return found == 1;
}

/* Whether GPUs of each node and GPUs of each task are the same ones, as request_parse() decides. */
static bool are_same_gpus(const char *of_node, const char *of_task)
{
    struct word_of_list a, b;
    return find_gpu_type(of_node, &a) && find_gpu_type(of_task, &b) &&
           (!a.len || !b.len || (a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0));
}

/* GPUs of each task are those of each node (--gres, --gpus-per-node) if both are requested. A total
 * counts if no other option sets the number. For a job without a GPU request, --ntasks-per-gpu and
 * the task count give the number of GPUs. */
static void sum_wanted(const Pb__JobSpec *spec, uint32_t nodes, uint32_t tasks, struct sums *s)
{
    struct sums total = {0}, of_tasks = {0};
    sum_list(spec->gres, nodes, s);
    bool same_gpus = are_same_gpus(spec->gres, spec->tres_per_task);
    sum_list(spec->tres_per_task, tasks, &of_tasks);
    for (size_t i = 0; i < of_tasks.len; i++)
        if (!same_gpus || !str_eq(of_tasks.name[i], "gpu"))
            add_sum(s, of_tasks.name[i], strlen(of_tasks.name[i]), of_tasks.count[i]);
    sum_list(spec->tres_per_socket, (uint64_t)nodes * spec->sockets_per_node, s);
    sum_list(spec->tres_per_job, 1, &total);
    for (size_t i = 0; i < total.len; i++)
        if (!has_sum(s, total.name[i]))
            add_sum(s, total.name[i], strlen(total.name[i]), total.count[i]);
    if (spec->ntasks_per_gpu && !has_sum(s, "gpu"))
        add_sum(s, "gpu", strlen("gpu"), (tasks + spec->ntasks_per_gpu - 1) / spec->ntasks_per_gpu);
}

uint64_t job_state_count_gpus(const Pb__JobSpec *spec, uint32_t nodes, uint32_t tasks)
{
    struct sums sums = {0};
    sum_wanted(spec, nodes, tasks, &sums);
    for (size_t i = 0; i < sums.len; i++)
        if (str_eq(sums.name[i], "gpu"))
            return sums.count[i];
    return 0;
}

/* The number of nodes needed for a total of generic resources at the requested count per node; 1:
 * not determined. */
static uint64_t count_nodes_of_total(const struct sums *each, const struct sums *total)
{
    uint64_t most = 1;
    for (size_t i = 0; i < each->len; i++)
        for (size_t k = 0; k < total->len; k++) {
            if (!each->count[i] || !str_eq(each->name[i], total->name[k]))
                continue;
            uint64_t nodes =
                total->count[k] / each->count[i] + (total->count[k] % each->count[i] != 0);
            most = nodes > most ? nodes : most;
        }
    return most;
}

/* The same for the totals of the request, and for those that follow from its tasks. */
static uint32_t count_nodes_of_gres(const Pb__JobSpec *spec)
{
    struct sums each = {0}, total = {0}, of_tasks = {0};
    sum_list(spec->gres, 1, &each);
    sum_list(spec->tres_per_job, 1, &total);
    sum_list(spec->tres_per_task, spec->num_tasks, &of_tasks);
    if (spec->ntasks_per_gpu && spec->num_tasks && !has_sum(&total, "gpu"))
        add_sum(&of_tasks, "gpu", strlen("gpu"), (spec->num_tasks - 1) / spec->ntasks_per_gpu + 1);
    uint64_t nodes = count_nodes_of_total(&each, &total);
    uint64_t more = count_nodes_of_total(&each, &of_tasks);
    nodes = nodes < more ? more : nodes;
    return nodes < UINT32_MAX ? (uint32_t)nodes : UINT32_MAX;
}

/* A pending job without a node count requests the nodes that it names or that its generic resources
 * need, at least one. As in Slurm, its CPUs, --ntasks-per-node and feature counts do not count as a
 * request for nodes. */
static uint32_t count_wanted_nodes(const Pb__JobRecord *job)
{
    const Pb__JobSpec *spec = job->spec;
    _cleanup_hostlist_ struct hostlist *hosts = NULL;
    if (spec->min_nodes)
        return spec->min_nodes;
    if (job->live->state != PB__JOB_STATE__PENDING)
        return job->live->num_nodes;
    uint32_t least = count_nodes_of_gres(spec);
    if (!spec->req_nodes || hostlist_parse(spec->req_nodes, &hosts, NULL) < 0)
        return least;
    uint32_t count = (uint32_t)hostlist_count(hosts);
    return count > least ? count : least;
}

/* Adds the generic resources by name, and where the allocation knows the type also by type. */
static void bill_gres(const Pb__JobLive *live, bool allocated, const struct sums *sums,
                      struct conf_bill *b)
{
    char name[160];
    for (size_t i = 0; i < sums->len; i++) {
        snprintf(name, sizeof name, "gres/%s", sums->name[i]);
        conf_bill_add(b, name, (double)sums->count[i]);
    }
    for (size_t i = 0; allocated && i < live->n_alloc; i++)
        for (size_t k = 0; k < live->alloc[i]->n_gres; k++) {
            const Pb__GresAlloc *g = live->alloc[i]->gres[k];
            snprintf(name, sizeof name, "gres/%s:%s", g->name, g->type ? g->type : "");
            if (g->type)
                conf_bill_add(b, name, (double)g->count);
        }
}

static double find_billing(const Pb__JobRecord *job, bool allocated, uint32_t cpus, uint64_t mem,
                           uint32_t nodes, const struct sums *sums)
{
    const Pb__JobLive *live = job->live;
    struct conf_bill b;
    conf_bill_begin(&b, live->billing_weights, live->billing_rule);
    conf_bill_add(&b, "cpu", cpus);
    conf_bill_add(&b, "mem", (double)mem);
    conf_bill_add(&b, "node", nodes);
    bill_gres(live, allocated, sums, &b);
    bool holds = allocated && live->licenses_alloc;
    conf_bill_add_licenses(&b, holds ? live->licenses_alloc : job->spec->licenses);
    return conf_bill_sum(&b);
}

double job_state_find_billing(const Pb__JobRecord *job)
{
    const Pb__JobLive *live = job->live;
    struct sums sums = {0};
    sum_allocated(live, &sums);
    return find_billing(job, true, live->num_cpus, live->mem_mib, live->num_nodes, &sums);
}

bool job_state_put_tres(const Pb__JobRecord *job, bool allocated, struct str *out)
{
    const Pb__JobLive *live = job->live;
    const Pb__JobSpec *spec = job->spec;
    char size[SIZE_TEXT_MAX];
    if (allocated && (live->state == PB__JOB_STATE__PENDING || !live->nodes || !*live->nodes))
        return false;
    uint32_t nodes = allocated ? live->num_nodes : count_wanted_nodes(job);
    uint32_t implied = live->num_tasks > nodes ? live->num_tasks : nodes;
    uint32_t tasks = spec->num_tasks ? spec->num_tasks : implied;
    uint32_t cpus = allocated || !live->has_wanted_cpus ? live->num_cpus : live->wanted_cpus;
    uint64_t mem = allocated && live->has_mem_mib ? live->mem_mib : memory_of(job, nodes, cpus);
    str_printf(out, "cpu=%u", cpus);
    if (mem)
        str_printf(out, ",mem=%s", size_format_mib(mem, size));
    struct sums sums = {0};
    if (allocated)
        sum_allocated(live, &sums);
    else
        sum_wanted(spec, nodes, tasks, &sums);
    str_printf(out, ",node=%u,billing=%llu", nodes,
               (unsigned long long)find_billing(job, allocated, cpus, mem, nodes, &sums));
    put_sums(&sums, out);
    return true;
}

uint32_t job_state_min_cpus(const Pb__JobSpec *spec)
{
    uint32_t per_task = spec->cpus_per_task ? spec->cpus_per_task : 1;
    uint32_t tasks = spec->ntasks_per_node ? spec->ntasks_per_node : 1;
    uint32_t used = per_task * tasks;
    return spec->min_cpus_per_node > used ? spec->min_cpus_per_node : used;
}
