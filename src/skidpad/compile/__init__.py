"""From a pure function to machine code: trace, lower, emit. The only place that knows a target."""
