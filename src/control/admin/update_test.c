/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What scontrol changes: refusals change nothing, and what was acknowledged outlives the daemon. */
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "control/fixture.h"
#include "control/life/depend.h"

#define NODES "NodeName=n[1-4] CPUs=4 RealMemory=4000\n"
#define KEEP "ReconfigFlags=KeepPartInfo\n"
#define PARTS "PartitionName=a Nodes=n[1-4] Default=YES MaxTime=60\nPartitionName=b Nodes=n[3-4]\n"

static struct fixture *make_fixture(void)
{
    struct fixture *f = fixture_new(NODES PARTS "SelectTypeParameters=CR_Core_Memory");
    const char *names[] = {"n1", "n2", "n3", "n4"};
    for (int i = 0; i < 4; i++)
        fixture_register(f, names[i], "i1");
    return f;
}

static const Pb__JobLive *get_live(struct fixture *f, struct arena *arena, int64_t id)
{
    return fixture_job(f, arena, (uint32_t)id)->live;
}

/* --- jobs --------------------------------------------------------------------------------------
 */

static void job_changes_that_are_refused_change_nothing(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER, other = FIXTURE_OTHER;
    Pb__JobSpec held = PB__JOB_SPEC__INIT;
    held.has_hold = held.hold = true;
    int64_t id = fixture_submit(f, &user, &held);
    static const struct {
        const char *what;
        Pb__JobSpec set;
        int code;
    } cases[] = {
        {"unknown node", {.req_nodes = (char *)"n9"}, ERR_NO_NODE},
        {"unknown partition", {.partition = (char *)"z"}, ERR_NO_PARTITION},
        {"no partition", {.partition = (char *)""}, ERR_NO_PARTITION},
        {"unknown feature", {.features = (char *)"gpu"}, ERR_FEATURE},
        {"too many nodes", {.has_min_nodes = true, .min_nodes = 5}, ERR_NODE_COUNT},
        {"too much memory",
         {.has_mem_per_node_mib = true, .mem_per_node_mib = 4001},
         ERR_NODE_CONFIG},
        {"negative nice", {.has_nice = true, .nice = -1}, ERR_ACCESS},
        {"dependency", {.dependency = (char *)"afterok:1"}, ERR_DEPENDENCY},
        {"licenses", {.licenses = (char *)"x:1"}, ERR_LICENSE},
        {"gres", {.gres = (char *)"gpu:1"}, ERR_GRES},
        {"reservation", {.reservation = (char *)"r"}, ERR_RESV_INVALID},
        {"not a field of update", {.submit_line = (char *)"x"}, ERR_CANNOT_UPDATE},
        {"whose job it is", {.has_uid = true, .uid = 0}, ERR_CANNOT_UPDATE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
        Pb__JobSpec set = cases[i].set;
        set.base = (ProtobufCMessage)PROTOBUF_C_MESSAGE_INIT(&pb__job_spec__descriptor);
        set.comment = (char *)"changed"; /* changes together with it or not at all */
        r.job_id = (uint32_t)id;
        r.set = &set;
        print_message("%s\n", cases[i].what);
        assert_int_equal(fixture_update_job(f, &user, &r), cases[i].code);
        assert_null(fixture_job(f, &arena, (uint32_t)id)->spec->comment);
    }
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    assert_int_equal(fixture_update_job(f, &other, &r), ERR_ACCESS);
    r.job_id = 999;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_NO_JOB);
    fixture_free(f);
}

static void a_refused_hold_leaves_the_other_fields(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t id = fixture_submit(f, &user, NULL);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    set.comment = (char *)"changed";
    r.job_id = (uint32_t)id;
    r.set = &set;
    Pb__JobUpdate held = PB__JOB_UPDATE__INIT;
    held.job_id = (uint32_t)id;
    held.has_hold = held.hold = r.has_hold = true; /* by root; to be lifted by its owner */
    assert_int_equal(fixture_update_job(f, &FIXTURE_ROOT, &held), 0);
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    assert_null(fixture_job(f, &arena, (uint32_t)id)->spec->comment);
    r.has_hold = false;
    r.has_priority = true;
    r.priority = UINT32_MAX;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    assert_null(fixture_job(f, &arena, (uint32_t)id)->spec->comment);
    fixture_free(f);
}

