/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the readers of topology.yaml. */
#pragma once

#include "conf/conf_topo_file.h"
#include "conf/conf_yaml.h"

struct conf_topo_line { /* a line of topology.conf; its text lives until the load has finished */
    struct conf_place at;
    const char *text;
};
struct conf_topo_lines {
    VEC(struct conf_topo_line) list;
};

/* Reads an item of "toruses:"; appends its lines to 'lines', a struct conf_topo_lines. */
int conf_torus_read_yaml(struct conf_yaml *y, void *lines, const yaml_node_t *node,
                         struct err *err);
