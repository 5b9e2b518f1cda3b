/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The metrics of the controller for monitoring systems; the families are rows of metric.def. */
#pragma once

struct control;
struct str;

enum control_metrics {
    METRICS_JOBS,
    METRICS_USERS, /* and accounts */
    METRICS_NODES,
    METRICS_PARTITIONS,
    METRICS_SCHEDULER,
    METRICS_LICENSES, /* resources that nodes share */
};

/* Appends the metrics in OpenMetrics format. */
void control_metrics(const struct control *c, enum control_metrics what, struct str *out);
