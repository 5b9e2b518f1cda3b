/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heterogeneous jobs from submission to end: all components or none, whatever happens. */
#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "cluster/job/job_set.h"
#include "control/fixture.h"

static struct fixture *make_fixture(const char *lines)
{
    return fixture_new_up(lines, 4);
}

static void reason_is(struct fixture *f, int64_t id, const char *expected)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const char *reason = fixture_job(f, &arena, (uint32_t)id)->live->reason;
    assert_string_equal(reason ? reason : "None", expected);
}

/* HET-31 to HET-35, HET-115. */
static void all_components_start_together(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(2, 4), fixture_spec(1, 4)};
    (void)state;
    int64_t blocker = fixture_submit(f, &user, NULL);
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    assert_true(id > blocker);
    fixture_expect_set(f, id, "PD PD PD");
    fixture_end(f, (uint32_t)blocker, 0);
    fixture_turn(f);
    fixture_expect_set(f, id, "R R R");
    assert_int_equal(fixture_launches(f, "n1", (uint32_t)id), 1); /* one script */
    assert_int_equal(fixture_launches(f, "n2", (uint32_t)id + 1), 0);
    fixture_restart(f);
    fixture_expect_set(f, id, "R R R");
    fixture_free(f);
}

/* HET-95: a component that shares no core gets the free one before the other component, which
 * shares the core of the running job. */
static void components_are_allocated_as_they_were_placed(void **state)
{
    struct fixture *f = fixture_new_up("SelectTypeParameters=CR_Core\nNodeName=n1 CPUs=2\n"
                                       "PartitionName=a Nodes=ALL Default=YES\n"
                                       "PartitionName=s Nodes=ALL OverSubscribe=FORCE:2\n",
                                       1);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 1)}, first = fixture_spec(1, 1);
    (void)state;
    first.partition = specs[1].partition = (char *)"s";
    fixture_submit(f, &user, &first);
    fixture_expect_set(f, fixture_submit_set(f, &user, specs, 2), "R R");
    fixture_free(f);
}

/* HET-20, HET-21, HET-23: each component counts as a job, and is held against the limits of its
 * partition; what one of them may not have refuses all, and nothing is queued. */
static void limits_hold_for_each_component(void **state)
{
    struct fixture *f = make_fixture("MaxJobCount=3\nEnforcePartLimits=ALL\n" FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec four[] = {fixture_spec(1, 1), fixture_spec(1, 1), fixture_spec(1, 1),
                          fixture_spec(1, 1)};
    Pb__JobSpec late[] = {fixture_spec(1, 1), fixture_spec(1, 1)}, large[] = {late[0], late[1]};
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    (void)state;
    SET(&late[1], time_limit_sec, 45 * 60); /* MaxTime=30 */
    late[1].partition = (char *)"b";
    large[1] = fixture_spec(3, 1); /* of two nodes */
    large[1].partition = (char *)"b";
    assert_true(fixture_submit_set(f, &user, four, 4) < 0);
    assert_true(fixture_submit_set(f, &user, late, 2) < 0);
    assert_true(fixture_submit_set(f, &user, large, 2) < 0);
    control_stats(f->control, &stats);
    assert_int_equal(stats.jobs, 0);
    assert_true(fixture_submit_set(f, &user, four, 3) > 0);
    assert_true(fixture_submit(f, &user, NULL) < 0);
    fixture_free(f);
}

/* HET-116: no component has a reason before the planner has looked at the job, and each has one
 * after that. */
static void reason_of_a_set_is_set_by_the_planner(void **state)
{
    struct fixture *f = make_fixture("SchedulerType=sched/builtin\n" FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(2, 4), fixture_spec(2, 4)}, three = fixture_spec(3, 4);
    (void)state;
    fixture_submit(f, &user, &three);
    int64_t head = fixture_submit(f, &user, &three);
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    reason_is(f, id, "None");
    reason_is(f, id + 1, "None");
    assert_int_equal(fixture_cancel(f, &user, head, NULL, 0), 0);
    fixture_turn(f);
    reason_is(f, id, "Resources");
    reason_is(f, id + 1, "Resources");
    fixture_free(f);
}

/* HET-56: a hold is the reason of the component that has to be released; the others wait for that
 * one, whichever it is, and after an update of one of them. */
static void hold_is_the_reason_of_the_held_component(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)},
                four = fixture_spec(4, 4);
    Pb__JobSpec nice = PB__JOB_SPEC__INIT;
    (void)state;
    fixture_submit(f, &user, &four);
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    SET(&nice, nice, 1);
    for (uint32_t held = 0; held < 3; held++) {
        Pb__JobUpdate hold = PB__JOB_UPDATE__INIT, update = PB__JOB_UPDATE__INIT;
        hold.job_id = (uint32_t)id;
        SET(&hold, set_offset, held);
        update.job_id = (uint32_t)id + 1;
        update.set = &nice;
        SET(&hold, hold, true);
        assert_int_equal(fixture_update_job(f, &user, &hold), 0);
        assert_int_equal(fixture_update_job(f, &user, &update), 0);
        for (uint32_t i = 0; i < 3; i++)
            reason_is(f, id + i, i == held ? "JobHeldUser" : "Dependency");
        hold.hold = hold.has_set_offset = false;
        assert_int_equal(fixture_update_job(f, &user, &hold), 0);
        for (uint32_t i = 0; i < 3; i++)
            reason_is(f, id + i, "Resources");
    }
    fixture_free(f);
}

