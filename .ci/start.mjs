// `npm start`: builds where sources changed since the last build, then is `svc gateway run`.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { gatewayRuns, isBuilt } from "./sources.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
// With a gateway on the state directory nothing is built: this one refuses to start, and says which one it is.
if (!isBuilt() && !(await gatewayRuns())) {
  process.stderr.write("Building, since sources changed; this takes about half a minute ...\n");
  const { status } = spawnSync(process.execPath, [".ci/build.mjs"], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
const svc = fileURLToPath(new URL("../host/cli/svc.js", import.meta.url));
process.argv.splice(1, 1, svc, "gateway", "run"); // the process is started anew with these words after an update
await import(svc);
