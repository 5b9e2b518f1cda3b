/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/words.h"
#include "conf/conf_license.h"
#include "control/core/reply.h"
#include "control/life/resv.h"
#include "control/life/start.h"
#include "sched/select/resv_deal.h"
#include "sched/select/resv_pick.h"

#define PAST_SEC 300 /* a begin may be this old: commands take time */
#define TIME_MOST_SEC (CLUSTER_NO_LIMIT_SEC * 100)
#define NODES_ALL "ALL"

#define FLAGS_OF_NODES ((uint32_t)(RESV_SPEC_NODES | RESV_ALL_NODES))
#define RESVS_MOST 1000

struct ask {
    struct control *c;
    const Pb__ResvUpdate *m;
    const Pb__ResvRecord *set;
    const struct resv *self;
    struct resv *r;
    struct err *err;
};

static int refuse_request(const struct ask *a, const char *why)
{
    return err_set(a->err, -ERR_RESV_INVALID, "%s: %s", err_text(ERR_RESV_INVALID), why);
}

static bool has_word(const char *list, const char *word)
{
    return list && node_features_have(list, word, strlen(word));
}

static void replace_text(char **text, const char *with)
{
    char *copy = with && *with ? mem_strdup(with) : NULL;
    free(*text);
    *text = copy;
}

/* --- lists of users, accounts, groups and partitions ---------------------------------------------
 */

/* Appends a word without its sign as an allowed or denied name, unless it is already there. */
static void add_name(struct str *list, const char *name, size_t len, bool denied)
{
    _cleanup_free_ char *word = mem_printf("%s%.*s", denied ? "-" : "", (int)len, name);
    if (!node_features_have(str_cstr(list), word, strlen(word)))
        str_printf(list, "%s%s", list->len ? "," : "", word);
}

/* Moves the names of 'given' one step up or down among denied, unspecified and allowed. A step
 * starts from the state in 'list', so a duplicate name moves once. Words without a sign have
 * 'sign'. */
static char *move_names(const char *list, const char *given, char sign)
{
    _cleanup_str_ struct str gone = STR_INIT, fresh = STR_INIT;
    struct str out = STR_INIT;
    words_foreach (given, w) {
        bool is_signed = w.len && (*w.at == '+' || *w.at == '-');
        bool down = (is_signed ? *w.at : sign) == '-';
        w.at += is_signed;
        w.len -= is_signed;
        _cleanup_free_ char *opposite = mem_printf("%s%.*s", down ? "" : "-", (int)w.len, w.at);
        if (w.len && node_features_have(list, opposite, strlen(opposite)))
            add_name(&gone, opposite, strlen(opposite), false);
        else if (w.len)
            add_name(&fresh, w.at, w.len, down);
    }
    words_foreach (list, w) {
        if (w.len && !node_features_have(str_cstr(&gone), w.at, w.len))
            add_name(&out, w.at, w.len, false);
    }
    words_foreach (str_cstr(&fresh), w)
        add_name(&out, w.at, w.len, false);
    return str_take(&out);
}

/* A list contains either allowed or denied names, not both. */
static int check_list(const struct ask *a, const char *what, const char *list)
{
    size_t denied = 0, allowed = 0;
    words_foreach (list, w) {
        denied += *w.at == '-' && w.len > 1;
        allowed += *w.at != '-' && w.len > 0;
    }
    if (denied && allowed)
        return err_set(a->err, -ERR_RESV_INVALID, "%s: %s=%s allows some and denies others",
                       err_text(ERR_RESV_INVALID), what, list);
    return 0;
}

