/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may use a partition, and who for whom. */
#include <string.h>

#include "base/hostlist.h"
#include "control/internal.h"

static int no(struct err *err, int code, const char *detail)
{
    return err_set(err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
}

#define GROUP_MAX 256

/* The next name of a list, from *at on; false: there is none. */
static bool next_group(const char **at, char name[GROUP_MAX])
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

static bool in_groups(struct control *c, const struct caller *who, const char *list)
{
    char name[GROUP_MAX];
    if (!list || str_case_eq(list, "ALL") || who->is_admin)
        return true;
    while (next_group(&list, name))
        if (c->env->user_in_group(c->env->ctx, who->uid, who->gid, name))
            return true;
    return false;
}

void control_allowed_groups(const struct control *c, void (*fn)(void *ctx, const char *group),
                            void *ctx)
{
    char name[GROUP_MAX];
    vec_foreach (&c->cluster->parts, at) {
        const char *list = (*at)->conf.allow_groups;
        if (!list || str_case_eq(list, "ALL"))
            continue;
        while (next_group(&list, name))
            fn(ctx, name);
    }
}

/* AllocNodes: the hosts it may be used from. The host is that of the caller's token. */
static bool from_host(const struct conf_part *p, const struct caller *who)
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
    if (!in_groups(c, as, p->allow_groups))
        return no(err, ERR_GROUPS, p->name);
    if (!from_host(p, who))
        return err_set(err, -ERR_ACCESS, "%s: partition %s takes no jobs from host %s (AllocNodes)",
                       err_text(ERR_ACCESS), p->name, who->host ? who->host : "unknown");
    return 0;
}

int access_find_part(struct control *c, const struct caller *who, const struct caller *as,
                     const Pb__JobSpec *spec, struct part **out, struct err *err)
{
    struct part *p = NULL;
    if (spec->partition && *spec->partition) {
        char first[256] = {0};
        size_t len = strcspn(spec->partition, ",");
        memcpy(first, spec->partition, len < sizeof first ? len : sizeof first - 1);
        p = cluster_find_part(c->cluster, first);
        if (!p)
            return no(err, ERR_NO_PARTITION, first);
    } else {
        p = cluster_default_part(c->cluster);
        if (!p)
            return no(err, ERR_NO_DEFAULT_PARTITION, NULL);
    }
    const struct conf_part *conf = &p->conf;
    if (conf->state == CONF_PART_DRAIN || conf->state == CONF_PART_INACTIVE)
        return no(err, ERR_PARTITION_DOWN, conf->name);
    int rc = check_access(c, who, as ? as : who, conf, err);
    if (rc != 0)
        return rc;
    *out = p;
    return 0;
}

/* --- keys of partitions ------------------------------------------------------------------------
 */

/* Takes the same time wherever they differ. */
static bool same_key(const char *given, const char *key)
{
    unsigned differ = 0;
    if (!given || strlen(given) != CONTROL_PART_KEY_SIZE - 1)
        return false;
    for (size_t i = 0; i < CONTROL_PART_KEY_SIZE - 1; i++)
        differ |= (unsigned char)given[i] ^ (unsigned char)key[i];
    return differ == 0;
}

int access_check_key(const struct control *c, const struct part *p, const char *given,
                     struct err *err)
{
    char key[CONTROL_PART_KEY_SIZE];
    if (!p->conf.key)
        return 0;
    c->env->part_key(c->env->ctx, p->conf.name, p->conf.key_number, key);
    bool same = same_key(given, key);
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
        return no(err, ERR_NO_PARTITION, name);
    if (!p->conf.key)
        return err_set(err, -ERR_RANGE, "partition %s has no key: Key=YES gives it one", name);
    c->env->part_key(c->env->ctx, p->conf.name, p->conf.key_number, key);
    return 0;
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
