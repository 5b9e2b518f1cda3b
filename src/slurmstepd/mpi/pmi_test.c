/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "slurmstepd/mpi/pmi.h"

struct bench {
    struct pmi *pmi;
    struct str said[2];
    struct str fences; /* "round:key=value," */
    struct str names;  /* "id:op:name=value," */
    struct str spawns; /* "id:3*a,b[host=n1];2*c;(key=value)" */
    unsigned fence_count, begun;
    int abort_code;
    char abort_start[17];
};

static void on_send(void *ctx, uint32_t local, const char *line, size_t len)
{
    struct bench *b = ctx;

    str_append(&b->said[local], line, len);
}

static void on_fence(void *ctx, uint32_t round, const struct pmi_pair *put, size_t count)
{
    struct bench *b = ctx;

    b->fence_count++;
    str_printf(&b->fences, "%u:", round);
    for (size_t i = 0; i < count; i++)
        str_printf(&b->fences, "%s=%s,", put[i].key, put[i].value);
}

static void on_abort(void *ctx, uint32_t local, int exit_code, const char *text)
{
    struct bench *b = ctx;

    b->abort_code = exit_code;
    snprintf(b->abort_start, sizeof(b->abort_start), "%s", text ? text : "");
}

static void on_name(void *ctx, uint32_t local, uint32_t id, enum pmi_name_op op, const char *name,
                    const char *value)
{
    struct bench *b = ctx;

    str_printf(&b->names, "%u:%u:%s=%s,", id, op, name, value ? value : "");
}

static void on_spawn(void *ctx, uint32_t local, const Pb__Spawn *m)
{
    struct bench *b = ctx;

    str_printf(&b->spawns, "%u:", m->id);
    for (size_t i = 0; i < m->n_command; i++) {
        const Pb__SpawnCommand *c = m->command[i];

        str_printf(&b->spawns, "%u*", c->tasks);
        for (size_t k = 0; k < c->n_argv; k++)
            str_printf(&b->spawns, "%s%s", k ? "," : "", c->argv[k]);
        for (size_t k = 0; k < c->n_info; k++)
            str_printf(&b->spawns, "[%s=%s]", c->info[k]->key, c->info[k]->value);
        str_putc(&b->spawns, ';');
    }
    for (size_t i = 0; i < m->n_preput; i++)
        str_printf(&b->spawns, "(%s=%s)", m->preput[i]->key, m->preput[i]->value);
}

static void on_begun(void *ctx)
{
    ((struct bench *)ctx)->begun++;
}

static void bench_init(struct bench *b)
{
    static const uint32_t ranks[] = {2, 3};
    struct pmi_options options = {.kvs_name = "kvs_1_0",
                                  .size = 4,
                                  .local_count = 2,
                                  .rank = ranks,
                                  .mapping = "(vector,(0,2,2))",
                                  .universe_size = 4};
    struct pmi_events events = {on_send, on_fence, on_abort, on_name, on_spawn, on_begun, b};

    memset(b, 0, sizeof(*b));
    b->pmi = pmi_new(&options, &events);
}

static void bench_done(struct bench *b)
{
    pmi_free(b->pmi);
    str_done(&b->said[0]);
    str_done(&b->said[1]);
    str_done(&b->fences);
    str_done(&b->names);
    str_done(&b->spawns);
}

static int feed_text(struct bench *b, uint32_t local, const char *text)
{
    return pmi_feed(b->pmi, local, text, strlen(text), NULL);
}

static void init_both(struct bench *b)
{
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(feed_text(b, i, "cmd=init pmi_version=1 pmi_subversion=1\n"), 0);
        assert_string_equal(str_cstr(&b->said[i]),
                            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
        str_clear(&b->said[i]);
    }
}

static void test_invalid_pmi1_lines_are_refused(void **state)
{
    static const char *const refused[] = {
        "x\n",
        " \n",
        "get\n",
        "=\n",
        "key=a cmd=get\n",
        "cmd=\n",
        "cmd=nonsense\n",
        "cmd=get_maxes\n",
        "cmd=put key=a value=b\n",
        "cmd=barrier_in\n",
        "cmd=init a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9 j=0 k=1 l=2 m=3 n=4 o=5 p=6\n",
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct bench b;

        bench_init(&b);
        assert_int_equal(feed_text(&b, 0, refused[i]), -ERR_PROTOCOL);
        assert_int_equal(b.fence_count, 0);
        bench_done(&b);
    }
}