/* The signs of a request are before the '=' ('sign', or 0), or before each name. */
static int check_signs(const struct ask *a, const char *shown, const char *given, char sign)
{
    size_t names = 0, with_sign = 0;
    words_foreach (given, w) {
        names += w.len > 0;
        with_sign += w.len > 0 && (*w.at == '+' || *w.at == '-');
        if (w.len == 1 && (*w.at == '+' || *w.at == '-'))
            return err_set(a->err, -ERR_RESV_INVALID, "%s: %s=%s: a name is missing after '%c'",
                           err_text(ERR_RESV_INVALID), shown, given, *w.at);
    }
    if (sign && !names)
        return err_set(a->err, -ERR_RESV_INVALID, "%s: %s%c= needs names",
                       err_text(ERR_RESV_INVALID), shown, sign);
    if (sign && with_sign)
        return err_set(a->err, -ERR_RESV_INVALID,
                       "%s: %s%c=%s has signs before '=' and before names: use one of them",
                       err_text(ERR_RESV_INVALID), shown, sign, given);
    if (a->self && with_sign && with_sign < names)
        return err_set(a->err, -ERR_RESV_INVALID,
                       "%s: %s=%s: put a sign before each name or before none",
                       err_text(ERR_RESV_INVALID), shown, given);
    return 0;
}

static int apply_list(const struct ask *a, const char *field, const char *shown, const char *given,
                      char **list)
{
    if (!given)
        return 0;
    char sign = has_word(a->m->take, field) ? '-' : has_word(a->m->add, field) ? '+' : 0;
    int rc = check_signs(a, shown, given, sign);
    if (rc != 0)
        return rc;
    bool edits = a->self && (sign || *given == '+' || *given == '-');
    _cleanup_free_ char *made = move_names(edits && *list ? *list : "", given, sign ? sign : '+');
    replace_text(list, made);
    return check_list(a, shown, *list);
}

static int check_partitions(const struct ask *a)
{
    words_foreach (a->r->allowed_parts, w) {
        _cleanup_free_ char *word = word_dup(w);
        const char *name = word + (*word == '-');
        if (w.len && !cluster_find_part(a->c->cluster, name))
            return err_set(a->err, -ERR_NO_PARTITION, "%s: AllowedPartitions=%s",
                           err_text(ERR_NO_PARTITION), name);
    }
    return 0;
}

static int apply_lists(const struct ask *a)
{
    int rc = apply_list(a, "users", "Users", a->set->users, &a->r->users);
    if (rc == 0)
        rc = apply_list(a, "accounts", "Accounts", a->set->accounts, &a->r->accounts);
    if (rc == 0)
        rc = apply_list(a, "groups", "Groups", a->set->groups, &a->r->groups);
    if (rc == 0)
        rc = apply_list(a, "allowed_partitions", "AllowedPartitions", a->set->allowed_partitions,
                        &a->r->allowed_parts);
    if (rc == 0 && a->set->allowed_partitions)
        rc = check_partitions(a);
    if (rc != 0)
        return rc;
    if (a->r->groups && strchr(a->r->groups, '-') == a->r->groups)
        return refuse_request(a, "Groups cannot be denied");
    if (a->r->users && a->r->groups)
        return refuse_request(a, "Users and Groups exclude each other");
    if (!a->r->users && !a->r->groups && !a->r->accounts && !a->r->allowed_parts)
        return refuse_request(a, "it needs Users, Groups, Accounts or AllowedPartitions");
    return 0;
}

/* --- flags -------------------------------------------------------------------------------------
 */

static bool more_than_one(uint32_t flags)
{
    return flags & (flags - 1);
}

static int check_flags(const struct ask *a)
{
    const struct resv *r = a->r;
    uint32_t f = r->flags;
    if (more_than_one(f & RESV_REPEATS))
        return refuse_request(a, "it repeats in one way only");
    if (f & RESV_FORCE_START && !(f & RESV_REPEATS))
        return refuse_request(a, "FORCE_START is for one that repeats");
    if (f & RESV_TIME_FLOAT && f & RESV_REPEATS)
        return refuse_request(a, "one with TIME_FLOAT does not repeat");
    if (f & RESV_PART_NODES && (!r->part || !(f & RESV_ALL_NODES)))
        return refuse_request(a, "PART_NODES needs PartitionName and Nodes=ALL");
    if (f & RESV_PART_NODES && r->gres_total)
        return refuse_request(a, "PART_NODES with TRES=gres/..., which is of the nodes of one "
                                 "time: ask for TRESPerNode=gres/...");
    if (f & (RESV_REPLACE | RESV_REPLACE_DOWN) && (f & RESV_SPEC_NODES || !r->node_count))
        return refuse_request(a, "REPLACE and REPLACE_DOWN need NodeCnt, and no Nodes");
    if (f & (RESV_REPLACE | RESV_REPLACE_DOWN) && f & RESV_STATIC)
        return refuse_request(a, "REPLACE and STATIC_ALLOC exclude each other");
    if (f & RESV_FIRST_CORES && !r->core_count)
        return refuse_request(a, "FIRST_CORES needs CoreCnt");
    if (f & RESV_ANY_NODES && (r->node_count || r->core_count || r->cores_per_node ||
                               r->gres_total || r->gres_per_node || f & RESV_SPEC_NODES))
        return refuse_request(a, "ANY_NODES is for licenses alone, without nodes");
    if (f & RESV_ANY_NODES && !r->licenses)
        return refuse_request(a, "ANY_NODES needs Licenses");
    return 0;
}

