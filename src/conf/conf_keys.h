/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to src/conf: the keys of each kind of line, as rows of the tables conf.def,
 * conf_node.def, conf_part.def and conf_cgroup.def, and of the enums here.
 */
#pragma once

#include "conf/conf.h"

#define CONF_NO_OFFSET SIZE_MAX /* the key has no member */

/* A row of conf.def, conf_node.def, conf_part.def. */
struct conf_key {
    const char *name;
    enum conf_value_type type;
    /* Of the member in struct conf, conf_node_row or conf_part; or CONF_NO_OFFSET. */
    size_t offset;
    const char *def;
    uint64_t min, max;
    bool effect;
    const char *help;
};

/* An alternative name of a key; 'now' NULL: the key was removed, and 'why' has the remedy. */
struct conf_alias {
    const char *old, *now, *why;
};

enum conf_key_id {
#define CONF(key, member, type, def, min, max, effect, help) CONF_KEY_##member,
#include "conf/conf.def"
#undef CONF
    CONF_KEYS
};
extern const struct conf_key conf_keys[CONF_KEYS]; /* in the order of conf.def */

enum conf_node_key {
#define NODE(key, member, type, def, min, max, effect, help) CONF_NODE_KEY_##member,
#define NODE_TEXT(key, id, type, def, min, max, effect, help) CONF_##id,
#define NODE_ALIAS(old, key)
#include "conf/conf_node.def"
#undef NODE
#undef NODE_TEXT
#undef NODE_ALIAS
    CONF_NODE_KEYS
};
extern const struct conf_key conf_node_keys[CONF_NODE_KEYS];

enum conf_part_key {
#define PART(key, member, type, def, min, max, effect, help) CONF_PART_KEY_##member,
#define PART_TEXT(key, id, type, def, min, max, effect, help) CONF_##id,
#define PART_ALIAS(old, key)
#include "conf/conf_part.def"
#undef PART
#undef PART_TEXT
#undef PART_ALIAS
    CONF_PART_KEYS
};
extern const struct conf_key conf_part_keys[CONF_PART_KEYS];

enum conf_cgroup_key {
    CONF_CGROUP_MARK,
#define CGROUP(key, member, type, def, min, max, effect, help) CONF_CGROUP_KEY_##member,
#include "conf/conf_cgroup.def"
#undef CGROUP
    CONF_CGROUP_KEYS
};
extern const struct conf_key conf_cgroup_keys[CONF_CGROUP_KEYS]; /* the first key marks the row */
enum conf_down_key { CONF_DOWN_NODES, CONF_DOWN_STATE, CONF_DOWN_REASON, CONF_DOWN_KEYS };
enum conf_gres_key {
    CONF_GRES_MARK,
    CONF_GRES_NODES,
    CONF_GRES_NAME,
    CONF_GRES_TYPE,
    CONF_GRES_COUNT,
    CONF_GRES_FILE,
    CONF_GRES_MULTIPLE_FILES,
    CONF_GRES_CORES,
    CONF_GRES_FLAGS,
    CONF_GRES_AUTODETECT,
    CONF_GRES_LINKS,
    CONF_GRES_KEYS
};
enum conf_topo_key {
    CONF_TOPO_MARK,
    CONF_TOPO_SWITCH,
    CONF_TOPO_SWITCHES,
    CONF_TOPO_NODES,
    CONF_TOPO_SPEED,
    CONF_TOPO_BLOCK_NAME,
    CONF_TOPO_SIZES,
    CONF_TOPO_RING_NAME,
    CONF_TOPO_TORUS_NAME,
    CONF_TOPO_DIMS,
    CONF_TOPO_REGION,
    CONF_TOPO_PLACEMENT,
    CONF_TOPO_SEED,
    CONF_TOPO_SPACING,
    CONF_TOPO_KEYS
};
enum conf_set_key { CONF_SET_NAME, CONF_SET_NODES, CONF_SET_FEATURE, CONF_SET_KEYS };

/* A kind of line, identified by its first key (NodeName=...). */
struct conf_kind {
    const struct conf_key *keys;
    size_t key_count;
    const struct conf_alias *aliases;
    size_t alias_count;
};
#define CONF_ROWS(member, kind, on_nodes) extern const struct conf_kind conf_kind_##kind;
#include "conf/conf_file.def"