static void test_line_length_is_limited(void **state)
{
    struct bench b;
    char line[PMI_LINE_MAX + 2];

    bench_init(&b);
    memset(line, 'x', sizeof(line));
    assert_int_equal(pmi_feed(b.pmi, 0, line, PMI_LINE_MAX, NULL), 0);
    assert_int_equal(pmi_feed(b.pmi, 0, line, 1, NULL), -ERR_LIMIT);
    assert_int_equal(pmi_feed(b.pmi, 1, "cmd=in\0it\n", 10, NULL), -ERR_PROTOCOL);
    bench_done(&b);
}

static void put_sizes(struct bench *b, size_t key_len, size_t value_len, const char *answer)
{
    _cleanup_str_ struct str s = STR_INIT;

    str_puts(&s, "cmd=put kvsname=kvs_1_0 key=");
    for (size_t i = 0; i < key_len; i++)
        str_putc(&s, 'k');
    str_puts(&s, " value=");
    for (size_t i = 0; i < value_len; i++)
        str_putc(&s, 'v');
    str_putc(&s, '\n');
    assert_int_equal(feed_text(b, 0, str_cstr(&s)), 0);
    assert_string_equal(str_cstr(&b->said[0]), answer);
    str_clear(&b->said[0]);
}

static void test_length_of_keys_and_values_is_limited(void **state)
{
    static const char good[] = "cmd=put_result rc=0 msg=success\n";
    static const char bad[] = "cmd=put_result rc=-1 msg=invalid_key_or_value\n";
    struct bench b;

    bench_init(&b);
    init_both(&b);
    put_sizes(&b, 0, 1, bad);
    put_sizes(&b, PMI_KEY_MAX - 2, 0, good);
    put_sizes(&b, PMI_KEY_MAX - 1, PMI_VALUE_MAX - 1, good);
    put_sizes(&b, PMI_KEY_MAX, 1, bad);
    put_sizes(&b, 1, PMI_VALUE_MAX, bad);
    bench_done(&b);
}

static void test_pmi1_commands_are_answered(void **state)
{
    static const struct {
        const char *line, *answer;
    } vectors[] = {
        {"cmd=get_maxes\n", "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n"},
        {"cmd=get_appnum\r\n", "cmd=appnum rc=0 appnum=0\n"},
        {"\ncmd=get_my_kvsname\n", "cmd=my_kvsname rc=0 kvsname=kvs_1_0\n"},
        {"cmd=get_universe_size\n", "cmd=universe_size rc=0 size=4\n"},
        {"cmd=get kvsname=kvs_1_0 key=none\n",
         "cmd=get_result rc=-1 msg=key_not_found value=unknown\n"},
        {"cmd=get\n", "cmd=get_result rc=-1 msg=key_not_found value=unknown\n"},
        {"cmd=get kvsname=kvs_1_0 key=PMI_process_mapping\n",
         "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n"},
        {"cmd=put kvsname=kvs_1_0 key=a value=b c=d\n", "cmd=put_result rc=0 msg=success\n"},
        {"cmd=get kvsname=kvs_1_0 key=a\n", "cmd=get_result rc=0 msg=success value=b c=d\n"},
        {"cmd=lookup_name\n", "cmd=lookup_result rc=-1 info=invalid_service_or_port\n"},
        {"cmd=publish_name service=x\n", "cmd=publish_result rc=-1 info=invalid_service_or_port\n"},
        {"mcmd=spawn\nnprocs=1\ncmd=put\nendcmd\n",
         "cmd=spawn_result rc=-1 status=spawn_refused\n"},
        {"cmd=finalize\n", "cmd=finalize_ack rc=0\n"},
    };
    struct bench b;

    bench_init(&b);
    assert_int_equal(feed_text(&b, 0, "cmd=init pmi_version=3 pmi_subversion=0\n"), 0);
    assert_string_equal(str_cstr(&b.said[0]),
                        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
    str_clear(&b.said[0]);
    init_both(&b);
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        for (const char *at = vectors[i].line; *at; at++) /* byte by byte */
            assert_int_equal(pmi_feed(b.pmi, 0, at, 1, NULL), 0);
        assert_string_equal(str_cstr(&b.said[0]), vectors[i].answer);
        str_clear(&b.said[0]);
    }
    bench_done(&b);
}