static int apply_flags(const struct ask *a)
{
    uint32_t flags = 0, now = a->r->flags;
    int64_t purge = a->r->purge_sec;
    if (!a->set->flags)
        return 0;
    int rc = resv_parse_flags(a->set->flags, &flags, &purge, a->err);
    bool take = has_word(a->m->take, "flags"), add = has_word(a->m->add, "flags");
    if (rc == 0 && a->self)
        rc = resv_check_change(take ? flags : flags & ~now, !take, a->err);
    if (rc == 0 && !a->self)
        rc = flags & FLAGS_OF_NODES ? refuse_request(a, "SPEC_NODES and ALL_NODES follow "
                                                        "from Nodes")
                                    : 0;
    if (rc != 0)
        return rc;
    uint32_t gone = a->self && !take && !add ? now & ~flags & ~FLAGS_OF_NODES : 0;
    for (uint32_t bit = 1; gone && bit; bit <<= 1) /* flags that cannot be cleared stay */
        if (gone & bit && resv_check_change(bit, false, NULL) != 0)
            gone &= ~bit;
    a->r->flags = take ? now & ~flags : (now & ~gone) | flags;
    a->r->purge_sec = purge;
    return 0;
}

/* --- time --------------------------------------------------------------------------------------
 */

static int64_t whole_minutes(int64_t sec)
{
    return sec > TIME_MOST_SEC ? RESV_NEVER : (sec + 59) / 60 * 60;
}

static int apply_float(const struct ask *a, int64_t now, int64_t duration)
{
    struct resv *r = a->r;
    if (!a->self) {
        r->float_sec = r->start_at - now;
        r->float_length_sec = duration;
    } else if (a->set->has_start_at) {
        r->float_sec = a->set->start_at - now;
    }
    if (a->self && duration)
        r->float_length_sec = duration;
    return r->float_sec > 0 ? 0 : refuse_request(a, "TIME_FLOAT needs StartTime=now+...");
}

static int check_time(const struct ask *a, int64_t now)
{
    struct resv *r = a->r;
    if (r->end_at <= r->start_at)
        return refuse_request(a, "EndTime is not after StartTime");
    if (r->flags & RESV_REPEATS && r->end_at - r->start_at > resv_period(r))
        return refuse_request(a, "it is longer than the time after which it repeats");
    if (!resv_advance(r, now))
        return refuse_request(a, "EndTime is in the past");
    if (!a->self && r->start_at < now - PAST_SEC && !(r->flags & RESV_REPEATS))
        return refuse_request(a, "StartTime is in the past");
    return 0;
}

/* Finds the requested length; 0: none. */
static int find_duration(const struct ask *a, int64_t length, int64_t *out)
{
    bool add = has_word(a->m->add, "duration"), take = has_word(a->m->take, "duration");
    if (!a->set->has_duration_sec)
        return 0;
    int64_t given = whole_minutes(a->set->duration_sec);
    if (given <= 0)
        return refuse_request(a, "Duration");
    if ((add || take) && !a->self)
        return refuse_request(a, "Duration+= and Duration-= are for one that is there");
    if ((add || take) && (length == RESV_NEVER || given == RESV_NEVER))
        return refuse_request(a, "an unlimited Duration cannot be increased or decreased");
    if (take && given >= length)
        return refuse_request(a, "Duration-= takes all of its time");
    *out = add ? whole_minutes(length + given) : take ? length - given : given;
    return 0;
}

