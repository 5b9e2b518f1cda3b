/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request becomes a job in stages, which are below in their order:
 *
 *   accept     the controller accepts jobs, and the size of the request is permitted
 *   plugins    the site's job_submit may change or reject the request
 *   authorise  the owner, the partitions, and the limits on the number of jobs; the job gets its id
 *   parse      each text is parsed once into typed values (cluster/job/request.h)
 *   complete   unspecified values get the defaults of the partitions and the cluster
 *   check      contradicting values, and the dependencies
 *   feasible   some partition could ever serve the job, and its reservations could
 *   burst      the site's script accepts its burst buffer lines
 *   enqueue    the gates (gate.h), and the queues of its partitions
 *
 * The caller is authorised before anything is parsed, and the first stage that rejects the request
 * gives the reply. --test-only goes through all stages except the last one (test_only.h). A change
 * of a job begins with 'plugins', and is authorised field by field (update_job.c).
 */
#include <string.h>

#include "base/args.h"
#include "base/pb.h"
#include "conf/conf_freq.h"
#include "control/core/counters.h"
#include "control/core/reply.h"
#include "control/core/user_share.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/gate.h"
#include "control/life/mail.h"
#include "control/life/priority.h"
#include "control/life/ready.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/step/step.h"
#include "control/submit/access.h"
#include "control/submit/burst_script.h"
#include "control/submit/submit.h"
#include "control/submit/submit_set.h"
#include "sched/why/relax.h"

/* Bytes of variables that plugins create for scripts. */
#define SCRIPT_ENV_MAX (128u << 10)

struct submission { /* a request during its submission */
    const struct caller *who;
    const Pb__JobSpec *given;
    const Pb__JobPayload *payload; /* NULL: none */
    bool may_wait;                 /* although no partition can serve it, see struct job */
    struct arena *arena;
    Pb__JobSpec spec; /* as given; after 'plugins' as changed by them; then completed */
    struct caller as; /* the owner of the new job */
    struct part_list parts;
    struct idset tasks; /* of an array; empty: not an array */
    uint32_t throttle;
    struct parsed_request parsed;
    struct job *job; /* from 'parse' on; not visible before 'enqueue' */
};

/* --- accept ------------------------------------------------------------------------------------
 */

static bool is_script_too_long(const struct control *c, const Pb__JobPayload *payload)
{
    int64_t most = c->conf->sched.max_script_size;
    return most && payload && payload->has_script && payload->script.len > (size_t)most;
}

static int check_args(const Pb__JobPayload *payload, struct err *err)
{
    size_t bytes = payload ? args_bytes(payload->argv, payload->n_argv) +
                                 args_bytes(payload->env, payload->n_env)
                           : 0;
    return args_check_bytes(bytes, err);
}

static int check_size(struct control *c, struct submission *s, struct err *err)
{
    if (c->store_low) {
        user_share_log_largest(c);
        return control_set_error(err, ERR_STORE_FULL,
                                 "new jobs are refused until there is space again");
    }
    if (is_script_too_long(c, s->payload))
        return err_set(err, -ERR_SCRIPT, "%s: more than %lld bytes (max_script_size)",
                       err_text(ERR_SCRIPT), (long long)c->conf->sched.max_script_size);
    return check_args(s->payload, err);
}

/* Appends the burst buffer lines of the script to those of --bb. */
static int collect_burst_lines(struct control *c, struct submission *s, struct err *err)
{
    _cleanup_str_ struct str lines = STR_INIT;
    const Pb__JobPayload *p = s->payload;
    if (!c->conf->burst.enabled || !p || !p->has_script)
        return 0;
    if (s->spec.burst_buffer)
        str_puts(&lines, s->spec.burst_buffer);
    burst_script_lines((const char *)p->script.data, p->script.len, c->conf->burst.directive,
                       &lines);
    if (lines.len)
        s->spec.burst_buffer = arena_strdup(s->arena, str_cstr(&lines));
    return 0;
}

