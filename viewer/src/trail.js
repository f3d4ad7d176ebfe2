// The path of a point over the time before now: a ribbon of constant width on the screen that fades with age.
import * as THREE from "three";

const VERTEX = `
attribute vec3 before; attribute vec3 after; attribute float side; attribute float age;
uniform vec2 screen; uniform float width;
varying float vAge; varying float vSide;
void main() {
  vec4 here = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  vec4 a = projectionMatrix * modelViewMatrix * vec4(before, 1.0);
  vec4 b = projectionMatrix * modelViewMatrix * vec4(after, 1.0);
  vec2 way = (b.xy / b.w - a.xy / a.w) * screen;
  float size = length(way);
  vec2 across = size > 1e-9 ? vec2(-way.y, way.x) / size : vec2(0.0);
  here.xy += side * width * across / screen * here.w;
  vAge = age; vSide = side;
  gl_Position = here;
}`;
const FRAGMENT = `
uniform vec3 color; varying float vAge; varying float vSide;
void main() {
  float edge = 1.0 - smoothstep(0.6, 1.0, abs(vSide));
  gl_FragColor = vec4(color, edge * 0.85 * pow(1.0 - vAge, 1.4));
  #include <colorspace_fragment>
}`;

export class Trail extends THREE.Mesh {
  constructor(color, points) {
    const geometry = new THREE.BufferGeometry();
    const attribute = (size) => new THREE.BufferAttribute(new Float32Array(2 * points * size), size).setUsage(THREE.DynamicDrawUsage);
    for (const name of ["position", "before", "after"]) geometry.setAttribute(name, attribute(3));
    geometry.setAttribute("side", attribute(1));
    geometry.setAttribute("age", attribute(1));
    const index = [];
    for (let i = 0; i < points; i++) {
      geometry.attributes.side.array.set([-1, 1], 2 * i);
      const age = 1 - i / (points - 1);
      geometry.attributes.age.array.set([age, age], 2 * i);
      if (i) index.push(2 * i - 2, 2 * i - 1, 2 * i, 2 * i, 2 * i - 1, 2 * i + 1);
    }
    geometry.setIndex(index);
    const uniforms = {
      color: { value: color.clone() },
      screen: { value: new THREE.Vector2(1, 1) },
      width: { value: 3 },
    };
    super(
      geometry,
      new THREE.ShaderMaterial({
        uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, depthWrite: false, side: THREE.DoubleSide,
      }),
    );
    this.points = points;
    this.known = new Map(); // places at times that were drawn before
    this.path = new Float32Array(3 * points);
    this.frustumCulled = false;
    this.renderOrder = 2;
  }

  // fill the path with point(k, at): the k-th of `points` points is written to `path` at `at`
  update(point) {
    const { path, points } = this;
    for (let k = 0; k < points; k++) point(k, path, 3 * k);
    const { position, before, after } = this.geometry.attributes;
    for (let k = 0; k < points; k++) {
      for (let c = 0; c < 3; c++) {
        const [here, a, b] = [k, Math.max(k - 1, 0), Math.min(k + 1, points - 1)].map((i) => path[3 * i + c]);
        const at = 6 * k + c;
        position.array[at] = position.array[at + 3] = here;
        before.array[at] = before.array[at + 3] = a;
        after.array[at] = after.array[at + 3] = b;
      }
    }
    position.needsUpdate = before.needsUpdate = after.needsUpdate = true;
  }
}