/* Whether a new reservation has shared resources but no nodes: as in the guide of resources.yaml,
 * it needs no Flags=LICENSE_ONLY, StartTime and Duration. */
static bool names_pools_alone(const struct ask *a)
{
    const Pb__ResvRecord *s = a->set;
    return !a->self && s->licenses && conf_license_names_nodes(s->licenses) && !s->nodes &&
           !s->has_node_count && !s->core_count && !s->partition && !s->features && !s->gres &&
           !s->gres_per_node && !s->has_cores_per_node;
}

static int apply_times(const struct ask *a)
{
    const Pb__ResvRecord *s = a->set;
    struct resv *r = a->r;
    int64_t now = control_wall(a->c),
            length = r->end_at == RESV_NEVER ? RESV_NEVER : r->end_at - r->start_at;
    int64_t duration = 0;
    if (r->flags & RESV_TIME_FLOAT && r->float_length_sec)
        length = r->float_length_sec;
    int wrong = find_duration(a, length, &duration);
    if (wrong != 0)
        return wrong;
    bool open = names_pools_alone(a);
    if (!a->self && !s->has_start_at && !open)
        return refuse_request(a, "it needs StartTime");
    if (!a->self && !s->has_duration_sec && !s->has_end_at && !open)
        return refuse_request(a, "it needs EndTime or Duration");
    if (a->self && s->has_start_at && resv_is_now(a->self, now) && s->start_at != r->start_at)
        return refuse_request(a, "StartTime of one that is active");
    if (s->has_start_at && (s->start_at <= 0 || s->start_at > now + TIME_MOST_SEC))
        return refuse_request(a, "StartTime");
    if (s->has_end_at && s->end_at > now + TIME_MOST_SEC && s->end_at != RESV_NEVER)
        return refuse_request(a, "EndTime");
    if (s->has_start_at || open)
        r->start_at = s->has_start_at ? s->start_at : now;
    if (s->has_end_at && !s->has_duration_sec)
        r->end_at = s->end_at;
    else if (open && !s->has_duration_sec)
        r->end_at = RESV_NEVER;
    else if (s->has_duration_sec || s->has_start_at)
        r->end_at = duration ? duration == RESV_NEVER ? RESV_NEVER : r->start_at + duration
                    : length == RESV_NEVER ? RESV_NEVER
                                           : r->start_at + length;
    if (r->flags & RESV_TIME_FLOAT) {
        int rc = apply_float(a, now, duration);
        if (rc != 0)
            return rc;
    }
    return check_time(a, now);
}

/* --- nodes -------------------------------------------------------------------------------------
 */

/* Adapts CoreCnt of a reservation whose nodes were edited: a total is dealt anew, numbers by node
 * stay on nodes that stay. */
static int edit_cores(const struct ask *a, const struct bitset *set)
{
    struct resv *r = a->r;
    const struct cluster *c = a->c->cluster;
    _cleanup_hostlist_ struct hostlist *names = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    char name[HOSTLIST_NAME_MAX + 1];
    VEC(uint32_t) kept = {0};
    if (!strchr(r->core_count, ','))
        return resv_parse_cores(r->core_count, r) ? 0 : refuse_request(a, r->core_count);
    if (!bitset_contains(a->self->nodes, set))
        return err_set(a->err, -ERR_RESV_INVALID,
                       "%s: CoreCnt=%s has a number for each node: set CoreCnt for the new ones, "
                       "too",
                       err_text(ERR_RESV_INVALID), r->core_count);
    if (hostlist_parse(r->node_names, &names, NULL) != 0)
        return 0;
    for (size_t i = 0; i < hostlist_count(names) && i < r->cores.len; i++) {
        const struct node *n = cluster_find_node(c, hostlist_nth(names, i, name));
        if (!n || !bitset_test(set, n->index))
            continue;
        vec_push(&kept, r->cores.data[i]);
        str_printf(&text, "%s%u", text.len ? "," : "", r->cores.data[i]);
    }
    vec_clear(&r->cores);
    vec_foreach (&kept, n)
        vec_push(&r->cores, *n);
    vec_done(&kept);
    replace_text(&r->core_count, str_cstr(&text));
    return 0;
}

