/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request becomes a job: who may, what could ever run, and its place in the queue. */
#include <string.h>

#include "base/args.h"
#include "cluster/dist.h"
#include "conf/conf_freq.h"
#include "control/ask.h"
#include "control/no.h"
#include "control/submit.h"
#include "control/test_only.h"
#include "control/user_share.h"
#include "sched/bounds.h"
#include "sched/relax.h"

#define SCRIPT_ENV_MAX (128u << 10) /* bytes of variables that plugins make for scripts */

uint32_t submit_next_id(struct control *c)
{
    for (;;) {
        if (c->next_id < c->conf->first_job_id || c->next_id > c->conf->max_job_id)
            c->next_id = c->reserved_id = c->conf->first_job_id;
        uint32_t id = c->next_id++;
        if (c->next_id > c->reserved_id) {
            c->reserved_id = c->next_id + CONTROL_ID_BLOCK;
            control_save_meta(c);
        }
        if (!cluster_find_job(c->cluster, id) && !array_find(c->cluster, id) && !aside_knows(c, id))
            return id;
    }
}

void submit_forget(struct control *c, struct job *j)
{
    c->next_id = j->id;
    cluster_remove_job(c->cluster, j);
}

int submit_check_limits(struct control *c, struct job *j, bool refuse, struct err *err)
{
    enum reason reason = j->reason;
    int code = bounds_breach(c->conf, j, &reason);
    if (code && refuse)
        return no(err, code, j->part->conf.name);
    j->reason = reason;
    return code != 0;
}

int submit_check_time_min(struct job *j, const Pb__JobSpec *spec, int64_t limit_sec,
                          struct err *err)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < several_count(j); i++) {
        several_enter(j, i);
        int64_t of_part = j->part->conf.max_time_sec;
        most = of_part > most ? of_part : most;
    }
    several_leave(j);
    most = limit_sec < most ? limit_sec : most;
    bool too_long = spec->has_time_min_sec && spec->time_min_sec > most;
    return too_long ? no(err, ERR_TIME_MIN, NULL) : 0;
}

int submit_check_possible(struct control *c, struct job *j, struct err *err)
{
    const char *enforce = c->conf->enforce_part_limits;
    bool all = str_case_eq(enforce, "ALL") || str_case_eq(enforce, "YES");
    bool any = all || str_case_eq(enforce, "ANY");
    struct err why;
    int wrong =
        c->conf->sched.allow_zero_lic
            ? 0
            : license_possible(c->cluster, j, err); /* of the first partition that does not do */
    bool possible = false;
    if (wrong != 0)
        return wrong;
    for (uint32_t i = 0; i < several_count(j); i++) {
        several_enter(j, i);
        int rc = select_possible(c->cluster, j, &why);
        int limits = rc == 0 && any ? submit_check_limits(c, j, true, &why) : 0;
        possible = possible || (rc == 0 && limits == 0);
        if (wrong == 0 && (rc != 0 || limits != 0)) {
            wrong = rc ? rc : limits;
            *err = why;
        }
        if (limits != 0 && all) {
            possible = false;
            break;
        }
    }
    several_leave(j);
    return possible ? 0 : wrong;
}

void submit_leave_queue(struct control *c, const struct transition *t)
{
    several_unqueue(t->job);
    several_name(t->job);
    resv_unbind(t->job);
}

/* Out of every queue; into those of its partitions when nothing but resources is missing. */
void submit_enqueue(struct control *c, struct job *j)
{
    several_unqueue(j);
    enum reason reason = gate_of_job(c, j);
    j->resv_gone = j->resv_gone && j->held;
    priority_set_all(c, j);
    if (!reason)
        reason = gate_queue(c, j);
    bool ready = !reason;
    if (ready)
        reason = REASON_PRIORITY;
    if (ready && c->announced) /* a shutdown is, and no pass will say so */
        reason = REASON_REQ_NODE_NOT_AVAIL;
    priority_accrue(c, j, ready);
    if (j->reason != reason) {
        j->reason = reason;
        free(take_ptr(j->reason_detail));
        job_touch(c->cluster, j);
    }
    c->plan_wanted = c->plan_wanted || ready;
    control_schedule(c, j);
}

