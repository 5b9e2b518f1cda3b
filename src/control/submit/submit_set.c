/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <string.h>

#include "base/pb.h"
#include "cluster/job/job_set_text.h"
#include "conf/conf_sets.h"
#include "control/core/user_share.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/submit/burst_script.h"
#include "control/submit/submit.h"
#include "control/submit/submit_set.h"
#include "sched/plan/joint.h"

static int check_component(const struct control *c, const Pb__JobSpec *spec, size_t offset,
                           struct err *err)
{
    if (offset && spec->array_inx)
        return err_set(err, -ERR_ARRAY, "%s: --array is of the whole job: use it in component 0",
                       err_text(ERR_ARRAY));
    if (!offset || !spec->licenses || !*spec->licenses)
        return 0;
    return conf_sets_refuse(c->conf, CONF_SETS_licenses, -ERR_LICENSE, err_text(ERR_LICENSE), err);
}

static const Pb__JobSpec *get_spec_at(const struct set_request *r, size_t offset)
{
    return offset ? r->components[offset - 1] : r->leader;
}

static int check_names(const struct set_request *r, struct err *err)
{
    for (size_t i = 1; i <= r->n_components; i++)
        for (size_t k = 0; k < i; k++) {
            const char *name = get_spec_at(r, i)->component, *before = get_spec_at(r, k)->component;
            if (name && before && str_case_eq(name, before))
                return err_set(err, -ERR_PARSE,
                               "Duplicate component name '%s': components %zu and %zu have it",
                               name, k, i);
        }
    return 0;
}

static int check_scheduler(const struct control *c, struct err *err)
{
    if (!str_case_eq(c->conf->scheduler_type, "sched/builtin"))
        return 0;
    return conf_sets_refuse(c->conf, CONF_SETS_builtin, -ERR_NOT_SUPPORTED,
                            err_text(ERR_NOT_SUPPORTED), err);
}

int submit_check_set_licenses(const struct control *c, const struct job *leader, struct err *err)
{
    int shape = resource_set_possible(c->cluster, leader, err);
    if (shape != 0 || c->conf->sched.allow_zero_lic)
        return shape;
    return joint_licenses_possible(c->cluster, leader, err);
}

/* A step in several components has one user and one group. */
static int check_owner(const struct job *j, const struct job *leader, size_t offset,
                       struct err *err)
{
    if (j->uid != leader->uid)
        return err_set(err, -ERR_NOT_SUPPORTED, JOB_SET_TEXT_ONE_USER, offset, j->uid, leader->uid);
    if (j->gid != leader->gid)
        return err_set(err, -ERR_NOT_SUPPORTED, JOB_SET_TEXT_ONE_GROUP, offset, j->gid,
                       leader->gid);
    return 0;
}

/* EnforcePartLimits=NO: components that never fit together wait for another configuration, and the
 * user gets a message. */
static int check_fits_together(struct control *c, const struct job *leader, bool may_wait,
                               struct err *err)
{
    struct joint_clash clash;
    _cleanup_str_ struct str what = STR_INIT;
    if (joint_could_ever_fit(c->cluster, leader, &clash))
        return 0;
    joint_clash_put(&clash, &what);
    if (!may_wait || submit_enforce_limits(c->conf) != SUBMIT_ENFORCE_NO)
        return err_set(err, -ERR_NODE_CONFIG, "%s: %s", err_text(ERR_NODE_CONFIG), str_cstr(&what));
    str_printf(&c->said, "%sRequested partition configuration not available now: %s",
               c->said.len ? "\n" : "", str_cstr(&what));
    return 0;
}

static int join_set(struct control *c, struct job *const *jobs, size_t count, bool may_wait,
                    struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = check_owner(jobs[i], jobs[0], i, err);
        if (rc == 0)
            rc = job_set_join(c->cluster, jobs[i], jobs[0]->id, (uint32_t)i, (uint32_t)count, err);
    }
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = depend_check_set(c, jobs[i], err);
    rc = rc ? rc : submit_check_set_licenses(c, jobs[0], err);
    rc = rc ? rc : burst_check_set(c, jobs[0], err);
    return rc ? rc : check_fits_together(c, jobs[0], may_wait, err);
}

