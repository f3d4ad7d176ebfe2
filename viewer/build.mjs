// Bundle the page into the Python package: npm ci && npm run build.
// The script carries a hash of the sources, by which a test sees whether it is theirs.
import { createHash } from "node:crypto";
import { copyFile, readFile, readdir } from "node:fs/promises";
import { build } from "esbuild";

const target = "../src/chasles/view";
const hash = createHash("sha256");
for (const name of (await readdir("src")).sort()) hash.update(await readFile(`src/${name}`));
hash.update(await readFile("package-lock.json"));
const licence = await readFile("node_modules/three/LICENSE", "utf8");
await build({
  entryPoints: { page: "src/main.js" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: {
    js: `/* chasles viewer ${hash.digest("hex")}\nIt contains three.js:\n\n${licence.trim()}\n*/`,
  },
  supported: { "inline-script": false }, // keep "</script" out of the text
});
await build({ entryPoints: { page: "src/style.css" }, outdir: target, minify: true });
await copyFile("src/page.html", `${target}/page.html`);
