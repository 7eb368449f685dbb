/* A vehicle as an FMU of FMI 3.0: every function of the standard, on top of unit.h. */

#include "fmi3.h"

#include "exporting.h"
#include "unit_adjoints.h"
#include "unit_instances.h"
#include "unit_motion.h"

#define FMI3(result, name) EXPORTED result NAMED(name)

static fmi3Status status_of(int status) { return (fmi3Status)status; }

static void write_message(unit* self, int status, const char* category, const char* message)
{
    const fmi3LogMessageCallback log = (fmi3LogMessageCallback)self->logger;
    if (log != NULL) log(self->environment, status_of(status), category, message);
}

/* What the standard has and this FMU has not. */
static fmi3Status missing(fmi3Instance instance, const char* what)
{
    if (instance == NULL) return fmi3Error;
    return status_of(refuse(instance, UNIT_ERROR, "this FMU has no %s", what));
}

static fmi3Instance instantiate(fmi3String name, fmi3String token, int exchange,
                                fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    unit* self = make_unit(name, exchange);
    if (self == NULL) return NULL;
    self->environment = environment;
    self->logger = (void (*)(void))log;
    self->write = write_message;
    if (token == NULL || strcmp(token, UNIT_TOKEN) != 0) {
        (void)refuse(self, UNIT_ERROR, "the instantiation token \"%s\" is not that of this FMU, %s",
                     token == NULL ? "" : token, UNIT_TOKEN);
        free_unit(self);
        return NULL;
    }
    return self;
}

/* ---- instances ------------------------------------------------------------------------------- */

FMI3(const char*, fmi3GetVersion)(void) { return "3.0"; }

FMI3(fmi3Status, fmi3SetDebugLogging)(fmi3Instance instance, fmi3Boolean on, size_t count,
                                      const fmi3String categories[])
{
    /* Messages are written only with errors, which are never left out. */
    (void)on, (void)count, (void)categories;
    return instance == NULL ? fmi3Error : fmi3OK;
}

FMI3(fmi3Instance, fmi3InstantiateModelExchange)(fmi3String name, fmi3String token,
                                                 fmi3String resources, fmi3Boolean visible,
                                                 fmi3Boolean logging,
                                                 fmi3InstanceEnvironment environment,
                                                 fmi3LogMessageCallback log)
{
    (void)resources, (void)visible, (void)logging;
    if (ND == 0) {
        if (log != NULL)
            log(environment, fmi3Error, "logStatusError", "this FMU is for co-simulation only");
        return NULL;
    }
    return instantiate(name, token, 1, environment, log);
}

FMI3(fmi3Instance, fmi3InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early_return,
    const fmi3ValueReference intermediate[], size_t n_intermediate,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3IntermediateUpdateCallback update)
{
    (void)resources, (void)visible, (void)logging, (void)early_return, (void)intermediate;
    (void)update;
    if (event_mode || n_intermediate != 0) {
        if (log != NULL)
            log(environment, fmi3Error, "logStatusError",
                "this FMU has neither an event mode nor intermediate variables");
        return NULL;
    }
    return instantiate(name, token, 0, environment, log);
}

FMI3(fmi3Instance, fmi3InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3ClockUpdateCallback update, fmi3LockPreemptionCallback lock,
    fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)update;
    (void)lock, (void)unlock;
    if (log != NULL)
        log(environment, fmi3Error, "logStatusError", "this FMU has no scheduled execution");
    return NULL;
}

FMI3(void, fmi3FreeInstance)(fmi3Instance instance) { free_unit(instance); }

FMI3(fmi3Status, fmi3EnterInitializationMode)(fmi3Instance instance, fmi3Boolean tolerance_defined,
                                              fmi3Float64 tolerance, fmi3Float64 start_time,
                                              fmi3Boolean stop_defined, fmi3Float64 stop_time)
{
    unit* self = instance;
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop_time;
    if (!allowed(self, MADE, "fmi3EnterInitializationMode")) return fmi3Error;
    const int status = set_time(self, start_time);
    if (status != UNIT_OK) return status_of(status);
    self->now.mode = INITIALISING;
    self->now.stale = 1;
    return fmi3OK;
}

