// The canvas: one renderer, one camera for all runs, views side by side.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

// made before the data are there, as it takes a while
export function rendererOf(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas.parentElement;
  const ratio = Math.min(window.devicePixelRatio, 2);
  Object.assign(canvas, { width: Math.floor(width * ratio), height: Math.floor(height * ratio) }); // to change it later takes a while too
  const renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.PCFShadowMap;
  renderer.setClearAlpha(0);
  renderer.debug.checkShaderErrors = false; // waits for the compiler
  return renderer;
}

export class Stage {
  constructor(renderer, views, changed) {
    const canvas = renderer.domElement;
    this.canvas = canvas;
    this.views = views;
    this.renderer = renderer;
    this.changed = changed;
    this.camera = new THREE.PerspectiveCamera(32, 1, 0.01, 1000);
    this.camera.up.copy(views[0].up);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.addEventListener("change", changed);
    this.quality = 1; // part of the pixels along an edge; fewer while a slow machine plays
    this.pace = 0;
    this.followed = null;
    this.last = new THREE.Vector3();
    this.rays = new THREE.Raycaster();
    new ResizeObserver(() => {
      this.resize();
      changed();
    }).observe(canvas.parentElement);
    this.resize();
    this.frame();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    const ratio = Math.min(window.devicePixelRatio, 2) * this.quality;
    const size = [Math.max(width, 1), Math.max(height, 1), ratio];
    if (size.join() !== this.size?.join()) this.renderer.setDrawingBufferSize(...size);
    this.size = size;
    this.stacked = width < height && this.views.length > 1; // on a narrow screen one above the other
    this.width = width;
    this.height = height;
    document.getElementById("captions").classList.toggle("stacked", this.stacked);
  }

  // draw fewer pixels while pictures come slowly, and all of them at rest
  adapt(now, playing) {
    const spent = now - (this.before ?? now);
    this.before = playing ? now : undefined;
    this.pace = playing ? 0.7 * this.pace + 0.3 * Math.min(spent, 1000) : 0;
    const wanted = !playing ? 1 : this.pace > 90 ? Math.max(0.4, this.quality / 1.25) : this.quality;
    if (wanted === this.quality) return;
    this.quality = wanted;
    this.pace = 0;
    this.resize();
  }

  // the part of the canvas of a view, from the lower left
  region(k) {
    const n = this.views.length;
    if (this.stacked) return [0, ((n - 1 - k) * this.height) / n, this.width, this.height / n];
    return [(k * this.width) / n, 0, this.width / n, this.height];
  }

  bounds() {
    const box = new THREE.Box3();
    for (const view of this.views) box.union(view.box);
    return box;
  }

  // place the camera so that it sees the whole motion: mostly across the plane of a flat one
  frame() {
    const { camera, controls } = this;
    const box = this.bounds();
    const size = box.getSize(new THREE.Vector3());
    const center = box.getCenter(new THREE.Vector3());
    const up = camera.up;
    const side = Math.abs(up.y) < 0.9 ? new THREE.Vector3(0, -1, 0) : new THREE.Vector3(0, 0, 1);
    side.addScaledVector(up, -side.dot(up)).normalize();
    const across = new THREE.Vector3().crossVectors(up, side).normalize();
    const from = side.clone().addScaledVector(across, 0.62).addScaledVector(up, 0.5);
    const sizes = size.toArray();
    const thin = sizes.indexOf(Math.min(...sizes));
    const rest = sizes.filter((_, k) => k !== thin);
    if (sizes[thin] < 0.25 * Math.min(...rest)) {
      const normal = new THREE.Vector3().setComponent(thin, 1);
      if (normal.dot(from) < 0) normal.negate();
      const flat = Math.abs(normal.dot(up)) > 0.7;
      from.normalize().multiplyScalar(flat ? 0.75 : 0.5).add(normal);
    }
    from.normalize();
    const [, , width, height] = this.region(0);
    const high = Math.tan((camera.fov * Math.PI) / 360);
    const wide = (high * width) / height;
    const right = new THREE.Vector3().crossVectors(up, from).normalize();
    const top = new THREE.Vector3().crossVectors(from, right);
    const points = this.views.flatMap((view) => view.hull);
    for (const direction of [right, top]) {
      const places = points.map((point) => point.dot(direction));
      center.addScaledVector(direction, (Math.min(...places) + Math.max(...places)) / 2 - center.dot(direction));
    }
    let distance = 0;
    const point = new THREE.Vector3();
    for (const corner of points) {
      point.copy(corner).sub(center);
      const near = point.dot(from);
      distance = Math.max(distance, near + Math.abs(point.dot(right)) / wide, near + Math.abs(point.dot(top)) / high);
    }
    this.distance = 1.04 * Math.max(distance, 1e-6);
    controls.target.copy(center);
    camera.position.copy(center).addScaledVector(from, this.distance);
    camera.near = this.distance / 400;
    camera.far = this.distance * 60;
    controls.maxDistance = this.distance * 12;
    controls.minDistance = this.distance / 200;
    controls.update();
    this.rest(true);
  }

