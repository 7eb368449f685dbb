/* Instances, and states of them that are saved, restored and written as bytes. */

#ifndef SKIDPAD_UNIT_INSTANCES_H
#define SKIDPAD_UNIT_INSTANCES_H

#include "unit.h"

/* ---- saved states ---------------------------------------------------------------------------- */

/* What a saved state begins with, so that one of another vehicle is not taken for it. */
typedef struct {
    char token[sizeof UNIT_TOKEN];
    int32_t exchange;
    unit_moment moment;
} unit_saved;

static int is_own(const unit_saved* saved)
{
    return saved != NULL && memcmp(saved->token, UNIT_TOKEN, sizeof UNIT_TOKEN) == 0;
}

static int foreign_state(unit* self)
{
    return refuse(self, UNIT_ERROR, "this is not a state that was saved by this FMU");
}

static int save_state(unit* self, void** state)
{
    unit_saved* saved = *state;
    if (saved != NULL && !is_own(saved)) return foreign_state(self);
    if (saved == NULL) saved = calloc(1, sizeof *saved);
    if (saved == NULL) return refuse(self, UNIT_ERROR, "there is no memory for a state");
    memcpy(saved->token, UNIT_TOKEN, sizeof UNIT_TOKEN);
    saved->exchange = self->exchange;
    memcpy(&saved->moment, &self->now, sizeof saved->moment);
    *state = saved;
    return UNIT_OK;
}

static int restore_state(unit* self, const unit_saved* saved)
{
    if (!is_own(saved)) return foreign_state(self);
    if (saved->exchange != self->exchange)
        return refuse(self, UNIT_ERROR, "the state is one of %s",
                      saved->exchange ? "model exchange" : "co-simulation");
    memcpy(&self->now, &saved->moment, sizeof self->now);
    return UNIT_OK;
}

static int free_state(unit* self, void** state)
{
    if (*state != NULL && !is_own(*state)) return foreign_state(self);
    free(*state);
    *state = NULL;
    return UNIT_OK;
}

static int serialise(unit* self, const unit_saved* saved, unsigned char* bytes, size_t size)
{
    if (!is_own(saved)) return foreign_state(self);
    if (size < sizeof *saved)
        return refuse(self, UNIT_ERROR, "a state has %lu bytes, there is room for %lu",
                      (unsigned long)sizeof *saved, (unsigned long)size);
    memcpy(bytes, saved, sizeof *saved);
    return UNIT_OK;
}

static int deserialise(unit* self, const unsigned char* bytes, size_t size, void** state)
{
    if (size < sizeof(unit_saved) || memcmp(bytes, UNIT_TOKEN, sizeof UNIT_TOKEN) != 0)
        return foreign_state(self);
    unit_saved* saved = *state;
    if (saved == NULL) saved = calloc(1, sizeof *saved);
    if (saved == NULL) return refuse(self, UNIT_ERROR, "there is no memory for a state");
    memcpy(saved, bytes, sizeof *saved);
    *state = saved;
    return UNIT_OK;
}

/* ---- instances ------------------------------------------------------------------------------- */

static void free_unit(unit* self)
{
    if (self == NULL) return;
    free(self->name);
    free(self);
}

static unit* make_unit(const char* name, int exchange)
{
    unit* self = calloc(1, sizeof *self);
    if (self == NULL) return NULL;
    const size_t size = strlen(name == NULL ? "" : name) + 1;
    self->name = calloc(1, size);
    if (self->name == NULL) {
        free(self);
        return NULL;
    }
    memcpy(self->name, name == NULL ? "" : name, size);
    self->exchange = exchange;
    unit_reset(self);
    return self;
}

#endif
