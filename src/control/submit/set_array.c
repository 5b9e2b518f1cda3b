/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/submit/set_array.h"

#include <assert.h>

#include "base/pb.h"
#include "conf/conf_sets.h"
#include "control/core/user_share.h"
#include "control/internal.h"
#include "control/submit/submit.h"

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

int set_array_make(struct control *c, const struct caller *who, const struct set_request *r,
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

void set_array_admit(struct control *c, struct job *first, uint64_t key)
{
    for (struct job *leader = array_first(first->array); leader; leader = array_after(leader))
        submit_admit_set(c, leader, leader == first ? key : 0);
}