/* HET-46: the leader's only node is no longer configured when the controller starts again. The end
 * of the leader ends the component, whose own record is looked at after that. */
static void node_missing_at_a_restart_ends_the_set(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)};
    (void)state;
    specs[0].has_requeue = specs[1].has_requeue = true;
    specs[0].req_nodes = (char *)"n4";
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    fixture_expect_set(f, id, "R R");
    FILE *file = fopen(f->path, "w");
    fprintf(file, "ClusterName=test\nSlurmctldHost=h\nSelectType=select/cons_tres\n"
                  "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-3] CPUs=4 RealMemory=4000\n"
                  "PartitionName=a Nodes=ALL Default=YES\n");
    assert_int_equal(fclose(file), 0);
    fixture_restart(f);
    fixture_expect_set(f, id, "NF CG");
    fixture_free(f);
}

/* The record of a job is damaged: it is set aside at the next start. */
static void damage(struct fixture *f, uint32_t id)
{
    f->has_damaged = true;
    vec_foreach (&f->records, r)
        if (r->kind == RECORD_JOB && r->number == id)
            memset(r->data.data, 0xff, r->data.len);
}

/* What the node was told with the last launch of the job; NULL: it was not launched there. */
static const Pb__LaunchBatch *last_launch(const struct fixture *f, const char *node, int64_t id)
{
    const Pb__LaunchBatch *last = NULL;
    vec_foreach (&f->orders, at)
        for (size_t i = 0; str_eq((*at)->node, node) && i < (*at)->orders->n_orders; i++) {
            const Pb__LaunchBatch *launch = (*at)->orders->orders[i]->launch;
            if (launch && launch->job_id == id)
                last = launch;
        }
    return last;
}

/* "0 on n1 in a: 4 CPUs, 1 on ...", -1 for one that is gone: what the script is told of the
 * components. */
static void components_are(const Pb__LaunchBatch *launch, int64_t leader, const char *expected)
{
    _cleanup_str_ struct str out = STR_INIT;
    assert_non_null(launch);
    for (size_t i = 0; i < launch->n_components; i++) {
        const Pb__AllocReply *r = launch->components[i];
        str_printf(&out, "%s%lld", i ? ", " : "", r->job_id ? (long long)r->job_id - leader : -1);
        if (r->granted)
            str_printf(&out, " on %s in %s: %u CPUs", r->nodes, r->partition, r->num_cpus);
    }
    assert_string_equal(str_cstr(&out), expected);
}

