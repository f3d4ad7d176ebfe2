// Arrays of the page: base64 of raw deflate.

export function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

export async function inflate(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const KINDS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array };

// the bytes of an array are sorted into planes: first bytes of all numbers, second bytes, ...
export async function arrayOf(text, kind) {
  const planes = await inflate(text);
  const Kind = KINDS[kind];
  const width = Kind.BYTES_PER_ELEMENT;
  const count = planes.length / width;
  const bytes = new Uint8Array(planes.length);
  for (let b = 0; b < width; b++) for (let i = 0; i < count; i++) bytes[i * width + b] = planes[b * count + i];
  return new Kind(bytes.buffer);
}
