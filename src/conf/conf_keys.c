/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_burst_file.h"
#include "conf/conf_internal.h"

/* A member must have the type in its row, because values are written through that type. */
#define CHECK_MEMBER(in, member, type)                                                             \
    _Static_assert(                                                                                \
        __builtin_types_compatible_p(typeof(((struct in *)0)->member), CONF_MEMBER_##type),        \
        #member " is not a " #type)

#define CONF(key, member, type, def, min, max, effect, help) CHECK_MEMBER(conf, member, type);
#include "conf/conf.def"
#undef CONF
#define NODE(key, member, type, def, min, max, effect, help)                                       \
    CHECK_MEMBER(conf_node_row, member, type);
#define NODE_TEXT(key, id, type, def, min, max, effect, help)
#define NODE_ALIAS(old, key)
#include "conf/conf_node.def"
#undef NODE
#undef NODE_TEXT
#undef NODE_ALIAS
#define PART(key, member, type, def, min, max, effect, help) CHECK_MEMBER(conf_part, member, type);
#define PART_TEXT(key, id, type, def, min, max, effect, help)
#define PART_ALIAS(old, key)
#include "conf/conf_part.def"
#undef PART
#undef PART_TEXT
#undef PART_ALIAS

#define CGROUP(key, member, type, def, min, max, effect, help)                                     \
    CHECK_MEMBER(conf_cgroup, member, type);
#include "conf/conf_cgroup.def"
#undef CGROUP

const struct conf_key conf_cgroup_keys[CONF_CGROUP_KEYS] = {
    {"CgroupConf", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a line of cgroup.conf"},
#define CGROUP(key, member, type, def, min, max, effect, help)                                     \
    {key, type, offsetof(struct conf_cgroup, member), def, min, max, (effect) == 1, help},
#include "conf/conf_cgroup.def"
#undef CGROUP
};

#define BURST(key, member, type, def, min, max, effect, help)                                      \
    CHECK_MEMBER(conf_burst, member, type);
#include "conf/conf_burst.def"
#undef BURST

const struct conf_key conf_burst_keys[CONF_BURST_KEYS] = {
    {"BurstBufferConf", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a line of burst_buffer.conf"},
#define BURST(key, member, type, def, min, max, effect, help)                                      \
    {key, type, offsetof(struct conf_burst, member), def, min, max, (effect) == 1, help},
#include "conf/conf_burst.def"
#undef BURST
};

const struct conf_key conf_keys[CONF_KEYS] = {
#define CONF(key, member, type, def, min, max, effect, help)                                       \
    {key, type, offsetof(struct conf, member), def, min, max, (effect) == 1, help},
#include "conf/conf.def"
#undef CONF
};

const struct conf_key conf_node_keys[CONF_NODE_KEYS] = {
#define NODE(key, member, type, def, min, max, effect, help)                                       \
    {key, type, offsetof(struct conf_node_row, member), def, min, max, (effect) == 1, help},
#define NODE_TEXT(key, id, type, def, min, max, effect, help)                                      \
    {key, type, CONF_NO_OFFSET, def, min, max, (effect) == 1, help},
#define NODE_ALIAS(old, key)
#include "conf/conf_node.def"
#undef NODE
#undef NODE_TEXT
#undef NODE_ALIAS
};

const struct conf_key conf_part_keys[CONF_PART_KEYS] = {
#define PART(key, member, type, def, min, max, effect, help)                                       \
    {key, type, offsetof(struct conf_part, member), def, min, max, (effect) == 1, help},
#define PART_TEXT(key, id, type, def, min, max, effect, help)                                      \
    {key, type, CONF_NO_OFFSET, def, min, max, (effect) == 1, help},
#define PART_ALIAS(old, key)
#include "conf/conf_part.def"
#undef PART
#undef PART_TEXT
#undef PART_ALIAS
};

static const struct conf_alias node_aliases[] = {
#define NODE(key, member, type, def, min, max, effect, help)
#define NODE_TEXT(key, id, type, def, min, max, effect, help)
#define NODE_ALIAS(old, key) {old, key, NULL},
#include "conf/conf_node.def"
#undef NODE
#undef NODE_TEXT
#undef NODE_ALIAS
};

static const struct conf_alias part_aliases[] = {
#define PART(key, member, type, def, min, max, effect, help)
#define PART_TEXT(key, id, type, def, min, max, effect, help)
#define PART_ALIAS(old, key) {old, key, NULL},
#include "conf/conf_part.def"
#undef PART
#undef PART_TEXT
#undef PART_ALIAS
};

static const struct conf_key down_keys[CONF_DOWN_KEYS] = {
    {"DownNodes", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "nodes, as a hostlist expression"},
    {"State", CONF_T_STR, CONF_NO_OFFSET, "DOWN", 0, 0, true, "DOWN, DRAIN or FAIL"},
    {"Reason", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "why"},
};

static const struct conf_key set_keys[CONF_SET_KEYS] = {
    {"NodeSet", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "name of the set"},
    {"Nodes", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "nodes, as a hostlist expression"},
    {"Feature", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "all nodes that have this feature"},
};

static const struct conf_key gres_keys[CONF_GRES_KEYS] = {
    {"GresConf", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a line of gres.conf"},
    {"NodeName", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "nodes; default: all"},
    {"Name", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a name of GresTypes"},
    {"Type", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "type of the resource"},
    {"Count", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "how many; default: one for each file"},
    {"File", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "device files, one for each"},
    {"MultipleFiles", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "device files of one device"},
    {"Cores", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "cores that are near"},
    {"Flags", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "what tasks are told"},
    {"AutoDetect", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "off"},
    {"Links", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true,
     "connections to each device of the node: those with more are given together"},
};

static const struct conf_key topo_keys[CONF_TOPO_KEYS] = {
    {"TopologyConf", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a line of topology.conf"},
    {"SwitchName", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a switch"},
    {"Switches", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "the switches below it"},
    {"Nodes", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "the nodes of a leaf switch, or block"},
    {"LinkSpeed", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a number that is shown"},
    {"BlockName", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a block of nodes"},
    {"BlockSizes", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true,
     "nodes of blocks, and of blocks of them"},
    {"RingName", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a ring of nodes"},
    {"TorusName", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a torus, of topology.yaml"},
    {"Dims", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "cells of a torus, or of a region"},
    {"Region", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "the first cell of a region"},
    {"Placement", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "cells that a job may have"},
    {"AnchorSeed", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "first corner of a placement"},
    {"AnchorSpacing", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "cells from corner to corner"},
};

static const struct conf_alias gres_aliases[] = {{"CPUs", "Cores", NULL}};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct conf_kind conf_kind_node = {conf_node_keys, CONF_NODE_KEYS, node_aliases,
                                         COUNT(node_aliases)};
const struct conf_kind conf_kind_part = {conf_part_keys, CONF_PART_KEYS, part_aliases,
                                         COUNT(part_aliases)};
const struct conf_kind conf_kind_down = {down_keys, CONF_DOWN_KEYS, NULL, 0};
const struct conf_kind conf_kind_set = {set_keys, CONF_SET_KEYS, NULL, 0};
const struct conf_kind conf_kind_gres = {gres_keys, CONF_GRES_KEYS, gres_aliases,
                                         COUNT(gres_aliases)};

const struct conf_kind conf_kind_cgroup = {conf_cgroup_keys, CONF_CGROUP_KEYS, NULL, 0};
const struct conf_kind conf_kind_burst = {conf_burst_keys, CONF_BURST_KEYS, NULL, 0};
const struct conf_kind conf_kind_topo = {topo_keys, CONF_TOPO_KEYS, NULL, 0};

/* conf.def is sorted, the other tables are short. */
static long find_sorted(const char *name)
{
    size_t low = 0, high = CONF_KEYS;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcasecmp(name, conf_keys[middle].name);
        if (order == 0)
            return (long)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

long conf_key_find(const struct conf_key *keys, size_t count, const char *name)
{
    if (keys == conf_keys)
        return find_sorted(name);
    for (size_t i = 0; i < count; i++)
        if (!strcasecmp(keys[i].name, name))
            return (long)i;
    return -1;
}

/* str_distance() is case-sensitive, the configuration is not. */
static void copy_lower(const char *from, char *to, size_t room)
{
    size_t i = 0;

    for (; from[i] && i < room - 1; i++)
        to[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] + 32) : from[i];
    to[i] = '\0';
}

const char *conf_key_near(const struct conf_key *keys, size_t count, const char *name,
                          unsigned *distance)
{
    const char *near = NULL;
    char a[80], b[80];

    copy_lower(name, a, sizeof(a));
    unsigned third = (unsigned)strlen(a) / 3 + 1; /* most letters of a short word must match */
    if (*distance > third)
        *distance = third;
    for (size_t i = 0; i < count; i++) {
        copy_lower(keys[i].name, b, sizeof(b));
        unsigned d = str_distance(a, b, *distance);
        if (d < *distance) {
            *distance = d;
            near = keys[i].name;
        }
    }
    return near;
}