FMI3(fmi3Status, fmi3ExitInitializationMode)(fmi3Instance instance)
{
    if (!allowed(instance, INITIALISING, "fmi3ExitInitializationMode")) return fmi3Error;
    return status_of(unit_start(instance));
}

FMI3(fmi3Status, fmi3EnterEventMode)(fmi3Instance instance)
{
    unit* self = instance;
    if (!allowed(self, CONTINUOUS | EVENT, "fmi3EnterEventMode")) return fmi3Error;
    self->now.mode = EVENT;
    return fmi3OK;
}

FMI3(fmi3Status, fmi3Terminate)(fmi3Instance instance)
{
    unit* self = instance;
    if (!allowed(self, RUNNING, "fmi3Terminate")) return fmi3Error;
    self->now.mode = TERMINATED;
    return fmi3OK;
}

FMI3(fmi3Status, fmi3Reset)(fmi3Instance instance)
{
    if (instance == NULL) return fmi3Error;
    unit_reset(instance);
    return fmi3OK;
}

/* ---- variables ------------------------------------------------------------------------------- */

FMI3(fmi3Status, fmi3GetFloat64)(fmi3Instance instance, const fmi3ValueReference references[],
                                 size_t count, fmi3Float64 values[], size_t room)
{
    if (!allowed(instance, ANY_MODE, "fmi3GetFloat64")) return fmi3Error;
    return status_of(unit_get(instance, references, count, values, room, 1));
}

FMI3(fmi3Status, fmi3SetFloat64)(fmi3Instance instance, const fmi3ValueReference references[],
                                 size_t count, const fmi3Float64 values[], size_t room)
{
    if (!allowed(instance, BEFORE_START | RUNNING, "fmi3SetFloat64")) return fmi3Error;
    return status_of(unit_set(instance, references, count, values, room, 1));
}

