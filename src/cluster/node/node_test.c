/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster_test_util.h"
#include "cluster/node/node_list.h"

static const char conf[] =
    CONS "SlurmdPort=7000\n"
         "NodeName=a CPUs=4 RealMemory=1000 TmpDisk=50 Weight=3 Feature=x,yy,z Gres=gpu:2 "
         "NodeAddr=10.0.0.1 NodeHostname=host-a\n"
         "NodeName=b Boards=1 SocketsPerBoard=2 CoresPerSocket=3 ThreadsPerCore=2 Port=7001\n"
         "NodeName=c State=DOWN Reason=broken\nNodeName=d State=DRAIN\nNodeName=e State=FAIL\n"
         "NodeName=f State=FUTURE\nNodeName=g\n"
         "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=b\nPartitionName=r Nodes=a,b\n";

static struct node *find_node(const struct cluster *c, const char *name)
{
    struct node *n = cluster_find_node(c, name);
    assert_non_null(n);
    return n;
}

static const Pb__NodeRecord *unpack_record(struct arena *arena, struct str *packed)
{
    const Pb__NodeRecord *m =
        arena_unpack(arena, &pb__node_record__descriptor, packed->data, packed->len);
    assert_non_null(m);
    str_done(packed);
    return m;
}

static const Pb__NodeRecord *list_node(const struct cluster *c, const char *name,
                                       struct arena *arena)
{
    struct str packed = STR_INIT;
    struct node_view view;
    node_view_init(&view);
    node_view_set(&view, c, find_node(c, name), &PB_ALL_FIELDS);
    pb_pack(&view.record.base, &packed);
    node_view_done(&view);
    return unpack_record(arena, &packed);
}

static void node_features_are_matched_exactly(void **state)
{
    static const struct {
        const char *list, *word;
        bool has;
    } cases[] = {
        {NULL, "x", false},     {"", "x", false},       {"x,yy,z", "x", true},
        {"x,yy,z", "z", true},  {"x,yy,z", "yy", true}, {"x,yy,z", "y", false},
        {"x", "xx", false},     {"xx", "x", false},     {"x,yy,z", "yy,z", false},
        {"x,yy,z", "", false},  {"x,yy,z", "X", false}, {",x,", "x", true},
        {"x,yy,z", ",", false},
    };
    struct cluster *c = test_cluster(conf);
    struct node *n = find_node(c, "g");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        free(n->features);
        n->features = mem_strdup(cases[i].list);
        if (node_features_have(n->features, cases[i].word, strlen(cases[i].word)) != cases[i].has)
            fail_msg("'%s' in '%s'", cases[i].word, cases[i].list ? cases[i].list : "");
    }
    assert_true(
        node_features_have(find_node(c, "a")->features, "yy&z", 2)); /* a word of an expression */
    test_cluster_free(c);
}

static void configured_state_of_a_node_is_loaded(void **state)
{
    struct cluster *c = test_cluster(conf);

    (void)state;
    test_up(c);
    assert_true(node_is_usable(find_node(c, "a")));
    assert_true(find_node(c, "c")->down && find_node(c, "c")->admin_down);
    assert_string_equal(find_node(c, "c")->reason, "broken");
    assert_true(find_node(c, "d")->drain && !find_node(c, "d")->down);
    assert_true(find_node(c, "e")->fail);
    assert_true(find_node(c, "f")->future);
    for (const char *name = "cdef"; *name; name++)
        assert_false(node_is_usable(find_node(c, (char[]){*name, 0})));
    test_cluster_free(c);
}