static void test_barrier_merges_the_pairs_of_all_tasks(void **state)
{
    struct bench b;
    struct pmi_pair pairs[] = {{"a", "1"}, {"far", "away"}};

    bench_init(&b);
    init_both(&b);
    assert_int_equal(feed_text(&b, 0, "cmd=put key=a value=1\ncmd=barrier_in\n"), 0);
    assert_int_equal(b.fence_count, 0);
    assert_int_equal(feed_text(&b, 0, "cmd=barrier_in\n"), -ERR_PROTOCOL);
    assert_int_equal(pmi_fence_done(b.pmi, 0, pairs, 2, NULL), 0); /* not all are waiting */
    str_clear(&b.said[0]);
    assert_int_equal(feed_text(&b, 1, "cmd=barrier_in\n"), 0);
    assert_string_equal(str_cstr(&b.fences), "0:a=1,");
    assert_int_equal(pmi_fence_done(b.pmi, 1, pairs, 2, NULL), 0); /* another round */
    assert_string_equal(str_cstr(&b.said[1]), "");
    assert_int_equal(pmi_fence_done(b.pmi, 0, pairs, 2, NULL), 0);
    assert_string_equal(str_cstr(&b.said[0]), "cmd=barrier_out rc=0\n");
    assert_string_equal(str_cstr(&b.said[1]), "cmd=barrier_out rc=0\n");
    str_clear(&b.said[1]);
    assert_int_equal(feed_text(&b, 1, "cmd=get key=far\n"), 0);
    assert_string_equal(str_cstr(&b.said[1]), "cmd=get_result rc=0 msg=success value=away\n");
    assert_int_equal(feed_text(&b, 0, "cmd=barrier_in\n"), 0);
    assert_int_equal(feed_text(&b, 1, "cmd=put key=z value=9\ncmd=barrier_in\n"), 0);
    assert_string_equal(str_cstr(&b.fences), "0:a=1,1:z=9,"); /* only what is new */
    bench_done(&b);
}

static void test_abort_ends_the_step_with_its_exit_code(void **state)
{
    static const struct {
        const char *line;
        int code;
    } vectors[] = {{"cmd=abort\n", 1},
                   {"cmd=abort exitcode=x\n", 1},
                   {"cmd=abort exitcode=9\n", 9},
                   {"cmd=abort exitcode=99999999999999999999\n", 1}};

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct bench b;

        bench_init(&b);
        assert_int_equal(feed_text(&b, 0, vectors[i].line), 0);
        assert_int_equal(b.abort_code, vectors[i].code);
        bench_done(&b);
    }
}

/* Whatever the length of its text, and whatever follows it. */
static void test_long_abort_text_is_survived(void **state)
{
    static const size_t lengths[] = {100, PMI_LINE_MAX - 40, PMI_LINE_MAX, 3 * PMI_LINE_MAX};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (size_t part = 1; part < 4 * PMI_LINE_MAX; part *= 64) {
            _cleanup_str_ struct str s = STR_INIT;
            struct bench b;

            bench_init(&b);
            str_puts(&s, "cmd=abort exitcode=9 error_msg=");
            while (s.len < lengths[i])
                str_puts(&s, "far too many words ");
            str_puts(&s, "\ncmd=nonsense\n");
            for (size_t at = 0; at < s.len; at += part)
                assert_int_equal(
                    pmi_feed(b.pmi, 0, s.data + at, s.len - at < part ? s.len - at : part, NULL),
                    0);
            assert_int_equal(b.abort_code, 9);
            assert_string_equal(b.abort_start, "far too many wor");
            bench_done(&b);
        }
    }
}

/* Pairs put between two barriers have to fit in one message. */
static void test_pairs_between_barriers_are_limited(void **state)
{
    _cleanup_str_ struct str value = STR_INIT;
    struct bench b;
    unsigned count = 0;
    int rc = 0;

    for (int i = 0; i < 1000; i++)
        str_putc(&value, 'v');
    bench_init(&b);
    init_both(&b);
    while (rc == 0 && count < 20000) {
        _cleanup_free_ char *line =
            mem_printf("cmd=put kvsname=x key=%05u value=%s\n", count % 9000, str_cstr(&value));

        rc = feed_text(&b, 0, line);
        count++;
        if (count == 8000) { /* pairs already fetched do not count */
            assert_int_equal(feed_text(&b, 0, "cmd=barrier_in\n"), 0);
            assert_int_equal(feed_text(&b, 1, "cmd=barrier_in\n"), 0);
            assert_int_equal(pmi_fence_done(b.pmi, 0, NULL, 0, NULL), 0);
        }
    }
    assert_int_equal(rc, -ERR_LIMIT);
    assert_int_equal(count, 8000 + PMI_ROUND_BYTES_MAX / 1005 + 1);
    bench_done(&b);
}

