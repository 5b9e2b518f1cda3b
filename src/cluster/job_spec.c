/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job's request, read from its spec. */
#include <stdlib.h>
#include <string.h>

#include "base/signame.h"
#include "cluster/cluster.h"

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

static uint64_t divide_up(uint64_t what, uint64_t by)
{
    return what / by + (what % by != 0); /* adding first would wrap for what a client may send */
}

static int refuse_sizes(const Pb__JobSpec *s, uint32_t least, struct err *err)
{
    return err_set(err, -ERR_NODE_COUNT, "%s: %s has no node count from %u on",
                   err_text(ERR_NODE_COUNT), s->job_size_str, least);
}

/* --nodes=1,3; an exact number, from elsewhere, counts more. */
static int read_sizes(struct request *r, const Pb__JobSpec *s, struct err *err)
{
    bool exact = s->has_min_nodes && s->has_max_nodes && s->min_nodes == s->max_nodes;
    if (exact || !s->job_size_str || !*s->job_size_str)
        return 0;
    r->sizes = mem_new(struct idset);
    return request_parse_sizes(s->job_size_str, r->sizes, err);
}

/* The next count that it may have. */
static void raise_to_size(struct request *r)
{
    int64_t next = r->sizes ? idset_next(r->sizes, r->min_nodes) : r->min_nodes;
    r->min_nodes = next < 0 ? UINT32_MAX : (uint32_t)next;
}

/* The greatest counts that it may have; with more nodes than tasks some would have none. */
static void lower_to_sizes(struct request *r)
{
    if (!r->sizes)
        return;
    uint32_t last = idset_last(r->sizes);
    if (r->tasks_given && last > r->tasks)
        last = r->tasks;
    last = last > r->min_nodes ? last : r->min_nodes;
    r->max_nodes = r->max_nodes < last ? r->max_nodes : last;
}

static void read_counts(struct request *r, const Pb__JobSpec *s)
{
    r->cpus_per_task = OR(s, cpus_per_task, 1) ? OR(s, cpus_per_task, 1) : 1;
    r->ntasks_per_node = OR(s, ntasks_per_node, 0);
    r->tasks_given = s->has_num_tasks && s->num_tasks > 0;
    r->min_nodes = OR(s, min_nodes, 1) ? OR(s, min_nodes, 1) : 1;
    r->max_nodes = OR(s, max_nodes, 0);
    size_t asked = r->req ? bitset_count(r->req) : 0;
    if (asked > r->min_nodes)
        r->min_nodes = (uint32_t)asked;
    uint32_t counted = constraint_least_nodes(r->constraint);
    r->min_nodes = counted > r->min_nodes ? counted : r->min_nodes;
    raise_to_size(r);
    uint32_t per_node = r->ntasks_per_node ? r->ntasks_per_node : 1;
    uint64_t tasks = (uint64_t)r->min_nodes * per_node;
    r->tasks = r->tasks_given ? s->num_tasks : tasks < UINT32_MAX ? (uint32_t)tasks : UINT32_MAX;
    if (r->tasks_given && r->ntasks_per_node) {
        uint32_t needed = (uint32_t)divide_up(r->tasks, r->ntasks_per_node);
        r->min_nodes = needed > r->min_nodes ? needed : r->min_nodes;
        raise_to_size(r);
    }
    if (r->max_nodes < r->min_nodes)
        r->max_nodes = s->has_max_nodes && s->has_min_nodes ? r->min_nodes : UINT32_MAX;
    lower_to_sizes(r);
    bool few = r->use_min_nodes || (r->max_nodes == UINT32_MAX && !(r->spread && r->tasks_given));
    r->good_nodes = few ? r->min_nodes : r->max_nodes;
    if (r->tasks_given && r->good_nodes > r->tasks) /* a node without a task is of no use */
        r->good_nodes = r->tasks > r->min_nodes ? r->tasks : r->min_nodes;
}

static int read_sets(const struct cluster *c, struct request *r, const Pb__JobSpec *s,
                     struct err *err)
{
    int rc = 0;
    if (s->req_nodes && *s->req_nodes)
        rc = cluster_node_set(c, s->req_nodes, &r->req, err);
    if (rc == 0 && s->exc_nodes && *s->exc_nodes)
        rc = cluster_node_set(c, s->exc_nodes, &r->exc, err);
    return rc;
}

static void read_memory(const struct cluster *c, const struct job *j, struct request *r,
                        const Pb__JobSpec *s)
{
    const struct conf_part *p = j->part ? &j->part->conf : NULL;
    if (!(c->conf->cr & CONF_CR_MEMORY))
        return;
    if (s->has_mem_per_node_mib)
        r->mem_node_mib = s->mem_per_node_mib ? s->mem_per_node_mib : UINT64_MAX; /* 0: all */
    else if (s->has_mem_per_cpu_mib)
        r->mem_cpu_mib = s->mem_per_cpu_mib;
    else if (p && p->def_mem_per_cpu_mib)
        r->mem_cpu_mib = p->def_mem_per_cpu_mib;
    else if (p && p->def_mem_per_node_mib)
        r->mem_node_mib = p->def_mem_per_node_mib;
    else if (c->conf->def_mem_per_cpu_mib)
        r->mem_cpu_mib = c->conf->def_mem_per_cpu_mib;
    else if (c->conf->def_mem_per_node_mib)
        r->mem_node_mib = c->conf->def_mem_per_node_mib;
}

