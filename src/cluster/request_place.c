/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request says of the kind of its nodes and of where they lie. */
#include "cluster/cluster.h"

/* What an option asks of features; NULL: nothing. */
static int read_features(const char *text, const char *option, char **copy, struct constraint **con,
                         struct err *err)
{
    if (!text || !*text)
        return 0;
    int rc = constraint_parse(text, option, con, err);
    if (rc == 0)
        *copy = mem_strdup(text);
    return rc;
}

static int read_host(struct request *r, const char *text, struct err *err)
{
    struct constraint *host = NULL;
    r->chooses_host = text && *text;
    if (!r->chooses_host)
        return 0;
    int rc = constraint_parse(text, "--batch=", &host, err);
    if (rc == 0)
        rc = constraint_check_host(host, r->constraint, err);
    constraint_free(host);
    return rc;
}

int request_read_place(struct request *r, const Pb__JobSpec *s, struct err *err)
{
    int rc = read_features(s->features, "", &r->features, &r->constraint, err);
    if (rc == 0)
        rc = read_features(s->prefer, "--prefer=", &r->prefer, &r->preferred, err);
    if (rc == 0)
        rc = read_host(r, s->batch_features, err);
    uint32_t least = constraint_least_nodes(r->constraint);
    if (rc == 0 && s->has_max_nodes && s->max_nodes && least > s->max_nodes)
        rc = err_set(err, -ERR_FEATURE, "%s: %s asks for %u nodes, the job has %u at most",
                     err_text(ERR_FEATURE), r->features, least, s->max_nodes);
    r->switches = s->has_req_switches ? s->req_switches : 0;
    r->switches_sec = s->has_wait_switch_sec ? s->wait_switch_sec : INT64_MAX;
    r->spread = s->has_spread && s->spread;
    r->unattended = s->has_unattended && s->unattended;
    r->use_min_nodes = s->has_use_min_nodes && s->use_min_nodes;
    return rc;
}