static void ask_pmi2(struct bench *b, uint32_t local, const char *command, const char *answer)
{
    _cleanup_free_ char *framed = mem_printf("%-6zu%s", strlen(command), command);
    _cleanup_free_ char *wanted = *answer ? mem_printf("%6zu%s", strlen(answer), answer) : NULL;

    for (const char *at = framed; *at; at++) /* byte by byte */
        assert_int_equal(pmi_feed(b->pmi, local, at, 1, NULL), 0);
    assert_string_equal(str_cstr(&b->said[local]), wanted ? wanted : "");
    str_clear(&b->said[local]);
}

static void init_two(struct bench *b, uint32_t local)
{
    assert_int_equal(feed_text(b, local, "cmd=init pmi_version=2 pmi_subversion=0\n"), 0);
    assert_string_equal(str_cstr(&b->said[local]),
                        "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
    str_clear(&b->said[local]);
    ask_pmi2(
        b, local, "cmd=fullinit;pmirank=9;threaded=FALSE;",
        local ? "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=3;size=4;appnum=0;"
                "debugged=FALSE;pmiverbose=FALSE;"
              : "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=2;size=4;appnum=0;"
                "debugged=FALSE;pmiverbose=FALSE;");
}

static void test_invalid_pmi2_commands_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        int code;
    } vectors[] = {
        {"abcdef", -ERR_PROTOCOL},
        {"      ", -ERR_PROTOCOL},
        {"    -1", -ERR_PROTOCOL},
        {"     0", -ERR_PROTOCOL},
        {" 65537", -ERR_PROTOCOL},
        {"999999", -ERR_PROTOCOL},
        {"     1;", -ERR_PROTOCOL},
        {"     4cmd=", -ERR_PROTOCOL},
        {"     5cmd=;", -ERR_PROTOCOL},
        {"    12key=1;cmd=a;", -ERR_PROTOCOL},
        {"    12cmd=kvs-put;", -ERR_PROTOCOL}, /* before fullinit */
        {"    14cmd=kvs-fence;", -ERR_PROTOCOL},
        {"    "
         "83cmd=x;thrid=0123456789012345678901234567890123456789012345678901234567890123456789;",
         -ERR_LIMIT},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct bench b;

        bench_init(&b);
        assert_int_equal(feed_text(&b, 0, "cmd=init pmi_version=2 pmi_subversion=0\n"), 0);
        assert_int_equal(feed_text(&b, 0, vectors[i].bytes), vectors[i].code);
        assert_int_equal(b.fence_count, 0);
        bench_done(&b);
    }
}