/* Whether the list is "ALL", or "+ALL" for an existing reservation. */
static bool names_all_nodes(const struct ask *a)
{
    const char *nodes = a->set->nodes;
    return str_case_eq(a->self && *nodes == '+' ? nodes + 1 : nodes, NODES_ALL);
}

static int find_named_nodes(const struct ask *a, struct bitset **set)
{
    const struct cluster *c = a->c->cluster;
    if (cluster_is_edit(a->set->nodes) && !names_all_nodes(a)) {
        if (!a->self)
            return refuse_request(a, "Nodes+= and Nodes-= change a reservation that exists");
        *set = bitset_dup(a->self->nodes);
        return cluster_edit_nodes(c, a->set->nodes, *set, a->err);
    }
    if (!names_all_nodes(a))
        return cluster_node_set(c, a->set->nodes, set, a->err);
    const struct part *p = a->r->part ? cluster_find_part(c, a->r->part) : NULL;
    *set = p ? bitset_dup(p->nodes) : bitset_new(c->nodes.len);
    if (!p)
        bitset_fill(*set);
    return 0;
}

static int apply_named(const struct ask *a)
{
    struct resv *r = a->r;
    const struct cluster *c = a->c->cluster;
    bool all = names_all_nodes(a);
    _cleanup_bitset_ struct bitset *set = NULL;
    if (!*a->set->nodes) { /* other nodes, the same number */
        r->flags &= ~FLAGS_OF_NODES;
        if (!a->set->has_node_count)
            r->node_count = a->self ? (uint32_t)bitset_count(r->nodes) : r->node_count;
        return 0;
    }
    int rc = find_named_nodes(a, &set);
    if (rc != 0)
        return rc;
    if (bitset_empty(set))
        return refuse_request(a,
                              a->self ? "no nodes would be left: delete it instead" : "no nodes");
    r->flags |= RESV_SPEC_NODES | (all ? RESV_ALL_NODES : 0);
    r->flags &= ~(all ? 0u : (uint32_t)RESV_ALL_NODES);
    if (cluster_is_edit(a->set->nodes) && r->core_count && !a->set->core_count) {
        rc = edit_cores(a, set);
        if (rc != 0)
            return rc;
    } else if (!a->set->core_count && !r->cores_per_node) {
        vec_clear(&r->cores);
        replace_text(&r->core_count, NULL);
    }
    resv_set_nodes(c, r, set);
    r->node_count = (uint32_t)bitset_count(set);
    return 0;
}

static int apply_counts(const struct ask *a)
{
    struct resv *r = a->r;
    const Pb__ResvRecord *s = a->set;
    if (s->has_node_count && !(s->nodes && *s->nodes)) {
        r->node_count = s->node_count;
        r->flags &= ~FLAGS_OF_NODES;
    }
    if (!s->core_count)
        return 0;
    replace_text(&r->core_count, s->core_count);
    if (!resv_parse_cores(s->core_count, r))
        return err_set(a->err, -ERR_RESV_INVALID, "%s: CoreCnt=%s", err_text(ERR_RESV_INVALID),
                       s->core_count);
    if (a->c->conf->select == CONF_SELECT_LINEAR)
        return refuse_request(a, "CoreCnt with SelectType=select/linear, which gives whole nodes");
    return 0;
}

/* Applies the requested generic resources and cores of each node. */
static int apply_gres(const struct ask *a)
{
    struct resv *r = a->r;
    const Pb__ResvRecord *s = a->set;
    struct resv_wish wish;
    if (s->gres && *s->gres && s->gres_per_node && *s->gres_per_node)
        return refuse_request(a, "TRES=gres/... and TRESPerNode=gres/... exclude each other");
    if (s->has_cores_per_node && s->cores_per_node && s->core_count)
        return refuse_request(a,
                              "CoreCnt (TRES=cpu=...) and TRESPerNode=cpu=... exclude each other");
    if (s->has_cores_per_node && r->cores_per_node)
        vec_clear(&r->cores);
    if (s->has_cores_per_node)
        r->cores_per_node = s->cores_per_node;
    if (s->core_count)
        r->cores_per_node = 0;
    if (s->has_cores_per_node && s->cores_per_node)
        replace_text(&r->core_count, NULL);
    if (!s->gres && !s->gres_per_node)
        return 0;
    replace_text(&r->gres_total, s->gres);
    replace_text(&r->gres_per_node, s->gres_per_node);
    int rc = resv_wish_read(a->c->cluster, r, &wish, a->err);
    bool none = rc == 0 && !wish.wants.list.len && (r->gres_total || r->gres_per_node);
    if (rc == 0)
        resv_wish_done(&wish);
    if (!none)
        return rc;
    return err_set(a->err, -ERR_RESV_INVALID, "%s: %s=gres/%s: expected a count above 0",
                   err_text(ERR_RESV_INVALID), r->gres_total ? "TRES" : "TRESPerNode",
                   r->gres_total ? r->gres_total : r->gres_per_node);
}

