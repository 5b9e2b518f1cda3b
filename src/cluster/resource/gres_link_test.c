/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices with connections to each other. */
#include "cluster/cluster_test_util.h"
#include "cluster/resource/gres_link.h"

#define DEVICES_MAX 9
#define ROUNDS 3000

/* Numbers of connections, equal in both directions; some devices may have none. */
struct drawn {
    size_t len;
    int32_t links[DEVICES_MAX][DEVICES_MAX];
    struct conf_gres_device device[DEVICES_MAX];
    struct conf_gres gres;
};

static void draw_links(uint64_t *seed, struct drawn *d)
{
    *d = (struct drawn){.len = test_between(seed, 1, DEVICES_MAX)};
    uint32_t most = test_between(seed, 1, 4), turn = test_between(seed, 0, (uint32_t)d->len - 1);
    bool silent = test_between(seed, 0, 9) == 0;
    for (size_t i = 0; i < d->len; i++) { /* numbers need not follow the order of the lines */
        uint32_t number = (uint32_t)((i + turn) % d->len);
        bool says = !silent || test_between(seed, 0, 1);
        d->device[i] = (struct conf_gres_device){
            .links = says ? d->links[number] : NULL, .n_links = (uint32_t)d->len, .number = number};
        for (size_t k = 0; k < i; k++)
            d->links[number][d->device[k].number] = d->links[d->device[k].number][number] =
                (int32_t)test_between(seed, 0, most);
        d->links[number][number] = -1;
    }
    d->gres = (struct conf_gres){.name = "gpu", .count = d->len, .devices = d->device};
    d->gres.n_devices = d->len;
}

static uint64_t count_all(const struct drawn *d, unsigned set)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < d->len; i++)
        for (size_t k = 0; k < i; k++)
            if (set >> i & 1 && set >> k & 1)
                sum += gres_link_count(&d->gres, i, k);
    return sum;
}

/* Returns the value of the best set of these devices and the given number of others; -1: there is
 * none. */
static long find_best(const struct drawn *d, unsigned before, unsigned among, unsigned count)
{
    long best = -1;
    for (unsigned set = 0; set < 1u << d->len; set++) {
        bool fits = (set & ~(before | among)) == 0 && (set & before) == before &&
                    (unsigned)__builtin_popcount(set & among) == count;
        if (fits && (best < 0 || count_all(d, set) > count_all(d, (unsigned)best)))
            best = set;
    }
    return best;
}

static void exhaustive_search_finds_no_better_devices(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (size_t round = 0; round < ROUNDS; round++) {
        struct drawn d;
        unsigned before = 0, among = 0;
        draw_links(&seed, &d);
        _cleanup_bitset_ struct bitset *devices = bitset_new(d.len), *from = bitset_new(d.len);
        for (size_t i = 0; i < d.len; i++) {
            uint32_t to = test_between(&seed, 0, 4);
            before |= (to == 0 ? 1u : 0) << i;
            among |= (to > 1 ? 1u : 0) << i;
            if (to == 0)
                bitset_set(devices, i);
            if (to > 1)
                bitset_set(from, i);
        }
        unsigned count = test_between(&seed, 0, (uint32_t)__builtin_popcount(among));
        gres_link_choose(&d.gres, from, count, devices);
        unsigned got = 0;
        bitset_foreach (devices, i)
            got |= 1u << i;
        long best = find_best(&d, before, among, count);
        assert_int_equal(got & ~among, before);
        assert_int_equal(__builtin_popcount(got & among), count);
        if (count_all(&d, got) != count_all(&d, (unsigned)best))
            fail_msg("round %zu: %x, best is %lx", round, got, (unsigned long)best);
    }
}

/* A ring of 20: neighbours of neighbours are found although not all choices are tried. */
static void neighbours_of_many_devices_are_chosen(void **state)
{
    enum { LEN = 20 };
    static int32_t links[LEN][LEN];
    static struct conf_gres_device device[LEN];
    _cleanup_bitset_ struct bitset *devices = bitset_new(LEN), *from = bitset_new(LEN);
    const struct conf_gres g = {.devices = device, .n_devices = LEN, .count = LEN};

    (void)state;
    for (uint32_t i = 0; i < LEN; i++) {
        links[i][i] = -1;
        links[i][(i + 1) % LEN] = links[i][(i + LEN - 1) % LEN] = 2;
        device[i] = (struct conf_gres_device){.links = links[i], .n_links = LEN, .number = i};
    }
    bitset_fill(from);
    bitset_unset(from, 1);
    gres_link_choose(&g, from, 3, devices);
    assert_true(bitset_test(devices, 0) && bitset_test(devices, 19) && bitset_test(devices, 18));
    assert_int_equal(bitset_count(devices), 3);
}

#define NODE                                                                                       \
    CONS "GresTypes=gpu\n"                                                                         \
         "NodeName=n Sockets=2 CoresPerSocket=4 RealMemory=1000 Gres=gpu:4\n"                      \
         "PartitionName=p Nodes=ALL\n"                                                             \
         "GresConf=1 NodeName=n Name=gpu File=/dev/g0 Links=-1,0,0,4 %s\n"                         \
         "GresConf=1 NodeName=n Name=gpu File=/dev/g1 Links=0,-1,4,0 %s\n"                         \
         "GresConf=1 NodeName=n Name=gpu File=/dev/g2 Links=0,4,-1,0 %s\n"                         \
         "GresConf=1 NodeName=n Name=gpu File=/dev/g3 Links=4,0,0,-1 %s\n"

/* A job that requests 'gpus' GPUs gets those with the expected numbers. */
static void check_gpus(struct cluster *c, uint32_t id, const char *words, uint64_t gpus,
                       const char *expected)
{
    struct job *j = test_job(c, id, words);
    struct gres_amount amount = {(uint32_t)gres_kind_find(c, "gpu", NULL), gpus};
    const struct alloc_want want = {.node = 0, .units = 1, .gres = &amount, .gres_len = 1};
    _cleanup_str_ struct str text = STR_INIT;

    job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
    assert_int_equal(alloc_place(c, j, &want, NULL), 0);
    bitset_foreach (attempt_of(j)->alloc.data[0].gres.data[0].devices, i)
        str_printf(&text, "%ld", i);
    assert_string_equal(str_cstr(&text), expected);
}

static void a_job_gets_connected_devices(void **state)
{
    static const char *const near[] = {"Cores=0-3", "Cores=4-7"};
    const char *flags = "gres-flags=enforce-binding gres=gpu:2";

    (void)state;
    for (int located = 0; located < 3; located++) {
        _cleanup_free_ char *text = located == 2
                                        ? mem_printf(NODE, near[0], near[1], near[1], near[0])
                                        : mem_printf(NODE, "", "", "", "");
        struct cluster *c = test_cluster(text);
        test_up(c);
        check_gpus(c, 1, located == 0 ? "gres=gpu:2" : flags, 2, "03");
        check_gpus(c, 2, located == 0 ? "gres=gpu:2" : flags, 2, "12");
        test_sound(c);
        test_cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exhaustive_search_finds_no_better_devices),
        cmocka_unit_test(neighbours_of_many_devices_are_chosen),
        cmocka_unit_test(a_job_gets_connected_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
