/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/cred.h"

#include <string.h>

#include "base/timefmt.h"

static int check_life(const struct cred_checker *c, const Pb__Cred *cred, struct err *err)
{
    char now[TIME_TEXT_MAX], then[TIME_TEXT_MAX];

    time_format_date(c->now_ms / 1000, "0", now);
    if (c->now_ms > cred->expires_at_ms)
        return err_set(err, -ERR_CREDENTIAL_EXPIRED,
                       "%s: it was good until %s, and it is %s on node %s",
                       err_text(ERR_CREDENTIAL_EXPIRED),
                       time_format_date(cred->expires_at_ms / 1000, "0", then), now, c->node);
    if (cred->issued_at_ms > c->now_ms + AUTH_SKEW_MS)
        return err_set(err, -ERR_SKEW,
                       "%s: issued at %s by the controller's clock, but it is %s on node %s: set "
                       "the clocks",
                       err_text(ERR_CREDENTIAL),
                       time_format_date(cred->issued_at_ms / 1000, "0", then), now, c->node);
    return 0;
}

static uint32_t get_node_part(const Pb__StepNode *n)
{
    return n->has_part ? n->part : 0;
}

static int find_node(const struct cred_checker *c, const Pb__Cred *cred, int64_t part,
                     uint32_t *index, struct err *err)
{
    for (size_t i = 0; i < cred->n_nodes; i++)
        if (!strcmp(cred->nodes[i]->node, c->node) &&
            (part == CRED_PART_ANY || get_node_part(cred->nodes[i]) == part)) {
            *index = (uint32_t)i;
            return 0;
        }
    if (part != CRED_PART_ANY && part)
        return err_set(err, -ERR_CREDENTIAL, "%s: part %lld of it does not cover node %s",
                       err_text(ERR_CREDENTIAL), (long long)part, c->node);
    return err_set(err, -ERR_CREDENTIAL, "%s: it does not cover node %s", err_text(ERR_CREDENTIAL),
                   c->node);
}

/* Replaces the fields of the credential by those of the part; 'nodes' and 'parts' stay. */
static int select_part(Pb__Cred *cred, uint32_t part, struct err *err)
{
    if (!cred->n_parts)
        return 0;
    if (part >= cred->n_parts)
        return err_set(err, -ERR_CREDENTIAL, "%s: it names part %u of %zu",
                       err_text(ERR_CREDENTIAL), part, cred->n_parts);
    const Pb__CredPart *p = cred->parts[part], *first = p;
    for (uint32_t i = part; i-- > 0;) /* the first part that is in a job identifies the job */
        if (cred->parts[i]->job_id == p->job_id)
            first = cred->parts[i];
    cred->job_id = p->job_id;
    cred->restarts = p->restarts;
    cred->job_nodes = first->job_nodes;
    cred->n_job_nodes = first->n_job_nodes;
    cred->facts = first->facts;
    cred->has_exact = p->has_exact;
    cred->exact = p->exact;
    cred->resv_ports = p->resv_ports;
    cred->n_resv_ports = p->n_resv_ports;
    cred->has_part = true;
    cred->part = part;
    return 0;
}

static int check_incarnation(const struct cred_checker *c, const Pb__Cred *cred,
                             const Pb__StepNode *here, struct err *err)
{
    if (!here->has_incarnation || here->incarnation == str_hash(c->incarnation))
        return 0;
    return err_set(err, -ERR_CREDENTIAL_REVOKED,
                   "%s: node %s was booted since it was given to job %u",
                   err_text(ERR_CREDENTIAL_REVOKED), c->node, cred->job_id);
}

int cred_check(const struct cred_checker *c, const void *data, size_t len, const void *signature,
               size_t signature_len, int64_t part, struct arena *arena, Pb__Cred **out,
               uint32_t *node_index, struct err *err)
{
    Pb__Cred *cred;
    uint32_t index = 0;
    int rc;

    if (!c->public_key)
        return err_set(
            err, -ERR_CREDENTIAL,
            "node %s has not registered with a controller yet and cannot check credentials",
            c->node);
    rc = auth_verify(c->public_key, data, len, signature, signature_len, err);
    if (rc) /* every value but 0 is an error */
        return rc < 0 ? rc : err_set(err, -ERR_CREDENTIAL, "%s", err_text(ERR_CREDENTIAL));
    cred = arena_unpack(arena, &pb__cred__descriptor, data, len);
    if (!cred)
        return err_set(err, -ERR_CREDENTIAL, "%s: it does not decode", err_text(ERR_CREDENTIAL));
    if (strcmp(cred->cluster, c->cluster) != 0)
        return err_set(err, -ERR_CREDENTIAL, "%s: it is of cluster %.60s, this node of %s",
                       err_text(ERR_CREDENTIAL), cred->cluster, c->cluster);
    rc = check_life(c, cred, err);
    if (!rc)
        rc = find_node(c, cred, part, &index, err);
    if (!rc)
        rc = select_part(cred, get_node_part(cred->nodes[index]), err);
    if (!rc)
        rc = check_incarnation(c, cred, cred->nodes[index], err);
    if (rc)
        return rc;
    *out = cred;
    *node_index = index;
    return 0;
}