/* HET-83 to HET-89: each component's allocation and request, also when the launch is repeated. */
static void script_gets_variables_of_all_components(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 2), fixture_spec(1, 4)};
    (void)state;
    specs[1].partition = (char *)"b";
    specs[0].req_nodes = (char *)"n1";
    specs[1].req_nodes = (char *)"n3";
    specs[2].req_nodes = (char *)"n2";
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    static const char all[] = "0 on n1 in a: 4 CPUs, 1 on n3 in b: 2 CPUs, 2 on n2 in a: 4 CPUs";
    components_are(last_launch(f, "n1", id), id, all);
    const Pb__LaunchBatch *launch = last_launch(f, "n1", id);
    assert_int_equal(launch->components[1]->spec->cpus_per_task, 2);
    assert_int_equal(launch->components[1]->n_alloc, 1);
    assert_int_equal(launch->components[1]->alloc[0]->cpus, 2);
    assert_int_equal(launch->components[1]->start_at_sec, f->wall_ms / 1000);
    fixture_clear(f);
    assert_int_equal(fixture_cancel(f, &user, id + 1, NULL, 0), 0);
    fixture_pass(f, 11000); /* nothing was heard of the launch: it is repeated */
    components_are(last_launch(f, "n1", id), id, all);
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    components_are(last_launch(f, "n1", id), id, all);
    damage(f, (uint32_t)id + 1);
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    components_are(last_launch(f, "n1", id), id, "0 on n1 in a: 4 CPUs, -1, 2 on n2 in a: 4 CPUs");
    specs[0].req_nodes = (char *)"n4";
    fixture_register(f, "n4", "i1");
    int64_t single = fixture_submit(f, &user, &specs[0]);
    components_are(last_launch(f, "n4", single), single, "");
    fixture_free(f);
}

/* Launches and variables of site scripts name the set to which a component belongs. */
static void launches_name_the_component(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF "PrologFlags=Contain\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)};
    size_t told = 0;
    (void)state;
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    vec_foreach (&f->orders, at)
        for (size_t i = 0; i < (*at)->orders->n_orders; i++) {
            const Pb__NodeOrder *o = (*at)->orders->orders[i];
            if (!o->prepare || o->prepare->job_id != id + 1)
                continue;
            assert_int_equal(o->attempt->facts->set_id, id);
            assert_int_equal(o->attempt->facts->set_offset, 1);
            assert_int_equal(o->attempt->facts->set_count, 2);
            told++;
        }
    assert_int_equal(told, 1);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__LaunchBatch *launch = last_launch(f, "n1", id);
    const Pb__Cred *cred =
        arena_unpack(&arena, &pb__cred__descriptor, launch->cred.data, launch->cred.len);
    assert_int_equal(cred->facts->set_id, id);
    assert_true(cred->facts->has_set_offset);
    assert_int_equal(cred->facts->set_offset, 0);
    id = fixture_submit(f, &user, NULL);
    launch = last_launch(f, "n3", id);
    cred = arena_unpack(&arena, &pb__cred__descriptor, launch->cred.data, launch->cred.len);
    assert_false(cred->facts->has_set_id);
    fixture_free(f);
}

/* HET-21: one that is wrong, and nothing of the others is left. */
static void invalid_component_refuses_the_set(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF "EnforcePartLimits=ALL\n");
    struct caller user = FIXTURE_USER;
    static Pb__JobSpec many[JOB_SET_MAX + 1];
    (void)state;
    Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 1), fixture_spec(1, 1)};
    specs[2].partition = (char *)"z";
    assert_int_equal(fixture_submit_set(f, &user, specs, 3), -ERR_NO_PARTITION);
    assert_string_equal(fixture_text(f, f->last_call),
                        "Invalid partition name specified: z (component 2)");
    specs[2] = fixture_spec(5, 1);
    assert_int_equal(fixture_submit_set(f, &user, specs, 3), -ERR_NODE_COUNT);
    specs[2] = fixture_spec(1, 1);
    specs[1].array_inx = (char *)"0-1";
    assert_int_equal(fixture_submit_set(f, &user, specs, 3), -ERR_ARRAY);
    specs[1] = fixture_spec(1, 1);
    specs[1].has_uid = specs[1].has_gid = true; /* root may give all of it to another user */
    specs[1].uid = specs[1].gid = 1000;
    assert_int_equal(fixture_submit_set(f, &FIXTURE_ROOT, specs, 3), -ERR_NOT_SUPPORTED);
    assert_non_null(strstr(fixture_text(f, f->last_call), "a heterogeneous job has one user"));
    for (size_t i = 0; i < 3; i++) {
        specs[i].has_uid = specs[i].has_gid = true;
        specs[i].uid = specs[i].gid = 1000;
    }
    specs[1].gid = 1001;
    assert_int_equal(fixture_submit_set(f, &FIXTURE_ROOT, specs, 3), -ERR_NOT_SUPPORTED);
    assert_string_equal(fixture_text(f, f->last_call),
                        "a heterogeneous job has one group, but component 1 is of gid 1001 and "
                        "component 0 of gid 1000");
    specs[0] = specs[2] = fixture_spec(1, 1);
    specs[1] = fixture_spec(1, 1);
    specs[0].licenses = specs[1].licenses = (char *)"a:2"; /* each alone could have them */
    assert_int_equal(fixture_submit_set(f, &user, specs, 3), -ERR_LICENSE);
    for (size_t i = 0; i <= JOB_SET_MAX; i++)
        many[i] = fixture_spec(1, 1);
    assert_int_equal(fixture_submit_set(f, &user, many, JOB_SET_MAX + 1), -ERR_LIMIT);
    assert_int_equal(fixture_submit_set(f, &user, many, JOB_SET_MAX), -ERR_NODE_CONFIG);
    assert_int_equal(fixture_count_jobs(f), 0);
    fixture_free(f);
    f = make_fixture(FIXTURE_SET_CONF); /* EnforcePartLimits=NO */
    assert_true(fixture_submit_set(f, &user, many, JOB_SET_MAX) > 0);
    assert_int_equal(fixture_count_jobs(f), JOB_SET_MAX);
    fixture_free(f);
}

