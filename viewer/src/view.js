// One run in 3D: its bodies, joints, forces and trails, at a time.
import * as THREE from "three";
import { arrayOf } from "./data.js";
import { Ground } from "./ground.js";
import { Motion } from "./motion.js";
import { coloringsOf, RodTube } from "./rods.js";
import { Arrow, axesOf, coil, colorOf, geometryOf, glyphsOf, material, place, solidOf, triad } from "./solids.js";
import { Trail } from "./trail.js";

const POINTS = 900; // of a trail, at most
const PROBES = 40; // times at which it is seen whether a trail is dense enough
const WORK = 60_000; // poses for all of them
const vector = new THREE.Vector3();
const other = new THREE.Vector3();
const turn = new THREE.Quaternion();
const matrix = new THREE.Matrix4();
const frame = new THREE.Object3D();
const Z = new THREE.Vector3(0, 0, 1);
const WHITE = new THREE.Color("#ffffff");

export class View {
  constructor(run) {
    this.run = run;
    this.world = new THREE.Scene();
    this.motion = new Motion(run.motion);
    this.bodies = run.scene.bodies.map((data) => {
      const group = new THREE.Group();
      group.matrixAutoUpdate = false;
      this.world.add(group);
      return { data, group, solids: [], shown: true };
    });
    this.still = new THREE.Group(); // what stands on the ground
    this.world.add(this.still);
    this.layers = { joints: [], axes: [], frames: [], reactions: [], gravity: [], ground: [] };
    this.trails = new Map();
    this.reactions = [];
    this.scratch = new Float64Array(7);
    this.rods = [];
    this.colorings = [];
  }

  on(body) {
    return body < 0 ? this.still : this.bodies[body].group;
  }

  async build() {
    const { scene } = this.run;
    const size = scene.size;
    this.measure();
    for (const [k, body] of this.bodies.entries()) {
      for (const part of body.data.parts) {
        if (part.rod && this.run.rods) continue; // it is swept as a whole
        const mesh = await solidOf(part);
        // where solids of two bodies share a plane, one of them is seen
        Object.assign(mesh.material, { polygonOffset: true, polygonOffsetFactor: k % 7, polygonOffsetUnits: k % 7 });
        mesh.userData.body = body;
        body.solids.push(mesh);
        body.group.add(mesh);
      }
    }
    if (this.run.rods) {
      Object.assign(this, await coloringsOf(this.run.rods).then(({ times, colorings }) => ({ rodTimes: times, colorings })));
      this.rods = this.run.rods.rods.map((data) => new RodTube(data));
      for (const rod of this.rods) {
        rod.setColoring(null);
        this.world.add(rod.mesh);
        const last = this.bodies[rod.data.nodes.findLast(([body]) => body >= 0)[0]]; // a click on the rod finds its end
        rod.mesh.userData.body = last;
        last.solids.push(rod.mesh);
      }
    }
    for (const part of scene.standing ?? []) this.still.add(await solidOf(part));
    const looks = { joint: material("#5c646f", { roughness: 0.35, metalness: 0.35 }), axis: new THREE.MeshBasicMaterial() };
    looks.axis.color.set("#d9722e");
    looks.axis.transparent = true;
    looks.axis.opacity = 0.75;
    for (const joint of scene.joints) {
      for (const [name, make] of [["joints", glyphsOf], ["axes", axesOf]]) {
        for (const [body, object] of make(joint, size, looks)) this.attach(name, body, object);
      }
    }
    this.bodies.forEach((_, k) => this.attach("frames", k, triad(0.3 * size)));
    this.attach("frames", -1, triad(0.45 * size));
    for (const frame of scene.frames) this.attach("frames", frame.body, place(triad(0.22 * size), frame.pose));
    this.links = scene.links.map((link) => this.link(link, size));
    this.forces(size);
    await this.setReactions(this.run.reactions);
    this.lights();
  }

  attach(layer, body, object) {
    this.on(body).add(object);
    this.layers[layer].push(object);
  }