void submit_fill_switches(const struct control *c, Pb__JobSpec *spec)
{
    int64_t most = c->conf->sched.max_switch_wait;
    if (!spec->req_switches || (spec->has_wait_switch_sec && spec->wait_switch_sec <= most))
        return;
    spec->has_wait_switch_sec = true;
    spec->wait_switch_sec = most;
}

/* What the partition gives to jobs that state no memory is theirs from now on, and shown. */
static void fill_memory(const struct control *c, const struct job *j, Pb__JobSpec *spec)
{
    if (spec->has_mem_per_node_mib || spec->has_mem_per_cpu_mib || j->several ||
        !(c->conf->cr & CONF_CR_MEMORY))
        return;
    const struct request *r = &j->want;
    spec->has_mem_per_cpu_mib = r->mem_cpu_mib > 0;
    spec->mem_per_cpu_mib = r->mem_cpu_mib;
    spec->has_mem_per_node_mib = r->mem_node_mib > 0;
    spec->mem_per_node_mib = r->mem_node_mib;
}

void submit_fill_given(struct job *j, const Pb__JobSpec *spec)
{
    const struct conf_part *p = &j->part->conf;
    int64_t fallback = p->default_time_sec > 0 ? p->default_time_sec : p->max_time_sec;
    j->limit_sec =
        spec->has_time_limit_sec && spec->time_limit_sec > 0 ? spec->time_limit_sec : fallback;
    j->rank.given = spec->has_priority && spec->priority;
    j->priority = j->rank.given ? spec->priority : 0;
}

static int check_distribution(const Pb__JobSpec *spec, struct err *err)
{
    struct dist d;
    if (dist_parse(spec->distribution, &d) == 0)
        return 0;
    return err_set(err, -ERR_PARSE, "Invalid --distribution specification: %.64s",
                   spec->distribution);
}

int submit_check_freq(const struct control *c, const char *text, struct err *err)
{
    struct conf_freq f;
    int rc = text ? conf_freq_parse(text, &f, err) : 0;
    if (rc)
        return err_prefix(err, "Invalid --cpu-freq specification");
    return text ? conf_freq_allowed(&f, c->conf->cpu_freq_governors, err) : 0;
}

/* EnforcePartLimits=NO: a job that asks for more nodes or CPUs than its partitions have waits for
 * another configuration; a held job for whatever it lacks, until it is released. The user is told.
 */
static bool accept_unfit(struct control *c, struct job *j, const Pb__JobSpec *spec, int code,
                         const struct err *why)
{
    const char *enforce = c->conf->enforce_part_limits;
    bool enforces =
        str_case_eq(enforce, "ALL") || str_case_eq(enforce, "YES") || str_case_eq(enforce, "ANY");
    bool is_count = code == -ERR_NODE_COUNT || code == -ERR_TOO_MANY_CPUS;
    bool is_held = spec->has_hold && spec->hold;
    if (enforces || !(is_count || (is_held && code == -ERR_NODE_CONFIG)))
        return false;
    j->is_unfit = true;
    str_printf(&c->said, "%sRequested partition configuration not available now: %s",
               c->said.len ? "\n" : "", why->text);
    return true;
}