/* The same request again is the same set. */
static void a_repeated_submission_is_the_same_set(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 1)};
    (void)state;
    specs[0].has_request_id = true;
    specs[0].request_id = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    assert_int_equal(fixture_submit_set(f, &user, specs, 2), id);
    fixture_restart(f);
    assert_int_equal(fixture_submit_set(f, &user, specs, 2), id);
    assert_int_equal(fixture_count_jobs(f), 2);
    fixture_free(f);
}

static void end_of_the_leader_ends_the_set(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(2, 4)};
    (void)state;
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    fixture_expect_set(f, id, "R R");
    fixture_end(f, (uint32_t)id, 1 << 8);
    fixture_expect_set(f, id, "F F");
    id = fixture_submit_set(f, &user, specs, 2);
    fixture_end(f, (uint32_t)id, 0);
    fixture_expect_set(f, id, "CD CD");
    fixture_free(f);
}

/* HET-41 to HET-46. */
static void components_are_cancelled(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)};
    Pb__JobSpec large[] = {fixture_spec(2, 4), fixture_spec(2, 4)};
    (void)state;
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    int64_t waiting = fixture_submit_set(f, &user, large, 2);
    fixture_expect_set(f, waiting, "PD PD");
    assert_int_equal(fixture_cancel(f, &user, waiting + 1, NULL, 0), ERR_NOT_WHOLE_SET);
    fixture_expect_set(f, waiting, "PD PD");
    assert_int_equal(fixture_cancel(f, &user, waiting, NULL, 0), 0);
    fixture_expect_set(f, waiting, "CA CA");
    assert_int_equal(fixture_cancel(f, &user, id + 1, NULL, 0), 0);
    fixture_expect_set(f, id, "R CA R");
    assert_int_equal(fixture_cancel(f, &user, id, NULL, 0), 0);
    fixture_expect_set(f, id, "CG CA CA");
    fixture_free(f);
}

/* A node of any component is lost: all return to the queue, and start together again, with the one
 * that was cancelled. */
static void lost_node_requeues_the_set(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF "SlurmdTimeout=10\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4), fixture_spec(1, 4)};
    (void)state;
    specs[0].has_requeue = specs[1].has_requeue = specs[2].has_requeue = true;
    specs[0].requeue = specs[1].requeue = specs[2].requeue = true;
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    assert_int_equal(fixture_cancel(f, &user, id + 2, NULL, 0), 0);
    fixture_expect_set(f, id, "R R CA");
    for (int i = 0; i < 4; i++) { /* n2, of the second component, stops responding */
        fixture_pass(f, 4000);
        fixture_register_job(f, "n1", (uint32_t)id, false);
        fixture_register(f, "n3", "i1");
        fixture_register(f, "n4", "i1");
    }
    fixture_expect_set(f, id, "CG PD PD");
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_expect_set(f, id, "R R R");
    fixture_free(f);
}

