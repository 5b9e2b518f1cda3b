/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations through the machine: what is refused, who may use them, what the time brings, and
 * that they survive. A request is words: "create name=x start=+100 length=600 nodes=n1 users=ann".
 */
#include <stdio.h>
#include <string.h>

#include "control/core/filter.h"
#include "control/fixture.h"
#include "control/internal.h"
#include "control/life/depend.h"

#define NODES "NodeName=n[1-4] CPUs=4 RealMemory=4000 Feature=x\nNodeName=n5 CPUs=4 Feature=y\n"
#define PARTS                                                                                      \
    "PartitionName=a Nodes=n[1-4] Default=YES MaxTime=600 DefaultTime=10\n"                        \
    "PartitionName=b Nodes=n[3-5]\n"
#define LINES                                                                                      \
    NODES PARTS "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nMinJobAge=2\nLicenses=lic:4,one\n"
#define START_SEC 1700000000

static void up(struct fixture *f)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
    for (size_t i = 0; i < 5; i++)
        fixture_register(f, names[i], "i1");
}

static struct fixture *make_fixture(void)
{
    struct fixture *f = fixture_new(LINES);
    up(f);
    return f;
}

/* --- requests as words --- */

static void set_time(const struct fixture *f, const char *value, int64_t *out)
{
    long long n = strtoll(value, NULL, 10);
    *out = *value == '+' || *value == '-' ? f->wall_ms / 1000 + n : n;
}

static void set_word(const struct fixture *f, Pb__ResvUpdate *m, const char *key, char *value)
{
    Pb__ResvRecord *s = m->set;
#define TEXT(word, member)                                                                         \
    if (str_eq(key, word)) {                                                                       \
        s->member = value;                                                                         \
        return;                                                                                    \
    }
#define NUMBER(word, member, expr)                                                                 \
    if (str_eq(key, word)) {                                                                       \
        s->has_##member = true;                                                                    \
        expr;                                                                                      \
        return;                                                                                    \
    }
    TEXT("name", name)
    TEXT("nodes", nodes)
    TEXT("users", users)
    TEXT("accounts", accounts)
    TEXT("groups", groups)
    TEXT("allowed", allowed_partitions)
    TEXT("flags", flags)
    TEXT("cores", core_count)
    TEXT("features", features)
    TEXT("part", partition)
    TEXT("licenses", licenses)
    NUMBER("start", start_at, set_time(f, value, &s->start_at))
    NUMBER("end", end_at, set_time(f, value, &s->end_at))
    NUMBER("length", duration_sec, s->duration_sec = strtoll(value, NULL, 10))
    NUMBER("count", node_count, s->node_count = (uint32_t)strtoul(value, NULL, 10))
    NUMBER("delay", max_start_delay_sec, s->max_start_delay_sec = strtoll(value, NULL, 10))
    if (str_eq(key, "add"))
        m->add = value;
    else if (str_eq(key, "take"))
        m->take = value;
    else
        fail_msg("a test asks for '%s'", key);
}

static int delete_as(struct fixture *f, const struct caller *who, char *name)
{
    Pb__ResvDelete m = PB__RESV_DELETE__INIT;
    m.name = name;
    control_resv_delete(f->control, ++f->last_call, who, &m);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* The code of the answer. */
static int ask(struct fixture *f, const char *words)
{
    struct caller root = FIXTURE_ROOT;
    Pb__ResvUpdate m = PB__RESV_UPDATE__INIT;
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    bool removes = false;
    set.name = (char *)"";
    m.set = &set;
    for (char *at = arena_strdup(&arena, words); *at;) {
        size_t len = strcspn(at, " "), key = strcspn(at, "= ");
        char *word = at;
        at += len + (at[len] != 0);
        word[len] = 0;
        if (key == len) {
            m.has_create = m.create = m.create || str_eq(word, "create");
            removes = removes || str_eq(word, "remove");
            m.has_skip = m.skip = m.skip || str_eq(word, "skip");
            continue;
        }
        word[key] = 0;
        set_word(f, &m, word, word + key + 1);
    }
    if (removes)
        return delete_as(f, &root, set.name);
    control_resv_update(f->control, ++f->last_call, &root, &m);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void done(struct fixture *f, const char *words)
{
    int code = ask(f, words);
    if (code)
        fail_msg("%s: %s", words, fixture_text(f, f->last_call));
}

/* What a listing says of it; NULL: there is no such one. */
static const Pb__ResvRecord *look(struct fixture *f, struct arena *arena, const char *name)
{
    struct caller root = FIXTURE_ROOT;
    Pb__ResvFilter filter = PB__RESV_FILTER__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    uint64_t cursor = 0;
    filter.name = (char **)&name;
    filter.n_name = 1;
    arena_init(arena, 0);
    while (control_list_resvs(f->control, &root, &filter, &cursor, 1 << 20, &out))
        ;
    const Pb__ResvList *list = arena_unpack(arena, &pb__resv_list__descriptor, out.data, out.len);
    return list->n_resvs ? list->resvs[0] : NULL;
}

static bool exists(struct fixture *f, const char *name)
{
    _cleanup_arena_ struct arena arena;
    return look(f, &arena, name) != NULL;
}

static void shows(struct fixture *f, const char *name, const char *nodes, const char *flags,
                  const char *users)
{
    _cleanup_arena_ struct arena arena;
    const Pb__ResvRecord *r = look(f, &arena, name);
    assert_non_null(r);
    if (nodes)
        assert_string_equal(r->nodes, nodes);
    if (flags)
        assert_string_equal(r->flags, flags);
    if (users)
        assert_string_equal(r->users, users);
}

/* A batch job that asks for it, of so many minutes: its id, or the negative code. */
static int64_t submit(struct fixture *f, const struct caller *who, const char *resv, int minutes,
                      const char *nodes)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.reservation = (char *)resv;
    spec.has_time_limit_sec = minutes > 0;
    spec.time_limit_sec = minutes * 60;
    spec.req_nodes = (char *)nodes;
    return fixture_submit(f, who, &spec);
}

static void waits(struct fixture *f, int64_t id, const char *reason)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    assert_int_equal(live->state, PB__JOB_STATE__PENDING);
    assert_string_equal(live->reason_detail ? live->reason_detail : live->reason, reason);
}