/* A node gets new work only if nothing forbids it. */
static void node_is_usable_if_nothing_forbids_it(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct node *n = find_node(c, "g");
    bool *const against[] = {&n->down, &n->drain, &n->fail, &n->future};

    (void)state;
    assert_false(node_is_usable(n));
    n->registered = true;
    assert_false(node_is_usable(n));
    n->connected = true;
    assert_true(node_is_usable(n));
    for (size_t i = 0; i < COUNT(against); i++) {
        *against[i] = true;
        assert_false(node_is_usable(n));
        *against[i] = false;
    }
    vec_push(&n->orphans, ((struct node_orphan){.job_id = 1}));
    assert_false(node_is_usable(n));
    vec_clear(&n->orphans);
    n->admin_down = true; /* records the origin of the DOWN state only */
    assert_true(node_is_usable(n));
    n->registered = false;
    assert_false(node_is_usable(n));
    test_cluster_free(c);
}

static void units_follow_from_selection_and_cpus(void **state)
{
    static const struct {
        const char *select, *row;
        uint32_t cpus, units, cpus_per_unit;
    } cases[] = {
        {"CR_Core", "", 1, 1, 1},
        {"CR_Core", "CPUs=6", 6, 6, 1},
        {"CR_Core", "Sockets=2 CoresPerSocket=3 ThreadsPerCore=2", 12, 6, 2},
        {"CR_Core_Memory", "Sockets=2 CoresPerSocket=3 ThreadsPerCore=4", 24, 6, 4},
        {"CR_CPU", "Sockets=2 CoresPerSocket=3 ThreadsPerCore=2", 12, 12, 1},
        {"CR_CPU_Memory", "Sockets=2 CoresPerSocket=3 ThreadsPerCore=2", 12, 12, 1},
        {"CR_Core", "CPUs=6 Sockets=2 CoresPerSocket=3 ThreadsPerCore=2", 6, 6, 1},
        {"CR_Core", "Sockets=2 CoresPerSocket=3", 6, 6, 1},
        {"CR_Core", "CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2", 64, 32, 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text =
            mem_printf("SelectType=select/cons_tres\nSelectTypeParameters=%s\n"
                       "NodeName=n RealMemory=77 TmpDisk=9 %s\nPartitionName=p Nodes=ALL\n",
                       cases[i].select, cases[i].row);
        struct cluster *c = test_cluster(text);
        const struct node *n = find_node(c, "n");
        if (n->cpus != cases[i].cpus || n->units != cases[i].units ||
            n->cpus_per_unit != cases[i].cpus_per_unit)
            fail_msg("%s %s: %u CPUs are %u times %u", cases[i].select, cases[i].row, n->cpus,
                     n->units, n->cpus_per_unit);
        assert_int_equal(n->free_units, n->units);
        assert_int_equal(n->busy->size, n->units);
        assert_int_equal(n->amounts.mem_mib, 77);
        assert_int_equal(n->tmp_mib, 9);
        test_cluster_free(c);
    }
}

static void reason_is_kept_with_user_and_time(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct node *n = find_node(c, "g");

    (void)state;
    assert_null(n->reason);
    node_set_reason(n, "not responding", 3, 100);
    assert_string_equal(n->reason, "not responding");
    assert_int_equal(n->reason_uid, 3);
    assert_int_equal(n->reason_at, 100);
    assert_true(n->dirty);
    node_set_reason(n, n->reason, 4, 200); /* its own text */
    assert_string_equal(n->reason, "not responding");
    assert_int_equal(n->reason_at, 200);
    n->dirty = false;
    node_set_reason(n, NULL, 0, 300);
    assert_null(n->reason);
    assert_int_equal(n->reason_at, 0);
    assert_true(n->dirty);
    test_cluster_free(c);
}

/* --- listings --- */

static void base_state_follows_from_use(void **state)
{
    static const struct {
        bool future, down, registered, exclusive;
        uint32_t jobs, free, completing, completing_units;
        Pb__NodeBase base;
    } cases[] = {
        {.free = 4, .base = PB__NODE_BASE__NODE_UNKNOWN},
        {.jobs = 1, .base = PB__NODE_BASE__NODE_UNKNOWN}, /* after a restart */
        {.future = true, .down = true, .free = 4, .base = PB__NODE_BASE__NODE_FUTURE},
        {.down = true, .free = 4, .base = PB__NODE_BASE__NODE_DOWN},
        {.down = true, .registered = true, .jobs = 1, .base = PB__NODE_BASE__NODE_DOWN},
        {.registered = true, .free = 4, .base = PB__NODE_BASE__NODE_IDLE},
        {.registered = true, .jobs = 1, .free = 3, .base = PB__NODE_BASE__NODE_MIXED},
        {.registered = true, .jobs = 2, .base = PB__NODE_BASE__NODE_ALLOCATED},
        {.registered = true,
         .jobs = 2,
         .completing = 2,
         .completing_units = 4,
         .base = PB__NODE_BASE__NODE_IDLE},
        {.registered = true,
         .jobs = 2,
         .completing = 1,
         .completing_units = 3,
         .base = PB__NODE_BASE__NODE_MIXED},
        {.registered = true,
         .exclusive = true,
         .jobs = 1,
         .free = 3,
         .completing = 1,
         .completing_units = 1,
         .base = PB__NODE_BASE__NODE_IDLE},
        {.registered = true,
         .exclusive = true,
         .jobs = 1,
         .free = 3,
         .base = PB__NODE_BASE__NODE_ALLOCATED},
    };
    struct cluster *c = test_cluster(conf);
    struct node *n = find_node(c, "a");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        n->future = cases[i].future;
        n->down = cases[i].down;
        n->registered = cases[i].registered;
        n->exclusive = cases[i].exclusive;
        n->jobs = cases[i].jobs;
        n->free_units = cases[i].free;
        n->completing = cases[i].completing;
        n->completing_units = cases[i].completing_units;
        const Pb__NodeRecord *m = list_node(c, "a", &arena);
        assert_true(m->has_state);
        if (m->state != cases[i].base)
            fail_msg("case %zu: %d instead of %d", i, m->state, cases[i].base);
        uint32_t held = cases[i].exclusive ? 4 : 4 - cases[i].free - cases[i].completing_units;
        assert_int_equal(m->alloc_cpus, cases[i].jobs > cases[i].completing ? held : 0);
        assert_int_equal(m->no_respond, !cases[i].future);
    }
    n->jobs = 0;
    n->free_units = n->units;
    test_cluster_free(c);
}