  // bounds of the motion, as far as it is known
  measure() {
    const { hull, up } = this.run.scene;
    this.up = new THREE.Vector3(...up);
    this.hull = hull.map((point) => new THREE.Vector3(...point));
    this.box = new THREE.Box3().setFromPoints(this.hull);
    this.center = this.box.getCenter(new THREE.Vector3());
    this.radius = Math.max(this.box.getSize(vector).length() / 2, 1e-9);
    const lowest = Math.min(...this.hull.map((point) => point.dot(this.up)));
    const stands = lowest > -0.01 * this.radius && lowest < 0.6 * this.radius; // on the plane through the origin
    const height = stands ? Math.min(0, lowest) : lowest - 0.06 * this.radius;
    if (this.ground) this.world.remove(this.ground.dispose());
    this.ground = new Ground(this.radius, this.center, this.up, height);
    this.ground.visible = this.groundShown ?? true;
    this.world.add(this.ground);
    this.layers.ground = [this.ground];
  }

  lights() {
    this.sky = new THREE.HemisphereLight("#ffffff", "#9aa4b2", 1.5);
    this.sky.position.copy(this.up);
    this.key = new THREE.DirectionalLight("#fff7ec", 2.3);
    this.key.castShadow = true;
    this.key.shadow.mapSize.set(2048, 2048);
    this.key.shadow.radius = 5;
    this.fill = new THREE.DirectionalLight("#eef3ff", 0.9); // from where one looks
    this.world.add(this.sky, this.key, this.key.target, this.fill, this.fill.target);
    this.aim();
  }

