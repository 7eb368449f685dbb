/* How a function of the interface is seen from outside.

   In a shared library it has its own name and is exported. Who links the sources of several FMUs
   into one program defines FMU_PREFIX, as the standard's prefix of functions, e.g. kart_. */

#ifndef SKIDPAD_EXPORTING_H
#define SKIDPAD_EXPORTING_H

#if defined(FMI2_FUNCTION_PREFIX) && !defined(FMU_PREFIX)
#define FMU_PREFIX FMI2_FUNCTION_PREFIX
#elif defined(FMI3_FUNCTION_PREFIX) && !defined(FMU_PREFIX)
#define FMU_PREFIX FMI3_FUNCTION_PREFIX
#endif

#ifdef FMU_PREFIX
#define FMU_PASTE(a, b) a##b
#define FMU_PASTED(a, b) FMU_PASTE(a, b)
#define NAMED(name) FMU_PASTED(FMU_PREFIX, name)
#define EXPORTED
#else
#define NAMED(name) name
#if defined _WIN32 || defined __CYGWIN__
#define EXPORTED __declspec(dllexport)
#elif defined __GNUC__
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif
#endif

#endif
