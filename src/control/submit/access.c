/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/submit/access.h"
#include "control/submit/submit.h"

#include <string.h>

#include "base/hostlist.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/resv.h"

#define GROUP_MAX 256

/* The next name of a list, from *at on; false: there is none. */
static bool find_next_group(const char **at, char name[GROUP_MAX])
{
    while (**at) {
        size_t len = strcspn(*at, ",");
        bool fits = len && len < GROUP_MAX;
        if (fits) {
            memcpy(name, *at, len);
            name[len] = 0;
        }
        *at += len + ((*at)[len] != 0);
        if (fits)
            return true;
    }
    return false;
}

static bool is_in_groups(struct control *c, const struct caller *who, const char *list)
{
    char name[GROUP_MAX];
    if (!list || str_case_eq(list, "ALL") || who->is_admin)
        return true;
    while (find_next_group(&list, name))
        if (c->env->user_in_group(c->env->ctx, who->uid, name))
            return true;
    return false;
}

bool access_shows_part(struct control *c, const struct caller *who, const struct part *p)
{
    return who->is_operator || (!p->conf.hidden && is_in_groups(c, who, p->conf.allow_groups));
}

bool access_shows_job(struct control *c, const struct caller *who, const struct job *j)
{
    bool shown = j->uid == who->uid || !j->part || access_shows_part(c, who, j->part);
    for (uint32_t i = 0; !shown && j->partitions && i < j->partitions->count; i++)
        shown = access_shows_part(c, who, j->partitions->of[i].part);
    return shown;
}

void control_allowed_groups(const struct control *c, void (*fn)(void *ctx, const char *group),
                            void *ctx)
{
    char name[GROUP_MAX];
    vec_foreach (&c->cluster->parts, at) {
        const char *list = (*at)->conf.allow_groups;
        if (!list || str_case_eq(list, "ALL"))
            continue;
        while (find_next_group(&list, name))
            fn(ctx, name);
    }
    resv_each_group(c, fn, ctx);
}

/* AllocNodes: the hosts it may be used from. The host is that of the caller's token. */
static bool is_from_host(const struct conf_part *p, const struct caller *who)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    if (!p->allow_alloc_nodes || str_case_eq(p->allow_alloc_nodes, "ALL") || who->is_admin)
        return true;
    if (!who->host || hostlist_parse(p->allow_alloc_nodes, &list, NULL) != 0)
        return false;
    return hostlist_find(list, who->host) >= 0;
}

static int check_access(struct control *c, const struct caller *who, const struct caller *as,
                        const struct conf_part *p, struct err *err)
{
    if ((p->root_only || p->key) && !who->is_admin)
        return err_set(err, -ERR_ACCESS, "%s: partition %s is for root only", err_text(ERR_ACCESS),
                       p->name);
    if (p->disable_root && as->uid == 0)
        return err_set(err, -ERR_ACCESS, "%s: partition %s takes no jobs of root (DisableRootJobs)",
                       err_text(ERR_ACCESS), p->name);
    if (!is_in_groups(c, as, p->allow_groups))
        return control_set_error(err, ERR_GROUPS, p->name);
    if (!is_from_host(p, who))
        return err_set(err, -ERR_ACCESS, "%s: partition %s takes no jobs from host %s (AllocNodes)",
                       err_text(ERR_ACCESS), p->name, who->host ? who->host : "unknown");
    return 0;
}

/* For a job that names none: that of the first reservation it asks for, before the default one. */
static struct part *find_default(const struct control *c, const char *reservation)
{
    _cleanup_free_ char *name =
        reservation ? mem_strndup(reservation, strcspn(reservation, ",")) : NULL;
    const struct resv *r = name ? resv_find(c->cluster, name) : NULL;
    struct part *p = r && r->part ? cluster_find_part(c->cluster, r->part) : NULL;
    return p ? p : cluster_default_part(c->cluster);
}

static int find_partition(struct control *c, const char *name, const char *reservation,
                          struct part **out, struct err *err)
{
    *out = *name ? cluster_find_part(c->cluster, name) : find_default(c, reservation);
    if (*out)
        return 0;
    return *name ? control_set_error(err, ERR_NO_PARTITION, name)
                 : control_set_error(err, ERR_NO_DEFAULT_PARTITION, NULL);
}