/* HET-49, HET-50, HET-52, HET-53, HET-56. */
static void orders_for_the_leader_apply_to_all_components(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(2, 4)};
    Pb__JobUpdate hold = PB__JOB_UPDATE__INIT, requeue = PB__JOB_UPDATE__INIT;
    (void)state;
    hold.has_hold = hold.hold = requeue.has_requeue = requeue.requeue = true;
    int64_t id = fixture_submit_set(f, &user, specs, 2),
            next = fixture_submit_set(f, &user, specs, 2);
    fixture_expect_set(f, next, "PD PD");
    hold.job_id = (uint32_t)next + 1;
    assert_int_equal(fixture_update_job(f, &user, &hold), 0); /* of one component */
    requeue.job_id = (uint32_t)id + 1;
    assert_int_equal(fixture_update_job(f, &user, &requeue), ERR_NOT_WHOLE_SET);
    requeue.job_id = (uint32_t)id;
    assert_int_equal(fixture_update_job(f, &user, &requeue), 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_expect_set(f, id, "R R"); /* once more: the other one is held by its second component */
    assert_int_equal(fixture_cancel(f, &user, id, NULL, 0), 0);
    fixture_gone(f, "n1", (uint32_t)id, 1);
    fixture_expect_set(f, next, "PD PD");
    hold.hold = false;
    hold.job_id = (uint32_t)next;
    assert_int_equal(fixture_update_job(f, &user, &hold), 0);
    fixture_turn(f);
    fixture_expect_set(f, next, "R R");
    for (int whole = 0; whole < 2; whole++) {
        Pb__JobSuspend suspend = PB__JOB_SUSPEND__INIT;
        suspend.job_id = (uint32_t)next + (whole ? 0 : 1);
        control_job_suspend(f->control, ++f->last_call, &root, &suspend);
        fixture_turn(f);
        assert_int_equal(fixture_code(f, f->last_call), whole ? 0 : ERR_NOT_WHOLE_SET);
        fixture_expect_set(f, next, whole ? "S S" : "R R");
    }
    fixture_free(f);
}

/* An id that was guessed, an update that asks for too much in all, and a component that is not
 * there. */
static void forbidden_requests_of_components_are_refused(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF "Licenses=lic:4\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 1), fixture_spec(1, 1)};
    Pb__JobUpdate update = PB__JOB_UPDATE__INIT;
    Pb__JobSpec licenses = PB__JOB_SPEC__INIT;
    Pb__JobIdRequest wait = PB__JOB_ID_REQUEST__INIT;
    (void)state;
    specs[0].has_hold = specs[0].hold = specs[1].has_hold = specs[1].hold = true;
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    char own[24];
    snprintf(own, sizeof own, "afterok:%u", (unsigned)id + 2); /* the leader that follows */
    specs[1].dependency = own;
    assert_int_equal(fixture_submit_set(f, &user, specs, 2), -ERR_DEPENDENCY);
    update.job_id = (uint32_t)id;
    update.set = &licenses;
    licenses.licenses = (char *)"lic:2";
    assert_int_equal(fixture_update_job(f, &user, &update), 0);
    licenses.licenses = (char *)"lic:3";
    assert_int_equal(fixture_update_job(f, &user, &update), ERR_LICENSE);
    assert_non_null(strstr(fixture_text(f, f->last_call), "(component 0)"));
    wait.job_id = (uint32_t)id;
    wait.has_set_offset = true;
    for (wait.set_offset = 0; wait.set_offset < 4; wait.set_offset++) {
        control_job_wait_end(f->control, ++f->last_call, &user, &wait);
        fixture_turn(f);
        assert_int_equal(fixture_code(f, f->last_call), wait.set_offset < 2 ? -1 : ERR_NO_JOB);
    }
    fixture_free(f);
}

/* The end of the leader ends the others at once; its own nodes are clean later. */
static void dependents_wait_for_the_nodes_of_the_leader(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)}, next = fixture_spec(1, 4);
    char on[24];
    (void)state;
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    snprintf(on, sizeof on, "afternotok:%u", (unsigned)id);
    next.dependency = on;
    int64_t dependent = fixture_submit(f, &user, &next);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 1 << 8);
    fixture_expect_set(f, id, "CG F");
    assert_int_equal(fixture_state(f, (uint32_t)dependent), PB__JOB_STATE__PENDING);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    assert_int_equal(fixture_state(f, (uint32_t)dependent), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* Records stay until all components have ended, and go then. */
static void records_are_purged_together(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF "MinJobAge=300\nSlurmdTimeout=0\n");
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(1, 4)};
    (void)state;
    int64_t id = fixture_submit_set(f, &user, specs, 2);
    assert_int_equal(fixture_cancel(f, &user, id + 1, NULL, 0), 0);
    fixture_launched(f, "n1", (uint32_t)id, 0);
    fixture_pass(f, 1000 * 1000);
    fixture_expect_set(f, id, "R CA");
    fixture_batch_ended(f, "n1", (uint32_t)id, 0, 0);
    fixture_gone(f, "n1", (uint32_t)id, 0);
    for (int i = 0; i < 20; i++)
        fixture_pass(f, 60 * 1000);
    assert_int_equal(fixture_count_jobs(f), 0);
    fixture_free(f);
}

