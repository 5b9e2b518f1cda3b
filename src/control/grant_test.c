/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * No user can get, for himself or his job, more than his role permits (RELIABILITY G13, without
 * account management): every field of a submission and of a change with every value of a table,
 * from the owner, another user and an operator, and random sequences of changes. New fields are
 * tested automatically; a field that only operators may set is a word of 'privileged'.
 */
#include "base/pb.h"
#include "base/test_drawn.h"
#include "control/life/resv_test_util.h"

/* Ann is only in her own group, and may use partition a only. */
#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nSlurmdTimeout=0\nPriorityType=priority/basic\n"                 \
    "AllowSpecResourcesUsage=yes\nLicenses=lic:4\nNodeName=n[1-2] CPUs=4 Feature=x\n"              \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=600 DefaultTime=10\n"                           \
    "PartitionName=root Nodes=ALL RootOnly=YES\nPartitionName=key Nodes=ALL Key=YES\n"             \
    "PartitionName=group Nodes=ALL AllowGroups=others\n"                                           \
    "PartitionName=host Nodes=ALL AllocNodes=elsewhere\n"                                          \
    "PartitionName=resv Nodes=ALL ReqResv=YES\n"

#define TEXTS 16
#define NUMBERS 10

static const char *const texts[TEXTS] = {
    "",       "a",       "root",        "key",
    "a,root", "group,a", "host",        "resv",
    "bob",    "bob,x",   "n1",          "1",
    "lic:1",  "x",       "NodeFail=NO", "k0000000000000000000000000000000",
};
static const int64_t numbers[NUMBERS] = {0, 1, 2, 30, 1000, 1001, 100000, 1700100000, -1, -100};

/* Fields of an existing job that only an operator may set. */
static const char privileged[] =
    " admin_comment burst_buffer deadline_at_sec core_spec thread_spec contiguous site_factor ";

static bool is_privileged(const char *field)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", field);
    return strstr(privileged, word) != NULL;
}

static const struct caller owner = FIXTURE_USER, other = FIXTURE_OTHER, root = FIXTURE_ROOT;
static const struct caller operator= {.uid = 7, .is_operator = true, .user_name = "op"};

enum when { SUBMITTED, PENDING, HELD_BY_ROOT, RUNNING, WHENS };

struct world {
    struct fixture *f;
    int64_t job;
};

static struct world make_world(void)
{
    struct world w = {.f = fixture_new(CONF)};
    fixture_register(w.f, "n1", "i1");
    fixture_register(w.f, "n2", "i1");
    resv_test_apply(w.f, "create name=bob start=+0 length=600000 nodes=n2 users=bob");
    return w;
}

/* --- values ------------------------------------------------------------------------------------
 */

/* Sets an optional field to a value of the tables; false: there is none. */
static bool set_field(ProtobufCMessage *m, const ProtobufCFieldDescriptor *field, size_t which)
{
    char *value = (char *)m + field->offset;
    bool is_text = field->type == PROTOBUF_C_TYPE_STRING;
    size_t size = pb_value_size(field);
    size_t values = is_text ? TEXTS : field->type == PROTOBUF_C_TYPE_BOOL ? 2 : NUMBERS;
    if (which >= values || field->label != PROTOBUF_C_LABEL_OPTIONAL ||
        field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_BYTES)
        return false;
    if (is_text) {
        *(char **)value = (char *)texts[which];
        return true;
    }
    memcpy(value, &numbers[which], size); /* little endian */
    *(protobuf_c_boolean *)((char *)m + field->quantifier_offset) = true;
    return true;
}

/* --- limits -------------------------------------------------------------------------------------
 */

/* Copies all stored records. */
static char *copy_records(const struct fixture *f)
{
    struct str out = STR_INIT;
    vec_foreach (&f->records, r) {
        str_printf(&out, "%d %llu %s:", (int)r->kind, (unsigned long long)r->number,
                   r->name ? r->name : "");
        for (size_t i = 0; i < r->data.len; i++)
            str_printf(&out, "%02x", (unsigned char)r->data.data[i]);
    }
    return str_take(&out);
}

static const Pb__JobRecord *find_job(struct world *w, struct arena *arena)
{
    arena_init(arena, 0);
    const Pb__JobRecord *r = fixture_job(w->f, arena, (uint32_t)w->job);
    assert_non_null(r);
    return r;
}