int access_check_resv(const struct part *p, const char *reservation, struct err *err)
{
    if (!p->conf.req_resv || (reservation && *reservation))
        return 0;
    return err_set(err, -ERR_ACCESS,
                   "%s: partition %s takes jobs of reservations only: "
                   "--reservation",
                   err_text(ERR_ACCESS), p->conf.name);
}

static int refuse_account(const struct conf_part *p, const char *account, struct err *err)
{
    if (!account || !*account)
        return err_set(err, -ERR_ACCOUNT,
                       "%s: partition %s takes jobs of some accounts only: --account",
                       err_text(ERR_ACCOUNT), p->name);
    return err_set(err, -ERR_ACCOUNT, "%s: partition %s takes no jobs of account %s (%s)",
                   err_text(ERR_ACCOUNT), p->name, account,
                   p->allow_accounts ? "AllowAccounts" : "DenyAccounts");
}

const char access_any_account[] = "any";

static int check_part(struct control *c, const struct caller *who, const struct caller *as,
                      const Pb__JobSpec *spec, const struct part *p, struct err *err)
{
    const struct conf_part *conf = &p->conf;
    if (conf->state == CONF_PART_DRAIN || conf->state == CONF_PART_INACTIVE)
        return control_set_error(err, ERR_PARTITION_DOWN, conf->name);
    if (spec->account != access_any_account && !part_takes_account(conf, spec->account))
        return refuse_account(conf, spec->account, err);
    int rc = check_access(c, who, as ? as : who, conf, err);
    return rc == 0 ? access_check_resv(p, spec->reservation, err) : rc;
}

/* The partition itself, or where it takes no jobs its Alternate, and so on. */
static struct part *find_alternate(const struct control *c, struct part *p)
{
    for (size_t i = 0; p->conf.alternate && i < c->cluster->parts.len; i++) {
        struct part *other = cluster_find_part(c->cluster, p->conf.alternate);
        if (!other || (p->conf.state != CONF_PART_DRAIN && p->conf.state != CONF_PART_INACTIVE))
            break;
        p = other;
    }
    return p;
}

int access_find_part(struct control *c, const struct caller *who, const struct caller *as,
                     const Pb__JobSpec *spec, struct part **out, struct err *err)
{
    struct part *p;
    int rc = find_partition(c, spec->partition ? spec->partition : "", spec->reservation, &p, err);
    if (rc == 0)
        rc = check_part(c, who, as, spec, p, err);
    if (rc == 0)
        *out = p;
    return rc;
}

/* --- keys of partitions ------------------------------------------------------------------------
 */

/* Takes the same time wherever they differ. */
static bool is_same_key(const char *given, const char *key)
{
    unsigned differ = 0;
    if (!given || strlen(given) != CONTROL_PART_KEY_SIZE - 1)
        return false;
    for (size_t i = 0; i < CONTROL_PART_KEY_SIZE - 1; i++)
        differ |= (unsigned char)given[i] ^ (unsigned char)key[i];
    return differ == 0;
}

/* Without its key a partition that has one takes no new jobs (CORE-080). */
static int check_key(const struct control *c, const struct part *p, const char *given,
                     struct err *err)
{
    char key[CONTROL_PART_KEY_SIZE];
    if (!p->conf.key)
        return 0;
    c->env->part_key(c->env->ctx, p->conf.name, p->conf.key_number, key);
    bool same = is_same_key(given, key);
    memset(key, 0, sizeof key);
    if (same)
        return 0;
    return err_set(err, -ERR_ACCESS,
                   "%s: partition %s takes jobs only with its key%s (--partition-key; root gets it "
                   "by \"scontrol show key %s\")",
                   err_text(ERR_ACCESS), p->conf.name, given && *given ? ", which this is not" : "",
                   p->conf.name);
}

int control_part_key(const struct control *c, const char *name, char key[CONTROL_PART_KEY_SIZE],
                     struct err *err)
{
    const struct part *p = cluster_find_part(c->cluster, name);
    if (!p)
        return control_set_error(err, ERR_NO_PARTITION, name);
    if (!p->conf.key)
        return err_set(err, -ERR_RANGE, "partition %s has no key: Key=YES gives it one", name);
    c->env->part_key(c->env->ctx, p->conf.name, p->conf.key_number, key);
    return 0;
}

