/* Steps of co-simulation, and what an integrator of others asks for. */

#ifndef SKIDPAD_UNIT_MOTION_H
#define SKIDPAD_UNIT_MOTION_H

#include "unit.h"

/* A step is a whole number of STEP_SIZE if it is within this part of it. */
#define WHOLE 1e-9
/* What rounding leaves of a time, as a part of it: the clock of a master is a sum of steps. */
#define ROUNDING 1e-15
#define MOST_STEPS 2147483647.0

/* ---- co-simulation --------------------------------------------------------------------------- */

/* The steps that a communication step is made of: n of STEP_SIZE where it is n times that, else as
   many equal ones as keep each from being longer. */
static double steps_within(double time, double length, int* whole)
{
    const double parts = length / STEP_SIZE;
    double count = (double)(int64_t)(parts + 0.5);
    const double off = length - count * STEP_SIZE;
    const double slack = WHOLE * length + ROUNDING * (time < 0 ? -time : time);
    *whole = count >= 1 && off <= slack && -off <= slack;
    if (!*whole) {
        count = (double)(int64_t)parts;
        if (count < parts || count < 1) count += 1;
    }
    return count;
}

static int step_failed(unit* self, int code, double from)
{
    const number* state = vehicle_state(&self->now.car);
    switch (code) {
        case VEHICLE_BAD_INPUT:
            for (size_t k = 0; k != NU; ++k)
                if (!is_finite((double)self->now.command[k]))
                    return refuse(self, UNIT_ERROR, "%s = %g must be finite",
                                  variable_name(FIRST_INPUT + k), (double)self->now.command[k]);
            return refuse(self, UNIT_ERROR, "an input is not finite");
        case VEHICLE_DIVERGED: {
            /* What is far away already tells most of what happened. */
            size_t worst = 0;
            for (size_t k = 1; k != NX; ++k)
                if (state[k] * state[k] > state[worst] * state[worst]) worst = k;
            return refuse(self, UNIT_DISCARD,
                          "the state became NaN or infinite in the step from t = %.9g s; it is as "
                          "before the step, its largest number %s = %g. Take a smaller dt or an "
                          "implicit integrator",
                          from, variable_name(FIRST_STATE + worst), (double)state[worst]);
        }
        case VEHICLE_NOT_CONVERGED:
            return refuse(self, UNIT_DISCARD,
                          "the step from t = %.9g s could not be solved: Newton's iteration did not "
                          "converge. The state is as before the step; take a smaller one", from);
        default:
            return refuse(self, UNIT_ERROR,
                          "a parameter that holds a dead time is negative, or longer than the queue "
                          "of commands, which is decided at the export");
    }
}

/* A communication step of `length` s; on failure the vehicle is as before. */
static int unit_step(unit* self, double point, double length)
{
    unit_moment* now = &self->now;
    const double time = vehicle_time(&now->car), off = point - time;
    if (!is_finite(length) || length <= 0)
        return refuse(self, UNIT_ERROR, "a step of %g s cannot be made; it must be greater than 0",
                      length);
    if (!(off < 0.5 * STEP_SIZE && -off < 0.5 * STEP_SIZE))
        return refuse(self, UNIT_ERROR, "the step begins at %.9g s, but the vehicle is at %.9g s",
                      point, time);
    if (!(length / STEP_SIZE < MOST_STEPS))
        return refuse(self, UNIT_ERROR, "a step of %g s is more than %.0f steps of %g s", length,
                      MOST_STEPS, STEP_SIZE);
    int whole = 0;
    const double count = steps_within(time, length, &whole);
    self->kept = now->car;
    for (double k = 0; k < count; ++k) {
        const double from = vehicle_time(&now->car);
        const int code = whole ? vehicle_step(&now->car, now->command)
                               : vehicle_step_of(&now->car, now->command, length / count);
        if (code != VEHICLE_OK) {
            now->car = self->kept;
            return step_failed(self, code, from);
        }
    }
    forget_results(self);
    return UNIT_OK;
}

/* ---- model exchange -------------------------------------------------------------------------- */

static int set_states(unit* self, const double* states, size_t count)
{
    if (count != NX)
        return refuse(self, UNIT_ERROR, "there are %d states, not %lu", NX, (unsigned long)count);
    for (size_t k = 0; k != NX; ++k) {
        const int status = check_value(self, (uint32_t)(FIRST_STATE + k), states[k]);
        /* An integrator may try a state too far away, and take a smaller step. */
        if (status != UNIT_OK) return UNIT_DISCARD;
    }
    for (size_t k = 0; k != NX; ++k)
        vehicle_state(&self->now.car)[k] = vehicle_before(&self->now.car)[k] = (number)states[k];
    forget_results(self);
    return UNIT_OK;
}

static int get_states(unit* self, double* states, size_t count)
{
    if (count != NX)
        return refuse(self, UNIT_ERROR, "there are %d states, not %lu", NX, (unsigned long)count);
    freshen(self);
    for (size_t k = 0; k != NX; ++k) states[k] = (double)vehicle_state(&self->now.car)[k];
    return UNIT_OK;
}

static int get_rates(unit* self, double* rates, size_t count)
{
    if (count != NX)
        return refuse(self, UNIT_ERROR, "there are %d states, not %lu", NX, (unsigned long)count);
    freshen(self);
    for (size_t k = 0; k != NX; ++k) {
        rates[k] = (double)rates_of(self)[k];
        if (!is_finite(rates[k]))
            return refuse(self, UNIT_DISCARD, "%s is not finite at t = %.9g s",
                          variable_name(FIRST_RATE + k), self->now.time);
    }
    return UNIT_OK;
}

static int set_time(unit* self, double time)
{
    if (!is_finite(time)) return refuse(self, UNIT_ERROR, "time = %g must be finite", time);
    self->now.time = time;
    return UNIT_OK;
}

#endif
