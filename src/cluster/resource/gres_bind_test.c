/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPUs and devices that are near each other. */
#include "cluster/cluster_test_util.h"
#include "cluster/resource/gres_bind.h"

#define NODE                                                                                       \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nGresTypes=gpu,nic,bare\n"          \
    "NodeName=n Sockets=2 CoresPerSocket=4 RealMemory=1000 Gres=gpu:4,nic:2,bare:2\n"              \
    "PartitionName=p Nodes=ALL\n"                                                                  \
    "GresConf=1 NodeName=n Name=gpu File=/dev/g[0-1] Cores=0-3\n"                                  \
    "GresConf=1 NodeName=n Name=gpu File=/dev/g[2-3] Cores=4-7\n"                                  \
    "GresConf=1 NodeName=n Name=nic File=/dev/c0 Cores=0-3\n"                                      \
    "GresConf=1 NodeName=n Name=nic File=/dev/c1 Cores=4-7\n"                                      \
    "GresConf=1 NodeName=n Name=bare File=/dev/b[0-1]\n"
#define CPUS                                                                                       \
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nGresTypes=gpu\n"                    \
    "NodeName=n Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=1000 Gres=gpu:4\n"          \
    "PartitionName=p Nodes=ALL\n"                                                                  \
    "GresConf=1 NodeName=n Name=gpu File=/dev/g[0-1] Cores=0-1\n"                                  \
    "GresConf=1 NodeName=n Name=gpu File=/dev/g[2-3] Cores=2-3\n"

static void set_bits(struct bitset *set, const char *text)
{
    for (size_t i = 0; text[i]; i++)
        if (text[i] == '1')
            bitset_set(set, i);
}

static void format_bits(const struct bitset *set, struct str *out)
{
    for (size_t i = 0; set && i < set->size; i++)
        str_putc(out, bitset_test(set, i) ? '1' : '0');
}

struct bind_case {
    const char *busy, *busy_gpu; /* units, devices */
    uint32_t gpu, nic, bare, units;
    const char *expected; /* units, GPUs, NICs; or "none" */
    uint32_t together;    /* units that are allocated together */
};

static void check_case(struct cluster *c, const struct bind_case *t)
{
    struct node *n = c->nodes.data[0];
    struct gres_amount amounts[3];
    struct bitset *devices[3] = {NULL};
    _cleanup_bitset_ struct bitset *out = bitset_new(n->units);
    _cleanup_str_ struct str text = STR_INIT;
    size_t count = 0;
    const uint32_t wanted[] = {t->gpu, t->nic, t->bare};
    static const char *const names[] = {"gpu", "nic", "bare"};
    for (size_t k = 0; k < 3; k++)
        if (wanted[k])
            amounts[count++] =
                (struct gres_amount){(uint32_t)gres_kind_find(c, names[k], NULL), wanted[k]};
    struct gres_stock *gpus = gres_find(n, (uint32_t)gres_kind_find(c, "gpu", NULL));
    set_bits(n->busy, t->busy);
    set_bits(gpus->busy, t->busy_gpu);
    n->free_units = n->units - (uint32_t)bitset_count(n->busy);
    const struct gres_bind bind = {amounts, count, {.units = t->units, .together = t->together}};
    bool done = gres_bind_choose(n, &bind, out, devices);
    if (done != gres_bind_fits(n, &bind, false))
        fail_msg("%s %s: what fits is not what is chosen", t->busy, t->busy_gpu);
    format_bits(out, &text);
    for (size_t k = 0; k < count; k++) {
        str_puts(&text, " ");
        format_bits(devices[k], &text);
        bitset_free(devices[k]);
    }
    if (!str_eq(done ? str_cstr(&text) : "none", t->expected))
        fail_msg("%s %s, %u gpu %u nic %u units: %s, expected %s", t->busy, t->busy_gpu, t->gpu,
                 t->nic, t->units, done ? str_cstr(&text) : "none", t->expected);
    bitset_zero(n->busy);
    bitset_zero(gpus->busy);
    n->free_units = n->units;
}

static void check_all(const char *conf, const struct bind_case *cases, size_t count)
{
    struct cluster *c = test_cluster(conf);
    for (size_t i = 0; i < count; i++)
        check_case(c, &cases[i]);
    test_cluster_free(c);
}

