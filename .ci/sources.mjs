// What a build is made of, and whether the last one is of these files.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";

/** Removed at the start of a build with the directory, written at its end: a build that failed leaves none. */
const STAMP = ".build/sources";
const ROOTS = [
  ".ci",
  "sdk",
  "host",
  "plugins",
  "examples",
  "test",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
];
const APART = new Set(["node_modules", "dist", ".dist"]);

/** Of names, sizes and times of all source files; it takes about 50 ms. */
export function sourcesNow() {
  const hash = createHash("sha256");
  const visit = (path) => {
    const facts = statSync(path, { throwIfNoEntry: false });
    if (facts?.isFile() && !path.endsWith(".md")) hash.update(`${path} ${facts.size} ${facts.mtimeMs}\n`);
    if (!facts?.isDirectory()) return;
    for (const name of readdirSync(path).sort()) if (!APART.has(name)) visit(join(path, name));
  };
  for (const path of ROOTS) visit(path);
  return hash.digest("hex");
}

export function keepStamp(sources) {
  writeFileSync(STAMP, sources);
}

export function isBuilt() {
  return existsSync("host/cli/dist/main.js") && existsSync(STAMP) && readFileSync(STAMP, "utf8") === sourcesNow();
}

/** Whether a gateway answers on the state directory of this environment. */
export async function gatewayRuns({ SVC_STATE_DIR, SVC_HOME } = process.env) {
  const stateDir = SVC_STATE_DIR || join(SVC_HOME || homedir(), ".svc");
  const socket = createConnection(join(stateDir, "gateway.sock"));
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