/* The partition's limit on memory per CPU, or the cluster's; 0: none. */
static uint64_t max_mem_per_cpu(const struct cluster *c, const struct conf_part *p)
{
    if (p && (p->max_mem_per_cpu_mib || p->max_mem_per_node_mib))
        return p->max_mem_per_cpu_mib;
    return c->conf->max_mem_per_cpu_mib;
}

/* Who wants more memory than its CPUs may have gets the CPUs that go with it. */
static void pay_memory_in_cpus(const struct cluster *c, const struct job *j, struct request *r)
{
    uint64_t most = max_mem_per_cpu(c, j->part ? &j->part->conf : NULL);
    if (!most || r->mem_node_mib == UINT64_MAX)
        return;
    if (r->mem_cpu_mib > most) {
        uint64_t times = divide_up(r->mem_cpu_mib, most);
        if (times > UINT32_MAX / r->cpus_per_task)
            times = 1; /* beyond any node: refused as it is */
        r->cpus_per_task *= (uint32_t)times;
        r->mem_cpu_mib = divide_up(r->mem_cpu_mib, times);
    }
    uint64_t cpus = divide_up(r->mem_node_mib, most);
    if (cpus > r->min_cpus)
        r->min_cpus = cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
}

/* "[R][B:]NAME[@SECONDS]", checked by the command; what does not parse here warns of nothing. */
static void read_warning(struct job *j, const char *text)
{
    char name[32];
    j->warn_signal = 0;
    j->warn_batch = false;
    j->warn_sec = 60;
    if (!text)
        return;
    const char *colon = strchr(text, ':');
    if (colon) {
        j->warn_batch = memchr(text, 'B', (size_t)(colon - text)) != NULL;
        text = colon + 1;
    }
    size_t len = strcspn(text, "@");
    if (len >= sizeof name)
        return;
    memcpy(name, text, len);
    name[len] = 0;
    int number = signame_parse(name);
    j->warn_signal = number > 0 ? (uint32_t)number : 0;
    if (text[len] == '@')
        j->warn_sec = (uint32_t)strtoul(text + len + 1, NULL, 10);
}

static void set_sharing(const struct cluster *c, struct job *j)
{
    enum conf_oversubscribe share = j->part ? j->part->conf.share : CONF_SHARE_NO;
    struct request *r = &j->want;
    if (attempt_of(j)->alloc.len) /* what it holds stays as it got it */
        return;
    bool alone = share == CONF_SHARE_EXCLUSIVE || (r->ask_exclusive && share != CONF_SHARE_FORCE);
    r->exclusive = alone || c->conf->select == CONF_SELECT_LINEAR;
    r->user_alone = r->ask_user_alone || (j->part && j->part->conf.exclusive_user);
    r->shared = !alone && (share == CONF_SHARE_FORCE || (share == CONF_SHARE_YES && r->ask_shared));
}

void job_set_sharing(const struct cluster *c, struct job *j)
{
    set_sharing(c, j);
    for (uint32_t i = 1; j->several && i < j->several->count; i++) {
        several_enter(j, i);
        set_sharing(c, j);
        j->several->of[i].judged = false;
    }
    several_leave(j);
    if (j->several)
        j->several->of[0].judged = false;
}

/* It needs more nodes than it may have: of what. */
static int refuse_count(const struct request *r, const Pb__JobSpec *s, struct err *err)
{
    const char *bare = err_text(ERR_NODE_COUNT);
    uint32_t most = s->max_nodes, least = r->min_nodes;
    if (OR(s, min_nodes, 1) == least)
        return err_set(err, -ERR_NODE_COUNT, "%s: at least %u nodes asked, and at most %u", bare,
                       least, most);
    if (r->tasks_given && r->ntasks_per_node && divide_up(r->tasks, r->ntasks_per_node) == least)
        return err_set(err, -ERR_NODE_COUNT,
                       "%s: %u tasks, %u on a node, need %u nodes; at most "
                       "%u asked",
                       bare, r->tasks, r->ntasks_per_node, least, most);
    return err_set(err, -ERR_NODE_COUNT, "%s: the %s need %u nodes; at most %u asked", bare,
                   r->req && bitset_count(r->req) == least ? "nodes it requires" : "features",
                   least, most);
}

/* NumCPUs of scontrol update: more CPUs than the tasks need are spread over the nodes; with fewer
 * there are fewer tasks. */
