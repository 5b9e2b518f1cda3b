/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the controller itself and of nodes; with a node's record go its events and triggers.
 */
#pragma once

#include <stdint.h>

struct control;
struct node;

void control_save_meta(struct control *c);
void control_save_node(struct control *c, struct node *n);
void record_put_node(struct control *c, const struct node *n); /* nothing is told of it */
uint32_t record_next_job_id(struct control *c);                /* of a new job */