  aim() {
    const side = Math.abs(this.up.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 1, 0);
    const across = new THREE.Vector3().crossVectors(this.up, side).normalize();
    side.crossVectors(across, this.up);
    const from = this.up.clone().multiplyScalar(1.9).addScaledVector(side, -0.75).addScaledVector(across, -0.9).normalize();
    const { radius, center, key } = this;
    key.position.copy(center).addScaledVector(from, 4 * radius);
    key.target.position.copy(center);
    const camera = key.shadow.camera;
    const reach = 1.7 * radius;
    Object.assign(camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.5 * radius, far: 9 * radius });
    camera.updateProjectionMatrix();
    key.shadow.normalBias = 0.008 * radius;
    key.shadow.bias = -0.0006;
    this.fill.target.position.copy(center);
  }

  link(link, size) {
    const spring = link.kind === "spring";
    const geometry = spring ? coil(9, 0.07 * size, 0.011 * size) : geometryOf("cylinder", [0.016 * size, 1]).clone().translate(0, 0, 0.5);
    const mesh = new THREE.Mesh(geometry, material(spring ? "#8a6d3b" : "#7d8590", { metalness: 0.3, roughness: 0.4 }));
    mesh.castShadow = true;
    this.world.add(mesh);
    return { ...link, mesh };
  }

  forces(size) {
    const { scene } = this.run;
    const looks = {
      reactions: new THREE.MeshStandardMaterial({ color: "#b8393d", emissive: "#b8393d", emissiveIntensity: 0.35 }),
      gravity: new THREE.MeshStandardMaterial({ color: "#3a8f4d", emissive: "#3a8f4d", emissiveIntensity: 0.35 }),
    };
    this.arrow = (layer) => {
      const made = new Arrow(0.014 * size, looks[layer]);
      const holder = new THREE.Group(); // its visibility is that of the layer
      holder.visible = this.layers[layer][0]?.visible ?? false;
      this.world.add(holder);
      holder.add(made);
      this.layers[layer].push(holder);
      return made;
    };
    const heaviest = Math.max(...scene.bodies.map((body) => body.mass), 0);
    const g = Math.hypot(...scene.gravity);
    this.weights = g && heaviest ? this.bodies.map((body) => ({ body, arrow: this.arrow("gravity") })) : [];
    this.weightScale = g && heaviest ? (0.6 * size) / heaviest / g : 0;
  }

  async setReactions({ t, joints, typical }) {
    const { scene } = this.run;
    this.times = await arrayOf(t, "f8");
    const known = new Map(this.reactions.map(({ joint, arrow }) => [joint.name, arrow]));
    this.reactions = [];
    for (const joint of scene.joints) {
      if (!Object.hasOwn(joints, joint.name)) continue;
      const wrench = await arrayOf(joints[joint.name], "f4");
      this.reactions.push({ joint, wrench, arrow: known.get(joint.name) ?? this.arrow("reactions") });
    }
    this.newton = (0.8 * scene.size) / (typical || 1); // meters of arrow for a newton
  }

  // ------------------------------------------------------------ at a time

  seek(time) {
    const poses = this.motion.seek(time);
    this.bodies.forEach(({ group }, k) => {
      const at = 7 * k;
      turn.set(poses[at + 1], poses[at + 2], poses[at + 3], poses[at]);
      group.matrix.makeRotationFromQuaternion(turn).setPosition(poses[at + 4], poses[at + 5], poses[at + 6]);
      group.matrixWorldNeedsUpdate = true;
    });
    for (const link of this.links) {
      this.point(link.bodies[0], link.points[0], vector);
      this.point(link.bodies[1], link.points[1], other);
      link.mesh.position.copy(vector);
      other.sub(vector);
      const length = other.length();
      link.mesh.quaternion.setFromUnitVectors(Z, other.divideScalar(length || 1));
      link.mesh.scale.set(1, 1, length);
    }
    if (this.rods.length) {
      const at = between(this.rodTimes, time);
      for (const rod of this.rods) {
        rod.mesh.visible = rod.data.nodes.some(([body]) => body >= 0 && this.bodies[body].shown);
        rod.update(this.bodies, at);
      }
    }
    this.pointForces(time);
  }

  // rods by the name of what colors them; "" for their own colors
  colorRods(name) {
    const coloring = this.colorings.find((one) => one.name === name) ?? null;
    for (const rod of this.rods) rod.setColoring(coloring);
  }

  point(body, place, out) {
    out.set(...place);
    return body < 0 ? out : out.applyMatrix4(this.bodies[body].group.matrix);
  }

  pointForces(time) {
    if (this.reactions.length && this.layers.reactions[0]?.visible) {
      const [i, part] = between(this.times, time);
      for (const { joint, wrench, arrow } of this.reactions) {
        const { group, shown } = this.bodies[joint.child];
        place(frame, joint.child_frame);
        frame.updateMatrix();
        matrix.multiplyMatrices(group.matrix, frame.matrix);
        const j = Math.min(i + 1, this.times.length - 1);
        const force = [3, 4, 5].map((c) => (1 - part) * wrench[6 * i + c] + part * wrench[6 * j + c]);
        turned(vector.set(...force).multiplyScalar(this.newton).clampLength(0, 1.3 * this.run.scene.size), matrix);
        other.setFromMatrixPosition(matrix);
        arrow.point(other, vector.x, vector.y, vector.z);
        arrow.visible &&= shown;
      }
    }
    if (this.weights.length && this.layers.gravity[0].visible) {
      for (const { body, arrow } of this.weights) {
        vector.set(...body.data.com).applyMatrix4(body.group.matrix);
        const scale = this.weightScale * body.data.mass;
        arrow.point(vector, ...this.run.scene.gravity.map((g) => g * scale));
        arrow.visible &&= body.shown;
      }
    }
  }

  // trails of bodies up to a time, over so many seconds; points at multiples of a step are kept
  drawTrails(time, seconds, screen) {
    const [start] = this.run.span;
    const from = Math.max(time - seconds, start);
    for (const [k, trail] of this.trails) {
      trail.visible = this.bodies[k].shown && time > from;
      if (!trail.visible) continue;
      trail.material.uniforms.screen.value.copy(screen);
      const end = trail.points - 1; // the last point is now
      const asked = `${seconds} ${this.motion.blocks.length} ${this.motion.turn}`;
      if (trail.asked !== asked) {
        trail.known.clear();
        trail.asked = asked;
        trail.step = this.stepOf(k, seconds / (end - 1));
      }
      const { step } = trail;
      const newest = Math.floor((time - start) / step);
      trail.update((i, path, at) => {
        const number = newest - (end - 1 - i);
        let place = i < end ? trail.known.get(number) : null;
        if (!place) {
          place = this.centerAt(i < end ? Math.max(start + number * step, from) : time, k);
          if (i < end && number >= 0 && start + number * step <= this.motion.end) trail.known.set(number, place);
        }
        path.set(place, at);
      });
      if (trail.known.size > 4 * POINTS) trail.known.clear();
    }
  }

  // the time between two points of a trail: shorter than wanted, and so the trail, where the body turns about in that
  // time, as chords would go through places where it never was
  stepOf(k, wanted) {
    const [first, last] = this.run.span;
    const off = (time, step) => {
      const [a, b, c] = [time, time + step / 2, time + step].map((t) => this.centerAt(Math.min(t, last), k));
      return Math.hypot(...b.map((x, i) => x - (a[i] + c[i]) / 2));
    };
    const times = Array.from({ length: PROBES }, (_, i) => first + ((i + 0.37) / PROBES) * (last - first));
    let step = wanted;
    for (let i = 0; i < 20 && times.some((time) => off(time, step) > 0.01 * this.radius); i++) step /= 1.6;
    return step;
  }

  // the center of mass of a body at a time
  centerAt(time, k) {
    const pose = this.scratch;
    this.motion.pose(time, k, pose);
    turn.set(pose[1], pose[2], pose[3], pose[0]);
    vector.set(...this.bodies[k].data.com).applyQuaternion(turn);
    return [vector.x + pose[4], vector.y + pose[5], vector.z + pose[6]];
  }

  setTrails(bodies) {
    for (const [k, trail] of this.trails) {
      if (bodies.has(k)) continue;
      this.world.remove(trail);
      trail.geometry.dispose();
      trail.material.dispose();
      this.trails.delete(k);
    }
    for (const k of bodies) {
      if (this.trails.has(k) || k >= this.bodies.length) continue;
      const trail = new Trail(this.trailColor(k), Math.max(120, Math.min(POINTS, Math.floor(WORK / this.motion.ways[k].length))));
      this.trails.set(k, trail);
      this.world.add(trail);
    }
  }

  trailColor(k) {
    const color = colorOf(this.bodies[k].data.color);
    return this.dark ? color.lerp(WHITE, 0.35) : color;
  }

  // bodies at the end of the mechanism: those that carry no other
  leaves() {
    const parents = new Set(this.run.scene.joints.map((joint) => joint.parent));
    const found = this.bodies.map((_, k) => k).filter((k) => !parents.has(k));
    return found.length <= 6 ? found : found.slice(-1);
  }

  show(layer, visible) {
    for (const object of this.layers[layer]) object.visible = visible;
    if (layer === "ground") this.groundShown = visible;
  }

  // the first picture: without what the panel switches on
  dress(dark) {
    for (const layer of ["axes", "frames", "reactions", "gravity"]) this.show(layer, false);
    this.paint(dark);
  }

  paint(dark) {
    this.dark = dark;
    for (const [k, trail] of this.trails) trail.material.uniforms.color.value.copy(this.trailColor(k));
    this.ground.paint(dark);
    if (this.sky) {
      this.sky.intensity = dark ? 1.2 : 1.75;
      this.sky.groundColor.set(dark ? "#4a5462" : "#c3cad4");
      this.key.intensity = dark ? 2.0 : 1.8;
      this.fill.intensity = dark ? 0.9 : 0.8;
    }
  }

  highlight(name) {
    for (const { data, solids } of this.bodies) {
      for (const mesh of solids) {
        mesh.material.emissive.copy(mesh.material.color);
        mesh.material.emissiveIntensity = data.name === name ? 0.4 : 0;
      }
    }
  }
}

// turns a vector by the rotation of a matrix and keeps its length
function turned(v, { elements: e }) {
  const { x, y, z } = v;
  return v.set(e[0] * x + e[4] * y + e[8] * z, e[1] * x + e[5] * y + e[9] * z, e[2] * x + e[6] * y + e[10] * z);
}

export function between(times, time) {
  let low = 0;
  let high = times.length - 1;
  while (low < high - 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle;
  }
  const gap = times[high] - times[low];
  return [low, gap ? Math.min(1, Math.max(0, (time - times[low]) / gap)) : 0];
}