  // turn about the vertical and across it [rad], by keys
  turn(about, across) {
    const { camera, controls } = this;
    const up = new THREE.Quaternion().setFromUnitVectors(camera.up, new THREE.Vector3(0, 1, 0));
    const arm = new THREE.Spherical().setFromVector3(camera.position.clone().sub(controls.target).applyQuaternion(up));
    arm.theta += about;
    arm.phi += across;
    arm.makeSafe();
    camera.position.setFromSpherical(arm).applyQuaternion(up.invert()).add(controls.target);
    this.changed();
  }

  // move across the view, in steps
  move(right, top) {
    const { camera, controls } = this;
    const step = 0.05 * camera.position.distanceTo(controls.target);
    const by = new THREE.Vector3(right, top, 0).multiplyScalar(step).applyQuaternion(camera.quaternion);
    camera.position.add(by);
    controls.target.add(by);
    this.changed();
  }

  zoom(by) {
    const { camera, controls } = this;
    const arm = camera.position.clone().sub(controls.target);
    arm.clampLength(controls.minDistance / by, controls.maxDistance / by).multiplyScalar(by);
    camera.position.copy(controls.target).add(arm);
    this.changed();
  }

  follow(view, body) {
    this.followed = body === null ? null : { view, body };
    this.rest(true);
  }

  // move camera and target with the body that is followed
  rest(start = false) {
    if (!this.followed) return;
    const { view, body } = this.followed;
    const { data, group } = view.bodies[body];
    const here = new THREE.Vector3(...data.com).applyMatrix4(group.matrix);
    const move = start ? here.clone().sub(this.controls.target) : here.clone().sub(this.last);
    this.controls.target.add(move);
    this.camera.position.add(move);
    this.last.copy(here);
  }

  draw() {
    const { renderer, camera } = this;
    this.rest();
    const moving = this.controls.update();
    renderer.setScissorTest(true);
    this.views.forEach((view, k) => {
      const [x, y, width, height] = this.region(k);
      renderer.setViewport(x, y, width, height);
      renderer.setScissor(x, y, width, height);
      camera.aspect = width / Math.max(height, 1);
      camera.updateProjectionMatrix();
      view.fill.position.copy(view.fill.target.position).add(camera.position).sub(this.controls.target);
      renderer.render(view.world, camera);
    });
    return moving;
  }

  // the scene as a PNG with so many pixels for one of the screen
  picture(scale) {
    const [width, height, ratio] = this.size;
    this.renderer.setDrawingBufferSize(width, height, scale);
    this.draw();
    const made = new Promise((done) => this.canvas.toBlob(done, "image/png"));
    this.renderer.setDrawingBufferSize(width, height, ratio);
    this.changed();
    return made;
  }

  // the body at a point of the page, as [view, body]
  pick(x, y) {
    const rect = this.canvas.getBoundingClientRect();
    for (let k = 0; k < this.views.length; k++) {
      const [left, bottom, width, height] = this.region(k);
      const u = (x - rect.left - left) / width;
      const v = (rect.bottom - y - bottom) / height;
      if (u < 0 || u > 1 || v < 0 || v > 1) continue;
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      this.rays.setFromCamera(new THREE.Vector2(2 * u - 1, 2 * v - 1), this.camera);
      const solids = this.views[k].bodies.filter((body) => body.shown).flatMap((body) => body.solids);
      const [hit] = this.rays.intersectObjects(solids, false);
      if (hit) return [this.views[k], hit.object.userData.body];
    }
    return null;
  }

  // where a point of the world is on the canvas, in CSS pixels; null behind the camera
  onScreen(k, point) {
    const [left, bottom, width, height] = this.region(k);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    const p = point.clone().project(this.camera);
    if (p.z > 1) return null;
    return [left + ((p.x + 1) / 2) * width, this.height - bottom - ((p.y + 1) / 2) * height];
  }
}
