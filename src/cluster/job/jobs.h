/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs of the cluster, by id. */
#pragma once

#include <stdint.h>

struct cluster;
struct job;

struct job *cluster_find_job(const struct cluster *c, uint32_t id);

/* Adds a job with this id; NULL: the id exists. Ids normally rise. */
struct job *cluster_add_job(struct cluster *c, uint32_t id);
void cluster_remove_job(struct cluster *c, struct job *j);
void job_free_all(struct cluster *c); /* when the cluster is freed */