static void runs(struct fixture *f, int64_t id, const char *nodes, const char *resv)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    if (live->state != PB__JOB_STATE__RUNNING)
        fail_msg("job %u waits: %s %s", live->job_id, live->reason, live->reason_detail);
    assert_string_equal(live->nodes, nodes);
    if (resv)
        assert_string_equal(live->reservation, resv);
    else
        assert_null(live->reservation);
}

static void end_job(struct fixture *f, int64_t id, const char *node)
{
    fixture_batch_ended(f, node, (uint32_t)id, 0, 0);
    fixture_gone(f, node, (uint32_t)id, 0);
}

/* --- refusals --- */

static void what_can_not_be(void **state)
{
    static const struct {
        const char *words;
        int code;
    } cases[] = {
        {"create start=+10 length=600 nodes=n1", ERR_RESV_INVALID},  /* for whom? */
        {"create length=600 nodes=n1 users=ann", ERR_RESV_INVALID},  /* when? */
        {"create start=+10 nodes=n1 users=ann", ERR_RESV_INVALID},   /* how long? */
        {"create start=+10 length=600 users=ann", ERR_RESV_INVALID}, /* what? */
        {"create start=+10 length=0 nodes=n1 users=ann", ERR_RESV_INVALID},
        {"create start=+10 end=+5 nodes=n1 users=ann", ERR_RESV_INVALID},
        {"create start=+10 end=9223372036854775806 nodes=n1 users=ann", ERR_RESV_INVALID},
        {"create start=-7200 length=9000 nodes=n1 users=ann", ERR_RESV_INVALID}, /* long ago */
        {"create start=-7200 length=60 nodes=n1 users=ann", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n9 users=ann", ERR_NO_NODE},
        {"create start=+10 length=600 nodes=n[1 users=ann", ERR_PARSE},
        {"create start=+10 length=600 count=5 users=ann", ERR_NODES_BUSY},
        {"create start=+10 length=600 count=1 users=ann part=z", ERR_NO_PARTITION},
        {"create start=+10 length=600 count=1 users=ann features=z", ERR_FEATURE},
        {"create start=+10 length=600 count=1 users=ann features=y", ERR_NODES_BUSY},
        {"create start=+10 length=600 nodes=n1 cores=1,2 users=ann", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 cores=x users=ann", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=WHAT", ERR_PARSE},
        {"create start=+10 length=600 nodes=n1 users=ann flags=DAILY,WEEKLY", ERR_RESV_INVALID},
        {"create start=+10 length=100000 nodes=n1 users=ann flags=DAILY", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=DAILY,TIME_FLOAT", ERR_RESV_INVALID},
        {"create start=-1 length=600 nodes=n1 users=ann flags=TIME_FLOAT", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=REPLACE", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=PART_NODES", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann flags=SPEC_NODES", ERR_RESV_INVALID},
        {"create start=+10 length=600 users=ann flags=ANY_NODES", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann licenses=x:1", ERR_LICENSE},
        {"create start=+10 length=600 nodes=n1 users=ann licenses=lic:5", ERR_LICENSE},
        {"create start=+10 length=600 nodes=n1 users=ann licenses=lic|one", ERR_LICENSE},
        {"create start=+10 length=600 users=ann licenses=lic:1", ERR_RESV_INVALID}, /* no nodes? */
        {"create start=+10 length=600 users=ann flags=LICENSE_ONLY", ERR_RESV_INVALID},
        {"create start=+10 length=600 users=ann flags=ANY_NODES count=1 licenses=lic",
         ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann groups=g", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann,-bob", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=-", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 groups=-g", ERR_RESV_INVALID},
        {"create start=+10 length=600 nodes=n1 users=ann name=a/b", ERR_RESV_INVALID},
        {"create start=+10 length=600 add=duration nodes=n1 users=ann", ERR_RESV_INVALID},
        {"name=ghost length=600", ERR_RESV_INVALID},
        {"remove name=ghost", ERR_RESV_INVALID},
        {"skip name=ghost", ERR_RESV_INVALID},
    };
    struct fixture *f = make_fixture();
    struct caller root = FIXTURE_ROOT;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("%s\n", cases[i].words);
        assert_int_equal(ask(f, cases[i].words), cases[i].code);
    }
    Pb__ResvFilter all = PB__RESV_FILTER__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    uint64_t cursor = 0;
    control_list_resvs(f->control, &root, &all, &cursor, 1 << 20, &out);
    assert_int_equal(cursor, 0); /* nothing came of any of them */
    fixture_free(f);
}

static void changes_that_are_refused_change_nothing(void **state)
{
    static const struct {
        const char *words;
        int code;
    } cases[] = {
        {"create name=r start=+9 length=60 nodes=n4 users=ann", ERR_RESV_EXISTS},
        {"name=r users= ", ERR_RESV_INVALID},
        {"name=r users=carol nodes=n3", ERR_RESV_OVERLAP},
        {"name=r users=carol nodes=n9", ERR_NO_NODE},
        {"name=r users=carol start=+20", ERR_RESV_INVALID}, /* it is active */
        {"name=r users=carol end=-1", ERR_RESV_INVALID},
        {"name=r users=carol flags=TIME_FLOAT add=flags", ERR_CANNOT_UPDATE},
        {"name=r users=carol flags=OVERLAP take=flags", ERR_CANNOT_UPDATE},
        {"name=s users=carol start=+5 nodes=n1", ERR_RESV_OVERLAP},
        {"name=r users=-carol add=users", ERR_RESV_INVALID},
        {"skip name=r", ERR_RESV_INVALID},
    };
    struct fixture *f = make_fixture();
    done(f, "create name=r start=+0 length=600 nodes=n1 users=ann flags=OVERLAP");
    done(f, "name=r flags=OVERLAP"); /* as it is */
    assert_int_equal(ask(f, "remove name=r"), 0);
    done(f, "create name=r start=+0 length=600 nodes=n1 users=ann");
    done(f, "create name=s start=+100 length=600 nodes=n3 users=ann");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("%s\n", cases[i].words);
        assert_int_equal(ask(f, cases[i].words), cases[i].code);
        shows(f, "r", "n1", "SPEC_NODES", "ann");
        shows(f, "s", "n3", "SPEC_NODES", "ann");
    }
    fixture_free(f);
}

static void names_and_lists(void **state)
{
    struct fixture *f = make_fixture();
    done(f, "create start=+10 length=60 nodes=n1 users=ann,bob");
    done(f, "create start=+10 length=60 nodes=n2 users=ann take=users");
    done(f, "create start=+10 length=60 count=1 accounts=phys flags=MAGNETIC");
    shows(f, "ann_1", "n1", "SPEC_NODES", "ann,bob");
    shows(f, "ann_2", "n2", "SPEC_NODES", "-ann");
    shows(f, "phys_3", "n3", "MAGNETIC", NULL);
    done(f, "name=ann_1 users=carol,bob add=users");
    shows(f, "ann_1", NULL, NULL, "ann,bob,carol");
    done(f, "name=ann_1 users=ann,dave take=users flags=FLEX,MAINT add=flags");
    shows(f, "ann_1", NULL, "MAINT,FLEX,SPEC_NODES", "bob,carol");
    done(f, "name=ann_1 flags=MAINT take=flags length=120 users=bob,carol");
    shows(f, "ann_1", NULL, "FLEX,SPEC_NODES", NULL);
    done(f, "name=phys_3 count=2");
    shows(f, "phys_3", "n[3-4]", NULL, NULL);
    done(f, "name=phys_3 count=1");
    shows(f, "phys_3", "n3", NULL, NULL);
    done(f, "name=phys_3 nodes=n[3-4]");
    shows(f, "phys_3", "n[3-4]", "SPEC_NODES,MAGNETIC", NULL);
    done(f, "create name=all start=+900 length=60 nodes=ALL users=root flags=maint,ignore_jobs");
    shows(f, "all", "n[1-5]", "MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES", NULL);
    done(f, "remove name=all");
    assert_false(exists(f, "all"));
    fixture_free(f);
}

/* --- who --- */

static void who_may_use_it(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    done(f, "create name=ann start=+0 length=60000 nodes=n1 users=ann");
    done(f, "create name=notann start=+0 length=60000 nodes=n2 users=-ann");
    done(f, "create name=num start=+0 length=60000 nodes=n3 users=1001");
    done(f, "create name=acc start=+0 length=60000 nodes=n4 accounts=phys");
    done(f, "create name=float start=+60 length=60 nodes=n5 users=ann flags=TIME_FLOAT");
    static const struct {
        const char *resv;
        bool ann, bob;
    } cases[] = {{"ann", true, false},
                 {"notann", false, true},
                 {"num", false, true},
                 {"acc", false, false},
                 {"ann,num", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t a = submit(f, &ann, cases[i].resv, 1, NULL);
        int64_t b = submit(f, &bob, cases[i].resv, 1, NULL);
        print_message("%s: %lld %lld\n", cases[i].resv, (long long)a, (long long)b);
        assert_int_equal(a > 0, cases[i].ann);
        assert_int_equal(b > 0, cases[i].bob);
        assert_true(a > 0 || a == -ERR_RESV_ACCESS);
    }
    assert_int_equal(submit(f, &ann, "ghost", 1, NULL), -ERR_RESV_INVALID);
    assert_int_equal(submit(f, &ann, "ann", 0, NULL) > 0, 1); /* the default of its partition */
    done(f, "create name=short start=+0 length=120 nodes=n5 users=ann flags=OVERLAP");
    Pb__JobSpec longer = PB__JOB_SPEC__INIT;
    longer.partition = (char *)"b";
    longer.reservation = (char *)"short";
    int64_t exceeds = fixture_submit(f, &ann, &longer); /* it is ended with it, see ResvOverRun */
    runs(f, exceeds, "n5", "short");
    end_job(f, exceeds, "n5");
    assert_int_equal(ask(f, "remove name=short"), 0);
    assert_int_equal(submit(f, &ann, "float", 1, NULL), -ERR_RESV_NOT_USABLE);
    assert_int_equal(submit(f, &ann, "ann", 1, "n2"), -ERR_NODE_CONFIG); /* not of its nodes */
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.reservation = (char *)"acc";
    spec.account = (char *)"phys";
    assert_true(fixture_submit(f, &bob, &spec) > 0);
    fixture_free(f);
}

static void its_users_may_delete_it(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    done(f, "create name=r start=+0 length=600 nodes=n1 users=ann");
    assert_int_equal(delete_as(f, &ann, (char *)"r"), ERR_ACCESS);
    done(f, "name=r flags=USER_DELETE add=flags");
    assert_int_equal(delete_as(f, &bob, (char *)"r"), ERR_ACCESS);
    int64_t job = submit(f, &ann, "r", 5, NULL);
    runs(f, job, "n1", "r");
    assert_int_equal(delete_as(f, &ann, (char *)"r"), ERR_RESV_BUSY);
    end_job(f, job, "n1");
    fixture_restart(f);
    up(f);
    assert_int_equal(delete_as(f, &ann, (char *)"r"), 0);
    assert_int_equal(delete_as(f, &ann, (char *)"r"), ERR_RESV_INVALID);
    assert_false(exists(f, "r"));
    fixture_free(f);
}

static int change_job(struct fixture *f, int64_t job, const char *part, const char *resv)
{
    struct caller ann = FIXTURE_USER;
    Pb__JobUpdate m = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    m.job_id = (uint32_t)job;
    m.set = &set;
    set.partition = (char *)part;
    set.reservation = (char *)resv;
    return fixture_update_job(f, &ann, &m);
}

/* ReqResv=YES */
static void a_partition_asks_for_one(void **state)
{
    struct fixture *f = fixture_new(LINES "PartitionName=q Nodes=n1 ReqResv=YES\n");
    struct caller ann = FIXTURE_USER;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    up(f);
    done(f, "create name=r start=+600 length=6000 nodes=n1 users=ann");
    spec.partition = (char *)"q";
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = 60;
    assert_int_equal(fixture_submit(f, &ann, &spec), -ERR_ACCESS);
    spec.reservation = (char *)"";
    assert_int_equal(fixture_submit(f, &ann, &spec), -ERR_ACCESS);
    spec.reservation = (char *)"r";
    int64_t in_q = fixture_submit(f, &ann, &spec);
    assert_true(in_q > 0);
    spec.partition = (char *)"a";
    int64_t in_a = fixture_submit(f, &ann, &spec);
    spec.reservation = NULL;
    spec.partition = (char *)"q,a"; /* without the one that does not take it */
    int64_t in_both = fixture_submit(f, &ann, &spec);
    assert_string_equal(fixture_job(f, &arena, (uint32_t)in_both)->live->partition, "a");
    assert_int_equal(change_job(f, in_q, NULL, ""), ERR_ACCESS);
    assert_int_equal(change_job(f, in_a, "q", ""), ERR_ACCESS);
    assert_int_equal(change_job(f, in_a, "q", NULL), 0);
    assert_int_equal(change_job(f, in_q, "a", ""), 0);
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    set.name = (char *)"q";
    set.has_req_resv = true;
    assert_int_equal(fixture_update_part(f, &set), 0);
    fixture_restart(f);
    spec.partition = (char *)"q";
    assert_true(fixture_submit(f, &ann, &spec) > 0);
    fixture_free(f);
}

/* --- time --- */

static void it_begins_and_ends(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    done(f, "create name=r start=+600 length=1200 nodes=n1 users=ann");
    int64_t inside = submit(f, &ann, "r", 20, NULL), second = submit(f, &ann, "r", 20, NULL);
    waits(f, inside, "Reservation");
    int64_t longer = submit(f, &bob, NULL, 11, "n1"), shorter = submit(f, &bob, NULL, 10, "n1");
    waits(f, longer, "ReqNodeNotAvail, May be reserved for other job");
    runs(f, shorter, "n1", NULL);
    end_job(f, shorter, "n1");
    fixture_pass(f, 599000);
    waits(f, inside, "Reservation");
    fixture_pass(f, 1000);
    runs(f, inside, "n1", "r");
    runs(f, second, "n1", "r");
    fixture_pass(f, 600000);
    int64_t exceeds = submit(f, &ann, "r", 20, NULL);
    runs(f, exceeds, "n1", "r"); /* ten minutes are left: it is ended then */
    Pb__JobSpec whole = PB__JOB_SPEC__INIT;
    whole.reservation = (char *)"r";
    whole.has_exclusive = whole.exclusive = true;
    int64_t late = fixture_submit(f, &ann, &whole);
    waits(f, late, "Resources");
    assert_int_equal(ask(f, "remove name=r"), ERR_RESV_BUSY);
    fixture_pass(f, 600000);
    assert_int_equal(fixture_state(f, (uint32_t)inside), PB__JOB_STATE__TIMEOUT);
    assert_false(exists(f, "r"));
    waits(f, late, "ReservationDeleted");
    assert_int_equal(fixture_state(f, (uint32_t)exceeds), PB__JOB_STATE__TIMEOUT);
    end_job(f, inside, "n1");
    end_job(f, second, "n1");
    end_job(f, exceeds, "n1");
    runs(f, longer, "n1", NULL);
    Pb__JobUpdate release = PB__JOB_UPDATE__INIT;
    release.job_id = (uint32_t)late;
    release.has_hold = true;
    assert_int_equal(fixture_update_job(f, &ann, &release), 0);
    runs(f, late, "n2", NULL);
    fixture_free(f);
}

static void jobs_go_on_without_it(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    done(f, "create name=r start=+600 length=600 nodes=n1 users=ann flags=NO_HOLD_JOBS_AFTER");
    done(f, "create name=s start=+600 length=600 nodes=n2 users=ann");
    int64_t free_job = submit(f, &ann, "r", 5, NULL), held = submit(f, &ann, "s", 5, NULL);
    int64_t both = submit(f, &ann, "r,s", 5, NULL);
    done(f, "remove name=r");
    runs(f, free_job, "n1", NULL);
    waits(f, both, "Reservation"); /* the other one is to come */
    done(f, "remove name=s");
    waits(f, held, "ReservationDeleted");
    waits(f, both, "ReservationDeleted");
    fixture_restart(f);
    up(f);
    waits(f, held, "ReservationDeleted");
    fixture_free(f);
}

static void a_shorter_one_ends_its_jobs(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    done(f, "create name=r start=+0 length=3600 nodes=n1 users=ann");
    int64_t job = submit(f, &ann, "r", 60, NULL);
    runs(f, job, "n1", "r");
    done(f, "name=r end=+600");
    fixture_pass(f, 599000);
    runs(f, job, "n1", "r");
    fixture_pass(f, 1000);
    assert_int_equal(fixture_state(f, (uint32_t)job), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

static void lasts(struct fixture *f, const char *name, int64_t sec)
{
    _cleanup_arena_ struct arena arena;
    const Pb__ResvRecord *r = look(f, &arena, name);
    assert_int_equal(r->end_at - r->start_at, sec);
}

static void it_is_made_longer_and_shorter(void **state)
{
    struct fixture *f = make_fixture();
    done(f, "create name=r start=+0 length=3600 nodes=n1 users=ann");
    done(f, "create name=next start=+7200 length=600 nodes=n1 users=bob");
    done(f, "create name=ever start=+0 length=9000000000000 nodes=n2 users=ann");
    done(f, "create name=float start=+600 length=600 nodes=n3 users=ann flags=TIME_FLOAT");
    done(f, "name=r length=600 add=duration");
    lasts(f, "r", 4200);
    done(f, "name=r length=1200 take=duration");
    lasts(f, "r", 3000);
    done(f, "name=float length=300 add=duration");
    lasts(f, "float", 900);
    assert_int_equal(ask(f, "name=r length=3000 take=duration"), ERR_RESV_INVALID);
    assert_int_equal(ask(f, "name=r length=0 add=duration"), ERR_RESV_INVALID);
    assert_int_equal(ask(f, "name=r length=9000000000000 add=duration"), ERR_RESV_INVALID);
    assert_int_equal(ask(f, "name=ever length=60 take=duration"), ERR_RESV_INVALID);
    assert_int_equal(ask(f, "name=r length=6000 add=duration"), ERR_RESV_OVERLAP);
    lasts(f, "r", 3000);
    fixture_free(f);
}

/* What a job has after the end of its reservation, it has once, and not until another end. */
static void its_jobs_run_over_it_for_so_long(void **state)
{
    static const char *const flags[] = {"IGNORE_JOBS", "HOURLY"};
    struct caller ann = FIXTURE_USER;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct fixture *f = fixture_new(LINES "ResvOverRun=5\n");
        _cleanup_free_ char *words =
            mem_printf("create name=r start=+0 length=600 nodes=n1 users=ann flags=%s", flags[i]);
        up(f);
        done(f, words);
        int64_t job = submit(f, &ann, "r", 10, NULL);
        runs(f, job, "n1", "r");
        Pb__JobUpdate longer = PB__JOB_UPDATE__INIT;
        Pb__JobSpec set = PB__JOB_SPEC__INIT;
        longer.job_id = (uint32_t)job;
        longer.set = &set;
        set.has_time_limit_sec = true;
        set.time_limit_sec = 36000;
        struct caller root = FIXTURE_ROOT;
        assert_int_equal(fixture_update_job(f, &root, &longer), 0);
        fixture_pass(f, 610000);
        runs(f, job, "n1", "r");
        fixture_restart(f);
        up(f);
        fixture_pass(f, 280000);
        runs(f, job, "n1", "r");
        fixture_pass(f, 10000);
        assert_int_equal(fixture_state(f, (uint32_t)job), PB__JOB_STATE__TIMEOUT);
        fixture_free(f);
    }
}

static void it_comes_every_hour(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    done(f, "create name=r start=+60 length=600 nodes=n1 users=ann flags=HOURLY");
    fixture_pass(f, 60000);
    int64_t first = submit(f, &ann, "r", 10, NULL);
    runs(f, first, "n1", "r");
    end_job(f, first, "n1");
    fixture_pass(f, 600000);
    int64_t next = submit(f, &ann, "r", 10, NULL);
    waits(f, next, "Reservation");
    assert_true(exists(f, "r"));
    waits(f, next, "Reservation");
    fixture_restart(f);
    up(f);
    fixture_pass(f, 2999000);
    waits(f, next, "Reservation");
    fixture_pass(f, 1000);
    runs(f, next, "n1", "r");
    end_job(f, next, "n1");
    done(f, "skip name=r");
    next = submit(f, &ann, "r", 10, NULL);
    waits(f, next, "Reservation");
    fixture_pass(f, 3600000);
    runs(f, next, "n1", "r");
    fixture_free(f);
}

static void it_is_purged_when_idle(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    done(f, "create name=r start=+60 length=6000 nodes=n1 users=ann flags=PURGE_COMP=2");
    done(f, "create name=s start=+60 length=6000 nodes=n2 users=ann flags=PURGE_COMP");
    int64_t job = submit(f, &ann, "r", 10, NULL);
    fixture_pass(f, 60000);
    runs(f, job, "n1", "r");
    fixture_pass(f, 299000);
    assert_true(exists(f, "s"));
    fixture_pass(f, 1000);
    assert_false(exists(f, "s"));
    assert_true(exists(f, "r"));
    end_job(f, job, "n1");
    fixture_pass(f, 119000);
    assert_true(exists(f, "r"));
    fixture_pass(f, 1000);
    assert_false(exists(f, "r"));
    fixture_free(f);
}

/* A change may be its end: it was idle for longer than it may be now. */
static void it_is_purged_by_a_change(void **state)
{
    struct fixture *f = make_fixture();
    done(f, "create name=r start=+0 length=6000 nodes=n1 users=ann flags=PURGE_COMP=60");
    fixture_pass(f, 600000);
    assert_true(exists(f, "r"));
    done(f, "name=r flags=PURGE_COMP=5");
    assert_false(exists(f, "r"));
    fixture_free(f);
}

/* --- nodes --- */

static void node_shows(struct fixture *f, const char *node, bool reserved, bool maint)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__NodeRecord *n = fixture_node(f, &arena, node);
    assert_int_equal(n->reserved, reserved);
    assert_int_equal(n->maint, maint);
}

static void nodes_say_so(void **state)
{
    struct fixture *f = make_fixture();
    done(f, "create name=r start=+60 length=600 nodes=n1 users=ann");
    done(f, "create name=m start=+0 length=600 nodes=n2 users=ann flags=MAINT");
    node_shows(f, "n1", false, false);
    node_shows(f, "n2", true, true);
    fixture_pass(f, 60000);
    node_shows(f, "n1", true, false);
    fixture_pass(f, 600000);
    node_shows(f, "n1", false, false);
    node_shows(f, "n2", false, false);
    fixture_free(f);
}

static void a_lost_node_is_replaced(void **state)
{
    struct fixture *f = make_fixture();
    done(f, "create name=r start=+60 length=60000 count=2 users=ann");
    done(f, "create name=s start=+60 length=60000 count=1 users=ann flags=STATIC_ALLOC");
    shows(f, "r", "n[1-2]", "", NULL);
    shows(f, "s", "n3", "STATIC", NULL);
    assert_int_equal(fixture_update_node(f, "n[2-3]", "DRAIN", "x"), 0);
    int64_t job = submit(f, &FIXTURE_USER, NULL, 0, NULL); /* a pass */
    fixture_turn(f);
    shows(f, "r", "n[1,4]", "", NULL);
    shows(f, "s", "n3", "STATIC", NULL);
    assert_true(job > 0);
    fixture_free(f);
}

static void idle_ones_are_had_ready(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    done(f, "create name=r start=+0 length=60000 count=2 users=ann flags=REPLACE");
    shows(f, "r", "n[1-2]", "REPLACE", NULL);
    int64_t job = submit(f, &ann, "r", 10, NULL);
    runs(f, job, "n1", "r");
    submit(f, &ann, NULL, 10, NULL);
    fixture_turn(f);
    shows(f, "r", "n[2-3]", "REPLACE", NULL);
    fixture_free(f);
}

/* --- it survives --- */

static void a_restart_and_another_configuration(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    done(f, "create name=r start=+0 length=60000 nodes=n[1,4] users=ann");
    done(f,
         "create name=p start=+0 length=60000 nodes=ALL part=b users=ann flags=PART_NODES,MAINT");
    shows(f, "p", "n[3-5]", "MAINT,SPEC_NODES,ALL_NODES,PART_NODES", NULL);
    int64_t job = submit(f, &ann, "r", 600, "n1");
    runs(f, job, "n1", "r");
    fixture_restart(f);
    up(f);
    shows(f, "r", "n[1,4]", "SPEC_NODES", "ann");
    runs(f, job, "n1", "r");
    assert_int_equal(ask(f, "remove name=r"), ERR_RESV_BUSY); /* its job is known to be in it */
    int64_t other = submit(f, &bob, NULL, 1, "n1");
    waits(f, other, "ReqNodeNotAvail, May be reserved for other job");
    /* By name: the places of nodes move, one leaves. */
    fixture_reconfigure(f, "NodeName=n0,n[1-3] CPUs=4\nPartitionName=a Nodes=ALL Default=YES\n"
                           "PartitionName=b Nodes=n3\nSelectTypeParameters=CR_Core\n"
                           "SlurmdTimeout=0\n");
    shows(f, "r", "n[1,4]", "SPEC_NODES", NULL);
    shows(f, "p", "n3", NULL, NULL);
    runs(f, job, "n1", "r");
    waits(f, other, "ReqNodeNotAvail, May be reserved for other job");
    fixture_reconfigure(f, LINES);
    up(f);
    shows(f, "p", "n[3-5]", NULL, NULL);
    node_shows(f, "n4", true, true);
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    set.name = (char *)"b";
    set.nodes = (char *)"n[2-3]";
    assert_int_equal(fixture_update_part(f, &set), 0);
    shows(f, "p", "n[2-3]", NULL, NULL);
    fixture_pass(f, 60000000);
    assert_false(exists(f, "r"));
    fixture_restart(f);
    assert_false(exists(f, "r"));
    fixture_free(f);
}

static void over_while_the_controller_is_down(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    done(f, "create name=r start=+60 length=600 nodes=n1 users=ann");
    int64_t waiting = submit(f, &ann, "r", 5, NULL);
    f->wall_ms += 3600000;
    f->mono_ms += 3600000;
    fixture_restart(f);
    assert_false(exists(f, "r"));
    waits(f, waiting, "ReservationDeleted");
    fixture_free(f);
}

/* --- jobs that are changed --- */

static void a_job_is_given_one(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    done(f, "create name=r start=+0 length=60000 nodes=n1 users=ann");
    int64_t job = submit(f, &ann, NULL, 1, "n1"), other = submit(f, &bob, NULL, 1, "n1");
    waits(f, job, "ReqNodeNotAvail, May be reserved for other job");
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    set.reservation = (char *)"r";
    r.set = &set;
    r.job_id = (uint32_t)other;
    assert_int_equal(fixture_update_job(f, &bob, &r), ERR_RESV_ACCESS);
    r.job_id = (uint32_t)job;
    assert_int_equal(fixture_update_job(f, &ann, &r), 0);
    runs(f, job, "n1", "r");
    assert_int_equal(fixture_update_job(f, &ann, &r), ERR_NOT_PENDING);
    end_job(f, job, "n1");
    done(f, "create name=later start=+600 length=60000 nodes=n2 users=ann");
    job = submit(f, &ann, "later", 1, NULL);
    waits(f, job, "Reservation");
    r.job_id = (uint32_t)job;
    set.reservation = (char *)"";
    assert_int_equal(fixture_update_job(f, &ann, &r), 0);
    runs(f, job, "n2", NULL);
    fixture_free(f);
}

static void magnets_and_short_delays(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    done(f, "create name=m start=+0 length=60000 nodes=n1 users=ann flags=MAGNETIC");
    done(f, "create name=d start=+0 length=60000 nodes=n2 users=bob delay=120");
    runs(f, submit(f, &ann, NULL, 1, NULL), "n1", "m");
    runs(f, submit(f, &bob, NULL, 3, NULL), "n3", NULL);
    runs(f, submit(f, &bob, NULL, 2, NULL), "n2", "d"); /* delays nobody for longer */
    int64_t waiting = submit(f, &ann, NULL, 3, "n2");
    waits(f, waiting, "ReqNodeNotAvail, May be reserved for other job");
    done(f, "name=d flags=MAGNETIC add=flags users=ann,bob");
    runs(f, waiting, "n2", "d");
    fixture_free(f);
}

/* --- licences --- */

static int64_t licensed(struct fixture *f, const struct caller *who, const char *resv, int minutes,
                        const char *licenses)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.reservation = (char *)resv;
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = minutes * 60;
    spec.licenses = (char *)licenses;
    return fixture_submit(f, who, &spec);
}

static bool is_running(struct fixture *f, int64_t id)
{
    return fixture_state(f, (uint32_t)id) == PB__JOB_STATE__RUNNING;
}

static void ends(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *live = fixture_job(f, &arena, (uint32_t)id)->live;
    _cleanup_free_ char *node = mem_strdup(live->nodes);
    end_job(f, id, node);
}

static void licences_are_kept(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER, bob = FIXTURE_OTHER;
    done(f, "create name=r start=+600 length=6000 users=ann flags=LICENSE_ONLY licenses=lic:3");
    shows(f, "r", NULL, "ANY_NODES", "ann");
    assert_int_equal(ask(f, "create name=s start=+700 length=60 users=bob flags=LICENSE_ONLY "
                            "licenses=lic:2"),
                     ERR_RESV_OVERLAP);
    done(f, "create name=s start=+700 length=60 users=bob flags=LICENSE_ONLY licenses=lic:1");
    assert_int_equal(ask(f, "name=s licenses=lic:2"), ERR_RESV_OVERLAP);
    assert_int_equal(ask(f, "name=s licenses=other"), ERR_LICENSE);
    done(f, "name=s remove");
    int64_t brief = licensed(f, &bob, NULL, 10, "lic:4"), over = licensed(f, &bob, NULL, 11, "lic");
    assert_true(is_running(f, brief)); /* it ends as the reservation begins */
    waits(f, over, "Licenses");
    ends(f, brief);
    assert_true(is_running(f, over)); /* one is nobody's */
    int64_t second = licensed(f, &bob, NULL, 11, "lic");
    waits(f, second, "Licenses");
    int64_t inside = licensed(f, &ann, "r", 60, "lic:3"), more = licensed(f, &ann, "r", 60, "lic");
    waits(f, inside, "Reservation");
    fixture_pass(f, 601000);
    assert_true(is_running(f, inside));
    waits(f, more, "Licenses"); /* the other one is in use */
    ends(f, over);
    assert_true(is_running(f, more)); /* it needs not be of the reservation */
    waits(f, second, "Licenses");
    fixture_restart(f);
    up(f);
    waits(f, second, "Licenses");
    ends(f, inside);
    assert_true(is_running(f, second)); /* what the one inside has is of the reservation now */
    int64_t third = licensed(f, &bob, NULL, 1, "lic");
    waits(f, third, "Licenses"); /* two are kept */
    done(f, "name=r licenses=lic:2");
    assert_true(is_running(f, third));
    int64_t fourth = licensed(f, &bob, NULL, 1, "lic:2");
    ends(f, second);
    waits(f, fourth, "Licenses");
    done(f, "name=r licenses=one take=flags flags=PURGE_COMP");
    assert_true(is_running(f, fourth));
    fixture_free(f);
}

static void a_start_reckons_with_kept_licences(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t now = f->wall_ms / 1000;
    done(f, "create name=r start=+600 length=6000 users=bob flags=LICENSE_ONLY licenses=lic:3");
    int64_t job = licensed(f, &ann, NULL, 60, "lic:2");
    waits(f, job, "Licenses");
    assert_int_equal(fixture_job(f, &arena, (uint32_t)job)->live->start_at, now + 6600);
    done(f, "name=r remove");
    assert_true(is_running(f, job));
    fixture_free(f);
}

/* --- a place that somebody outside chooses --- */

static int place(struct fixture *f, int64_t id, const char *nodes)
{
    struct caller root = FIXTURE_ROOT;
    Pb__JobPlace r = PB__JOB_PLACE__INIT;
    r.job_id = (uint32_t)id;
    r.nodes = (char *)nodes;
    control_job_place(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

static void places_are_held_against_them(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    Pb__JobSpec whole = PB__JOB_SPEC__INIT;
    whole.has_num_tasks = whole.has_time_limit_sec = true;
    whole.num_tasks = 4;
    whole.time_limit_sec = 600 * 60;
    for (int i = 0; i < 4; i++) /* all nodes are in use */
        assert_true(fixture_submit(f, &ann, &whole) > 0);
    int64_t outside = fixture_submit(f, &ann, &whole);
    done(f, "create name=r start=+0 length=60000 nodes=n1 users=ann flags=IGNORE_JOBS");
    done(f, "create name=soon start=+300 length=60000 nodes=n2 users=ann flags=IGNORE_JOBS");
    whole.reservation = (char *)"r";
    int64_t inside = fixture_submit(f, &ann, &whole);
    for (uint32_t id = 1; id <= 2; id++) {
        char node[] = {'n', (char)('0' + id), 0};
        fixture_batch_ended(f, node, id, 0, 0);
        assert_int_equal(place(f, outside, node), ERR_NODES_BUSY); /* it is not clean yet */
    }
    assert_int_equal(place(f, inside, "n2"), ERR_NODES_BUSY);
    assert_int_equal(place(f, inside, "n1"), ERR_NODES_BUSY);
    fixture_gone(f, "n1", 1, 0);
    runs(f, inside, "n1", "r");
    fixture_gone(f, "n2", 2, 0);
    assert_int_equal(place(f, outside, "n2"), ERR_NODES_BUSY);
    assert_string_equal(fixture_text(f, f->last_call),
                        "Requested nodes are busy: reservations keep it from there");
    fixture_free(f);
}

/* Elements are split off where the planner starts them, and count one by one. */
static void elements_of_an_array_are_in_it(void **state)
{
    struct fixture *f = make_fixture();
    struct caller ann = FIXTURE_USER;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    done(f, "create name=r start=+60 length=60000 nodes=n1 users=ann");
    spec.reservation = (char *)"r";
    spec.has_num_tasks = true;
    spec.num_tasks = 2;
    spec.array_inx = (char *)"1-4";
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = 60;
    int64_t id = fixture_submit(f, &ann, &spec);
    assert_true(id > 0);
    waits(f, id, "Reservation");
    fixture_pass(f, 61000);
    assert_int_equal(resv_find(f->control->cluster, "r")->running, 2);
    assert_int_equal(ask(f, "name=r remove"), ERR_RESV_BUSY);
    fixture_restart(f);
    up(f);
    assert_int_equal(resv_find(f->control->cluster, "r")->running, 2);
    assert_int_equal(resv_find(f->control->cluster, "r")->pending, 1);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_not_be),
        cmocka_unit_test(changes_that_are_refused_change_nothing),
        cmocka_unit_test(names_and_lists),
        cmocka_unit_test(who_may_use_it),
        cmocka_unit_test(its_users_may_delete_it),
        cmocka_unit_test(a_partition_asks_for_one),
        cmocka_unit_test(it_begins_and_ends),
        cmocka_unit_test(it_is_made_longer_and_shorter),
        cmocka_unit_test(jobs_go_on_without_it),
        cmocka_unit_test(a_shorter_one_ends_its_jobs),
        cmocka_unit_test(its_jobs_run_over_it_for_so_long),
        cmocka_unit_test(it_comes_every_hour),
        cmocka_unit_test(it_is_purged_when_idle),
        cmocka_unit_test(it_is_purged_by_a_change),
        cmocka_unit_test(nodes_say_so),
        cmocka_unit_test(a_lost_node_is_replaced),
        cmocka_unit_test(idle_ones_are_had_ready),
        cmocka_unit_test(a_restart_and_another_configuration),
        cmocka_unit_test(over_while_the_controller_is_down),
        cmocka_unit_test(a_job_is_given_one),
        cmocka_unit_test(magnets_and_short_delays),
        cmocka_unit_test(licences_are_kept),
        cmocka_unit_test(a_start_reckons_with_kept_licences),
        cmocka_unit_test(places_are_held_against_them),
        cmocka_unit_test(elements_of_an_array_are_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