/* For a job that its owner has submitted or changed. */
static void check_identity(const Pb__JobRecord *r)
{
    assert_int_equal(r->spec->uid, owner.uid);
    assert_int_equal(r->spec->gid, owner.gid);
    assert_string_equal(r->spec->user_name, owner.user_name);
    assert_string_equal(r->live->partition ? r->live->partition : "a", "a");
    assert_true(!r->spec->reservation || !strstr(r->spec->reservation, "bob"));
    assert_true(!r->spec->has_nice || r->spec->nice >= 0);
    assert_false(r->spec->has_site_factor);
    assert_null(r->spec->admin_comment);
    assert_null(r->spec->partition_key);
}

static void check_kept(const Pb__JobRecord *before, const Pb__JobRecord *after)
{
    pb_each_field (before->spec->base.descriptor, field)
        if (is_privileged(field->name) && !str_eq(field->name, "contiguous"))
            assert_true(pb_same_field(&before->spec->base, &after->spec->base, field));
    assert_true(!after->spec->contiguous || before->spec->contiguous); /* may be dropped */
    assert_true(after->live->priority <= before->live->priority);
    assert_true(!before->live->admin_hold || after->live->admin_hold);
    assert_false(after->live->priority_given && !before->live->priority_given &&
                 after->live->priority >= before->live->priority);
    if (before->live->state == PB__JOB_STATE__RUNNING)
        assert_true(after->live->time_limit_sec <= before->live->time_limit_sec);
}

/* --- one request -------------------------------------------------------------------------------
 */

static void submit_plain(struct world *w, enum when when)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    SET(&s, time_limit_sec, 300);
    SET(&s, hold, when == PENDING);
    if (when == HELD_BY_ROOT)
        SET(&s, begin_at_sec, w->f->wall_ms / 1000 + 1000000);
    w->job = fixture_submit(w->f, &owner, &s);
    assert_true(w->job > 0);
    Pb__JobUpdate hold = PB__JOB_UPDATE__INIT;
    hold.job_id = (uint32_t)w->job;
    SET(&hold, hold, true);
    if (when == HELD_BY_ROOT)
        assert_int_equal(fixture_update_job(w->f, &root, &hold), 0);
    assert_int_equal(fixture_state(w->f, (uint32_t)w->job),
                     when == RUNNING ? PB__JOB_STATE__RUNNING : PB__JOB_STATE__PENDING);
}

static void end_plain(struct world *w)
{
    fixture_cancel(w->f, &root, w->job, NULL, 0);
    fixture_gone(w->f, "n1", (uint32_t)w->job, 0);
    fixture_clear(w->f);
}

/* Returns whether it was accepted. */
static bool try_submission(struct world *w, const struct caller *who, const Pb__JobSpec *spec)
{
    _cleanup_arena_ struct arena arena = {0};
    w->job = fixture_submit(w->f, who, spec);
    if (w->job > 0 && who == &owner)
        check_identity(find_job(w, &arena));
    bool accepted = w->job > 0;
    if (accepted)
        end_plain(w);
    return accepted;
}

/* Returns whether the change was accepted; a rejected change must leave the stored records
 * unchanged. */
static bool send_change(struct world *w, const struct caller *who, const Pb__JobUpdate *update)
{
    _cleanup_free_ char *before = copy_records(w->f);
    Pb__JobUpdate r = *update;
    r.job_id = (uint32_t)w->job;
    if (fixture_update_job(w->f, who, &r) == 0)
        return true;
    _cleanup_free_ char *after = copy_records(w->f);
    assert_string_equal(after, before);
    return false;
}

static bool try_change(struct world *w, const struct caller *who, enum when when,
                       const Pb__JobUpdate *update)
{
    _cleanup_arena_ struct arena arena = {0}, later = {0};
    submit_plain(w, when);
    const Pb__JobRecord *before = find_job(w, &arena);
    bool accepted = send_change(w, who, update);
    if (accepted && who == &owner) {
        const Pb__JobRecord *after = find_job(w, &later);
        check_identity(after);
        check_kept(before, after);
    }
    end_plain(w);
    return accepted;
}

/* --- all fields ---------------------------------------------------------------------------------
 */

