/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTTP on the controller's port: probes, and metrics for monitoring systems. Requests are
 * unauthenticated and unlimited, so the text of an endpoint is cached: making texts takes at most
 * a twentieth of the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/query/metrics.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/diag.h"
#include "slurmctld/core/names.h"
#include "slurmctld/http.h"

#define FRESH_MS 1000   /* minimum time that a text is cached */
#define FRESH_FACTOR 20 /* a text is cached for this multiple of the time that it took to make */
#define OPENMETRICS "application/openmetrics-text; version=1.0.0"

static const struct {
    const char *path;
    enum control_metrics what;
} endpoints[] = {
    {"/metrics/jobs", METRICS_JOBS},
    {"/metrics/jobs-users-accts", METRICS_USERS},
    {"/metrics/licenses", METRICS_LICENSES},
    {"/metrics/nodes", METRICS_NODES},
    {"/metrics/partitions", METRICS_PARTITIONS},
    {"/metrics/scheduler", METRICS_SCHEDULER},
};
#define ENDPOINTS (sizeof(endpoints) / sizeof(endpoints[0]))

struct http_metrics {
    struct {
        struct str text;
        int64_t until_ms;
    } kept[ENDPOINTS];
};

void http_done(struct ctld *c)
{
    for (size_t i = 0; c->http_metrics && i < ENDPOINTS; i++)
        str_done(&c->http_metrics->kept[i].text);
    free(c->http_metrics);
}

static void answer_refusal(struct rpc_http_answer *a, int status, const char *why)
{
    a->status = status;
    str_printf(&a->body, "%s\n", why);
}

/* User names are compared exactly, unlike option words. */
static bool list_has(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == len && memcmp(at, name, n) == 0)
            return true;
        at += n;
    }
    return false;
}

/* Whether the list of names and uids has the user; -1: the name is being looked up. */
static int is_user_listed(struct ctld *c, const char *list, uint32_t uid)
{
    char number[24];
    const char *name;

    snprintf(number, sizeof(number), "%u", uid);
    if (list_has(list, number))
        return 1;
    if (!names_has_user(c->names, uid))
        return -1;
    name = names_user(c->names, uid);
    return name && list_has(list, name);
}

/* Whether the caller may read metrics; otherwise the answer explains why not. */
static bool may_read(struct ctld *c, const struct rpc_http *request, struct rpc_http_answer *a)
{
    const struct conf *conf = ctld_conf(c);
    const char *users = conf->metrics_auth_users;
    bool open = !conf_hides_anything(conf) ||
                conf_list_has(conf->metrics_parameters, "ignore_private_data");
    int listed = 0;

    if (request->is_admin || (!users && open))
        return true;
    if (!request->who) {
        answer_refusal(a, 401,
                       "MetricsAuthUsers or PrivateData is set: use the local socket of slurmctld, "
                       "as 'curl --unix-socket'");
        return false;
    }
    if (users)
        listed = is_user_listed(c, users, (uint32_t)request->who->uid);
    if (listed < 0)
        answer_refusal(a, 503, "the name of this user is being looked up: try again");
    else if (!listed)
        answer_refusal(a, 403, "this user may not read metrics");
    return listed > 0;
}

/* In standby: redirects to the first controller. */
static void redirect_to_primary(const struct ctld *c, const struct rpc_http *request,
                                struct rpc_http_answer *a)
{
    const struct conf *conf = ctld_conf(c);
    const struct conf_host *first = &conf->controllers.data[0], *me = ctld_me(c);

    if (me && me->rank == first->rank) {
        answer_refusal(a, 503, "this controller is in standby");
        return;
    }
    a->status = 303;
    a->location = mem_printf("http://%s:%u%s%s%s", first->own_addr, conf->slurmctld_port,
                             request->path, *request->query ? "?" : "", request->query);
}

static const struct str *make_text(struct ctld *c, size_t at)
{
    int64_t now = loop_mono_ms(), begun_usec = diag_clock(NULL), took_ms;

    if (!c->http_metrics)
        c->http_metrics = mem_new(struct http_metrics);
    struct str *text = &c->http_metrics->kept[at].text;
    if (text->len && now < c->http_metrics->kept[at].until_ms)
        return text;
    str_clear(text);
    control_metrics(c->control, endpoints[at].what, text);
    took_ms = (diag_clock(NULL) - begun_usec) / 1000;
    c->http_metrics->kept[at].until_ms =
        now + (took_ms * FRESH_FACTOR > FRESH_MS ? took_ms * FRESH_FACTOR : FRESH_MS);
    return text;
}

static void list_endpoints(struct str *out)
{
    str_puts(out, "/metrics\n");
    for (size_t i = 0; i < ENDPOINTS; i++)
        str_printf(out, "%s\n", endpoints[i].path);
}

static void answer_metrics(struct ctld *c, const struct rpc_http *request,
                           struct rpc_http_answer *a)
{
    if (!c->control) {
        redirect_to_primary(c, request, a);
        return;
    }
    if (!may_read(c, request, a))
        return;
    if (str_eq(request->path, "/metrics")) {
        a->status = 200;
        list_endpoints(&a->body);
    }
    for (size_t i = 0; i < ENDPOINTS; i++) {
        if (!str_eq(request->path, endpoints[i].path))
            continue;
        const struct str *text = make_text(c, i);
        a->status = 200;
        a->type = OPENMETRICS;
        str_append(&a->body, text->data, text->len);
    }
}

void http_answer(void *ctx, const struct rpc_http *request, struct rpc_http_answer *a)
{
    struct ctld *c = ctx;
    bool metrics = str_eq(ctld_conf(c)->metrics_type, "metrics/openmetrics");
    _cleanup_str_ struct str further = STR_INIT;
    struct rpc_http_probes probes = {
        .daemon = "slurmctld",
        .is_ready = c->control && !c->stopping,
        .check = "lead",
        .why = c->stopping ? "it is stopping" : "it is in standby",
    };

    if (metrics)
        list_endpoints(&further);
    probes.endpoints = str_cstr(&further);
    if (rpc_http_answer_probe(request, &probes, a))
        return;
    if (metrics && (str_eq(request->path, "/metrics") || str_starts(request->path, "/metrics/")))
        answer_metrics(c, request, a);
}
