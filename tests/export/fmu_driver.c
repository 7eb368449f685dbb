/* Drives an FMU of FMI 3.0 through every kind of call, and prints its states in hexadecimal.

   The FMU is part of the program (LINKED), or its library is loaded from argv[2]. argv[1] is the
   token. DRIVEN_STATES, DRIVEN_INPUT, DRIVEN_RATE and DRIVEN_OUTPUT are the number of states and value references. */

#include "fmi3.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <windows.h>
#elif !defined(LINKED)
#include <dlfcn.h>
#endif

typedef fmi3Instance Instantiate(fmi3String, fmi3String, fmi3String, fmi3Boolean, fmi3Boolean,
                                 fmi3Boolean, fmi3Boolean, const fmi3ValueReference[], size_t,
                                 fmi3InstanceEnvironment, fmi3LogMessageCallback,
                                 fmi3IntermediateUpdateCallback);
typedef void Free(fmi3Instance);
typedef fmi3Status Plain(fmi3Instance);
typedef fmi3Status Enter(fmi3Instance, fmi3Boolean, double, double, fmi3Boolean, double);
typedef fmi3Status Get(fmi3Instance, const fmi3ValueReference[], size_t, double[], size_t);
typedef fmi3Status Set(fmi3Instance, const fmi3ValueReference[], size_t, const double[], size_t);
typedef fmi3Status Step(fmi3Instance, double, double, fmi3Boolean, fmi3Boolean*, fmi3Boolean*,
                        fmi3Boolean*, double*);
typedef fmi3Status GetState(fmi3Instance, fmi3FMUState*);
typedef fmi3Status SetState(fmi3Instance, fmi3FMUState);
typedef fmi3Status Size(fmi3Instance, fmi3FMUState, size_t*);
typedef fmi3Status Serialise(fmi3Instance, fmi3FMUState, fmi3Byte[], size_t);
typedef fmi3Status Deserialise(fmi3Instance, const fmi3Byte[], size_t, fmi3FMUState*);
typedef fmi3Status Derivative(fmi3Instance, const fmi3ValueReference[], size_t,
                              const fmi3ValueReference[], size_t, const double[], size_t, double[],
                              size_t);

#ifdef LINKED
#define FUNCTION(Type, name) extern Type name;
#else
#define FUNCTION(Type, name) static Type* name;
#endif
#define FUNCTIONS(F)                                                                           \
    F(Instantiate, fmi3InstantiateCoSimulation)                                                \
    F(Free, fmi3FreeInstance)                                                                  \
    F(Enter, fmi3EnterInitializationMode)                                                      \
    F(Plain, fmi3ExitInitializationMode)                                                       \
    F(Plain, fmi3Reset)                                                                        \
    F(Plain, fmi3Terminate)                                                                    \
    F(Get, fmi3GetFloat64)                                                                     \
    F(Set, fmi3SetFloat64)                                                                     \
    F(Step, fmi3DoStep)                                                                        \
    F(GetState, fmi3GetFMUState)                                                               \
    F(SetState, fmi3SetFMUState)                                                               \
    F(GetState, fmi3FreeFMUState)                                                              \
    F(Size, fmi3SerializedFMUStateSize)                                                        \
    F(Serialise, fmi3SerializeFMUState)                                                        \
    F(Deserialise, fmi3DeserializeFMUState)                                                    \
    F(Derivative, fmi3GetDirectionalDerivative)                                                \
    F(Derivative, fmi3GetAdjointDerivative)
FUNCTIONS(FUNCTION)

static void load(const char* path)
{
#ifdef LINKED
    (void)path;
#else
#if defined(_WIN32)
    HMODULE library = LoadLibraryA(path);
#define FOUND(Type, name) name = (Type*)(void (*)(void))GetProcAddress(library, #name);
#else
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#define FOUND(Type, name) *(void**)&name = dlsym(library, #name);
#endif
    if (library == NULL) {
        fprintf(stderr, "cannot load %s\n", path);
        exit(2);
    }
    FUNCTIONS(FOUND)
#endif
}

static int refusals;

static void say(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category,
                fmi3String message)
{
    (void)environment;
    ++refusals;
    fprintf(stderr, "%d %s: %s\n", (int)status, category, message);
}

static void must(int good, const char* what)
{
    if (good) return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
}

static fmi3Status step(fmi3Instance one, double at, double length)
{
    fmi3Boolean event, end, early;
    double reached;
    return fmi3DoStep(one, at, length, true, &event, &end, &early, &reached);
}