static int apply_spec(struct control *c, const struct caller *who, const struct caller *as,
                      struct job *j, const Pb__JobSpec *given, bool may_wait, struct err *err)
{
    Pb__JobSpec spec = *given;
    submit_fill_given(j, &spec);
    int rc = job_read_spec(c->cluster, j, &spec, err);
    if (rc == 0)
        rc = check_distribution(&spec, err);
    if (rc == 0)
        rc = mail_check(&spec, err);
    if (rc == 0)
        rc = submit_check_freq(c, spec.cpu_freq, err);
    if (rc == 0)
        rc = submit_check_time_min(j, &spec, j->limit_sec, err);
    rc = rc == 0 ? deadline_check(c, j, err) : rc;
    if (rc != 0)
        return rc;
    j->uid = as->uid;
    j->gid = as->gid;
    j->held = spec.has_hold && spec.hold;
    if (spec.dependency) {
        struct depend *d = NULL;
        rc = depend_read(c, who, j, spec.dependency, &d, err);
        if (rc != 0)
            return rc;
        depend_begin(c, j, d);
        spec.dependency = d ? spec.dependency : NULL;
    }
    fill_memory(c, j, &spec);
    submit_fill_switches(c, &spec);
    spec.has_uid = spec.has_gid = true;
    spec.uid = as->uid;
    spec.gid = as->gid;
    spec.user_name = (char *)as->user_name;
    spec.group_name = (char *)as->group_name;
    spec.partition_key = NULL; /* records are shown to everybody */
    job_repack(&j->spec, &spec.base);
    rc = submit_check_possible(c, j, err);
    if (rc != 0 && !(may_wait && accept_unfit(c, j, &spec, rc, err)))
        return relax_explain_misfit(c->cluster, j, &spec, err);
    return resv_check_job(c, j, &spec, err);
}

uint64_t submit_request_key(const uint8_t id[16], uint32_t uid)
{
    uint64_t key;
    memcpy(&key, id, sizeof key);
    return key ^ (uint64_t)(uid + 1) * UINT64_C(0x9e3779b97f4a7c15); /* one's own, not another's */
}

/* The user in whose name it is asked for; job_submit may give the job to another one. */
static uint32_t requester_of(const struct caller *who, const Pb__JobSpec *spec)
{
    return spec->has_uid && who->is_admin ? spec->uid : who->uid;
}

/* A submission seen before: the same job. NULL: it is new. */
struct job *submit_find_repeated(struct control *c, const struct caller *who, bool batch,
                                 const Pb__JobSpec *spec, uint64_t *key)
{
    uint32_t id, uid = requester_of(who, spec);
    *key = 0;
    if (spec->request_id.len == 16)
        *key = submit_request_key(spec->request_id.data, uid);
    if (!*key || !idmap_get(&c->cluster->requests, *key, &id))
        return NULL;
    struct job *j = cluster_find_job(c->cluster, id);
    if (j && j->requester_uid == uid && j->batch == batch)
        return j;
    *key = 0; /* another kind of request under the same number is no repetition */
    return NULL;
}

/* What is given of the priority: others than operators may not, though a script may do it for them.
 */
static int check_given(const struct caller *who, const Pb__JobSpec *spec, struct err *err)
{
    bool nice = spec->has_nice && spec->nice < 0;
    if (!who->is_operator && (nice || spec->has_priority))
        return no(err, ERR_ACCESS,
                  nice ? "only operators may set a negative nice value"
                       : "only operators may set a priority");
    return priority_check(who, spec, err);
}

/* Root's scripts get these, behind SPANK_: names that are names, and not more than they can take.
 */
static int check_script_env(const Pb__JobSpec *spec, struct err *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < spec->n_spank_env; i++) {
        const char *var = spec->spank_env[i];
        size_t name =
            strspn(var, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
        if (!name || var[name] != '=')
            return err_set(err, -ERR_PARSE, "unknown variable '%.80s' of prologs and epilogs", var);
        bytes += strlen(var) + 1;
    }
    if (bytes <= SCRIPT_ENV_MAX)
        return 0;
    return err_set(err, -ERR_TOO_BIG,
                   "options of plugins, and their variables for prologs and epilogs, have %zu "
                   "bytes, at most %u are taken",
                   bytes, SCRIPT_ENV_MAX);
}

