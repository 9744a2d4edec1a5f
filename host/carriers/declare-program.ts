/** Program of a build: writes `declared.json` for the plugins whose package directories are its arguments. */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { KINDS } from "../kernel/kinds/index.ts";
import { importPlugin } from "../kernel/load.ts";
import { readManifest } from "../kernel/manifest.ts";
import { write, writtenFile } from "./written.ts";

for (const directory of process.argv.slice(2).map((path) => resolve(path))) {
  const manifest = readManifest(directory);
  if (!manifest) continue;
  const entry = join(directory, manifest.entry);
  const written = await write(await importPlugin(entry, false), KINDS, entry);
  writeFileSync(writtenFile(directory, manifest.entry), JSON.stringify(written));
}