static void drive(fmi3Instance one, int begin, int end)
{
    const fmi3ValueReference input = DRIVEN_INPUT;
    for (int k = begin; k < end; ++k) {
        const double value = 0.05 * (double)(k % 7);
        must(fmi3SetFloat64(one, &input, 1, &value, 1) == fmi3OK, "an input is set");
        must(step(one, k * 0.01, 0.01) == fmi3OK, "a step is made");
    }
}

static void read_states(fmi3Instance one, double* states)
{
    fmi3ValueReference references[DRIVEN_STATES];
    for (unsigned k = 0; k < DRIVEN_STATES; ++k) references[k] = k + 1;
    must(fmi3GetFloat64(one, references, DRIVEN_STATES, states, DRIVEN_STATES) == fmi3OK, "states are read");
}

static void refuse_all(fmi3Instance one)
{
    const fmi3ValueReference input = DRIVEN_INPUT, none = 1000000;
    double value = NAN, room[DRIVEN_STATES];
    const int before = refusals;
    must(fmi3SetFloat64(one, &input, 1, &value, 1) == fmi3Error, "NaN is refused");
    must(step(one, 0.2, -1.0) == fmi3Error, "a negative step is refused");
    must(step(one, 0.2, NAN) == fmi3Error, "a step of NaN is refused");
    must(fmi3GetFloat64(one, &none, 1, room, 1) == fmi3Error, "a reference is refused");
    must(fmi3ExitInitializationMode(one) == fmi3Error, "the order is kept");
    must(refusals == before + 5, "each refusal is said");
}

static void derive(fmi3Instance one)
{
    const fmi3ValueReference rate = DRIVEN_RATE, output = DRIVEN_OUTPUT, state = 3;
    double seed = 1.0, forward = 0.0, backward = 0.0;
    const fmi3ValueReference unknown = DRIVEN_RATE ? rate : output;
    must(fmi3GetDirectionalDerivative(one, &unknown, 1, &state, 1, &seed, 1, &forward, 1) == fmi3OK,
         "there is a tangent");
    must(fmi3GetAdjointDerivative(one, &unknown, 1, &state, 1, &seed, 1, &backward, 1) == fmi3OK,
         "there is an adjoint");
    must(fabs(forward - backward) <= 1e-9 * (1.0 + fabs(forward)), "they are the same number");
}

int main(int count, char** arguments)
{
    double states[DRIVEN_STATES], again[DRIVEN_STATES];
    load(count > 2 ? arguments[2] : "");
    must(fmi3InstantiateCoSimulation("no", "{other}", NULL, 0, 0, 0, 0, NULL, 0, NULL, say, NULL) ==
             NULL,
         "another token makes no instance");
    fmi3Instance one = fmi3InstantiateCoSimulation("one", arguments[1], NULL, 0, 0, 0, 0, NULL, 0,
                                                   NULL, say, NULL);
    must(one != NULL, "there is an instance");
    must(fmi3EnterInitializationMode(one, 0, 0, 0, 0, 0) == fmi3OK, "it is initialised");
    derive(one);
    must(fmi3ExitInitializationMode(one) == fmi3OK, "it starts");
    drive(one, 0, 20);
    derive(one);
    refuse_all(one);
    fmi3FMUState saved = NULL, revived = NULL;
    size_t size = 0;
    must(fmi3GetFMUState(one, &saved) == fmi3OK, "a state is saved");
    must(fmi3SerializedFMUStateSize(one, saved, &size) == fmi3OK, "it has a size");
    fmi3Byte* bytes = malloc(size);
    must(fmi3SerializeFMUState(one, saved, bytes, size) == fmi3OK, "it is written");
    must(fmi3SerializeFMUState(one, saved, bytes, size - 1) == fmi3Error, "there must be room");
    drive(one, 20, 50);
    read_states(one, states);
    must(fmi3SetFMUState(one, saved) == fmi3OK, "it is restored");
    drive(one, 20, 50);
    read_states(one, again);
    must(memcmp(states, again, sizeof states) == 0, "the same follows");
    must(fmi3DeserializeFMUState(one, bytes, size, &revived) == fmi3OK, "it is read");
    must(fmi3SetFMUState(one, revived) == fmi3OK, "it is restored");
    drive(one, 20, 50);
    read_states(one, again);
    must(memcmp(states, again, sizeof states) == 0, "the same follows");
    for (unsigned k = 0; k < DRIVEN_STATES; ++k) printf("%a\n", states[k]);
    must(fmi3Terminate(one) == fmi3OK && fmi3Reset(one) == fmi3OK, "it ends");
    must(fmi3FreeFMUState(one, &saved) == fmi3OK && saved == NULL, "a state is freed");
    must(fmi3FreeFMUState(one, &revived) == fmi3OK, "a state is freed");
    free(bytes);
    fmi3FreeInstance(one);
    return 0;
}