static void expect_missing(struct fixture *f, uint32_t id, const char *text)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobRecord *job = fixture_job(f, &arena, id);
    assert_string_equal(job->live->reason, "SystemFailure");
    assert_string_equal(job->live->reason_detail, text);
}

/* Step 0 of the id is one of component 0, never that of another component. */
static void refuse_step_of_lost_leader(struct fixture *f, uint32_t id)
{
    Pb__JobSignal m = PB__JOB_SIGNAL__INIT;
    Pb__StepId target = PB__STEP_ID__INIT, *targets[] = {&target};
    struct caller user = FIXTURE_USER;
    target.job_id = id;
    target.has_step_id = true;
    m.target = targets;
    m.n_target = 1;
    control_job_signal(f->control, ++f->last_call, &user, &m);
    fixture_turn(f);
    const struct fixture_reply *reply = &vec_last(&f->replies);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(reply->call, f->last_call);
    const Pb__JobSignalReply *r =
        arena_unpack(&arena, &pb__job_signal_reply__descriptor, reply->data.data, reply->data.len);
    assert_int_equal(r->results[0]->code, ERR_NO_JOB);
    assert_non_null(strstr(r->results[0]->text, "component 0"));
}

/* The record with the id of an array is lost: the id is not that of another element's allocation.
 */
static void id_of_a_lost_array_record_names_no_allocation(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec spec = fixture_spec(1, 1);
    Pb__JobIdRequest info = PB__JOB_ID_REQUEST__INIT;
    (void)state;
    spec.array_inx = (char *)"0-1";
    info.job_id = (uint32_t)fixture_submit(f, &user, &spec);
    damage(f, info.job_id);
    fixture_restart(f);
    control_alloc_info(f->control, ++f->last_call, &user, &info);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), ERR_NO_JOB);
    fixture_free(f);
}

/* A record of one component is damaged: the others wait, with a reason that names it and that stays
 * whatever is asked, or run until somebody ends the leader. A release is refused. */