static void configured_node_is_listed(void **state)
{
    struct cluster *c = test_cluster(conf);
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    const Pb__NodeRecord *a = list_node(c, "a", &arena), *b = list_node(c, "b", &arena);
    assert_string_equal(a->name, "a");
    assert_string_equal(a->hostname, "host-a");
    assert_string_equal(a->addr, "10.0.0.1");
    assert_int_equal(a->port, 7000);
    assert_int_equal(a->cpus, 4);
    assert_int_equal(a->real_memory_mib, 1000);
    assert_int_equal(a->tmp_disk_mib, 50);
    assert_int_equal(a->weight, 3);
    assert_string_equal(a->features, "x,yy,z");
    assert_string_equal(a->active_features, "x,yy,z");
    assert_string_equal(a->gres, "gpu:2");
    assert_string_equal(a->partitions, "p,r");
    assert_false(a->has_real_cpus || a->has_free_mem_mib || a->has_last_busy_at || a->reason);
    assert_false(a->has_drain || a->has_fail || a->has_completing);
    assert_int_equal(b->port, 7001);
    assert_int_equal(b->sockets * b->cores * b->threads, 12);
    assert_int_equal(b->cpus, 12);
    assert_string_equal(b->partitions, "p,q,r");
    assert_true(list_node(c, "d", &arena)->drain);
    assert_true(list_node(c, "e", &arena)->fail);
    assert_string_equal(list_node(c, "c", &arena)->reason, "broken");
    test_cluster_free(c);
}