/* The throttle is of the array, the other fields of its jobs. */
static void a_refused_field_leaves_the_throttle(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena, later;
    arena_init(&arena, 0);
    arena_init(&later, 0);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT, set = PB__JOB_SPEC__INIT;
    spec.array_inx = (char *)"0-9%3";
    SET(&spec, hold, true);
    int64_t id = fixture_submit(f, &user, &spec);
    assert_true(id > 0);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    r.set = &set;
    SET(&r, array_throttle, 5);
    SET(&set, nice, -1);
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    assert_int_equal(get_live(f, &arena, id)->array_throttle, 3);
    SET(&set, nice, 1);
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_int_equal(get_live(f, &later, id)->array_throttle, 5);
    fixture_free(f);
}

static void running_job_accepts_few_changes(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = 100;
    int64_t id = fixture_submit(f, &user, &spec);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = (uint32_t)id;
    r.set = &set;
    set.has_num_tasks = true;
    set.num_tasks = 2;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_NOT_PENDING);
    set = (Pb__JobSpec)PB__JOB_SPEC__INIT;
    set.has_time_limit_sec = true;
    set.time_limit_sec = 200;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    set.time_limit_sec = 0; /* unlimited */
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    assert_int_equal(get_live(f, &arena, id)->time_limit_sec, 100);
    set.time_limit_sec = 50;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_int_equal(get_live(f, &arena, id)->time_limit_sec, 50);
    set.time_limit_sec = 200;
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    fixture_pass(f, 199 * 1000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 2000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

static void pending_jobs_change_and_start(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec held = PB__JOB_SPEC__INIT;
    held.has_hold = held.hold = true;
    int64_t id = fixture_submit(f, &user, &held);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = (uint32_t)id;
    r.set = &set;
    r.has_hold = true; /* released with what is changed */
    set.partition = (char *)"b";
    set.work_dir = (char *)"/tmp";
    set.has_min_nodes = true;
    set.min_nodes = 2;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    const Pb__JobRecord *job = fixture_job(f, &arena, (uint32_t)id);
    assert_int_equal(job->live->state, PB__JOB_STATE__RUNNING);
    assert_string_equal(job->live->nodes, "n[3-4]");
    assert_string_equal(job->live->partition, "b");
    assert_string_equal(job->spec->work_dir, "/tmp");
    fixture_free(f);
}

static void requeue_respects_the_requeue_option(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec never = PB__JOB_SPEC__INIT;
    never.has_requeue = true;
    int64_t no = fixture_submit(f, &user, &never), yes = fixture_submit(f, &user, NULL);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.has_requeue = r.requeue = true;
    r.job_id = (uint32_t)no;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_NO_REQUEUE);
    assert_int_equal(fixture_state(f, (uint32_t)no), PB__JOB_STATE__RUNNING);
    r.job_id = (uint32_t)yes;
    r.has_hold = r.hold = true; /* scontrol requeuehold */
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    fixture_gone(f, get_live(f, &arena, yes)->nodes, (uint32_t)yes, 0);
    const Pb__JobLive *after = get_live(f, &arena, yes);
    assert_int_equal(after->state, PB__JOB_STATE__PENDING);
    assert_int_equal(after->restarts, 1);
    assert_string_equal(after->reason, "JobHeldUser");
    fixture_free(f);
}

static void hold_of_an_administrator_is_kept(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec late = PB__JOB_SPEC__INIT;
    late.has_begin_at_sec = true;
    late.begin_at_sec = f->wall_ms / 1000 + 100;
    int64_t id = fixture_submit(f, &user, &late);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    r.has_hold = r.hold = true;
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    r.hold = false;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    fixture_restart(f);
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_ACCESS);
    assert_int_equal(fixture_update_job(f, &root, &r), 0);
    fixture_free(f);
}