static void test_pmi2_commands_are_answered(void **state)
{
    static const struct {
        const char *command, *answer;
    } vectors[] = {
        {"cmd=job-getid;thrid=0x7f1;", "cmd=job-getid-response;thrid=0x7f1;rc=0;jobid=kvs_1_0;"},
        {"cmd=kvs-put;key=a;value=x;;y=z;", "cmd=kvs-put-response;rc=0;"},
        {"cmd=kvs-get;jobid=kvs_1_0;srcid=1;key=a",
         "cmd=kvs-get-response;rc=0;found=TRUE;value=x;;y=z;"},
        {"cmd=kvs-get;key=b;", "cmd=kvs-get-response;rc=0;found=FALSE;"},
        {"cmd=kvs-get;", "cmd=kvs-get-response;rc=0;found=FALSE;"},
        {"cmd=kvs-put;key=;value=x;", "cmd=kvs-put-response;rc=3;errmsg=invalid key or value;"},
        {"cmd=kvs-put;key=a;", "cmd=kvs-put-response;rc=3;errmsg=invalid key or value;"},
        {"cmd=kvs-put;key=a;value=b\n;", "cmd=kvs-put-response;rc=3;errmsg=invalid key or value;"},
        {"cmd=info-getjobattr;key=universeSize;",
         "cmd=info-getjobattr-response;rc=0;found=TRUE;value=4;"},
        {"cmd=info-getjobattr;key=PMI_process_mapping;",
         "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));"},
        {"cmd=info-getjobattr;key=other;", "cmd=info-getjobattr-response;rc=0;found=FALSE;"},
        {"cmd=info-getnodeattr;key=n;wait=FALSE;",
         "cmd=info-getnodeattr-response;rc=0;found=FALSE;"},
        {"cmd=info-putnodeattr;key=n;value=1;", "cmd=info-putnodeattr-response;rc=0;"},
        {"cmd=info-getnodeattr;key=n;wait=TRUE;",
         "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=1;"},
        {"cmd=name-publish;name=;port=x;",
         "cmd=name-publish-response;rc=3;errmsg=invalid name or port;"},
        {"cmd=spawn;thrid=7;ncmds=1;", "cmd=spawn-response;thrid=7;rc=14;errmsg=no command;"},
        {"cmd=job-connect;jobid=x;",
         "cmd=job-connect-response;rc=14;errmsg=jobs of other steps cannot be joined;"},
        {"cmd=ring;", "cmd=ring-response;rc=14;errmsg=this command is not supported;"},
        {"cmd=finalize;", "cmd=finalize-response;rc=0;"},
    };
    struct bench b;

    bench_init(&b);
    init_two(&b, 0);
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        ask_pmi2(&b, 0, vectors[i].command, vectors[i].answer);
    bench_done(&b);
}

/* A thread that asks with wait=TRUE gets the answer when another task has put the value, each
   thread once. */
static void test_pmi2_attribute_lookup_waits(void **state)
{
    struct bench b;

    bench_init(&b);
    init_two(&b, 0);
    init_two(&b, 1);
    ask_pmi2(&b, 0, "cmd=info-getnodeattr;thrid=1;key=n;wait=TRUE;", "");
    ask_pmi2(&b, 0, "cmd=info-getnodeattr;thrid=2;key=m;wait=TRUE;", "");
    ask_pmi2(&b, 1, "cmd=info-putnodeattr;key=n;value=v;", "cmd=info-putnodeattr-response;rc=0;");
    assert_string_equal(str_cstr(&b.said[0]),
                        "    62cmd=info-getnodeattr-response;thrid=1;rc=0;found=TRUE;value=v;");
    str_clear(&b.said[0]);
    for (int i = 1; i < PMI_WAITS_MAX; i++)
        ask_pmi2(&b, 0, "cmd=info-getnodeattr;key=never;wait=TRUE;", "");
    ask_pmi2(&b, 0, "cmd=info-getnodeattr;key=never;wait=TRUE;",
             "cmd=info-getnodeattr-response;rc=14;errmsg=too many questions are not answered yet;");
    bench_done(&b);
}

/* A step of both kinds: one barrier, one space, one name service. */
static void test_pmi1_and_pmi2_tasks_share_a_barrier(void **state)
{
    struct bench b;
    struct pmi_pair pairs[] = {{"far", "a;b"}};

    bench_init(&b);
    init_two(&b, 0);
    assert_int_equal(feed_text(&b, 1, "cmd=init pmi_version=1 pmi_subversion=1\n"), 0);
    ask_pmi2(&b, 0, "cmd=kvs-put;key=k;value=v;", "cmd=kvs-put-response;rc=0;");
    ask_pmi2(&b, 0, "cmd=kvs-fence;thrid=t;", "");
    str_clear(&b.said[1]);
    assert_int_equal(feed_text(&b, 1, "cmd=barrier_in\n"), 0);
    assert_string_equal(str_cstr(&b.fences), "0:k=v,");
    assert_int_equal(pmi_fence_done(b.pmi, 0, pairs, 1, NULL), 0);
    assert_string_equal(str_cstr(&b.said[1]), "cmd=barrier_out rc=0\n");
    assert_string_equal(str_cstr(&b.said[0]), "    36cmd=kvs-fence-response;thrid=t;rc=0;");
    str_clear(&b.said[0]);
    ask_pmi2(&b, 0, "cmd=kvs-get;key=far;", "cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b;");
    str_clear(&b.said[1]);
    assert_int_equal(feed_text(&b, 1, "cmd=publish_name service=s port=p\n"), 0);
    ask_pmi2(&b, 0, "cmd=name-lookup;thrid=t;name=s;", "");
    ask_pmi2(&b, 0, "cmd=name-unpublish;name=x;", "");
    assert_string_equal(str_cstr(&b.names), "1:1:s=p,2:3:s=,3:2:x=,");
    pmi_name_done(b.pmi, 99, true, NULL);
    pmi_name_done(b.pmi, 2, true, "p");
    assert_string_equal(str_cstr(&b.said[0]),
                        "    64cmd=name-lookup-response;thrid=t;rc=0;found=TRUE;value=p;port=p;");
    str_clear(&b.said[0]);
    pmi_name_done(b.pmi, 3, false, NULL);
    assert_string_equal(str_cstr(&b.said[0]),
                        "    63cmd=name-unpublish-response;rc=14;errmsg=there is no such name;");
    pmi_name_done(b.pmi, 1, true, NULL);
    assert_string_equal(str_cstr(&b.said[1]), "cmd=publish_result rc=0 info=ok\n");
    str_clear(&b.said[1]);
    assert_int_equal(feed_text(&b, 1, "cmd=lookup_name service=s\n"), 0);
    pmi_name_done(b.pmi, 4, true, "p");
    assert_string_equal(str_cstr(&b.said[1]), "cmd=lookup_result rc=0 info=ok port=p\n");
    bench_done(&b);
}

