#!/usr/bin/env node
// The command `svc`. Only starts the built CLI: npm links this file before anything is built.
import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";

// The optimizing compiler of Node 20 takes a sixth of the time of a start, for code that runs once.
const STARTING_MS = 1_000;
if (process.version.startsWith("v20.")) {
  setFlagsFromString("--no-opt");
  setTimeout(() => setFlagsFromString("--opt"), STARTING_MS).unref();
}

const cli = new URL("./dist/main.js", import.meta.url);
if (existsSync(cli)) {
  await import(cli.href);
} else {
  process.stderr.write("svc is not built yet. Next: npm run build\n");
  process.exitCode = 1;
}