static void damaged_record_splits_a_set(void **state)
{
    struct fixture *f = make_fixture(FIXTURE_SET_CONF);
    struct caller user = FIXTURE_USER, root = FIXTURE_ROOT;
    Pb__JobSpec specs[] = {fixture_spec(1, 4), fixture_spec(2, 4)};
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    (void)state;
    uint32_t runs = (uint32_t)fixture_submit_set(f, &user, specs, 2);
    uint32_t first = (uint32_t)fixture_submit_set(f, &user, specs, 2);
    uint32_t second = (uint32_t)fixture_submit_set(f, &user, specs, 2);
    fixture_launched(f, "n1", runs, 0);
    damage(f, runs);
    damage(f, first);      /* a leader */
    damage(f, second + 1); /* another component */
    fixture_restart(f);
    assert_int_equal(fixture_state(f, runs + 1), PB__JOB_STATE__RUNNING);
    refuse_step_of_lost_leader(f, runs);
    const Pb__JobRecord *waits = fixture_job(f, &arena, first + 1);
    assert_int_equal(waits->live->state, PB__JOB_STATE__PENDING);
    _cleanup_free_ char *text =
        mem_printf("the record of component 0 of the heterogeneous job %u is missing: cancel the "
                   "job, and submit it again",
                   first);
    expect_missing(f, first + 1, text);
    Pb__JobUpdate release = PB__JOB_UPDATE__INIT, hold = PB__JOB_UPDATE__INIT;
    release.job_id = hold.job_id = first + 1;
    release.has_hold = hold.has_hold = hold.hold = true;
    assert_int_equal(fixture_update_job(f, &root, &release), ERR_STORE_DAMAGED);
    assert_non_null(strstr(fixture_text(f, f->last_call), text));
    assert_int_equal(fixture_update_job(f, &user, &hold), 0);
    fixture_restart(f);
    expect_missing(f, first + 1, text);
    assert_int_equal(fixture_update_job(f, &user, &release), ERR_STORE_DAMAGED);
    fixture_turn(f);
    expect_missing(f, first + 1, text);
    assert_int_equal(fixture_cancel(f, &user, first + 1, NULL, 0), 0);
    assert_int_equal(fixture_state(f, first + 1), PB__JOB_STATE__CANCELLED);
    waits = fixture_job(f, &arena, second);
    assert_string_equal(waits->live->reason, "SystemFailure");
    assert_int_equal(fixture_cancel(f, &user, second, NULL, 0), 0);
    assert_int_equal(fixture_state(f, second), PB__JOB_STATE__CANCELLED);
    fixture_register_job(f, "n1", runs, false); /* the node says that it runs there */
    assert_int_equal(fixture_cancel(f, &root, runs, NULL, 0), 0);
    assert_int_equal(fixture_state(f, runs + 1), PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

/* Whatever comes: never one component running while another is pending (control_check(), in each
 * turn), across restarts, too. */
static void random_faults_never_split_a_set(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct fixture *f = make_fixture(FIXTURE_SET_CONF "SlurmdTimeout=20\n");
        struct caller root = FIXTURE_ROOT, user = FIXTURE_USER;
        VEC(uint32_t) ids = {0};
        for (int step = 0; step < 60; step++) {
            uint32_t id = ids.len ? ids.data[(seed >> 20) % ids.len] : 0;
            char node[8];
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uint32_t dice = (uint32_t)(seed >> 33), of = id + dice % 3;
            snprintf(node, sizeof node, "n%u", 1 + dice / 7 % 4);
            Pb__JobUpdate update = PB__JOB_UPDATE__INIT;
            update.job_id = of;
            switch (dice % 11) {
            case 0:
            case 1: {
                Pb__JobSpec specs[3];
                for (int i = 0; i < 3; i++) {
                    specs[i] = fixture_spec(1 + (dice >> i & 1), 1 + (dice >> (i + 2) & 3) % 4);
                    specs[i].has_requeue = specs[i].requeue = true;
                    specs[i].partition = dice >> (i + 8) & 1 ? (char *)"b" : (char *)"a";
                }
                int64_t made = fixture_submit_set(f, &user, specs, 2 + dice % 2);
                if (made > 0)
                    vec_push(&ids, (uint32_t)made);
                break;
            }
            case 2:
                fixture_cancel(f, &user, of, NULL, 0);
                break;
            case 3:
                control_node_lost(f->control, node);
                fixture_turn(f);
                break;
            case 4:
                fixture_register(f, node, dice & 64 ? "i0" : "i1");
                break;
            case 5:
                fixture_restart(f);
                break;
            case 6:
                update.has_requeue = update.requeue = true;
                fixture_update_job(f, &root, &update);
                break;
            case 7:
                update.has_hold = true;
                update.hold = dice & 128;
                fixture_update_job(f, &user, &update);
                break;
            case 8:
                for (uint32_t i = 1; id && i < 5; i++) {
                    snprintf(node, sizeof node, "n%u", i);
                    fixture_gone(f, node, of, dice >> 9 & 1);
                }
                break;
            case 9:
                if (id)
                    fixture_end(f, id, dice & 256 ? 1 << 8 : 0);
                break;
            default:
                fixture_pass(f, 1000 * (dice % 200));
            }
        }
        vec_done(&ids);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_components_start_together),
        cmocka_unit_test(components_are_allocated_as_they_were_placed),
        cmocka_unit_test(script_gets_variables_of_all_components),
        cmocka_unit_test(launches_name_the_component),
        cmocka_unit_test(invalid_component_refuses_the_set),
        cmocka_unit_test(a_repeated_submission_is_the_same_set),
        cmocka_unit_test(end_of_the_leader_ends_the_set),
        cmocka_unit_test(components_are_cancelled),
        cmocka_unit_test(lost_node_requeues_the_set),
        cmocka_unit_test(orders_for_the_leader_apply_to_all_components),
        cmocka_unit_test(forbidden_requests_of_components_are_refused),
        cmocka_unit_test(dependents_wait_for_the_nodes_of_the_leader),
        cmocka_unit_test(records_are_purged_together),
        cmocka_unit_test(limits_hold_for_each_component),
        cmocka_unit_test(reason_of_a_set_is_set_by_the_planner),
        cmocka_unit_test(hold_is_the_reason_of_the_held_component),
        cmocka_unit_test(node_missing_at_a_restart_ends_the_set),
        cmocka_unit_test(damaged_record_splits_a_set),
        cmocka_unit_test(id_of_a_lost_array_record_names_no_allocation),
        cmocka_unit_test(random_faults_never_split_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
