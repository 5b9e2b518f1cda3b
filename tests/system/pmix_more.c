/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that asks its PMIx server for what MPI libraries of today do beside MPI_Init, one thing
 * for each operand: group, event, flood, publish, query, control, signal, none.
 */
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me, all;
static uint32_t size;
static volatile sig_atomic_t got;
static volatile int heard;

static void must(pmix_status_t rc, const char *what)
{
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED)
        return;
    fprintf(stderr, "%u: %s: %s\n", me.rank, what, PMIx_Error_string(rc));
    exit(1);
}

static void fence(void)
{
    must(PMIx_Fence(&all, 1, NULL, 0), "fence");
}

/* All, then those with even numbers: what they are told are numbers that no other group has. */
static void group(void)
{
    pmix_proc_t *even = calloc(size, sizeof(*even));
    pmix_info_t wish, *results = NULL;
    size_t count = 0, n = 0, ids[2] = {0};
    bool yes = true;

    PMIX_INFO_LOAD(&wish, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    for (int turn = 0; turn < 2; turn++) {
        n = 0;
        for (uint32_t i = 0; i < size; i += turn + 1, n++)
            PMIX_LOAD_PROCID(&even[n], me.nspace, i);
        if (turn && me.rank % 2)
            continue;
        must(PMIx_Group_construct(turn ? "even" : "all", even, n, &wish, 1, &results, &count),
             "construct");
        for (size_t i = 0; i < count; i++)
            if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID))
                ids[turn] = results[i].value.data.size;
        must(PMIx_Group_destruct(turn ? "even" : "all", NULL, 0), "destruct");
    }
    printf("%u: ids %zu %zu\n", me.rank, ids[0], ids[1]);
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t infos, pmix_info_t *results, size_t count,
                     pmix_event_notification_cbfunc_fn_t done, void *ctx)
{
    const char *text = "";

    (void)id, (void)results, (void)count;
    for (size_t i = 0; i < infos; i++)
        if (PMIX_CHECK_KEY(&info[i], "of.mine"))
            text = info[i].value.data.string;
    printf("%u: event %d of %u: %s\n", me.rank, status, source->rank, text);
    heard = 1;
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, ctx);
}

static void event(void)
{
    pmix_status_t code = -3999;
    pmix_info_t info[2];
    bool yes = true;

    must(PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) < 0 ? PMIX_ERROR
                                                                                  : PMIX_SUCCESS,
         "register");
    fence();
    PMIX_INFO_LOAD(&info[0], "of.mine", "hello", PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    if (me.rank == 0)
        must(PMIx_Notify_event(code, &me, PMIX_RANGE_NAMESPACE, info, 2, NULL, NULL), "notify");
    while (!heard && me.rank)
        usleep(1000);
    fence();
}

/* 80 MiB from the first task to every node: more than is kept for a server that reads nothing. */
static void flood(void)
{
    size_t len = 4u << 20;
    char *text = malloc(len + 1);
    pmix_info_t info;

    memset(text, 'x', len);
    text[len] = '\0';
    PMIX_INFO_LOAD(&info, "of.mine", text, PMIX_STRING);
    fence();
    printf("%u of %d\n", me.rank, (int)getppid());
    getchar();
    for (int i = 0; i < 20 && me.rank == 0; i++)
        PMIx_Notify_event(-3999, &me, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL);
    for (;;)
        pause();
}

static void query(void)
{
    static const char *const keys[] = {PMIX_QUERY_NAMESPACES, PMIX_QUERY_SPAWN_SUPPORT,
                                       PMIX_JOB_SIZE, "pmix.nobody.knows"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char *wanted[] = {(char *)keys[i], NULL};
        pmix_query_t q = {wanted, NULL, 0};
        pmix_info_t *results = NULL;
        size_t count = 0;
        pmix_status_t rc = PMIx_Query_info(&q, 1, &results, &count);

        if (rc != PMIX_SUCCESS || !count)
            printf("%s: %s\n", keys[i], PMIx_Error_string(rc));
        else if (results[0].value.type == PMIX_STRING)
            printf("%s=%s\n", keys[i], results[0].value.data.string);
        else
            printf("%s=%u\n", keys[i], results[0].value.data.uint32);
    }
}

static void on_signal(int number)
{
    got = number;
}

static pmix_status_t control(const char *key, void *value, pmix_data_type_t type)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, key, value, type);
    return PMIx_Job_control(&all, 1, &info, 1, NULL, NULL);
}

/* What no step has is refused, and nobody waits for it. */
static void none(void)
{
    pmix_info_t info, *results = NULL;
    size_t count = 0;
    bool yes = true;

    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_PAUSE, &yes, PMIX_BOOL);
    printf("pause: %s\n", PMIx_Error_string(PMIx_Job_control(&all, 1, &info, 1, NULL, NULL)));
    printf("allocation: %s\n",
           PMIx_Error_string(PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &count)));
}

/* A value of 16 MiB, and a bit: more than goes to srun. */
static void publish(void)
{
    size_t len = (size_t)17 << 20;
    pmix_byte_object_t bytes = {calloc(1, len), len};
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, "big", &bytes, PMIX_BYTE_OBJECT);
    printf("%u: %s\n", me.rank, PMIx_Error_string(PMIx_Publish(&info, 1)));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "none";
    int number = SIGUSR1;
    pmix_value_t *value;
    bool yes = true;

    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGUSR1, on_signal);
    must(PMIx_Init(&me, NULL, 0), "init");
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    must(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "size");
    size = value->data.uint32;
    if (!strcmp(what, "group"))
        group();
    else if (!strcmp(what, "event"))
        event();
    else if (!strcmp(what, "flood"))
        flood();
    else if (!strcmp(what, "publish"))
        publish();
    else if (!strcmp(what, "query"))
        query();
    else if (!strcmp(what, "none"))
        none();
    else {
        fence();
        if (me.rank == 0 && what[0] == 's')
            must(control(PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT), "signal");
        else if (me.rank == 0)
            must(control(PMIX_JOB_CTRL_KILL, &yes, PMIX_BOOL), "kill");
        while (!got)
            usleep(1000);
        printf("%u: signal %s\n", me.rank, got == SIGUSR1 ? "USR1" : "?");
        fence();
    }
    must(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}