/* Whether a request for parts of nodes specifies the nodes, or their number. */
static int check_parts(const struct ask *a)
{
    const struct resv *r = a->r;
    struct resv_wish wish;
    if (!r->gres_total && !r->gres_per_node && !r->cores_per_node)
        return 0;
    if (a->c->conf->select == CONF_SELECT_LINEAR)
        return refuse_request(
            a, "cpu= and gres/... with SelectType=select/linear, which gives whole nodes");
    if (!r->gres_total && !r->node_count && !a->set->partition && !a->self)
        return refuse_request(a, "TRESPerNode needs NodeCnt, Nodes or PartitionName");
    if (!r->gres_total)
        return 0;
    if (!r->node_count)
        return r->core_count || r->cores_per_node
                   ? refuse_request(a, "cpu= and gres/... together need NodeCnt or Nodes")
                   : 0;
    int rc = resv_wish_read(a->c->cluster, r, &wish, a->err);
    for (size_t i = 0; rc == 0 && i < wish.wants.list.len; i++)
        if (wish.wants.list.data[i].per_job < r->node_count)
            rc = err_set(a->err, -ERR_RESV_INVALID,
                         "%s: TRES=gres/%s: less than one for each of %u nodes",
                         err_text(ERR_RESV_INVALID), r->gres_total, r->node_count);
    resv_wish_done(&wish);
    return rc;
}

static int apply_licenses(const struct ask *a)
{
    const struct cluster *c = a->c->cluster;
    struct license_needs needs = {0};
    int rc = license_read_pools(c, a->set->licenses, &needs, a->err);
    if (rc == 0)
        rc = license_pools_possible(c, &needs, a->err);
    license_needs_done(&needs);
    if (rc == 0)
        replace_text(&a->r->licenses, a->set->licenses);
    return rc;
}

static int apply_nodes(const struct ask *a)
{
    const Pb__ResvRecord *s = a->set;
    struct resv *r = a->r;
    if (s->partition) {
        if (*s->partition && !cluster_find_part(a->c->cluster, s->partition))
            return err_set(a->err, -ERR_NO_PARTITION, "%s: %s", err_text(ERR_NO_PARTITION),
                           s->partition);
        replace_text(&r->part, s->partition);
    }
    if (!r->part && r->allowed_parts && *r->allowed_parts != '-')
        r->part = mem_strndup(r->allowed_parts, strcspn(r->allowed_parts, ","));
    if (s->features)
        replace_text(&r->features, s->features);
    int rc = s->licenses ? apply_licenses(a) : 0;
    if (rc == 0 && names_pools_alone(a))
        r->flags |= RESV_ANY_NODES;
    if (rc == 0 && s->nodes)
        rc = apply_named(a);
    if (rc == 0)
        rc = apply_gres(a);
    if (rc == 0)
        rc = apply_counts(a);
    if (rc == 0)
        rc = check_parts(a);
    if (rc != 0)
        return rc;
    bool counted = s->features && strchr(s->features, '*');
    if (!a->self && !s->nodes && !s->has_node_count && !s->core_count && !s->partition &&
        !counted && !r->gres_total && !(r->flags & RESV_ANY_NODES))
        return refuse_request(a, r->licenses
                                     ? "of licenses alone, it needs Flags=LICENSE_ONLY"
                                     : "it needs Nodes, NodeCnt, CoreCnt, TRES, PartitionName, "
                                       "Licenses, or Features with counts");
    return 0;
}

