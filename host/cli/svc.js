#!/usr/bin/env node
// The command `svc`. Only starts the built CLI: npm links this file before anything is built.
import { existsSync } from "node:fs";

const cli = new URL("./dist/main.js", import.meta.url);
if (existsSync(cli)) {
  await import(cli.href);
} else {
  process.stderr.write("svc is not built yet. Next: npm run build\n");
  process.exitCode = 1;
}