/* What the batch script is started with. */
static int check_environment(const Pb__JobPayload *p, struct err *err)
{
    size_t bytes = 0;
    for (size_t i = 0; p && i < p->n_env; i++)
        bytes += strlen(p->env[i]) + 1;
    for (size_t i = 0; p && i < p->n_argv; i++)
        bytes += strlen(p->argv[i]) + 1;
    if (p && p->user_env)
        bytes += protobuf_c_message_get_packed_size(&p->user_env->base);
    if (bytes <= CONTROL_ENV_MAX)
        return 0;
    return err_set(err, -ERR_TOO_BIG,
                   "%s: the environment and the arguments have %zu bytes, at most %u are accepted: "
                   "name the variables that the job needs with --export",
                   err_text(ERR_TOO_BIG), bytes, CONTROL_ENV_MAX);
}

int submit_check_count(const struct control *c, size_t more, struct err *err)
{
    size_t most = c->conf->max_job_count, has = c->cluster->jobs.len + c->cluster->folded;
    size_t room = has < most ? most - has : 0;
    if (more <= room)
        return 0;
    return err_set(err, -ERR_JOB_LIMIT,
                   "%s: %zu asked for, each element of an array counts; MaxJobCount=%zu, of which "
                   "%zu are free: %s",
                   err_text(ERR_JOB_LIMIT), more, most, room,
                   more > most ? "ask for fewer at a time"
                               : "submit the job when other jobs have ended");
}

/* Whether there is room for the job, among all jobs and in the share of its user. */
static int check_room(struct control *c, const struct caller *who, uint32_t uid, size_t jobs,
                      const Pb__JobSpec *spec, const Pb__JobPayload *payload, struct err *err)
{
    struct holding more = {.jobs = jobs, .record = pb__job_spec__get_packed_size(spec)};
    more.store = more.record + (payload ? pb__job_payload__get_packed_size(payload) : 0);
    int rc = submit_check_count(c, jobs, err);
    if (rc != 0)
        user_share_log_largest(c);
    return rc == 0 ? user_share_check(c, who, uid, &more, err) : rc;
}

static bool is_too_long(const struct control *c, const Pb__JobPayload *payload)
{
    int64_t most = c->conf->sched.max_script_size;
    return most && payload && payload->has_script && payload->script.len > (size_t)most;
}

static int check_args(const Pb__JobPayload *payload, struct err *err)
{
    size_t bytes = payload ? args_bytes(payload->argv, payload->n_argv) +
                                 args_bytes(payload->env, payload->n_env)
                           : 0;
    if (bytes <= ARGS_BYTES_MAX)
        return 0;
    return err_set(err, -ERR_LIMIT,
                   "arguments and environment have %zu bytes, and %u are the most that a program "
                   "can get: use --export to pass fewer variables",
                   bytes, ARGS_BYTES_MAX);
}

