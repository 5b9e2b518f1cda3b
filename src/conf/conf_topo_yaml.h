/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readers of topology.yaml have in common. */
#pragma once

#include "conf/conf_topo_file.h"
#include "conf/conf_yaml.h"

struct conf_topo_line { /* of topology.conf; its text lives while the file is loaded */
    struct conf_place at;
    const char *text;
};
struct conf_topo_lines {
    VEC(struct conf_topo_line) list;
};

/* An item of "toruses:"; lines: a struct conf_topo_lines, which gets its lines. */
int conf_torus_read_yaml(struct conf_yaml *y, void *lines, const yaml_node_t *node,
                         struct err *err);