static void test_pmi2_abort_ends_the_step(void **state)
{
    struct bench b;

    bench_init(&b);
    assert_int_equal(feed_text(&b, 0, "cmd=init pmi_version=2 pmi_subversion=0\n"), 0);
    str_clear(&b.said[0]);
    ask_pmi2(&b, 0, "cmd=abort;isworld=TRUE;msg=over and out;", "");
    assert_int_equal(b.abort_code, 1);
    assert_string_equal(b.abort_start, "over and out");
    bench_done(&b);
}

/* A task that ends without finalising is waited for by those in the barrier and those who come
   later. */
static void test_end_of_a_task_is_checked(void **state)
{
    struct err err = {0};
    struct bench b;

    bench_init(&b);
    assert_int_equal(pmi_ended(b.pmi, 0, true, NULL), 0); /* never one of them */
    init_both(&b);
    assert_int_equal(feed_text(&b, 0, "cmd=finalize\n"), 0);
    assert_int_equal(pmi_ended(b.pmi, 0, true, NULL), 0);
    assert_int_equal(pmi_ended(b.pmi, 1, true, &err), -ERR_PROTOCOL);
    bench_done(&b);

    bench_init(&b);
    init_both(&b);
    assert_int_equal(feed_text(&b, 1, "cmd=barrier_in\n"), 0);
    assert_int_equal(pmi_ended(b.pmi, 0, false, NULL), -ERR_PROTOCOL);
    bench_done(&b);

    bench_init(&b);
    init_two(&b, 0);
    init_two(&b, 1);
    assert_int_equal(pmi_ended(b.pmi, 0, false, NULL), 0);
    assert_int_equal(feed_text(&b, 1, "    14cmd=kvs-fence;"), -ERR_PROTOCOL);
    bench_done(&b);
}

/* One block of PMI-1 for each command. */
static void test_pmi1_spawn_is_requested(void **state)
{
    struct bench b;

    bench_init(&b);
    init_both(&b);
    assert_int_equal(b.begun, 1);
    assert_int_equal(
        feed_text(&b, 0,
                  "mcmd=spawn\nnprocs=3\nexecname=a prog\ntotspawns=2\nspawnssofar=1\n"
                  "arg1=x=y z\narg2=\nargcnt=2\npreput_num=1\npreput_key_0=PORT\n"
                  "preput_val_0=tag#0$\ninfo_num=1\ninfo_key_0=host\ninfo_val_0=n1,n2\n"
                  "endcmd\n"),
        0);
    assert_string_equal(str_cstr(&b.spawns), "");
    assert_int_equal(
        feed_text(&b, 0,
                  "mcmd=spawn\nnprocs=2\nexecname=b\ntotspawns=2\nspawnssofar=2\nargcnt=0\n"
                  "preput_num=0\ninfo_num=0\nendcmd\n"),
        0);
    assert_string_equal(str_cstr(&b.spawns), "1:3*a prog,x=y z,[host=n1,n2];2*b;(PORT=tag#0$)");
    pmi_spawned(b.pmi, 2, "kvs_1_9", NULL); /* an unknown request */
    assert_string_equal(str_cstr(&b.said[0]), "");
    pmi_spawned(b.pmi, 1, "kvs_1_9", NULL);
    assert_string_equal(str_cstr(&b.said[0]), "cmd=spawn_result rc=0\n");
    pmi_spawned(b.pmi, 1, "kvs_1_9", NULL);
    assert_string_equal(str_cstr(&b.said[0]), "cmd=spawn_result rc=0\n");
    assert_int_equal(pmi_ended(b.pmi, 0, false, NULL), -ERR_PROTOCOL); /* the new ones may wait */
    bench_done(&b);
}

