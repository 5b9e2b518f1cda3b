/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights of trackable resources (PriorityWeightTRES, TRESBillingWeights of partitions). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CONF_TRES_MAX 16

/* PriorityFlags: resources of nodes are added, or the greatest counts, with MAX_TRES_GRES beside
   the sum of generic resources. The numbers are stored in records. */
enum conf_billing { CONF_BILLING_SUM, CONF_BILLING_MAX, CONF_BILLING_MAX_GRES };
struct conf;
enum conf_billing conf_billing_rule(const struct conf *c);

struct conf_tres_weight {
    char name[64]; /* lower case: "cpu", "gres/gpu" */
    double weight; /* may be negative */
};

/* Parses "CPU=1000,Mem=2000,GRES/gpu=3000", at most CONF_TRES_MAX entries. -ERR_PARSE names the
   invalid word. */
int conf_tres_parse(const char *text, struct conf_tres_weight *out, size_t *count, struct err *err);
/* The same for TRESBillingWeights: weights are not negative and may be of K, M, G, T or P units, as
   in "Mem=0.25G". The result is for MiB of memory, and for one of other resources. */
int conf_tres_parse_billing(const char *text, struct conf_tres_weight *out, size_t *count,
                            struct err *err);

/* Whether jobs can have an amount of the resource with this name in lower case. -ERR_PARSE: it is
   unknown; 1: Slurm has it, no job here does; both with a text. */
int conf_tres_check_billed(const struct conf *c, const char *name, struct err *err);

/* The billing of resources: their sum, weighted by TRESBillingWeights of a partition; without
   weights the CPUs. With MAX_TRES the resources of nodes (CPUs, memory, nodes and generic
   resources) count as the greatest of them, with MAX_TRES_GRES those other than generic resources.
 */
struct conf_bill {
    struct conf_tres_weight weights[CONF_TRES_MAX];
    size_t n;
    bool has_weights;
    enum conf_billing rule;
    double cpus, most, gres, other;
};

/* 'weights' NULL or "": none. */
void conf_bill_begin(struct conf_bill *b, const char *weights, uint32_t rule);
/* Adds an amount of "cpu", "mem" (MiB), "node", "gres/NAME", "gres/NAME:TYPE" or "license/NAME". */
void conf_bill_add(struct conf_bill *b, const char *name, double amount);
/* Adds amounts of a list such as "matlab:2,ansys" or "power(n[1,3]):2". Of alternatives
 * ("matlab|ansys") the first one counts. */
void conf_bill_add_licenses(struct conf_bill *b, const char *list);
double conf_bill_sum(const struct conf_bill *b);