/* --- nodes -------------------------------------------------------------------------------------
 */

static void node_changes_that_are_refused_change_nothing(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    fixture_submit(f, &user, NULL);
    assert_int_equal(fixture_update_node(f, "n[1-9]", "DRAIN", "x"), ERR_NO_NODE);
    assert_int_equal(fixture_update_node(f, "", "DRAIN", "x"), ERR_NO_NODE);
    assert_int_equal(fixture_update_node(f, "n[1-4]", "DRAIN", NULL), ERR_PARSE);
    assert_int_equal(fixture_update_node(f, "n[1-4]", "BLUE", "x"), ERR_PARSE);
    assert_int_equal(fixture_update_node(f, "n[1-4]", "FUTURE", "x"), ERR_TRANSITION);
    const char *names[] = {"n1", "n2", "n3", "n4"};
    for (int i = 0; i < 4; i++) {
        const Pb__NodeRecord *n = fixture_node(f, &arena, names[i]);
        assert_false(n->has_drain);
        assert_null(n->reason);
    }
    fixture_free(f);
}

static void resumed_node_may_register_within_its_timeout(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    control_node_lost(f->control, "n1");
    fixture_pass(f, 400 * 1000); /* SlurmdTimeout is 300 */
    assert_int_equal(fixture_node(f, &arena, "n1")->state, PB__NODE_BASE__NODE_DOWN);
    assert_int_equal(fixture_update_node(f, "n1", "RESUME", NULL), 0);
    assert_int_not_equal(fixture_node(f, &arena, "n1")->state, PB__NODE_BASE__NODE_DOWN);
    fixture_pass(f, 400 * 1000);
    assert_int_equal(fixture_node(f, &arena, "n1")->state, PB__NODE_BASE__NODE_DOWN);
    fixture_free(f);
}

static void acknowledged_drain_survives_a_restart(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(fixture_update_node(f, "n[2-3]", "DRAIN", "disk"), 0);
    fixture_restart(f);
    assert_true(fixture_node(f, &arena, "n2")->drain);
    assert_string_equal(fixture_node(f, &arena, "n3")->reason, "disk");
    assert_false(fixture_node(f, &arena, "n1")->has_drain);
    fixture_free(f);
}

/* --- partitions --------------------------------------------------------------------------------
 */

static Pb__PartRecord make_part(const char *name)
{
    Pb__PartRecord p = PB__PART_RECORD__INIT;
    p.name = (char *)name;
    return p;
}

static void part_changes_that_are_refused_change_nothing(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord p = make_part("a");
    p.state = (char *)"DOWN";
    p.nodes = (char *)"n[1-9]";
    assert_int_equal(fixture_update_part(f, &p), ERR_NO_NODE);
    p = make_part("a");
    p.state = (char *)"SIDEWAYS";
    assert_int_equal(fixture_update_part(f, &p), ERR_PARSE);
    p = make_part("a");
    p.state = (char *)"DOWN";
    p.has_min_nodes = p.has_max_nodes = true;
    p.min_nodes = 3;
    p.max_nodes = 2;
    assert_int_equal(fixture_update_part(f, &p), ERR_RANGE);
    p = make_part("a");
    p.state = (char *)"DOWN";
    p.share = (char *)"YES:0";
    assert_int_equal(fixture_update_part(f, &p), ERR_PARSE);
    p = make_part("a");
    p.state = (char *)"DOWN";
    p.allow_qos = (char *)"x";
    assert_int_equal(fixture_update_part(f, &p), ERR_CANNOT_UPDATE);
    assert_non_null(strstr(fixture_text(f, f->last_call), "AllowQos"));
    p = make_part("z");
    assert_int_equal(fixture_update_part(f, &p), ERR_NO_PARTITION);
    const Pb__PartRecord *now = fixture_part(f, &arena, "a");
    assert_string_equal(now->state, "UP");
    assert_string_equal(now->nodes, "n[1-4]");
    fixture_free(f);
}

