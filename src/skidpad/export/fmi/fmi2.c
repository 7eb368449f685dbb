/* A vehicle as an FMU of FMI 2.0: every function of the standard, on top of unit.h. */

#include "fmi2.h"

#include "exporting.h"
#include "unit_derivatives.h"
#include "unit_instances.h"
#include "unit_motion.h"

#define FMI2(result, name) EXPORTED result NAMED(name)

static fmi2Status status_of(int status) { return (fmi2Status)status; }

/* The message is the format itself, as loggers that cannot read further arguments want it. */
static void write_message(unit* self, int status, const char* category, const char* message)
{
    const fmi2CallbackLogger log = (fmi2CallbackLogger)self->logger;
    char text[2 * LONGEST_MESSAGE];
    size_t room = 0;
    for (; *message != 0; ++message) {
        text[room++] = *message;
        if (*message == '%') text[room++] = '%';
    }
    text[room] = 0;
    if (log != NULL) log(self->environment, self->name, status_of(status), category, text);
}

/* What the standard has and this FMU has not. */
static fmi2Status missing(fmi2Component component, const char* what)
{
    if (component == NULL) return fmi2Error;
    return status_of(refuse(component, UNIT_ERROR, "this FMU has no %s", what));
}

/* ---- instances ------------------------------------------------------------------------------- */

FMI2(const char*, fmi2GetTypesPlatform)(void) { return fmi2TypesPlatform; }

FMI2(const char*, fmi2GetVersion)(void) { return "2.0"; }

FMI2(fmi2Status, fmi2SetDebugLogging)(fmi2Component component, fmi2Boolean on, size_t count,
                                      const fmi2String categories[])
{
    /* Messages are written only with errors, which are never left out. */
    (void)on, (void)count, (void)categories;
    return component == NULL ? fmi2Error : fmi2OK;
}

FMI2(fmi2Component, fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid,
                                     fmi2String resources, const fmi2CallbackFunctions* functions,
                                     fmi2Boolean visible, fmi2Boolean logging)
{
    (void)resources, (void)visible, (void)logging;
    if (functions == NULL) return NULL;
    unit* self = make_unit(name, type == fmi2ModelExchange);
    if (self == NULL) return NULL;
    self->environment = functions->componentEnvironment;
    self->logger = (void (*)(void))functions->logger;
    self->write = write_message;
    if (guid == NULL || strcmp(guid, UNIT_TOKEN) != 0)
        (void)refuse(self, UNIT_ERROR, "the GUID \"%s\" is not that of this FMU, %s",
                     guid == NULL ? "" : guid, UNIT_TOKEN);
    else if (self->exchange && ND == 0)
        (void)refuse(self, UNIT_ERROR, "this FMU is for co-simulation only");
    else
        return self;
    free_unit(self);
    return NULL;
}

FMI2(void, fmi2FreeInstance)(fmi2Component component) { free_unit(component); }

FMI2(fmi2Status, fmi2SetupExperiment)(fmi2Component component, fmi2Boolean tolerance_defined,
                                      fmi2Real tolerance, fmi2Real start_time,
                                      fmi2Boolean stop_defined, fmi2Real stop_time)
{
    unit* self = component;
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop_time;
    if (!allowed(self, MADE, "fmi2SetupExperiment")) return fmi2Error;
    self->now.stale = 1;
    return status_of(set_time(self, start_time));
}

FMI2(fmi2Status, fmi2EnterInitializationMode)(fmi2Component component)
{
    unit* self = component;
    if (!allowed(self, MADE, "fmi2EnterInitializationMode")) return fmi2Error;
    self->now.mode = INITIALISING;
    self->now.stale = 1;
    return fmi2OK;
}

FMI2(fmi2Status, fmi2ExitInitializationMode)(fmi2Component component)
{
    if (!allowed(component, INITIALISING, "fmi2ExitInitializationMode")) return fmi2Error;
    return status_of(unit_start(component));
}

FMI2(fmi2Status, fmi2Terminate)(fmi2Component component)
{
    unit* self = component;
    if (!allowed(self, RUNNING, "fmi2Terminate")) return fmi2Error;
    self->now.mode = TERMINATED;
    return fmi2OK;
}

FMI2(fmi2Status, fmi2Reset)(fmi2Component component)
{
    if (component == NULL) return fmi2Error;
    unit_reset(component);
    return fmi2OK;
}

/* ---- variables ------------------------------------------------------------------------------- */

FMI2(fmi2Status, fmi2GetReal)(fmi2Component component, const fmi2ValueReference references[],
                              size_t count, fmi2Real values[])
{
    if (!allowed(component, ANY_MODE, "fmi2GetReal")) return fmi2Error;
    return status_of(unit_get(component, references, count, values, count, 0));
}