static void read_cpu_count(struct request *r, const Pb__JobSpec *s)
{
    uint64_t needed = (uint64_t)r->tasks * r->cpus_per_task;
    r->cpus = OR(s, min_cpus, 0);
    if (!r->cpus)
        return;
    if (s->min_cpus < needed) {
        uint32_t tasks = s->min_cpus / r->cpus_per_task;
        r->tasks = tasks > r->min_nodes ? tasks : r->min_nodes;
        return;
    }
    uint32_t per_node = (uint32_t)divide_up(s->min_cpus, r->min_nodes);
    r->min_cpus = per_node > r->min_cpus ? per_node : r->min_cpus;
}

/* As a job of the partition it has. */
static int read_request(const struct cluster *c, struct job *j, const Pb__JobSpec *s,
                        struct err *err)
{
    struct request r = {0};
    int rc = read_sets(c, &r, s, err);
    if (rc == 0)
        rc = request_read_place(&r, s, err);
    if (rc == 0)
        rc = request_check_memory(s, err);
    if (rc == 0)
        rc = read_sizes(&r, s, err);
    if (rc != 0) {
        request_done(&r);
        return rc;
    }
    read_counts(&r, s);
    if (r.sizes && r.min_nodes == UINT32_MAX)
        rc = refuse_sizes(s, OR(s, min_nodes, 1), err);
    else if (s->has_max_nodes && s->max_nodes && s->max_nodes < r.min_nodes)
        rc = refuse_count(&r, s, err);
    if (rc != 0) {
        request_done(&r);
        return rc;
    }
    read_memory(c, j, &r, s);
    r.min_cpus = OR(s, min_cpus_per_node, 0);
    read_cpu_count(&r, s);
    request_read_cores(c, &r, s);
    rc = request_read_gres(c, j, &r, s, err);
    if (rc == 0)
        rc = license_read(c, s->licenses, &r.licenses, err);
    if (rc != 0) {
        request_done(&r);
        return rc;
    }
    pay_memory_in_cpus(c, j, &r);
    r.tmp_mib = OR(s, tmp_per_node_mib, 0);
    r.overcommit = OR(s, overcommit, 0);
    r.contiguous = OR(s, contiguous, 0);
    r.ask_exclusive = OR(s, exclusive, 0) || r.spec;
    r.ask_shared = OR(s, oversubscribe, 0);
    r.shared = j->want.shared;
    r.exclusive = j->want.exclusive;
    r.user_alone = j->want.user_alone;
    request_done(&j->want);
    j->want = r;
    set_sharing(c, j);
    return 0;
}

/* What each partition gives to jobs that state no time is theirs there. */
static void read_faces(struct job *j, const Pb__JobSpec *s, int64_t limit_sec)
{
    struct several *of = j->several;
    for (uint32_t i = 0; of && i < of->count; i++) {
        struct face *f = &of->of[i];
        const struct conf_part *p = &f->part->conf;
        int64_t fallback = p->default_time_sec > 0 ? p->default_time_sec : p->max_time_sec;
        f->judged = f->never = false;
        bool given = s->has_time_limit_sec && (s->time_limit_sec > 0 || limit_sec == INT64_MAX);
        f->limit_sec = given ? limit_sec : fallback;
        j->limit_sec = i == 0 ? f->limit_sec : j->limit_sec;
    }
}

int job_read_spec(const struct cluster *c, struct job *j, const Pb__JobSpec *s, struct err *err)
{
    several_leave(j);
    int rc = read_request(c, j, s, err);
    for (uint32_t i = 1; j->several && i < j->several->count && rc == 0; i++) {
        several_enter(j, i);
        rc = read_request(c, j, s, err);
    }
    several_leave(j);
    if (rc != 0)
        return rc;
    read_faces(j, s, j->limit_sec);
    j->request_version++;
    j->switches_since = 0;
    j->switches_waived = false;
    j->no_kill = OR(s, no_kill, 0);
    j->batch = OR(s, batch, 0);
    j->may_requeue = j->batch && OR(s, requeue, (protobuf_c_boolean)(c->conf->job_requeue != 0));
    j->nice = OR(s, nice, 0);
    j->waits.kill_given = s->has_kill_invalid_dep;
    j->waits.kill = OR(s, kill_invalid_dep, 0);
    j->rank.site_factor = OR(s, site_factor, 0);
    read_warning(j, s->signal);
    j->deadline_at = OR(s, deadline_at_sec, 0) > 0 ? s->deadline_at_sec : 0;
    j->time_min_sec = OR(s, time_min_sec, 0) > 0 ? s->time_min_sec : 0;
    j->resv_asked = s->reservation && *s->reservation;
    j->begin_at = OR(s, begin_at_sec, 0);
    if (j->begin_at < 0) /* long ago is now; sums with the clock must not overflow */
        j->begin_at = 0;
    if (j->begin_at > CLUSTER_TIME_MAX_SEC)
        j->begin_at = CLUSTER_TIME_MAX_SEC;
    unsigned mail = 0;
    j->mail = s->mail_type && mail_parse(s->mail_type, &mail) ? (uint16_t)mail : 0;
    return 0;
}

Pb__JobSpec *job_unpack_spec(const struct job *j, struct arena *arena)
{
    return arena_unpack(arena, &pb__job_spec__descriptor, j->spec.data, j->spec.len);
}