/* Or ENV_SUBMIT_LATER. */
int submit_make_job(struct control *c, const struct caller *who, const Pb__JobSpec *given,
                    const Pb__JobPayload *payload, bool may_wait, struct job **out, struct err *err)
{
    struct part_list parts = {0};
    struct caller as;
    struct idset tasks = {0};
    uint32_t throttle = 0;
    if (c->store_low) {
        user_share_log_largest(c);
        return no(err, ERR_STORE_FULL, "new jobs are refused until there is space again");
    }
    if (is_too_long(c, payload))
        return err_set(err, -ERR_SCRIPT, "%s: more than %lld bytes (max_script_size)",
                       err_text(ERR_SCRIPT), (long long)c->conf->sched.max_script_size);
    int too_long = check_args(payload, err);
    if (too_long)
        return too_long;
    Pb__JobSpec asked = *given;
    const Pb__JobSpec *spec = &asked;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int rc = check_given(who, given, err);
    if (rc == 0)
        rc = check_script_env(given, err);
    if (rc == 0)
        rc = check_environment(payload, err);
    if (rc == 0)
        rc = ask_submit(c, who, payload, &asked, &arena, err);
    if (rc == 0)
        rc = access_identity(c, who, spec, &as, err);
    if (rc == 0)
        rc = access_find_parts(c, who, &as, &asked, true, &parts, &arena, err);
    if (rc == 0 && spec->array_inx)
        rc = array_parse(spec->array_inx, c->conf->max_array_size, &tasks, &throttle, err);
    if (rc != 0) {
        vec_done(&parts);
        return rc;
    }
    int64_t most = c->conf->sched.max_array_tasks;
    if (most && (int64_t)tasks.count > most) {
        idset_done(&tasks);
        vec_done(&parts);
        return err_set(err, -ERR_ARRAY, "%s: more than %lld elements (max_array_tasks)",
                       err_text(ERR_ARRAY), (long long)most);
    }
    rc = check_room(c, who, as.uid, tasks.count ? tasks.count : 1, spec, payload, err);
    if (rc != 0) {
        idset_done(&tasks);
        vec_done(&parts);
        return rc;
    }
    struct job *j = cluster_add_job(c->cluster, submit_next_id(c));
    several_set(j, parts.data, parts.len);
    vec_done(&parts);
    if (tasks.count)
        array_make(c->cluster, j, &tasks, throttle);
    rc = apply_spec(c, who, &as, j, spec, may_wait, err);
    if (rc != 0) {
        submit_forget(c, j);
        return rc;
    }
    j->submit_at = j->eligible_at = control_wall(c);
    if (j->begin_at > j->eligible_at)
        j->eligible_at = j->begin_at;
    j->requester_uid = requester_of(who, given);
    j->payload_bytes = payload ? (uint32_t)pb__job_payload__get_packed_size(payload) : 0;
    *out = j;
    return 0;
}

void submit_remember(struct control *c, struct job *j, uint64_t key)
{
    j->request_key = key;
    holdings_count(c->cluster, j);
    if (key)
        idmap_set(&c->cluster->requests, key, j->id);
    job_touch(c->cluster, j);
    depend_place_name(c->cluster, j);
    submit_enqueue(c, j);
    counters_submitted(c, j);
}

void control_submit(struct control *c, uint64_t call, const struct caller *who,
                    const Pb__SubmitRequest *r)
{
    struct err err = {0};
    uint64_t key;
    bool test = r->has_test_only && r->test_only;
    str_clear(&c->said);
    struct job *j = test ? NULL : submit_find_repeated(c, who, true, r->spec, &key);
    if (!j) {
        if (!test && (!r->payload || (!r->payload->has_script && r->payload->n_argv == 0))) {
            control_refuse_code(c, call, ERR_SCRIPT, NULL);
            return;
        }
        Pb__JobSpec spec = *r->spec;
        spec.has_batch = spec.batch = true;
        int rc = submit_make_job(c, who, &spec, r->payload, !test, &j, &err);
        if (rc < 0)
            control_refuse(c, call, &err);
        if (rc != 0)
            return;
        if (test) {
            test_only_ask(c, call, who, j);
            return;
        }
        struct str packed = STR_INIT;
        pb_pack(&r->payload->base, &packed);
        c->env->put(c->env->ctx, RECORD_PAYLOAD, j->id, NULL, packed.data, packed.len);
        str_done(&packed);
        submit_remember(c, j, key);
        job_announce(c->cluster, j);
    }
    Pb__SubmitReply reply = PB__SUBMIT_REPLY__INIT;
    reply.has_job_id = true;
    reply.job_id = j->array ? j->array->id : j->id; /* whose record may be purged by now */
    reply.partition = j->part ? (char *)j->part->conf.name : NULL;
    reply.message = c->said.len ? (char *)str_cstr(&c->said) : NULL;
    c->env->reply(c->env->ctx, call, &reply.base);
}