#define BLOCK "mcmd=spawn\nnprocs=1\nexecname=a\n"

static void test_invalid_spawn_is_refused(void **state)
{
    static const char *const refused[] = {
        "mcmd=spawn\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nendcmd\n",
        "mcmd=spawn\nexecname=a\nendcmd\n",
        "mcmd=spawn\nnprocs=0\nexecname=a\nendcmd\n",
        "mcmd=spawn\nnprocs=-1\nexecname=a\nendcmd\n",
        "mcmd=spawn\nnprocs=2147483648\nexecname=a\nendcmd\n",
        "mcmd=spawn\nnprocs=2147483647\nexecname=a\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nexecname=\nendcmd\n",
        "mcmd=spawn\nnprocs=1\narg1=x\nexecname=a\nendcmd\n",
        BLOCK "execname=b\nendcmd\n",
        BLOCK "arg1=two\nlines\nendcmd\n", /* an argument with a newline */
        BLOCK "preput_val_0=x\nendcmd\n",
        BLOCK "info_key_0=a\ninfo_val_0=b\ninfo_val_0=c\nendcmd\n",
        BLOCK "totspawns=x\nendcmd\n",
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct bench b;

        bench_init(&b);
        init_both(&b);
        assert_int_equal(feed_text(&b, 0, refused[i]), 0);
        assert_string_equal(str_cstr(&b.said[0]), "cmd=spawn_result rc=-1 status=spawn_refused\n");
        assert_string_equal(str_cstr(&b.spawns), "");
        bench_done(&b);
    }
}

/* Unlimited arguments and commands are skipped, and there is one answer. */
static void test_size_of_a_spawn_is_limited(void **state)
{
    struct bench b;

    bench_init(&b);
    init_both(&b);
    assert_int_equal(feed_text(&b, 0, BLOCK), 0);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(feed_text(&b, 0, "arg1=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"), 0);
    assert_int_equal(feed_text(&b, 0, "endcmd\n"), 0);
    assert_string_equal(str_cstr(&b.said[0]), "cmd=spawn_result rc=-1 status=spawn_refused\n");
    str_clear(&b.said[0]);
    for (unsigned i = 0; i < 3000; i++)
        assert_int_equal(feed_text(&b, 0, BLOCK "totspawns=3000\nspawnssofar=1\nendcmd\n"), 0);
    assert_string_equal(str_cstr(&b.said[0]), "");
    assert_int_equal(feed_text(&b, 0, BLOCK "totspawns=3000\nspawnssofar=3000\nendcmd\n"), 0);
    assert_string_equal(str_cstr(&b.said[0]), "cmd=spawn_result rc=-1 status=spawn_refused\n");
    bench_done(&b);
}

static void test_pmi2_spawn_is_requested(void **state)
{
    struct bench b;

    bench_init(&b);
    init_two(&b, 0);
    assert_int_equal(b.begun, 0); /* the other one has not come */
    ask_pmi2(
        &b, 0,
        "cmd=spawn;thrid=7;ncmds=2;preputcount=1;ppkey0=K;ppval0=a;;b;subcmd=x;maxprocs=2;argc=1;"
        "argv0=-v;infokeycount=0;subcmd=y;maxprocs=1;argc=0;infokeycount=1;infokey0=wdir;"
        "infoval0=/tmp;",
        "");
    assert_string_equal(str_cstr(&b.spawns), "1:2*x,-v;1*y[wdir=/tmp];(K=a;b)");
    pmi_spawned(b.pmi, 1, NULL, "no CPUs; none");
    assert_string_equal(str_cstr(&b.said[0]),
                        "    55cmd=spawn-response;thrid=7;rc=14;errmsg=no CPUs;; none;");
    str_clear(&b.said[0]);
    ask_pmi2(&b, 0, "cmd=spawn;subcmd=x;maxprocs=1;", "");
    pmi_spawned(b.pmi, 2, "kvs_1_2", NULL);
    assert_string_equal(str_cstr(&b.said[0]),
                        "    46cmd=spawn-response;rc=0;jobid=kvs_1_2;nerrs=0;");
    str_clear(&b.said[0]);
    ask_pmi2(&b, 0, "cmd=spawn;subcmd=x;maxprocs=4000000;",
             "cmd=spawn-response;rc=14;errmsg=4000000 processes, and 1048576 are the most;");
    bench_done(&b);
}

