// From the text inside the page to bytes: base64, then zlib, whose checksum finds damage.

/** Something is wrong with the data; the message is for people. */
export class BrokenFilm extends Error {}

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The inflated bytes of a block of base64 text, as an ArrayBuffer. */
export async function inflated(text) {
  const packed = text.trim();
  if (!packed) throw new BrokenFilm("There is no film in this page.");
  let bytes;
  try {
    bytes = bytesOfBase64(packed);
  } catch {
    throw new BrokenFilm("The film in this page is damaged: it is not the text it should be.");
  }
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return await new Response(stream).arrayBuffer();
  } catch {
    throw new BrokenFilm("The film in this page is damaged or cut short: it cannot be unpacked.");
  }
}
