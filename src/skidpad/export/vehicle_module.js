// A vehicle as WebAssembly: chooses between the two modules of one export.
//
// The fused module computes with relaxed vector instructions. An engine may not know them, and its
// multiply-add may round twice; then the exact module, which has the same bits, takes its place.

const NUMBERS = { float64: Float64Array, float32: Float32Array };

async function fusedInstance(bytes) {
  // An engine that does not know the instructions refuses the module.
  if (!WebAssembly.validate(bytes)) return null;
  const { instance } = await WebAssembly.instantiate(bytes);
  return instance.exports.fused_here() === 1 ? instance : null;
}

/**
 * The module that has the simulator's bits in this engine, the faster one where it can be.
 *
 * `fused` and `exact` are Uint8Arrays and `layout` is an object, all of one export; `want` is
 * "fused" or "exact" where one of them is asked for, and it is an error if that cannot be had.
 *
 * Gives `fused` (which one it is), `call(name)`, which runs a Program, `view(port)`, the numbers of
 * a port in the memory that Programs read and write, and `layout`.
 */
export async function loadModule({ fused, exact, layout, want = null }) {
  const found = want === "exact" ? null : await fusedInstance(fused);
  if (found === null && want === "fused") {
    throw new Error("this engine has no multiply-add that rounds once");
  }
  const instance = found ?? (await WebAssembly.instantiate(exact)).instance;
  const { exports } = instance;
  const Numbers = NUMBERS[layout.precision];
  const views = new Map();
  for (const [name, { address, fields }] of Object.entries(layout.ports)) {
    views.set(name, new Numbers(exports.memory.buffer, address, fields.length));
  }
  const known = (what, names, name) => {
    if (!names.includes(name)) {
      throw new Error(`there is no ${what} ${name}; there are ${names.join(", ")}`);
    }
  };
  return {
    fused: found !== null,
    layout,
    call(name) {
      known("program", layout.programs, name);
      exports[name]();
    },
    view(port) {
      known("port", [...views.keys()], port);
      return views.get(port);
    },
  };
}
