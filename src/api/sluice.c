/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api.h"
#include "base/mem.h"

#define REPEATS 15

#define SAME(name) ((int)SLUICE_##name == (int)ERR_##name)
/* The codes of the API must be equal to those that controllers return. */
_Static_assert(SAME(ACCESS) && SAME(CONNECT) && SAME(TIMEOUT) && SAME(RANGE) && SAME(CONFIG) &&
                   SAME(NO_CHANGE) && SAME(NO_PARTITION) && SAME(NO_JOB) && SAME(NO_NODE) &&
                   SAME(JOB_DONE),
               "numbers of err.def");

int api_fail(struct sluice_error *e, int rc, const struct err *err)
{
    int code = rc < 0 ? -rc : rc;

    if (e) {
        e->code = code;
        snprintf(e->text, sizeof(e->text), "%s", code ? err->text : "");
    }
    return code;
}

API struct sluice *sluice_open(const char *path, struct sluice_error *e)
{
    struct conf_report report = {0};
    struct conf *conf = NULL;
    struct err err = {0};
    int rc = path ? conf_load(path, CONF_CLIENT, NULL, &conf, &report, &err)
                  : conf_load_own(&conf, &err);

    conf_report_done(&report);
    api_fail(e, rc, &err);
    if (rc < 0)
        return NULL;
    struct sluice *s = mem_new(struct sluice);
    s->conf = conf;
    s->client = rpc_client_new(conf);
    return s;
}

API void sluice_close(struct sluice *s)
{
    if (!s)
        return;
    rpc_client_free(s->client);
    conf_free(s->conf);
    free(s);
}

static bool is_lost(int rc)
{
    return rc == -ERR_CLOSED || rc == -ERR_TIMEOUT || rc == -ERR_REPLAY;
}

int api_call(struct sluice *s, enum rpc_number rpc, const ProtobufCMessage *request,
             struct arena *arena, void *reply, struct err *err)
{
    return api_call_for(s, rpc, request, 0, arena, reply, err);
}

int api_call_for(struct sluice *s, enum rpc_number rpc, const ProtobufCMessage *request,
                 int64_t timeout_ms, struct arena *arena, void *reply, struct err *err)
{
    int64_t began_ms = loop_mono_ms();
    int rc = rpc_call(s->client, rpc, request, timeout_ms, arena, reply, err);
    bool again = is_lost(rc);

    for (int i = 0; again && i < REPEATS; i++) {
        /* The controller was reachable and has waited with us. */
        if (loop_mono_ms() - began_ms > REPEATS * 1000)
            i = 0;
        sleep(1);
        began_ms = loop_mono_ms();
        rc = rpc_call(s->client, rpc, request, timeout_ms, arena, reply, err);
        again = is_lost(rc) || rc == -ERR_CONNECT;
    }
    return rc;
}

void api_stamp_take(struct api_stamp *s, bool has, int64_t value)
{
    if (!has || s->found)
        return;
    s->found = true;
    s->value = value;
}