/* Changes 'r', a draft that replaces 'self' (NULL: a new reservation). Checks everything in the
 * request except the nodes. */
static int apply_update(struct control *c, const Pb__ResvUpdate *m, const struct resv *self,
                        struct resv *r, struct err *err)
{
    struct ask a = {c, m, m->set, self, r, err};
    int rc = apply_flags(&a);
    if (rc == 0)
        rc = apply_lists(&a);
    if (rc == 0)
        rc = apply_nodes(&a);
    if (rc == 0)
        rc = check_flags(&a);
    if (rc == 0)
        rc = apply_times(&a);
    if (rc == 0 && m->set->has_max_start_delay_sec)
        r->delay_sec = whole_minutes(m->set->max_start_delay_sec);
    return rc;
}

/* Returns USER_N with the first user, account, group or partition; the caller frees the text. */
static char *name_by_user(const struct resv *r)
{
    const char *list = r->users      ? r->users
                       : r->accounts ? r->accounts
                       : r->groups   ? r->groups
                                     : r->allowed_parts;
    list += *list == '-';
    return mem_printf("%.*s_%u", (int)strcspn(list, ","), list, r->number);
}

/* --- requests ------------------------------------------------------------------------------------
 */

static bool is_good_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-");
    return len > 0 && len < 128 && !name[len] && *name != '-';
}

static int create_resv(struct control *c, const Pb__ResvUpdate *m, struct resv **out,
                       struct err *err)
{
    uint32_t top = 0;
    struct resv_pick pick = {c->cluster, NULL, control_wall(c), false};
    if (c->cluster->resvs.len >= RESVS_MOST)
        return err_set(err, -ERR_LIMIT, "%s: there are %d reservations: delete some first",
                       err_text(ERR_LIMIT), RESVS_MOST);
    if (*m->set->name && resv_find(c->cluster, m->set->name))
        return err_set(err, -ERR_RESV_EXISTS, "%s: %s", err_text(ERR_RESV_EXISTS), m->set->name);
    if (*m->set->name && !is_good_name(m->set->name))
        return err_set(err, -ERR_RESV_INVALID, "%s: ReservationName=%s: letters, digits and _.:-",
                       err_text(ERR_RESV_INVALID), m->set->name);
    vec_foreach (&c->cluster->resvs, r)
        top = (*r)->number > top ? (*r)->number : top;
    top = top > c->resv_number ? top : c->resv_number;
    struct resv *r = resv_new(m->set->name);
    r->zone = c->cluster->zone;
    r->number = top + 1;
    r->nodes = bitset_new(c->cluster->nodes.len);
    int rc = apply_update(c, m, NULL, r, err);
    if (rc == 0 && !*r->name) {
        free(r->name);
        r->name = name_by_user(r);
        if (resv_find(c->cluster, r->name))
            rc = err_set(err, -ERR_RESV_EXISTS, "%s: %s", err_text(ERR_RESV_EXISTS), r->name);
    }
    if (rc == 0)
        rc = resv_pick(&pick, r, NULL, err);
    if (rc != 0) {
        resv_free(r);
        return rc;
    }
    c->resv_number = r->number;
    resv_add(c->cluster, r);
    *out = r;
    return 0;
}

/* Returns the nodes that stay when their number changes: the first ones. */
static struct bitset *find_keepers(const struct resv *r, const struct resv *draft)
{
    struct bitset *keep = bitset_dup(r->nodes);
    size_t left = draft->node_count;
    bitset_foreach (keep, i)
        if (left)
            left--;
        else
            bitset_unset(keep, (size_t)i);
    return keep;
}