/* The data of a spawned step about its spawner. */
static void test_spawned_step_knows_its_spawner(void **state)
{
    static const uint32_t ranks[] = {2}, commands[] = {1, 1, 2};
    static const struct pmi_pair preput[] = {{"PORT", "tag#1$"}, {"bad\nkey", "x"}};
    struct bench b = {0};
    struct pmi_options options = {.kvs_name = "kvs_1_1",
                                  .size = 4,
                                  .local_count = 1,
                                  .rank = ranks,
                                  .universe_size = 4,
                                  .spawner = "kvs_1_0",
                                  .preput = preput,
                                  .preput_count = 2,
                                  .app_tasks = commands,
                                  .app_count = 3};
    struct pmi_events events = {on_send, on_fence, on_abort, on_name, on_spawn, on_begun, &b};

    b.pmi = pmi_new(&options, &events);
    assert_int_equal(feed_text(&b, 0, "cmd=init pmi_version=1 pmi_subversion=1\n"), 0);
    assert_int_equal(b.begun, 1);
    str_clear(&b.said[0]);
    assert_int_equal(feed_text(&b, 0, "cmd=get_appnum\ncmd=get kvsname=kvs_1_1 key=PORT\n"), 0);
    assert_string_equal(str_cstr(&b.said[0]), "cmd=appnum rc=0 appnum=2\n"
                                              "cmd=get_result rc=0 msg=success value=tag#1$\n");
    assert_int_equal(pmi_ended(b.pmi, 0, false, NULL), -ERR_PROTOCOL);
    bench_done(&b);

    memset(&b, 0, sizeof(b));
    events.ctx = &b;
    b.pmi = pmi_new(&options, &events);
    assert_int_equal(pmi_ended(b.pmi, 0, false, NULL), -ERR_PROTOCOL); /* it has never come */
    assert_int_equal(feed_text(&b, 0, "cmd=init pmi_version=2 pmi_subversion=0\n"), 0);
    str_clear(&b.said[0]);
    ask_pmi2(&b, 0, "cmd=fullinit;pmirank=2;threaded=FALSE;",
             "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=2;size=4;appnum=2;"
             "spawner-jobid=kvs_1_0;debugged=FALSE;pmiverbose=FALSE;");
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_pmi1_lines_are_refused),
        cmocka_unit_test(test_line_length_is_limited),
        cmocka_unit_test(test_length_of_keys_and_values_is_limited),
        cmocka_unit_test(test_pmi1_commands_are_answered),
        cmocka_unit_test(test_barrier_merges_the_pairs_of_all_tasks),
        cmocka_unit_test(test_abort_ends_the_step_with_its_exit_code),
        cmocka_unit_test(test_long_abort_text_is_survived),
        cmocka_unit_test(test_pairs_between_barriers_are_limited),
        cmocka_unit_test(test_invalid_pmi2_commands_are_refused),
        cmocka_unit_test(test_pmi2_commands_are_answered),
        cmocka_unit_test(test_pmi2_attribute_lookup_waits),
        cmocka_unit_test(test_pmi1_and_pmi2_tasks_share_a_barrier),
        cmocka_unit_test(test_pmi2_abort_ends_the_step),
        cmocka_unit_test(test_end_of_a_task_is_checked),
        cmocka_unit_test(test_pmi1_spawn_is_requested),
        cmocka_unit_test(test_invalid_spawn_is_refused),
        cmocka_unit_test(test_size_of_a_spawn_is_limited),
        cmocka_unit_test(test_pmi2_spawn_is_requested),
        cmocka_unit_test(test_spawned_step_knows_its_spawner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
