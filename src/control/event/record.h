/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the controller itself and of nodes; saving a node also emits its events and
 * triggers. */
#pragma once

#include <stdint.h>

struct control;
struct node;

void control_save_meta(struct control *c);
void control_save_node(struct control *c, struct node *n);
void record_put_node(struct control *c, const struct node *n); /* emits no events or triggers */
uint32_t record_next_job_id(struct control *c);                /* for a new job */