/* Only operators or administrators may set these; a site script may set them for every user. */
static int check_privileged(struct control *c, struct submission *s, struct err *err)
{
    const struct caller *who = s->who;
    const Pb__JobSpec *spec = s->given;
    bool nice = spec->has_nice && spec->nice < 0;
    if (!who->is_operator && spec->admin_comment)
        return control_set_error(err, ERR_ACCESS, "only operators may set AdminComment");
    if (!who->is_operator && (nice || spec->has_priority))
        return control_set_error(err, ERR_ACCESS,
                                 nice ? "only operators may set a negative nice value"
                                      : "only operators may set a priority");
    int rc = boot_authorise(who, spec, err);
    return rc == 0 ? priority_check(who, spec, err) : rc;
}

/* Scripts that run as root get these with the prefix SPANK_. */
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

static int check_variables(struct control *c, struct submission *s, struct err *err)
{
    int rc = check_script_env(s->given, err);
    return rc == 0 ? check_environment(s->payload, err) : rc;
}

/* --- plugins -----------------------------------------------------------------------------------
 */

static void put_part(const struct part *p, struct env_part *out)
{
    *out = (struct env_part){
        .name = p->conf.name,
        .nodes = p->conf.nodes,
        .is_default = p->conf.is_default,
        .is_up = p->conf.state == CONF_PART_UP,
        .priority_tier = p->conf.priority_tier,
        .priority_job_factor = p->conf.priority_job_factor,
        .min_nodes = p->conf.min_nodes,
        .max_nodes = p->conf.max_nodes,
        .max_time_sec = p->conf.max_time_sec,
        .default_time_sec = p->conf.default_time_sec,
    };
}

/* Lists the partitions that the caller may use, including those for jobs with reservations or of
 * some accounts: a plugin may set both. */
static size_t list_parts(struct control *c, const struct caller *who, struct env_part **out,
                         struct arena *arena)
{
    size_t count = 0;
    *out = arena_alloc(arena, (c->cluster->parts.len + 1) * sizeof(**out));
    vec_foreach (&c->cluster->parts, p) {
        Pb__JobSpec in = PB__JOB_SPEC__INIT;
        struct part *found;
        in.partition = (char *)(*p)->conf.name;
        in.reservation = (char *)"any";
        in.account = (char *)access_any_account;
        if (access_find_part(c, who, NULL, &in, &found, NULL) == 0)
            put_part(*p, &(*out)[count++]);
    }
    return count;
}

int submit_consult_plugins(struct control *c, const struct caller *who, const struct job *j,
                           const Pb__JobPayload *payload, Pb__JobSpec *spec, struct arena *arena,
                           struct err *err)
{
    struct env_part *parts;
    str_clear(&c->said);
    if (!c->env->asks_submit || !c->env->asks_submit(c->env->ctx))
        return 0;
    struct env_submit q = {.spec = spec,
                           .before = j ? job_unpack_spec(j, arena) : NULL,
                           .job_id = j ? j->id : 0,
                           .payload = payload,
                           .uid = who->uid,
                           .message = &c->said,
                           .arena = arena};
    q.n_parts = list_parts(c, who, &parts, arena);
    q.parts = parts;
    return c->env->submit(c->env->ctx, &q, err);
}

static int consult_plugins(struct control *c, struct submission *s, struct err *err)
{
    return submit_consult_plugins(c, s->who, NULL, s->payload, &s->spec, s->arena, err);
}

/* --- authorise ---------------------------------------------------------------------------------
 */

static int authorise_owner(struct control *c, struct submission *s, struct err *err)
{
    return access_identity(c, s->who, &s->spec, &s->as, err);
}

static int find_partitions(struct control *c, struct submission *s, struct err *err)
{
    return access_find_parts(c, s->who, &s->as, &s->spec, true, &s->parts, s->arena, err);
}

static int parse_array(struct control *c, struct submission *s, struct err *err)
{
    int64_t most = c->conf->sched.max_array_tasks;
    int rc = s->spec.array_inx ? array_parse(s->spec.array_inx, c->conf->max_array_size, &s->tasks,
                                             &s->throttle, err)
                               : 0;
    if (rc != 0 || !most || (int64_t)s->tasks.count <= most)
        return rc;
    return err_set(err, -ERR_ARRAY, "%s: more than %lld elements (max_array_tasks)",
                   err_text(ERR_ARRAY), (long long)most);
}

