/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets the request of a job from its spec. */
#include "base/hostlist.h"
#include "cluster/cluster.h"
#include "cluster/resource/dist.h"

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

static bool has_devices(const struct job *j)
{
    bool devices = j->want.gres.list.len;
    for (uint32_t i = 0; j->set && i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        devices = devices || (component && component->want.gres.list.len);
    }
    return devices;
}

const char *job_sharing_refusal(const struct conf *conf, const struct job *j)
{
    return conf_sharing_refusal(conf, has_devices(j), j->set);
}

bool job_is_to_share(const struct job *j)
{
    enum conf_oversubscribe share = j->part ? j->part->conf.share : CONF_SHARE_NO;
    return share == CONF_SHARE_FORCE || (share == CONF_SHARE_YES && j->want.ask_shared);
}

const char *job_unshared_reason(const struct conf *conf, const struct job *j)
{
    if (j->want.shared || !job_is_to_share(j) || j->part->conf.exclusive_topo ||
        (j->want.ask_exclusive && j->part->conf.share != CONF_SHARE_FORCE))
        return NULL;
    return conf_unshared_reason(conf, has_devices(j), j->set);
}

static void set_sharing(const struct cluster *c, struct job *j)
{
    enum conf_oversubscribe share = j->part ? j->part->conf.share : CONF_SHARE_NO;
    struct request *r = &j->want;
    if (attempt_of(j)->alloc.len) /* its allocation keeps its sharing state */
        return;
    bool topo = j->part && j->part->conf.exclusive_topo;
    bool alone = topo || share == CONF_SHARE_EXCLUSIVE || r->reboots ||
                 (r->ask_exclusive && share != CONF_SHARE_FORCE);
    r->exclusive = alone || r->ask_exclusive || c->conf->select == CONF_SELECT_LINEAR;
    r->user_alone = r->ask_user_alone || (j->part && j->part->conf.exclusive_user);
    r->topo_alone = topo || (alone && r->ask_topo_alone);
    r->shared = !alone && !job_sharing_refusal(c->conf, j) && job_is_to_share(j);
    r->shares_parts = r->shared && conf_shares_across_parts(c->conf);
    r->shares_tiers = r->shares_parts && str_case_eq(c->conf->preempt_type, "preempt/none");
}

void job_set_sharing(const struct cluster *c, struct job *j)
{
    set_sharing(c, j);
    for (uint32_t i = 1; j->partitions && i < j->partitions->count; i++) {
        job_partitions_select(j, i);
        set_sharing(c, j);
        j->partitions->of[i].judged = false;
    }
    job_partitions_select_first(j);
    if (j->partitions)
        j->partitions->of[0].judged = false;
}

/* Sets the request for the job's partition. A running job keeps its licences: the alternative with
 * which it started, and the counts that variables had then. */
static void set_request(const struct cluster *c, struct job *j, const Pb__JobSpec *s,
                        struct parsed_request *p, bool last)
{
    struct request r;
    request_complete(c, j->part, s, p, last, &r);
    r.shared = j->want.shared;
    r.exclusive = j->want.exclusive;
    r.user_alone = j->want.user_alone;
    r.topo_alone = j->want.topo_alone;
    if (license_held(j) && j->want.licenses.list.len) {
        license_needs_done(&r.licenses);
        r.licenses = j->want.licenses;
        j->want.licenses = (struct license_needs){0};
    }
    request_done(&j->want);
    j->want = r;
    set_sharing(c, j);
}

/* Jobs without a time limit get the default of each partition there. */
static void read_partition_limits(struct job *j, const Pb__JobSpec *s, int64_t limit_sec)
{
    struct job_partitions *of = j->partitions;
    for (uint32_t i = 0; of && i < of->count; i++) {
        struct part_request *f = &of->of[i];
        const struct conf_part *p = &f->part->conf;
        int64_t fallback = p->default_time_sec > 0 ? p->default_time_sec : p->max_time_sec;
        f->judged = f->never = false;
        bool given = s->has_time_limit_sec && (s->time_limit_sec > 0 || limit_sec == INT64_MAX);
        f->limit_sec = given ? limit_sec : fallback;
        j->limit_sec = i == 0 ? f->limit_sec : j->limit_sec;
    }
}

void job_set_request(const struct cluster *c, struct job *j, const Pb__JobSpec *s,
                     struct parsed_request *p, bool keep)
{
    uint32_t count = job_partitions_count(j);
    for (uint32_t i = 0; i < count; i++) {
        job_partitions_select(j, i);
        set_request(c, j, s, p, !keep && i + 1 == count);
    }
    job_partitions_select_first(j);
    read_partition_limits(j, s, j->limit_sec);
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
    j->warn_signal = p->warn_signal;
    j->warn_sec = p->warn_sec;
    j->warn_batch = p->warn_batch;
    j->deadline_at = cluster_bound_time(OR(s, deadline_at_sec, 0));
    j->time_min_sec = cluster_bound_time(OR(s, time_min_sec, 0));
    j->resv_asked = s->reservation && *s->reservation;
    j->begin_at = cluster_bound_time(OR(s, begin_at_sec, 0)); /* a past time means now */
    j->mail = (uint16_t)p->mail;
}

int job_read_spec(const struct cluster *c, struct job *j, const Pb__JobSpec *s, struct err *err)
{
    struct parsed_request parsed;
    int rc = request_parse(c, s, &parsed, err);
    if (rc == 0)
        job_set_request(c, j, s, &parsed, false);
    return rc;
}

/* set NULL: returns NULL. */
static char *format_node_set(const struct cluster *c, const struct bitset *set, struct arena *arena)
{
    if (!set)
        return NULL;
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    _cleanup_str_ struct str text = STR_INIT;
    bitset_foreach (set, i)
        hostlist_push(list, c->nodes.data[i]->name);
    hostlist_format(list, &text);
    return arena_strdup(arena, str_cstr(&text));
}

void job_sort_node_lists(const struct cluster *c, const struct job *j, Pb__JobSpec *spec,
                         struct arena *arena)
{
    struct dist dist = {0};
    dist_parse(spec->distribution, &dist);
    if (spec->req_nodes && j->want.req && !j->want.req_gone && dist.nodes != DIST_ARBITRARY)
        spec->req_nodes = format_node_set(c, j->want.req, arena);
    if (spec->exc_nodes && j->want.exc)
        spec->exc_nodes = format_node_set(c, j->want.exc, arena);
}

Pb__JobSpec *job_unpack_spec(const struct job *j, struct arena *arena)
{
    return arena_unpack(arena, &pb__job_spec__descriptor, j->spec.data, j->spec.len);
}