/* No client waits for a component, and only the leader sends mail. */
static Pb__JobSpec make_component_spec(const Pb__JobSpec *given)
{
    Pb__JobSpec spec = *given;
    SET(&spec, batch, false);
    spec.mail_type = spec.mail_user = NULL;
    spec.has_request_id = false;
    return spec;
}

const Pb__JobPayload *submit_component_payload(const struct control *c, const struct set_request *r,
                                               size_t offset, struct arena *arena)
{
    _cleanup_str_ struct str script = STR_INIT;
    bool is_rebuilt = r->n_components && c->conf->burst.enabled;
    if (!is_rebuilt || !r->payload || !r->payload->has_script)
        return offset ? NULL : r->payload;
    burst_script_rebuild((const char *)r->payload->script.data, r->payload->script.len,
                         c->conf->burst.directive, (uint32_t)offset, &script);
    Pb__JobPayload *p = arena_alloc(arena, sizeof(*p));
    pb__job_payload__init(p);
    if (offset == 0)
        *p = *r->payload;
    uint8_t *bytes = arena_alloc(arena, script.len + 1);
    memcpy(bytes, str_cstr(&script), script.len);
    SET(p, script, ((ProtobufCBinaryData){script.len, bytes}));
    return p;
}

/* Appends the component: "Invalid partition name specified: x (component 1)". */
static void name_component(struct err *err, size_t offset)
{
    struct err what = *err;
    err_set(err, what.code, "%s (component %zu)", what.text, offset);
}

/* Creates the job of one component; returns 0, or the error of submit_make_job(). */
static int make_component(struct control *c, const struct caller *who, const struct set_request *r,
                          size_t offset, struct job **out, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec spec = offset ? make_component_spec(get_spec_at(r, offset)) : *get_spec_at(r, 0);
    const Pb__JobPayload *payload = submit_component_payload(c, r, offset, &arena);
    int rc = r->n_components ? check_component(c, &spec, offset, err) : 0;
    if (r->n_components)
        spec.array_inx = NULL; /* see submit_make_array() */
    if (rc == 0)
        rc = submit_make_job(c, who, &spec, payload, r->may_wait, out, err);
    if (rc < 0 && r->n_components)
        name_component(err, offset);
    return rc;
}

int submit_make_set(struct control *c, const struct caller *who, const struct set_request *r,
                    struct job **out, struct err *err)
{
    struct job *jobs[JOB_SET_MAX];
    _cleanup_str_ struct str said = STR_INIT;
    size_t count = 1 + r->n_components, made = 0;
    int rc = 0, later = 0;
    if (count > JOB_SET_MAX)
        return err_set(err, -ERR_LIMIT, "%s: " JOB_SET_TEXT_COUNT, err_text(ERR_LIMIT),
                       (size_t)JOB_SET_MAX, count);
    if (count > 1)
        rc = check_scheduler(c, err);
    if (rc == 0 && count > 1) /* of all components, before some of them are counted as jobs */
        rc = submit_check_count(c, count, err);
    if (rc == 0)
        rc = check_names(r, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = make_component(c, who, r, i, &jobs[made], err);
        made += rc == 0;
        if (rc > 0) { /* the plugins are asked about all components at once */
            later = rc;
            rc = 0;
        }
        if (c->said.len)
            str_printf(&said, "%s%s", said.len ? "\n" : "", str_cstr(&c->said));
    }
    str_clear(&c->said);
    str_puts(&c->said, str_cstr(&said));
    rc = later ? later : rc;
    if (rc == 0 && count > 1)
        rc = join_set(c, jobs, count, r->may_wait, err);
    while (rc != 0 && made > 0)
        submit_forget(c, jobs[--made]);
    assert(rc != 0 || made);
    *out = rc == 0 ? jobs[0] : NULL;
    return rc;
}

