// Rods as tubes and strips that are swept along their nodes at each time, colored by what their sections carry.
import * as THREE from "three";
import { arrayOf } from "./data.js";
import { colorOf, material } from "./solids.js";

const PIECES = 6; // of an element
const EDGES = 14; // around a round section
const BOX = [[1, -1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1], [-1, 1, 0, 1], [-1, 1, -1, 0], [-1, -1, -1, 0], [-1, -1, 0, -1], [1, -1, 0, -1]];
const axes = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];
const frame = new THREE.Matrix4();
const turn = new THREE.Quaternion();
const tint = new THREE.Color();

export class RodTube {
  constructor(data) {
    this.data = data;
    const n = data.nodes.length;
    this.places = data.nodes.map(() => new THREE.Vector3());
    this.turns = data.nodes.map(() => new THREE.Quaternion());
    this.frames = data.nodes.map(([, p]) =>
      new THREE.Matrix4().compose(new THREE.Vector3(p[4], p[5], p[6]), new THREE.Quaternion(p[1], p[2], p[3], p[0]), new THREE.Vector3(1, 1, 1)),
    );
    this.shape = data.round
      ? Array.from({ length: EDGES }, (_, k) => {
          const [c, s] = [Math.cos((2 * Math.PI * k) / EDGES), Math.sin((2 * Math.PI * k) / EDGES)];
          return [c, s, c, s];
        })
      : BOX;
    this.rings = (n - 1) * PIECES + 1;
    const m = this.shape.length;
    const count = this.rings * m + 2 * m; // rings, and the two ends with normals of their own
    const geometry = new THREE.BufferGeometry();
    for (const name of ["position", "normal", "color"]) {
      geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * count), 3).setUsage(THREE.DynamicDrawUsage));
    }
    geometry.getAttribute("color").array.fill(1);
    geometry.setIndex(this.triangles(m));
    this.mesh = new THREE.Mesh(geometry, material(colorOf(data.color)));
    this.mesh.castShadow = this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
  }

  triangles(m) {
    const index = [];
    const sides = Array.from({ length: this.data.round ? m : m / 2 }, (_, k) => (this.data.round ? [k, (k + 1) % m] : [2 * k, 2 * k + 1]));
    for (let ring = 0; ring < this.rings - 1; ring++) {
      const at = ring * m;
      for (const [a, b] of sides) index.push(at + a, at + b, at + m + b, at + a, at + m + b, at + m + a);
    }
    const first = this.rings * m;
    for (let k = 1; k < m - 1; k++) index.push(first, first + k + 1, first + k, first + m, first + m + k, first + m + k + 1);
    return index;
  }

  // which numbers color it, with their colors from least to most; null: its own color
  setColoring(coloring) {
    this.coloring = coloring;
    this.mesh.material.vertexColors = coloring !== null;
    this.mesh.material.color.copy(coloring ? tint.set("#ffffff") : colorOf(this.data.color));
    this.mesh.material.needsUpdate = true;
  }

  // bodies: groups with the matrices of their poses; [i, part]: between which times of the numbers
  update(bodies, [i, part]) {
    const { nodes, half } = this.data;
    nodes.forEach(([body], k) => {
      if (body < 0) frame.copy(this.frames[k]);
      else frame.multiplyMatrices(bodies[body].group.matrix, this.frames[k]);
      this.places[k].setFromMatrixPosition(frame);
      this.turns[k].setFromRotationMatrix(frame);
    });
    const attributes = this.mesh.geometry.attributes;
    for (let ring = 0; ring < this.rings; ring++) {
      const k = Math.min(Math.floor(ring / PIECES), nodes.length - 2);
      const u = ring / PIECES - k;
      const place = this.between(k, u);
      turn.slerpQuaternions(this.turns[k], this.turns[k + 1], u);
      frame.makeRotationFromQuaternion(turn).extractBasis(...axes);
      const [y, z] = [0, 1].map((c) => (1 - u) * half[k][c] + u * half[k + 1][c]);
      if (this.coloring) this.tintAt(k, u, i, part);
      this.ring(attributes, ring, place, y, z, null);
      if (ring === 0) this.ring(attributes, this.rings, place, y, z, -1);
      if (ring === this.rings - 1) this.ring(attributes, this.rings + 1, place, y, z, 1);
    }
    for (const attribute of Object.values(attributes)) attribute.needsUpdate = true;
  }

  // a place within an element: a cubic with the directions of the sections at its nodes
  between(k, u) {
    const [a, b] = [this.places[k], this.places[k + 1]];
    const length = a.distanceTo(b);
    const begin = new THREE.Vector3(length, 0, 0).applyQuaternion(this.turns[k]);
    const end = new THREE.Vector3(length, 0, 0).applyQuaternion(this.turns[k + 1]);
    const [u2, u3] = [u * u, u * u * u];
    return new THREE.Vector3()
      .addScaledVector(a, 1 - 3 * u2 + 2 * u3)
      .addScaledVector(b, 3 * u2 - 2 * u3)
      .addScaledVector(begin, u - 2 * u2 + u3)
      .addScaledVector(end, u3 - u2);
  }

  tintAt(k, u, i, part) {
    const { numbers, range, scale } = this.coloring;
    const values = numbers.get(this.data.name);
    const n = this.data.nodes.length;
    const j = Math.min(i + 1, values.length / n - 1);
    const at = (node) => (1 - part) * values[n * i + node] + part * values[n * j + node];
    const size = range[1] - range[0] || 1;
    const x = Math.min(1, Math.max(0, ((1 - u) * at(k) + u * at(k + 1) - range[0]) / size)) * (scale.length - 1);
    const low = Math.min(Math.floor(x), scale.length - 2);
    tint.setRGB(...scale[low].map((c, m) => c + (x - low) * (scale[low + 1][m] - c)), THREE.SRGBColorSpace);
  }

  // vertices around a section; cap: the sign of the normal of an end
  ring(attributes, ring, place, y, z, cap) {
    const [ahead, side, up] = axes;
    this.shape.forEach(([a, b, c, d], k) => {
      const at = ring * this.shape.length + k;
      attributes.position.setXYZ(
        at,
        place.x + y * a * side.x + z * b * up.x,
        place.y + y * a * side.y + z * b * up.y,
        place.z + y * a * side.z + z * b * up.z,
      );
      if (cap === null) attributes.normal.setXYZ(at, c * side.x + d * up.x, c * side.y + d * up.y, c * side.z + d * up.z);
      else attributes.normal.setXYZ(at, cap * ahead.x, cap * ahead.y, cap * ahead.z);
      if (this.coloring) attributes.color.setXYZ(at, tint.r, tint.g, tint.b);
    });
  }
}

// what rods can be colored by, with its numbers by the names of rods
export async function coloringsOf(data) {
  const found = [];
  for (const { values, ...coloring } of data.colorings) {
    const numbers = new Map();
    for (const [name, text] of Object.entries(values)) numbers.set(name, await arrayOf(text, "f4"));
    found.push({ ...coloring, numbers });
  }
  return { times: await arrayOf(data.t, "f8"), colorings: found };
}
