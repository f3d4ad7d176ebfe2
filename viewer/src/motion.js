// The motion of a run: poses of all bodies at any time, from Chebyshev polynomials over pieces of time.
// The format is that of chasles/view/curve.py, which also says how exact it is.
import { inflate } from "./data.js";

export class Motion {
  constructor({ start, hinges, order }) {
    this.start = start; // poses before anything is known
    this.hinges = hinges; // [parent, point on it, point on the body] where a joint gives the position of a body
    this.order = order; // parents first
    this.count = start.length;
    this.blocks = [];
    this.turn = 0; // of those that took the place of others
    this.poses = new Float64Array(7 * this.count); // at the time of the last `seek`
    this.others = new Float64Array(7 * this.count); // of a body and those it hangs on, at another time
    this.basis = new Float64Array(32);
    this.step = new Float64Array(3);
    this.ways = hinges.map((_, body) => this.way(body));
    this.seek(0);
  }

  // the bodies whose poses that of a body needs, and itself at the end
  way(body) {
    const found = [];
    for (let k = body; k >= 0; k = this.hinges[k] ? this.hinges[k][0] : -1) found.unshift(k);
    return found;
  }

  get end() {
    return this.blocks.length ? this.blocks.at(-1).last : -Infinity;
  }

  async add(text) {
    this.set([...this.blocks, unpack(await inflate(text))]);
  }

  set(blocks) {
    this.blocks = blocks.sort((a, b) => a.first - b.first);
    this.firsts = this.blocks.map((block) => block.first);
  }

  // more blocks, or, of another turn, those that take the place of all
  async take(texts, turn) {
    const found = [];
    for (const text of texts) found.push(unpack(await inflate(text)));
    this.set(turn === this.turn ? [...this.blocks, ...found] : found);
    this.turn = turn;
  }

  // poses of all bodies at a time, (w, x, y, z, position) one after the other
  seek(time) {
    return this.evaluate(time, this.order, this.poses);
  }

  // the pose of one body, written to out
  pose(time, body, out) {
    this.evaluate(time, this.ways[body], this.others);
    for (let c = 0; c < 7; c++) out[c] = this.others[7 * body + c];
  }

  evaluate(time, bodies, poses) {
    if (!this.blocks.length) {
      for (const body of bodies) poses.set(this.start[body], 7 * body);
      return poses;
    }
    const block = this.blocks[lastBefore(this.firsts, this.firsts.length, time)];
    for (const body of bodies) {
      const at = 7 * body;
      this.go(block.orientations[body], time, block.quanta[0], poses, at);
      const track = block.positions[body];
      if (track) {
        this.go(track, time, block.quanta[1], poses, at + 4);
        continue;
      }
      const hinge = this.hinges[body];
      const parent = hinge[0];
      for (let c = 0; c < 3; c++) poses[at + 4 + c] = parent < 0 ? hinge[1][c] : poses[7 * parent + 4 + c];
      if (parent >= 0) addTurned(poses, 7 * parent, hinge[1], 1, poses, at + 4);
      addTurned(poses, at, hinge[2], -1, poses, at + 4);
    }
    return poses;
  }

  // the quaternion or position of a track: from where its piece begins, a sum of Chebyshev polynomials further
  go(track, time, quantum, out, offset) {
    const { edges, whole, terms, begins, width } = track;
    const piece = lastBefore(edges, edges.length - 1, time);
    const a = edges[piece];
    const b = edges[piece + 1];
    const x = Math.min(1, Math.max(-1, (2 * time - a - b) / (b - a)));
    const T = this.basis;
    T[0] = 1;
    T[1] = x;
    for (let k = 2; k < terms; k++) T[k] = 2 * x * T[k - 1] - T[k - 2];
    const p = this.step;
    let at = piece * 3 * terms;
    for (let c = 0; c < 3; c++) {
      let total = 0;
      for (let k = 0; k < terms; k++) total += whole[at++] * T[k];
      p[c] = total * quantum;
    }
    move(begins, width * piece, width, p, out, offset);
  }
}

// where a quaternion (of width 4) or a position (3) is, p further; no small arrays, as this is called most often
function move(begins, at, width, p, out, offset) {
  const x = p[0];
  const y = p[1];
  const z = p[2];
  const first = begins[at];
  const a = begins[at + 1];
  const b = begins[at + 2];
  if (width === 3) {
    out[offset] = first + x;
    out[offset + 1] = a + y;
    out[offset + 2] = b + z;
    return;
  }
  const c = begins[at + 3];
  const w = first - a * x - b * y - c * z;
  const u = a + first * x + b * z - c * y;
  const v = b + first * y + c * x - a * z;
  const s = c + first * z + a * y - b * x;
  const size = Math.sqrt(w * w + u * u + v * v + s * s);
  out[offset] = w / size;
  out[offset + 1] = u / size;
  out[offset + 2] = v / size;
  out[offset + 3] = s / size;
}

