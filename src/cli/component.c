/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/component.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"
#include "rpc/client.h"
#include "show/job_ids.h"

struct search {
    uint32_t leader_id;
    const char *name;
    struct str known; /* "0 (main), 1" */
    bool found, is_job, is_set;
    uint32_t offset;
};

static int on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct search *s = ctx;
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++) {
        const Pb__JobLive *live = part->jobs[i]->live;
        const Pb__JobSpec *spec = part->jobs[i]->spec;
        s->is_job = true;
        if (!live || !live->has_het_job_id || live->het_job_id != s->leader_id)
            continue;
        s->is_set = true;
        str_printf(&s->known, "%s%u", s->known.len ? ", " : "", live->het_job_offset);
        if (!spec || !spec->component)
            continue;
        str_printf(&s->known, " (%s)", spec->component);
        if (str_case_eq(spec->component, s->name)) {
            s->found = true;
            s->offset = live->het_job_offset;
        }
    }
    return 0;
}

static int ask(struct search *s, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct conf *conf = NULL;
    int rc = conf_load_own(&conf, err);
    if (rc < 0)
        return rc;
    struct rpc_client *client = rpc_client_new(conf);
    filter.job_id = &s->leader_id;
    filter.n_job_id = 1;
    filter.has_all_states = filter.all_states = true;
    rc = rpc_call_stream(client, RPC_JOB_LIST, &filter.base, on_jobs, s, err);
    rpc_client_free(client);
    conf_free(conf);
    return rc;
}

static int judge(const struct search *s, struct err *err)
{
    if (s->found)
        return 0;
    if (!s->is_job)
        return err_set(err, -ERR_NO_JOB, "%s: job %u", err_text(ERR_NO_JOB), s->leader_id);
    if (!s->is_set)
        return err_set(err, -ERR_NO_JOB, "%s: job %u is not the leader of a heterogeneous job",
                       err_text(ERR_NO_JOB), s->leader_id);
    return err_set(err, -ERR_HET_GROUP, "job %u has no component named '%s': its components are %s",
                   s->leader_id, s->name, str_cstr(&s->known));
}

int component_find(uint32_t leader_id, const char *name, uint32_t *offset, struct err *err)
{
    struct search s = {.leader_id = leader_id, .name = name, .known = STR_INIT};
    int rc = ask(&s, err);
    if (rc >= 0)
        rc = judge(&s, err);
    if (rc == 0)
        *offset = s.offset;
    str_done(&s.known);
    return rc;
}

int component_parse_id(const char *text, Pb__StepId *id, struct err *err)
{
    const char *plus = strchr(text, '+');
    if (!plus || !isalpha((unsigned char)plus[1]))
        return job_ids_parse(text, id, err);
    size_t len = strcspn(plus + 1, ".");
    _cleanup_free_ char *leader = mem_strndup(text, (size_t)(plus - text));
    _cleanup_free_ char *name = mem_strndup(plus + 1, len);
    _cleanup_free_ char *numbered = NULL;
    long long leader_id;
    uint32_t offset;
    if (str_parse_i64(leader, 1, INT32_MAX, &leader_id) != 0)
        return err_set(err, -ERR_PARSE, "Invalid job id %s", text);
    struct err why = {0};
    int rc = component_find((uint32_t)leader_id, name, &offset, &why);
    if (rc != 0 && err)
        *err = why;
    else if (rc != 0)
        cmd_error("%s", why.text);
    if (rc != 0)
        return rc;
    numbered = mem_printf("%s+%u%s", leader, offset, plus + 1 + len);
    return job_ids_parse(numbered, id, err);
}