/* --- several partitions ------------------------------------------------------------------------
 */

static bool is_listed(const struct part_list *list, const struct part *p)
{
    vec_foreach (list, at)
        if (*at == p)
            return true;
    return false;
}

static char *join_names(const struct part_list *list, struct arena *arena)
{
    struct str names = STR_INIT;
    vec_foreach (list, p)
        str_printf(&names, "%s%s", p == list->data ? "" : ",", (*p)->conf.name);
    char *joined = arena_strdup(arena, str_cstr(&names));
    str_done(&names);
    return joined;
}

/* The next name of a list into the arena; NULL: there is none. */
static const char *find_next_name(const char **at, struct arena *arena)
{
    *at += strspn(*at, ",");
    size_t len = strcspn(*at, ",");
    char *name = len ? arena_alloc(arena, len + 1) : NULL;
    if (name)
        memcpy(name, *at, len);
    *at += len;
    return name;
}

int access_find_parts(struct control *c, const struct caller *who, const struct caller *as,
                      Pb__JobSpec *spec, bool keys, struct part_list *out, struct arena *arena,
                      struct err *err)
{
    const char *names = spec->partition ? spec->partition : "";
    const char *name = *names ? find_next_name(&names, arena) : "";
    _cleanup_str_ struct str said = STR_INIT;
    struct err first = {0};
    bool other = false; /* they are not the named ones, each once */
    int rc = name ? 0 : control_set_error(err, ERR_NO_PARTITION, spec->partition);
    for (; name && rc == 0; name = find_next_name(&names, arena)) {
        struct part *p;
        struct err why = {0};
        rc = find_partition(c, name, spec->reservation, &p, err);
        if (rc != 0)
            continue;
        struct part *named = p;
        p = find_alternate(c, p);
        other = other || p != named || is_listed(out, p);
        if (is_listed(out, p))
            continue;
        bool takes = check_part(c, who, as, spec, p, &why) == 0 &&
                     (!keys || check_key(c, p, spec->partition_key, &why) == 0);
        if (takes)
            vec_push(out, p);
        else if (!first.code)
            first = why;
        if (!takes)
            str_printf(&said, "Without partition %s: %s\n", p->conf.name, why.text);
    }
    bool all = submit_enforce_limits(c->conf) == SUBMIT_ENFORCE_ALL;
    if (rc == 0 && first.code && (all || !out->len)) {
        *err = first;
        rc = first.code;
    }
    if (rc == 0 && (first.code || other))
        spec->partition = join_names(out, arena);
    if (rc == 0 && first.code) {
        str_printf(&c->said, "%s%.*s", c->said.len ? "\n" : "", (int)said.len - 1, said.data);
    }
    if (rc != 0)
        vec_done(out);
    return rc;
}

/* --- for another user --------------------------------------------------------------------------
 */

int access_identity(struct control *c, const struct caller *who, const Pb__JobSpec *spec,
                    struct caller *as, struct err *err)
{
    const struct env *env = c->env;
    *as = *who;
    as->uid = spec->has_uid ? spec->uid : who->uid;
    as->gid = spec->has_gid ? spec->gid : who->gid;
    if (as->uid == who->uid && as->gid == who->gid)
        return 0;
    if (!who->is_admin)
        return err_set(err, -ERR_ACCESS, "%s: only root may submit for others (--uid, --gid)",
                       err_text(ERR_ACCESS));
    if (as->uid != who->uid && !spec->has_gid)
        return err_set(err, -ERR_ACCESS, "%s: a job for uid %u needs its gid, too",
                       err_text(ERR_ACCESS), as->uid);
    if (as->uid != who->uid)
        as->is_admin = as->is_operator = false;
    as->user_name = env->user_name(env->ctx, as->uid);
    as->group_name = env->group_name(env->ctx, as->gid);
    if (!as->user_name)
        return err_set(err, -ERR_USER, "%s: uid %u", err_text(ERR_USER), as->uid);
    return 0;
}
