// The ground: a grid that fades into the distance, and the shadows that fall on it.
import * as THREE from "three";

const VERTEX = `
varying vec2 at;
void main() { at = position.xy; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`;
const FRAGMENT = `
uniform vec3 color; uniform float cell; uniform float reach; uniform float strength; uniform vec2 shift;
varying vec2 at;
float lines(vec2 p, float width) {
  vec2 d = fwidth(p);
  vec2 near = abs(fract(p - 0.5) - 0.5) / max(d, vec2(1e-6));
  vec2 line = (1.0 - smoothstep(width - 0.5, width + 0.5, near)) * (1.0 - smoothstep(0.25, 0.6, d));
  return max(line.x, line.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.25, 1.0, length(at) / reach);
  vec2 p = (at + shift) / cell;
  float alpha = max(0.45 * lines(p, 0.5), lines(p / 5.0, 0.6)) * fade * fade * strength;
  gl_FragColor = vec4(color, alpha);
  #include <colorspace_fragment>
}`;

export class Ground extends THREE.Group {
  constructor(radius, center, up, height) {
    super();
    const reach = 8 * radius;
    this.cell = nice(radius / 3);
    this.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), up);
    this.position.copy(center).addScaledVector(up, height - center.dot(up));
    const inside = this.position.clone().applyQuaternion(this.quaternion.clone().invert());
    this.look = new THREE.ShaderMaterial({
      uniforms: {
        color: { value: new THREE.Color() },
        cell: { value: this.cell },
        reach: { value: reach },
        strength: { value: 1 },
        shift: { value: new THREE.Vector2(inside.x % (5 * this.cell), inside.y % (5 * this.cell)) },
      },
      vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, depthWrite: false, side: THREE.DoubleSide,
    });
    const grid = new THREE.Mesh(new THREE.PlaneGeometry(2 * reach, 2 * reach), this.look);
    this.shade = new THREE.ShadowMaterial({ opacity: 0.2, depthWrite: false });
    const shadow = new THREE.Mesh(new THREE.PlaneGeometry(2 * reach, 2 * reach), this.shade);
    shadow.receiveShadow = true;
    shadow.renderOrder = -1;
    this.add(shadow, grid);
  }

  dispose() {
    for (const { geometry, material } of this.children) {
      geometry.dispose();
      material.dispose();
    }
    return this;
  }

  paint(dark) {
    this.look.uniforms.color.value.set(dark ? "#9fb2c8" : "#5a6b80");
    this.look.uniforms.strength.value = dark ? 0.3 : 0.32;
    this.shade.opacity = dark ? 0.5 : 0.2;
  }
}

export function nice(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  const lead = length / power;
  return (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10) * power;
}