static void node_in_use_is_listed(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 1, "");
    struct node *n = find_node(c, "b");
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    test_up(c);
    assert_int_equal(alloc_take(c, j, n->index, 2, 1, NULL), 0);
    n->last_busy_at = 1234;
    const Pb__NodeRecord *m = list_node(c, "b", &arena);
    assert_int_equal(m->state, PB__NODE_BASE__NODE_MIXED);
    assert_int_equal(m->alloc_cpus, 4); /* two cores with two threads */
    assert_int_equal(m->alloc_mem_mib, 1);
    assert_int_equal(m->last_busy_at, 1234);
    assert_false(m->has_completing || m->has_no_respond);
    job_load_state(c, j, PB__JOB_STATE__COMPLETED);
    alloc_begin_completing(c, j);
    assert_true(list_node(c, "b", &arena)->completing);
    alloc_clear(c, j);
    m = list_node(c, "b", &arena);
    assert_false(m->has_completing);
    assert_int_equal(m->state, PB__NODE_BASE__NODE_IDLE);
    vec_push(&n->orphans, ((struct node_orphan){.job_id = 9}));
    assert_true(list_node(c, "b", &arena)->completing);
    test_cluster_free(c);
}

static void registered_node_is_listed(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct node *n = find_node(c, "a");
    Pb__NodeRegister seen = PB__NODE_REGISTER__INIT;
    _cleanup_arena_ struct arena arena;

    (void)state;
    arena_init(&arena, 0);
    str_puts(&n->seen, "\xff\xff not a message");
    assert_false(list_node(c, "a", &arena)->has_real_cpus);
    str_clear(&n->seen);
    seen.name = seen.version = seen.incarnation = (char *)"1";
    seen.os = (char *)"Linux";
    seen.has_cpus = seen.has_real_memory_mib = seen.has_boot_at = true;
    seen.cpus = 8;
    seen.real_memory_mib = 2000;
    seen.boot_at = 55;
    pb_pack(&seen.base, &n->seen);
    n->free_mem_mib = 700;
    n->load_centi = 150;
    const Pb__NodeRecord *m = list_node(c, "a", &arena);
    assert_int_equal(m->real_cpus, 8);
    assert_int_equal(m->real_mem_registered_mib, 2000);
    assert_int_equal(m->cpus, 4); /* the present value stays */
    assert_string_equal(m->os, "Linux");
    assert_int_equal(m->boot_at, 55);
    assert_int_equal(m->free_mem_mib, 700);
    assert_int_equal(m->cpu_load_centi, 150);
    assert_false(m->has_real_sockets || m->has_real_tmp_mib || m->has_daemon_start_at);
    test_cluster_free(c);
}

/* --- FastSchedule=0 --- */

static bool register_node(struct cluster *c, struct node *n, uint32_t sockets, uint32_t threads,
                          uint64_t mem_mib, uint64_t tmp_mib)
{
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;

    r.has_cpus = r.has_real_memory_mib = r.has_tmp_disk_mib = true;
    r.cpus = sockets * 2 * threads;
    r.sockets = sockets;
    r.cores = 2;
    r.threads = threads;
    r.real_memory_mib = mem_mib;
    r.tmp_disk_mib = tmp_mib;
    return node_take_actual(c, n, &r);
}

static void assert_resources(const struct node *n, uint32_t cpus, uint32_t units, uint64_t mem_mib,
                             uint64_t tmp_mib)
{
    if (n->cpus != cpus || n->units != units || (uint64_t)n->amounts.mem_mib != mem_mib ||
        n->tmp_mib != tmp_mib)
        fail_msg("%u CPUs, %u units, %llu and %llu MiB", n->cpus, n->units,
                 (unsigned long long)n->amounts.mem_mib, (unsigned long long)n->tmp_mib);
    assert_int_equal(n->busy->size, n->units);
}

#define CONS_FAST_1 CONS "FastSchedule=1\n"
#define CONS_FAST_2 CONS "FastSchedule=2\n"
#define SMALL "NodeName=n CPUs=2 RealMemory=100 TmpDisk=10\nPartitionName=p Nodes=ALL\n"

