/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who may use a partition. */
#include <string.h>

#include "base/hostlist.h"
#include "control/internal.h"

static int no(struct err *err, int code, const char *detail)
{
    return err_set(err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
}

static bool in_groups(struct control *c, const struct caller *who, const char *list)
{
    char name[256];
    if (!list || str_case_eq(list, "ALL") || who->is_admin)
        return true;
    for (const char *at = list; *at;) {
        size_t len = strcspn(at, ",");
        if (len && len < sizeof name) {
            memcpy(name, at, len);
            name[len] = 0;
            if (c->env->user_in_group(c->env->ctx, who->uid, who->gid, name))
                return true;
        }
        at += len + (at[len] != 0);
    }
    return false;
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

static int check_access(struct control *c, const struct caller *who, const struct conf_part *p,
                        struct err *err)
{
    if ((p->root_only || p->key) && !who->is_admin)
        return err_set(err, -ERR_ACCESS, "%s: partition %s is for root only", err_text(ERR_ACCESS),
                       p->name);
    if (p->disable_root && who->uid == 0)
        return err_set(err, -ERR_ACCESS, "%s: partition %s takes no jobs of root (DisableRootJobs)",
                       err_text(ERR_ACCESS), p->name);
    if (!in_groups(c, who, p->allow_groups))
        return no(err, ERR_GROUPS, p->name);
    if (!from_host(p, who))
        return err_set(err, -ERR_ACCESS, "%s: partition %s takes no jobs from host %s (AllocNodes)",
                       err_text(ERR_ACCESS), p->name, who->host ? who->host : "unknown");
    return 0;
}

/* The partition asked for, or the default one, when the caller may use it. */
int submit_find_part(struct control *c, const struct caller *who, const Pb__JobSpec *spec,
                     struct part **out, struct err *err)
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
    int rc = check_access(c, who, conf, err);
    if (rc != 0)
        return rc;
    *out = p;
    return 0;
}