/* Returns how many values of the field are accepted from this caller. */
static unsigned try_field(const struct caller *who, enum when when,
                          const ProtobufCFieldDescriptor *field)
{
    struct world w = make_world();
    unsigned accepted = 0;
    for (size_t i = 0;; i++) {
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        Pb__JobUpdate update = PB__JOB_UPDATE__INIT;
        update.set = &spec;
        if (!set_field(&spec.base, field, i))
            break;
        accepted +=
            when == SUBMITTED ? try_submission(&w, who, &spec) : try_change(&w, who, when, &update);
    }
    fixture_free(w.f);
    return accepted;
}

static void single_fields_give_users_no_privilege(void **state)
{
    (void)state;
    unsigned accepted = 0;
    for (enum when when = SUBMITTED; when < WHENS; when++)
        pb_each_field (&pb__job_spec__descriptor, field) {
            unsigned n = try_field(&owner, when, field);
            if (when != SUBMITTED && is_privileged(field->name))
                assert_true(n == 0 || str_eq(field->name, "contiguous")); /* false */
            accepted += n;
        }
    assert_true(accepted > 1000); /* most random requests are not rejected for other reasons */
}

/* --- one change after another ------------------------------------------------------------------
 */

static uint32_t draw_number(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(*seed >> 8) * below >> 24);
}

/* Fields that affect the order of the queue are more frequent. */
static void draw_change(uint32_t *seed, Pb__JobUpdate *r, Pb__JobSpec *set)
{
    static const ProtobufCMessageDescriptor *const types[] = {&pb__job_update__descriptor,
                                                              &pb__job_spec__descriptor};
    if (draw_number(seed, 2)) {
        SET(set, nice, (int32_t)draw_number(seed, 2000));
        r->set = set;
    }
    if (draw_number(seed, 2))
        SET(r, priority, draw_number(seed, 200));
    while (draw_number(seed, 3) == 0) {
        bool in_set = draw_number(seed, 2);
        const ProtobufCMessageDescriptor *type = types[in_set];
        const ProtobufCFieldDescriptor *field = &type->fields[draw_number(seed, type->n_fields)];
        if (set_field(in_set ? &set->base : &r->base, field, draw_number(seed, TEXTS)) && in_set)
            r->set = set;
    }
}

/* An operator has put the job far down the queue. */
static void give_priority(struct world *w, uint32_t priority)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)w->job;
    SET(&r, priority, priority);
    assert_int_equal(fixture_update_job(w->f, &operator, & r), 0);
}

static unsigned try_changes(uint32_t seed)
{
    _cleanup_arena_ struct arena arena = {0};
    struct world w = make_world();
    Pb__JobSpec late = PB__JOB_SPEC__INIT;
    unsigned accepted = 0;
    SET(&late, begin_at_sec, w.f->wall_ms / 1000 + 1000000);
    w.job = fixture_submit(w.f, &owner, &late);
    give_priority(&w, 1 + draw_number(&seed, 150));
    const Pb__JobRecord *before = find_job(&w, &arena);
    for (unsigned i = 0; i < 12; i++) {
        _cleanup_arena_ struct arena later = {0};
        Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
        Pb__JobSpec set = PB__JOB_SPEC__INIT;
        draw_change(&seed, &r, &set);
        accepted += send_change(&w, &owner, &r);
        const Pb__JobRecord *after = find_job(&w, &later);
        if (after->live->state != PB__JOB_STATE__PENDING)
            break;
        check_identity(after);
        check_kept(before, after);
    }
    fixture_free(w.f);
    return accepted;
}

static void sequences_of_changes_give_users_no_privilege(void **state)
{
    (void)state;
    unsigned accepted = 0;
    for (uint32_t seed = 1; seed <= TEST_DRAWN(2000); seed++) {
        print_message("seed %u\n", seed);
        accepted += try_changes(seed);
    }
    assert_true(accepted > 1000);
}

static void another_user_changes_nothing(void **state)
{
    (void)state;
    for (enum when when = PENDING; when < WHENS; when++)
        pb_each_field (&pb__job_spec__descriptor, field)
            assert_int_equal(try_field(&other, when, field), 0);
}

/* Otherwise the rejections of users would prove nothing. */
static void operators_may_change_privileged_fields(void **state)
{
    (void)state;
    pb_each_field (&pb__job_spec__descriptor, field)
        if (is_privileged(field->name)) {
            print_message("%s\n", field->name);
            assert_true(try_field(&operator, PENDING, field) > 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_fields_give_users_no_privilege),
        cmocka_unit_test(sequences_of_changes_give_users_no_privilege),
        cmocka_unit_test(another_user_changes_nothing),
        cmocka_unit_test(operators_may_change_privileged_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