static void fast_schedule_uses_configured_resources(void **state)
{
    static const char *const heads[] = {CONS, CONS_FAST_1, CONS_FAST_2,
                                        "SelectType=select/linear\n"};

    (void)state;
    for (size_t i = 0; i < COUNT(heads); i++) {
        _cleanup_free_ char *text = mem_printf("%s%s", heads[i], SMALL);
        struct cluster *c = test_cluster(text);
        assert_false(register_node(c, find_node(c, "n"), 4, 2, 900, 90));
        assert_resources(find_node(c, "n"), 2, 2, 100, 10);
        test_cluster_free(c);
    }
}

static void registered_resources_replace_configured_ones(void **state)
{
    struct cluster *c = test_cluster("SelectType=select/linear\nFastSchedule=0\n" SMALL);
    struct node *n = find_node(c, "n");

    (void)state;
    assert_resources(n, 2, 2, 100, 10);
    assert_true(
        register_node(c, n, 1, 1, 50, 5)); /* fewer: it is DOWN, and keeps the configured values */
    assert_resources(n, 2, 2, 100, 10);
    assert_true(register_node(c, n, 4, 2, 900, 90));
    assert_resources(n, 16, 8, 900, 90);
    assert_false(register_node(c, n, 4, 2, 900, 90));
    n->registered = n->connected = true;

    struct job *j = test_job(c, 1, "n=1 mem=800 exclusive");
    assert_int_equal(alloc_take(c, j, n->index, n->units, 800, NULL), 0);
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    assert_true(register_node(c, n, 2, 1, 700, 90)); /* it shrinks below its job's allocation */
    assert_resources(n, 16, 8, 700, 90);
    test_sound(c);
    alloc_clear(c, j);
    assert_resources(n, 4, 4, 700, 90);
    assert_int_equal(n->free_units, 4);
    test_sound(c);
    test_cluster_free(c);

    c = test_cluster(CONS "FastSchedule=0\n" SMALL);
    assert_true(register_node(c, find_node(c, "n"), 4, 2, 900, 90));
    assert_resources(find_node(c, "n"), 2, 2, 900,
                     90); /* individual processors stay as configured */
    test_cluster_free(c);
}

/* A job that needs the whole node is not rejected after a restart, before the node registers. */
static void registered_resources_survive_a_restart(void **state)
{
    static const char text[] = "SelectType=select/linear\nFastSchedule=0\n" SMALL;
    struct cluster *from = test_cluster(text), *to = test_cluster(text);
    struct cluster *other = test_cluster("SelectType=select/linear\n" SMALL);
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str packed = STR_INIT;

    (void)state;
    arena_init(&arena, 0);
    register_node(from, find_node(from, "n"), 4, 2, 900, 90);
    node_pack_stored(find_node(from, "n"), &packed);
    const Pb__NodeRecord *r =
        arena_unpack(&arena, &pb__node_record__descriptor, packed.data, packed.len);
    assert_non_null(r);
    node_restore(to, find_node(to, "n"), r);
    assert_resources(find_node(to, "n"), 16, 8, 900, 90);
    node_restore(other, find_node(other, "n"), r);
    assert_resources(find_node(other, "n"), 2, 2, 100, 10);
    test_cluster_free(from);
    test_cluster_free(to);
    test_cluster_free(other);
}

/* --- stored state --- */

static void restore_from(struct cluster *c, struct node *n, const Pb__NodeRecord *r)
{
    n->dirty = true;
    node_restore(c, n, r);
    assert_false(n->dirty);
}

static void empty_record_keeps_the_configuration(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct node *n = find_node(c, "c");
    Pb__NodeRecord r = PB__NODE_RECORD__INIT;

    (void)state;
    r.name = (char *)"c";
    r.weight = 99; /* without weight_set: ignored */
    r.has_weight = true;
    r.features = (char *)"other";
    restore_from(c, n, &r);
    assert_false(n->down || n->admin_down || n->drain || n->fail || n->reason || n->comment);
    assert_int_equal(n->weight, n->row->weight);
    assert_null(n->features);
    test_cluster_free(c);
}

