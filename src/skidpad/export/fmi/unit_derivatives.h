/* Derivatives of what an FMU computes with respect to what it is given, along a direction.

   The tangents and adjoints of model.h are exact. Before the start, states may be computed from
   others and from parameters; their derivatives go into those of rates and outputs by the chain
   rule. */

#ifndef SKIDPAD_UNIT_DERIVATIVES_H
#define SKIDPAD_UNIT_DERIVATIVES_H

#include "unit.h"

/* Changes of what is known, or derivatives with respect to it. */
typedef struct {
    number x[NX], u[ROOM(NU)], w[ROOM(NW)], p[ROOM(NP)];
    number start[NX]; /* the state at the start of the last step, which is the state before it */
} unit_knowns;

/* Changes of what is unknown, or weights of it. */
typedef struct {
    number x[NX], rates[NX], y[ROOM(NY)];
} unit_unknowns;

static number* of_known(unit_knowns* knowns, int group)
{
    switch (group) {
        case STATE: return knowns->x;
        case INPUT: return knowns->u;
        case DISTURBANCE: return knowns->w;
        case PARAMETER: return knowns->p;
        default: return NULL;
    }
}

static number* of_unknown(unit_unknowns* unknowns, int group)
{
    switch (group) {
        case STATE: return unknowns->x;
        case RATE: return unknowns->rates;
        case OUTPUT: return unknowns->y;
        default: return NULL;
    }
}

/* The numbers of some variables, one after the other: read from values, or written to them. */
static int moved(unit* self, const uint32_t* references, size_t count, void* records, int known,
                 const double* source, double* goal, int arrays)
{
    for (size_t k = 0; k != count; ++k) {
        size_t place = 0;
        const int group = group_of(references[k], &place);
        const size_t size = size_of(references[k], arrays);
        number* numbers = known ? of_known(records, group) : of_unknown(records, group);
        if (group == TIME && known) {
            /* Nothing depends on the time itself. */
            if (goal != NULL) *goal++ = 0;
            if (source != NULL) ++source;
            continue;
        }
        if (numbers == NULL)
            return refuse(self, UNIT_ERROR, "%s is nothing that derivatives are %s",
                          variable_name(references[k]), known ? "taken with respect to" : "of");
        for (size_t n = 0; n != size; ++n) {
            if (source != NULL) numbers[place + n] = (number)*source++;
            if (goal != NULL) *goal++ = (double)numbers[place + n];
        }
    }
    return UNIT_OK;
}

/* Whether all variables exist and there are as many values as they have numbers. */
static int matches(unit* self, const uint32_t* references, size_t count, size_t values, int arrays,
                   const char* what)
{
    const size_t total = total_size(self, references, count, arrays);
    if (total == SIZE_MAX) return 0;
    if (total == values) return 1;
    (void)refuse(self, UNIT_ERROR, "there are %lu %s of variables that have %lu numbers",
                 (unsigned long)values, what, (unsigned long)total);
    return 0;
}

static int has_started(const unit* self) { return !(self->now.mode & BEFORE_START); }

/* Changes of the states that are computed from others, before the start. */
static void settle_changes(unit* self, unit_knowns* d)
{
    number start[NX], dx[NX], after[NX];
    unsettled_start(&self->now, start);
    for (size_t k = 0; k != NX; ++k) dx[k] = is_kept(&self->now, k) ? 0 : d->x[k];
    settle_tangent(start, vehicle_params(&self->now.car), dx, d->p, after);
    for (size_t k = 0; k != NX; ++k)
        if (!is_kept(&self->now, k)) d->x[k] = after[k];
}

/* sensitivity = J seed, with J the derivatives of the unknowns by the knowns. */
static int directional(unit* self, const uint32_t* unknowns, size_t n_unknowns,
                       const uint32_t* knowns, size_t n_knowns, const double* seed, size_t n_seed,
                       double* sensitivity, size_t n_sensitivity, int arrays)
{
    unit_knowns d;
    unit_unknowns r;
    memset(&d, 0, sizeof d);
    memset(&r, 0, sizeof r);
    if (!matches(self, knowns, n_knowns, n_seed, arrays, "seeds") ||
        !matches(self, unknowns, n_unknowns, n_sensitivity, arrays, "sensitivities"))
        return UNIT_ERROR;
    int status = moved(self, knowns, n_knowns, &d, 1, seed, NULL, arrays);
    if (status != UNIT_OK) return status;
    freshen(self);
    if (SETTLES && !has_started(self)) settle_changes(self, &d);
    if (!has_started(self) || self->exchange) memcpy(d.start, d.x, sizeof d.start);
    memcpy(r.x, d.x, sizeof r.x);
    if (ND) rates_tangent(&self->now.car, d.x, d.start, d.u, d.w, d.p, r.rates);
    if (NY) outputs_tangent(&self->now.car, d.x, d.start, d.u, d.w, d.p, r.y);
    return moved(self, unknowns, n_unknowns, &r, 0, NULL, sensitivity, arrays);
}

#endif
