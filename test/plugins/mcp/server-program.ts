/** The test server as a program. Arguments: `mute` (reads and never answers), `stubborn` (does not end by itself), `noisy`, `parent`. */
import { spawn } from "node:child_process";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createTestServer } from "./server-tools.ts";

const modes = process.argv.slice(2);

if (modes.includes("stubborn")) {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1_000);
}
if (modes.includes("noisy")) process.stdout.write("Welcome to the test server!\n{\n");
// What it starts holds its standard output open, as a helper of a real server might.
const child = modes.includes("parent")
  ? spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "inherit" })
  : undefined;
if (modes.includes("mute")) process.stdin.resume();
else {
  const name = `pid-${process.pid}${child ? `-${child.pid}` : ""}`;
  await createTestServer({ more: [{ name, inputSchema: { type: "object" } }] }).connect(new StdioServerTransport());
}