static void change_survives_restart_and_reconfiguration(void **state)
{
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord p = make_part("a");
    p.state = (char *)"DRAIN";
    p.nodes = (char *)"n[1-2]";
    p.allow_groups = (char *)"ann,others";
    assert_int_equal(fixture_update_part(f, &p), 0);
    p = make_part("a");
    p.has_max_time_sec = true;
    p.max_time_sec = 120;
    assert_int_equal(fixture_update_part(f, &p), 0);
    p = make_part("b");
    p.has_is_default = p.is_default = true;
    assert_int_equal(fixture_update_part(f, &p), 0);
    for (int round = 0; round < 3; round++) {
        const Pb__PartRecord *a = fixture_part(f, &arena, "a"), *b = fixture_part(f, &arena, "b");
        assert_string_equal(a->state, "DRAIN");
        assert_string_equal(a->nodes, "n[1-2]");
        assert_string_equal(a->allow_groups, "ann,others");
        assert_int_equal(a->max_time_sec, 120);
        assert_false(a->is_default);
        assert_true(b->is_default);
        if (round == 0)
            fixture_restart(f);
        else if (round == 1)
            fixture_reconfigure(f, NODES PARTS KEEP "SelectTypeParameters=CR_Core_Memory");
    }
    fixture_free(f);
}