int submit_check_count(const struct control *c, size_t more, struct err *err)
{
    size_t most = c->conf->max_job_count, has = c->cluster->jobs.len + c->cluster->folded;
    size_t ids = (size_t)c->conf->max_job_id - c->conf->first_job_id + 1;
    size_t used = has + c->asides.len;
    size_t room = has < most ? most - has : 0;
    if (more <= room && (used > ids || more > ids - used))
        return err_set(err, -ERR_JOB_LIMIT,
                       "%s: all job ids from FirstJobId=%u to MaxJobId=%u are in use: submit the "
                       "job when other jobs have ended",
                       err_text(ERR_JOB_LIMIT), c->conf->first_job_id, c->conf->max_job_id);
    if (more <= room)
        return 0;
    return err_set(err, -ERR_JOB_LIMIT,
                   "%s: %zu asked for, each element of an array and each component counts; "
                   "MaxJobCount=%zu, of which %zu are free: %s",
                   err_text(ERR_JOB_LIMIT), more, most, room,
                   more > most ? "ask for fewer at a time"
                               : "submit the job when other jobs have ended");
}

/* Checks the limits for all jobs, and the share of the user. */
static int check_room(struct control *c, struct submission *s, struct err *err)
{
    size_t jobs = s->tasks.count ? s->tasks.count : 1;
    struct holding more = {.jobs = jobs, .record = pb__job_spec__get_packed_size(&s->spec)};
    more.store = more.record + (s->payload ? pb__job_payload__get_packed_size(s->payload) : 0);
    int rc = submit_check_count(c, jobs, err);
    if (rc != 0)
        user_share_log_largest(c);
    return rc == 0 ? user_share_check(c, s->who, s->as.uid, &more, err) : rc;
}

/* Creates the job with its id, its partitions and the elements of its array. */
static int begin_job(struct control *c, struct submission *s, struct err *err)
{
    s->job = cluster_add_job(c->cluster, record_next_job_id(c));
    job_partitions_set(s->job, s->parts.data, s->parts.len);
    if (s->tasks.count)
        array_make(c->cluster, s->job, &s->tasks, s->throttle);
    return 0;
}

/* --- parse, and complete -----------------------------------------------------------------------
 */

/* The administrator decides how many cores are reserved for the system, and may leave the decision
 * to users. */
static void drop_core_spec(struct control *c, Pb__JobSpec *spec)
{
    if (c->conf->allow_spec_resources_usage || !(spec->has_core_spec || spec->has_thread_spec))
        return;
    str_printf(&c->said,
               "%s--%s-spec means --exclusive and no more: slurm.conf has no "
               "AllowSpecResourcesUsage=yes",
               c->said.len ? "\n" : "", spec->has_core_spec ? "core" : "thread");
    if ((spec->has_core_spec && spec->core_spec) || (spec->has_thread_spec && spec->thread_spec))
        SET(spec, exclusive, true); /* implied by the option */
    spec->has_core_spec = spec->has_thread_spec = false;
}

static int parse_request(struct control *c, struct submission *s, struct err *err)
{
    drop_core_spec(c, &s->spec);
    return request_parse(c->cluster, &s->spec, &s->parsed, err);
}

void submit_complete_job(const struct control *c, struct job *j, const Pb__JobSpec *spec,
                         struct parsed_request *parsed, bool keep)
{
    const struct conf_part *p = &j->part->conf;
    int64_t fallback = p->default_time_sec > 0 ? p->default_time_sec : p->max_time_sec;
    bool given = spec->has_time_limit_sec && spec->time_limit_sec > 0;
    j->limit_sec = given ? cluster_bound_limit(spec->time_limit_sec) : fallback;
    j->rank.given = spec->has_priority && spec->priority;
    j->priority = j->rank.given ? spec->priority : 0;
    job_set_request(c->cluster, j, spec, parsed, keep);
}

void submit_fill_switches(const struct control *c, Pb__JobSpec *spec)
{
    int64_t most = c->conf->sched.max_switch_wait;
    if (!spec->req_switches || (spec->has_wait_switch_sec && spec->wait_switch_sec <= most))
        return;
    spec->has_wait_switch_sec = true;
    spec->wait_switch_sec = most;
}

/* Whether all partitions of a job give it the same memory. */
static bool has_one_memory(const struct job *j)
{
    const struct job_partitions *s = j->partitions;
    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct request *r = i == s->at ? &j->want : &s->of[i].want;
        if (r->mem_cpu_mib != j->want.mem_cpu_mib || r->mem_node_mib != j->want.mem_node_mib)
            return false;
    }
    return true;
}