// the last piece or block that begins before a time, of `count`; the first if none does
function lastBefore(starts, count, time) {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

// add a vector, turned by the quaternion at q and times a sign
function addTurned(q, at, vector, sign, out, offset) {
  const x = vector[0];
  const y = vector[1];
  const z = vector[2];
  const w = q[at];
  const a = q[at + 1];
  const b = q[at + 2];
  const c = q[at + 3];
  const u = 2 * (b * z - c * y);
  const v = 2 * (c * x - a * z);
  const s = 2 * (a * y - b * x);
  out[offset] += sign * (x + w * u + b * s - c * v);
  out[offset + 1] += sign * (y + w * v + c * u - a * s);
  out[offset + 2] += sign * (z + w * s + a * v - b * u);
}

function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [count, bodies, terms] = [0, 4, 8].map((at) => view.getUint32(at, true));
  const quanta = [12, 20].map((at) => view.getFloat64(at, true));
  let at = 28;
  const times = Array.from({ length: count }, (_, k) => view.getFloat64(at + 8 * k, true));
  at += 8 * count;
  const own = bytes.subarray(at, at + bodies);
  at += bodies;

  const tracks = (number, width, quantum) => {
    const starts = Array.from({ length: number * width }, (_, k) => view.getFloat64(at + 8 * k, true));
    at += 8 * number * width;
    const sizes = Array.from({ length: number }, (_, k) => view.getUint32(at + 4 * k, true));
    at += 4 * number;
    const found = sizes.map((pieces) => {
      const edges = new Float64Array(pieces + 1);
      for (let k = 0, place = 0; k <= pieces; k++, at += 2) {
        place += view.getUint16(at, true);
        edges[k] = times[place];
      }
      return { edges, terms, width };
    });
    if (!number) return found;
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const widths = bytes.subarray(at, at + terms * 3);
    at += terms * 3;
    const Kind = widths.some((size) => size > 3) ? Float64Array : Int32Array;
    const whole = new Kind(total * 3 * terms);
    const row = new Float64Array(total);
    for (let k = 0; k < terms; k++) {
      for (let c = 0; c < 3; c++) {
        row.fill(0);
        for (let b = 0, scale = 1; b < widths[k * 3 + c]; b++, scale *= 256, at += total) {
          for (let i = 0; i < total; i++) row[i] += bytes[at + i] * scale;
        }
        for (let i = 0; i < total; i++) {
          const half = Math.floor(row[i] / 2); // 0, -1, 1, -2, 2, ... from 0, 1, 2, 3, 4, ...
          whole[(i * 3 + c) * terms + k] = row[i] % 2 ? -half - 1 : half;
        }
      }
    }
    let begin = 0;
    sizes.forEach((pieces, k) => {
      const track = found[k];
      track.whole = whole.subarray(begin * 3 * terms, (begin + pieces) * 3 * terms);
      begin += pieces;
      join(track, starts.slice(k * width, (k + 1) * width), quantum);
    });
    return found;
  };

  const orientations = tracks(bodies, 4, quanta[0]);
  const free = tracks(own.reduce((sum, flag) => sum + flag, 0), 3, quanta[1]);
  let next = 0;
  const positions = Array.from(own, (flag) => (flag ? free[next++] : null));
  return { first: times[0], last: times.at(-1), orientations, positions, quanta };
}

// in place of the first coefficients stand the values at the begin; a piece begins where the one before ends
function join(track, start, quantum) {
  const { whole, terms, width, edges } = track;
  const pieces = edges.length - 1;
  track.begins = new Float64Array(pieces * width);
  track.begins.set(start);
  const p = [0, 0, 0];
  for (let piece = 0; piece < pieces; piece++) {
    for (let c = 0; c < 3; c++) {
      const here = (3 * piece + c) * terms;
      for (let k = 1; k < terms; k++) whole[here] -= k % 2 ? -whole[here + k] : whole[here + k];
      let end = 0;
      for (let k = 0; k < terms; k++) end += whole[here + k];
      p[c] = end * quantum;
    }
    if (piece + 1 < pieces) move(track.begins, piece * width, width, p, track.begins, (piece + 1) * width);
  }
}