/* Every variable is a Float64. */
#define NO_VARIABLES(Type)                                                                        \
    FMI3(fmi3Status, fmi3Get##Type)(fmi3Instance instance, const fmi3ValueReference references[], \
                                    size_t count, fmi3##Type values[], size_t room)               \
    {                                                                                             \
        (void)references, (void)values, (void)room;                                               \
        return count == 0 && instance != NULL ? fmi3OK : missing(instance, #Type " variables");   \
    }                                                                                             \
    FMI3(fmi3Status, fmi3Set##Type)(fmi3Instance instance, const fmi3ValueReference references[], \
                                    size_t count, const fmi3##Type values[], size_t room)         \
    {                                                                                             \
        (void)references, (void)values, (void)room;                                               \
        return count == 0 && instance != NULL ? fmi3OK : missing(instance, #Type " variables");   \
    }

NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(Int32)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

FMI3(fmi3Status, fmi3GetBinary)(fmi3Instance instance, const fmi3ValueReference references[],
                                size_t count, size_t sizes[], fmi3Binary values[], size_t room)
{
    (void)references, (void)sizes, (void)values, (void)room;
    return count == 0 && instance != NULL ? fmi3OK : missing(instance, "Binary variables");
}

FMI3(fmi3Status, fmi3SetBinary)(fmi3Instance instance, const fmi3ValueReference references[],
                                size_t count, const size_t sizes[], const fmi3Binary values[],
                                size_t room)
{
    (void)references, (void)sizes, (void)values, (void)room;
    return count == 0 && instance != NULL ? fmi3OK : missing(instance, "Binary variables");
}

FMI3(fmi3Status, fmi3GetClock)(fmi3Instance instance, const fmi3ValueReference references[],
                               size_t count, fmi3Clock values[])
{
    (void)references, (void)values;
    return count == 0 && instance != NULL ? fmi3OK : missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3SetClock)(fmi3Instance instance, const fmi3ValueReference references[],
                               size_t count, const fmi3Clock values[])
{
    (void)references, (void)values;
    return count == 0 && instance != NULL ? fmi3OK : missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3GetNumberOfVariableDependencies)(fmi3Instance instance,
                                                      fmi3ValueReference reference, size_t* count)
{
    (void)reference, (void)count;
    return missing(instance, "dependencies of single elements");
}

FMI3(fmi3Status, fmi3GetVariableDependencies)(fmi3Instance instance, fmi3ValueReference dependent,
                                              size_t elements[], fmi3ValueReference independents[],
                                              size_t independent_elements[],
                                              fmi3DependencyKind kinds[], size_t count)
{
    (void)dependent, (void)elements, (void)independents, (void)independent_elements, (void)kinds;
    (void)count;
    return missing(instance, "dependencies of single elements");
}

/* ---- saved states and derivatives ------------------------------------------------------------ */

FMI3(fmi3Status, fmi3GetFMUState)(fmi3Instance instance, fmi3FMUState* state)
{
    if (!allowed(instance, ANY_MODE, "fmi3GetFMUState")) return fmi3Error;
    return status_of(save_state(instance, state));
}

FMI3(fmi3Status, fmi3SetFMUState)(fmi3Instance instance, fmi3FMUState state)
{
    if (!allowed(instance, ANY_MODE, "fmi3SetFMUState")) return fmi3Error;
    return status_of(restore_state(instance, state));
}

FMI3(fmi3Status, fmi3FreeFMUState)(fmi3Instance instance, fmi3FMUState* state)
{
    if (instance == NULL || state == NULL) return fmi3Error;
    return status_of(free_state(instance, state));
}

FMI3(fmi3Status, fmi3SerializedFMUStateSize)(fmi3Instance instance, fmi3FMUState state,
                                             size_t* size)
{
    if (!allowed(instance, ANY_MODE, "fmi3SerializedFMUStateSize")) return fmi3Error;
    (void)state;
    *size = sizeof(unit_saved);
    return fmi3OK;
}

FMI3(fmi3Status, fmi3SerializeFMUState)(fmi3Instance instance, fmi3FMUState state,
                                        fmi3Byte bytes[], size_t size)
{
    if (!allowed(instance, ANY_MODE, "fmi3SerializeFMUState")) return fmi3Error;
    return status_of(serialise(instance, state, bytes, size));
}

FMI3(fmi3Status, fmi3DeserializeFMUState)(fmi3Instance instance, const fmi3Byte bytes[],
                                          size_t size, fmi3FMUState* state)
{
    if (!allowed(instance, ANY_MODE, "fmi3DeserializeFMUState")) return fmi3Error;
    return status_of(deserialise(instance, bytes, size, state));
}

FMI3(fmi3Status, fmi3GetDirectionalDerivative)(fmi3Instance instance,
                                               const fmi3ValueReference unknowns[],
                                               size_t n_unknowns, const fmi3ValueReference knowns[],
                                               size_t n_knowns, const fmi3Float64 seed[],
                                               size_t n_seed, fmi3Float64 sensitivity[],
                                               size_t n_sensitivity)
{
    if (!allowed(instance, INITIALISING | RUNNING | TERMINATED, "fmi3GetDirectionalDerivative"))
        return fmi3Error;
    return status_of(directional(instance, unknowns, n_unknowns, knowns, n_knowns, seed, n_seed,
                                 sensitivity, n_sensitivity, 1));
}

FMI3(fmi3Status, fmi3GetAdjointDerivative)(fmi3Instance instance,
                                           const fmi3ValueReference unknowns[], size_t n_unknowns,
                                           const fmi3ValueReference knowns[], size_t n_knowns,
                                           const fmi3Float64 seed[], size_t n_seed,
                                           fmi3Float64 sensitivity[], size_t n_sensitivity)
{
    if (!allowed(instance, INITIALISING | RUNNING | TERMINATED, "fmi3GetAdjointDerivative"))
        return fmi3Error;
    return status_of(adjoint(instance, unknowns, n_unknowns, knowns, n_knowns, seed, n_seed,
                             sensitivity, n_sensitivity));
}

/* ---- clocks and modes that it does not have -------------------------------------------------- */

FMI3(fmi3Status, fmi3EnterConfigurationMode)(fmi3Instance instance)
{
    return missing(instance, "structural parameters");
}

FMI3(fmi3Status, fmi3ExitConfigurationMode)(fmi3Instance instance)
{
    return missing(instance, "structural parameters");
}

FMI3(fmi3Status, fmi3GetIntervalDecimal)(fmi3Instance instance,
                                         const fmi3ValueReference references[], size_t count,
                                         fmi3Float64 intervals[],
                                         fmi3IntervalQualifier qualifiers[])
{
    (void)references, (void)count, (void)intervals, (void)qualifiers;
    return missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3GetIntervalFraction)(fmi3Instance instance,
                                          const fmi3ValueReference references[], size_t count,
                                          fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                          fmi3IntervalQualifier qualifiers[])
{
    (void)references, (void)count, (void)counters, (void)resolutions, (void)qualifiers;
    return missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3GetShiftDecimal)(fmi3Instance instance, const fmi3ValueReference references[],
                                      size_t count, fmi3Float64 shifts[])
{
    (void)references, (void)count, (void)shifts;
    return missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3GetShiftFraction)(fmi3Instance instance, const fmi3ValueReference references[],
                                       size_t count, fmi3UInt64 counters[],
                                       fmi3UInt64 resolutions[])
{
    (void)references, (void)count, (void)counters, (void)resolutions;
    return missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3SetIntervalDecimal)(fmi3Instance instance,
                                         const fmi3ValueReference references[], size_t count,
                                         const fmi3Float64 intervals[])
{
    (void)references, (void)count, (void)intervals;
    return missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3SetIntervalFraction)(fmi3Instance instance,
                                          const fmi3ValueReference references[], size_t count,
                                          const fmi3UInt64 counters[],
                                          const fmi3UInt64 resolutions[])
{
    (void)references, (void)count, (void)counters, (void)resolutions;
    return missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3SetShiftDecimal)(fmi3Instance instance, const fmi3ValueReference references[],
                                      size_t count, const fmi3Float64 shifts[])
{
    (void)references, (void)count, (void)shifts;
    return missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3SetShiftFraction)(fmi3Instance instance, const fmi3ValueReference references[],
                                       size_t count, const fmi3UInt64 counters[],
                                       const fmi3UInt64 resolutions[])
{
    (void)references, (void)count, (void)counters, (void)resolutions;
    return missing(instance, "clocks");
}

FMI3(fmi3Status, fmi3ActivateModelPartition)(fmi3Instance instance, fmi3ValueReference clock,
                                             fmi3Float64 time)
{
    (void)clock, (void)time;
    return missing(instance, "model partitions");
}

FMI3(fmi3Status, fmi3EvaluateDiscreteStates)(fmi3Instance instance)
{
    return missing(instance, "discrete states");
}

/* ---- model exchange -------------------------------------------------------------------------- */

FMI3(fmi3Status, fmi3UpdateDiscreteStates)(fmi3Instance instance, fmi3Boolean* again,
                                           fmi3Boolean* terminate, fmi3Boolean* nominals_changed,
                                           fmi3Boolean* states_changed,
                                           fmi3Boolean* next_event_defined,
                                           fmi3Float64* next_event_time)
{
    if (!allowed(instance, EVENT, "fmi3UpdateDiscreteStates")) return fmi3Error;
    *again = *terminate = *nominals_changed = *states_changed = *next_event_defined = false;
    *next_event_time = 0;
    return fmi3OK;
}

FMI3(fmi3Status, fmi3EnterContinuousTimeMode)(fmi3Instance instance)
{
    unit* self = instance;
    if (!allowed(self, EVENT, "fmi3EnterContinuousTimeMode")) return fmi3Error;
    self->now.mode = CONTINUOUS;
    return fmi3OK;
}

FMI3(fmi3Status, fmi3CompletedIntegratorStep)(fmi3Instance instance, fmi3Boolean no_set_prior,
                                              fmi3Boolean* enter_event, fmi3Boolean* terminate)
{
    (void)no_set_prior;
    if (!allowed(instance, CONTINUOUS, "fmi3CompletedIntegratorStep")) return fmi3Error;
    *enter_event = *terminate = false;
    return fmi3OK;
}

FMI3(fmi3Status, fmi3SetTime)(fmi3Instance instance, fmi3Float64 time)
{
    if (!allowed(instance, CONTINUOUS | EVENT, "fmi3SetTime")) return fmi3Error;
    return status_of(set_time(instance, time));
}

FMI3(fmi3Status, fmi3SetContinuousStates)(fmi3Instance instance, const fmi3Float64 states[],
                                          size_t count)
{
    if (!allowed(instance, CONTINUOUS | EVENT, "fmi3SetContinuousStates")) return fmi3Error;
    return status_of(set_states(instance, states, count));
}

FMI3(fmi3Status, fmi3GetContinuousStateDerivatives)(fmi3Instance instance, fmi3Float64 rates[],
                                                    size_t count)
{
    if (ND == 0) return missing(instance, "continuous states");
    if (!allowed(instance, INITIALISING | RUNNING | TERMINATED,
                 "fmi3GetContinuousStateDerivatives"))
        return fmi3Error;
    return status_of(get_rates(instance, rates, count));
}

FMI3(fmi3Status, fmi3GetEventIndicators)(fmi3Instance instance, fmi3Float64 indicators[],
                                         size_t count)
{
    (void)indicators;
    return count == 0 && instance != NULL ? fmi3OK : missing(instance, "event indicators");
}

FMI3(fmi3Status, fmi3GetContinuousStates)(fmi3Instance instance, fmi3Float64 states[],
                                          size_t count)
{
    if (ND == 0) return missing(instance, "continuous states");
    if (!allowed(instance, INITIALISING | RUNNING | TERMINATED, "fmi3GetContinuousStates"))
        return fmi3Error;
    return status_of(get_states(instance, states, count));
}

FMI3(fmi3Status, fmi3GetNominalsOfContinuousStates)(fmi3Instance instance, fmi3Float64 nominals[],
                                                    size_t count)
{
    if (ND == 0 || count != NX) return missing(instance, "continuous states of this number");
    for (size_t k = 0; k != count; ++k) nominals[k] = 1;
    return fmi3OK;
}

FMI3(fmi3Status, fmi3GetNumberOfEventIndicators)(fmi3Instance instance, size_t* count)
{
    *count = 0;
    return instance == NULL ? fmi3Error : fmi3OK;
}

FMI3(fmi3Status, fmi3GetNumberOfContinuousStates)(fmi3Instance instance, size_t* count)
{
    *count = ND;
    return instance == NULL ? fmi3Error : fmi3OK;
}

/* ---- co-simulation --------------------------------------------------------------------------- */

FMI3(fmi3Status, fmi3EnterStepMode)(fmi3Instance instance)
{
    return missing(instance, "event mode in co-simulation");
}

FMI3(fmi3Status, fmi3GetOutputDerivatives)(fmi3Instance instance,
                                           const fmi3ValueReference references[], size_t count,
                                           const fmi3Int32 orders[], fmi3Float64 values[],
                                           size_t room)
{
    (void)references, (void)count, (void)orders, (void)values, (void)room;
    return missing(instance, "derivatives of outputs by the time");
}

FMI3(fmi3Status, fmi3DoStep)(fmi3Instance instance, fmi3Float64 point, fmi3Float64 length,
                             fmi3Boolean no_set_prior, fmi3Boolean* event_needed,
                             fmi3Boolean* terminate, fmi3Boolean* early_return,
                             fmi3Float64* reached)
{
    (void)no_set_prior;
    if (!allowed(instance, STEPPING, "fmi3DoStep")) return fmi3Error;
    const int status = unit_step(instance, point, length);
    *event_needed = *terminate = *early_return = false;
    *reached = unit_time(instance);
    return status_of(status);
}