/* A default of the partition or the cluster becomes part of the spec and is displayed. */
static void fill_memory(const struct control *c, const struct job *j, Pb__JobSpec *spec)
{
    if (spec->has_mem_per_node_mib || spec->has_mem_per_cpu_mib || !has_one_memory(j) ||
        !conf_part_counts_memory(c->conf, j->part ? &j->part->conf : NULL))
        return;
    const struct request *r = &j->want;
    spec->has_mem_per_cpu_mib = r->mem_cpu_mib > 0;
    spec->mem_per_cpu_mib = r->mem_cpu_mib;
    spec->has_mem_per_node_mib = r->mem_node_mib > 0;
    spec->mem_per_node_mib = r->mem_node_mib;
}

static int complete_request(struct control *c, struct submission *s, struct err *err)
{
    struct job *j = s->job;
    Pb__JobSpec *spec = &s->spec;
    submit_complete_job(c, j, spec, &s->parsed, false);
    j->uid = s->as.uid;
    j->gid = s->as.gid;
    j->held = spec->has_hold && spec->hold;
    fill_memory(c, j, spec);
    submit_fill_switches(c, spec);
    /* Displayed, and kept when the default changes. */
    if (!spec->has_requeue && !c->conf->job_requeue)
        SET(spec, requeue, false);
    SET(spec, uid, s->as.uid);
    SET(spec, gid, s->as.gid);
    spec->user_name = (char *)s->as.user_name;
    spec->group_name = (char *)s->as.group_name;
    spec->partition_key = NULL; /* records are visible to all users */
    return 0;
}

/* --- check -------------------------------------------------------------------------------------
 */

int submit_check_time_min(struct job *j, const Pb__JobSpec *spec, int64_t limit_sec,
                          struct err *err)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        int64_t of_part = j->part->conf.max_time_sec;
        most = of_part > most ? of_part : most;
    }
    job_partitions_select_first(j);
    most = limit_sec < most ? limit_sec : most;
    bool too_long = spec->has_time_min_sec && spec->time_min_sec > most;
    return too_long ? control_set_error(err, ERR_TIME_MIN, NULL) : 0;
}

static int check_values(struct control *c, struct submission *s, struct err *err)
{
    const Pb__JobSpec *spec = &s->spec;
    if (!s->parsed.has_valid_dist)
        return err_set(err, -ERR_PARSE, "Invalid --distribution specification: %.64s",
                       spec->distribution);
    int rc = mail_check(spec, s->parsed.has_valid_mail, err);
    if (rc == 0 && spec->component)
        rc = job_set_check_name(spec->component, err);
    if (rc == 0)
        rc = step_check_freq(c, spec->cpu_freq, err);
    if (rc == 0)
        rc = boot_check_program(c, spec, err);
    if (rc == 0)
        rc = submit_check_time_min(s->job, spec, s->job->limit_sec, err);
    return rc == 0 ? deadline_check(c, s->job, err) : rc;
}

static int parse_dependency(struct control *c, struct submission *s, struct err *err)
{
    struct depend *d = NULL;
    if (!s->spec.dependency)
        return 0;
    int rc = depend_read(c, s->who, s->job, &s->spec.dependency, &d, s->arena, err);
    if (rc != 0)
        return rc;
    depend_begin(c, s->job, d);
    s->spec.dependency = d ? s->spec.dependency : NULL;
    return 0;
}

/* --- feasible ----------------------------------------------------------------------------------
 */

enum submit_enforce submit_enforce_limits(const struct conf *conf)
{
    if (str_case_eq(conf->enforce_part_limits, "ALL")) /* conf turns YES into ALL */
        return SUBMIT_ENFORCE_ALL;
    return str_case_eq(conf->enforce_part_limits, "ANY") ? SUBMIT_ENFORCE_ANY : SUBMIT_ENFORCE_NO;
}

int submit_check_partitions(struct control *c, struct job *j, struct err *err)
{
    enum submit_enforce enforce = submit_enforce_limits(c->conf);
    unsigned refusals = GATE_REFUSES | (enforce != SUBMIT_ENFORCE_NO ? GATE_ENFORCED : 0);
    struct err why;
    int wrong = 0; /* of the first partition that rejects the job */
    bool possible = false;
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        enum gate_refusal refusal = gate_refuse(c, j, refusals, &why);
        possible = possible || !refusal;
        if (refusal && wrong == 0) {
            wrong = why.code;
            *err = why;
        }
        if (refusal == GATE_ENFORCED && enforce == SUBMIT_ENFORCE_ALL) {
            possible = false;
            break;
        }
    }
    job_partitions_select_first(j);
    return possible ? 0 : wrong;
}