static int change_resv(struct control *c, const Pb__ResvUpdate *m, struct resv *r, struct err *err)
{
    struct resv_pick pick = {c->cluster, r, control_wall(c), false};
    struct resv *draft = resv_draft_of(c, r);
    _cleanup_bitset_ struct bitset *keep = NULL;
    if (!draft)
        return err_set(err, -ERR_INTERNAL, "%s", err_text(ERR_INTERNAL));
    int rc = apply_update(c, m, r, draft, err);
    if (rc == 0)
        rc = resv_pick_licenses(&pick, draft, err);
    bool again = m->set->nodes || m->set->has_node_count || m->set->core_count ||
                 m->set->partition || m->set->features || m->set->gres || m->set->gres_per_node ||
                 m->set->has_cores_per_node;
    bool moves =
        m->set->has_start_at || m->set->has_end_at || m->set->has_duration_sec || m->set->flags;
    if (m->set->has_node_count && !m->set->nodes && !m->set->features && !draft->core_count)
        keep = find_keepers(r, draft);
    /* Other reservations or jobs may use the nodes. */
    if (rc == 0 && moves && !again && !(draft->flags & RESV_ANY_NODES)) {
        draft->flags |= RESV_SPEC_NODES;
        pick.stays = true;
        rc = resv_pick(&pick, draft, NULL, err);
        if (!(r->flags & RESV_SPEC_NODES))
            draft->flags &= ~(uint32_t)RESV_SPEC_NODES;
    } else if (rc == 0 && again) {
        rc = resv_pick(&pick, draft, keep, err);
    }
    if (rc != 0) {
        resv_free(draft);
        return rc;
    }
    resv_become(c->cluster, r, draft);
    return 0;
}

static int skip_occurrence(struct control *c, struct resv *r, struct err *err)
{
    if (!(r->flags & RESV_REPEATS))
        return err_set(err, -ERR_RESV_INVALID, "%s: %s does not repeat", err_text(ERR_RESV_INVALID),
                       r->name);
    if (r->running)
        return err_set(err, -ERR_RESV_BUSY, "%s: %s", err_text(ERR_RESV_BUSY), r->name);
    resv_hook_end(c, r);
    resv_advance(r, r->end_at);
    r->active = resv_is_now(r, control_wall(c));
    return 0;
}

static int update_resv(struct control *c, const Pb__ResvUpdate *m, struct resv **r, struct err *err)
{
    if (m->has_create && m->create)
        return create_resv(c, m, r, err);
    *r = resv_find(c->cluster, m->set->name);
    if (!*r)
        return err_set(err, -ERR_RESV_INVALID, "%s: %s", err_text(ERR_RESV_INVALID), m->set->name);
    return m->has_skip && m->skip ? skip_occurrence(c, *r, err) : change_resv(c, m, *r, err);
}

void control_resv_update(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__ResvUpdate *m)
{
    struct err err = {0};
    struct resv *r = NULL;
    start_drop_plan(c);
    if (update_resv(c, m, &r, &err) != 0) {
        control_refuse(c, call, &err);
        return;
    }
    Pb__ResvReply reply = PB__RESV_REPLY__INIT;
    assert(r);
    reply.name = r->name;
    control_log(c, LOG_LVL_INFO, "reservation %s %s by uid %u", r->name,
                m->has_create && m->create ? "created" : "changed", who->uid);
    resv_changed(c, r);
    resv_tell_jobs(c, r);
    c->env->reply(c->env->ctx, call, &reply.base);
    resv_tick(c); /* the change may have ended it */
}

static bool may_delete_resv(struct control *c, const struct caller *who, const struct resv *r)
{
    bool users_may = r->flags & RESV_USER_DELETE ||
                     conf_list_has(c->conf->slurmctld_parameters, "user_resv_delete");
    return who->is_operator || (users_may && resv_is_for(c, who, r));
}

void control_resv_delete(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__ResvDelete *m)
{
    struct resv *r = resv_find(c->cluster, m->name);
    if (!r || !resv_is_shown(c, who, r)) {
        control_refuse_code(c, call, ERR_RESV_INVALID, m->name);
    } else if (!may_delete_resv(c, who, r)) {
        control_refuse_code(c, call, ERR_ACCESS, NULL);
    } else if (r->running) {
        control_refuse_code(c, call, ERR_RESV_BUSY, m->name);
    } else {
        Pb__ResvReply reply = PB__RESV_REPLY__INIT;
        reply.name = m->name;
        start_drop_plan(c);
        control_log(c, LOG_LVL_INFO, "reservation %s deleted by uid %u", m->name, who->uid);
        resv_drop(c, r);
        c->env->reply(c->env->ctx, call, &reply.base);
    }
}