static int request_part(struct fixture *f, const Pb__PartRecord *set, bool create)
{
    struct caller root = FIXTURE_ROOT;
    Pb__PartUpdate r = PB__PART_UPDATE__INIT;
    r.set = (Pb__PartRecord *)set;
    r.has_create = r.create = create;
    r.has_remove = r.remove = !create;
    control_part_update(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

#define EDITED(flags)                                                                              \
    NODES "PartitionName=a Nodes=n[1-4] Default=YES MaxTime=30 State=DRAIN\n"                      \
          "PartitionName=b Nodes=n[3-4]\nPartitionName=new Nodes=n[1-2] MaxTime=40\n" flags        \
          "SelectTypeParameters=CR_Core_Memory"

static void edit_file(const struct fixture *f, const char *lines)
{
    FILE *file = fopen(f->path, "w");
    assert_non_null(file);
    fprintf(file, "ClusterName=test\nSlurmctldHost=h\nSelectType=select/cons_tres\n%s\n", lines);
    fclose(file);
}

/* slurm.conf(5), ReconfigFlags: the values in memory are kept, also where the file was edited. */
static void keep_part_info_prefers_scontrol_changes_to_file_edits(void **state)
{
    static const struct {
        const char *lines;
        int64_t max_time_sec, new_time_sec;
        const char *state, *new_state, *said;
    } cases[] = {
        {EDITED("ReconfigFlags=KeepPartInfo\n"), 120, 180, "DOWN", "INACTIVE",
         "PartitionName=a: MaxTime stays as set by scontrol, not as edited in slurm.conf"},
        {EDITED("ReconfigFlags=KeepPartState\n"), 30 * 60, 40 * 60, "DOWN", "INACTIVE",
         "PartitionName=a: State stays as set by scontrol, not as edited in slurm.conf"},
        {EDITED(""), 30 * 60, 40 * 60, "DRAIN", "UP",
         "PartitionName=a: State is as in slurm.conf again"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture *f = make_fixture();
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        Pb__PartRecord p = make_part("a"), new = make_part("new");
        p.state = (char *)"DOWN";
        new.state = (char *)"INACTIVE";
        p.has_max_time_sec = new.has_max_time_sec = true;
        p.max_time_sec = 120;
        new.max_time_sec = 180;
        assert_int_equal(fixture_update_part(f, &p), 0);
        assert_int_equal(request_part(f, &new, true), 0);
        assert_non_null(strstr(fixture_reread(f, cases[i].lines, true), cases[i].said));
        assert_int_equal(fixture_part(f, &arena, "a")->max_time_sec, 120);
        assert_non_null(strstr(fixture_reread(f, cases[i].lines, false), cases[i].said));
        for (int restart = 0; restart < 2; restart++) {
            const Pb__PartRecord *a = fixture_part(f, &arena, "a"),
                                 *n = fixture_part(f, &arena, "new");
            assert_int_equal(a->max_time_sec, cases[i].max_time_sec);
            assert_string_equal(a->state, cases[i].state);
            assert_int_equal(n->max_time_sec, cases[i].new_time_sec);
            assert_string_equal(n->state, cases[i].new_state);
            fixture_restart(f);
        }
        fixture_free(f);
    }
}

/* An edit of the file before a restart is newer than what scontrol said before it: for that field,
 * and no other. */
static void an_edited_field_of_the_file_wins_at_a_restart(void **state)
{
    static const char *const edited =
        NODES "PartitionName=a Nodes=n[1-4] Default=YES MaxTime=30\n"
              "PartitionName=b Nodes=n[3-4]\n" KEEP "SelectTypeParameters=CR_Core_Memory";
    struct fixture *f = make_fixture();
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord p = make_part("a");
    p.state = (char *)"DOWN";
    p.has_max_time_sec = true;
    p.max_time_sec = 120;
    assert_int_equal(fixture_update_part(f, &p), 0);
    edit_file(f, edited);
    fixture_restart(f);
    const Pb__PartRecord *a = fixture_part(f, &arena, "a");
    assert_int_equal(a->max_time_sec, 30 * 60);
    assert_string_equal(a->state, "DOWN");
    fixture_restart(f);
    a = fixture_part(f, &arena, "a");
    assert_int_equal(a->max_time_sec, 30 * 60);
    assert_string_equal(a->state, "DOWN");
    fixture_free(f);
}

static void partitions_are_created_and_deleted(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord p = make_part("a");
    assert_int_equal(request_part(f, &p, true), ERR_PART_EXISTS);
    p = make_part("x y");
    assert_int_equal(request_part(f, &p, true), ERR_PARSE);
    static const char *const no_names[] = {"", "DEFAULT", "default", "a#b", "a\"b", "a\\", "a\x1b"};
    for (size_t i = 0; i < sizeof no_names / sizeof no_names[0]; i++) {
        p = make_part(no_names[i]);
        assert_int_equal(request_part(f, &p, true), ERR_PARSE);
    }
    p = make_part("new");
    p.nodes = (char *)"n9";
    assert_int_equal(request_part(f, &p, true), ERR_NO_NODE);
    p.nodes = NULL;
    p.allow_groups = (char *)"adm,a\"b";
    assert_int_equal(request_part(f, &p, true), ERR_PARSE);
    p.allow_groups = NULL;
    p.has_priority_tier = true;
    p.priority_tier = 65534;
    assert_int_equal(request_part(f, &p, true), ERR_RANGE);
    p.has_priority_tier = false;
    assert_null(fixture_part(f, &arena, "new"));
    assert_int_equal(request_part(f, &p, false), ERR_NO_PARTITION);
    p.nodes = (char *)"n[1-2]";
    assert_int_equal(request_part(f, &p, true), 0);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.partition = (char *)"new";
    int64_t id = fixture_submit(f, &user, &spec);
    assert_string_equal(get_live(f, &arena, id)->nodes, "n1");
    p = make_part("b");
    assert_int_equal(request_part(f, &p, false), 0);
    p.nodes = (char *)"n9"; /* in vain: it stays removed */
    assert_int_equal(request_part(f, &p, true), ERR_NO_NODE);
    for (int round = 0; round < 3; round++) {
        assert_string_equal(fixture_part(f, &arena, "new")->nodes, "n[1-2]");
        assert_string_equal(fixture_part(f, &arena, "new")->state, "UP");
        assert_null(fixture_part(f, &arena, "b"));
        assert_string_equal(get_live(f, &arena, id)->partition, "new");
        if (round == 0)
            fixture_restart(f);
        else if (round == 1)
            fixture_reconfigure(f, NODES PARTS KEEP "SelectTypeParameters=CR_Core_Memory");
    }
    p = make_part("new");
    assert_int_equal(request_part(f, &p, false), ERR_PART_IN_USE);
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    assert_int_equal(request_part(f, &p, false), 0);
    assert_string_equal(get_live(f, &arena, id)->partition,
                        "new"); /* the ended job keeps its name */
    fixture_restart(f);
    assert_null(fixture_part(f, &arena, "new"));
    assert_string_equal(get_live(f, &arena, id)->partition, "new");
    /* A line that was edited since is there again. */
    fixture_reconfigure(f, NODES "PartitionName=a Nodes=n[1-4] Default=YES MaxTime=60\n"
                                 "PartitionName=b Nodes=n[2-4]\n" KEEP
                                 "SelectTypeParameters=CR_Core_Memory");
    assert_string_equal(fixture_part(f, &arena, "b")->nodes, "n[2-4]");
    fixture_free(f);
}

struct part_then { /* NULL: the partition does not exist */
    const char *state, *new_state, *removed_nodes;
    int64_t max_time_sec;
};

/* What scontrol has changed, created and removed is as slurm.conf(5) says after a reconfiguration,
 * and after a restart behind it. A restart alone, and another node, change nothing. */
static void reconfig_flags_decide_which_changes_are_kept(void **state)
{
    static const struct {
        const char *flags;
        struct part_then then;
    } cases[] = {
        {"", {"UP", NULL, "n[3-4]", 60 * 60}},
        {"ReconfigFlags=KeepPartState\n", {"DRAIN", "DOWN", "n[3-4]", 60 * 60}},
        {"ReconfigFlags=KeepPartInfo\n", {"DRAIN", "DOWN", NULL, 120}},
        {"ReconfigFlags=keeppartstate,KeepPartInfo\n", {"DRAIN", "DOWN", NULL, 120}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        _cleanup_free_ char *lines = mem_printf("%s%s%s", NODES PARTS, cases[i].flags,
                                                "SelectTypeParameters=CR_Core_Memory");
        struct fixture *f = fixture_new(lines);
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        Pb__PartRecord p = make_part("a"), new = make_part("new"), removed = make_part("b");
        p.state = (char *)"DRAIN";
        p.has_max_time_sec = true;
        p.max_time_sec = 120;
        new.state = (char *)"DOWN";
        new.nodes = (char *)"n1";
        assert_int_equal(fixture_update_part(f, &p), 0);
        assert_int_equal(request_part(f, &new, true), 0);
        assert_int_equal(request_part(f, &removed, false), 0);
        struct part_then before = {"DRAIN", "DOWN", NULL, 120};
        for (int round = 0; round < 3; round++) {
            const struct part_then *then = round == 0 ? &before : &cases[i].then;
            if (round == 1)
                fixture_reconfigure(f, lines);
            else
                fixture_restart(f);
            const Pb__PartRecord *a = fixture_part(f, &arena, "a"),
                                 *b = fixture_part(f, &arena, "b"),
                                 *n = fixture_part(f, &arena, "new");
            assert_string_equal(a->state, then->state);
            assert_int_equal(a->max_time_sec, then->max_time_sec);
            assert_string_equal(n ? n->state : "none", then->new_state ? then->new_state : "none");
            assert_string_equal(b ? b->nodes : "none",
                                then->removed_nodes ? then->removed_nodes : "none");
        }
        fixture_free(f);
    }
}

/* Whose partition left the file: it waits, and can be given another. */
static void job_of_a_removed_partition_can_be_moved(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.partition = (char *)"b";
    spec.has_hold = spec.hold = true;
    int64_t id = fixture_submit(f, &user, &spec);
    fixture_reconfigure(
        f, NODES "PartitionName=a Nodes=ALL Default=YES\nSelectTypeParameters=CR_Core_Memory");
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = (uint32_t)id;
    r.set = &set;
    set.has_min_nodes = true;
    set.min_nodes = 2;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_NO_PARTITION);
    fixture_restart(f);
    set.partition = (char *)"a";
    r.has_hold = true;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    assert_string_equal(get_live(f, &arena, id)->partition, "a");
    fixture_free(f);
}

static void partition_limits_are_enforced(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord p = make_part("a");
    p.has_max_cpus_per_node = p.has_max_mem_per_cpu_mib = p.has_disable_root = true;
    p.max_cpus_per_node = 3;
    p.max_mem_per_cpu_mib = 500;
    p.disable_root = true;
    assert_int_equal(fixture_update_part(f, &p), 0);
    assert_int_equal(fixture_submit(f, &root, NULL), -ERR_ACCESS);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.has_cpus_per_task = true;
    spec.cpus_per_task = 2;
    spec.req_nodes = (char *)"n1";
    int64_t first = fixture_submit(f, &user, &spec), second = fixture_submit(f, &user, &spec);
    assert_int_equal(fixture_state(f, (uint32_t)first), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__PENDING);
    fixture_batch_ended(f, "n1", (uint32_t)first, 0, 0);
    fixture_gone(f, "n1", (uint32_t)first, 0);
    assert_int_equal(fixture_state(f, (uint32_t)second), PB__JOB_STATE__RUNNING);
    spec.cpus_per_task = 4;
    assert_true(fixture_submit(f, &user, &spec) < 0);
    /* 1500 MiB per CPU at 500 MiB per CPU are three CPUs. */
    spec = (Pb__JobSpec)PB__JOB_SPEC__INIT;
    spec.has_mem_per_cpu_mib = true;
    spec.mem_per_cpu_mib = 1500;
    spec.req_nodes = (char *)"n2";
    int64_t id = fixture_submit(f, &user, &spec);
    assert_int_equal(get_live(f, &arena, id)->num_cpus, 3);
    assert_int_equal(get_live(f, &arena, id)->mem_mib, 1500);
    fixture_free(f);
}

/* As Slurm shows them: each node once, in the order of the cluster. A list for an arbitrary
 * distribution stays as it is. */
static void node_lists_are_sorted(void **state)
{
    static const struct {
        const char *given, *distribution, *req, *exc;
    } cases[] = {
        {"n2,n1", NULL, "n[1-2]", "n[1-2]"},
        {"n3,n1,n3", "cyclic", "n[1,3]", "n[1,3]"},
        {"n2", NULL, "n2", "n2"},
        {"n2,n1", "arbitrary", "n2,n1", "n[1-2]"},
    };
    struct caller user = FIXTURE_USER;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        _cleanup_arena_ struct arena arena;
        struct fixture *f = make_fixture();
        Pb__JobSpec held = PB__JOB_SPEC__INIT, set = PB__JOB_SPEC__INIT;
        Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
        arena_init(&arena, 0);
        held.has_hold = held.hold = true;
        held.distribution = (char *)cases[i].distribution;
        held.req_nodes = (char *)cases[i].given;
        int64_t requires = fixture_submit(f, &user, &held);
        held.req_nodes = NULL;
        held.exc_nodes = (char *)cases[i].given;
        int64_t excludes = fixture_submit(f, &user, &held);
        assert_string_equal(fixture_job(f, &arena, (uint32_t) requires)->spec->req_nodes,
                            cases[i].req);
        assert_string_equal(fixture_job(f, &arena, (uint32_t)excludes)->spec->exc_nodes,
                            cases[i].exc);
        r.job_id = (uint32_t)excludes;
        r.set = &set;
        set.req_nodes = (char *)"n4,n4";
        assert_int_equal(fixture_update_job(f, &user, &r), 0);
        assert_string_equal(
            fixture_job(f, &arena, (uint32_t)excludes)->spec->req_nodes,
            cases[i].distribution && !strcmp(cases[i].distribution, "arbitrary") ? "n4,n4" : "n4");
        fixture_free(f);
    }
}

static void minimum_time_is_within_the_time_limit(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT, set = PB__JOB_SPEC__INIT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    spec.has_time_limit_sec = spec.has_time_min_sec = spec.has_hold = spec.hold = true;
    spec.time_limit_sec = 600;
    spec.time_min_sec = 601;
    assert_int_equal(fixture_submit(f, &user, &spec), -ERR_TIME_MIN);
    spec.time_min_sec = 600;
    int64_t id = fixture_submit(f, &user, &spec);
    assert_true(id > 0);
    r.job_id = (uint32_t)id;
    r.set = &set;
    set.has_time_limit_sec = true;
    set.time_limit_sec = 599;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_TIME_MIN);
    set.has_time_min_sec = true;
    set.time_min_sec = 599;
    assert_int_equal(fixture_update_job(f, &user, &r), 0);
    set.has_time_limit_sec = false;
    set.time_min_sec = 600;
    assert_int_equal(fixture_update_job(f, &user, &r), ERR_TIME_MIN);
    spec.has_time_limit_sec = false; /* the partition's, of an hour; and another's, of none */
    spec.time_min_sec = 3601;
    assert_int_equal(fixture_submit(f, &user, &spec), -ERR_TIME_MIN);
    spec.partition = "b";
    spec.time_min_sec = INT64_MAX;
    assert_true(fixture_submit(f, &user, &spec) > 0);
    fixture_free(f);
}

static void over_time_limit_is_granted(void **state)
{
    struct fixture *f = make_fixture();
    struct caller user = FIXTURE_USER;
    Pb__PartRecord p = make_part("a");
    p.has_over_time_limit_sec = true;
    p.over_time_limit_sec = 120;
    assert_int_equal(fixture_update_part(f, &p), 0);
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    spec.has_time_limit_sec = true;
    spec.time_limit_sec = 60;
    int64_t id = fixture_submit(f, &user, &spec);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    fixture_pass(f, 179 * 1000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__RUNNING);
    fixture_pass(f, 2000);
    assert_int_equal(fixture_state(f, (uint32_t)id), PB__JOB_STATE__TIMEOUT);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_changes_that_are_refused_change_nothing),
        cmocka_unit_test(a_refused_hold_leaves_the_other_fields),
        cmocka_unit_test(a_refused_field_leaves_the_throttle),
        cmocka_unit_test(running_job_accepts_few_changes),
        cmocka_unit_test(pending_jobs_change_and_start),
        cmocka_unit_test(requeue_respects_the_requeue_option),
        cmocka_unit_test(hold_of_an_administrator_is_kept),
        cmocka_unit_test(node_changes_that_are_refused_change_nothing),
        cmocka_unit_test(resumed_node_may_register_within_its_timeout),
        cmocka_unit_test(acknowledged_drain_survives_a_restart),
        cmocka_unit_test(part_changes_that_are_refused_change_nothing),
        cmocka_unit_test(change_survives_restart_and_reconfiguration),
        cmocka_unit_test(keep_part_info_prefers_scontrol_changes_to_file_edits),
        cmocka_unit_test(an_edited_field_of_the_file_wins_at_a_restart),
        cmocka_unit_test(reconfig_flags_decide_which_changes_are_kept),
        cmocka_unit_test(partitions_are_created_and_deleted),
        cmocka_unit_test(job_of_a_removed_partition_can_be_moved),
        cmocka_unit_test(partition_limits_are_enforced),
        cmocka_unit_test(node_lists_are_sorted),
        cmocka_unit_test(minimum_time_is_within_the_time_limit),
        cmocka_unit_test(over_time_limit_is_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
