/* The derivatives of unit_derivatives.h the other way round: from weights of what is computed to
   what their sum depends on. Version 3.0 alone asks for them. */

#ifndef SKIDPAD_UNIT_ADJOINTS_H
#define SKIDPAD_UNIT_ADJOINTS_H

#include "unit_derivatives.h"

/* From derivatives by the states, before the start, to those by what they are computed from. */
static void settle_weights(unit* self, unit_knowns* d)
{
    number start[NX], weights[NX], dx[NX], dp[ROOM(NP)];
    memset(dp, 0, sizeof dp);
    unsettled_start(&self->now, start);
    for (size_t k = 0; k != NX; ++k) weights[k] = is_kept(&self->now, k) ? 0 : d->x[k];
    settle_adjoint(start, vehicle_params(&self->now.car), weights, dx, dp);
    for (size_t k = 0; k != NX; ++k)
        if (!is_kept(&self->now, k)) d->x[k] = dx[k];
    for (size_t k = 0; k != NP; ++k) d->p[k] += dp[k];
}

static void add(number* sums, const number* terms, size_t count)
{
    for (size_t k = 0; k != count; ++k) sums[k] += terms[k];
}

static void add_knowns(unit_knowns* sums, const unit_knowns* terms)
{
    add(sums->x, terms->x, NX);
    add(sums->start, terms->start, NX);
    add(sums->u, terms->u, NU);
    add(sums->w, terms->w, NW);
    add(sums->p, terms->p, NP);
}

/* sensitivity = J^T seed, with J the derivatives of the unknowns by the knowns. */
static int adjoint(unit* self, const uint32_t* unknowns, size_t n_unknowns, const uint32_t* knowns,
                   size_t n_knowns, const double* seed, size_t n_seed, double* sensitivity,
                   size_t n_sensitivity)
{
    unit_knowns d, terms;
    unit_unknowns r;
    memset(&d, 0, sizeof d);
    memset(&r, 0, sizeof r);
    if (!matches(self, unknowns, n_unknowns, n_seed, 1, "seeds") ||
        !matches(self, knowns, n_knowns, n_sensitivity, 1, "sensitivities"))
        return UNIT_ERROR;
    int status = moved(self, unknowns, n_unknowns, &r, 0, seed, NULL, 1);
    if (status != UNIT_OK) return status;
    freshen(self);
    memcpy(d.x, r.x, sizeof d.x);
    if (ND) {
        memset(&terms, 0, sizeof terms);
        rates_adjoint(&self->now.car, r.rates, terms.x, terms.start, terms.u, terms.w, terms.p);
        add_knowns(&d, &terms);
    }
    if (NY) {
        memset(&terms, 0, sizeof terms);
        outputs_adjoint(&self->now.car, r.y, terms.x, terms.start, terms.u, terms.w, terms.p);
        add_knowns(&d, &terms);
    }
    if (!has_started(self) || self->exchange) add(d.x, d.start, NX);
    if (SETTLES && !has_started(self)) settle_weights(self, &d);
    return moved(self, knowns, n_knowns, &d, 1, NULL, sensitivity, 1);
}

#endif
