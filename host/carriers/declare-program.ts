/** Build script: writes `declared.json` for the plugins in the package directories given as arguments. */
import { resolve } from "node:path";
import { readManifest } from "../kernel/manifest.ts";
import { declarePlugin } from "./declare.ts";

for (const directory of process.argv.slice(2)) {
  const manifest = readManifest(resolve(directory));
  if (manifest) await declarePlugin(manifest);
}
