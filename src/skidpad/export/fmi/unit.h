/* A vehicle behind the Functional Mock-up Interface: what versions 2.0 and 3.0 of it share.

   All functions are static: this file becomes part of one translation unit, fmi2.c or fmi3.c.
   model.h is generated; it has the vehicle, its sizes and the table of its variables. */

#ifndef SKIDPAD_UNIT_H
#define SKIDPAD_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* Status of a call, the same numbers in both versions. */
enum { UNIT_OK = 0, UNIT_WARNING = 1, UNIT_DISCARD = 2, UNIT_ERROR = 3 };

/* What an instance is doing. Several may be asked for at once. */
enum {
    MADE = 1,         /* instantiated: starts and parameters are set */
    INITIALISING = 2, /* in initialisation mode: computed starts can be read */
    EVENT = 4,        /* model exchange, between two pieces of motion */
    CONTINUOUS = 8,   /* model exchange, somebody integrates */
    STEPPING = 16,    /* co-simulation, between two steps */
    TERMINATED = 32
};
#define BEFORE_START (MADE | INITIALISING)
#define RUNNING (EVENT | CONTINUOUS | STEPPING)
#define ANY_MODE (BEFORE_START | RUNNING | TERMINATED)

/* Groups of variables; their value references lie in this order, after that of the time. */
enum { TIME, STATE, RATE, INPUT, DISTURBANCE, OUTPUT, PARAMETER, NOTHING };

#define LONGEST_MESSAGE 640

/* All that changes: copied to save it, copied back to restore it. */
typedef struct {
    vehicle car;
    double time;                             /* of model exchange; co-simulation asks the car */
    int32_t mode;
    int32_t touched;                         /* whether a start or a parameter has been set */
    int32_t stale;                           /* whether the start has to be made consistent */
    int32_t rates_known, outputs_known;      /* whether the values below are of this moment */
    unsigned char given[NX];                 /* states that a start value was set of */
    number start[NX];                        /* as it was given */
    number command[ROOM(NU)];
    number rates[NX];
    number outputs[ROOM(NY)];
} unit_moment;

typedef struct unit {
    unit_moment now;
    vehicle kept;                            /* while a step is made, which may fail */
    int exchange;                            /* whether somebody else integrates */
    char* name;
    void* environment;
    void (*write)(struct unit* self, int status, const char* category, const char* message);
    void (*logger)(void);                    /* of the version, which alone knows its type */
} unit;