int submit_check_possible(struct control *c, struct job *j, struct err *err)
{
    int rc = c->conf->sched.allow_zero_lic ? 0 : resource_possible(c->cluster, j, err);
    return rc != 0 ? rc : submit_check_partitions(c, j, err);
}

/* EnforcePartLimits=NO: a job that requests more nodes or CPUs than its partitions have waits for
 * another configuration; a held job waits for anything it lacks until it is released. The user gets
 * a message. */
static bool accept_unfit(struct control *c, struct job *j, const Pb__JobSpec *spec, int code,
                         const struct err *why)
{
    bool enforces = submit_enforce_limits(c->conf) != SUBMIT_ENFORCE_NO;
    bool is_count = code == -ERR_NODE_COUNT || code == -ERR_TOO_MANY_CPUS;
    bool is_held = spec->has_hold && spec->hold;
    if (enforces || !(is_count || (is_held && code == -ERR_NODE_CONFIG)))
        return false;
    j->is_unfit = true;
    str_printf(&c->said, "%sRequested partition configuration not available now: %s",
               c->said.len ? "\n" : "", why->text);
    return true;
}

static int check_feasible(struct control *c, struct submission *s, struct err *err)
{
    struct job *j = s->job;
    job_sort_node_lists(c->cluster, j, &s->spec, s->arena);
    job_repack(&j->spec, &s->spec.base);
    int rc = submit_check_possible(c, j, err);
    if (rc != 0 && !(s->may_wait && accept_unfit(c, j, &s->spec, rc, err)))
        return relax_explain_misfit(c->cluster, j, &s->spec, err);
    return resv_check_job(c, s->who, j, &s->spec, err);
}

/* --- burst -------------------------------------------------------------------------------------
 */

static int consult_burst_script(struct control *c, struct submission *s, struct err *err)
{
    int rc = burst_begin_job(c, s->job, &s->spec, err);
    if (rc != 0 || !s->job->burst || !c->env->ask_burst)
        return rc;
    const ProtobufCBinaryData *script =
        s->payload && s->payload->has_script ? &s->payload->script : NULL;
    return c->env->ask_burst(c->env->ctx,
                             burst_make_question(c, s->job, &s->spec, script, s->arena), err);
}

/* --- all stages --------------------------------------------------------------------------------
 */

static int (*const stages[])(struct control *c, struct submission *s, struct err *err) = {
    /* accept */
    check_size, check_privileged, check_variables, collect_burst_lines,
    /* plugins */
    consult_plugins,
    /* authorise */
    authorise_owner, find_partitions, parse_array, check_room, begin_job,
    /* parse */
    parse_request,
    /* complete */
    complete_request,
    /* check */
    check_values, parse_dependency,
    /* feasible */
    check_feasible,
    /* burst */
    consult_burst_script};

/* Returns the user of the request; a plugin may give the job to another user. */
static uint32_t find_requester(const struct caller *who, const Pb__JobSpec *spec)
{
    return spec->has_uid && who->is_admin ? spec->uid : who->uid;
}

void submit_forget(struct control *c, struct job *j)
{
    c->next_id = j->id;
    cluster_remove_job(c->cluster, j);
}

int submit_make_job(struct control *c, const struct caller *who, const Pb__JobSpec *given,
                    const Pb__JobPayload *payload, bool may_wait, struct job **out, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct submission s = {.who = who,
                           .given = given,
                           .payload = payload,
                           .may_wait = may_wait,
                           .arena = &arena,
                           .spec = *given};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof stages / sizeof stages[0]; i++)
        rc = stages[i](c, &s, err);
    vec_done(&s.parts);
    idset_done(&s.tasks);
    request_parsed_done(&s.parsed);
    if (rc != 0 && s.job)
        submit_forget(c, s.job);
    if (rc != 0)
        return rc;
    struct job *j = s.job;
    j->submit_at = j->eligible_at = j->sched_at = control_wall(c);
    if (j->begin_at > j->eligible_at)
        j->eligible_at = j->begin_at;
    j->requester_uid = find_requester(who, given);
    j->payload_bytes = payload ? (uint32_t)pb__job_payload__get_packed_size(payload) : 0;
    *out = j;
    return 0;
}