void submit_forget_set(struct control *c, struct job *leader)
{
    uint32_t count = job_set_count(leader);
    while (count-- > 1)
        submit_forget(c, job_set_component(leader, count));
    submit_forget(c, leader);
}

void submit_admit_set(struct control *c, struct job *leader, uint64_t key)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        struct job *j = job_set_component(leader, i);
        submit_admit(c, j, i ? 0 : key);
        job_announce(c->cluster, j);
    }
}

struct sets {
    VEC(struct job *) leaders;
};

static int read_elements(const struct control *c, const struct set_request *r, struct idset *tasks,
                         struct err *err)
{
    int64_t most = c->conf->sched.max_array_tasks;
    uint32_t throttle;
    int rc = conf_sets_refuse(c->conf, CONF_SETS_arrays, -ERR_ARRAY, err_text(ERR_ARRAY), err);
    if (rc == 0)
        rc = array_parse(r->leader->array_inx, c->conf->max_array_size, tasks, &throttle, err);
    if (rc == 0 && most && (int64_t)tasks->count > most)
        rc = err_set(err, -ERR_ARRAY, "%s: more than %lld elements (max_array_tasks)",
                     err_text(ERR_ARRAY), (long long)most);
    return rc == 0 ? submit_check_count(c, (size_t)tasks->count * (1 + r->n_components), err) : rc;
}

int submit_check_array(const struct control *c, const struct set_request *r, struct err *err)
{
    struct idset tasks = {0};
    int rc = read_elements(c, r, &tasks, err);
    idset_done(&tasks);
    return rc;
}

/* Of all elements together, when the first one says whose they are. */
static int check_share(struct control *c, const struct caller *who, const struct set_request *r,
                       const struct job *first, size_t elements, struct err *err)
{
    size_t jobs = elements * (1 + r->n_components);
    struct holding more = {.jobs = jobs, .record = jobs * pb__job_spec__get_packed_size(r->leader)};
    more.store = more.record;
    return user_share_check(c, who, first->uid, &more, err);
}

/* The leader's record says which elements the array has. */
static int join_array(struct control *c, struct job *leader, uint32_t array_id, uint32_t task,
                      const char *elements, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec *spec = job_unpack_spec(leader, &arena);
    spec->array_inx = (char *)elements;
    job_repack(&leader->spec, &spec->base);
    leader->task = task;
    return array_join(c->cluster, leader, array_id, elements, err);
}

static int make_element(struct control *c, const struct caller *who, const struct set_request *r,
                        uint32_t task, struct sets *sets, struct err *err)
{
    struct job *leader;
    int rc = submit_make_set(c, who, r, &leader, err);
    if (rc != 0)
        return rc;
    vec_push(&sets->leaders, leader);
    return join_array(c, leader, sets->leaders.data[0]->id, task, r->leader->array_inx, err);
}

int submit_make_array(struct control *c, const struct caller *who, const struct set_request *r,
                      struct job **out, struct err *err)
{
    struct idset tasks = {0};
    struct sets sets = {0};
    int rc = read_elements(c, r, &tasks, err);
    for (int64_t t = idset_next(&tasks, 0); rc == 0 && t >= 0; t = idset_next(&tasks, t + 1)) {
        rc = make_element(c, who, r, (uint32_t)t, &sets, err);
        if (rc == 0 && sets.leaders.len == 1)
            rc = check_share(c, who, r, sets.leaders.data[0], tasks.count, err);
    }
    while (rc != 0 && sets.leaders.len)
        submit_forget_set(c, vec_pop(&sets.leaders));
    assert(rc != 0 || sets.leaders.len);
    *out = rc == 0 ? sets.leaders.data[0] : NULL;
    vec_done(&sets.leaders);
    idset_done(&tasks);
    return rc;
}

void submit_admit_array(struct control *c, struct job *first, uint64_t key)
{
    for (struct job *leader = array_first(first->array); leader; leader = array_after(leader))
        submit_admit_set(c, leader, leader == first ? key : 0);
}