/* Says why a call is refused, and gives its status. */
static int refuse(unit* self, int status, const char* format, ...)
{
    char message[LONGEST_MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    self->write(self, status, status == UNIT_DISCARD ? "logStatusDiscard" : "logStatusError",
                message);
    return status;
}

static int is_finite(double value) { return value - value == 0.0; }

static const char* mode_name(int mode)
{
    switch (mode) {
        case MADE: return "instantiated";
        case INITIALISING: return "initialisation mode";
        case EVENT: return "event mode";
        case CONTINUOUS: return "continuous-time mode";
        case STEPPING: return "step mode";
        default: return "terminated";
    }
}

/* Whether a function may be called now. */
static int allowed(unit* self, int modes, const char* function)
{
    if (self == NULL) return 0;
    if (self->now.mode & modes) return 1;
    (void)refuse(self, UNIT_ERROR, "%s cannot be called in the state \"%s\"", function,
                 mode_name(self->now.mode));
    return 0;
}

/* Time in s. */
static double unit_time(const unit* self)
{
    return self->exchange || (self->now.mode & BEFORE_START) ? self->now.time
                                                             : vehicle_time(&self->now.car);
}

static void forget_results(unit* self) { self->now.rates_known = self->now.outputs_known = 0; }

/* ---- starts ---------------------------------------------------------------------------------- */

/* As it was made: parameters and starts of the model description. */
static void unit_reset(unit* self)
{
    unit_moment* now = &self->now;
    memset(now, 0, sizeof *now);
    vehicle_init(&now->car);
    memcpy(now->start, unit_starts, sizeof now->start);
    if (NU) memcpy(now->command, unit_inputs, sizeof now->command);
    now->mode = MADE;
    now->stale = 1;
}

/* The start that is made consistent: what was given, and defaults; what is filled counts as 0. */
static void unsettled_start(const unit_moment* now, number* start)
{
    for (size_t k = 0; k != NX; ++k)
        start[k] = unit_fills[k] ? 0 : now->given[k] ? now->start[k] : unit_defaults[k];
}

/* Whether a field of the start is kept as it was given instead of being computed. */
static int is_kept(const unit_moment* now, size_t k) { return unit_fills[k] && now->given[k]; }

/* Until the start: the state by the starts that were given, acted on by the inputs that are set. */
static void freshen(unit* self)
{
    unit_moment* now = &self->now;
    if (!(now->mode & BEFORE_START) || !now->stale) return;
    number state[NX];
    memcpy(state, now->start, sizeof state);
    /* As nobody has set anything, the starts are consistent already, to the last bit as in Python. */
    if (SETTLES && now->touched) {
        unsettled_start(now, state);
        vehicle_settle(state, vehicle_params(&now->car));
        for (size_t k = 0; k != NX; ++k)
            if (is_kept(now, k)) state[k] = now->start[k];
    }
    (void)vehicle_reset(&now->car, state, now->time);
    for (size_t k = 0; k != NU; ++k)
        vehicle_input(&now->car)[k] = unit_delayed[k] ? unit_inputs[k] : now->command[k];
    now->stale = 0;
    forget_results(self);
}

/* The motion begins. */
static int unit_start(unit* self)
{
    freshen(self);
    const number* state = vehicle_state(&self->now.car);
    for (size_t k = 0; k != NX; ++k)
        if (!is_finite((double)state[k]))
            return refuse(self, UNIT_ERROR, "%s starts at %g, which is not finite",
                          variable_name(FIRST_STATE + k), (double)state[k]);
    self->now.mode = self->exchange ? EVENT : STEPPING;
    return UNIT_OK;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The group of a value reference, and its place there. */
static int group_of(uint32_t reference, size_t* place)
{
    static const size_t sizes[] = {1, NX, ND, NU, NW, NY, NP};
    size_t rest = reference;
    for (int group = TIME; group < NOTHING; ++group) {
        if (rest < sizes[group]) {
            *place = rest;
            return group;
        }
        rest -= sizes[group];
    }
    return NOTHING;
}

/* How many numbers a variable has; 0 if there is no variable of this reference. */
static size_t size_of(uint32_t reference, int arrays)
{
    size_t place = 0;
    const int group = group_of(reference, &place);
    if (group == NOTHING) return 0;
    if (group != PARAMETER || unit_parameter_sizes[place] == HIDDEN)
        return group != PARAMETER;
    return arrays ? (size_t)unit_parameter_sizes[place] : 1;
}

/* The numbers that some variables have together, or SIZE_MAX if one of them does not exist. */
static size_t total_size(unit* self, const uint32_t* references, size_t count, int arrays)
{
    size_t total = 0;
    for (size_t k = 0; k < count; ++k) {
        const size_t size = size_of(references[k], arrays);
        if (size == 0) {
            (void)refuse(self, UNIT_ERROR, "there is no variable with the value reference %lu",
                         (unsigned long)references[k]);
            return SIZE_MAX;
        }
        total += size;
    }
    return total;
}

static const number* rates_of(unit* self)
{
    unit_moment* now = &self->now;
    if (!now->rates_known) {
        vehicle_rates(&now->car, now->rates);
        now->rates_known = 1;
    }
    return now->rates;
}

static const number* outputs_of(unit* self)
{
    unit_moment* now = &self->now;
    if (!now->outputs_known) {
        vehicle_outputs(&now->car, now->outputs);
        now->outputs_known = 1;
    }
    return now->outputs;
}

/* Where the numbers of a group lie. */
static const number* numbers_of(unit* self, int group)
{
    switch (group) {
        case STATE: return vehicle_state(&self->now.car);
        case RATE: return rates_of(self);
        case INPUT: return self->now.command;
        case DISTURBANCE: return vehicle_disturbance(&self->now.car);
        case OUTPUT: return outputs_of(self);
        default: return vehicle_params(&self->now.car);
    }
}

static int unit_get(unit* self, const uint32_t* references, size_t count, double* values,
                    size_t room, int arrays)
{
    const size_t total = total_size(self, references, count, arrays);
    if (total == SIZE_MAX) return UNIT_ERROR;
    if (total != room)
        return refuse(self, UNIT_ERROR, "%lu values are asked for by variables that have %lu",
                      (unsigned long)room, (unsigned long)total);
    freshen(self);
    for (size_t k = 0; k < count; ++k) {
        size_t place = 0;
        const int group = group_of(references[k], &place);
        const size_t size = size_of(references[k], arrays);
        if (group == TIME) {
            *values++ = unit_time(self);
            continue;
        }
        const number* numbers = numbers_of(self, group) + place;
        for (size_t n = 0; n < size; ++n) *values++ = (double)numbers[n];
    }
    return UNIT_OK;
}

/* Modes in which variables of a group may be set. */
static int settable(int group)
{
    switch (group) {
        case STATE: return BEFORE_START;
        case INPUT:
        case DISTURBANCE: return BEFORE_START | RUNNING;
        case PARAMETER: return BEFORE_START | EVENT | STEPPING;
        default: return 0;
    }
}

static int check_value(unit* self, uint32_t reference, double value)
{
    const unit_range* range = range_of(reference);
    const char* name = variable_name(reference);
    if (!is_finite(value) || !is_finite((double)(number)value))
        return refuse(self, UNIT_ERROR, "%s = %g must be finite", name, value);
    if (range == NULL) return UNIT_OK;
    if (value < range->low || value > range->high || (range->open_low && value == range->low) ||
        (range->whole && value != (double)(int64_t)value))
        return refuse(self, UNIT_ERROR, "%s = %g; allowed is %s", name, value, range->text);
    return UNIT_OK;
}

static int check_set(unit* self, const uint32_t* references, size_t count, const double* values,
                     int arrays)
{
    for (size_t k = 0; k < count; ++k) {
        size_t place = 0;
        const int group = group_of(references[k], &place), modes = settable(group);
        if (!(self->now.mode & modes))
            return refuse(self, UNIT_ERROR, "%s cannot be set%s%s", variable_name(references[k]),
                          modes ? " in the state " : "", modes ? mode_name(self->now.mode) : "");
        const size_t size = size_of(references[k], arrays);
        for (size_t n = 0; n < size; ++n) {
            const int status = check_value(self, references[k] + (uint32_t)n, *values++);
            if (status != UNIT_OK) return status;
        }
    }
    return UNIT_OK;
}

static void put(unit* self, int group, size_t place, number value)
{
    unit_moment* now = &self->now;
    switch (group) {
        case STATE:
            now->start[place] = value;
            now->given[place] = 1;
            now->touched = 1;
            break;
        case INPUT:
            now->command[place] = value;
            /* Between the steps of co-simulation, what acted last still is what acted last. */
            if (self->exchange && !(now->mode & BEFORE_START))
                vehicle_input(&now->car)[place] = value;
            break;
        case DISTURBANCE: vehicle_disturbance(&now->car)[place] = value; break;
        default:
            vehicle_params(&now->car)[place] = value;
            now->touched = 1;
    }
}

/* Sets all of the values or, if one of them is refused, none. */
static int unit_set(unit* self, const uint32_t* references, size_t count, const double* values,
                    size_t room, int arrays)
{
    const size_t total = total_size(self, references, count, arrays);
    if (total == SIZE_MAX) return UNIT_ERROR;
    if (total != room)
        return refuse(self, UNIT_ERROR, "%lu values are given to variables that have %lu",
                      (unsigned long)room, (unsigned long)total);
    const int status = check_set(self, references, count, values, arrays);
    if (status != UNIT_OK) return status;
    for (size_t k = 0; k < count; ++k) {
        size_t place = 0;
        const int group = group_of(references[k], &place);
        const size_t size = size_of(references[k], arrays);
        for (size_t n = 0; n < size; ++n) put(self, group, place + n, (number)*values++);
    }
    self->now.stale = 1;
    forget_results(self);
    return UNIT_OK;
}

#endif