/* --- enqueue -----------------------------------------------------------------------------------
 */

void submit_admit(struct control *c, struct job *j, uint64_t key)
{
    j->request_key = key;
    holdings_count(c->cluster, j);
    if (key)
        idmap_set(&c->cluster->requests, key, j->id);
    job_touch(c->cluster, j);
    depend_place_name(c->cluster, j);
    burst_admit(c, j);
    enqueue_job(c, j);
    counters_submitted(c, j);
}

/* --- the call ----------------------------------------------------------------------------------
 */

uint64_t submit_request_key(const uint8_t id[16], uint32_t uid)
{
    uint64_t key;
    memcpy(&key, id, sizeof key);
    /* Keys of different users differ. */
    return key ^ (uint64_t)(uid + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Finds the job of a repeated submission. NULL: the submission is new. */
struct job *submit_find_repeated(struct control *c, const struct caller *who, bool batch,
                                 const Pb__JobSpec *spec, uint64_t *key)
{
    uint32_t id, uid = find_requester(who, spec);
    *key = 0;
    if (spec->request_id.len == 16)
        *key = submit_request_key(spec->request_id.data, uid);
    if (!*key || !idmap_get(&c->cluster->requests, *key, &id))
        return NULL;
    struct job *j = cluster_find_job(c->cluster, id);
    if (j && j->requester_uid == uid && j->batch == batch)
        return j;
    *key = 0; /* another kind of request with the same id is not a repetition */
    return NULL;
}

/* Stores the payload of the leader, and with burst buffers of the other components. Elements of an
 * array share the scripts of their leaders. */
static void store_payloads(struct control *c, const struct set_request *set, struct job *leader)
{
    bool is_first = !leader->array || leader->array->id == leader->id;
    for (uint32_t i = is_first ? 0 : 1; i < job_set_count(leader); i++) {
        _cleanup_arena_ struct arena arena;
        _cleanup_str_ struct str packed = STR_INIT;
        arena_init(&arena, 0);
        const Pb__JobPayload *payload = submit_component_payload(c, set, i, &arena);
        if (!payload)
            continue;
        pb_pack(&payload->base, &packed);
        c->env->put(c->env->ctx, RECORD_PAYLOAD, job_set_component(leader, i)->id, NULL,
                    packed.data, packed.len);
    }
}

void submit_batch(struct control *c, uint64_t call, const struct caller *who,
                  const Pb__SubmitRequest *r)
{
    struct err err = {0};
    uint64_t key;
    struct job *j = submit_find_repeated(c, who, true, r->spec, &key);
    if (!j) {
        if (!r->payload || (!r->payload->has_script && r->payload->n_argv == 0)) {
            control_refuse_code(c, call, ERR_SCRIPT, NULL);
            return;
        }
        Pb__JobSpec spec = *r->spec;
        spec.has_batch = spec.batch = true;
        const struct set_request set = {.leader = &spec,
                                        .components = r->components,
                                        .n_components = r->n_components,
                                        .payload = r->payload,
                                        .may_wait = true};
        bool of_sets = set.n_components && spec.array_inx;
        int rc = of_sets ? submit_make_array(c, who, &set, &j, &err)
                         : submit_make_set(c, who, &set, &j, &err);
        if (rc < 0)
            control_refuse(c, call, &err);
        if (rc != 0)
            return;
        store_payloads(c, &set, j);
        for (struct job *next = of_sets ? array_after(j) : NULL; next; next = array_after(next))
            store_payloads(c, &set, next);
        if (of_sets)
            submit_admit_array(c, j, key);
        else
            submit_admit_set(c, j, key);
    }
    Pb__SubmitReply reply = PB__SUBMIT_REPLY__INIT;
    reply.has_job_id = true;
    reply.job_id = j->array ? j->array->id : j->id; /* its record may be purged already */
    reply.partition = j->part ? (char *)j->part->conf.name : NULL;
    reply.message = c->said.len ? (char *)str_cstr(&c->said) : NULL;
    c->env->reply(c->env->ctx, call, &reply.base);
}