static char *draw_text(uint64_t *seed)
{
    static const char *const texts[] = {NULL, "", "a", "two words", "x,y,z", "\xc3\xa4\xc3\xb6"};
    return mem_strdup(texts[test_between(seed, 0, COUNT(texts) - 1)]);
}

static void draw_node(struct node *n, uint64_t *seed)
{
    bool *const flags[] = {&n->down,       &n->admin_down, &n->drain,
                           &n->weight_set, &n->fail,       &n->features_set};
    _cleanup_free_ char *why = draw_text(seed);

    for (size_t i = 0; i < COUNT(flags); i++)
        *flags[i] = test_between(seed, 0, 1);
    node_set_reason(n, why, test_between(seed, 0, UINT32_MAX), (int64_t)test_random(seed) / 2);
    if (n->weight_set)
        n->weight = test_between(seed, 0, UINT32_MAX);
    if (n->features_set) {
        free(n->features);
        n->features = draw_text(seed);
    }
    free(n->comment);
    free(n->extra);
    free(n->cpu_bind);
    free(n->addr);
    free(n->hostname);
    free(n->topology);
    n->topology = draw_text(seed);
    n->cpu_bind = draw_text(seed);
    n->comment = draw_text(seed);
    n->extra = draw_text(seed);
}

/* A stored and restored node is unchanged, whatever its state was before the restore. */
static void stored_node_is_restored_unchanged(void **state)
{
    struct cluster *from = test_cluster(conf), *to = test_cluster(conf);
    struct node *a = find_node(from, "a"), *b = find_node(to, "a");

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t chance = seed;
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        struct str first = STR_INIT, second = STR_INIT;
        a->weight = a->row->weight;
        b->weight = b->row->weight;
        free(a->features);
        free(b->features);
        a->features = mem_strdup(a->row->features);
        b->features = mem_strdup(b->row->features);
        draw_node(a, &chance);
        node_pack_stored(a, &first);
        const Pb__NodeRecord *r =
            arena_unpack(&arena, &pb__node_record__descriptor, first.data, first.len);
        assert_non_null(r);
        restore_from(to, b, r);
        node_pack_stored(b, &second);
        assert_int_equal(first.len, second.len);
        assert_memory_equal(first.data, second.data, first.len);
        assert_true(a->down == b->down && a->drain == b->drain && a->fail == b->fail);
        assert_int_equal(a->admin_down, b->admin_down);
        assert_true(str_eq(a->reason, b->reason) && str_eq(a->comment, b->comment));
        assert_true(str_eq(a->cpu_bind, b->cpu_bind));
        assert_true(str_eq(a->topology, b->topology) && !a->topology == !b->topology);
        assert_true(str_eq(a->extra, b->extra) && str_eq(a->features, b->features));
        assert_int_equal(a->weight, b->weight);
        assert_int_equal(a->reason_uid, b->reason ? b->reason_uid : a->reason_uid);
        assert_true(a->reason_at == b->reason_at);
        str_done(&first);
        str_done(&second);
    }
    test_cluster_free(from);
    test_cluster_free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_features_are_matched_exactly),
        cmocka_unit_test(configured_state_of_a_node_is_loaded),
        cmocka_unit_test(node_is_usable_if_nothing_forbids_it),
        cmocka_unit_test(units_follow_from_selection_and_cpus),
        cmocka_unit_test(reason_is_kept_with_user_and_time),
        cmocka_unit_test(base_state_follows_from_use),
        cmocka_unit_test(configured_node_is_listed),
        cmocka_unit_test(node_in_use_is_listed),
        cmocka_unit_test(registered_node_is_listed),
        cmocka_unit_test(empty_record_keeps_the_configuration),
        cmocka_unit_test(stored_node_is_restored_unchanged),
        cmocka_unit_test(fast_schedule_uses_configured_resources),
        cmocka_unit_test(registered_resources_replace_configured_ones),
        cmocka_unit_test(registered_resources_survive_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