FMI2(fmi2Status, fmi2SetReal)(fmi2Component component, const fmi2ValueReference references[],
                              size_t count, const fmi2Real values[])
{
    if (!allowed(component, BEFORE_START | RUNNING, "fmi2SetReal")) return fmi2Error;
    return status_of(unit_set(component, references, count, values, count, 0));
}

/* Every variable is a Real. */
#define NO_VARIABLES(Type)                                                                        \
    FMI2(fmi2Status, fmi2Get##Type)(fmi2Component component,                                      \
                                    const fmi2ValueReference references[], size_t count,          \
                                    fmi2##Type values[])                                          \
    {                                                                                             \
        (void)references, (void)values;                                                           \
        return count == 0 && component != NULL ? fmi2OK : missing(component, #Type " variables"); \
    }                                                                                             \
    FMI2(fmi2Status, fmi2Set##Type)(fmi2Component component,                                      \
                                    const fmi2ValueReference references[], size_t count,          \
                                    const fmi2##Type values[])                                    \
    {                                                                                             \
        (void)references, (void)values;                                                           \
        return count == 0 && component != NULL ? fmi2OK : missing(component, #Type " variables"); \
    }

NO_VARIABLES(Integer)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

/* ---- saved states and derivatives ------------------------------------------------------------ */

FMI2(fmi2Status, fmi2GetFMUstate)(fmi2Component component, fmi2FMUstate* state)
{
    if (!allowed(component, ANY_MODE, "fmi2GetFMUstate")) return fmi2Error;
    return status_of(save_state(component, state));
}

FMI2(fmi2Status, fmi2SetFMUstate)(fmi2Component component, fmi2FMUstate state)
{
    if (!allowed(component, ANY_MODE, "fmi2SetFMUstate")) return fmi2Error;
    return status_of(restore_state(component, state));
}

FMI2(fmi2Status, fmi2FreeFMUstate)(fmi2Component component, fmi2FMUstate* state)
{
    if (component == NULL || state == NULL) return fmi2Error;
    return status_of(free_state(component, state));
}

FMI2(fmi2Status, fmi2SerializedFMUstateSize)(fmi2Component component, fmi2FMUstate state,
                                             size_t* size)
{
    if (!allowed(component, ANY_MODE, "fmi2SerializedFMUstateSize")) return fmi2Error;
    (void)state;
    *size = sizeof(unit_saved);
    return fmi2OK;
}

FMI2(fmi2Status, fmi2SerializeFMUstate)(fmi2Component component, fmi2FMUstate state,
                                        fmi2Byte bytes[], size_t size)
{
    if (!allowed(component, ANY_MODE, "fmi2SerializeFMUstate")) return fmi2Error;
    return status_of(serialise(component, state, (unsigned char*)bytes, size));
}

FMI2(fmi2Status, fmi2DeSerializeFMUstate)(fmi2Component component, const fmi2Byte bytes[],
                                          size_t size, fmi2FMUstate* state)
{
    if (!allowed(component, ANY_MODE, "fmi2DeSerializeFMUstate")) return fmi2Error;
    return status_of(deserialise(component, (const unsigned char*)bytes, size, state));
}

FMI2(fmi2Status, fmi2GetDirectionalDerivative)(fmi2Component component,
                                               const fmi2ValueReference unknowns[],
                                               size_t n_unknowns, const fmi2ValueReference knowns[],
                                               size_t n_knowns, const fmi2Real seed[],
                                               fmi2Real sensitivity[])
{
    if (!allowed(component, INITIALISING | RUNNING | TERMINATED, "fmi2GetDirectionalDerivative"))
        return fmi2Error;
    return status_of(directional(component, unknowns, n_unknowns, knowns, n_knowns, seed, n_knowns,
                                 sensitivity, n_unknowns, 0));
}

/* ---- model exchange -------------------------------------------------------------------------- */

FMI2(fmi2Status, fmi2EnterEventMode)(fmi2Component component)
{
    unit* self = component;
    if (!allowed(self, CONTINUOUS | EVENT, "fmi2EnterEventMode")) return fmi2Error;
    self->now.mode = EVENT;
    return fmi2OK;
}

FMI2(fmi2Status, fmi2NewDiscreteStates)(fmi2Component component, fmi2EventInfo* info)
{
    if (!allowed(component, EVENT, "fmi2NewDiscreteStates")) return fmi2Error;
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

FMI2(fmi2Status, fmi2EnterContinuousTimeMode)(fmi2Component component)
{
    unit* self = component;
    if (!allowed(self, EVENT, "fmi2EnterContinuousTimeMode")) return fmi2Error;
    self->now.mode = CONTINUOUS;
    return fmi2OK;
}

FMI2(fmi2Status, fmi2CompletedIntegratorStep)(fmi2Component component, fmi2Boolean no_set_prior,
                                              fmi2Boolean* enter_event, fmi2Boolean* terminate)
{
    (void)no_set_prior;
    if (!allowed(component, CONTINUOUS, "fmi2CompletedIntegratorStep")) return fmi2Error;
    *enter_event = *terminate = 0;
    return fmi2OK;
}

FMI2(fmi2Status, fmi2SetTime)(fmi2Component component, fmi2Real time)
{
    if (!allowed(component, CONTINUOUS | EVENT, "fmi2SetTime")) return fmi2Error;
    return status_of(set_time(component, time));
}

FMI2(fmi2Status, fmi2SetContinuousStates)(fmi2Component component, const fmi2Real states[],
                                          size_t count)
{
    if (!allowed(component, CONTINUOUS | EVENT, "fmi2SetContinuousStates")) return fmi2Error;
    return status_of(set_states(component, states, count));
}

FMI2(fmi2Status, fmi2GetDerivatives)(fmi2Component component, fmi2Real rates[], size_t count)
{
    if (ND == 0) return missing(component, "continuous states");
    if (!allowed(component, INITIALISING | RUNNING | TERMINATED, "fmi2GetDerivatives"))
        return fmi2Error;
    return status_of(get_rates(component, rates, count));
}

FMI2(fmi2Status, fmi2GetEventIndicators)(fmi2Component component, fmi2Real indicators[],
                                         size_t count)
{
    (void)indicators;
    return count == 0 && component != NULL ? fmi2OK : missing(component, "event indicators");
}

FMI2(fmi2Status, fmi2GetContinuousStates)(fmi2Component component, fmi2Real states[], size_t count)
{
    if (ND == 0) return missing(component, "continuous states");
    if (!allowed(component, INITIALISING | RUNNING | TERMINATED, "fmi2GetContinuousStates"))
        return fmi2Error;
    return status_of(get_states(component, states, count));
}

FMI2(fmi2Status, fmi2GetNominalsOfContinuousStates)(fmi2Component component, fmi2Real nominals[],
                                                    size_t count)
{
    if (ND == 0 || count != NX) return missing(component, "continuous states of this number");
    for (size_t k = 0; k != count; ++k) nominals[k] = 1;
    return fmi2OK;
}

/* ---- co-simulation --------------------------------------------------------------------------- */

FMI2(fmi2Status, fmi2SetRealInputDerivatives)(fmi2Component component,
                                              const fmi2ValueReference references[], size_t count,
                                              const fmi2Integer orders[], const fmi2Real values[])
{
    (void)references, (void)count, (void)orders, (void)values;
    return missing(component, "inputs that are interpolated");
}

FMI2(fmi2Status, fmi2GetRealOutputDerivatives)(fmi2Component component,
                                               const fmi2ValueReference references[], size_t count,
                                               const fmi2Integer orders[], fmi2Real values[])
{
    (void)references, (void)count, (void)orders, (void)values;
    return missing(component, "derivatives of outputs by the time");
}

FMI2(fmi2Status, fmi2DoStep)(fmi2Component component, fmi2Real point, fmi2Real length,
                             fmi2Boolean no_set_prior)
{
    (void)no_set_prior;
    if (!allowed(component, STEPPING, "fmi2DoStep")) return fmi2Error;
    return status_of(unit_step(component, point, length));
}

FMI2(fmi2Status, fmi2CancelStep)(fmi2Component component)
{
    return missing(component, "steps that go on after the call");
}

FMI2(fmi2Status, fmi2GetStatus)(fmi2Component component, const fmi2StatusKind kind,
                                fmi2Status* value)
{
    (void)kind, (void)value;
    return component == NULL ? fmi2Error : fmi2Discard;
}

FMI2(fmi2Status, fmi2GetRealStatus)(fmi2Component component, const fmi2StatusKind kind,
                                    fmi2Real* value)
{
    if (component == NULL) return fmi2Error;
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = unit_time(component);
    return fmi2OK;
}

FMI2(fmi2Status, fmi2GetIntegerStatus)(fmi2Component component, const fmi2StatusKind kind,
                                       fmi2Integer* value)
{
    (void)kind, (void)value;
    return component == NULL ? fmi2Error : fmi2Discard;
}

FMI2(fmi2Status, fmi2GetBooleanStatus)(fmi2Component component, const fmi2StatusKind kind,
                                       fmi2Boolean* value)
{
    if (component == NULL) return fmi2Error;
    if (kind != fmi2Terminated) return fmi2Discard;
    *value = 0;
    return fmi2OK;
}

FMI2(fmi2Status, fmi2GetStringStatus)(fmi2Component component, const fmi2StatusKind kind,
                                      fmi2String* value)
{
    (void)kind, (void)value;
    return component == NULL ? fmi2Error : fmi2Discard;
}
