/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/depth.h"

#include "sched/plan/planned_start.h"

static const struct conf_sched *sched_rules(const struct plan *p)
{
    return &p->cluster->conf->sched;
}

static uint64_t first_of(int64_t a, int64_t b, int64_t otherwise)
{
    return (uint64_t)(a ? a : b ? b : otherwise);
}

static uint64_t most_in_all(const struct plan *p)
{
    return first_of(sched_rules(p)->bf_max_job_test, sched_rules(p)->default_queue_depth,
                    INT64_MAX);
}

static uint64_t most_in_part(const struct plan *p)
{
    int64_t all = sched_rules(p)->bf_max_job_test ? sched_rules(p)->bf_max_job_test
                                                  : sched_rules(p)->default_queue_depth;
    return first_of(sched_rules(p)->bf_max_job_part, sched_rules(p)->partition_job_depth,
                    all ? all : PLAN_DEPTH);
}

bool depth_is_reached(const struct plan *p)
{
    return p->blocked && (!p->backfill || p->depth.in_part.looks >= most_in_part(p) ||
                          p->depth.all >= most_in_all(p));
}

static bool count_user(struct idmap *users, uint32_t uid, int64_t most)
{
    uint32_t so_far = 0;
    if (!most)
        return true;
    idmap_get(users, uid, &so_far);
    if (so_far >= most)
        return false;
    idmap_set(users, uid, so_far + 1);
    return true;
}

bool depth_takes(struct plan *p, const struct job *j)
{
    p->depth.in_part.looks++;
    p->depth.all++;
    return count_user(&p->depth.in_part.users, j->uid, sched_rules(p)->bf_max_job_user_part) &&
           count_user(&p->depth.users, j->uid, sched_rules(p)->bf_max_job_user);
}

bool depth_is_served(const struct plan *p, const struct job *j)
{
    return p->now_sec - j->eligible_at >= sched_rules(p)->bf_min_age_reserve &&
           j->priority >= sched_rules(p)->bf_min_prio_reserve;
}

static bool is_licensed(const struct job *j)
{
    return j->want.licenses.list.len;
}

static uint64_t count_places_in_part(const struct plan *p)
{
    return first_of(sched_rules(p)->bf_job_part_count_reserve, 0, 1);
}

static size_t count_places(const struct plan *p)
{
    return count_places_in_part(p) > 1 ? PLAN_RESERVATIONS_MOST : PLAN_RESERVATIONS;
}

bool depth_has_places(const struct plan *p, uint32_t count, bool first)
{
    size_t most = first ? PLAN_RESERVATIONS_MOST : count_places(p);
    return p->depth.promised + count <= most;
}

bool depth_has_place(const struct plan *p, const struct job *j, bool first)
{
    uint64_t in_part = count_places_in_part(p);
    size_t in_all = count_places(p);
    if (p->heads.len - p->depth.components >= in_all ||
        (sched_rules(p)->bf_one_resv_per_job && planned_start_has(p, j)))
        return false;
    if (first)
        return true;
    if (is_licensed(j) && p->depth.licensed >= in_all / 2)
        return false;
    return (!j->resv_asked && p->depth.in_part.places[is_licensed(j)] < in_part) ||
           license_is_first(&p->claims, p->cluster, j);
}

void depth_count_place(struct plan *p, const struct job *j)
{
    p->depth.in_part.places[is_licensed(j)] += !j->resv_asked;
    p->depth.licensed += is_licensed(j);
}

bool depth_is_beyond(const struct plan *p, int64_t at_sec)
{
    int64_t window = sched_rules(p)->bf_window * 60;
    return window && at_sec > p->now_sec && at_sec - p->now_sec > window;
}

void depth_enter_part(struct plan *p)
{
    idmap_done(&p->depth.in_part.users);
    p->depth.in_part = (struct plan_part_depth){0};
}

void depth_done(struct plan *p)
{
    idmap_done(&p->depth.in_part.users);
    idmap_done(&p->depth.users);
}