static void cores_are_chosen_near_their_devices(void **state)
{
    static const struct bind_case cases[] = {
        {"00000000", "0000", 1, 0, 0, 1, "10000000 1000"},
        {"11110000", "0000", 1, 0, 0, 1, "00001000 0010"}, /* the device follows the CPUs */
        {"11110000", "0011", 1, 0, 0, 1, "none"},
        {"11110000", "0010", 2, 0, 0, 1, "none"},
        {"00000000", "0110", 2, 0, 0, 1, "none"}, /* on two sockets, and one CPU */
        {"00000000", "0110", 2, 0, 0, 2, "10001000 1001"},
        {"00000000", "0000", 2, 0, 0, 2, "11000000 1100"}, /* one socket rather than two */
        {"00000000", "0000", 2, 0, 0, 5, "11111000 1010"}, /* CPUs of both */
        {"00000000", "0000", 1, 0, 0, 5, "none"},
        {"00000000", "1000", 3, 0, 0, 3, "11001000 0111"},
        {"11100000", "0000", 3, 0, 0, 5, "00011111 1110"},
        {"11110000", "0000", 3, 0, 0, 3, "none"},
        {"11000000", "0000", 1, 0, 0, 2, "00110000 1000"}, /* the tighter socket */
        {"00000000", "0011", 1, 1, 0, 2, "11000000 1000 10"},
        {"11110000", "0000", 1, 1, 0, 2, "00001100 0010 01"},
        {"00000000", "0110", 2, 2, 0, 2, "10001000 1001 11"},
        {"11110000", "0000", 0, 0, 1, 2, "00001100 "}, /* it has no location */
        {"00000000", "1111", 1, 0, 0, 1, "none"},
        {"11111111", "0000", 1, 0, 0, 1, "none"},
        {"00000000", "0000", 4, 0, 0, 8, "11111111 1111"},
        {"00000000", "0000", 5, 0, 0, 8, "none"},
    };
    (void)state;
    check_all(NODE, cases, COUNT(cases));
}

/* Each unit is a CPU, each pair of units is a core. */
static void cores_move_as_a_whole_between_devices(void **state)
{
    static const struct bind_case cases[] = {
        {"00000000", "0110", 2, 0, 0, 4, "11001100 1001", 2},
        {"00000000", "0110", 2, 0, 0, 2, "none", 2}, /* one core near two separate devices */
        {"10000010", "0110", 2, 0, 0, 4, "00111100 1001", 2},
        {"10100000", "0000", 1, 0, 0, 2, "00001100 0010", 2}, /* threads of two cores */
        {"10100000", "0011", 1, 0, 0, 2, "none", 2},
        {"10000000", "0011", 1, 0, 0, 2, "00110000 1000", 2},
    };
    (void)state;
    check_all(CPUS, cases, COUNT(cases));
}

/* Each device is near one core of its socket. */
static void whole_sockets_are_near_the_devices_of_their_cores(void **state)
{
    static const struct bind_case cases[] = {
        {"00000000", "0000", 1, 0, 0, 4, "11110000 1000", 4},
        {"00000000", "1100", 1, 0, 0, 4, "00001111 0010", 4},
        {"00010000", "0000", 1, 0, 0, 4, "00001111 0010", 4}, /* the socket is not entirely free */
        {"00010000", "0011", 1, 0, 0, 4, "none", 4},
        {"00000000", "0110", 2, 0, 0, 8, "11111111 1001", 4},
    };
    (void)state;
    check_all("SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nGresTypes=gpu\n"
              "NodeName=n Sockets=2 CoresPerSocket=4 RealMemory=1000 Gres=gpu:4\n"
              "PartitionName=p Nodes=ALL SelectTypeParameters=CR_Socket\n"
              "GresConf=1 NodeName=n Name=gpu File=/dev/g[0-1] Cores=0\n"
              "GresConf=1 NodeName=n Name=gpu File=/dev/g[2-3] Cores=4\n",
              cases, COUNT(cases));
}

static void device_job_fits_on_a_busy_node_only_when_idle(void **state)
{
    struct cluster *c = test_cluster(NODE);
    struct node *n = c->nodes.data[0];
    const struct gres_amount one = {(uint32_t)gres_kind_find(c, "gpu", NULL), 1};
    struct gres_bind bind = {&one, 1, {.units = 4}};
    (void)state;
    set_bits(n->busy, "11111111");
    assert_false(gres_bind_fits(n, &bind, false));
    assert_true(gres_bind_fits(n, &bind, true));
    bind.want.units = 5;
    assert_false(gres_bind_fits(n, &bind, true));
    bind.count = 0;
    assert_true(gres_bind_fits(n, &bind, true));
    bitset_zero(n->busy);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(cores_are_chosen_near_their_devices),
        cmocka_unit_test(cores_move_as_a_whole_between_devices),
        cmocka_unit_test(whole_sockets_are_near_the_devices_of_their_cores),
        cmocka_unit_test(device_job_fits_on_a_busy_node_only_when_idle)};
    return cmocka_run_group_tests(list, NULL, NULL);
}
