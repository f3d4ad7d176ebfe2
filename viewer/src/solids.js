// Solids of bodies and glyphs of joints as three.js meshes. Equal geometries are shared.
import * as THREE from "three";
import { RoundedBoxGeometry } from "three/addons/geometries/RoundedBoxGeometry.js";
import { toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";
import { arrayOf } from "./data.js";

const MANY = 120_000; // corners of a mesh from which finding its edges takes too long
const geometries = new Map();

function shared(kind, size, make) {
  const key = kind + size.join();
  if (!geometries.has(key)) geometries.set(key, make());
  return geometries.get(key);
}

const alongZ = (geometry) => geometry.rotateX(Math.PI / 2); // three.js has cylinders along y

const MAKE = {
  box: ([a, b, c]) => new RoundedBoxGeometry(a, b, c, 3, 0.07 * Math.min(a, b, c)),
  sphere: ([r]) => new THREE.SphereGeometry(r, 40, 24),
  cylinder: ([r, length]) => alongZ(new THREE.CylinderGeometry(r, r, length, 48)),
  capsule: ([r, length]) => alongZ(new THREE.CapsuleGeometry(r, length, 8, 24)),
  ellipsoid: ([a, b, c]) => new THREE.SphereGeometry(1, 40, 24).scale(a, b, c),
};

export function geometryOf(kind, size) {
  return shared(kind, size, () => MAKE[kind](size));
}

export function place(object, pose) {
  object.quaternion.set(pose[1], pose[2], pose[3], pose[0]);
  object.position.set(pose[4], pose[5], pose[6]);
  return object;
}

export function colorOf([red, green, blue]) {
  return new THREE.Color().setRGB(red, green, blue, THREE.SRGBColorSpace);
}

export function material(color, more = {}) {
  return new THREE.MeshStandardMaterial({ color: color, roughness: 0.5, metalness: 0.04, ...more });
}

export async function solidOf(part) {
  let geometry;
  if (part.kind === "mesh") {
    geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(await arrayOf(part.vertices, "f4"), 3));
    geometry.setIndex(new THREE.BufferAttribute(await arrayOf(part.triangles, "u4"), 1));
    if (geometry.index.count > MANY) geometry.computeVertexNormals();
    else geometry = withCreases(geometry);
  } else {
    geometry = geometryOf(part.kind, part.size);
  }
  const opacity = part.color[3];
  const look = material(colorOf(part.color), { transparent: opacity < 1, opacity });
  if (part.kind === "mesh") look.side = THREE.DoubleSide;
  const mesh = place(new THREE.Mesh(geometry, look), part.pose);
  mesh.castShadow = mesh.receiveShadow = true;
  return mesh;
}

// three.js takes corners within a hundredth for one, so the mesh is made large for a moment
function withCreases(geometry) {
  geometry.computeBoundingSphere();
  const grow = 1e4 / (geometry.boundingSphere.radius || 1);
  return toCreasedNormals(geometry.scale(grow, grow, grow), 0.6).scale(1 / grow, 1 / grow, 1 / grow);
}

const Z = new THREE.Vector3(0, 0, 1);

function along(mesh, axis) {
  mesh.quaternion.setFromUnitVectors(Z, new THREE.Vector3(...axis.direction).normalize());
  mesh.position.set(...axis.point);
  return mesh;
}

// glyphs of a joint as [body, object] pairs, in the frames of the bodies
export function glyphsOf(joint, size, looks) {
  const s = 0.045 * size;
  const found = [];
  const add = (body, kind, numbers, axis, look = looks.joint) => {
    const mesh = new THREE.Mesh(geometryOf(kind, numbers), look);
    mesh.castShadow = true;
    found.push([body, axis.direction ? along(mesh, axis) : place(mesh, axis)]);
  };
  const ball = (r) => add(joint.child, "sphere", [r], joint.child_frame);
  if (joint.kind === "spherical") ball(1.35 * s);
  else if (joint.kind === "universal" || (joint.kind === "general" && joint.axes.length)) ball(0.9 * s);
  else if (joint.kind === "weld") add(joint.child, "box", [1.3 * s, 1.3 * s, 1.3 * s], joint.child_frame);
  for (const axis of joint.axes) {
    if (joint.kind === "planar" && !axis.turns) continue;
    if (joint.kind === "planar") add(axis.body, "box", [6 * s, 6 * s, 0.4 * s], axis);
    else if (!axis.turns) add(axis.body, "box", [1.7 * s, 1.7 * s, 5 * s], axis);
    else if (axis.slides) add(axis.body, "cylinder", [0.8 * s, 6 * s], axis);
    else add(axis.body, "cylinder", joint.axes.length > 1 ? [0.6 * s, 4.2 * s] : [s, 3.2 * s], axis);
  }
  return found;
}

// the lines of a joint's axes
export function axesOf(joint, size, looks) {
  return joint.axes.map((axis) => {
    const mesh = new THREE.Mesh(geometryOf("cylinder", [0.006 * size, 1.1 * size]), looks.axis);
    return [axis.body, along(mesh, axis)];
  });
}

export function triad(length) {
  const group = new THREE.Group();
  ["x", "y", "z"].forEach((name, k) => {
    const color = ["#c8454a", "#3a8f4d", "#2f6db5"][k];
    const rod = new THREE.Mesh(geometryOf("cylinder", [0.03 * length, length]), material(color));
    const direction = [0, 0, 0];
    direction[k] = 1;
    along(rod, { direction, point: direction.map((c) => (c * length) / 2) });
    group.add(rod);
  });
  return group;
}

const UP = new THREE.Vector3(0, 1, 0);
const vector = new THREE.Vector3();

// an arrow whose length is set each time
export class Arrow extends THREE.Group {
  constructor(width, look) {
    super();
    this.shaft = new THREE.Mesh(
      shared("shaft", [], () => new THREE.CylinderGeometry(1, 1, 1, 16).translate(0, 0.5, 0)),
      look,
    );
    this.head = new THREE.Mesh(
      shared("head", [], () => new THREE.ConeGeometry(1, 1, 24).translate(0, 0.5, 0)),
      look,
    );
    this.width = width;
    this.add(this.shaft, this.head);
  }

  point(from, x, y, z) {
    vector.set(x, y, z);
    const length = vector.length();
    this.visible = length > 0.2 * this.width;
    if (!this.visible) return;
    const head = Math.min(6 * this.width, 0.45 * length);
    this.position.copy(from);
    this.quaternion.setFromUnitVectors(UP, vector.divideScalar(length));
    this.shaft.scale.set(this.width, length - head, this.width);
    this.head.position.y = length - head;
    this.head.scale.set(head * 0.42, head, head * 0.42);
  }
}

// a coil from z = 0 to z = 1
export function coil(turns, radius, wire) {
  class Helix extends THREE.Curve {
    getPoint(u, out = new THREE.Vector3()) {
      const inner = Math.min(1, Math.max(0, (u - 0.08) / 0.84));
      const r = radius * Math.min(1, Math.min(u, 1 - u) / 0.08);
      const angle = 2 * Math.PI * turns * inner;
      return out.set(r * Math.cos(angle), r * Math.sin(angle), u);
    }
  }
  return new THREE.TubeGeometry(new Helix(), 40 * turns, wire, 8);
}
